"""The rows of `associations`, learned from the same questions as the rest: what is asked goes with the tool that it is
about, and not with those that the other questions are about.

A word and a pair of words of few tools are left out. Some of the words are left out at each turn, so that no tool is
known by one word of its question.
"""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from actum.models.embedded.associations import words_said, words_told
from actum.models.embedded.clauses import read
from actum.models.embedded.selection import index

from .amounts import TODAY
from .corpus import Asked

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SIZE = 16
SAID_MIN, TOLD_MIN = 3, 2
"""Words of fewer tools are left out."""
OTHERS = 8.0
"""What all that a question is not about weighs beside what it is about."""
SCALE = 32.0


class Settings(NamedTuple):
    """How it is learned: `idle` questions that ask for nothing stand beside each batch."""

    turns: int = 15
    batch: int = 128
    idle: int = 16
    rate: float = 0.05
    drop: float = 0.3
    seed: int = 1


class Learned(NamedTuple):
    """Rows by word, and what two that have nothing in common come to."""

    said: dict[str, Floats]
    told: dict[str, Floats]
    start: float

    def as_json(self) -> dict[str, object]:
        """As the file has it."""
        return {"size": SIZE, "scale": SCALE, "start": round(self.start, 4)} | {
            name: {"words": "\n".join(rows), "rows": _packed(list(rows.values()))}
            for name, rows in (("said", self.said), ("told", self.told))
        }


def _packed(rows: Sequence[Floats]) -> str:
    whole = np.clip(np.round(np.array(rows) * SCALE), -127, 127).astype(np.int8)
    return base64.b64encode(whole.tobytes()).decode()


def learned(asked: Sequence[Asked], nothing: Sequence[str], settings: Settings | None = None) -> Learned:
    """Learn from questions about one tool each, and from what asks for none."""
    how = settings or Settings()
    pairs = [(each.about, words_said(read(each.question, TODAY)), words_told(index(each.tools[0]))) for each in asked]
    said = _numbered([(about, words) for about, words, _ in pairs], SAID_MIN)
    told = _numbered([(about, words) for about, _, words in pairs], TOLD_MIN)
    questions = [_known(words, said) for _, words, _ in pairs]
    tools = [_known(words, told) for _, _, words in pairs]
    idle = [_known(words_said(read(each, TODAY)), said) for each in nothing]
    abouts = np.array([about for about, _, _ in pairs])
    chance = np.random.default_rng(how.seed)
    ones, others = (chance.normal(0.0, 0.1, (len(words), SIZE)) for words in (said, told))
    start, squares, square = -3.0, (np.full(ones.shape, 1e-3), np.full(others.shape, 1e-3)), 1e-3
    order = np.arange(len(pairs))
    for _ in range(how.turns):
        chance.shuffle(order)
        for first in range(0, len(order), how.batch):
            now = order[first : first + how.batch]
            more: Sequence[int] = chance.choice(len(idle), how.idle).tolist() if idle else ()
            asks = _thinned([*(questions[at] for at in now), *(idle[at] for at in more)], how.drop, chance)
            offers = _thinned([tools[at] for at in now], how.drop, chance)
            left, right = _bags(ones, asks), _bags(others, offers)
            goal = np.zeros((len(asks), len(now)))
            np.fill_diagonal(goal, 1.0)
            weights = np.full(goal.shape, OTHERS / len(now))
            weights[: len(now)][abouts[now][:, None] == abouts[now][None, :]] = 0.0
            np.fill_diagonal(weights, 1.0)
            pull = (1.0 / (1.0 + np.exp(-(left @ right.T + start))) - goal) * weights
            _move(ones, squares[0], _spread(asks, pull @ right, ones.shape), how.rate)
            _move(others, squares[1], _spread(offers, pull.T @ left, others.shape), how.rate)
            square += float(pull.sum()) ** 2
            start -= how.rate * float(pull.sum()) / square**0.5
    return Learned(dict(zip(said, ones, strict=True)), dict(zip(told, others, strict=True)), start)


def _move(rows: Floats, squares: Floats, slope: Floats, rate: float) -> None:
    """One step down, the shorter the more a row has moved."""
    squares += slope * slope
    rows -= rate * slope / np.sqrt(squares)


def _known(words: Iterable[str], numbers: Mapping[str, int]) -> Ints:
    return np.array([numbers[word] for word in words if word in numbers], np.int64)


def _thinned(bags: Sequence[Ints], drop: float, chance: np.random.Generator) -> list[Ints]:
    return [bag[chance.random(len(bag)) >= drop] for bag in bags]


def _numbered(found: Iterable[tuple[str, Sequence[str]]], least: int) -> dict[str, int]:
    abouts: dict[str, set[str]] = defaultdict(set)
    for about, words in found:
        for word in words:
            abouts[word].add(about)
    return {word: at for at, word in enumerate(sorted(word for word, of in abouts.items() if len(of) >= least))}


def _bags(rows: Floats, bags: Sequence[Ints]) -> Floats:
    """The sum of the rows of each bag, by the root of their number."""
    counts = np.array([len(bag) for bag in bags])
    whose = np.repeat(np.arange(len(bags)), counts)
    flat = rows[np.concatenate(bags)]
    sums = [np.bincount(whose, weights=flat[:, column], minlength=len(bags)) for column in range(rows.shape[1])]
    found: Floats = np.stack(sums, axis=1) / np.sqrt(np.maximum(counts, 1))[:, None]
    return found


def _spread(bags: Sequence[Ints], slopes: Floats, shape: tuple[int, ...]) -> Floats:
    """The other way: what each row has to give for the sums of its bags."""
    counts = np.array([len(bag) for bag in bags])
    each = np.repeat(slopes / np.sqrt(np.maximum(counts, 1))[:, None], counts, axis=0)
    flat = np.concatenate(bags)
    sums = [np.bincount(flat, weights=each[:, column], minlength=shape[0]) for column in range(shape[1])]
    found: Floats = np.stack(sums, axis=1)
    return found
