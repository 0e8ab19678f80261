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
    """Write the files into a folder, which is made where it is missing.

    Args:
        terminal: is told what was written, and what comes next.
        folder: the folder.

    Raises:
        UsageError: one of the files is there already, in which case none is written; or the folder can not be written.
    """
    texts = {
        folder / NAMES.get(each.name, each.name): each.read_text("utf-8")
        .replace("@VERSION@", version("actum"))
        .replace("@EXTRAS@", EXTRAS)
        for each in sorted(files("actum.data").joinpath("deploy").iterdir(), key=lambda file: file.name)
    }
    there = [path.name for path in texts if path.exists() or path.is_symlink()]
    if there:
        raise UsageError(
            "{folder} has {names} already, and nothing was written: choose another folder, or move them away",
            folder=folder,
            names=", ".join(there),
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            with path.open("x", encoding="utf-8", newline="\n") as file:
                file.write(text)
    except OSError as error:
        raise UsageError("{folder} can not be written: {why}", folder=folder, why=error.strerror or error) from None
    terminal.note("wrote {names} into {folder}", names=", ".join(path.name for path in texts), folder=folder)
    terminal.note(
        "Next: copy .env.example to .env there, fill it in, and `docker compose up -d`. See `actum docs deploy`."
    )
