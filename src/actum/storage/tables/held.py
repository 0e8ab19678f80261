"""The runs that are held, in the database of a journal; see `core.stored.held`.

The row without a run says that the journal was held. It goes last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from ...core.errors import JournalError
from ...core.stored.held import RunHeld
from ...core.stored.kept_object import OPEN_NEWS, OpenNews
from ..database import Database
from ..writer import Writer

ALL = ""
"""In the place of a run: the whole journal."""
HELD_AT = "held at"
"""The position that says when the journal was held last, in seconds since 1970."""
ASKED_MAX = 500
NOT_HELD = "NOT EXISTS (SELECT 1 FROM held WHERE held.run_id = {table}.run_id)"
"""Leaves out of a query the rows of runs that are held."""
_HOLD = "INSERT INTO held {rows} ON CONFLICT DO NOTHING"
_UNFINISHED = (
    "SELECT run_id FROM runs WHERE status IN ('running', 'waiting', 'paused')",
    "SELECT run_id FROM tasks WHERE ended IS NULL",
    "SELECT DISTINCT run_id FROM webhooks WHERE dead IS NULL",
)
_BELOW = """SELECT run_id FROM held WHERE run_id IN (
    WITH RECURSIVE below (run_id) AS (
        SELECT CAST(? AS TEXT) UNION SELECT runs.run_id FROM runs JOIN below ON runs.parent = below.run_id
    ) SELECT run_id FROM below)"""
"""Of a run and all runs that its calls began, those that are held."""


class DatabaseHeld:
    """`HeldRuns` in the database of a journal.

    Args:
        writer: the thread of the journal.
        check_format: raises JournalError where nothing can be written to this journal.
        now: the time, in seconds since 1970.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None], now: Callable[[], float]) -> None:
        self._writer = writer
        self._check_format = check_format
        self._now = now

    async def hold(self) -> int:
        self._check_format()

        def write(database: Database) -> int:
            database.lock()
            for unfinished in _UNFINISHED:
                database.execute(_HOLD.format(rows=unfinished))
            for (payload,) in database.execute("SELECT payload FROM objects WHERE kind = ?", (OPEN_NEWS,)):
                assert isinstance(payload, bytes)
                news = msgspec.json.decode(payload, type=OpenNews)
                database.execute(_HOLD.format(rows="VALUES (?)"), (news.run_id,))
            database.execute(_HOLD.format(rows="VALUES (?)"), (ALL,))
            database.execute("DELETE FROM sessions")
            database.execute("DELETE FROM positions WHERE name = ?", (HELD_AT,))
            database.execute("INSERT INTO positions (name, position) VALUES (?, ?)", (HELD_AT, repr(self._now())))
            ((count,),) = database.execute("SELECT count(*) FROM held WHERE run_id != ''")
            assert isinstance(count, int)
            return count

        return await self._writer.ask(write, writes=True, durable=True)

    async def is_on(self) -> bool:
        return bool(await self.which([ALL]))

    async def since(self) -> float | None:
        if not await self.is_on():
            return None
        query = "SELECT position FROM positions WHERE name = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (HELD_AT,)))
        return float(str(rows[0][0])) if rows else float("inf")  # held by an older version

    async def which(self, run_ids: Sequence[str]) -> set[str]:
        try:
            self._check_format()
        except JournalError:  # a journal of an older format is only read, and nothing of it goes on
            return set()
        asked = [run_id for run_id in run_ids if "\0" not in run_id]

        def look(database: Database) -> set[str]:
            found: set[str] = set()
            for at in range(0, len(asked), ASKED_MAX):
                part = asked[at : at + ASKED_MAX]
                query = f"SELECT run_id FROM held WHERE run_id IN ({', '.join('?' * len(part))})"
                found |= {str(run_id) for (run_id,) in database.execute(query, part)}
            return found

        return await self._writer.ask(look) if asked else set()

    async def release(self, run_id: str = "") -> int:
        self._check_format()
        now = self._now()

        def write(database: Database) -> int:
            database.lock()
            query = _BELOW if run_id else "SELECT run_id FROM held"
            released = {str(each) for (each,) in database.execute(query, (run_id,) if run_id else ())}
            for each in released:
                database.execute("DELETE FROM held WHERE run_id = ?", (each,))
            if ALL in released:
                let_schedules_go(database, now)
            return len(released - {ALL})

        return await self._writer.ask(write, writes=True, durable=True)


def let_schedules_go(database: Database, now: float) -> None:
    """Have schedules go on from now on: what they missed before is not made up for."""
    for name, position in database.execute("SELECT name, position FROM positions WHERE name LIKE 'schedule:%'"):
        if float(str(position)) < now:
            database.execute("UPDATE positions SET position = ? WHERE name = ?", (repr(now), name))


def is_free(database: Database, name: str) -> bool:
    """Whether a name can be claimed; always true.

    Raises:
        RunHeld: the name is that of a run that is held.
    """
    if database.execute("SELECT 1 FROM held WHERE run_id = ?", (name,)):
        raise RunHeld(name)
    return True
