"""The files that the tools of a run made: a note that there are some, and `actum runs files`, which writes them.

The name of a file is the word of a tool, so no name leads out of the folder, hides a file, or replaces another file.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path

from ...compose.settings import MEMORY, Settings, shown_journal
from ...core.call import MediaPart
from ...core.errors import UsageError
from ...core.event import RunResult
from ..language import tr
from ..show.terminal import Terminal

NAME_CHARS_MAX = 100


def note_files(terminal: Terminal, result: RunResult, settings: Settings) -> None:
    """Tell a person which files the tools of a run made, and how to get them."""
    made = [part for _, outcome in result.calls for part in outcome.media if part.handle and part.data]
    if not made:
        return
    for part in made:
        size = f"{len(part.data):,}"
        terminal.note(
            tr("{name} ({kind}, {size} bytes)", name=part.name or part.handle, kind=part.media_type, size=size)
        )
    if settings.journal != MEMORY:
        journal = ["--journal", shown_journal(settings.journal)] if settings.journal else []
        command = shlex.join(["actum", "runs", "files", result.run_id, *journal, "--out", "."])
        terminal.note("To write these files: {command}", command=command)


def write_files(parts: Iterable[MediaPart], folder: Path) -> list[Path]:
    """Write files into a folder, which is made where it is missing. A file that is there already is left as it is.

    Args:
        parts: the files; one whose bytes are not at hand is left out.
        folder: where they are written.

    Returns:
        Where each file lies now.

    Raises:
        UsageError: a file can not be written, or one of this name is there with other bytes.
    """
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for part in parts:
            if part.data:
                path = folder / _name(part)
                if path in written:
                    path = folder / f"{part.handle}-{path.name}"
                _write(path, part.data)
                written.append(path)
    except OSError as error:
        raise UsageError(
            "{path} can not be written: {why}", path=error.filename or folder, why=error.strerror
        ) from None
    return written


def _name(part: MediaPart) -> str:
    """The last part of the name that a tool gave, as a name that is never that of a hidden file."""
    name = part.name.replace("\\", "/").rpartition("/")[2]
    name = "".join(letter for letter in name if letter.isprintable()).lstrip(".- ")[:NAME_CHARS_MAX]
    return name or part.handle


def _write(path: Path, data: bytes) -> None:
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        if not path.is_symlink() and path.is_file() and path.read_bytes() == data:
            return
        raise
    with open(fd, "wb") as file:  # noqa: PTH123 - a descriptor
        file.write(data)
