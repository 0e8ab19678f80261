"""How much a run may use. The loop checks these with what it is told; the path holds the number of parallel calls."""

from __future__ import annotations

from msgspec import Struct

from ..core.errors import UsageError


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits of one run; None for no limit.

    Attributes:
        steps: how often the model may be asked.
        calls: how many tool calls it may make.
        seconds: how long the run may take, waiting for persons not counted.
        tokens: how many tokens the model may use, in and out.
        parallel: how many calls of one turn run at the same time.
        call_seconds: how long one attempt at a call may take, where the tool does not say.
        repeats: how often the same call may give the same result before it is called a loop.
        attempts: how often one call is tried, where trying again is safe.
        failures: how many failures of a tool's service in a row until it is left alone, for all runs of the agent.
        rest_seconds: for how long.
        approval_seconds: how long an approval may be waited for, and holds, where the policy does not say.
    """

    steps: int | None = 50
    calls: int | None = None
    seconds: float | None = None
    tokens: int | None = None
    parallel: int = 64
    call_seconds: float | None = 120.0
    repeats: int = 3
    attempts: int = 3
    failures: int = 5
    rest_seconds: float = 30.0
    approval_seconds: float | None = None

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if value is None and name not in _ALWAYS:
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
                or_none = "" if name in _ALWAYS else ", or None for no limit"
                raise UsageError(f"Limits({name}={value!r}): give a number above 0{or_none}")


_ALWAYS = frozenset({"parallel", "repeats", "attempts", "failures", "rest_seconds"})
