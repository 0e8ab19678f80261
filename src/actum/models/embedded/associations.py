"""Which words of a question go with which words of a tool, though they are not the same: `how tall` with `height`.

Each word has a short row of numbers, one set for what people say and one for how tools are described; what a question
and a tool have in common is the product of their sums. `bench.training` learns the rows.
"""

from __future__ import annotations

import base64
import json
import math
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from .clauses import Clause
from .selection import Indexed
from .weights import text_of, when_changed

FILE = "associations.json"

Row = Sequence[float]


class Associations(NamedTuple):
    """What was learned.

    Attributes:
        said: rows of what people say, by word.
        told: rows of how tools are described.
        start: what two that have nothing in common come to.
    """

    said: dict[str, Row]
    told: dict[str, Row]
    start: float


def associated(clause: Clause, indexed: Indexed) -> float:
    """How much a tool goes with what was said, as a logarithm: more than 0 for more likely than not."""
    known = _associations()
    return known.start + sum(one * other for one, other in zip(_said(clause), _told(indexed), strict=False))


def words_said(clause: Clause) -> list[str]:
    """By what a clause is associated: its terms, and each two words that stand side by side."""
    words = [token.text.lower() for token in clause.tokens if token.kind not in ("sign", "number")]
    pairs = [f"{one} {other}" for one, other in pairwise(words)]
    return list(dict.fromkeys([*(term.key for term in clause.terms), *pairs]))


def words_told(indexed: Indexed) -> list[str]:
    """By what a tool is associated."""
    return [key for key in indexed.weights if not key.endswith("~")]


_rows: dict[tuple[object, ...], Row] = {}
ROWS_MAX = 5_000


def _said(clause: Clause) -> Row:
    return _sum(("said", clause.text, clause.start, clause.end), _associations().said, words_said(clause))


def _told(indexed: Indexed) -> Row:
    return _sum(("told", indexed.tool.digest), _associations().told, words_told(indexed))


def _sum(key: tuple[object, ...], known: dict[str, Row], words: Iterable[str]) -> Row:
    found = _rows.get(key)
    if found is None:
        rows = [known[word] for word in words if word in known]
        found = [sum(column) / math.sqrt(len(rows)) for column in zip(*rows, strict=True)]
        if len(_rows) >= ROWS_MAX:
            _rows.clear()
        _rows[key] = found
    return found


@cache
def _associations() -> Associations:
    read = json.loads(text_of(FILE))
    size, scale = int(read["size"]), float(read["scale"])
    return Associations(_read(read["said"], size, scale), _read(read["told"], size, scale), float(read["start"]))


def _read(table: dict[str, str], size: int, scale: float) -> dict[str, Row]:
    rows = array("b", base64.b64decode(table["rows"]))
    words = table["words"].split("\n")
    return {word: [value / scale for value in rows[at * size : (at + 1) * size]] for at, word in enumerate(words)}


def _forget() -> None:
    _associations.cache_clear()
    _rows.clear()


when_changed(_forget)
