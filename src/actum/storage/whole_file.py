"""Small files that are written whole and put in the place of the old one, under a lock that other processes respect: no
reader sees half of one, and no two writers undo each other.

Limits: on Windows two processes do not exclude each other; see `claim_file`.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..core.errors import Busy, UsageError
from .claim_file import ClaimFile

LOCK_S_MAX = 10.0
_LOCK_PAUSE_S = 0.01


@contextmanager
def alone_with(path: Path) -> Iterator[None]:
    """A block in which no other process changes a file; its folder is there.

    Raises:
        Busy: another one does, for ten seconds.
        UsageError: its folder, or the lock in it, can not be made.
    """
    lock = ClaimFile(path.with_name(f"{path.name}.lock"))
    try:
        _take(lock, path)
        yield
    finally:
        lock.close()


def _take(lock: ClaimFile, path: Path) -> None:
    late = time.monotonic() + LOCK_S_MAX
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        while not lock.take("file"):
            if time.monotonic() > late:
                raise Busy("{path}: another process is writing it", path=path)
            time.sleep(_LOCK_PAUSE_S)
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None


def replace(path: Path, data: bytes) -> None:
    """Put this in the place of what a file holds, or of what the file holds that it links to. For its owner alone.

    Raises:
        OSError: it can not be written; it is as it was.
    """
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # for the owner alone
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
