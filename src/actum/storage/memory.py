"""The tables beside the journal in memory: the same tables as beside every other journal, in one SQLite database that
lives in the memory of this process. It is gone when the process ends.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable
from pathlib import Path

from ..core.run.noted import NO_KINDS, RecordKinds
from .journal import forget_beside
from .schema import SQLITE, make_tables
from .sqlite import SQLiteDatabase
from .stores import DatabaseStores
from .tables.definitions import DatabaseDefinitions
from .tables.held import DatabaseHeld
from .tables.keys import DatabaseKeys
from .tables.objects import DatabaseObjects
from .tables.positions import DatabasePositions
from .tables.sessions import DatabaseSessions
from .tables.views import Past
from .writer import Writer


class MemoryDatabase(SQLiteDatabase):
    """A `Database` in the memory of this process, with the tables of a journal. Nobody else can open it."""

    def __init__(self) -> None:
        self.name = "in memory"
        self._connect(Path(":memory:"))
        weakref.finalize(self, self._connection.close)
        make_tables(self, SQLITE)

    @property
    def is_shared(self) -> bool:
        return False

    def begin(self, *, writes: bool, durable: bool) -> bool:
        self._connection.execute("BEGIN")
        return False

    def scrub(self, *, wait: bool = True) -> None:
        """There is no file."""

    def key_changes(self) -> MemoryKeyChanges:
        return MemoryKeyChanges(self._connection)

    def close(self) -> None:
        self._connection.close()


class MemoryKeyChanges:
    """Watches the keys of a `MemoryDatabase`.

    Args:
        connection: the one that there is.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def number(self, age_s: float = 0.0) -> int | None:
        number: int = self._connection.execute("SELECT number FROM key_changes").fetchone()[0]
        return number

    def close(self) -> None:
        """The connection is the database's."""


class BesideMemory:
    """The tables beside a journal in memory.

    Args:
        now: the time, in seconds since 1970.
        record_kinds: the kinds of records that features bring.
        past: what the journal has.

    Attributes:
        keys, sessions, objects, positions, definitions, held, stores: as beside `DatabaseJournal`.
    """

    def __init__(
        self, now: Callable[[], float], record_kinds: RecordKinds = NO_KINDS, past: Past | None = None
    ) -> None:
        database = MemoryDatabase()
        self._writer = writer = Writer(database, threaded=False)
        self.keys = DatabaseKeys(database, writer, _nothing)
        self.sessions = DatabaseSessions(writer, _nothing)
        self.objects = DatabaseObjects(writer, _nothing)
        self.positions = DatabasePositions(writer, _nothing)
        self.definitions = DatabaseDefinitions(writer, _nothing, now)
        self.held = DatabaseHeld(writer, _nothing, now)
        self.stores = DatabaseStores(writer, _nothing, record_kinds, past)

    async def forget(self, run_id: str) -> None:
        """Delete what names a run that is forgotten."""
        await self._writer.ask(lambda database: forget_beside(database, run_id), writes=True)


def _nothing() -> None:
    """A database that was just made has the latest format."""
