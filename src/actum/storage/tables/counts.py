"""Counts in the database of a journal, so that all processes which write to the journal count together.

Places are claims (see `docs/decisions/0006`): locks that the kernel, or the server, drops with the process that holds
them. Rates and what was used up are rows; a row that is too old to count is deleted when the next one is written.

The time is that of the process that counts. Where the clocks of two machines differ, so do their minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from decimal import ROUND_CEILING, Decimal

from ...core.stored.counts import DAY_S, WINDOW_S, Rate
from ..database import Database
from ..writer import Writer

log = logging.getLogger("actum.journal")

_PARTS = 10**9
"""Money is kept in whole numbers, this many to a unit, since no database adds decimals as we do."""
_ADD = """INSERT INTO used VALUES (?, ?, ?, ?) ON CONFLICT (name, minute)
    DO UPDATE SET tokens = used.tokens + excluded.tokens, cost = used.cost + excluded.cost"""


class DatabaseCounts:
    """`Counts` in a database.

    Args:
        writer: the thread of the journal.
        claim: claims a name.
        now: the time, in seconds since 1970.
    """

    def __init__(
        self, writer: Writer, claim: Callable[[str], AbstractAsyncContextManager[None]], now: Callable[[], float]
    ) -> None:
        self._writer = writer
        self._claim = claim
        self._now = now

    async def begin(self, rates: Sequence[Rate]) -> list[float]:
        def count(database: Database) -> list[float]:
            database.lock()
            now = self._now()
            database.execute("DELETE FROM begun WHERE at <= ?", (now - WINDOW_S,))
            waits = [_wait_s(database, rate, now) for rate in rates]
            if not any(waits):
                for rate in rates:
                    database.execute("INSERT INTO begun VALUES (?, ?)", (rate.name, now))
            return waits

        return await self._writer.ask(count, writes=True)

    async def take_back(self, name: str) -> None:
        def forget(database: Database) -> None:
            database.lock()
            query = "SELECT at, COUNT(*) FROM begun WHERE name = ? GROUP BY at ORDER BY at DESC LIMIT 1"
            for at, number in database.execute(query, (name,)):
                database.execute("DELETE FROM begun WHERE name = ? AND at = ?", (name, at))
                for _ in range(int(str(number)) - 1):  # those of the same moment stay
                    database.execute("INSERT INTO begun VALUES (?, ?)", (name, at))

        await self._writer.ask(forget, writes=True)

    def place(self, name: str) -> AbstractAsyncContextManager[None]:
        return self._claim(f"place {name}")

    def add(self, name: str, tokens: int, cost: Decimal) -> None:
        minute = int(self._now() // 60)
        parts = int((cost * _PARTS).to_integral_value(ROUND_CEILING))

        def write(database: Database) -> None:
            database.execute(_ADD, (name, minute, tokens, parts))
            database.execute("DELETE FROM used WHERE minute < ?", (minute - int(DAY_S // 60),))

        def tell(error: Exception | None) -> None:
            if error is not None:
                log.warning("what was used up could not be counted: %s", error)

        self._writer.put(write, "", tell)

    async def used(self, name: str) -> tuple[int, Decimal]:
        since = int((self._now() - DAY_S) // 60)
        query = "SELECT tokens, cost FROM used WHERE name = ? AND minute >= ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (name, since)))
        tokens = sum(count for count, _ in rows if isinstance(count, int))
        return tokens, Decimal(sum(parts for _, parts in rows if isinstance(parts, int))) / _PARTS


def _wait_s(database: Database, rate: Rate, now: float) -> float:
    """Seconds until a rate allows one more. A row of a clock that was ahead counts for one window at most."""
    query = "SELECT at FROM begun WHERE name = ? ORDER BY at DESC LIMIT 1 OFFSET ?"
    for (at,) in database.execute(query, (rate.name, rate.most - 1)):
        if isinstance(at, float):
            return min(max(at + WINDOW_S - now, 0.001), WINDOW_S)
    return 0.0
