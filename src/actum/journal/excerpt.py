"""How much of a result a model is shown, and the tool with which it reads the rest.

The journal keeps every result whole, up to `Limits.result_bytes_max`, with how much of it was shown: a run that is
resumed shows the same again. Once something was cut, a run has one more tool, `read_result`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import UNSET, structs

from ..core.call import MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import ResourceLimit, ToolError
from ..core.interfaces import Context
from ..core.json import JsonObject, dumps
from ..core.tool import Tool

READ_RESULT = "read_result"
_NOTE_BYTES = 160
"""Left free for the note behind a part."""


def text_bytes(result: ToolResult) -> int:
    """How many bytes of text a model would be shown."""
    text = result.text
    return len(text) if text.isascii() else len(text.encode())


def other_bytes(result: ToolResult) -> int:
    """How large the rest is: media, and a value beside the text."""
    if not result.content:
        return 0
    media = sum(len(part.data) + len(part.url) for part in result.content if isinstance(part, MediaPart))
    return media if result.structured is UNSET else media + len(dumps(result.structured))


def to_show(result: ToolResult, most: int | None, most_whole: int | None) -> int:
    """How many bytes of a result's text a model is shown; 0 for all.

    Args:
        most: the most that are returned.
        most_whole: how large the whole may be.

    Raises:
        ResourceLimit: it is larger.
    """
    size = text_bytes(result)
    if most_whole is not None and size + other_bytes(result) > most_whole:
        raise ResourceLimit(
            "The result is larger than the {most_whole} bytes that a result may have. Ask for less.",
            limit="result_bytes",
            most_whole=most_whole,
        )
    return most if most is not None and size > most else 0


def excerpt(result: ToolResult, shown: int, name: str) -> ToolResult:
    """What a model is shown of a result whose text is too long: its beginning, and how to read on.

    Args:
        result: the whole.
        shown: how many bytes of its text are shown.
        name: under which `read_result` finds the whole.
    """
    text = result.text
    part = _first(text if result.error is None else result.error.message, shown)
    read_on = f"Read on with {READ_RESULT}(id={name!r}, offset={len(part)}), or ask for less."
    told = f"{part}\n[Cut here: {len(part)} of {len(text)} characters. {read_on}]"
    if result.error is not None:
        return structs.replace(result, error=structs.replace(result.error, message=told))
    return structs.replace(result, content=(TextPart(told), *result.media), structured=UNSET)


def _first(text: str, size: int) -> str:
    """As much of the beginning as fits into this number of bytes of UTF-8."""
    return text[:size].encode("utf-8", "surrogatepass")[:size].decode("utf-8", "ignore")


class Wholes(Protocol):
    """Where the whole of what was cut is."""

    def whole(self, name: str) -> ToolResult | None:
        """The whole result of this name; None when nothing of this name was cut."""


class ResultReader:
    """A toolset of one: read on in a result that was cut.

    Args:
        wholes: the run's recording.
        size: bytes that may be read at once.
    """

    generation = 0

    def __init__(self, wholes: Wholes, size: int) -> None:
        self._wholes = wholes
        self._size = size

    async def list_tools(self) -> Sequence[Tool]:
        return (DEFINITION,)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        """Answer with a part of the text. The part keeps the labels of the whole, and is hidden as a whole where they
        hide it: nobody knows which values stand in it.

        Raises:
            ToolError: nothing of this name was cut in this run, or it has no such place.
        """
        name, offset = str(call.arguments["id"]), call.arguments["offset"]
        wanted = call.arguments.get("length")
        whole = self._wholes.whole(name)
        if whole is None:
            raise ToolError(
                "No result {name!r} was cut in this run. One of an earlier run: make its call again.", name=name[:40]
            )
        text = whole.text
        assert isinstance(offset, int)
        if offset >= len(text):
            raise ToolError(
                "The result has {count} characters; there is nothing from {offset} on.", count=len(text), offset=offset
            )
        end = offset + wanted if isinstance(wanted, int) else len(text)
        part = _first(text[offset:end], max(self._size - _NOTE_BYTES, 4))
        reached = offset + len(part)
        note = f"\n[Characters {offset} to {reached} of {len(text)}.]"
        return ToolResult(call.id, (TextPart(part + note),), labels=whole.labels, seen=whole.seen)


_PROPERTIES: JsonObject = {
    "id": {"type": "string", "description": "Which result, as it was named where it was cut."},
    "offset": {"type": "integer", "minimum": 0, "description": "The first character, from 0."},
    "length": {"type": "integer", "minimum": 1, "description": "So many characters at most."},
}

DEFINITION = Tool(
    name=READ_RESULT,
    description="Read on in a result that was too long and was cut.",
    parameters={
        "type": "object",
        "properties": _PROPERTIES,
        "required": ["id", "offset"],
        "additionalProperties": False,
    },
    effects=frozenset({"read"}),
)
