"""Whether the model of a run must call a tool, and which: what a program or a client says, and what each request says.

    auto              the model decides
    none              the run calls nothing
    required          the first thing that the model does is a call
    a tool's name     the first thing that the model does is a call of this tool
    a list of names   the run calls no other tools

A demand holds until the run has made such a call: else no run would ever end. A model that disobeys is asked once more;
then its answer counts, and the record says so (`ModelReplied.demanded`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Literal, cast

from msgspec import structs

from ..core.call import ToolCall
from ..core.errors import PermissionDenied, UsageError
from ..core.run.plan import UPDATE_PLAN
from ..core.tool import AllowedTools, NamedTool, Tool, ToolChoice, is_demand, named_tools

ChosenTools = str | Sequence[str] | NamedTool | AllowedTools
"""A tool choice as it is said: one of the words above, a name, or names."""

TRIES = 2
"""After as many replies that disobey, the demand is dropped."""


def read_tool_choice(said: ChosenTools) -> ToolChoice:
    """Read a tool choice.

    Raises:
        UsageError: it is none.

    >>> read_tool_choice("required"), read_tool_choice("pay"), read_tool_choice(["pay"])
    ('required', NamedTool(name='pay'), AllowedTools(names=('pay',), mode='auto'))
    """
    if said in ("auto", "none", "required") or isinstance(said, NamedTool | AllowedTools):
        return cast("ToolChoice", said)
    if isinstance(said, str):
        if said.strip():
            return NamedTool(said)
    elif isinstance(said, list | tuple) and said and all(isinstance(name, str) and name.strip() for name in said):
        return AllowedTools(tuple(said))
    raise UsageError(
        "tool_choice={said!r}: give 'auto', 'none', 'required', the name of a tool, or a list of names", said=said
    )


def allows(choice: ToolChoice, name: str) -> bool:
    """Whether a run with this choice may call the tool of this name at all."""
    return choice != "none" and not (isinstance(choice, AllowedTools) and name not in choice.names)


def with_plan(choice: ToolChoice, plan: bool | Literal["first"]) -> ToolChoice:
    """The tool choice of an agent that makes plans.

    Raises:
        UsageError: the choice lets it make none, or begin with another call.
    """
    if plan not in (False, True, "first"):
        raise UsageError("plan={plan!r}: give True, False or 'first'", plan=plan)
    if plan and not allows(choice, UPDATE_PLAN):
        raise UsageError(
            "plan=: the tool_choice of this agent leaves out `update_plan`: name it there, or leave out plan"
        )
    if plan != "first":
        return choice
    if choice not in ("auto", NamedTool(UPDATE_PLAN)):
        raise UsageError("plan='first' begins with a plan: leave out tool_choice")
    return NamedTool(UPDATE_PLAN)


def check_names(choice: ToolChoice, known: Container[str]) -> None:
    """Before anything is asked: the tools that a choice names are there.

    Raises:
        UsageError: one of them is not.
    """
    for name in named_tools(choice):
        if name not in known:
            raise UsageError("tool_choice: this agent has no tool {name!r}: name one that it has", name=name[:80])


def shown_choice(choice: ToolChoice, tools: Sequence[Tool]) -> ToolChoice:
    """The choice, as far as it can be told with the tools that the model is shown: of a tool that is not shown to this
    user, no call is demanded.
    """
    named = named_tools(choice)
    shown = {tool.name for tool in tools} if named else set()
    if not tools or (isinstance(choice, NamedTool) and choice.name not in shown):
        return "auto"
    if isinstance(choice, AllowedTools):
        kept = tuple([name for name in named if name in shown])
        return structs.replace(choice, names=kept) if kept else "none"
    return choice


class Demand:
    """The tool choice of a run, as it stands after each of its replies.

    Args:
        choice: of the run.
        names_of: the names by which a call is known.
    """

    def __init__(self, choice: ToolChoice, names_of: Callable[[ToolCall], Sequence[str]]) -> None:
        self.now = choice
        self._names_of = names_of
        self._disobeyed = 0

    @property
    def is_open(self) -> bool:
        """A call is demanded, and has not been made."""
        return is_demand(self.now)

    def refusals(self, calls: Sequence[ToolCall]) -> dict[int, PermissionDenied]:
        """The calls of a reply that the choice forbids, by index; from here on the demand is met, if it is by now."""
        barred = {index: self._refusal() for index, call in enumerate(calls) if not self._allows(call)}
        if len(barred) < len(calls):
            self._end()
        elif self.is_open:
            self.disobeyed()
        return barred

    def disobeyed(self) -> bool:
        """The model did something else than what was demanded.

        Returns:
            Whether it is asked once more.
        """
        self._disobeyed += 1
        if self._disobeyed == TRIES:
            self._end()
        return self._disobeyed < TRIES

    def _end(self) -> None:
        """Nothing is demanded from here on; what a list forbids stays forbidden."""
        if isinstance(self.now, AllowedTools):
            self.now = AllowedTools(self.now.names)
        elif self.is_open:
            self.now = "auto"

    def _allows(self, call: ToolCall) -> bool:
        if self.now == "none":
            return False
        named = named_tools(self.now)
        return not named or not {call.name, *self._names_of(call)}.isdisjoint(named)

    def _refusal(self) -> PermissionDenied:
        if self.now == "none":
            return PermissionDenied("No tool may be called in this run: answer with what you know.")
        if isinstance(self.now, NamedTool):
            return PermissionDenied("First call the tool {name}: this run has to begin with it.", name=self.now.name)
        return PermissionDenied("In this run you may only call: {names}.", names=", ".join(named_tools(self.now)))
