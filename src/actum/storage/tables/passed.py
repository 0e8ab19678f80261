"""Lines of passed-through requests, in the journal's database.

Lines that come within `FLUSH_S` are written together: a gateway passes on thousands of requests a second, and each line
by itself would cost more than the request. A process that is killed loses the lines of that time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, Decimal

import msgspec

from ...core.stored.passed import PassedRequest, PassedSum
from ..database import Database, Row
from ..writer import Writer

FLUSH_S = 0.05
ROWS_MAX = 50
"""The most lines in one statement."""
_PARTS = 10**9
"""Money is kept in whole numbers, this many to a unit, since no database adds decimals as we do."""
_COLUMNS = """at, tenant, key_id, principal, model, upstream, failed, input_tokens, output_tokens, cost, seconds,
    estimated, payload"""
_SUMS = """SELECT tenant, key_id, principal, model, upstream, count(*), sum(failed), sum(input_tokens),
        sum(output_tokens), sum(cost), avg(seconds), sum(estimated)
    FROM passed WHERE at >= ? AND at < ? GROUP BY tenant, key_id, principal, model, upstream
    ORDER BY count(*) DESC, tenant, key_id, principal, model, upstream"""
_UNSENT = """SELECT passed_unsent.place, payload FROM passed_unsent JOIN passed ON passed.place = passed_unsent.place
    ORDER BY passed_unsent.place LIMIT ?"""
_COUNT = "SELECT count(*) FROM passed_unsent"
_DROP = """DELETE FROM passed_unsent WHERE place <= (
    SELECT place FROM passed_unsent ORDER BY place DESC LIMIT 1 OFFSET ?)"""
_LINES = "SELECT payload FROM passed WHERE at >= ? AND at < ? ORDER BY at DESC, place DESC LIMIT ?"


class DatabasePassed:
    """`PassedRequests` in a database.

    Args:
        writer: the thread of the journal.
        check_format: raises JournalError where nothing can be written to this journal.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None]) -> None:
        self._writer = writer
        self._check_format = check_format
        self._waiting: list[PassedRequest] = []
        self._unwritten: list[PassedRequest] = []
        self._flushing: asyncio.TimerHandle | None = None
        self._notes_unsent = False

    def note_unsent(self) -> None:
        self._notes_unsent = True

    async def unsent(self, limit: int) -> Sequence[tuple[int, PassedRequest]]:
        rows = await self._writer.ask(lambda base: base.execute(_UNSENT, (limit,)))
        return [
            (_whole(place), msgspec.json.decode(payload, type=PassedRequest))
            for place, payload in rows
            if isinstance(payload, bytes)
        ]

    async def sent(self, places: Sequence[int]) -> None:
        def forget(database: Database) -> None:
            for place in places:
                database.execute("DELETE FROM passed_unsent WHERE place = ?", (place,))

        await self._writer.ask(forget, writes=True)

    async def count_unsent(self) -> int:
        ((count,),) = await self._writer.ask(lambda base: base.execute(_COUNT))
        return _whole(count)

    async def drop_unsent(self, most: int) -> int:
        def drop(database: Database) -> int:
            ((count,),) = database.execute(_COUNT)
            if (left := _whole(count) - most) > 0:
                database.execute(_DROP, (most,))
            return max(0, left)

        return await self._writer.ask(drop, writes=True)

    def add(self, line: PassedRequest) -> None:
        self._waiting.append(line)
        if self._flushing is None:
            self._flushing = asyncio.get_running_loop().call_later(FLUSH_S, self.flush)

    async def ready(self) -> None:
        if not self._unwritten:
            return
        lines = list(self._unwritten)
        await self._writer.ask(lambda database: self._write(database, lines), writes=True)
        del self._unwritten[: len(lines)]

    async def sums(self, since: float, until: float) -> list[PassedSum]:
        await self._settled()
        return [_sum(row) for row in await self._writer.ask(lambda base: base.execute(_SUMS, (since, until)))]

    async def lines(self, since: float, until: float, limit: int) -> Sequence[PassedRequest]:
        await self._settled()
        rows = await self._writer.ask(lambda base: base.execute(_LINES, (since, until, limit)))
        return [msgspec.json.decode(payload, type=PassedRequest) for (payload,) in rows if isinstance(payload, bytes)]

    async def _settled(self) -> None:
        self._check_format()
        self.flush()
        await self._writer.sync("")  # after the lines that were just given
        await self.ready()

    def flush(self) -> None:
        """Give what waits to the thread of the journal."""
        if self._flushing is not None:
            self._flushing.cancel()
            self._flushing = None
        lines, self._waiting = self._waiting, []
        if not lines:
            return

        def tell(error: Exception | None) -> None:
            if error is not None:
                self._unwritten.extend(lines)

        self._writer.put(lambda database: self._write(database, lines), "", tell)

    def _write(self, database: Database, lines: Sequence[PassedRequest]) -> None:
        for at in range(0, len(lines), ROWS_MAX):
            part = lines[at : at + ROWS_MAX]
            marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"] * len(part))
            values = [value for line in part for value in _row(line)]
            insert = f"INSERT INTO passed ({_COLUMNS}) VALUES {marks}"  # marks alone
            if not self._notes_unsent:
                database.execute(insert, values)
                continue
            places = [_whole(place) for (place,) in database.execute(f"{insert} RETURNING place", values)]
            of_places = ", ".join(["(?)"] * len(places))
            database.execute(f"INSERT INTO passed_unsent (place) VALUES {of_places}", places)  # marks alone


def _row(line: PassedRequest) -> tuple[float | str | int | bytes | None, ...]:
    cost = None if line.cost is None else int((line.cost * _PARTS).to_integral_value(ROUND_CEILING))
    who = (line.tenant, line.key_id, line.principal)
    tokens = (int(line.end != "answered"), line.input_tokens, line.output_tokens)
    rest = (cost, line.seconds, int(line.estimated), msgspec.json.encode(line))
    return (line.at, *who, line.model, line.upstream, *tokens, *rest)


def _sum(row: Row) -> PassedSum:
    tenant, key_id, principal, model, upstream, *numbers = row
    requests, failed, input_tokens, output_tokens, cost, seconds, estimated = numbers
    return PassedSum(
        tenant=str(tenant),
        key_id=str(key_id),
        principal=str(principal),
        model=str(model),
        upstream=str(upstream),
        requests=_whole(requests),
        failed=_whole(failed),
        input_tokens=_whole(input_tokens),
        output_tokens=_whole(output_tokens),
        cost=None if cost is None else Decimal(_whole(cost)) / _PARTS,
        seconds=float(str(seconds)),
        estimated=_whole(estimated),
    )


def _whole(value: object) -> int:
    """A sum of whole numbers, which PostgreSQL gives as a decimal."""
    return int(str(value))
