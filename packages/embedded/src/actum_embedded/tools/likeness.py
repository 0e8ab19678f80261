"""How near the meaning of a question comes to that of a tool, though they may have no word in common: `how tall` to
`height`.

Knows only where words lie (`meanings`); what that is worth, `choosing` has learned.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ..text.clauses import Clause
from ..text.meanings import Point, middle, nearness, point_of
from ..text.words import bare, spaced, tokenize
from .selection import Indexed

WORDS_MAX = 40
"""So many words of either are looked at."""
TOOLS_MAX = 5_000


class Likeness(NamedTuple):
    """How near a clause comes to a tool; 1 the same, 0 nothing in common.

    Attributes:
        whole: all of the clause to all of the tool.
        name: all of the clause to the tool's name.
        named: the words of the tool's name, each to the nearest word of the clause.
        head: the last word of the tool's name to the nearest word of the clause: `forecast` of `get_forecast`.
        farthest: the word of the tool's name that is farthest from all of the clause.
        told: those of its name, its description's first sentence and its parameters likewise.
        said: the words of the clause, each to the nearest of those.
    """

    whole: float = 0.0
    name: float = 0.0
    named: float = 0.0
    head: float = 0.0
    farthest: float = 0.0
    told: float = 0.0
    said: float = 0.0


class ToolWords(NamedTuple):
    """Where the words of a tool lie: those of its name, and all that tell what it is for, the name's first."""

    name: list[Point]
    every: list[Point]
    middle_of_name: Point | None
    middle: Point | None


def likeness(clause: Clause, indexed: Indexed) -> Likeness:
    """How near what was said comes to a tool, in several ways."""
    said, told = _said(clause), _told(indexed)
    if not said or not told.every:
        return Likeness()
    whole = middle(said)
    table = [[nearness(one, other) for other in said] for one in told.every]
    best = [max(row) for row in table]
    name = best[: len(told.name)] or [0.0]
    return Likeness(
        nearness(whole, told.middle),
        nearness(whole, told.middle_of_name),
        sum(name) / len(name),
        name[-1],
        min(name),
        sum(best) / len(best),
        sum(map(max, zip(*table, strict=True))) / len(said),
    )


def on_the_whole(clause: Clause, indexed: Indexed) -> float:
    """How near all of what was said comes to all of a tool; quicker than `likeness`."""
    return nearness(middle(_said(clause)), _told(indexed).middle)


@lru_cache(maxsize=256)
def _said(clause: Clause) -> list[Point]:
    return _points(clause.words)[:WORDS_MAX]


_known: dict[str, ToolWords] = {}


def _told(indexed: Indexed) -> ToolWords:
    found = _known.get(indexed.tool.digest)
    if found is None:
        if len(_known) >= TOOLS_MAX:
            _known.clear()
        name = _points(spaced(indexed.tool.name))
        summary = _SENTENCE_END.split(indexed.tool.description.strip(), maxsplit=1)[0]
        parameters = " ".join(spaced(slot.name) for slot in indexed.slots)
        every = (name + _points(f"{summary} {parameters}"))[:WORDS_MAX]
        found = _known[indexed.tool.digest] = ToolWords(name, every, middle(name), middle(every))
    return found


_SENTENCE_END = re.compile(r"(?<=[.!?])\s|[。！？\n]")


def _points(text: str) -> list[Point]:
    found = (point_of(bare(token.text)) for token in tokenize(text) if not token.functional)
    return list(dict.fromkeys(point for point in found if point is not None))
