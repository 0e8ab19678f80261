"""The outbox of webhooks in the database of a journal.

A message is written in the transaction of the record that ends its task (`tell_webhook`): no end is told that did not
happen, and none is forgotten. It leaves the table when it has arrived.
"""

from __future__ import annotations

from msgspec.structs import astuple

from ...core.run.task import TaskLine
from ...core.stored.webhook import WebhookMessage, message_id
from ..database import Database, Row
from ..writer import Writer
from .held import NOT_HELD

_NAMES = WebhookMessage.__struct_fields__
_LINE = ", ".join(_NAMES)
_ADD = f"INSERT INTO webhooks ({_LINE}) VALUES ({', '.join('?' * len(_NAMES))})"
_DUE = f"""SELECT {_LINE} FROM (
    SELECT {_LINE}, row_number() OVER (PARTITION BY tenant, principal ORDER BY due) AS turn
    FROM webhooks WHERE dead IS NULL AND due <= ? AND {NOT_HELD.format(table="webhooks")}
) AS ready WHERE turn <= ? ORDER BY due LIMIT ?"""


def tell_webhook(database: Database, line: TaskLine, at: float) -> None:
    """Write down that an address is to be told of the end of a task; nothing, where the task names none.

    Args:
        database: within the transaction of the record that ends the task.
        line: the task.
        at: when it ended.
    """
    if not line.options.webhook:
        return
    named = message_id(line.run_id, at)
    if database.execute("SELECT id FROM webhooks WHERE id = ?", (named,)):
        return
    message = WebhookMessage(
        id=named,
        run_id=line.run_id,
        tenant=line.tenant,
        principal=line.principal,
        address=line.options.webhook,
        queued=at,
        due=at,
    )
    database.execute(_ADD, astuple(message))


class DatabaseOutbox:
    """An `WebhookOutbox` in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
    """

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def due(self, now: float, *, limit: int = 100, each: int = 4) -> list[WebhookMessage]:
        rows = await self._writer.ask(lambda database: database.execute(_DUE, (now, each, limit)))
        return [_message(row) for row in rows]

    async def find(self, id: str) -> WebhookMessage | None:
        query = f"SELECT {_LINE} FROM webhooks WHERE id = ?"
        rows = await self._writer.ask(lambda database: database.execute(query, (id,)))
        return _message(rows[0]) if rows else None

    async def sent(self, id: str) -> None:
        def write(database: Database) -> None:
            database.execute("DELETE FROM webhooks WHERE id = ?", (id,))

        await self._writer.ask(write, writes=True, durable=True)

    async def failed(self, id: str, error: str, *, due: float, dead: float | None) -> None:
        query = "UPDATE webhooks SET tries = tries + 1, error = ?, due = ?, dead = ? WHERE id = ?"

        def write(database: Database) -> None:
            database.execute(query, (error, due, dead, id))

        await self._writer.ask(write, writes=True, durable=True)

    async def counts(self) -> tuple[int, int]:
        query = "SELECT count(*), count(dead) FROM webhooks"
        ((all_of_them, dead),) = await self._writer.ask(lambda database: database.execute(query))
        assert isinstance(all_of_them, int)
        assert isinstance(dead, int)
        return all_of_them - dead, dead

    async def drop(self, dead_before: float) -> int:
        def write(database: Database) -> int:
            rows = database.execute("SELECT id FROM webhooks WHERE dead < ?", (dead_before,))
            if rows:
                database.execute("DELETE FROM webhooks WHERE dead < ?", (dead_before,))
            return len(rows)

        return await self._writer.ask(write, writes=True)


def _message(row: Row) -> WebhookMessage:
    return WebhookMessage(**dict(zip(_NAMES, row, strict=True)))  # type: ignore[arg-type]
