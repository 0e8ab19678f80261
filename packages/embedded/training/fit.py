"""The weights of the ranker, learned from questions whose arguments are known.

A slot is a choice: among all that could go into it and nothing. Training makes what was said likelier than all that was
not, by gradient descent on the logarithm of that likelihood; where a question asks for several calls, each value of the
slot is a choice of its own. Needs numpy; takes about two minutes; the same seed gives the same weights.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actum.core.json import Json, JsonObject
from actum_embedded.learned.weights import CHINESE
from actum_embedded.text.clauses import Clause, read
from actum_embedded.tools.candidates import Candidate, View
from actum_embedded.tools.choices import chosen_values, truth
from actum_embedded.tools.selection import Indexed, index
from actum_embedded.tools.slots import Slot
from actum_embedded.weighing.features import (
    aim_of,
    begins,
    ends,
    inside,
    nothing,
)
from actum_embedded.weighing.guesses import silent, speaking, values_of
from actum_embedded.weighing.offers import offered

from .amounts import TODAY
from .corpus import Asked

NEGATIVES = 22
"""So many wrong candidates of a slot are learned from."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Choices(NamedTuple):
    """What is learned from, flat.

    Attributes:
        names: the features, by number.
        features: those of every candidate, one after the other.
        counts: how many each candidate has.
        sizes: how many candidates each slot has.
        values: for each candidate which of the said values it is, from 1; 0 when it is none of them.
        abouts: which tool each slot is of, by number; the forms of one sketch are one tool.
        times: for how many each slot counts.
        tools: the tools.
        skipped: how many slots have a value that no candidate has.
    """

    names: list[str]
    features: Ints
    counts: Ints
    sizes: Ints
    values: Ints
    abouts: Ints
    times: Ints
    tools: list[str]
    skipped: int


def choices_of(asked: Iterable[Asked], seed: int = 1) -> Choices:
    """The choices that questions pose."""
    chance = random.Random(seed)
    numbered = _Numbered()
    features: list[int] = []
    counts: list[int] = []
    sizes: list[int] = []
    values: list[int] = []
    abouts: list[int] = []
    times: list[int] = []
    tools: dict[str, int] = {}
    skipped = 0

    def add(names: Sequence[str], value: int, tongue: str) -> None:
        features.extend([numbered[tongue + name] for name in names])
        counts.append(len(names))
        values.append(value)

    for each in asked:
        clause = read(each.question, TODAY)
        for tool in each.tools:
            indexed = index(tool)
            calls = [arguments for name, arguments in each.calls if name == tool.name]
            for slot in indexed.slots if calls else ():
                if slot.many and slot.kind in ("enum", "boolean"):
                    continue
                if slot.kind in ("enum", "boolean"):
                    posed = _guess(slot, indexed.named, clause, calls)
                elif slot.type in ("string", "integer", "number"):
                    posed = _choice(slot, indexed, clause, calls, chance)
                else:
                    continue
                if posed is None:
                    skipped += 1
                    continue
                before = len(counts)
                for names, value in posed:
                    add(names, value, View.of(clause).tongue)
                sizes.append(len(counts) - before)
                abouts.append(tools.setdefault(each.about or tool.name, len(tools)))
                times.append(each.times)
    flat, lengths, slots, said, about, often = (
        np.array(each, np.int64) for each in (features, counts, sizes, values, abouts, times)
    )
    return Choices(list(numbered), flat, lengths, slots, said, about, often, list(tools), skipped)


class _Numbered(dict[str, int]):
    """Names with a number each, in the order in which they are first asked for."""

    def __missing__(self, name: str) -> int:
        number = self[name] = len(self)
        return number


def _choice(
    slot: Slot, indexed: Indexed, clause: Clause, calls: Sequence[JsonObject], chance: random.Random
) -> list[tuple[list[str], int]] | None:
    """The candidates of a slot with their features and which value each is; None when a value is none of them."""
    said: list[Json] = []
    for arguments in calls:
        value = _at(arguments, slot.path)
        if value is not None and not any(same(value, other) for other in said):
            said.append(value)
    found = offered(slot, indexed, clause)
    which = [next((n for n, value in enumerate(said, 1) if same(each.value, value)), 0) for each in found]
    if any(n not in which for n in range(1, len(said) + 1)):
        return None
    aim, view = aim_of(slot, indexed), View.of(clause)
    numbers = sum(span.kind == "number" for spans in view.typed.values() for span in spans)
    kept = _kept(found, which, chance)
    starts = {first: [*begins(aim, view, first)] for first in {each.first for each, _ in kept}}
    stops = {last: [*ends(aim, view, last)] for last in {each.last for each, _ in kept}}
    posed = [
        ([*starts[each.first], *stops[each.last], *inside(aim, view, each, numbers)], value) for each, value in kept
    ]
    return [*posed, (list(nothing(aim, view, found)), 0 if said else 1)]


def _guess(
    slot: Slot, own: frozenset[str], clause: Clause, calls: Sequence[JsonObject]
) -> list[tuple[list[str], int]] | None:
    """The values that a slot is chosen from, where no rule finds one that was said."""
    found = chosen_values(slot, own, clause) if slot.kind == "enum" else truth(slot, own, clause)
    said = [value for arguments in calls if (value := _at(arguments, slot.path)) is not None]
    if found or len(set(map(str, said))) > 1:
        return None
    values = zip(values_of(slot), speaking(slot, clause), strict=True)
    posed = [(spoken, int(value in said)) for value, spoken in values]
    return [*posed, (list(silent(slot, clause)), 0 if said else 1)]


def _kept(found: Sequence[Candidate], which: Sequence[int], chance: random.Random) -> list[tuple[Candidate, int]]:
    """The right candidates and some of the wrong ones: typed ones, those with one border right, and others."""
    right = [(each, value) for each, value in zip(found, which, strict=True) if value]
    wrong = [each for each, value in zip(found, which, strict=True) if not value]
    starts, stops = {each.first for each, _ in right}, {each.last for each, _ in right}
    typed = [each for each in wrong if each.kinds]
    close = [each for each in wrong if not each.kinds and (each.first in starts or each.last in stops)]
    other = [each for each in wrong if not each.kinds and each.first not in starts and each.last not in stops]
    for group in (typed, close, other):
        chance.shuffle(group)
    kept = typed[: NEGATIVES // 2] + close[: NEGATIVES // 2]
    return right + [(each, 0) for each in kept + other[: max(0, NEGATIVES - len(kept))]]


def _at(arguments: JsonObject, path: tuple[str, ...]) -> Json | None:
    place: Json = arguments
    for name in path:
        place = place.get(name) if isinstance(place, dict) else None
    return place


def same(made: Json, said: Json) -> bool:
    """Whether a value is what was said, spaces and capitals apart."""
    if isinstance(made, str) and isinstance(said, str):
        return _bare(made) == _bare(said) != ""
    if isinstance(made, list) and isinstance(said, list):
        return len(made) == len(said) and all(same(one, other) for one, other in zip(made, said, strict=True))
    if isinstance(made, bool) or isinstance(said, bool):
        return made is said
    if isinstance(made, int | float) and isinstance(said, int | float):
        return abs(made - said) < 1e-9
    return isinstance(made, str | int | float) and isinstance(said, str | int | float) and str(made) == str(said)


def _bare(text: str) -> str:
    return text.translate(_LEFT_OUT).lower()


_LEFT_OUT = str.maketrans("", "", " ,./\\_*^-")


class Settings(NamedTuple):
    """How it is learned; the weights are the mean of those that several seeds come to."""

    rounds: int = 7
    rate: float = 0.25
    decay: float = 1e-4
    batch: int = 256
    rare: int = 4
    seeds: int = 3


def learned(choices: Choices, settings: Settings | None = None, *, half: bool = False) -> dict[str, float]:
    """The weights, by feature; one that the slots of fewer than `rare` tools have is left out.

    Args:
        choices: what is learned from.
        settings: how.
        half: learn from every other tool only, those that `is_known_to_half` tells.
    """
    how = settings or Settings()
    names, common = _common(choices, how.rare)
    every = np.arange(len(choices.sizes))
    order = every[[is_known_to_half(choices.tools[about]) for about in choices.abouts]] if half else every
    order = np.repeat(order, choices.times[order])
    chinese = _are_chinese(choices)[order]
    parts = [order[~chinese], order[chinese]]
    runs = [_descended(common, part, how, seed) for part in parts for seed in range(1, how.seeds + 1)]
    average = np.sum(runs, axis=0) / how.seeds
    return {name: float(value) for name, value in zip(names, average, strict=True) if value}


def _are_chinese(choices: Choices) -> NDArray[np.bool_]:
    """Of each slot whether its features are those of Chinese, which no other has: each is learned by itself, so
    that how much there is of one changes nothing in the other.
    """
    at_candidate = np.concatenate([[0], np.cumsum(choices.counts)])[:-1]
    at_slot = np.concatenate([[0], np.cumsum(choices.sizes)])[:-1]
    first = choices.features[at_candidate[at_slot]]
    return np.array([choices.names[each].startswith(CHINESE) for each in first], np.bool_)


def _common(choices: Choices, rare: int) -> tuple[list[str], Choices]:
    """The choices told by those features only that the slots of enough tools have; all others are one, with no name."""
    at_slot = np.concatenate([[0], np.cumsum(choices.sizes)])
    at_candidate = np.concatenate([[0], np.cumsum(choices.counts)])
    edges = at_candidate[at_slot]
    found = np.zeros(len(choices.names), np.int64)
    slots = np.argsort(choices.abouts, kind="stable")
    for own in np.split(slots, np.flatnonzero(np.diff(choices.abouts[slots])) + 1):
        found[np.unique(np.concatenate([choices.features[edges[slot] : edges[slot + 1]] for slot in own]))] += 1
    kept = np.flatnonzero(found >= rare)
    place = np.zeros(len(found), np.int64)
    place[kept] = np.arange(1, len(kept) + 1)
    return ["", *(choices.names[each] for each in kept)], choices._replace(features=place[choices.features])


def _descended(choices: Choices, order: Ints, how: Settings, seed: int) -> Floats:
    """The weights after all rounds over some of the slots, the mean of those of the later rounds; the first is none."""
    size = int(choices.features.max()) + 1
    at_slot = np.concatenate([[0], np.cumsum(choices.sizes)])
    at_candidate = np.concatenate([[0], np.cumsum(choices.counts)])
    weights, squares, total = np.zeros(size), np.full(size, 0.1), np.zeros(size)
    chance = np.random.default_rng(seed)
    order = order.copy()
    for turn in range(how.rounds):
        chance.shuffle(order)
        for first in range(0, len(order), how.batch):
            slots = order[first : first + how.batch]
            rows = np.concatenate([np.arange(at_slot[slot], at_slot[slot + 1]) for slot in slots])
            lengths = choices.counts[rows]
            ends_ = np.cumsum(lengths)
            flat = np.repeat(at_candidate[rows] - (ends_ - lengths), lengths) + np.arange(ends_[-1])
            used = choices.features[flat]
            pull = _pull(weights, used, lengths, choices.sizes[slots], choices.values[rows])
            slope = (
                np.bincount(used, weights=np.repeat(pull, lengths), minlength=size) + how.decay * len(slots) * weights
            )
            slope[0] = 0.0
            squares += slope * slope
            weights -= how.rate * slope / np.sqrt(squares)
        if turn >= how.rounds // 2:
            total += weights
    return total / (how.rounds - how.rounds // 2)


def is_known_to_half(about: str) -> bool:
    """Whether weights that are learned from half of the tools know this one."""
    return hashlib.sha256(about.encode()).digest()[1] % 2 == 0


def _pull(weights: Floats, used: Ints, lengths: Ints, sizes: Ints, values: Ints) -> Floats:
    """How much each candidate's score has to fall: the gradient of the loss by the scores.

    The loss of a value that was said is the logarithm of how likely it is among itself and all that was not said.
    """
    starts = np.cumsum(lengths) - lengths
    scores = np.add.reduceat(weights[used], starts)
    slot = np.repeat(np.arange(len(sizes)), sizes)
    highest = np.maximum.reduceat(scores, np.cumsum(sizes) - sizes)
    worth = np.exp(scores - highest[slot])
    most = int(values.max()) + 1
    key = slot * most + values
    sums = np.bincount(key, weights=worth, minlength=len(sizes) * most).reshape(len(sizes), most)
    said = np.bincount(key, minlength=len(sizes) * most).reshape(len(sizes), most) > 0
    wrong, right = sums[:, :1], sums[:, 1:]
    share = np.where(said[:, 1:], 1.0 / (wrong + right + 1e-300), 0.0)
    against = share.sum(axis=1)[slot] * worth
    column = np.maximum(values, 1) - 1
    for_it = worth * (share[slot, column] - 1.0 / np.maximum(right[slot, column], 1e-300))
    pull: Floats = np.where(values > 0, for_it, against)
    return pull
