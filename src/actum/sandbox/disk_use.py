"""What lies on the disk below a folder. The launcher imports this file by its path: standard library only."""

from __future__ import annotations

import os

PATH_CHARS_MAX = 3_000
"""The kernel takes paths of 4,096 bytes; what lies deeper than this would be counted nowhere."""
NESTED_MAX = 200
"""Folders nested deeper than this are not counted: the time for each path grows with the depth."""
UNKNOWN_BYTES = 1 << 62


def lying_in(folder: str) -> int:
    """Bytes that lie below a folder, at least a block for each name. Links are not followed.

    What can't be looked at (a folder nobody may list, folders that are nested too deep, paths that are too long) counts
    as more than any limit.
    """
    used, folders = 0, [(folder, 0)]
    while folders:
        path, depth = folders.pop()
        if depth > NESTED_MAX:
            return UNKNOWN_BYTES
        try:
            with os.scandir(path) as entries:
                for entry in entries:
                    if len(os.fsencode(entry.path)) > PATH_CHARS_MAX:
                        return UNKNOWN_BYTES
                    try:
                        used += max(entry.stat(follow_symlinks=False).st_blocks * 512, 4096)
                        if entry.is_dir(follow_symlinks=False):
                            folders.append((entry.path, depth + 1))
                    except OSError:
                        continue
        except PermissionError:
            return UNKNOWN_BYTES
        except OSError:
            continue
    return used
