"""What a function returned, as a `ToolResult`: text, media, or a structured value that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import UNSET

from ...core.attachment import File
from ...core.call import MediaPart, TextPart, ToolResult
from ...core.errors import InvalidResult
from ...core.json import Json, dumps, whole_text

DONE = TextPart("Done.")
"""What a model reads of a function that returned None: it worked, and there is nothing to tell."""


def result_of(call_id: str, value: object) -> ToolResult:
    """What a tool's function returned, as the result of a call.

    Args:
        call_id: the call that it answers.
        value: text, None, media, a list with media in it, a `ToolResult`, or anything that has a value in JSON:
            dataclasses, pydantic models, structs, dates, numbers, sets and what is made of them.

    Raises:
        InvalidResult: JSON can't hold it.
    """
    if type(value) is str:
        return ToolResult(call_id, (TextPart(whole_text(value)),))
    if type(value) is int or type(value) is bool:  # for speed; what comes last would do
        return ToolResult(call_id, structured=value)
    if value is None:
        return ToolResult(call_id, (DONE,), structured=None)
    if isinstance(value, ToolResult):
        return msgspec.structs.replace(value, call_id=call_id)
    if isinstance(value, File | MediaPart | TextPart):
        return ToolResult(call_id, (_part(value),))
    if isinstance(value, list | tuple) and any(isinstance(item, File | MediaPart | TextPart) for item in value):
        return ToolResult(call_id, tuple(_part(item) for item in value))
    return ToolResult(call_id, structured=to_json(value))


def progress_of(value: object) -> Json:
    """What a tool's function yielded, as JSON for whoever watches; media become a line that describes them.

    Raises:
        InvalidResult: JSON can't hold it.
    """
    result = result_of("", value)
    return result.text if result.structured is UNSET else result.structured


def to_json(value: object) -> Json:
    """A value as JSON has it.

    Raises:
        InvalidResult: JSON can't hold it; `NaN` is among what it can't.
    """
    if isinstance(value, bytes | bytearray | memoryview):
        raise InvalidResult("The tool returned bare bytes; it has to return a File or an Image.")
    try:
        text = _encoder.encode(value)
        if b"null" not in text:  # as which msgspec writes `NaN`
            return _decoder.decode(text)  # lists for tuples, and nothing that the function still holds
    except UnicodeEncodeError:  # half a surrogate pair
        pass
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise InvalidResult(f"The tool returned a {type(value).__name__} that JSON can't hold.") from None
    return _made_sound(msgspec.to_builtins(value, str_keys=True, enc_hook=_by_its_own_means))


def _part(item: object) -> TextPart | MediaPart:
    match item:
        case File():
            return item.part()
        case TextPart() | MediaPart():
            return item
        case str():
            return TextPart(whole_text(item))
        case _:
            return TextPart(dumps(to_json(item)))


def _by_its_own_means(value: Any) -> object:  # noqa: ANN401  # any object at all
    """What msgspec does not know: pydantic models, arrays of numbers, and what behaves as a built-in type."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "tolist"):
        return value.tolist()
    match value:
        case str() | PurePath():
            return "".join(str(value))
        case Mapping():
            return dict(value)
        case Sequence() | AbstractSet():
            return list(value)
        case File():
            raise InvalidResult("The tool returned a file inside of another value; it has to stand alone or in a list.")
        case _:
            raise InvalidResult(f"The tool returned a {type(value).__name__}, which is no value that JSON can hold.")


_encoder = msgspec.json.Encoder(enc_hook=_by_its_own_means)
_decoder: msgspec.json.Decoder[Json] = msgspec.json.Decoder()


def _made_sound(value: Json) -> Json:
    match value:
        case str():
            return whole_text(value)
        case float() if not math.isfinite(value):
            raise InvalidResult(f"The tool returned {value}, which is no number that JSON can hold.")
        case list() | tuple():
            return [_made_sound(item) for item in value]
        case dict():
            return {whole_text(key): _made_sound(item) for key, item in value.items()}
        case _:
            return value
