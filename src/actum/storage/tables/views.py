"""Rows that follow from records of features, in the journal's database: see `core.stores.RecordView`.

A record that a view follows is noted in the table `noted`, in the transaction of the record. Behind that transaction
the writer makes the rows in a transaction of their own, which also takes the line out of `noted`. So a row that fails
can fail no run, and the next process with the feature makes the rows that a process which died had not made. When
`sync` has returned, the rows of the records before it are there. The records of a journal in memory are no rows of a
table, so a journal in memory hands the records over.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

from ...core.errors import JournalError
from ...core.run.noted import RecordKinds
from ...core.run.record import FORMAT, Entry, Noted, Record
from ...core.stores import RecordPlace, RecordView, Transaction
from ..database import Database
from ..writer import Writer

log = logging.getLogger("actum.journal")

_ADD = "INSERT INTO noted (run_id, number, feature) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_OF = "FROM noted WHERE run_id = ? AND number = ?"
_RECORD = """SELECT payload, salt, digest, at, tenant, principal FROM entries JOIN runs ON runs.run_id = entries.run_id
    WHERE entries.run_id = ? AND number = ?"""
_RECORDS = "SELECT run_id, number, payload, salt, digest FROM entries WHERE kind = 'noted' AND length(payload) > 0"


Past = Callable[[], Iterable[tuple[Noted, RecordPlace]]]


def no_past() -> Iterable[tuple[Noted, RecordPlace]]:
    """The records of a journal whose records are in the database."""
    return ()


class DatabaseViews:
    """The views of the features that are on, in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
        record_kinds: read the records.
        transaction: reads and writes the rows of a tenant.
        past: the records of a journal in memory.
    """

    def __init__(
        self,
        writer: Writer,
        record_kinds: RecordKinds,
        transaction: Callable[[Database, str], Transaction],
        past: Past = no_past,
    ) -> None:
        self._writer = writer
        self._record_kinds = record_kinds
        self._transaction = transaction
        self._past = past
        self._views: dict[str, Sequence[RecordView]] = {}

    async def use(self, feature: str, views: Sequence[RecordView]) -> None:
        """Follow the records of a feature from now on, and make the rows that a process that died has left."""
        self._views[feature] = views
        query = "SELECT run_id, number FROM noted WHERE feature = ?"
        left = await self._writer.ask(lambda database: database.execute(query, (feature,))) if views else []
        for run_id, number in left:
            self.follow(str(run_id), int(str(number)))
        if left:
            await self._writer.sync("")

    def follows(self, record: Record) -> bool:
        """Whether rows follow from a record."""
        return isinstance(record, Noted) and bool(self._views.get(record.feature))

    def note(self, database: Database, run_id: str, number: int, record: Record) -> None:
        """Note a record in its transaction, where rows follow from it."""
        if isinstance(record, Noted) and self.follows(record):
            database.execute(_ADD, (run_id, number, record.feature))

    def behind(self, run_id: str, number: int, record: Record) -> None:
        """Have the rows made that follow from a record, behind its transaction."""
        if self.follows(record):
            self.follow(run_id, number)

    def follow(self, run_id: str, number: int) -> None:
        """Have the rows of a record made that was noted. Nobody waits for them."""

        def make(database: Database) -> None:
            database.lock()
            if not database.execute(f"SELECT 1 {_OF}", (run_id, number)):
                return  # another process has made the rows
            for *sealed, at, tenant, principal in database.execute(_RECORD, (run_id, number)):
                noted = _noted(number, sealed)
                place = RecordPlace(run_id, number, float(str(at)), str(tenant), str(principal))
                self._make(database, noted, place)
            database.execute(f"DELETE {_OF}", (run_id, number))

        def tell(error: Exception | None) -> None:
            if error is None:
                return
            log.warning("rows that follow from entry %s of run %s could not be written: %s", number, run_id, error)
            self._writer.put(lambda database: _drop(database, run_id, number), "", lambda error: None)

        self._writer.put(make, "", tell, alone=True)

    def follow_now(self, record: Record, place: RecordPlace) -> None:
        """Make the rows of a record of a journal in memory, which has no other process."""
        if isinstance(record, Noted) and self.follows(record):

            def tell(error: Exception | None) -> None:
                if error is not None:
                    log.warning("rows that follow from run %s could not be written: %s", place.run_id, error)

            self._writer.put(lambda database: self._make(database, record, place), "", tell)

    async def rebuild(self, feature: str) -> int:
        """Delete the rows of the views of a feature, and make them anew from all records; how many records there are.

        A process that dies on the way leaves the rest to the next process with the feature.
        """
        views = self._views.get(feature, ())

        def begin(database: Database) -> int:
            database.lock()
            return self.begin_anew(database, feature, views)

        count = await self._writer.ask(begin, writes=True, durable=True)
        await self.use(feature, views)
        return count + self.follow_past(feature)

    def begin_anew(self, database: Database, feature: str, views: Sequence[RecordView]) -> int:
        """Delete the rows of views, and note all records of the feature, in one transaction that holds the lock.

        Args:
            database: where it happens.
            feature: the name of the feature.
            views: its views, also those that are not in use yet. Nothing happens where there are none.

        Returns:
            How many records were noted.
        """
        for view in views:
            database.execute(f'DELETE FROM "{feature}_{view.table.name}"')
        count = 0
        for run_id, number, *sealed in database.execute(_RECORDS) if views else ():
            noted = _noted(int(str(number)), sealed)
            if noted is not None and noted.feature == feature:
                database.execute(_ADD, (str(run_id), int(str(number)), feature))
                count += 1
        return count

    def follow_past(self, feature: str) -> int:
        """Make the rows of the records of a feature in a journal in memory; how many records there are."""
        found = [(noted, place) for noted, place in self._past() if noted.feature == feature and self.follows(noted)]
        for noted, place in found:
            self.follow_now(noted, place)
        return len(found)

    def _make(self, database: Database, noted: Noted | None, place: RecordPlace) -> None:
        record = self._record_kinds.read(noted) if noted is not None else None
        if noted is None or record is None:
            return  # forgotten meanwhile, or of a newer version of the feature
        transaction = self._transaction(database, place.tenant)
        for view in self._views.get(noted.feature, ()):
            if isinstance(record, view.record):
                for row in view.rows(record, place):
                    transaction.put(view.table, row)


def _noted(number: int, sealed: Sequence[object]) -> Noted | None:
    """The record of a feature, from its payload, salt and digest; None where it was deleted, or is damaged."""
    payload, salt, digest = (value if isinstance(value, bytes) else b"" for value in sealed)
    try:
        record = Entry(number, 0.0, payload, salt, digest, b"", FORMAT).record
    except JournalError:
        return None
    return record if isinstance(record, Noted) else None


def _drop(database: Database, run_id: str, number: int) -> None:
    database.execute(f"DELETE {_OF}", (run_id, number))
