"""Small objects of callers in the journal's database; see `core.stored.kept_object`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...core.stored.kept_object import KeptObject, check_room
from ..database import Database, Row
from ..writer import Writer

_COLUMNS = "id, owner, kind, parent, at, payload, tenant, principal, run_id"
_PUT = f"""INSERT INTO objects ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET payload = excluded.payload WHERE objects.owner = excluded.owner"""
_FIND = f"SELECT {_COLUMNS} FROM objects WHERE owner = ? AND kind = ? AND parent = ?"
_KEPT = "SELECT count(*), coalesce(sum(length(payload)), 0) FROM objects WHERE owner = ? AND id <> ?"
_WITH_PARTS = "SELECT count(*) FROM objects WHERE id = ? OR parent = ?"
_OLD = """SELECT id FROM objects WHERE kind = ? AND at < ?
    AND NOT EXISTS (SELECT 1 FROM objects AS added WHERE added.parent = objects.id AND added.at >= ?)"""


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

        def write(database: Database) -> None:
            ((number, size),) = database.execute(_KEPT, (kept.owner, kept.id))
            check_room(int(str(number)) + 1, int(str(size)) + len(kept.payload))
            database.execute(_PUT, (*row, kept.tenant, kept.principal, kept.run_id))

        await self._writer.ask(write, writes=True, durable=True)

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

    async def take_up(self, owner: str, ids: Sequence[str], run_id: str) -> None:
        self._check_format()

        def write(database: Database) -> None:
            for id_ in ids:
                database.execute("UPDATE objects SET run_id = ? WHERE owner = ? AND id = ?", (run_id, owner, id_))

        await self._writer.ask(write, writes=True, durable=True)

    async def count(self, principal: str) -> Mapping[str, int]:
        query = "SELECT tenant, count(*) FROM objects WHERE principal = ? GROUP BY tenant"
        rows = await self._writer.ask(lambda database: database.execute(query, (principal,)))
        return {str(tenant): int(str(number)) for tenant, number in rows}

    async def forget(self, principal: str, tenant: str = "") -> int:
        self._check_format()

        def write(database: Database) -> int:
            whose = "FROM objects WHERE principal = ? AND tenant = ?"
            ((number,),) = database.execute(f"SELECT count(*) {whose}", (principal, tenant))
            database.execute(f"DELETE {whose}", (principal, tenant))
            return int(str(number))

        deleted = await self._writer.ask(write, writes=True, durable=True)
        await self._writer.ask(lambda database: database.scrub(), aside=True)
        return deleted

    async def expire(self, kind: str, before: float) -> int:
        self._check_format()

        def write(database: Database) -> int:
            count = 0
            for (id_,) in database.execute(_OLD, (kind, before, before)):
                ((number,),) = database.execute(_WITH_PARTS, (id_, id_))
                database.execute("DELETE FROM objects WHERE id = ? OR parent = ?", (id_, id_))
                count += int(str(number))
            return count

        return await self._writer.ask(write, writes=True, durable=True)


def _kept(row: Row) -> KeptObject:
    id_, owner, kind, parent, at, payload, tenant, principal, run_id = row
    return KeptObject(
        id=str(id_),
        owner=str(owner),
        kind=str(kind),
        parent=str(parent),
        at=float(str(at)),
        payload=payload if isinstance(payload, bytes) else b"{}",
        tenant=str(tenant),
        principal=str(principal),
        run_id=str(run_id),
    )
