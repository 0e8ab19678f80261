"""The sessions of people who logged in, in the journal's database: each process asks the database at each request, so
that a session which was ended in one process is dead in all of them at once.
"""

from __future__ import annotations

import os
from collections.abc import Callable

import msgspec

from ...core.errors import JournalError
from ...core.stored.session import SESSIONS_PER_USER_MAX, KnownSession, LoginSession
from ..database import Database
from ..writer import Writer

_TOO_MANY = """DELETE FROM sessions WHERE owner = ? AND id != ? AND id NOT IN (
    SELECT id FROM sessions WHERE owner = ? AND id != ? ORDER BY seen_at DESC, id LIMIT ?)"""


class DatabaseSessions:
    """A `SessionStore` in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
        check_format: raises JournalError where nothing can be written to this journal.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None]) -> None:
        self._writer = writer
        self._check_format = check_format

    async def add(self, session: LoginSession, *, idle_since: float) -> None:
        self._check_format()
        name, owner, began_at = session.id, session.owner, session.began_at
        payload = msgspec.json.encode(session)

        def write(database: Database) -> None:
            database.lock()
            database.execute("DELETE FROM sessions WHERE seen_at < ?", (idle_since,))
            row = (name, owner, began_at, began_at, payload)
            database.execute("INSERT INTO sessions (id, owner, began_at, seen_at, payload) VALUES (?, ?, ?, ?, ?)", row)
            database.execute(_TOO_MANY, (owner, name, owner, name, SESSIONS_PER_USER_MAX - 1))

        await self._writer.ask(write, writes=True, durable=True)

    async def find(self, id: str) -> KnownSession | None:
        self._check_format()
        query = "SELECT payload, seen_at FROM sessions WHERE id = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (id,)))
        if not rows:
            return None
        payload, seen_at = rows[0]
        try:
            session = msgspec.json.decode(payload, type=LoginSession) if isinstance(payload, bytes | str) else None
        except (msgspec.DecodeError, ValueError):  # damaged, or of a newer version: it opens no door
            return None
        if session is None or session.id != id or not isinstance(seen_at, int | float):
            return None
        return KnownSession(session, float(seen_at))

    async def note(self, id: str, at: float) -> None:
        self._check_format()
        update = "UPDATE sessions SET seen_at = ? WHERE id = ? AND seen_at < ?"
        await self._writer.ask(lambda database: database.execute(update, (at, id, at)), writes=True)

    async def end(self, id: str) -> bool:
        self._check_format()

        def write(database: Database) -> bool:
            database.lock()
            if not database.execute("SELECT id FROM sessions WHERE id = ?", (id,)):
                return False
            database.execute("DELETE FROM sessions WHERE id = ?", (id,))
            return True

        return await self._writer.ask(write, writes=True, durable=True)

    async def use_once(self, name: str, *, now: float, ends_at: float) -> bool:
        self._check_format()

        def write(database: Database) -> bool:
            database.lock()
            database.execute("DELETE FROM used_logins WHERE ends_at <= ?", (now,))
            if database.execute("SELECT name FROM used_logins WHERE name = ?", (name,)):
                return False
            database.execute("INSERT INTO used_logins (name, ends_at) VALUES (?, ?)", (name, ends_at))
            return True

        return await self._writer.ask(write, writes=True, durable=True)

    async def secret(self) -> bytes:
        self._check_format()

        def read(database: Database) -> bytes:
            database.lock()
            rows = database.execute("SELECT secret FROM login_secret")
            if not rows:
                made = os.urandom(32)
                database.execute("INSERT INTO login_secret (secret) VALUES (?)", (made,))
                return made
            found = rows[0][0]
            if not isinstance(found, bytes) or len(found) < 16:
                raise JournalError("the secret of log-ins in the journal is damaged")
            return found

        return await self._writer.ask(read, writes=True, durable=True)
