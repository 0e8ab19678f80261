"""The place of a run in a trace that spans programs: the `traceparent` that travels with a call. Pure.

A run without a trace from its caller begins a trace of its own. Ids are made of what is on record already, so a call
that is made again after a cut is the same span as before, and the span of a call can be looked up from its idempotency
key.

Beside it, `tracestate` carries how deep agents are nested, and which agents these are. Without that, an agent that
calls itself by way of another program would nest without end. To a remote agent it also tells how many tool calls are
left to those who wait for it. `tracestate` comes from another program, so it can lower a limit here and never raise
one.

Source: W3C Trace Context, level 1, 3.2 (`traceparent`) and 3.3 (`tracestate`). Baggage is not carried.
"""

from __future__ import annotations

import hashlib
import os
import re
from functools import lru_cache

from msgspec import Struct

_FORM = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?P<trace>(?!0{32})[0-9a-f]{32})-(?P<span>(?!0{16})[0-9a-f]{16})-[0-9a-f]{2}(-.*)?"
)


def trace_id(run_id: str, traceparent: str = "") -> str:
    """The trace that a run belongs to: the one that led to it, or its own.

    >>> trace_id("run_1", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
    '0af7651916cd43dd8448eb211c80319c'
    """
    found = _FORM.fullmatch(traceparent)
    return found["trace"] if found else _digest(run_id, 32)


def traceparent_of(trace: str, key: str) -> str:
    """The `traceparent` that is sent along with a call.

    Args:
        trace: the trace's id.
        key: the call's idempotency key; the id of its span is made of the key.
    """
    return f"00-{trace}-{span_id(key)}-01"


def span_id(key: str) -> str:
    """The id of the span of the call that has this idempotency key."""
    return _digest(key, 16)


def span_in(traceparent: str) -> str:
    """The span that a traceparent names; empty when it is none."""
    found = _FORM.fullmatch(traceparent)
    return found["span"] if found else ""


def checked_traceparent(text: object) -> str:
    """What another program sent as `traceparent`: as it is, or empty when it is none, as the source demands."""
    return text if isinstance(text, str) and len(text) <= 100 and _FORM.fullmatch(text) else ""


class Way(Struct, frozen=True):
    """The agents above a run that stand in other programs, as the caller told of them.

    Attributes:
        depth: how many runs stand above, one under another.
        left: how many more may stand below; None where the callers have no limit.
        agents: the ids of the agents among them, the outermost first; see `agent_id`.
        others: what other programs put into `tracestate`, which is passed on.
        calls: how many tool calls the callers have left for an agent that they ask; None where they have no limit.
    """

    depth: int = 0
    left: int | None = None
    agents: tuple[str, ...] = ()
    others: str = ""
    calls: int | None = None

    def most(self, own: int | None) -> int | None:
        """How deep runs may be nested here, by a limit of our own and by the limit that came from outside.

        >>> Way(depth=3, left=9).most(8), Way(depth=3, left=1).most(8), Way().most(None)
        (5, 1, None)
        """
        limits = [own - self.depth] if own is not None else []
        return min([*limits, self.left] if self.left is not None else limits, default=None)

    @property
    def tracestate(self) -> str:
        """As it is sent along with a call: with the latest of the agents, as many as there is space for."""
        told = f"d:{min(self.depth, _NUMBER_MAX)}"
        if self.left is not None:
            told += f";l:{min(self.left, _NUMBER_MAX)}"
        if self.calls is not None:
            told += f";c:{min(self.calls, _CALLS_MAX)}"
        if self.agents:
            told += f";a:{'.'.join(self.agents[-_AGENTS_MAX:])}"
        others = [each for each in self.others.split(",") if each][: _MEMBERS_MAX - 1]
        while others and len(told) + sum(len(each) + 1 for each in others) > TRACESTATE_MAX - len(_KEY):
            others.pop()
        return ",".join([f"{_KEY}{told}", *others])


NO_WAY = Way()
_KEY = "actum="
TRACESTATE_MAX = 512
"""A `tracestate` that has more characters is dropped."""
_MEMBERS_MAX, _AGENTS_MAX, _NUMBER_MAX, _CALLS_MAX = 32, 16, 9_999, 999_999_999
_WAY = re.compile(
    r"d:(?P<depth>[0-9]{1,4})(;l:(?P<left>[0-9]{1,4}))?(;c:(?P<calls>[0-9]{1,9}))?(;a:(?P<agents>[0-9a-f]{12}(\.[0-9a-f]{12}){0,15}))?"
)
_MEMBER = re.compile(r"[a-z0-9][a-z0-9_\-*/@]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{1,256}")


def way_in(tracestate: object) -> Way:
    """What another program sent as `tracestate`; what is malformed in it is dropped, as the source demands.

    >>> way_in("other=1,actum=d:2;l:6;a:0123456789ab")
    Way(depth=2, left=6, agents=('0123456789ab',), others='other=1', calls=None)
    """
    if not isinstance(tracestate, str) or not tracestate or len(tracestate) > TRACESTATE_MAX:
        return NO_WAY
    members = [member.strip(" \t") for member in tracestate.split(",")]
    if len(members) > _MEMBERS_MAX or not all(_MEMBER.fullmatch(each) for each in members if each):
        return NO_WAY
    ours = next((_WAY.fullmatch(each.removeprefix(_KEY)) for each in members if each.startswith(_KEY)), None)
    others = ",".join(each for each in members if each and not each.startswith(_KEY))
    if ours is None:
        return Way(others=others)
    left, calls = ours["left"], ours["calls"]
    agents = tuple(ours["agents"].split(".")) if ours["agents"] else ()
    return Way(int(ours["depth"]), int(left) if left else None, agents, others, int(calls) if calls else None)


def agent_id(agent: object) -> str:
    """The id of an agent of this process in other programs, for as long as the agent lives. The id does not reveal
    which agent it is.
    """
    return _digest(f"{_process()} {id(agent)}", 12)


@lru_cache(maxsize=1)
def _process() -> str:
    return os.urandom(16).hex()


def _digest(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]
