"""`find_files` and `write_note`: a folder to look into, and one place in it to write to.

A search stays below the root: it follows no symbolic link, shows no hidden file and reads no file's content. Notes go
to the folder `notes` below the root and nowhere else; a note is added to a file, nothing is overwritten. What is not
covered: a process with rights on the same folder that swaps folders for links while a note is written.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, TypedDict

from ...core.errors import ToolError
from ...schema.canonical import Unclear, plain_path
from ...schema.kinds import Kind

FOUND_MAX = 50
LOOKED_AT_MAX = 50_000
NOTE_BYTES_MAX = 20_000
FILE_BYTES_MAX = 1_000_000
SKIPPED = frozenset({"__pycache__", "node_modules", "venv"})
_NAME = re.compile(r"[\w][\w .()-]{0,99}")


class FoundFile(TypedDict):
    """A file, by its path from the root."""

    path: str
    bytes: int


class FoundFiles(TypedDict):
    """What a search found. `more` tells that the search stopped at a limit."""

    pattern: str
    files: list[FoundFile]
    more: bool


class Note(TypedDict):
    """A note that was written down: in which file, and how large that is now."""

    noted_in: str
    bytes: int


class FileFolder:
    """The two tools, around a root folder.

    Args:
        root: the folder; it need not exist before a note is written.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def find_files(self, pattern: str, folder: Annotated[str, Kind("path", relative=True)] = "") -> FoundFiles:
        """Find files by name: where is a file, which files are there.

        Args:
            pattern: A file name, a pattern such as "*.py", or words that the path contains.
            folder: The folder to search, relative to the root; everywhere if left out.
        """
        if not pattern.strip():
            raise ToolError("Say which files to find: a name, a pattern or some words.")
        start = self._below(folder)
        matches = _matcher(pattern.strip())
        found: list[FoundFile] = []
        for looked_at, path in enumerate(_walk(start)):
            if looked_at >= LOOKED_AT_MAX or len(found) >= FOUND_MAX:
                return {"pattern": pattern, "files": found, "more": True}
            relative = path.relative_to(self._root.resolve()).as_posix()
            if matches(relative):
                found.append({"path": relative, "bytes": path.lstat().st_size})
        return {"pattern": pattern, "files": found, "more": False}

    def write_note(self, text: str, file: str = "notes.txt") -> Note:
        """Write down a note: it is added to the end of a file of notes.

        Args:
            text: What to write down.
            file: Name of the file in the folder of notes.
        """
        if not _NAME.fullmatch(file) or ".." in file:
            raise ToolError(
                "{file!r} is no name for a file of notes. Use letters, digits, spaces, dots and dashes.", file=file[:60]
            )
        line = text.strip() + "\n"
        if len(line.encode()) > NOTE_BYTES_MAX:
            raise ToolError("A note has at most {most} bytes.", most=NOTE_BYTES_MAX)
        notes = self._root.resolve() / "notes"
        if notes.is_symlink():
            raise ToolError("The folder of notes is a link; nothing is written through it.")
        notes.mkdir(parents=True, exist_ok=True)
        size = _append(notes / file, line.encode())
        return {"noted_in": f"notes/{file}", "bytes": size}

    def _below(self, folder: str) -> Path:
        root = self._root.resolve()
        try:
            asked = plain_path(folder.strip() or ".")
        except Unclear:
            asked = "/"
        place = root / asked
        if asked.startswith("/") or not place.resolve().is_relative_to(root):
            raise ToolError("Only folders below the root can be searched.")
        if any(part.startswith(".") for part in Path(asked).parts):
            raise ToolError("Hidden folders are not searched.")
        if not place.is_dir():
            raise ToolError("There is no folder {folder!r}.", folder=folder[:80])
        return place.resolve()


def _walk(start: Path) -> Iterator[Path]:
    """The files below a folder in the order of their names; no hidden ones, no links."""
    for place, folders, names in os.walk(start, followlinks=False):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in SKIPPED)
        for name in sorted(names):
            path = Path(place, name)
            if not name.startswith(".") and not path.is_symlink():
                yield path


def _matcher(pattern: str) -> Callable[[str], bool]:
    """What a path must be like: it has all words of the pattern, or fits it as a whole, or by its name alone."""
    folded = pattern.casefold()
    if any(sign in folded for sign in "*?[") and "/" in folded:
        return lambda path: fnmatch.fnmatchcase(path.casefold(), folded)
    if any(sign in folded for sign in "*?["):
        return lambda path: fnmatch.fnmatchcase(path.casefold().rpartition("/")[2], folded)
    words = folded.replace("\\", "/").split()
    return lambda path: all(word in path.casefold() for word in words)


def _append(path: Path, line: bytes) -> int:
    """Add a line to a file of notes and return its size. It is opened without following a link, then looked at."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        number = os.open(path, flags, 0o644)
    except OSError:
        raise ToolError("{path!r} can not be written to.", path=path.name) from None
    with os.fdopen(number, "ab") as file:
        state = os.fstat(file.fileno())
        if not stat.S_ISREG(state.st_mode) or state.st_nlink > 1:
            raise ToolError("{path!r} is no plain file of notes.", path=path.name)
        if state.st_size + len(line) > FILE_BYTES_MAX:
            raise ToolError(
                "{path!r} is full: a file of notes has at most {most} bytes.", path=path.name, most=FILE_BYTES_MAX
            )
        file.write(line)
    return state.st_size + len(line)
