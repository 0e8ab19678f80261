"""Claims by locks of the kernel: bytes of a file, locked for as long as a process lives.

A name is locked as the one byte at its hash; the file itself stays empty. The kernel drops the lock when the process
ends, however it ends, so there is no lease to run out and nothing to clean up.

Linux has locks that belong to the open file (`F_OFD_SETLK`). Elsewhere POSIX locks do, which belong to the process: two
journals on one file in one process do not see each other's claims there, and closing one drops those of both. Windows
has neither here: claims hold within a journal only. In all of these the number of an entry stays the fence. A network
file system may not tell other machines of a lock, and SQLite is not meant for one either.

A lock belongs to the file and not to its name. When somebody deletes or replaces the file, the next process makes a new
file, in which every claim is free. So a process that holds a claim has the file checked before each write to the
journal (`check`), and stops when it is not the file that was locked.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import struct
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path

from ..core.errors import JournalError

if sys.platform != "win32":
    import fcntl

_FLOCK = "hhqqi"
"""`struct flock` of Linux: type, whence, start, length, pid (0 for a lock that belongs to the open file)."""


class ClaimFile:
    """The claims beside one journal.

    Args:
        path: the file; made when the first claim is asked for, with the permissions of the journal's own file.
        journal: the journal's own file.
    """

    def __init__(self, path: Path, journal: Path | None = None) -> None:
        self._path = path
        self._journal = journal
        self._file: int | None = None
        self._identity = (0, 0)
        self._held: set[str] = set()
        _all.add(self)

    def take(self, name: str) -> bool:
        """Lock a name; False when somebody else has.

        Raises:
            OSError: the file can not be opened.
            JournalError: the file was deleted or replaced while this process held claims in the file.
        """
        while True:
            file = self._open()
            try:
                _lock(file, _place(name))
            except (BlockingIOError, PermissionError):  # EAGAIN or EACCES, says POSIX
                return False
            if self._is_same_file():  # else it was deleted between the two, and the next round opens a new file
                self._held.add(name)
                return True
            _unlock(file, _place(name))

    def release(self, name: str) -> None:
        """Unlock a name, locked or not."""
        self._held.discard(name)
        if self._file is not None:
            _unlock(self._file, _place(name))

    def taken(self, names: Sequence[str]) -> set[str]:
        """Those that somebody else has locked.

        Raises:
            OSError: the file can not be opened.
            JournalError: the file was deleted or replaced while this process held claims in the file.
        """
        if not names or not (self._held or self._path.exists()):
            return set()
        file = self._open()
        return {name for name in names if _is_locked(file, _place(name))}

    def close(self) -> None:
        """Drop all claims of this object."""
        self._held.clear()
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def check(self) -> None:
        """Refuse to go on when the claims that are held keep nobody out any more.

        Raises:
            JournalError: the file was deleted or replaced.
        """
        if self._held and not self._is_same_file():
            raise JournalError(
                "{path} was deleted or replaced while runs were under way, so that another process "
                "may go on with the same runs: this process stops. Resume the runs when no other "
                "process works on them",
                path=self._path,
            )

    def _open(self) -> int:
        if self._file is not None and not self._is_same_file():
            self.check()
            self.close()
        if self._file is None:
            self._file = _opened(self._path, self._journal)
            status = os.fstat(self._file)
            self._identity = (status.st_dev, status.st_ino)
        return self._file

    def _is_same_file(self) -> bool:
        """Whether the file under this name is the file that is open."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


def _opened(path: Path, journal: Path | None) -> int:
    """Open the file.

    A new file gets the permissions of the journal, as SQLite does it for its own files: every user who may write to the
    journal has to be able to claim a run.
    """
    flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0)
    try:
        file = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags | os.O_CREAT, 0o600)
    if journal is not None and sys.platform != "win32":
        with contextlib.suppress(OSError):  # then the file stays the owner's alone
            os.fchmod(file, stat.S_IMODE(journal.stat().st_mode) & 0o666)
    return file


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
