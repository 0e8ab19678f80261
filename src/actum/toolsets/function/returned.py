"""What a function returned, as a `ToolResult`: text, media, or a structured value that JSON can hold."""

from __future__ import annotations

import msgspec
from msgspec import UNSET

from ...core.attachment import File
from ...core.call import MediaPart, TextPart, ToolResult
from ...core.json import Json, dumps, whole_text
from ...core.told_value import to_json

DONE = TextPart("Done.")
"""What a model reads of a function that returned None: it worked, and there is nothing to tell."""


def result_of(call_id: str, value: object) -> ToolResult:
    """What a tool's function returned, as the result of a call.

    Args:
        call_id: the call that it answers.
        value: text, None, media, a list with media in it, a `ToolResult`, or anything that has a value in JSON:
            dataclasses, pydantic models, structs, dates, numbers, sets and what is made of them. Bare bytes are a file.
            A mark replaces a value that JSON can't hold (`core/told_value.py`).
    """
    if type(value) is str:
        return ToolResult(call_id, (TextPart(whole_text(value)),))
    if type(value) is int or type(value) is bool:  # for speed; what comes last would do
        return ToolResult(call_id, structured=value)
    if value is None:
        return ToolResult(call_id, (DONE,), structured=None)
    if isinstance(value, ToolResult):
        return msgspec.structs.replace(value, call_id=call_id)
    if isinstance(value, File | MediaPart | TextPart | bytes | bytearray | memoryview):
        return ToolResult(call_id, (_part(value),))
    if isinstance(value, list | tuple) and any(isinstance(item, File | MediaPart | TextPart) for item in value):
        return ToolResult(call_id, tuple(_part(item) for item in value))
    return ToolResult(call_id, structured=to_json(value))


def progress_of(value: object) -> Json:
    """What a tool's function yielded, as JSON for those who watch; media become a line that describes them."""
    result = result_of("", value)
    return result.text if result.structured is UNSET else result.structured


def _part(item: object) -> TextPart | MediaPart:
    match item:
        case File():
            return item.part()
        case bytes() | bytearray() | memoryview():
            return File(bytes(item)).part()
        case TextPart() | MediaPart():
            return item
        case str():
            return TextPart(whole_text(item))
        case _:
            return TextPart(dumps(to_json(item)))
