"""The weights by which a tool is chosen, learned from the same questions as the ranker's.

A question is put to a few tools: its own among like ones and others, or only those that are not its own, where choosing
none is right.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actum.core.tool import Tool
from actum_embedded.calls.arguments import fill
from actum_embedded.calls.choosing import signs
from actum_embedded.text.clauses import Clause, read
from actum_embedded.tools.selection import Shelf, generic, index

from .amounts import TODAY
from .corpus import Asked

ALIKE = 6
"""Among so many tools that come nearest by their words the wrong ones are chosen."""


_VERBS = {"#calculate", "#search", "#estimate", "#prediction", "#reserve", "#set", "#add"}
"""What many tools do: to have one of these in common makes no two tools for the same thing."""


Floats = NDArray[np.float64]
Parts = dict[str, Floats]
"""The weights of a net: into its units, what these have from the start and count, and those without them."""

UNITS, NETS, BATCH = 8, 3, 256


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
    every = [each for each in asked for _ in range(each.times)]
    mixed = chance.sample(every, len(every))
    groups = [mixed[first : first + TOGETHER] for first in range(0, len(mixed), TOGETHER)]
    names: list[str] = []
    found: list[Posed] = []
    for number, group in enumerate(groups):
        shelf = Shelf(list({tool.name: tool for each in group for tool in each.tools}.values()))
        clauses = [read(said, TODAY) for said in nothing[number :: len(groups)]]
        put = [(-1, tools, clause) for clause in clauses for tools in _near(clause, shelf, chance)]
        for each in group:
            if len({name for name, _ in each.calls}) == 1:
                clause = read(each.question, TODAY)
                put += [(right, tools, clause) for right, tools in _offered(each, clause, shelf, chance) if tools]
        for right, tools, clause in put:
            names, rows = _rows(Shelf(tools), clause)
            found.append(Posed(rows, right))
    return names, found


TOGETHER = 150
"""The tools that so many questions are about are those that each of them is put to some of."""


def _near(clause: Clause, shelf: Shelf, chance: random.Random) -> list[list[Tool]]:
    """The tools that come nearest to what asks for none: one, or some of them among others."""
    tools = [one.indexed.tool for one in shelf.rank(clause.terms, clause.spans, clause.words)]
    several = [*chance.sample(tools[:NEAR], min(2, len(tools))), *chance.sample(tools, min(2, len(tools)))]
    return [chance.choice((tools[:1], several))]


def _offered(asked: Asked, clause: Clause, shelf: Shelf, chance: random.Random) -> list[tuple[int, list[Tool]]]:
    """The tools that a question is put to, and which is right: its own alone and among others, and others alone."""
    ranked = shelf.rank(clause.terms, clause.spans, clause.words)
    own = asked.tools[0]
    own_score = next((one.score for one in ranked if one.indexed.tool.name == own.name), 0.0)
    named = {key for key in index(own).named if generic(key) > 0.5} - _VERBS
    like = [one.indexed.tool for one in ranked if one.score < 0.7 * own_score and named.isdisjoint(one.indexed.named)][
        :ALIKE
    ]
    far = [one.indexed.tool for one in ranked[ALIKE:] if one.indexed.tool.name != own.name]
    strange, alike = chance.sample(far, min(1, len(far))), chance.sample(like, min(2, len(like)))
    return [(0, [own]), (0, [own, *alike, *strange]), (-1, alike[:1]), (-1, [*alike[1:], *strange])]


NEAR = 5
"""What asks for nothing is put to some of so many tools that come nearest to it by their words."""


def _rows(shelf: Shelf, clause: Clause) -> tuple[list[str], list[list[float]]]:
    """What speaks for each tool, in the order of the shelf, with the names of the numbers."""
    ranked = {one.indexed.tool.digest: one for one in shelf.rank(clause.terms, clause.spans, clause.words)}
    numbers = [signs(ranked[each.tool.digest], fill(each, clause), clause) for each in shelf.tools]
    return list(numbers[0]), [list(each.values()) for each in numbers]


class Choices(NamedTuple):
    """The choices as arrays: the numbers of each tool, which tools there are, and which one is right."""

    data: Floats
    there: NDArray[np.bool_]
    right: NDArray[np.int64]


def learned(
    names: Sequence[str], choices: Sequence[Posed], *, units: int = UNITS, nets: int = NETS
) -> dict[str, float]:
    """The weights of a net (`actum_embedded.learned.nets`), flat: the mean of some that are learned from the same.

    Args:
        names: those of the numbers.
        choices: what is learned from.
        units: how many units each of them has.
        nets: how many there are.
    """
    most = max(len(each.tools) for each in choices)
    data = np.zeros((len(choices), most, len(names)))
    there = np.zeros((len(choices), most), bool)
    for at, each in enumerate(choices):
        data[at, : len(each.tools)] = each.tools
        there[at, : len(each.tools)] = True
    middle, spread = data[there].mean(axis=0), data[there].std(axis=0) + 1e-6
    standard = Choices((data - middle) / spread, there, np.array([each.right for each in choices]))
    found = [_net(standard, units, seed) for seed in range(nets)]
    into = np.concatenate([each["into"] for each in found], axis=1) / spread[:, None]
    start = np.concatenate([each["start"] for each in found]) - middle @ into
    out = np.concatenate([each["out"] for each in found]) / nets
    direct = np.mean([each["direct"] for each in found], axis=0) / spread
    constant = float(np.mean([each["constant"] for each in found]) - middle @ direct)
    flat = {
        name: float(value) + (constant if name == ALWAYS else 0.0) for name, value in zip(names, direct, strict=True)
    }
    for at in range(len(out)):
        flat |= {f"{name}>{at}": float(value) for name, value in zip(names, into[:, at], strict=True)}
        flat |= {f">{at}": float(start[at]), f"{at}>": float(out[at])}
    return {name: round(value, 4) for name, value in flat.items() if value or ">" not in name}


ALWAYS = "any"
"""The number that is always 1."""


def _net(
    choices: Choices, units: int, seed: int, *, rounds: int = 20, rate: float = 3e-3, decay: float = 5e-4
) -> Parts:
    """One net, by Adam (Kingma and Ba, 2015) on how unlikely what is right is, among its tools and none of them."""
    chance = np.random.default_rng(seed)
    size = choices.data.shape[2]
    parts: Parts = {
        "into": chance.normal(0.0, size**-0.5, (size, units)),
        "start": np.zeros(units),
        "out": chance.normal(0.0, 0.1, units),
        "direct": np.zeros(size),
        "constant": np.zeros(1),
    }
    first = {name: np.zeros_like(value) for name, value in parts.items()}
    second = {name: np.zeros_like(value) for name, value in parts.items()}
    order = np.arange(len(choices.data))
    step = 0
    for _ in range(rounds):
        chance.shuffle(order)
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            slopes = _slopes(parts, Choices(choices.data[rows], choices.there[rows], choices.right[rows]))
            step += 1
            for name, own in slopes.items():
                slope = own + decay * parts[name]
                first[name] = 0.9 * first[name] + 0.1 * slope
                second[name] = 0.999 * second[name] + 0.001 * slope * slope
                spread = np.sqrt(second[name] / (1.0 - 0.999**step)) + 1e-8
                parts[name] = parts[name] - rate * first[name] / (1.0 - 0.9**step) / spread
    return parts


def _slopes(parts: Parts, choices: Choices) -> Parts:
    """How fast what is lost rises with each weight."""
    inner = choices.data @ parts["into"] + parts["start"]
    lit = np.maximum(inner, 0.0)
    scores = lit @ parts["out"] + choices.data @ parts["direct"] + parts["constant"][0]
    scores = np.where(choices.there, scores, -1e9)
    highest = np.maximum(scores.max(axis=1), 0.0)
    worth = np.exp(scores - highest[:, None])
    pull = worth / (worth.sum(axis=1) + np.exp(-highest))[:, None]
    rows = np.flatnonzero(choices.right >= 0)
    pull[rows, choices.right[rows]] -= 1.0
    pull /= len(pull)
    back = pull[..., None] * parts["out"] * (inner > 0.0)
    return {
        "into": np.tensordot(choices.data, back, axes=((0, 1), (0, 1))),
        "start": back.sum(axis=(0, 1)),
        "out": np.tensordot(pull, lit, axes=((0, 1), (0, 1))),
        "direct": np.tensordot(pull, choices.data, axes=((0, 1), (0, 1))),
        "constant": np.array([pull.sum()]),
    }
