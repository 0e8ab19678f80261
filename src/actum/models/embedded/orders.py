"""Rows of things with how many of each, where a tool takes two lists for them: "two coffees and a bagel"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from ...core.json import Json
from .clauses import Clause
from .lexicon import HAN
from .numerals import MEASURES
from .selection import Indexed
from .slots import Slot
from .spans import Span
from .words import spaced


class Order(NamedTuple):
    """Some of one thing.

    Attributes:
        start, end: where it is said.
        many: how many.
        thing: of what.
    """

    start: int
    end: int
    many: Json
    thing: str


class Row(NamedTuple):
    """The two slots that a row of orders fills, and the row."""

    things: Slot
    counts: Slot
    orders: tuple[Order, ...]

    @property
    def span(self) -> Span:
        """Where the row is said; its text is what was said there."""
        said = ", ".join(each.thing for each in self.orders)
        return Span("row", self.orders[0].start, self.orders[-1].end, said, said)


def row_of(indexed: Indexed, clause: Clause) -> Row | None:
    """The row of a clause, where the tool has lists for it; None where there is none, or more than one."""
    slots = _slots(indexed)
    if slots is None:
        return None
    rows = list(_rows(list(_orders(clause)), clause))
    return Row(*slots, rows[0]) if len(rows) == 1 else None


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
        if span.kind == "number" and isinstance(span.value, int) and (found := _order(clause.text, span)) is not None:
            yield found
    for match in _ONE.finditer(clause.text, clause.start, clause.end):
        if (found := _order(clause.text, Span("number", *match.span(1), match[1], 1))) is not None:
            yield found


_ONE = re.compile(
    r"(?:,|;|\b(?:and|plus|order|buy|get|want|have|add|like|me|us|of|for))\s+(an?|one)(?= [a-z])", re.IGNORECASE
)
"""One of something, beside others or after what asks for it."""


def _order(text: str, number: Span) -> Order | None:
    match = _THING_ZH.match(text, number.end) or _THING.match(text, number.end)
    if match is None:
        return None
    return Order(number.start, match.end(1), number.value, match[1].strip("'\"“”‘’《》「」"))


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
