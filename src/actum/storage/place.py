"""Where things are kept, and the journal that a place means: only what that one needs is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.noted import NO_KINDS, RecordKinds
from ..core.private_paths import keep_private

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


def state_folder(environment: Mapping[str, str]) -> Path:
    """The person's own folder for what this program keeps, by the XDG specification.

    Raises:
        UsageError: there is no home folder.
    """
    state = environment.get("XDG_STATE_HOME", "")
    try:
        home = Path(state) if state.startswith("/") else Path("~/.local/state").expanduser()
    except RuntimeError:
        raise UsageError("there is no home folder to keep anything in") from None
    keep_private(home / "actum")
    return home / "actum"


def data_folder(environment: Mapping[str, str]) -> Path:
    """The person's own folder for what programs keep that this program starts, by the XDG specification.

    Raises:
        UsageError: there is no home folder.
    """
    data = environment.get("XDG_DATA_HOME", "")
    try:
        home = Path(data) if data.startswith("/") else Path("~/.local/share").expanduser()
    except RuntimeError:
        raise UsageError("there is no home folder to keep anything in") from None
    return home / "actum"


def settings_path(environment: Mapping[str, str]) -> Path | None:
    """The person's own settings file, by the XDG specification; None where there is no home folder."""
    config = environment.get("XDG_CONFIG_HOME", "")
    if config.startswith("/"):
        return Path(config) / "actum" / "actum.toml"
    home = environment.get("HOME") or environment.get("USERPROFILE")
    return Path(home) / ".config" / "actum" / "actum.toml" if home else None


def tokens_path(environment: Mapping[str, str]) -> Path:
    """The person's own file of tokens.

    Raises:
        UsageError: there is no home folder.
    """
    return state_folder(environment) / "tokens.json"
