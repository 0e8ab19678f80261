"""Files that a person has named. Only what has an end is read."""

from __future__ import annotations

import errno
import io
import stat
from pathlib import Path

NO_FILE = "It is a pipe or a device, and no file"
_GIVEN = (Path("/dev/fd"), Path("/proc/self/fd"))


def open_named(path: Path) -> io.BufferedReader:
    """Open a file that a person has named.

    A named pipe would be waited for without end, and some devices have no end. What the shell has opened for this
    process is read whatever it is: `/dev/stdin`, and `/dev/fd/63`, as which a command is given `<(another command)`.

    Raises:
        OSError: it can not be opened, or is a pipe or a device.
    """
    mode = path.stat().st_mode
    is_given = path.parent in _GIVEN or path == Path("/dev/stdin")
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or is_given):  # of a folder, the system says it better
        raise OSError(errno.EINVAL, NO_FILE, str(path))
    return path.open("rb")


def read_named(path: Path) -> bytes:
    """The bytes of a file that a person has named. Raises as `open_named` does."""
    with open_named(path) as file:
        return file.read()


def read_named_text(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file that a person has named, with `\\n` at the end of each line.

    Raises:
        OSError: as for `open_named`.
        UnicodeDecodeError: it is no text in this encoding.
    """
    with io.TextIOWrapper(open_named(path), encoding) as file:
        return file.read()
