"""Claims by locks of the kernel: bytes of a file, locked for as long as a process lives.

A name is locked as the one byte at its hash; the file itself stays empty. The kernel drops the lock when the process
ends, however it ends, so there is no lease to run out and nothing to clean up.

Linux has locks that belong to the open file (`F_OFD_SETLK`). Elsewhere POSIX locks do, which belong to the process: two
journals on one file in one process do not see each other's claims there, and closing one drops those of both. Windows
has neither here: claims hold within a journal only. In all of these the number of an entry stays the fence. A network
file system may not tell other machines of a lock, and SQLite is not meant for one either.
"""

from __future__ import annotations

import hashlib
import os
import struct
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path

if sys.platform != "win32":
    import fcntl

_FLOCK = "hhqqi"
"""`struct flock` of Linux: type, whence, start, length, pid (0 for a lock that belongs to the open file)."""


class ClaimFile:
    """The claims beside one journal.

    Args:
        path: the file; made when the first claim is asked for.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: int | None = None
        _all.add(self)

    def take(self, name: str) -> bool:
        """Lock a name; False when somebody else has.

        Raises:
            OSError: the file can not be opened.
        """
        file = self._open()
        try:
            _lock(file, _place(name))
        except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, says POSIX
            return False
        return True

    def release(self, name: str) -> None:
        """Unlock a name, locked or not."""
        if self._file is not None:
            _unlock(self._file, _place(name))

    def taken(self, names: Sequence[str]) -> set[str]:
        """Those that somebody else has locked.

        Raises:
            OSError: the file can not be opened.
        """
        if not names or not self._path.exists():
            return set()
        file = self._open()
        return {name for name in names if _is_locked(file, _place(name))}

    def close(self) -> None:
        """Drop all claims of this object."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        if self._file is None:
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        return self._file


def _place(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode(errors="surrogatepass")).digest()[:8], "big") >> 2


if sys.platform == "linux":

    def _lock(file: int, place: int) -> None:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0))

    def _unlock(file: int, place: int) -> None:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack(_FLOCK, fcntl.F_UNLCK, os.SEEK_SET, place, 1, 0))

    def _is_locked(file: int, place: int) -> bool:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, place, 1, 0)
        kind: int = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_OFD_GETLK, asked))[0]
        return kind != fcntl.F_UNLCK

elif sys.platform != "win32":

    def _lock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)

    def _unlock(file: int, place: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_UN, 1, place)

    def _is_locked(file: int, place: int) -> bool:
        try:
            _lock(file, place)
        except (BlockingIOError, PermissionError):
            return True
        _unlock(file, place)
        return False

else:

    def _lock(file: int, place: int) -> None:
        """Nothing to lock with; see the top of this file."""

    def _unlock(file: int, place: int) -> None:
        """Nothing was locked."""

    def _is_locked(file: int, place: int) -> bool:
        return False


_all: weakref.WeakSet[ClaimFile] = weakref.WeakSet()


def _close_all() -> None:
    """In the child of a fork: what it inherited would keep its parent's claims alive after the parent's death."""
    for claims in _all:
        claims.close()


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_close_all)
