"""The weights by which values are put together to calls, learned from questions for one call and for several.

The readings that the present weights find are judged by the calls that are right; better weights find other readings,
so it is done twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from actum.core.json import JsonObject
from actum_embedded.calls.arguments import Filled, as_object, fill
from actum_embedded.calls.grouping import Call, readings
from actum_embedded.text.clauses import Clause, read
from actum_embedded.tools.selection import index

from .amounts import TODAY
from .corpus import Asked
from .fit import same

FIRST = {
    "gain": 1.0,
    "gain again": 1.0,
    "gains less": -0.3,
    "first required": 2.0,
    "first optional": -0.5,
    "in a row": 2.0,
    "as before": 1.0,
    "not as before": -2.0,
    "even so far": 0.5,
    "uneven so far": -0.5,
    "lacking": -3.0,
    "uneven": -2.0,
    "calls": -1.0,
    "unused": -0.5,
    "out of order": -1.0,
    "counts things": -2.0,
    "in words among figures": -2.0,
    "out of another": -2.0,
    "choice unused": -1.0,
    "in a row past its series": -3.0,
    "again in another's list": -1.0,
    "again, its other end not said": -1.0,
    "same kind": 0.5,
    "other kind": -2.0,
    "other capitals": -2.0,
    "cross": -1.0,
}
"""Weights to begin with, and to stay near where little speaks against them."""


class Judged(NamedTuple):
    """The readings of a question by their signs, and which of them are right."""

    signs: Sequence[Mapping[str, float]]
    right: Sequence[bool]


def learned(
    asked: Sequence[Asked], show: Callable[[Mapping[str, float]], None], *, shares: Sequence[int] = (4, 1)
) -> dict[str, float]:
    """The weights.

    Args:
        asked: questions about one tool each.
        show: makes weights those that readings are found with.
        shares: of which part of the questions they are learned each time: a quarter first, then all.
    """
    known = dict(FIRST)
    filled = [(each, *_filled(each)) for each in asked if len({name for name, _ in each.calls}) == 1]
    for share in shares:
        show(known)
        known = _fitted([each for one in filled[::share] for each in _judged(*one)])
    return known


def _filled(asked: Asked) -> tuple[Filled, Clause]:
    """The tool of a question with what could go into its slots, which no weights of the grouper change."""
    clause = read(asked.question, TODAY)
    tool = next(each for each in asked.tools if each.name == asked.calls[0][0])
    return fill(index(tool), clause), clause


def _judged(asked: Asked, filled: Filled, clause: Clause) -> list[Judged]:
    """The readings of a question, as often as it counts; none where none is right, or there is none to choose from."""
    slots = filled.indexed.slots
    picked = {slot.path[0] for slot in slots if slot.kind == "boolean" or (slot.kind == "enum" and slot.many)}
    wanted = [{name: value for name, value in each.items() if name not in picked} for _, each in asked.calls]
    found = readings(filled, clause)
    marks = [len(each.calls) == 1 if len(wanted) == 1 else _share(each.calls, wanted, picked) for each in found]
    best = max(marks, default=0)
    right = [mark == best for mark in marks]
    if best <= 0 or all(right):
        return []
    return [Judged([each.signs for each in found], right)] * asked.times


def _share(calls: Sequence[Call], wanted: Sequence[JsonObject], picked: set[str]) -> float:
    """How many values are right, less those that are wrong or lacking; 0 for another number of calls."""
    if len(calls) != len(wanted):
        return 0.0
    left = list(wanted)
    total = 0.0
    for call in calls:
        made = {name: value for name, value in as_object(call).items() if name not in picked}
        marks = [_mark(made, each) for each in left]
        total += max(marks)
        left.pop(marks.index(max(marks)))
    return total


def _mark(made: JsonObject, wanted: JsonObject) -> float:
    right = sum(name in wanted and same(value, wanted[name]) for name, value in made.items())
    return right - (len(made) - right) - LACKING * sum(name not in made for name in wanted)


LACKING = 0.5


def _fitted(judged: Sequence[Judged], *, steps: int = 300, rate: float = 0.03, decay: float = 1e-3) -> dict[str, float]:
    """Weights that make the right readings likely, by gradient descent, all questions at once."""
    names = sorted({name for each in judged for signs in each.signs for name in signs})
    place = {name: at for at, name in enumerate(names)}
    most = max(len(each.signs) for each in judged)
    data = np.zeros((len(judged), most, len(names)))
    there, right = np.zeros((len(judged), most), bool), np.zeros((len(judged), most), bool)
    for row, each in enumerate(judged):
        there[row, : len(each.signs)] = True
        right[row, : len(each.signs)] = each.right
        for column, signs in enumerate(each.signs):
            data[row, column, [place[name] for name in signs]] = list(signs.values())
    first = np.array([FIRST.get(name, 0.0) for name in names])
    weights, squares = first.copy(), np.full(len(names), 1e-8)
    for _ in range(steps):
        scores = np.where(there, data @ weights, -np.inf)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        wished = likely * right
        pull = likely / likely.sum(axis=1, keepdims=True) - wished / np.maximum(
            wished.sum(axis=1, keepdims=True), 1e-300
        )
        slope = np.einsum("ij,ijk->k", pull, data) / len(judged) + decay * (weights - first)
        squares = 0.9 * squares + 0.1 * slope * slope
        weights -= rate * slope / np.sqrt(squares)
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def sample(asked: Sequence[Asked], several: int, single: int, seed: int = 1) -> list[Asked]:
    """Some of the questions for several calls, and some of those for one."""
    chance = random.Random(seed)
    many = [each for each in asked if len(each.calls) > 1]
    one = [each for each in asked if len(each.calls) == 1]
    return chance.sample(many, min(several, len(many))) + chance.sample(one, min(single, len(one)))
