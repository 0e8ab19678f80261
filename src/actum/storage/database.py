"""What a journal needs of a database: the small part that SQLite and PostgreSQL do each in its own way.

All of it blocks. It is called by one thread at a time: by the journal's writer, once it runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

Row = tuple[object, ...]


class KeyChanges(Protocol):
    """Watches, over a connection of its own, whether keys were added or revoked by whatever process."""

    def number(self, age_s: float = 0.0) -> int | None:
        """Another number as soon as a key was added or revoked; None while nobody can tell. Waits for nothing.

        Args:
            age_s: where reading the number costs something, one that was read within these seconds will do.

        Raises:
            JournalError: the database is not the one that was opened.
        """

    def close(self) -> None:
        """Let go of the connection."""


class Database(Protocol):
    """A database with one connection, in the words that a journal uses.

    Attributes:
        name: what to call it in an error; holds no password.
        conflict: the exception of a row that may not be: one that is there already, or lacks what it needs.
        failure: the exception of everything that the database can not do.
        types: what a column of a type is declared as, in the tables of features.
    """

    @property
    def name(self) -> str: ...

    @property
    def conflict(self) -> type[Exception]: ...

    @property
    def failure(self) -> type[Exception]: ...

    @property
    def types(self) -> Mapping[type, str]: ...

    @property
    def is_shared(self) -> bool:
        """Whether persons other than the user of this process may write to it."""

    @property
    def session(self) -> int:
        """Under this number runs are counted. Where several sessions write at once, each of them has another."""

    def begin(self, *, writes: bool, durable: bool) -> bool:
        """Begin a transaction; connect again if that is needed.

        Args:
            writes: whether it is going to change anything.
            durable: whether it must have survived a loss of power when `commit` returns.

        Returns:
            True when the connection is a new one, and what was committed without being durable may be gone.
        """

    def commit(self) -> None:
        """End the transaction. When it raises because the connection was lost, nobody knows whether it happened."""

    def rollback(self) -> None:
        """Undo the transaction, if one is open. Never raises."""

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        """Run one SQL statement with `?` for its values, and return its rows. A damaged value is returned as it is, or
        with U+FFFD for what is no text, and may have another type than its column: it hides no other row.
        """

    def execute_many(self, statement: str, rows: Sequence[Sequence[object]]) -> None:
        """Run one SQL statement that returns nothing once for each row of values."""

    def tables(self) -> set[str]:
        """The names of all tables of the journal, and of all else that has a name among them."""

    def bytes_literal(self, value: bytes) -> str:
        """Bytes as they are written in a statement."""

    def has_bytes(self, column: str) -> str:
        """A condition: a column of bytes has a value, `?`, somewhere."""

    def lock(self) -> None:
        """Until this transaction ends, no other process does what is done behind `lock`."""

    def flush(self) -> None:
        """Make this transaction, which wrote nothing, take to the disk what was committed before it."""

    def version(self) -> int:
        """The version of the tables; 0 for an empty database.

        Raises:
            JournalError: it belongs to something else.
        """

    def set_version(self, version: int) -> None:
        """Write down the version of the tables."""

    def is_outage(self, error: Exception) -> bool:
        """Whether nothing else would work now either, so that there is no use in trying job by job."""

    def scrub(self, *, wait: bool = True) -> None:
        """Outside of a transaction: get rid of copies of what was deleted, as far as the database can.

        Args:
            wait: for another process that is just reading; otherwise the copies go when the database next can.
        """

    def take(self, name: str) -> bool:
        """Claim a name until `release`, or until this process dies; False when another process has it, or had it and
        died while the database still works for it.
        """

    def holder_lives(self, name: str) -> bool:
        """Whether another process that has claimed this name lives. False where nobody has claimed it any more, or
        where nobody can tell yet, since the database still works for that process: then `take` is worth another try.
        """

    def release(self, name: str) -> None:
        """Give up a claim; one that is not held, or was lost with its connection, is no error."""

    def taken(self, names: Sequence[str]) -> set[str]:
        """Those of these names that another process has claimed."""

    def key_changes(self) -> KeyChanges:
        """Connect once more, to watch whether keys were added or revoked. Called by any thread.

        Raises:
            JournalError: the database can not be opened.
        """

    def close(self) -> None:
        """Let go of it."""
