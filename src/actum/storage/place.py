"""Where things are kept, and the journal that a place means: only what that one needs is loaded."""

from __future__ import annotations

from pathlib import Path

from ..core.interfaces import Journal
from ..core.run.noted import NO_KINDS, RecordKinds

SCHEMES = ("postgresql://", "postgres://")
"""What the address of a PostgreSQL server begins with."""


def open_journal(
    place: str | Path, *, key: bytes | None = None, older: bool = False, record_kinds: RecordKinds = NO_KINDS
) -> Journal:
    """The journal in a file (SQLite), or behind the address of a PostgreSQL server.

    Args:
        place: a path, or `postgresql://...`.
        key: the secret with which heads are signed; it must not lie beside the journal.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.
        record_kinds: the kinds of records that features bring.

    Raises:
        JournalError: it can not be opened, is no journal, or is of an older format and `older` is not set.
        UsageError: psycopg is missing.
    """
    if isinstance(place, str) and place.startswith(SCHEMES):
        from .postgres import PostgresJournal  # noqa: PLC0415  # few programs keep their journal on a server

        return PostgresJournal(place, key=key, older=older, record_kinds=record_kinds)
    from .sqlite import SQLiteJournal  # noqa: PLC0415  # `import actum` loads no database

    return SQLiteJournal(place, key=key, older=older, record_kinds=record_kinds)
