"""What an approval for a whole run covers, in the language of the person who gives it."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ...core.run.pending import Pending
from ...journal.grant import told
from ..language import language


def covered(pending: Pending, free: Collection[str] = ()) -> str:
    """What an approval for the whole run covers, in the person's language; see `journal.grant.told`.

    In Chinese the arguments that have to stay the same are named, and their values stand above in the question.
    """
    arguments = pending.call.arguments if pending.call is not None else {}
    if language() == "en":
        return told(arguments, pending.sinks, pending.parameters, free)
    names = [name for name in (arguments if pending.sinks is None else pending.sinks) if name not in free]
    kept = [f"参数 {_listed(names)} 不变"] if names else []
    if pending.sinks is None and not {*arguments, *free}.issuperset(pending.parameters):
        kept.append("不给出其他参数")
    any_of_them = "" if pending.sinks is None else "，参数可以是任何值"
    conditions = f"，只要{'，并且'.join(kept)}" if kept else any_of_them
    may_differ = f"；参数 {_listed(free)} 可以不同" if free else ""
    return f"本次运行中再次调用也同意{conditions}{may_differ}"


def _listed(names: Iterable[str]) -> str:
    return "、".join(f"`{name}`" for name in names)
