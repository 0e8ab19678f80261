"""The journal in SQLite: a file that a run survives its process in.

One thread owns the connection and does all that touches the file, in the order in which it was asked. `append` seals
the entry at once and hands it over; the thread writes whatever has come together in one transaction, so that writers
who wait at the same time share one `fsync` (group commit). An entry that somebody waits for with `sync` is written with
`synchronous=FULL` and survives a loss of power; the others survive the end of the process as soon as they are written.

Knows nothing of what the records mean, but for the line of each run in the list of runs, written in the same
transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from ..core.claim import Claims
from ..core.errors import JournalError, UnknownName
from ..core.record import GENESIS, Answered, Asked, Ended, Entry, Record, RunSummary, Started, seal, summarize

T = TypeVar("T")

MIGRATIONS = (
    (
        """CREATE TABLE entries (
            run_id TEXT NOT NULL, number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL,
            payload BLOB NOT NULL, salt BLOB NOT NULL, digest BLOB NOT NULL, head BLOB NOT NULL,
            PRIMARY KEY (run_id, number)
        )""",
        """CREATE TABLE runs (
            run_id TEXT PRIMARY KEY, status TEXT NOT NULL, started REAL NOT NULL, ended REAL, agent TEXT NOT NULL,
            model TEXT NOT NULL, question TEXT NOT NULL, conversation TEXT NOT NULL, parent TEXT NOT NULL
        )""",
        "CREATE INDEX runs_by_conversation ON runs (conversation, started)",
        "CREATE INDEX runs_by_start ON runs (started)",
        "CREATE TABLE kept (digest TEXT PRIMARY KEY, payload BLOB NOT NULL)",
    ),
)
"""Each brings a file from one schema to the next; `PRAGMA user_version` counts those that were made."""

BUSY_S = 30.0
"""So long one process waits for another that writes."""

_COLUMNS = "run_id, status, started, ended, agent, model, question, conversation, parent"

Work = Callable[[sqlite3.Connection], None]


class _Job:
    """Something for the thread to do.

    Attributes:
        run_id: the run it belongs to; empty for what belongs to none.
        work: what to do, with the connection.
        done: is told when it is on the disk, or why it is not.
        durable: whether somebody waits for it to survive a loss of power.
        error: what went wrong with this job alone.
    """

    __slots__ = ("done", "durable", "error", "run_id", "work")

    def __init__(
        self,
        run_id: str,
        work: Work,
        done: Callable[[BaseException | None], None] | None = None,
        *,
        durable: bool = False,
    ) -> None:
        self.run_id = run_id
        self.work = work
        self.done = done
        self.durable = durable
        self.error: Exception | None = None


class SQLiteJournal:
    """A `Journal` in one SQLite file (WAL mode).

    Args:
        path: the file; made, with its folder, when it is not there.
        now: where the time of an entry comes from, in seconds since 1970.

    Raises:
        JournalError: the file can not be opened, is no journal, or was written by a newer version.
    """

    def __init__(self, path: str | Path, *, now: Callable[[], float] = time.time) -> None:
        self.path = Path(path)
        self._now = now
        self._heads: dict[str, tuple[int, bytes]] = {}
        self._kept: set[str] = set()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._broken: BaseException | None = None
        self._conflicts: dict[str, BaseException] = {}
        self._claims = Claims()
        self._closed = False
        self._connection = _open(self.path)
        self._thread = threading.Thread(target=self._write, name=f"journal {self.path.name}", daemon=True)
        self._thread.start()

    def append(self, run_id: str, record: Record) -> int:
        self._raise_if_broken(run_id)
        if run_id not in self._heads:
            self._heads[run_id] = (0, GENESIS) if isinstance(record, Started) else self._head_on_file(run_id)
        number, head = self._heads[run_id]
        at = self._now()
        entry = seal(record, number, at, head)
        self._heads[run_id] = (number + 1, entry.head)

        def work(connection: sqlite3.Connection) -> None:
            kind = str(record.__struct_config__.tag)
            row = (run_id, number, at, kind, entry.payload, entry.salt, entry.digest, entry.head)
            connection.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
            if isinstance(record, Started | Ended | Asked | Answered):
                _write_summary(connection, run_id, record, at)

        self._jobs.put(_Job(run_id, work))
        if isinstance(record, Ended):  # the run may go on in another process
            del self._heads[run_id]
        return number

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        return self._claims.hold(run_id)

    async def sync(self, run_id: str) -> None:
        await self._ask(lambda connection: None, run_id=run_id, durable=True)

    def keep(self, digest: str, payload: bytes) -> None:
        if digest in self._kept:
            return
        self._raise_if_broken()
        self._kept.add(digest)
        statement = "INSERT OR IGNORE INTO kept VALUES (?, ?)"
        self._jobs.put(_Job("", lambda connection: _run(connection, statement, (digest, payload))))

    async def kept(self, digest: str) -> bytes:
        rows = await self._ask(lambda c: c.execute("SELECT payload FROM kept WHERE digest = ?", (digest,)).fetchall())
        if not rows:
            raise UnknownName(f"the journal {self.path} keeps nothing under {digest}")
        return bytes(rows[0][0])

    async def read(self, run_id: str) -> list[Entry]:
        query = "SELECT number, at, payload, salt, digest, head FROM entries WHERE run_id = ? ORDER BY number"
        entries = [Entry(*row) for row in await self._ask(lambda c: c.execute(query, (run_id,)).fetchall())]
        known = 0 if self._conflicts.pop(run_id, None) else self._heads.get(run_id, (0,))[0]
        if entries and entries[-1].number >= known:  # another process went on with it
            self._heads[run_id] = (entries[-1].number + 1, entries[-1].head)
        return entries

    async def runs(self, *, conversation: str = "", limit: int = 50) -> list[RunSummary]:
        where, values = ("WHERE conversation = ?", (conversation,)) if conversation else ("", ())
        query = f"SELECT {_COLUMNS} FROM runs {where} ORDER BY started DESC, rowid DESC LIMIT {int(limit)}"
        return [_summary(row) for row in await self._ask(lambda c: c.execute(query, values).fetchall())]

    async def close(self) -> None:
        """Write what is left and let go of the file.

        Raises:
            JournalError: something could not be written.
        """
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)
        self._connection.close()
        if self._broken is not None:
            raise JournalError(f"the journal {self.path} failed: {self._broken}")

    async def _ask(self, query: Callable[[sqlite3.Connection], T], *, run_id: str = "", durable: bool = False) -> T:
        """Have the thread do this, after all that it was given before, and wait for what comes of it."""
        self._raise_if_broken(run_id)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        found: list[T] = []

        def settle(error: BaseException | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(JournalError(f"the journal {self.path} failed: {error}"))

        def work(connection: sqlite3.Connection) -> None:
            found.append(query(connection))

        def done(error: BaseException | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits any more
                loop.call_soon_threadsafe(settle, error)

        self._jobs.put(_Job(run_id, work, done, durable=durable))
        await future
        return found[0]

    def _head_on_file(self, run_id: str) -> tuple[int, bytes]:
        """Number and head for the next entry of a run that another process may have begun."""
        finished = threading.Event()
        rows: list[tuple[int, bytes]] = []
        query = "SELECT number, head FROM entries WHERE run_id = ? ORDER BY number DESC LIMIT 1"

        def work(connection: sqlite3.Connection) -> None:
            rows.extend(connection.execute(query, (run_id,)).fetchall())

        self._jobs.put(_Job("", work, lambda error: finished.set()))
        finished.wait()
        self._raise_if_broken(run_id)
        return (rows[0][0] + 1, rows[0][1]) if rows else (0, GENESIS)

    def _raise_if_broken(self, run_id: str = "") -> None:
        if self._closed:
            raise JournalError(f"the journal {self.path} is closed")
        error = self._broken or self._conflicts.get(run_id)
        if error is not None:
            raise JournalError(f"the journal {self.path} failed: {error}")

    def _write(self) -> None:
        """The thread: take what has come together, write it in one transaction, tell those who wait."""
        stop = False
        while not stop:
            batch = [self._jobs.get()]
            while not self._jobs.empty():
                batch.append(self._jobs.get())
            stop = None in batch
            jobs = [job for job in batch if job is not None]
            self._broken = self._broken or self._commit(jobs)
            for job in jobs:
                if job.done is not None:
                    job.done(self._broken or self._conflicts.get(job.run_id) or job.error)

    def _commit(self, jobs: list[_Job]) -> BaseException | None:
        """Write a batch; what went wrong with the file is returned, for everybody who waits and for everything after.

        What another process has written first is a conflict of its run alone.
        """
        try:
            level = "FULL" if any(job.durable for job in jobs) else "NORMAL"
            self._connection.execute(f"PRAGMA synchronous={level}")
            self._connection.execute("BEGIN IMMEDIATE")
            for job in jobs:
                if job.run_id not in self._conflicts:
                    self._do(job)
            self._connection.execute("COMMIT")
        except (sqlite3.Error, JournalError) as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            return error
        return None

    def _do(self, job: _Job) -> None:
        """Do one job. What is wrong with the file is everybody's, what is wrong with the job its own or its run's."""
        try:
            self._connection.execute("SAVEPOINT job")
            job.work(self._connection)
            self._connection.execute("RELEASE job")
        except (sqlite3.OperationalError, JournalError):
            raise
        except Exception as error:  # whoever waits for this job hears of it
            if type(error) is sqlite3.DatabaseError:  # a damaged file
                raise
            self._connection.execute("ROLLBACK TO job")
            job.error = error
            if job.run_id:
                written = isinstance(error, sqlite3.IntegrityError)
                why = "is written by another process too" if written else f"can not be written: {error}"
                self._conflicts[job.run_id] = JournalError(f"run {job.run_id} {why}")


def _open(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_S)
        _use_wal(connection)
        _migrate(connection, path)
    except (sqlite3.Error, OSError) as error:
        raise JournalError(f"can not open the journal {path}: {error}") from error
    return connection


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log. SQLite does not wait by itself for another process that does the same."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to this version's schema, all of it or nothing; one process does it while others wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version > len(MIGRATIONS):
            raise JournalError(f"the journal {path} was written by a newer actum (schema {version}): update actum")
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()
        if version == 0 and tables:
            raise JournalError(f"{path} is a database of something else: name another file for the journal")
        for migration in MIGRATIONS[version:]:
            for statement in migration:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _write_summary(
    connection: sqlite3.Connection, run_id: str, record: Started | Ended | Asked | Answered, at: float
) -> None:
    row = connection.execute(f"SELECT {_COLUMNS} FROM runs WHERE run_id = ?", (run_id,)).fetchone()
    line = summarize(run_id, _summary(row) if row else None, record, at)
    values = tuple(getattr(line, name) for name in _COLUMNS.split(", "))
    if row is None:
        connection.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
    else:
        connection.execute("UPDATE runs SET status = ?, ended = ? WHERE run_id = ?", (line.status, line.ended, run_id))


def _summary(row: tuple[object, ...]) -> RunSummary:
    return RunSummary(**dict(zip(_COLUMNS.split(", "), row, strict=True)))  # type: ignore[arg-type]  # columns and fields are the same


def _run(connection: sqlite3.Connection, statement: str, values: tuple[object, ...]) -> None:
    connection.execute(statement, values)
