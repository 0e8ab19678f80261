"""The catalog of agents and MCP servers: one file for each entry.

Files are written whole under a lock, so that two processes that look at one entry lose nothing of each other. They are
readable by their owner alone. A file that can not be read is an error, and never an empty entry.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from ..core.errors import UnknownName, UsageError
from ..protocols.catalog import CatalogEntry
from .whole_file import alone_with, replace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_decoder = msgspec.json.Decoder(CatalogEntry)


class CatalogFiles:
    """The entries in one folder.

    Args:
        folder: made with the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def all(self) -> list[CatalogEntry]:
        """All entries, by name.

        Raises:
            UsageError: a file can not be read.
        """
        return [self._read(path) for path in sorted(self.folder.glob("*.json")) if _NAME.fullmatch(path.stem)]

    def get(self, name: str) -> CatalogEntry:
        """An entry by its name.

        Raises:
            UnknownName: there is none of this name.
            UsageError: its file can not be read.
        """
        path = self._path(name)
        if not path.is_file():
            known = ", ".join(entry.name for entry in self.all()) or "none"
            raise UnknownName(f"the catalog has no {name!r}; it has: {known}. `actum catalog add` adds one")
        return self._read(path)

    def change(self, name: str, changed: Callable[[CatalogEntry | None], CatalogEntry]) -> CatalogEntry:
        """Put an entry in the place of what there is, while no other process changes it.

        Args:
            name: of the entry.
            changed: makes the entry out of the one that is there; None where there is none.

        Raises:
            UsageError: the file can not be read or written; what was there is still there.
            Busy: another process holds it.
        """
        path = self._path(name)
        with alone_with(path):
            entry = changed(self._read(path) if path.is_file() else None)
            try:
                replace(path, msgspec.json.encode(entry))
            except OSError as error:
                raise UsageError(f"{path} can not be written: {error.strerror}") from None
        return entry

    def remove(self, name: str) -> bool:
        """Forget an entry. False where there was none of this name."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            return False
        return True

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise UsageError(f"{name!r} is no name for an entry: use letters, digits, '_', '-' and '.'")
        return self.folder / f"{name}.json"

    def _read(self, path: Path) -> CatalogEntry:
        try:
            return _decoder.decode(path.read_bytes())
        except OSError as error:
            raise UsageError(f"{path} can not be read: {error.strerror}") from None
        except msgspec.MsgspecError as error:
            raise UsageError(f"{path} is no file of the catalog: {error}") from None
