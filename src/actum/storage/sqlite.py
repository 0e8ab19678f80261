"""The journal in SQLite: a file that a run survives its process in.

The file is in WAL mode: readers, here or in other processes, do not wait for writers. What somebody waits for with
`sync` is committed with `synchronous=FULL`, everything else with `NORMAL`, which survives the end of the process, and a
loss of power once a later `FULL` follows. Claims lie in a file beside it, `<journal>-claims`: see `claim_file.py`.

A new file is readable by its owner alone, and so are the files that SQLite puts beside it (`-wal`, `-shm`) and the
file of claims. The mode of a file that is already there is left as it is: the files beside it get the same mode.

What `forget` leaves, and what is left of the secret values of a run that has ended: deleted payloads are overwritten in
the file (`secure_delete`) and the log is emptied, unless another process is just reading from it; then that waits for
the next checkpoint. Backups, snapshots of the file system and the worn cells of a flash disk are beyond the reach of
any program.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ..core.errors import JournalError, UsageError
from ..core.run.noted import NO_KINDS, RecordKinds
from ..core.secrets.private_paths import keep_private
from .claim_file import ClaimFile
from .database import KeyChanges, Row
from .journal import DatabaseJournal
from .schema import SQLITE

BUSY_S = 30.0
"""Seconds that one process waits for another that writes."""


class SQLiteJournal(DatabaseJournal):
    """A `Journal` in one SQLite file (WAL mode).

    Args:
        path: the file; made, with its folder, when it is not there.
        now: where the time of an entry comes from, in seconds since 1970.
        key: the secret with which heads are signed; None to sign none.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.
        record_kinds: the kinds of records that features bring.

    Raises:
        JournalError: the file can not be opened, is no journal, was written by a newer version, or is of an
            older format and `older` is not set.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        now: Callable[[], float] = time.time,
        key: bytes | None = None,
        older: bool = False,
        record_kinds: RecordKinds = NO_KINDS,
    ) -> None:
        self.path = Path(path)
        try:
            super().__init__(
                SQLiteDatabase(self.path), SQLITE, now=now, key=key, older=older, record_kinds=record_kinds
            )
        except (sqlite3.Error, OSError) as error:
            raise JournalError("can not open the journal {path}: {why}", path=path, why=error) from error


def copy_database(path: Path, target: Path) -> None:
    """Copy the file of a journal as it is at one moment, also while others write to it.

    Args:
        path: the file.
        target: the copy; there is none yet. Its owner alone can read it.

    Raises:
        JournalError: there is no such file.
        UsageError: it can not be copied, such as to a disk that is full.
    """
    if not path.is_file():
        raise JournalError("there is no journal {path}", path=path)
    _make_private(target)
    source, copy = sqlite3.connect(path, timeout=BUSY_S), sqlite3.connect(target)
    try:
        source.execute("PRAGMA query_only=ON")
        source.backup(copy)  # in one step: in steps it would begin anew with each change of another process
    except sqlite3.Error as error:
        raise UsageError("can not copy the journal {path}: {why}", path=path, why=error) from error
    finally:
        copy.close()
        source.close()


class SQLiteDatabase:
    """A `Database` in one file.

    Raises:
        sqlite3.Error, OSError: it can not be opened.
    """

    conflict = sqlite3.IntegrityError
    failure = sqlite3.Error
    types: Mapping[type, str] = MappingProxyType({str: "TEXT", int: "INTEGER", float: "REAL", bytes: "BLOB"})
    session = 0  # who writes is alone

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.name = str(path)
        self._path = path
        keep_private(path, *(path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm", "-journal", "-claims")))
        _make_private(path)
        self._claims = ClaimFile(path.with_name(f"{path.name}-claims"), path)
        self._connect(path)
        self._durable: bool | None = None
        self._file = _identity(path)
        try:
            _use_wal(self._connection)
            self._connection.execute("PRAGMA secure_delete=ON")
        except BaseException:
            self.close()
            raise

    def _connect(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=BUSY_S)
        self._connection.text_factory = _text

    @property
    def is_shared(self) -> bool:
        """Whether somebody else than the user of this process may write to the file."""
        if sys.platform == "win32":
            return False
        status = self._path.stat()
        return status.st_uid != os.geteuid() or bool(status.st_mode & (stat.S_IWGRP | stat.S_IWOTH))

    def begin(self, *, writes: bool, durable: bool) -> bool:
        if writes:
            self._claims.check()
        if durable != self._durable:
            self._connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            self._durable = durable
        self._connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        return False

    def commit(self) -> None:
        self._connection.execute("COMMIT")

    def rollback(self) -> None:
        if self._connection.in_transaction:
            self._connection.rollback()

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        self._connection.executemany(statement, rows)

    def tables(self) -> set[str]:
        return {str(name) for (name,) in self.execute("SELECT name FROM sqlite_master")}

    def bytes_literal(self, value: bytes) -> str:
        return f"x'{value.hex()}'"

    def has_bytes(self, column: str) -> str:
        return f"instr({column}, ?) > 0"

    def lock(self) -> None:
        """A transaction that writes is alone already."""

    def flush(self) -> None:
        self.set_version(self.version())  # the cheapest thing that counts as a change

    def version(self) -> int:
        if (version := self._version()) or not self._has_tables():
            return version
        if version := self._version():  # another process made the tables between the two looks
            return version
        raise JournalError("{name} is a database of something else: name another file for the journal", name=self.name)

    def _version(self) -> int:
        version: int = self._connection.execute("PRAGMA user_version").fetchone()[0]
        return version

    def _has_tables(self) -> bool:
        return bool(self.tables())

    def set_version(self, version: int) -> None:
        self._connection.execute(f"PRAGMA user_version={version}")

    def is_outage(self, error: Exception) -> bool:
        return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY  # each try waits for `BUSY_S`

    def scrub(self, *, wait: bool = True) -> None:
        if not wait:
            self._connection.execute("PRAGMA busy_timeout=0")
        try:
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            if not wait:
                self._connection.execute(f"PRAGMA busy_timeout={int(BUSY_S * 1_000)}")

    def take(self, name: str) -> bool:
        return self._claims.take(name)

    def holder_lives(self, name: str) -> bool:
        return True  # the process itself writes to the file, and the kernel drops its claims when it ends

    def release(self, name: str) -> None:
        self._claims.release(name)

    def taken(self, names: Sequence[str]) -> set[str]:
        return self._claims.taken(names)

    def key_changes(self) -> KeyChanges:
        return SQLiteKeyChanges(self._path, self._file)

    def close(self) -> None:
        self._claims.close()
        self._connection.close()


class SQLiteKeyChanges:
    """Watches the keys in the file over a connection that reads one number, in some microseconds.

    Args:
        path: the file.
        file: what `_identity` said of the file when the journal was opened.

    Raises:
        JournalError: the file can not be opened, or is not the file that the journal has opened.
    """

    def __init__(self, path: Path, file: tuple[int, int]) -> None:
        self._path, self._file = path, file
        self._number: int | None = None
        self._read_at = float("-inf")
        self._check()
        try:
            self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0)
            self._connection.execute("PRAGMA query_only=ON")
        except sqlite3.Error as error:
            raise JournalError("can not open the journal {path}: {why}", path=path, why=error) from error

    def number(self, age_s: float = 0.0) -> int | None:
        now = time.monotonic()
        if now - self._read_at < age_s:
            return self._number
        self._check()
        try:
            ((number,),) = self._connection.execute("SELECT number FROM key_changes").fetchall()
        except (sqlite3.Error, ValueError):  # locked for a moment, or damaged
            number = None
        self._number = number if isinstance(number, int) else None
        self._read_at = now if self._number is not None else float("-inf")
        return self._number

    def close(self) -> None:
        self._connection.close()

    def _check(self) -> None:
        """A file that was deleted or replaced is still open here, and nobody else can write to it any more."""
        try:
            is_same = _identity(self._path) == self._file
        except OSError:
            is_same = False
        if not is_same:
            raise JournalError(
                "the journal {path} was deleted or replaced while it was open, so that nobody can "
                "tell which keys are valid: put the file back, or start anew",
                path=self._path,
            )


def _identity(path: Path) -> tuple[int, int]:
    """What tells a file from another file of the same name."""
    status = path.stat()
    return status.st_dev, status.st_ino


def _make_private(path: Path) -> None:
    """Make the file, readable by its owner alone, where there is none. SQLite gives its other files the same mode."""
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _text(data: bytes) -> str:
    """SQLite does not check that a text is UTF-8; a damaged one must not end the query that meets it."""
    return str(data, "utf-8", "replace")


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
