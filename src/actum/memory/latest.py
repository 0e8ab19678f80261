"""`latest`: the turns and notes of a user, the latest first, read from the tables as far as they are wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import inf
from typing import TypeVar

from msgspec import structs

from ..core.stored.word_index import IndexedItem
from ..core.stores import INTEGERS, Table, Transaction
from .notes import KeptNote
from .spans import EVER, TimeSpan

Dated = TypeVar("Dated", IndexedItem, KeptNote)
_ROWS_AT_ONCE = 100


def latest(
    transaction: Transaction, table: Table[Dated], where: Mapping[str, str], times: TimeSpan = EVER
) -> Iterator[Dated]:
    """Rows of a user, the latest first.

    Args:
        transaction: reads them. It has to last until the last row is taken.
        table: the table of the turns or of the notes, which has an index by user and time.
        where: the `principal`, and the `space` where one is meant.
        times: only rows of this span.

    Raises:
        JournalError: a row is damaged.
    """
    behind: Dated | None = None
    if times.until != inf:
        newest = transaction.find(table, where=where, order="at", descending=True, limit=1)
        first = {name: "" if table.columns[name].kind is str else INTEGERS[0] for name in table.key}
        behind = structs.replace(newest[0], **{**first, "at": times.until}) if newest else None
    while True:
        rows = transaction.find(table, where=where, order="at", descending=True, limit=_ROWS_AT_ONCE, behind=behind)
        for row in rows:
            if row.at < times.since:
                return
            yield row
        if len(rows) < _ROWS_AT_ONCE:
            return
        behind = rows[-1]
