"""The APIs that a person set up, each in a file of its own; see `protocols.openapi.setup`.

A file holds the operations as they were read from the document and approved, so that starting a run reads no document
and opens no connection. Files are written whole, and are readable by their owner alone. No file holds a secret.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from ..core.errors import UnknownName, UsageError
from ..core.language.sentence import names_or_none
from ..protocols.openapi.setup import ApiSetup
from .whole_file import alone_with, replace

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_decoder = msgspec.json.Decoder(ApiSetup)


class ApiStore:
    """The APIs in one folder.

    Args:
        folder: made with the first API.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def names(self) -> list[str]:
        """The names of the APIs there are."""
        return sorted(path.stem for path in self.folder.glob("*.json") if _NAME.fullmatch(path.stem))

    def get(self, name: str) -> ApiSetup:
        """An API by its name.

        Raises:
            UnknownName: there is none of this name.
            UsageError: its file can not be read.
        """
        path = self._path(name)
        try:
            return _decoder.decode(path.read_bytes())
        except FileNotFoundError:
            known = names_or_none(self.names())
            raise UnknownName(
                "there is no API {name!r}; there are: {known}. `actum tools add` adds one", name=name, known=known
            ) from None
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=path, why=error.strerror) from None
        except msgspec.MsgspecError as error:
            raise UsageError("{path} is no file of an API: {why}", path=path, why=error) from None

    def put(self, setup: ApiSetup) -> None:
        """Keep an API, in place of the one of this name.

        Raises:
            UsageError: the file can not be written; what was kept before is still kept.
            Busy: another process holds it.
        """
        path = self._path(setup.name)
        with alone_with(path):
            try:
                replace(path, msgspec.json.encode(setup))
            except OSError as error:
                raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None

    def remove(self, name: str) -> bool:
        """Forget an API. False where there was none of this name."""
        path = self._path(name)
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None
        return True

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name):
            raise UsageError("the name of an API has up to 40 letters, digits, `_` and `-`, as in github")
        return self.folder / f"{name}.json"
