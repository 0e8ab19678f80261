"""How many calls a run has made, and which call would be one too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase

from ...core.call import ToolCall
from ...core.errors import BudgetExceeded
from .limits import Limits


def own_name(call: ToolCall) -> Sequence[str]:
    """The name of the tool that is called."""
    return (call.name,)


class CallCount:
    """Counts the calls of one run.

    Args:
        limits: of the run.
        names_of: the names by which limits know a call, as `Catalog.names_of` gives them.

    Attributes:
        calls: how many were made, with those of the agents that the run started.
    """

    def __init__(self, limits: Limits, names_of: Callable[[ToolCall], Sequence[str]] = own_name) -> None:
        self._limits = limits
        self._names_of = names_of
        self.calls = 0
        self._of_tools = dict.fromkeys((name for name, each in limits.tools.items() if each.calls is not None), 0)

    def refusal(self, call: ToolCall) -> BudgetExceeded | None:
        """Why this call is one too many, if it is."""
        limit = self._limits.calls
        if limit is not None and self.calls >= limit:
            return BudgetExceeded(
                "This run may make {most} tool calls (the setting Limits.calls), and has made them. "
                "This call was not made. Answer with what you know.",
                limit="calls",
                most=limit,
            )
        names = self._names_of(call) if self._of_tools else ()
        for pattern, made in self._of_tools.items():
            most = self._limits.tools[pattern].calls
            if most is not None and made >= most and any(fnmatchcase(name, pattern) for name in names):
                return BudgetExceeded(
                    "A run may make {most} calls of {pattern} (the setting ToolLimits.calls), and "
                    "this one has made them. Go on without.",
                    limit="tool_calls",
                    most=most,
                    pattern=pattern,
                )
        return None

    def count(self, call: ToolCall) -> None:
        """This call is made."""
        self.calls += 1
        names = self._names_of(call) if self._of_tools else ()
        for pattern in self._of_tools:
            self._of_tools[pattern] += any(fnmatchcase(name, pattern) for name in names)
