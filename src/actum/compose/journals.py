"""The journal that the settings name, and the key with which it is signed."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from ..core.errors import JournalError, UsageError
from ..core.interfaces import Journal
from ..core.process.named_file import read_named
from ..core.secrets.private_paths import keep_private
from ..journal.memory import MemoryJournal
from ..storage.folders import state_folder
from ..storage.place import SCHEMES
from ..storage.place import open_journal as open_at
from .features import features_of
from .settings import MEMORY, Settings, shown_journal

KEY_BYTES_MIN = 16


def journal_path(settings: Settings, environment: Mapping[str, str]) -> Path:
    """The journal's file: the one that was set, else the person's own, in the state folder of the XDG specification.

    Raises:
        JournalError: there is no home folder.
    """
    if settings.journal:
        return Path(settings.journal).expanduser()
    try:
        return state_folder(environment) / "journal.db"
    except UsageError:
        raise JournalError("there is no home folder to keep the journal in") from None


def journal_place(settings: Settings, environment: Mapping[str, str]) -> str:
    """Where the journal is, for people: `memory`, a path, or an address without its password.

    Raises:
        JournalError: there is no home folder.
    """
    if settings.journal == MEMORY or settings.journal.startswith(SCHEMES):
        return shown_journal(settings.journal)
    return str(journal_path(settings, environment))


def open_journal(settings: Settings, environment: Mapping[str, str], *, older: bool = False) -> Journal:
    """The journal that the settings name; the person's own is for their eyes alone.

    Args:
        settings: name it.
        environment: the variables of this process.
        older: a journal of an older format is opened, too, to be verified and exported; nothing is written to it.

    Raises:
        JournalError: it can not be opened, is no journal, or is of an older format and `older` is not set.
        UsageError: there is no key in the file that was named for it, or psycopg is missing.
    """
    key = read_journal_key(settings.journal_key) if settings.journal_key else None
    kinds = features_of(settings).record_kinds
    if settings.journal == MEMORY:
        return MemoryJournal(key=key, record_kinds=kinds)
    if settings.journal.startswith(SCHEMES):
        return open_at(settings.journal, key=key, older=older, record_kinds=kinds)
    path = journal_path(settings, environment)
    if not settings.journal:
        with contextlib.suppress(OSError):  # the journal says better what is wrong
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    return open_at(path, key=key, older=older, record_kinds=kinds)


def read_journal_key(file: str) -> bytes:
    """The key in a file; a line end behind it is none of it, since editors and `echo` put one there."""
    try:
        key = read_named(Path(file).expanduser()).rstrip(b"\r\n")
    except (OSError, RuntimeError) as error:
        raise UsageError("the key of the journal can not be read: {why}", why=error) from None
    keep_private(file)
    if len(key) < KEY_BYTES_MIN:
        raise UsageError(
            "the key of the journal in {file} has {length} bytes, and needs {least}: make one with "
            "`openssl rand -hex 32 > {same}`",
            file=file,
            length=len(key),
            least=KEY_BYTES_MIN,
            same=file,
        )
    return key
