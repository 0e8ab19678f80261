"""The keys of a server, in the journal's database: hashed, and known to be revoked in every process at once.

A key is a row of the table `keys`. No row is ever deleted here: the id of a revoked key stays taken, so that the record
never means two keys by one id.

The code that checks keys holds them in memory and asks `changes` before each check. In SQLite `changes` is a number in
the file, read over a connection of its own. In PostgreSQL the server tells of each change (`NOTIFY`); while the
connection that listens is away, `changes` answers None, and each check reads its key from the database.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec import structs

from ...core.errors import UnknownName, UsageError
from ...core.stored.key import Key, id_taken, id_unknown
from ..database import Database, KeyChanges, Row
from ..writer import Writer


class DatabaseKeys:
    """A `KeyStore` in the database of a journal.

    Args:
        database: the database; only asked for a connection that watches.
        writer: the thread that reads and writes the tables.
        check_format: raises JournalError where nothing can be written to this journal.
    """

    def __init__(self, database: Database, writer: Writer, check_format: Callable[[], None]) -> None:
        self._database = database
        self._writer = writer
        self._check_format = check_format
        self._watch: KeyChanges | None = None
        self._has_changed = False

    async def add(self, key: Key) -> None:
        self._check_format()
        payload = msgspec.json.encode(key)

        def write(database: Database) -> None:
            database.lock()
            rows = database.execute("SELECT id, payload FROM keys WHERE id = ?", (key.id,))
            if rows:
                raise UsageError(id_taken(_key(rows[0]) or key))
            database.execute("INSERT INTO keys (id, payload) VALUES (?, ?)", (key.id, payload))

        try:
            await self._writer.ask(write, writes=True, durable=True)
        finally:
            self._has_changed = True

    async def revoke(self, id: str, *, at: float, by: str) -> bool:
        self._check_format()

        def write(database: Database) -> bool:
            database.lock()
            rows = database.execute("SELECT id, payload FROM keys WHERE id = ?", (id,))
            if not rows:
                raise UnknownName(id_unknown(id))
            key = _key(rows[0]) or Key(id=id, sha256="")  # a damaged row opens no door, and is told as revoked from now
            if key.was_revoked:
                return False
            payload = msgspec.json.encode(structs.replace(key, revoked_at=at, revoked_by=by))
            database.execute("UPDATE keys SET payload = ? WHERE id = ?", (payload, id))
            return True

        try:
            return await self._writer.ask(write, writes=True, durable=True)
        finally:
            self._has_changed = True

    async def all(self) -> list[Key]:
        self._check_format()
        rows = await self._writer.ask(lambda database: database.execute("SELECT id, payload FROM keys ORDER BY place"))
        return [_key(row) or Key(id=str(row[0]), sha256="") for row in rows]

    async def find(self, id: str) -> Key | None:
        self._check_format()
        query = "SELECT id, payload FROM keys WHERE id = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (id,)))
        return _key(rows[0]) if rows else None

    def changes(self, age_s: float = 0.0) -> int | None:
        self._writer.check()
        if self._watch is None:
            self._watch = self._database.key_changes()
        number = self._watch.number(0.0 if self._has_changed else age_s)
        self._has_changed = False
        return number

    async def close(self) -> None:
        """Let go of the connection that watches."""
        watch, self._watch = self._watch, None
        if watch is not None:
            await asyncio.to_thread(watch.close)


def _key(row: Row) -> Key | None:
    """The key of a row; None where the row is damaged, or was written by a newer version: it opens no door."""
    named, payload = row
    try:
        key = msgspec.json.decode(payload, type=Key) if isinstance(payload, bytes | str) else None
    except (msgspec.DecodeError, ValueError):
        return None
    return key if key is not None and key.id == named else None
