"""A plan of a model: steps, each with its status. A plan is on record as the calls of one tool, `update_plan`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from ..call import ToolResult

UPDATE_PLAN = "update_plan"
"""The tool by which a model writes down a plan."""

StepStatus = Literal["pending", "in_progress", "waiting", "done", "failed", "dropped"]
OPEN: frozenset[StepStatus] = frozenset({"pending", "in_progress"})
"""How a step stands that is still to be done."""


class PlanStep(Struct, frozen=True, omit_defaults=True):
    """A step of a plan.

    Attributes:
        step: what is to be done, in the model's words.
        status: the state of the step; `waiting` means that it waits for the user.
        note: why the step failed or was dropped, or what it waits for.
    """

    step: str
    status: StepStatus
    note: str = ""


PlanSteps = tuple[PlanStep, ...]


def lines_of(plan: PlanSteps) -> str:
    """A plan as text, a line for each step.

    >>> lines_of((PlanStep("Book", "failed", "sold out"),))
    '1. [failed] Book (sold out)'
    """
    return "\n".join(
        f"{number}. [{each.status}] {each.step}{f' ({each.note})' if each.note else ''}"
        for number, each in enumerate(plan, 1)
    )


def latest_plan(results: Iterable[tuple[str, ToolResult]]) -> PlanSteps:
    """The plan that was written down last.

    Args:
        results: the names of tools, each with the result of a call, in the order of a run's calls.
    """
    plan: PlanSteps = ()
    for name, result in results:
        if name == UPDATE_PLAN:
            plan = plan_of(result) or plan
    return plan


def plan_of(result: ToolResult) -> PlanSteps:
    """The plan that a call of `update_plan` wrote down; none where it failed."""
    value = result.structured
    if result.error is not None or not isinstance(value, dict):
        return ()
    try:
        return msgspec.convert(value.get("steps"), PlanSteps)
    except msgspec.ValidationError:  # a result of somebody else's tool of this name
        return ()
