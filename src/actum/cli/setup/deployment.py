"""`actum init --deploy`: the files by which servers, a worker, PostgreSQL and Valkey run behind a proxy."""

from __future__ import annotations

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from ...core.errors import UsageError
from ..show.terminal import Terminal

EXTRAS = "a2a,celery,mcp,otel,policy,postgres,secrets,server,workflow"
"""What the image installs: all that a server or a worker may need, and nothing of a desktop or a local model."""
NAMES = {"env.example": ".env.example"}


def write_deployment(terminal: Terminal, folder: Path) -> None:
    """Write the files into a folder, which is made where it is missing. A file that is there already stays as it is.

    Args:
        terminal: is told what was written, what was left as it is, and what comes next.
        folder: the folder.

    Raises:
        UsageError: the folder can not be written.
    """
    texts = {
        NAMES.get(each.name, each.name): each.read_text("utf-8")
        .replace("@VERSION@", version("actum"))
        .replace("@EXTRAS@", EXTRAS)
        for each in sorted(files("actum.data").joinpath("deploy").iterdir(), key=lambda file: file.name)
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [name for name, text in texts.items() if _is_new(folder / name, text)]
    except OSError as error:
        raise UsageError("{folder} can not be written: {why}", folder=folder, why=error.strerror or error) from None
    if left := [name for name in texts if name not in written]:
        terminal.note("left as they are in {folder}: {names}", names=", ".join(left), folder=folder)
    if not written:
        terminal.note("nothing was written: every file is there already")
        return
    terminal.note("wrote {names} into {folder}", names=", ".join(written), folder=folder)
    terminal.note(
        "Next: copy .env.example to .env there, fill it in, and `docker compose up -d`. See `actum docs deploy`."
    )


def _is_new(path: Path, text: str) -> bool:
    """Write a file, never over another file; whether it was written.

    Raises:
        OSError: the file can not be written; nothing of it is left.
    """
    try:
        file = path.open("x", encoding="utf-8", newline="\n")
    except FileExistsError:
        return False
    try:
        with file:
            file.write(text)
    except OSError:
        path.unlink()
        raise
    return True
