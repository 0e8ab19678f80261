"""What a tool returned, as JSON: all that JSON can hold, and a mark in the place of the rest.

The call has had its effect by then, so a result is never refused for one part of it. A mark is a text: `NaN` and its
kin by their names, any other thing by its class, such as `[a Lock: JSON can't hold it]`. What an object says of itself
(`repr`) is no part of a mark, because it may hold secrets and paths.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import PurePath
from typing import Any

import msgspec
from msgspec import Struct

from .attachment import File
from .call import Problem, TextPart, ToolResult
from .errors import InvalidResult, tell_problem
from .json import DEPTH_MAX, Json, JsonObject, dumps, finite, whole_text


def to_json(value: object) -> Json:
    """A value as JSON has it, with a mark in the place of what JSON can't hold.

    >>> to_json({"mean": float("nan"), "lock": object(), (1, 2): {3}})
    {'mean': 'NaN', 'lock': "[a object: JSON can't hold it]", '[1,2]': [3]}
    """
    try:
        text = _encoder.encode(value)
        if b"null" not in text:  # as which msgspec writes `NaN`
            return _decoder.decode(text)  # lists for tuples, and nothing that the tool still holds
    except Exception:  # noqa: BLE001 - an object's own code may raise anything; its parts are tried by themselves
        pass
    return _said(value, ())


def sound(result: ToolResult) -> ToolResult:
    """A result that can be written down, with a mark in the place of what can't.

    Args:
        result: what a toolset answered, whose fields may hold anything.
    """
    said = _said(result, ())
    try:
        return msgspec.convert(said, ToolResult)
    except msgspec.ValidationError:
        return ToolResult(whole_text(str(result.call_id)), (TextPart(dumps(said)),))


def unfit(problem: Problem, result: ToolResult) -> InvalidResult:
    """The error for a result that its tool did not promise; it tells what was returned all the same.

    Args:
        problem: what does not fit the tool's schema of results.
        result: what the tool returned.
    """
    told = f"The tool returned what it did not promise: {tell_problem(problem)}. It returned: {result.text}"
    return InvalidResult(told, files=result.media)


def _mark(value: object) -> str:
    if isinstance(value, File):
        return f"[{value!r}: a file stands alone or in a list]"
    return f"[a {type(value).__name__}: JSON can't hold it]"


def _by_its_own_means(value: Any) -> object:  # noqa: ANN401  # any object at all
    """What msgspec does not know: pydantic models, arrays of numbers, and what behaves as a built-in type."""
    for method, options in (("model_dump", {"mode": "json"}), ("tolist", {})):
        if not isinstance(value, type) and callable(own := getattr(value, method, None)):
            return own(**options)
    match value:
        case str() | PurePath():
            return "".join(str(value))
        case Mapping():
            return dict(value)
        case Sequence() | AbstractSet():
            return list(value)
        case _:
            raise TypeError(type(value).__name__)


_encoder = msgspec.json.Encoder(enc_hook=_by_its_own_means)
_decoder: msgspec.json.Decoder[Json] = msgspec.json.Decoder()


def _said(value: object, above: tuple[int, ...]) -> Json:
    """A value as a whole where msgspec can say it, else part by part.

    Args:
        above: the objects that this value is a part of. A value that is a part of itself has no end.
    """
    try:
        return _finite(msgspec.to_builtins(value, str_keys=True, enc_hook=_by_its_own_means))
    except Exception:  # noqa: BLE001 - as above
        pass
    if id(value) in above or len(above) >= DEPTH_MAX:
        return _mark(value)
    above = (*above, id(value))
    try:
        parts = _parts(value)
        if isinstance(parts, Mapping):
            return _named((_name(name), _said(part, above)) for name, part in parts.items())
        return _mark(value) if parts is None else [_said(part, above) for part in parts]
    except Exception:  # noqa: BLE001 - an object whose own code raises has no parts to tell
        return _mark(value)


def _parts(value: object) -> Mapping[object, object] | Iterable[object] | None:
    """What an object is made of; None where that is not known."""
    match value:
        case Mapping():
            return value
        case str() | bytes():
            return None
        case Sequence() | AbstractSet():
            return value
        case Struct():
            config = value.__struct_config__
            tag = {} if config.tag_field is None else {config.tag_field: config.tag}
            return tag | {each.encode_name: getattr(value, each.name) for each in msgspec.structs.fields(value)}
        case _:
            pass
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    fields = getattr(type(value), "model_fields", None)  # of a pydantic model
    return {name: getattr(value, name) for name in fields} if isinstance(fields, Mapping) else None


def _name(key: object) -> str:
    said = _said(key, ())
    return said if isinstance(said, str) else dumps(said)


def _named(items: Iterable[tuple[str, Json]]) -> JsonObject:
    """An object of JSON. A name that comes again gets a number, so that nothing is lost."""
    found: JsonObject = {}
    for name, value in items:
        free, number = name, 1
        while free in found:
            number += 1
            free = f"{name} ({number})"
        found[free] = value
    return found


def _finite(value: Json, levels: int = DEPTH_MAX) -> Json:
    """What msgspec made of a value, without `NaN`, without halves of surrogate pairs, and not too deep."""
    match value:
        case str():
            return whole_text(value)
        case float():
            return finite(value)
        case list() | tuple() | dict() if value and not levels:
            return f"[nested deeper than {DEPTH_MAX} levels]"
        case list() | tuple():
            return [_finite(item, levels - 1) for item in value]
        case dict():
            return _named((whole_text(name), _finite(item, levels - 1)) for name, item in value.items())
        case _:
            return value
