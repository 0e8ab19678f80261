"""Questions and tools that others wrote: those of Seal-Tools, `NOTICE.md` tells more.

A question is a story of about three calls. What is learned from are whole stories, and the sentences of each call by
themselves.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.text.clauses import Clause, read, sentences

from .amounts import TODAY
from .corpus import Asked

FILE = Path(__file__).parent / "seal_tools.jsonl.xz"


@cache
def stories(*, fresh: bool = False) -> tuple[Asked, ...]:
    """The questions, each with the tools that it calls.

    Args:
        fresh: those of which nothing is learned, about tools of other fields, instead of the others.
    """
    rows = [json.loads(line) for line in lzma.decompress(FILE.read_bytes()).decode().splitlines()]
    tools = {row["name"]: Tool(**row) for row in rows if "name" in row}
    found: list[Asked] = []
    for row in rows:
        if "calls" not in row or row.get("fresh", False) != fresh:
            continue
        named = tuple(tools[name] for name in dict.fromkeys(name for name, _ in row["calls"]))
        calls = [(name, _typed(arguments, tools[name])) for name, arguments in row["calls"]]
        fitting = tuple((name, arguments) for name, arguments in calls if arguments is not None)
        if len(fitting) == len(calls):
            found.append(Asked(row["question"], named, fitting, f"seal_tools/{len(found)}"))
    return tuple(found)


def single_calls() -> Iterator[Asked]:
    """Each call that is learned from with the sentences that say its values, and nothing else."""
    for story in stories():
        parts = sentences(read(story.question, TODAY))
        tools = {tool.name: tool for tool in story.tools}
        for name, arguments in story.calls:
            said = _said_in(parts, list(arguments.values()))
            if said:
                yield Asked(said, (tools[name],), ((name, arguments),), story.about)


def repeated(calls: Sequence[Asked]) -> Iterator[Asked]:
    """Stories in which a tool is called twice, with another call between: made of single calls of the same tools.

    Args:
        calls: questions for one call each.
    """
    by_tool: dict[str, list[Asked]] = {}
    for each in filter(_says_all, calls):
        by_tool.setdefault(each.tools[0].name, []).append(each)
    for at, own in enumerate(by_tool.values()):
        between = calls[(7 * at) % len(calls)]
        if len(own) > 1 and between.tools != own[0].tools:
            told = (own[0], between, own[1])
            question = " ".join(each.question for each in told)
            yield Asked(question, (*own[0].tools, *between.tools), tuple(each.calls[0] for each in told), own[0].about)


def _says_all(asked: Asked) -> bool:
    """The question says all values of its call, and the call has all that its tool must have."""
    _, arguments = asked.calls[0]
    lacking = set(asked.tools[0].required()) - set(arguments)
    return not lacking and all(says(asked.question, value) for value in arguments.values())


def _said_in(parts: Sequence[Clause], values: Sequence[Json]) -> str:
    """The fewest sentences that say all of the values that are said word by word; empty where none is."""
    literal = [value for value in values if any(says(part.words, value) for part in parts)]
    if not literal:
        return ""
    edges = [(part.start, part.end) for part in parts]
    windows = sorted(
        ((first, last) for first in range(len(edges)) for last in range(first, len(edges))),
        key=lambda window: (window[1] - window[0], window[0]),
    )
    for first, last in windows:
        if all(any(says(part.words, value) for part in parts[first : last + 1]) for value in literal):
            return parts[0].text[edges[first][0] : edges[last][1]].strip()
    return ""


def says(text: str, value: Json) -> bool:
    """Whether a value is said word by word."""
    bare = str(value).removesuffix(".0").strip(" .").lower()
    return bool(bare) and re.search(rf"(?<![a-z0-9]){re.escape(bare)}(?![a-z0-9])", text.lower()) is not None


def _typed(arguments: JsonObject, tool: Tool) -> JsonObject | None:
    """The arguments with the types that the schema wants; None where one can not be had."""
    typed: JsonObject = {}
    properties = tool.parameters["properties"]
    assert isinstance(properties, dict)
    for name, value in arguments.items():
        wanted = properties.get(name)
        if not isinstance(wanted, dict):
            return None
        settled = _settled(value, str(wanted["type"]))
        if settled is None:
            return None
        typed[name] = settled
    return typed


def _settled(value: Json, kind: str) -> Json | None:
    if kind in ("integer", "number") and not isinstance(value, bool):
        match = re.fullmatch(r"\$?(-?[\d,]*\.?\d+)", str(value))
        if match is None:
            return None
        number = float(match[1].replace(",", ""))
        return int(number) if number.is_integer() else number if kind == "number" else None
    return str(value) if kind == "string" else value
