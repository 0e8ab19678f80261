"""The weights by which steps that nobody asked for are left out, learned from stories whose calls are known.

The plan for a story is made without them. Of the steps for a tool as many are right as it has calls in the story, those
that come nearest to them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from actum.core.json import JsonObject
from actum_embedded.calls.arguments import as_object
from actum_embedded.calls.plan import unsifted
from actum_embedded.calls.sieve import signs
from actum_embedded.calls.step import Step
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import Shelf

from .amounts import TODAY
from .corpus import Asked
from .fit import same


class Judged(NamedTuple):
    """What speaks for a step, and whether it was asked for."""

    signs: Mapping[str, float]
    right: bool


def judged(asked: Asked) -> list[Judged]:
    """The steps of the plan for a question, as they stand at first and beside those only that are right; as often as
    the question counts.
    """
    steps = unsifted(read(asked.question, TODAY), Shelf(asked.tools))
    right = _right(steps, asked)
    kept = [step for at, step in enumerate(steps) if at in right]
    if len(steps) < 2 or not kept:
        return []
    first = [Judged(signs(at, steps), at in right) for at in range(len(steps))]
    then = [Judged(signs(at, kept), True) for at in range(len(kept))] if len(kept) > 1 else []
    return (first + then) * asked.times


def _right(steps: Sequence[Step], asked: Asked) -> set[int]:
    """Which steps stand for a call that was asked for."""
    found: set[int] = set()
    for tool in asked.tools:
        wanted = [arguments for name, arguments in asked.calls if name == tool.name]
        made = [(at, as_object(step.arguments)) for at, step in enumerate(steps) if step.indexed.tool.name == tool.name]
        pairs = sorted(
            ((_likeness(given, each), -at, -number) for at, given in made for number, each in enumerate(wanted)),
            reverse=True,
        )
        met: set[int] = set()
        for _, at, number in pairs:
            if -at not in found and number not in met:
                found.add(-at)
                met.add(number)
    return found


def _likeness(made: JsonObject, wanted: JsonObject) -> float:
    right = sum(name in wanted and same(value, wanted[name]) for name, value in made.items())
    return right - 0.1 * (len(made) - right)


def learned(found: Sequence[Judged], *, steps: int = 600, rate: float = 0.03, decay: float = 1e-3) -> dict[str, float]:
    """The weights, by gradient descent on how unlikely what is right is, all steps at once."""
    names = sorted({name for each in found for name in each.signs})
    place = {name: at for at, name in enumerate(names)}
    data = np.zeros((len(found), len(names)))
    for row, each in enumerate(found):
        data[row, [place[name] for name in each.signs]] = list(each.signs.values())
    right = np.array([each.right for each in found], np.float64)
    weights, squares = np.zeros(len(names)), np.full(len(names), 1e-8)
    for _ in range(steps):
        likely = 1.0 / (1.0 + np.exp(-data @ weights))
        slope = (likely - right) @ data / len(found) + decay * weights
        squares = 0.9 * squares + 0.1 * slope * slope
        weights -= rate * slope / np.sqrt(squares)
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}
