"""Rows that follow from records of features and from runs, in the journal's database: see `core.stores.RecordView` and
`RunView`.

A record that a view follows is noted in the table `noted`, in the transaction of the record. Behind that transaction
the writer makes the rows in a transaction of their own, which also takes the line out of `noted`. So a row that fails
can fail no run, and the next process with the feature makes the rows that a process which died had not made. When
`sync` has returned, the rows of the records before it are there.

A run that a view follows is noted in the table `followed`, in the transaction of its first record. Nothing else happens
until somebody reads; then the runs that are over are taken in. A run that is done goes on no more and is struck off.

The records of a journal in memory are no rows of a table, so a journal in memory hands the records over. Its runs, too,
are taken in when somebody reads.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Protocol

from ...core.errors import JournalError, UsageError
from ...core.run.noted import RecordKinds
from ...core.run.record import FORMAT, Entry, Noted, Record, Started
from ...core.stores import ABOUT_RUN, RecordPlace, RecordView, RunView, Transaction
from ..database import Database
from ..writer import Writer

log = logging.getLogger("actum.journal")

_ADD = "INSERT INTO noted (run_id, number, feature) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_OF = "FROM noted WHERE run_id = ? AND number = ?"
_RECORD = """SELECT payload, salt, digest, at, tenant, principal FROM entries JOIN runs ON runs.run_id = entries.run_id
    WHERE entries.run_id = ? AND number = ?"""
_RECORDS = "SELECT run_id, number, payload, salt, digest FROM entries WHERE kind = 'noted' AND length(payload) > 0"
_FOLLOW = """INSERT INTO followed (feature, run_id, taken, tenant, principal) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO NOTHING"""
_OVER = """SELECT followed.run_id, runs.tenant, runs.principal, runs.status FROM followed
    JOIN runs ON runs.run_id = followed.run_id
    WHERE feature = ? AND runs.status IN ('done', 'stopped', 'failed') AND EXISTS (
        SELECT 1 FROM entries WHERE entries.run_id = followed.run_id AND entries.number >= followed.taken)"""
_OF_USER = "AND followed.tenant = ? AND followed.principal = ?"
_STARTED = "SELECT run_id, payload, salt, digest FROM entries WHERE number = 0 AND length(payload) > 0"
_EMPTY = "SELECT 1 FROM entries WHERE run_id = ? AND number = 0 AND length(payload) = 0"
_IN_ORDER = "ORDER BY runs.ended, runs.place LIMIT ?"
_OF_RUN = """SELECT number, at, payload, salt, digest FROM entries
    WHERE run_id = ? AND (number = 0 OR kind IN ('ended', 'noted')) ORDER BY number"""
_RUNS_AT_ONCE = 200
"""How many runs are taken in by one transaction at most: everybody else waits for its end."""

Whose = tuple[str, str]
"""A tenant and a user."""
RunRecords = tuple[RecordPlace, list[Record]]
"""The place of the first record of a run, and the records that a `RunView` takes."""


class Past(Protocol):
    """What a journal in memory has."""

    def noted(self) -> Iterable[tuple[Noted, RecordPlace]]:
        """The records of features, without those of forgotten runs."""

    def over(self) -> Iterable[str]:
        """The runs that are over, in the order in which they ended."""

    def is_forgotten(self, run_id: str) -> bool:
        """Whether the words of a run were deleted."""

    def ended_run(self, run_id: str) -> RunRecords | None:
        """What is taken in of a run; None where the run is not over, or not there any more."""


class DatabaseViews:
    """The views of the features that are on, in the database of a journal.

    Args:
        writer: the thread that reads and writes the tables.
        record_kinds: read the records.
        transaction: reads and writes the rows of a tenant.
        past: what a journal in memory has; None where the records are in the database.
    """

    def __init__(
        self,
        writer: Writer,
        record_kinds: RecordKinds,
        transaction: Callable[[Database, str], Transaction],
        past: Past | None = None,
    ) -> None:
        self._writer = writer
        self._record_kinds = record_kinds
        self._transaction = transaction
        self._past = past
        self._views: dict[str, Sequence[RecordView]] = {}
        self._run_views: dict[str, Sequence[RunView]] = {}
        self._ended = itertools.count()
        # By feature and user: runs in memory that are over and were not looked at, each with its place in order.
        self._over: dict[str, dict[Whose, dict[str, int]]] = {}

    async def use(self, feature: str, all_views: Sequence[RecordView | RunView]) -> None:
        """Follow the records of a feature from now on, and make the rows that a process that died has left."""
        views = [view for view in all_views if isinstance(view, RecordView)]
        self._views[feature] = views
        self._run_views[feature] = [view for view in all_views if isinstance(view, RunView)]
        query = "SELECT run_id, number FROM noted WHERE feature = ?"
        left = await self._writer.ask(lambda database: database.execute(query, (feature,))) if views else []
        for run_id, number in left:
            self.follow(str(run_id), int(str(number)))
        if left:
            await self._writer.sync("")

    def follows(self, record: Record) -> bool:
        """Whether rows follow from a record."""
        return isinstance(record, Noted) and bool(self._views.get(record.feature))

    def followers(self, started: Started) -> list[str]:
        """The features that take a run in when it is over."""
        return [name for name, views in self._run_views.items() if any(view.follows(started) for view in views)]

    def note(self, database: Database, run_id: str, number: int, record: Record) -> None:
        """Note a record in its transaction, where rows follow from it."""
        if self._run_views and isinstance(record, Started):
            for feature in self.followers(record):
                database.execute(_FOLLOW, (feature, run_id, 0, record.tenant, record.principal))
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
                noted = _record(number, sealed)
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
        views: list[RecordView | RunView] = [*self._views.get(feature, ()), *self._run_views.get(feature, ())]

        def begin(database: Database) -> int:
            database.lock()
            return self.begin_anew(database, feature, views)

        count = await self._writer.ask(begin, writes=True, durable=True)
        await self.use(feature, views)
        return count + self.follow_past(feature)

    def begin_anew(self, database: Database, feature: str, views: Sequence[RecordView | RunView]) -> int:
        """Delete the rows of views, and note all records of the feature and all runs that its views follow, in one
        transaction that holds the lock.

        Args:
            database: where it happens.
            feature: the name of the feature.
            views: its views, also those that are not in use yet. Nothing happens where there are none.

        Returns:
            How many records and runs were noted.
        """
        of_runs = [view for view in views if isinstance(view, RunView)]
        for view in views:
            for table in view.tables if isinstance(view, RunView) else (view.table,):
                database.execute(f'DELETE FROM "{feature}_{table.name}"')
        count = 0
        for run_id, number, *sealed in database.execute(_RECORDS) if len(views) > len(of_runs) else ():
            noted = _record(int(str(number)), sealed)
            if isinstance(noted, Noted) and noted.feature == feature:
                database.execute(_ADD, (str(run_id), int(str(number)), feature))
                count += 1
        if of_runs:
            database.execute("DELETE FROM followed WHERE feature = ?", (feature,))
        for run_id, *sealed in database.execute(_STARTED) if of_runs else ():
            started = _record(0, sealed)
            if isinstance(started, Started) and any(view.follows(started) for view in of_runs):
                database.execute(_FOLLOW, (feature, str(run_id), 0, started.tenant, started.principal))
                count += 1
        return count

    def is_behind(self, database: Database, feature: str, whose: Whose | None) -> bool:
        """Whether there are runs that are over and were not taken in, of a user or of everybody."""
        if self._past is not None:
            over = self._over.get(feature, {})
            return bool(over) if whose is None else whose in over
        return bool(self._run_views.get(feature)) and bool(_over(database, feature, whose, "LIMIT 1"))

    async def catch_up(self, feature: str, whose: Whose | None) -> None:
        """Take in runs that are over, of a user or of everybody. A run that can not be taken in is told in the log."""
        if self._past is not None:
            over = self._over.get(feature, {})
            users = [*over] if whose is None else [whose]
            runs = [(place, run_id, user) for user in users for run_id, place in over.get(user, {}).items()]
            for _, run_id, user in sorted(runs):
                self._take_ended(feature, run_id, user, self._past)
            return

        def take(database: Database, most: int) -> None:
            database.lock()
            runs: dict[str, list[RunRecords]] = {}
            for run_id, tenant, principal, status in _over(database, feature, whose, _IN_ORDER, most):
                rows = database.execute(_OF_RUN, (run_id,))
                found = [(row[1], record) for row in rows if (record := _record(int(str(row[0])), row[2:])) is not None]
                if found and isinstance(found[0][1], Started):
                    place = RecordPlace(str(run_id), 0, float(str(found[0][0])), str(tenant), str(principal))
                    runs.setdefault(str(tenant), []).append((place, [record for _, record in found]))
                database.execute("DELETE FROM followed WHERE feature = ? AND run_id = ?", (feature, run_id))
                if status != "done" and rows:
                    taken = int(str(rows[-1][0])) + 1
                    database.execute(_FOLLOW, (feature, run_id, taken, tenant, principal))
            self._take(database, feature, runs)

        def leave_out(database: Database) -> None:
            database.lock()
            for run_id, *_ in _over(database, feature, whose, _IN_ORDER, 1):
                database.execute("DELETE FROM followed WHERE feature = ? AND run_id = ?", (feature, run_id))
                log.warning("run %s could not be taken in by %s: %s", run_id, feature, problem)

        problem: UsageError | None = None
        for most in (_RUNS_AT_ONCE, 1):
            try:
                await self._writer.ask(partial(take, most=most), writes=True)
            except UsageError as error:  # a value of a run that no table can hold
                problem = error
            else:
                return
        await self._writer.ask(leave_out, writes=True)

    def run_ended(self, run_id: str, whose: Whose) -> None:
        """A run of a journal in memory, which has no other process, is over: it is looked at when somebody reads."""
        for feature, views in self._run_views.items():
            if views:
                self._over.setdefault(feature, {}).setdefault(whose, {})[run_id] = next(self._ended)

    def run_dropped(self, run_id: str, whose: Whose) -> None:
        """A journal in memory has no room for a run any more."""
        for feature in self._over:
            self._waits_no_more(feature, run_id, whose)

    def _waits_no_more(self, feature: str, run_id: str, whose: Whose) -> None:
        runs = self._over[feature].get(whose, {})
        runs.pop(run_id, None)
        if not runs:
            self._over[feature].pop(whose, None)

    def _take_ended(self, feature: str, run_id: str, whose: Whose, past: Past) -> None:
        """Take in a run of a journal in memory, alone."""

        def take(database: Database) -> None:
            if (run := past.ended_run(run_id)) is not None and self._follows_run(feature, run):
                self._take(database, feature, {run[0].tenant: [run]})

        def tell(error: Exception | None) -> None:
            self._waits_no_more(feature, run_id, whose)
            if error is not None:
                log.warning("run %s could not be taken in: %s", run_id, error)

        self._writer.put(take, "", tell)

    def _follows_run(self, feature: str, run: RunRecords) -> bool:
        """Whether a feature takes in a run that is over."""
        started = run[1][0]
        return isinstance(started, Started) and feature in self.followers(started)

    def _take(self, database: Database, feature: str, runs: Mapping[str, list[RunRecords]]) -> None:
        for tenant, found in runs.items():
            for view in self._run_views.get(feature, ()):
                view.take(self._transaction(database, tenant), found)

    def follow_past(self, feature: str) -> int:
        """Make the rows of the records of a feature, and of the runs, in a journal in memory; how many there are."""
        if self._past is None:
            return 0
        found = [
            (noted, place) for noted, place in self._past.noted() if noted.feature == feature and self.follows(noted)
        ]
        for noted, place in found:
            self.follow_now(noted, place)
        count, past = len(found), self._past
        for run_id in past.over() if self._run_views.get(feature) else ():
            if (run := past.ended_run(run_id)) is not None and self._follows_run(feature, run):
                self.run_ended(run_id, (run[0].tenant, run[0].principal))
                count += 1
        return count

    def _make(self, database: Database, noted: Record | None, place: RecordPlace) -> None:
        record = self._record_kinds.read(noted) if isinstance(noted, Noted) else None
        if not isinstance(noted, Noted) or record is None:
            return  # forgotten meanwhile, or of a newer version of the feature
        transaction = self._transaction(database, place.tenant)
        for view in self._views.get(noted.feature, ()):
            if isinstance(record, view.record):
                for row in view.rows(record, place):
                    if not self._is_forgotten(database, getattr(row, ABOUT_RUN, None)):
                        transaction.put(view.table, row)

    def _is_forgotten(self, database: Database, run_id: str | None) -> bool:
        """Whether the words of a run were deleted, with which its rows go."""
        if run_id is None:
            return False
        return bool(database.execute(_EMPTY, (run_id,))) if self._past is None else self._past.is_forgotten(run_id)


def _over(database: Database, feature: str, whose: Whose | None, last: str, *values: int) -> Sequence[Sequence[object]]:
    """Runs that are over and were not taken in by a feature: id, tenant, user, status.

    Args:
        database: where to look.
        feature: the feature.
        whose: only runs of this user; None for those of everybody.
        last: the end of the query.
        values: of the end.
    """
    return database.execute(f"{_OVER} {_OF_USER if whose else ''} {last}", (feature, *(whose or ()), *values))


def _record(number: int, sealed: Sequence[object]) -> Record | None:
    """A record, from its payload, salt and digest; None where it was deleted, or is damaged."""
    payload, salt, digest = (value if isinstance(value, bytes) else b"" for value in sealed)
    try:
        return Entry(number, 0.0, payload, salt, digest, b"", FORMAT).record
    except JournalError:
        return None


def _drop(database: Database, run_id: str, number: int) -> None:
    database.execute(f"DELETE {_OF}", (run_id, number))
