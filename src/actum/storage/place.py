"""Opens the journal that a place means, and loads only what that one needs."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ..core.interfaces import Journal

SCHEMES = ("postgresql://", "postgres://")
"""What the address of a PostgreSQL server begins with."""


def open_journal(place: str | Path, *, key: bytes | None = None) -> Journal:
    """The journal in a file (SQLite), or behind the address of a PostgreSQL server.

    Args:
        place: a path, or `postgresql://...`.
        key: the secret with which heads are signed; it must not lie beside the journal.

    Raises:
        JournalError: it can not be opened or is no journal.
        UsageError: psycopg is missing.
    """
    served = isinstance(place, str) and place.startswith(SCHEMES)
    module, name = ("postgres", "PostgresJournal") if served else ("sqlite", "SQLiteJournal")
    opened: Journal = getattr(import_module(f"{__package__}.{module}"), name)(place, key=key)
    return opened
