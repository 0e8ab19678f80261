"""Rows of things with how many of each, where a tool takes two lists for them: "two coffees and a bagel"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ..text.clauses import Clause
from ..text.lexicon import HAN
from ..text.numerals import MEASURES
from ..text.spans import Span
from ..text.words import spaced
from .selection import Indexed
from .slots import Slot


class Order(NamedTuple):
    """Some of one thing.

    Attributes:
        start, end: where it is said.
        many: how many.
        thing: of what.
    """

    start: int
    end: int
    many: int
    thing: str


class OrderRow(NamedTuple):
    """The two slots that a row of orders fills, and the row; an empty one where a thing in it has no number, or less
    than one: what was asked for is neither left out nor guessed at.
    """

    things: Slot
    counts: Slot
    orders: tuple[Order, ...]

    @property
    def span(self) -> Span:
        """Where the row is said; its text is what was said there."""
        said = ", ".join(each.thing for each in self.orders)
        return Span("row", self.orders[0].start, self.orders[-1].end, said, said)


def row_of(indexed: Indexed, clause: Clause) -> OrderRow | None:
    """The row of a clause, where the tool has lists for it; None where there is none, or more than one."""
    slots = _slots(indexed)
    if slots is None:
        return None
    rows = list(_rows(list(_orders(clause)), clause))
    if len(rows) != 1:
        return None
    (row,) = rows
    unclear = min(each.many for each in row) < 1 or _GOES_ON.match(clause.text, row[-1].end, clause.end)
    return OrderRow(*slots, () if unclear else row)


_GOES_ON = re.compile(
    rf"['\"”’》」]?\s*(?:,\s*)?(?:\b(?:and|plus)\s+|[、和及跟与])(?!please\b|then\b|also\b)[^\W\d]|['\"”’》」]?、[{HAN}]",
    re.IGNORECASE,
)


def _slots(indexed: Indexed) -> tuple[Slot, Slot] | None:
    """A list of things, and one of how many of each, as far as there are just these two."""
    lists = [slot for slot in indexed.slots if slot.many]
    things = [slot for slot in lists if slot.type == "string" and slot.kind not in ("enum", "email", "url")]
    counts = [slot for slot in lists if slot.type in ("integer", "number")]
    if len(things) != 1 or len(counts) != 1 or len(lists) != 2:
        return None
    told = f"{spaced(counts[0].name)} {counts[0].description}".lower()
    return (things[0], counts[0]) if _COUNTS.search(told) else None


_COUNTS = re.compile(r"\bquantit|\bqty\b|\bamounts?\b|\bcounts?\b|\bhow many\b|\bsizes?\b|数量|份数|个数|几份")


def _orders(clause: Clause) -> Iterator[Order]:
    for span in clause.spans:
        if span.kind == "number" and isinstance(span.value, int):
            yield from _order(clause.text, span, span.value)
    for match in _ONE.finditer(clause.text, clause.start, clause.end):
        yield from _order(clause.text, Span("number", *match.span(1), match[1], 1), 1)


_ONE = re.compile(
    r"(?:,|;|\b(?:and|plus|order|buy|get|want|have|add|like|me|us|of|for))\s+(an?|one)(?= [a-z])", re.IGNORECASE
)
"""One of something, beside others or after what asks for it."""


def _order(text: str, number: Span, many: int) -> Iterator[Order]:
    match = _THING_ZH.match(text, number.end) or _THING.match(text, number.end)
    if match is not None:
        yield Order(number.start, match.end(1), many, match[1].strip("'\"“”‘’《》「」"))


_THING = re.compile(
    r"\s*[x×]?\s+(?:(?:[a-z]+ ){0,1}[a-z]+ of )?"
    r"((?!(?:miles?|km|days?|weeks?|months?|years?|hours?|minutes?|seconds?|people|persons|guests|stars?|percent)\b)"
    rf"['\"“‘]?[^\W\d{HAN}][^,;.?!\n，。]*?)"
    r"(?=\s*(?:[,;.?!\n，。]|$|\b(?:and|plus|from|for|to|at|on|in|by|with|please|respectively|as well)\b))",
)
_THING_ZH = re.compile(
    rf"\s*[{''.join(sorted(MEASURES - set('元块天年月日号点分秒人周楼')))}]的?"
    rf"([《“「]?[{HAN}A-Za-z][^\s，、,；;。！？!?和及跟与]*)"
)


def _rows(orders: list[Order], clause: Clause) -> Iterator[tuple[Order, ...]]:
    """Orders that stand side by side."""
    orders = sorted(orders)
    row: list[Order] = orders[:1]
    for one, other in pairwise(orders):
        if other.start < one.end:
            continue
        if not _BETWEEN.fullmatch(clause.text[one.end : other.start]):
            yield tuple(row)
            row = []
        row.append(other)
    if row:
        yield tuple(row)


_BETWEEN = re.compile(r"['\"”’》」]?(?:[\s,;，、；]|\band\b|\bplus\b|[和及跟与]|再?[来要加])*", re.IGNORECASE)
