"""Takes an answer apart while its values stay source text, so that numbers and order stay as they were said. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from ...core.errors import ModelGarbled
from ...core.json import Json, JsonProblem, dumps
from .model_errors import read_json

Source = bytes | msgspec.Raw
Fields = dict[str, msgspec.Raw]
Shape = TypeVar("Shape")

_OTHER_FORM = "the endpoint's answer is not in the form of its API"

NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

decode_fields: Callable[[Source], Fields] = msgspec.json.Decoder(Fields).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def read_as(decode: Callable[[Source], Shape], source: Source) -> Shape:
    """The value in the shape that a decoder of msgspec gives it, mended before that if it has to be.

    Raises:
        JsonProblem: it is no JSON.
        ModelGarbled: it is of another shape.
    """
    try:
        return decode(source)
    except NOT_DECODED:
        try:
            return decode(_mended(source))
        except NOT_DECODED:
            raise ModelGarbled(_OTHER_FORM) from None


def fields_of(source: Source | None) -> Fields:
    """The fields of an object inside an answer; none of what is missing.

    Raises:
        ModelGarbled: it is no object.
    """
    try:
        return {} if source is None or source == b"null" else read_as(decode_fields, source)
    except JsonProblem:
        raise ModelGarbled(_OTHER_FORM) from None


def items_of(source: Source | None) -> list[msgspec.Raw]:
    """The items of a list; none of what is no list."""
    try:
        return _decode_items(source) if source is not None else []
    except NOT_DECODED:
        return []


def value_of(source: Source | None) -> Json:
    """The value; null for what is missing or can not be read."""
    try:
        return None if source is None else read_json(bytes(source))
    except JsonProblem:
        return None


def text_of(source: Source | None) -> str:
    """The text; empty for what is missing or no text."""
    return as_text(value_of(source))


def source_of(source: Source | None) -> str:
    """The value as text; on one line, where it was laid out over several."""
    if source is None:
        return ""
    found = bytes(source).decode("utf-8", "replace")
    try:
        return _mended(source).decode() if "\n" in found else found
    except JsonProblem:
        return found


def as_text(found: Json) -> str:
    """The value, if it is a text; else empty."""
    return found if isinstance(found, str) else ""


def _mended(source: Source) -> bytes:
    """The same JSON as the strict decoder takes it."""
    return dumps(read_json(bytes(source))).encode()
