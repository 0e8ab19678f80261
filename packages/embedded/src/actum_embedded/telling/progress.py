"""What was done of a plan, and what is to be done next. A pure function of the plan and of the calls so far.

Nothing is remembered between replies: the calls of the turn are laid over the plan, which is the same each time. A
    step that failed for its arguments is tried once more in another way; one whose input did not come is not tried at
    all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from actum.core.call import ToolCall, ToolResult
from actum.core.json import JsonObject

from ..calls.arguments import Argument, as_object
from ..calls.chain import taken_from
from ..calls.repair import repaired
from ..calls.step import Step
from ..text.spans import Span
from .answer import value_of

ATTEMPTS_MAX = 2
RESULT_CONFIDENCE = 0.8

Done = tuple[ToolCall, ToolResult | None]


class Progress(NamedTuple):
    """A plan with what was done of it.

    Attributes:
        steps: the plan.
        attempts: for each step, the calls that were made for it.
        others: calls that belong to no step; another model may have made them.
    """

    steps: tuple[Step, ...]
    attempts: dict[int, list[Done]]
    others: tuple[Done, ...]

    def result(self, number: int) -> ToolResult | None:
        """The result of a step that succeeded."""
        done = self.attempts.get(number, [])
        last = done[-1][1] if done else None
        return last if last is not None and last.error is None else None

    def last(self, step: Step) -> Done | None:
        """The latest call for a step."""
        done = self.attempts.get(step.number, [])
        return done[-1] if done else None

    def arguments(self, step: Step) -> tuple[Argument, ...] | None:
        """All arguments of a step, those included that results give it; None while one of them is not there."""
        found = list(step.arguments)
        for need in step.needs:
            result = self.result(need.step)
            value = taken_from(value_of(result), need.slot) if result is not None else None
            if value is None:
                return None
            found.append(Argument(need.slot, value, Span("result", 0, 0, str(value), value), RESULT_CONFIDENCE))
        order = {slot.path: at for at, slot in enumerate(step.indexed.slots)}
        return tuple(sorted(found, key=lambda each: order[each.slot.path]))

    def made(self, step: Step) -> tuple[Argument, ...]:
        """The arguments of a step as its latest call had them."""
        planned = self.arguments(step) or step.arguments
        last = self.last(step)
        had = last[0].arguments if last else {}
        return tuple(each._replace(value=had.get(each.slot.name, each.value)) for each in planned)

    def next_calls(self) -> list[tuple[str, JsonObject]]:
        """The tools to call now, each with its arguments; those of one list do not depend on each other."""
        calls: list[tuple[str, JsonObject]] = []
        for step in self.steps:
            arguments = self._next_arguments(step)
            if arguments is not None:
                calls.append((step.indexed.tool.name, arguments))
        return calls

    def _next_arguments(self, step: Step) -> JsonObject | None:
        if step.missing or step.against:
            return None
        last = self.last(step)
        if last is None:
            found = self.arguments(step)
            return as_object(found) if found is not None else None
        call, result = last
        if result is None or result.error is None or len(self.attempts[step.number]) >= ATTEMPTS_MAX:
            return None
        return repaired(step, call.arguments, result.error)


def lay_over(steps: Sequence[Step], done: Sequence[Done]) -> Progress:
    """Assign each call of a turn to the step that it was made for."""
    progress = Progress(tuple(steps), {}, ())
    others: list[Done] = []
    for call, result in done:
        step = _step_of(call, progress)
        if step is None:
            others.append((call, result))
        else:
            progress.attempts.setdefault(step.number, []).append((call, result))
    return progress._replace(others=tuple(others))


def _step_of(call: ToolCall, progress: Progress) -> Step | None:
    named = [step for step in progress.steps if step.indexed.tool.name == call.name]
    fresh = [step for step in named if progress.last(step) is None and not step.missing and not step.against]
    for step in fresh:
        found = progress.arguments(step)
        if found is not None and as_object(found) == call.arguments:
            return step
    again = [
        step for step in named if (last := progress.last(step)) is not None and last[1] is not None and last[1].error
    ]
    return next(iter([*again, *fresh]), None)


def ends_early(step: Step, progress: Progress) -> bool:
    """A step that will not be done: what it needs did not come."""
    return bool(step.needs) and not step.missing and progress.last(step) is None and progress.arguments(step) is None
