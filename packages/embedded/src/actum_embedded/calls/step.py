"""`Step`: a call to make, as a plan holds it."""

from __future__ import annotations

from typing import NamedTuple

from ..text.clauses import Clause
from ..tools.selection import Indexed
from ..tools.slots import Slot
from .arguments import Argument


class Need(NamedTuple):
    """A slot that is filled by the result of the step of this number."""

    slot: Slot
    step: int


class Step(NamedTuple):
    """A call to make.

    Attributes:
        number: by which other steps refer to it.
        indexed: the tool.
        arguments: what is known.
        missing: the required slots that nothing fills.
        needs: slots that an earlier step's result fills.
        clause: what asked for it.
        against: words of the user that speak against making the call, which then waits for a yes; see `mood`.
    """

    number: int
    indexed: Indexed
    arguments: tuple[Argument, ...]
    missing: tuple[Slot, ...]
    needs: tuple[Need, ...]
    clause: Clause
    against: str = ""

    def same_call(self, other: Step) -> bool:
        """They would be the same call."""
        values = [{each.slot.path: each.value for each in step.arguments} for step in (self, other)]
        return (
            self.indexed.tool.name == other.indexed.tool.name and values[0] == values[1] and self.needs == other.needs
        )
