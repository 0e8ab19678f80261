"""Stories that several authors wrote for this, by hand, over tools of their own: `stories/*.jsonl`.

A row is a tool, or a question with the calls that are right and the names of further tools that are on offer. Those of
some files judge new weights; nothing is learned of them.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from actum.core.tool import Tool

from .corpus import Asked

FOLDER = Path(__file__).parent / "stories"
FRESH = ("en_study", "en_requests", "en_sums", "en_outings")
"""The stories that judge: word problems and look-ups, of which the others have few, and plain requests for several
things at once. Of the requests every other one was read while the rules were made.
"""


@cache
def stories(*, fresh: bool = False) -> tuple[Asked, ...]:
    """The questions, each with all tools that are on offer.

    Args:
        fresh: those of which nothing is learned, about tools of their own, instead of the others.
    """
    found: list[Asked] = []
    for file in sorted(FOLDER.glob("*.jsonl")):
        if (file.stem in FRESH) != fresh:
            continue
        rows = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
        tools = {row["name"]: Tool(**row) for row in rows if "name" in row}
        for number, row in enumerate(row for row in rows if "question" in row):
            names = sorted({*(name for name, _ in row["calls"]), *row["others"]})
            calls = tuple((name, arguments) for name, arguments in row["calls"])
            about = f"{file.stem}/{number}"
            found.append(Asked(row["question"], tuple(tools[name] for name in names), calls, about))
    return tuple(found)


def for_one_tool() -> list[Asked]:
    """Those that one tool is called for, with that tool alone: long ones, most of whose words ask for nothing."""
    told = (each for each in stories() if len({name for name, _ in each.calls}) == 1)
    return [each._replace(tools=tuple(tool for tool in each.tools if tool.name == each.calls[0][0])) for each in told]
