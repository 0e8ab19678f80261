"""The files that hold this process's journal, secrets, keys and approvals: no jail may reach them.

Whatever opens such a file calls `keep_private` with its path, and `sandbox/` refuses a jail over one of them. The list
belongs to the process and only grows: a journal that was closed is still private.
"""

from __future__ import annotations

from pathlib import Path

_private: dict[Path, None] = {}


def keep_private(*paths: str | Path) -> None:
    """Let no jail of this process reach these files and folders, whether they exist already or not."""
    for path in paths:
        _private[Path(path).expanduser().absolute()] = None


def private_paths() -> tuple[Path, ...]:
    """The files and folders that no jail of this process may reach."""
    return tuple(_private)
