"""An approval that holds for a whole run: which later calls it covers, and how a person is told so. Pure.

Covered are calls of the same tool as it was, by the same rule, in which the same arguments have the same values. Which
arguments these are is the tool's word:

- `sinks=("to",)`: the declared sinks; everything else is content and may differ;
- `sinks=()`: none: the developer says that no argument says where something goes or who gets it;
- nothing declared: all arguments. A yes to one payment is no yes to another.

The person who approves may name arguments that may differ all the same (`free`), but no declared sink.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import Json, JsonObject, dumps, same
from ..core.language.sentence import Sentence, names_or_none
from ..core.policy import Answer
from ..core.run.pending import Pending, Quorum
from ..core.run.record import InputRequested
from ..core.tool import Tool

SHOWN_MAX = 60
"""Characters of a value that are repeated when a person is told what a yes covers. The call itself is shown whole."""

APPROVED_FOR_RUN = "approved for this run: "
"""What stands on record as the rule of a call that a grant allowed, before the id of the grant's question."""

_PLAIN = re.compile(rf"[\w@.+-]{{1,{SHOWN_MAX}}}")


class Grant(Struct, frozen=True):
    """An approval for the whole run.

    Attributes:
        asked: what was asked.
        arguments: what was approved: the call's own arguments, or what a person put in their place.
        free: the arguments that may differ.
    """

    asked: InputRequested
    arguments: JsonObject
    free: tuple[str, ...] = ()

    def covers(self, tool: Tool, arguments: JsonObject, rule: str, quorums: Sequence[Quorum], now: float) -> bool:
        """Whether a call needs no approval of its own.

        Args:
            tool: what is called.
            arguments: what the tool would get.
            rule: the rule that asks.
            quorums: who has to agree by this rule.
            now: the time.
        """
        asked = self.asked
        if asked.pending.call is None or asked.pending.call.name != tool.name or asked.version != tool.digest:
            return False
        if asked.rule != rule or not asked.pending.includes(quorums) or 0 < asked.pending.expires < now:
            return False
        return same(_compared(self.arguments, tool.sinks, self.free), _compared(arguments, tool.sinks, self.free))


def check_free(asked: Pending, answer: Answer) -> None:
    """The arguments that are to differ exist, and none of them is declared to say where something goes.

    Raises:
        UsageError: they do not, or one is.
    """
    if not answer.free:
        return
    if isinstance(answer.free, str):
        raise UsageError("free={free!r}: give a list of names of arguments", free=answer.free)
    if not answer.for_run:
        raise UsageError("arguments can only be free to differ in an approval for the whole run (for_run)")
    given = asked.call.arguments if asked.call is not None else {}
    names = dict.fromkeys([*asked.parameters, *given, *(answer.arguments or {})])
    for name in answer.free:
        if name not in names:
            raise UsageError(
                "free: {name!r} is no argument of this call; there are: {names}",
                name=name,
                names=names_or_none(names),
            )
        if name in (asked.sinks or ()):
            raise UsageError(
                "free: {name!r} is declared to say where a call goes or who gets it, and has to stay "
                "the same. Approve each of these calls by itself",
                name=name,
            )


def told(
    arguments: JsonObject, sinks: Sequence[str] | None, parameters: Sequence[str] = (), free: Collection[str] = ()
) -> Sentence:
    """What an approval for the whole run covers, as a sentence for the person who gives it.

    Args:
        arguments: what is approved.
        sinks, parameters: as the tool declares them.
        free: the arguments that may differ.

    >>> str(told({"to": "Ada", "text": "Hello there"}, ("to",)))
    'again in this run, as long as `to` is Ada'
    >>> str(told({"to": "Ada", "text": "Hello there"}, None))
    'again in this run, as long as `to` is Ada and `text` is "Hello there"'
    >>> str(told({"to": "Ada"}, None, ("to", "text", "cc"), ["text"]))
    'again in this run, as long as `to` is Ada and nothing else is given; `text` may differ'
    >>> str(told({"text": "Hello there"}, ()))
    'again in this run, with any arguments'
    """
    names = [name for name in (arguments if sinks is None else sinks) if name not in free]
    conditions = [_condition(arguments, name) for name in names]
    if sinks is None and not {*arguments, *free}.issuperset(parameters):
        conditions.append(Sentence("nothing else is given"))
    may_differ = Sentence("")
    if free:
        may_differ = Sentence("; {names} may differ", names=_listed([Sentence("`{name}`", name=name) for name in free]))
    if conditions:
        return Sentence(
            "again in this run, as long as {conditions}{may_differ}",
            conditions=_listed(conditions),
            may_differ=may_differ,
        )
    if sinks is None:
        return Sentence("again in this run{may_differ}", may_differ=may_differ)
    return Sentence("again in this run, with any arguments{may_differ}", may_differ=may_differ)


def covered(pending: Pending, free: Collection[str] = ()) -> Sentence:
    """What an approval of this question would cover, for the whole run; see `told`.

    Args:
        pending: the question.
        free: the arguments that may differ.
    """
    return told(pending.call.arguments if pending.call is not None else {}, pending.sinks, pending.parameters, free)


def _condition(arguments: JsonObject, name: str) -> Sentence:
    if name not in arguments:
        return Sentence("`{name}` is not given", name=name)
    text = _text(arguments[name])
    if len(text) > SHOWN_MAX:
        return Sentence("`{name}` stays as it is here", name=name)
    return Sentence("`{name}` is {value}", name=name, value=text)


def _text(value: Json) -> str:
    """A value in a sentence. Only a short text of plain characters stands without quotation marks: other texts could
    pretend to be part of the sentence, and `20` is not "20".
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value) and dumps(value) == f'"{value}"' and not _is_json(value):
        return value
    return dumps(value)


def _is_json(text: str) -> bool:
    return text in ("true", "false", "null") or text[:1] in "-+.0123456789"


def _listed(parts: Sequence[Sentence]) -> Sentence:
    """`a, b and c`."""
    whole = parts[0]
    for place, part in enumerate(parts[1:], 2):
        whole = Sentence("{before} and {last}" if place == len(parts) else "{before}, {last}", before=whole, last=part)
    return whole


def _compared(arguments: JsonObject, sinks: Sequence[str] | None, free: Collection[str]) -> JsonObject:
    """The arguments whose values have to be the same."""
    return {name: value for name, value in arguments.items() if (sinks is None or name in sinks) and name not in free}
