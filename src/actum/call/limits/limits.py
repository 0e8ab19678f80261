"""How much may be used: by a run, by its tools, by the users it works for. Values only; see below for who counts.

What the loop of a run can know by itself (steps, calls, tokens, cost, seconds) it counts (`agents/turn.py`), together
with what the agents that it started used (`core/budget.py`). What spans runs is counted in `meters.py`, for one
process. `excerpt.py` says how much of a result a model is shown.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import TypeVar, cast

import msgspec
from msgspec import UNSET, Struct

from ...core.errors import UsageError
from ...core.process.process_limits import NO_PROCESS_LIMITS, ProcessLimits

N = TypeVar("N", bound=float)
CALLS_A_STEP = 20
"""The most calls of a run for each of its steps, where `calls` is not given."""
_BY_STEPS = cast(int, UNSET)
_ALWAYS = frozenset({"parallel", "repeats", "attempts", "failures", "rest_seconds", "depth"})


def _check(limits: Struct, always: Collection[str]) -> None:
    """Every number is above 0."""
    for name in limits.__struct_fields__:
        value = getattr(limits, name)
        if (value is None and name not in always) or isinstance(value, Mapping | Struct):
            continue
        money = name.startswith("cost")
        number = isinstance(value, Decimal) and value.is_finite() if money else isinstance(value, int | float)
        if not number or isinstance(value, bool) or not value > 0:
            what = "a Decimal above 0, as in Decimal('0.50')" if money else "a number above 0"
            or_none = "" if name in always else ", or None for no limit"
            raise UsageError(
                "{kind}({name}={value!r}): give {what}{or_none}",
                kind=type(limits).__name__,
                name=name,
                value=value,
                what=what,
                or_none=or_none,
            )


def _least(first: N | None, others: Sequence[N | None]) -> N | None:
    """The least of those there are."""
    said = [each for each in (first, *others) if each is not None]
    return min(said) if said else None


class ToolLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of the tools whose names fit a pattern, taken together; None for no limit.

    A call of a tool that stands for others, such as the search among the operations of an API, is a call of this tool
    and a call of the operation that it is for: the limits of both hold.

    Attributes:
        calls: how many calls a run may make.
        per_minute: how many calls may begin within any 60 seconds, in all runs of the agent. A few seconds are waited
            for; beyond that the call is turned away as `rate_limited` and the model told when to come back.
        parallel: how many calls may be under way at a time, in all runs of the agent; the next ones wait.
        seconds: how long one attempt may take, whatever the tool itself declares.
        result_bytes: how much of the text of a result the model is shown.
        memory_bytes, cpu_seconds, processes, disk_bytes: what all processes of one call may use up together. They hold
            for tools whose calls run in a jail (`run_python`, `run_shell`, `run_javascript`, scripts of a folder), and
            only lower what the jail allows. A call of another tool that fits the pattern is refused.
    """

    calls: int | None = None
    per_minute: int | None = None
    parallel: int | None = None
    seconds: float | None = None
    result_bytes: int | None = None
    memory_bytes: int | None = None
    cpu_seconds: float | None = None
    processes: int | None = None
    disk_bytes: int | None = None

    def __post_init__(self) -> None:
        _check(self, ())


class UserLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of each user (`principal=`, `tenant=`) over all runs of the agent; None for no limit.

    Attributes:
        runs: how many may be under way at a time.
        per_minute: how many calls may begin within any 60 seconds, as in `ToolLimits`.
        parallel: how many calls may be under way at a time.
        tokens_per_day: how many tokens may be used within 24 hours.
        cost_per_day: what that may cost.
    """

    runs: int | None = None
    per_minute: int | None = None
    parallel: int | None = None
    tokens_per_day: int | None = None
    cost_per_day: Decimal | None = None

    def __post_init__(self) -> None:
        _check(self, ())


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one run; None for no limit.

    Calls, tokens and cost are counted with those of the agents that the run started.

    Attributes:
        steps: how often the model may be asked, by the run itself or by its tools.
        calls: how many tool calls it may make, and how many questions its tools may ask persons while they run. Where
            `calls` is not given, 20 for each of `steps`, and no limit where `steps` is None.
        calls_per_reply: how many calls of one reply are made.
        requests_per_call: how many requests one call of a tool may make: asking the model, or a person.
        seconds: how long the run may take, waiting for persons not counted.
        tokens: how many tokens the model may use, in and out.
        cost: how much money, in the currency of the agent's `prices`.
        parallel: how many calls of one turn run at the same time.
        call_seconds: how long one attempt at a call may take, where the tool does not say.
        repeats: how often the same call may give the same result before it is called a loop, and how often a call may
            run into a limit before the run is stopped.
        attempts: how often one call is tried, where trying again is safe.
        failures: how many failures of a tool's service in a row until it is left alone, for all runs of the agent.
        rest_seconds: for how long.
        approval_seconds: how long an approval may be waited for, and holds, where the policy does not say.
        depth: how many agents may stand one under another, as tools, the first counted.
        result_bytes: how much of the text of a result the model is shown; it can read the rest in parts.
        result_bytes_max: how large a whole result may be, media included; a larger one is a failure.
        tools: further limits of tools, by a pattern of names such as `pay_*`. All that fit a tool hold.
        users: further limits of each user.
    """

    steps: int | None = 50
    calls: int | None = _BY_STEPS
    calls_per_reply: int | None = 128
    requests_per_call: int | None = 32
    seconds: float | None = None
    tokens: int | None = None
    cost: Decimal | None = None
    parallel: int = 64
    call_seconds: float | None = 120.0
    repeats: int = 3
    attempts: int = 3
    failures: int = 5
    rest_seconds: float = 30.0
    approval_seconds: float | None = None
    depth: int = 8
    result_bytes: int | None = 64 * 1024
    result_bytes_max: int | None = 32 * 1024 * 1024
    tools: Mapping[str, ToolLimits] = {}
    users: UserLimits = UserLimits()

    def __post_init__(self) -> None:
        if self.calls is _BY_STEPS:
            msgspec.structs.force_setattr(self, "calls", None)
            _check(self, _ALWAYS)
            if self.steps is not None:
                msgspec.structs.force_setattr(self, "calls", CALLS_A_STEP * self.steps)
        else:
            _check(self, _ALWAYS)
        for pattern, limits in self.tools.items():
            if not isinstance(limits, ToolLimits):
                raise UsageError(
                    "Limits(tools={{{pattern!r}: ...}}): give ToolLimits(...), not {limits!r}",
                    pattern=pattern,
                    limits=limits,
                )
        if not isinstance(self.users, UserLimits):
            raise UsageError("Limits(users=...): give UserLimits(...), not {users!r}", users=self.users)

    def shared(self) -> dict[str, int | Decimal]:
        """What a run and all that it starts may use together, by the name of what is counted."""
        counted = {"calls": self.calls, "tokens": self.tokens, "cost": self.cost}
        return {name: most for name, most in counted.items() if most is not None}

    def of_tool(self, *names: str) -> list[tuple[str, ToolLimits]]:
        """Those that hold for a tool that is known by these names, each with its pattern."""
        return [
            (pattern, limits)
            for pattern, limits in self.tools.items()
            if any(fnmatchcase(name, pattern) for name in names)
        ]

    def seconds_of(self, declared: float | None, *names: str) -> float | None:
        """How long one attempt at a call may take, for a tool with these names that declares `declared` itself."""
        default = declared if declared is not None else self.call_seconds
        return _least(default, [each.seconds for _, each in self.of_tool(*names)]) if self.tools else default

    def processes_of(self, *names: str) -> ProcessLimits:
        """What the processes of one call of a tool may use up: the least of all patterns that fit."""
        if not self.tools:
            return NO_PROCESS_LIMITS
        fitting = [each for _, each in self.of_tool(*names)]
        return ProcessLimits(
            memory_bytes=_least(None, [each.memory_bytes for each in fitting]),
            cpu_seconds=_least(None, [each.cpu_seconds for each in fitting]),
            processes=_least(None, [each.processes for each in fitting]),
            disk_bytes=_least(None, [each.disk_bytes for each in fitting]),
        )

    def bytes_of(self, *names: str) -> int | None:
        """How much of a result of a tool that is known by these names the model is shown."""
        default = self.result_bytes
        return _least(default, [each.result_bytes for _, each in self.of_tool(*names)]) if self.tools else default
