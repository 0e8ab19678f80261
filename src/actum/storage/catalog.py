"""The catalog of agents and MCP servers: one file for each entry.

Files are written whole under a lock, so that two processes that look at one entry lose nothing of each other. They are
readable by their owner alone. A file that can not be read is an error, and never an empty entry.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from ..core.errors import UnknownName, UsageError
from ..core.language.sentence import names_or_none
from ..protocols.catalog import WEIGHTS, CatalogEntry, texts_of
from .fulltext import FullText
from .whole_file import alone_with, replace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_decoder = msgspec.json.Decoder(CatalogEntry)


class CatalogIndex:
    """Finds entries by their words."""

    def __init__(self) -> None:
        self._entries: dict[str, CatalogEntry] = {}
        self._words = FullText(WEIGHTS)

    def all(self) -> list[CatalogEntry]:
        """All entries, by name."""
        return sorted(self._entries.values(), key=lambda entry: entry.name)

    def put(self, entry: CatalogEntry) -> None:
        """Take an entry in, in place of the one of this name."""
        self._entries[entry.name] = entry
        self._words.put(entry.name, texts_of(entry))

    def remove(self, name: str) -> None:
        """Forget the entry of this name."""
        self._entries.pop(name, None)
        self._words.remove(name)

    def find(self, query: str) -> list[tuple[CatalogEntry, int]]:
        """The entries that fit a query, the best first, each with a score from 1 to 100. A query without words finds
        all.
        """
        if not any(sign.isalnum() for sign in query):
            return [(entry, 100) for entry in self.all()]
        return [(self._entries[name], score) for name, score in self._words.find(query)]


class CatalogFiles:
    """The entries in one folder. What was read is kept, and a file is read again when it has changed.

    Args:
        folder: made with the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._index = CatalogIndex()
        self._stamps: dict[str, tuple[str, int, int, int]] = {}

    def all(self) -> list[CatalogEntry]:
        """All entries, by name.

        Raises:
            UsageError: a file can not be read.
        """
        with self._lock:
            self._refresh()
            return self._index.all()

    def find(self, query: str) -> list[tuple[CatalogEntry, int]]:
        """The entries that fit a query; see `CatalogIndex.find`.

        Raises:
            UsageError: a file can not be read.
        """
        with self._lock:
            self._refresh()
            return self._index.find(query)

    def _refresh(self) -> None:
        """Read what has changed since the last look. Each file is written whole, so a new one has another number."""
        found: dict[str, tuple[str, int, int, int]] = {}
        for path in sorted(self.folder.glob("*.json")):
            if not _NAME.fullmatch(path.stem):
                continue
            with suppress(FileNotFoundError):  # taken out meanwhile
                about = path.stat()
                stamp = about.st_ino, about.st_mtime_ns, about.st_size
                known = self._stamps.get(path.stem)
                if known is None or known[1:] != stamp:
                    entry = self._read(path)
                    if known is not None:
                        self._index.remove(known[0])
                    self._index.put(entry)
                    known = (entry.name, *stamp)
                found[path.stem] = self._stamps[path.stem] = known
        for gone in self._stamps.keys() - found.keys():
            self._index.remove(self._stamps.pop(gone)[0])

    def get(self, name: str) -> CatalogEntry:
        """An entry by its name.

        Raises:
            UnknownName: there is none of this name.
            UsageError: its file can not be read.
        """
        path = self._path(name)
        if not path.is_file():
            known = names_or_none(entry.name for entry in self.all())
            raise UnknownName(
                "the catalog has no {name!r}; it has: {known}. `actum catalog add` adds one", name=name, known=known
            )
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
                raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None
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
            raise UsageError("{name!r} is no name for an entry: use letters, digits, '_', '-' and '.'", name=name)
        return self.folder / f"{name}.json"

    def _read(self, path: Path) -> CatalogEntry:
        try:
            return _decoder.decode(path.read_bytes())
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=path, why=error.strerror) from None
        except msgspec.MsgspecError as error:
            raise UsageError("{path} is no file of the catalog: {why}", path=path, why=error) from None
