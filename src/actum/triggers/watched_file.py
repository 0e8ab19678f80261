"""`WatchedFile`: reads a file whose content may have changed, whatever becomes of the file meanwhile.

A link is followed. What is no regular file, such as a pipe or a device, is never read: reading it might never end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from .content import WatchedContent

FILE_BYTES_MAX = 256 * 1024 * 1024
PIECE_BYTES = 1024 * 1024
SURE = 2
"""So often a file is read before its time and its size are trusted to say that nothing changed: a file system may give
two changes that follow each other closely the same time."""
MOVING_MAX = 10
"""After this number of looks at a file that changes while it is read, the content that was read counts."""

_Stamp = tuple[int | None, ...]


class UnreadableFile(Exception):
    """A file can not be read, or not yet. The message says why."""


class StillChanging(UnreadableFile):
    """A file changed while it was read: somebody is writing it. The next look may find it whole."""


class WatchedFile:
    """A file whose content is looked at again and again. The methods block.

    Args:
        path: of the file.

    Attributes:
        path: as given.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: _Stamp = ()
        self._settled = 0
        self._moving = 0

    def read(self) -> WatchedContent | None:
        """The content; None where nothing says that it differs from the content that was settled last.

        Raises:
            UnreadableFile: the file can not be read, is too large, or changed while it was read.
        """
        before = _stamp(self.path)
        if before != self._stamp:
            self._stamp, self._settled = before, 0
        elif self._settled >= SURE:
            return None
        content = _content(self.path)
        if _stamp(self.path) != before and (moving := self._moving + 1) < MOVING_MAX:
            self._moving = moving
            raise StillChanging(f"{self.path} changed while it was read")
        self._moving = 0
        return content

    def settle(self) -> None:
        """Whoever has to hear of the content that was read last has heard."""
        self._settled += 1


def _stamp(path: Path) -> _Stamp:
    """Differs when a file may have changed."""
    try:
        found = path.stat()
    except OSError as error:
        return (error.errno,)
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def _content(path: Path) -> WatchedContent:
    """The content of a file; that of no file has no digest.

    Raises:
        UnreadableFile: it can not be read.
    """
    try:
        # A pipe without a writer would not even open otherwise.
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return WatchedContent()
    except OSError as error:
        raise UnreadableFile(f"{path} can not be read: {error.strerror}") from None
    try:
        found = os.fstat(opened)
        if not stat.S_ISREG(found.st_mode):
            raise UnreadableFile(f"{path} is no file")
        if found.st_size > FILE_BYTES_MAX:
            raise UnreadableFile(f"{path} is longer than {FILE_BYTES_MAX} bytes")
        return WatchedContent.of(_pieces(opened, path))
    except OSError as error:
        raise UnreadableFile(f"{path} can not be read: {error.strerror}") from None
    finally:
        os.close(opened)


def _pieces(opened: int, path: Path) -> Iterator[bytes]:
    size = 0
    while piece := os.read(opened, PIECE_BYTES):
        size += len(piece)
        if size > FILE_BYTES_MAX:
            raise UnreadableFile(f"{path} is longer than {FILE_BYTES_MAX} bytes")
        yield piece
