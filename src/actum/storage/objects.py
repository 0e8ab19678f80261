"""Small objects of callers in the journal's database; see `core.kept_object`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.kept_object import KeptObject
from .database import Database, Row
from .writer import Writer

_PUT = """INSERT INTO objects (id, owner, kind, parent, at, payload) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET payload = excluded.payload WHERE objects.owner = excluded.owner"""
_FIND = "SELECT id, owner, kind, parent, at, payload FROM objects WHERE owner = ? AND kind = ? AND parent = ?"


class DatabaseObjects:
    """An `ObjectStore` in the database of a journal.

    Args:
        writer: the thread of the journal.
        check_format: raises JournalError where nothing can be written to this journal.
    """

    def __init__(self, writer: Writer, check_format: Callable[[], None]) -> None:
        self._writer = writer
        self._check_format = check_format

    async def put(self, kept: KeptObject) -> None:
        self._check_format()
        row = (kept.id, kept.owner, kept.kind, kept.parent, kept.at, kept.payload)
        await self._writer.ask(lambda database: database.execute(_PUT, row), writes=True, durable=True)

    async def find(self, owner: str, kind: str, parent: str = "", id: str = "") -> Sequence[KeptObject]:
        self._check_format()
        query, values = (f"{_FIND} AND id = ?", (owner, kind, parent, id)) if id else (_FIND, (owner, kind, parent))
        rows = await self._writer.ask(lambda database: database.execute(f"{query} ORDER BY place", values))
        return [_kept(row) for row in rows]

    async def delete(self, owner: str, id: str) -> bool:
        self._check_format()

        def write(database: Database) -> bool:
            found = database.execute("SELECT 1 FROM objects WHERE owner = ? AND id = ?", (owner, id))
            database.execute("DELETE FROM objects WHERE owner = ? AND (id = ? OR parent = ?)", (owner, id, id))
            return bool(found)

        return await self._writer.ask(write, writes=True, durable=True)


def _kept(row: Row) -> KeptObject:
    id_, owner, kind, parent, at, payload = row
    return KeptObject(
        id=str(id_),
        owner=str(owner),
        kind=str(kind),
        parent=str(parent),
        at=float(str(at)),
        payload=payload if isinstance(payload, bytes) else b"{}",
    )
