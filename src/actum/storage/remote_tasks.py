"""The tasks of remote agents that calls of ours began, each in a small file: found again by a process that goes on with
a call of a process that is gone.

A file is named by a hash of the call's idempotency key. It is written whole before the task is followed, and removed
when the call has its outcome. It holds ids and an address, no message and no secret, and is readable by its owner
alone.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from ..core.errors import UsageError
from .whole_file import replace

BYTES_MAX = 64 * 1024


class RemoteTaskFiles:
    """The handles in one folder.

    Args:
        folder: made with the first handle.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get(self, key: str) -> bytes:
        """What was kept for a call; empty where nothing was.

        Raises:
            UsageError: the file can not be read.
        """
        path = self._path(key)
        try:
            with path.open("rb") as file:
                return file.read(BYTES_MAX)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise UsageError("{path} can not be read: {why}", path=path, why=error.strerror) from None

    def put(self, key: str, handle: bytes) -> None:
        """Keep the handle of a call's task, in place of an earlier one.

        Raises:
            UsageError: the file can not be written.
        """
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            replace(path, handle)
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None

    def forget(self, key: str) -> None:
        """The call has its outcome."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{hashlib.sha256(key.encode(errors='surrogatepass')).hexdigest()[:40]}.json"
