"""What words mean, as points: words that are used alike lie near each other, so `cheap` is near `inexpensive` and a
`lion` is nearer to an `animal` than to a `city`.

English words are known by their stems, Chinese words by the English ones that a dictionary gives for them, so both
lie in one space. The points come from open word vectors, cut down to `SIZE` numbers of four bits; `docs/embedded.md`
names the sources. Knows nothing of tools, and of a word with several senses only their middle.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import NamedTuple

from .lexicon import is_han, stem

SIZE, STEP_MAX = 48, 7
"""Numbers of a point, and how far each of them goes to either side."""

Point = Sequence[float]
"""Of length 1."""


class Meanings(NamedTuple):
    """All that is known.

    Attributes:
        places: English stems with the place of each among all.
        sorts: which kinds of words a stem has, the commonest first (`n` nouns, `v` verbs, `a` adjectives, `r` adverbs),
            and which group of words that are used alike it belongs to.
        han: Chinese words: what kind of word, and the stems that tell what it means.
        longest: characters of the longest of these.
        packed: two numbers a byte, stem after stem.
    """

    places: dict[str, int]
    sorts: dict[str, tuple[str, str]]
    han: dict[str, tuple[str, ...]]
    longest: int
    packed: bytes


@lru_cache(maxsize=16384)
def point_of(word: str) -> Point | None:
    """Where a word lies; None where nothing is known of it.

    Args:
        word: an English word in any form, or some Chinese: a word, or several that were not cut apart.
    """
    if is_han(word):
        known = _meanings().han
        return middle([_of_stem(each) for start, end in cut(word) for each in known.get(word[start:end], ())[1:]])
    return _of_stem(stem(word.lower()))


def middle(points: Iterable[Point | None]) -> Point | None:
    """The direction of several points together; None when there are none."""
    known = [each for each in points if each is not None]
    if len(known) == 1:
        return known[0]
    return _whole([sum(column) for column in zip(*known, strict=True)]) if known else None


def nearness(one: Point | None, other: Point | None) -> float:
    """How alike two are: 1 the same, 0 nothing in common, or nothing known."""
    if one is None or other is None:
        return 0.0
    apart = math.dist(one, other)
    return 1.0 - apart * apart / 2.0  # the cosine, as all points are of length 1


@lru_cache(maxsize=16384)
def sort_of(word: str) -> tuple[str, str]:
    """What kind of word it is, and which group of words it belongs to; `-` where that is not known.

    Args:
        word: an English word in any form, or one Chinese word.
    """
    known = _meanings()
    if is_han(word):
        kind, *told = known.han.get(word, ("-",))
        return kind, known.sorts[told[0]][1] if told else "-"
    return known.sorts.get(stem(word.lower()), ("-", "-"))


@lru_cache(maxsize=16384)
def _of_stem(key: str) -> Point | None:
    known = _meanings()
    if key not in known.places:
        return None
    start = known.places[key] * SIZE // 2
    numbers = known.packed[start : start + SIZE // 2]
    return _whole([float(half - STEP_MAX) for byte in numbers for half in (byte >> 4, byte & 15)])


def _whole(numbers: Sequence[float]) -> Point | None:
    length = math.hypot(*numbers)
    return tuple([each / length for each in numbers]) if length else None


def is_word(text: str) -> bool:
    """Whether it is one Chinese word of two or more characters."""
    return len(text) > 1 and text in _meanings().han


def glosses(word: str) -> tuple[str, ...]:
    """The English stems that tell what a Chinese word means."""
    return _meanings().han.get(word, ())[1:]


def cut(run: str) -> list[tuple[int, int]]:
    """Where the words of some Chinese begin and end, by longest match; a character of none of them stands alone."""
    known = _meanings()
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(run):
        lengths = range(min(known.longest, len(run) - at), 1, -1)
        length = next((n for n in lengths if run[at : at + n] in known.han), 1)
        found.append((at, at + length))
        at += length
    return found


@cache
def _meanings() -> Meanings:
    place = files("actum_embedded") / "data"
    stems, han = (place / "meanings.txt").read_text("utf-8").split("\n\n")
    rows = [line.split(" ") for line in han.splitlines()]
    words = {row[0]: tuple(row[1:]) for row in rows}
    sorts = {word: (kinds, group) for word, kinds, group in (line.split(" ") for line in stems.split("\n"))}
    places = {word: at for at, word in enumerate(sorts)}
    return Meanings(places, sorts, words, max(map(len, words)), (place / "meanings.bin").read_bytes())
