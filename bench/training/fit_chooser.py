"""The weights by which a tool is chosen, learned from the same questions as the ranker's.

A question is put to a few tools: its own among like ones and others, or only those that are not its own, where choosing
none is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from actum.core.tool import Tool
from actum.models.embedded.arguments import fill
from actum.models.embedded.choosing import signs
from actum.models.embedded.clauses import Clause, read
from actum.models.embedded.selection import Shelf, generic, index

from .amounts import TODAY
from .corpus import Asked

ALIKE = 6
"""Among so many tools that come nearest by their words the wrong ones are chosen."""


_VERBS = {"#calculate", "#search", "#estimate", "#prediction", "#reserve", "#set", "#add"}
"""What many tools do: to have one of these in common makes no two tools for the same thing."""


class Posed(NamedTuple):
    """The tools that a question is put to, as numbers, and which one is right; -1 for none."""

    tools: list[list[float]]
    right: int


def posed(asked: Sequence[Asked], nothing: Sequence[str], seed: int = 1) -> tuple[list[str], list[Posed]]:
    """The choices that questions pose, and the names of the numbers.

    Args:
        asked: questions about one tool each.
        nothing: what asks for none.
        seed: where chance begins.
    """
    chance = random.Random(seed)
    every: dict[str, Tool] = {tool.name: tool for each in asked for tool in each.tools}
    shelf = Shelf(list(every.values()))
    names: list[str] = []
    found: list[Posed] = []
    for said in nothing:
        clause = read(said, TODAY)
        near = [one.indexed.tool for one in shelf.rank(clause.terms, clause.spans, clause.words)[:NEAR]]
        several = [*chance.sample(near, 2), *chance.sample(list(every.values()), 2)]
        names, rows = _rows(Shelf(chance.choice((near[:1], several))), clause)
        found.append(Posed(rows, -1))
    for each in asked:
        if len({name for name, _ in each.calls}) != 1:
            continue
        clause = read(each.question, TODAY)
        ranked = shelf.rank(clause.terms, clause.spans, clause.words)
        own = each.tools[0]
        own_score = next((one.score for one in ranked if one.indexed.tool.name == own.name), 0.0)
        named = {key for key in index(own).named if generic(key) > 0.5} - _VERBS
        like = [
            one.indexed.tool for one in ranked if one.score < 0.7 * own_score and named.isdisjoint(one.indexed.named)
        ][:ALIKE]
        far = [one.indexed.tool for one in ranked[ALIKE:] if one.indexed.tool.name != own.name]
        strange = chance.sample(far, 4)
        alike = chance.sample(like, min(2, len(like)))
        for right, tools in (
            (0, [own]),
            (0, [own, *alike, *strange]),
            (-1, alike[:1]),
            (-1, [*alike[1:], *strange]),
        ):
            if tools:
                names, rows = _rows(Shelf(tools), clause)
                found.append(Posed(rows, right))
    return names, found


NEAR = 5
"""What asks for nothing is put to some of so many tools that come nearest to it by their words."""


def _rows(shelf: Shelf, clause: Clause) -> tuple[list[str], list[list[float]]]:
    """What speaks for each tool, in the order of the shelf, with the names of the numbers."""
    ranked = {one.indexed.tool.digest: one for one in shelf.rank(clause.terms, clause.spans, clause.words)}
    numbers = [signs(ranked[each.tool.digest], fill(each, clause), clause) for each in shelf.tools]
    return list(numbers[0]), [list(each.values()) for each in numbers]


def learned(
    names: Sequence[str], choices: Sequence[Posed], *, rounds: int = 2500, rate: float = 0.2
) -> dict[str, float]:
    """The weights: by gradient descent, all choices at once."""
    most = max(len(each.tools) for each in choices)
    data = np.zeros((len(choices), most, len(names)))
    there = np.zeros((len(choices), most), bool)
    right = np.array([each.right for each in choices])
    for at, each in enumerate(choices):
        data[at, : len(each.tools)] = each.tools
        there[at, : len(each.tools)] = True
    scale = np.abs(data).max(axis=(0, 1)) + 1e-9
    data /= scale
    weights, squares = np.zeros(len(names)), np.full(len(names), 1e-8)
    rows = np.arange(len(choices))
    for _ in range(rounds):
        scores = np.where(there, data @ weights, -1e9)
        highest = np.maximum(scores.max(axis=1), 0.0)
        worth = np.exp(scores - highest[:, None])
        likely = worth / (worth.sum(axis=1) + np.exp(-highest))[:, None]
        likely[rows[right >= 0], right[right >= 0]] -= 1.0
        slope = np.einsum("ij,ijk->k", likely, data) / len(choices) + 1e-4 * weights
        squares = 0.9 * squares + 0.1 * slope * slope
        weights -= rate * 0.1 * slope / np.sqrt(squares)
    return {name: round(float(weight / size), 4) for name, weight, size in zip(names, weights, scale, strict=True)}
