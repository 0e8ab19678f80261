"""Positions in the journal's database; see `core.stored.position`."""

from __future__ import annotations

from collections.abc import Callable

from ..database import Database
from ..writer import Writer


class DatabasePositions:
    """`Positions` in the database of a journal.

    Args:
        writer: the thread of the journal.
        check_format: raises JournalError where nothing can be written to this journal.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None]) -> None:
        self._writer = writer
        self._check_format = check_format

    async def find(self, name: str) -> str | None:
        self._check_format()
        query = "SELECT position FROM positions WHERE name = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (name,)))
        return str(rows[0][0]) if rows else None

    async def move(self, name: str, old: str | None, new: str) -> bool:
        self._check_format()

        def write(database: Database) -> bool:
            database.lock()
            rows = database.execute("SELECT position FROM positions WHERE name = ?", (name,))
            if (str(rows[0][0]) if rows else None) != old:
                return False
            if rows:
                database.execute("UPDATE positions SET position = ? WHERE name = ?", (new, name))
            else:
                database.execute("INSERT INTO positions (name, position) VALUES (?, ?)", (name, new))
            return True

        return await self._writer.ask(write, writes=True, durable=True)
