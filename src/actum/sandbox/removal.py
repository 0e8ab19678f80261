"""`remove`: a folder goes away with all that a command in a jail left in it. Standard library only.

`work_folder.py` removes the work folder when a call ends. The launcher does it where actum itself was killed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path


def remove(folder: str) -> None:
    """Remove a folder with what a command left there; links are removed, not followed.

    Folders may be nested deeper than any recursion or path reaches, so what lies in a folder is moved up first.
    """
    base, number, is_empty = Path(folder), 0, False
    while not is_empty:
        removed = 0
        with os.scandir(base) as entries:
            found = list(entries)
        for entry in found:
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False):
                    number = _move_up(Path(entry.path), base, number)
                    Path(entry.path).rmdir()
                else:
                    Path(entry.path).unlink()
                removed += 1
        is_empty = not removed
    with suppress(OSError):
        base.rmdir()


def _move_up(folder: Path, base: Path, number: int) -> int:
    """Remove the files of a folder, and move its folders up to `base`, under numbers."""
    folder.chmod(0o700)  # its owner may have taken even that away
    with os.scandir(folder) as entries:
        inner = list(entries)
    for entry in inner:
        if entry.is_dir(follow_symlinks=False):
            Path(entry.path).chmod(0o700)
            number += 1
            Path(entry.path).rename(base / f".removed-{number}")
        else:
            Path(entry.path).unlink()
    return number
