"""What the parts of a question have in common: one tool for several values, one value for several tools, one topic.

"Beijing and Shanghai" is two calls of one tool; "weather and news for Beijing" lends the city to both; "what is a
drone, and what is its flight control" lends the drone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from .arguments import Argument, Filled
from .choices import chosen_values
from .clauses import Clause
from .lexicon import is_han
from .slots import Slot
from .step import Step
from .values import value_for


def spread(filled: Filled, clause: Clause) -> Iterator[tuple[Argument, ...]]:
    """The arguments, once for each of several values that are named side by side for one slot."""
    for argument in filled.arguments:
        others = _side_by_side(argument, filled, clause)
        if others:
            for one in sorted([argument, *others], key=lambda each: each.span.start):
                yield tuple(one if each is argument else each for each in filled.arguments)
            return
    yield filled.arguments


def _side_by_side(argument: Argument, filled: Filled, clause: Clause) -> list[Argument]:
    if argument.slot.many or argument.slot.kind in ("text", "query", "expression", "sql", "boolean", "number"):
        return []
    if argument.slot.kind == "enum":
        options = chosen_values(argument.slot, filled.indexed.named, clause)
        return [
            Argument(argument.slot, *option) for option in options if option[0] != argument.value and option[2] >= 0.8
        ]
    taken = [each.span for each in filled.arguments if each is not argument]
    rivals = [
        span
        for span in clause.spans
        if span.kind == argument.span.kind and not any(span.overlaps(other) for other in taken)
    ]
    group = [argument.span]
    for span in rivals:  # those that follow it, in order
        if span.start >= group[-1].end and clause.joins(group[-1], span):
            group.append(span)
    for span in reversed(rivals):  # and those before it
        if span.end <= group[0].start and clause.joins(span, group[0]):
            group.insert(0, span)
    group.remove(argument.span)
    values = [(value_for(argument.slot, span), span) for span in group]
    return [argument._replace(value=value, span=span) for value, span in values if value is not None]


def with_topics(steps: list[Step]) -> list[Step]:
    """`its flight control` as `drone flight control`, when a drone was asked about just before."""
    told: list[Step] = []
    topic = ""
    for step in steps:
        arguments = list(step.arguments)
        for at, each in enumerate(arguments):
            if each.slot.kind == "query" and isinstance(each.value, str):
                own = _OWNED.match(each.value)
                if own is not None and topic:
                    rest = each.value[own.end() :].strip()
                    arguments[at] = each._replace(value=f"{topic}{rest}" if is_han(rest) else f"{topic} {rest}")
                topic = topic if own is not None else each.value
        told.append(step._replace(arguments=tuple(arguments)))
    return told


_OWNED = re.compile(r"(?:its|their|his|her)\s+|[它其]们?的?", re.IGNORECASE)


def with_loans(steps: list[Step]) -> list[Step]:
    """Give a step what it lacks and others of the same question have; for each of several values a step."""
    given: list[Step] = []
    for at, step in enumerate(steps):
        several = [step]
        near = sorted((other for other in steps if other is not step), key=lambda other: abs(steps.index(other) - at))
        for slot in step.missing:
            lender = next((other for other in near if any(_lends(each, slot) for each in other.arguments)), None)
            if lender is not None:
                alike = [other for other in steps if other.clause is lender.clause]
                lent = [each for other in alike for each in other.arguments if _lends(each, slot)]
                values = {each.span: Argument(slot, each.value, each.span, each.confidence * 0.7) for each in lent}
                several = [_with(one, value) for one in several for value in values.values()]
        given += several[:1]
        given += [one._replace(number=len(steps) + len(given) + extra) for extra, one in enumerate(several[1:])]
    return given


def _with(step: Step, argument: Argument) -> Step:
    missing = tuple(slot for slot in step.missing if slot.path != argument.slot.path)
    return step._replace(arguments=(*step.arguments, argument), missing=missing)


_ALIKE = {
    "city": {"city", "place", "timezone"},
    "place": {"city", "place", "timezone"},
    "timezone": {"city", "place", "timezone"},
}


def _lends(argument: Argument, slot: Slot) -> bool:
    kinds = _ALIKE.get(slot.kind, {slot.kind} if slot.kind in ("country", "person", "date", "id", "email") else set())
    return (argument.slot.kind in kinds and argument.span.kind != "country") or (
        argument.slot.kind == slot.kind == "country"
    )
