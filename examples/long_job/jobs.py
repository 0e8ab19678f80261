"""The tools: they work for a long time, and one of them crashes. They know nothing of tasks."""

from __future__ import annotations

import os
import time
from collections import Counter
from pathlib import Path
from typing import TypedDict

from actum import Context, ToolError, tool

LINES_A_STEP = 1_000


class WordCount(TypedDict):
    """What stands in a file."""

    lines: int
    words: int
    most: str


@tool(effects={"read"})
def count_words(ctx: Context, file: str, pause_s: float = 0.0) -> WordCount:
    """Count the lines and words of a text file.

    Args:
        file: the name of the file.
        pause_s: rest so long after each thousand lines, as a slow disk would.
    """
    words, lines, read, size = Counter[str](), 0, 0, _path(file).stat().st_size
    with _path(file).open("rb") as text:
        for line in text:
            words.update(line.decode().split())
            lines, read = lines + 1, read + len(line)
            if lines % LINES_A_STEP == 0:
                ctx.progress({"percent": 100 * read // size})
                time.sleep(pause_s)
    return {"lines": lines, "words": words.total(), "most": words.most_common(1)[0][0]}


@tool(effects={"read"})
def read_scan(file: str) -> str:
    """Read a scanned page, by a library that crashes on the first two tries.

    Args:
        file: the name of the file.
    """
    tries = _path(file).with_suffix(".tries")
    with tries.open("a") as noted:
        noted.write("x")
    if len(tries.read_text()) < 3:
        os._exit(139)  # as a library in C does: the process is gone, and nothing can be told
    return _path(file).read_text("utf-8").splitlines()[0]


def _path(file: str) -> Path:
    """The file of this name in the folder in which the server was started; in no other folder.

    Raises:
        ToolError: there is no such file.
    """
    path = Path.cwd() / Path(file).name
    if not path.is_file():
        raise ToolError(f"There is no file {path.name}.")
    return path
