"""Takes an answer apart while its values stay source text, so that numbers and order stay as they were said. Pure."""

from __future__ import annotations

import msgspec

from ..core.errors import ModelGarbled
from ..core.json import Json, JsonProblem, dumps
from .openai_chat_error import read_json

Source = bytes | msgspec.Raw
Fields = dict[str, msgspec.Raw]

_decode_fields = msgspec.json.Decoder(Fields).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode
NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def fields_of(source: Source | None) -> Fields:
    """The fields of an object; none of what is missing.

    Raises:
        ModelGarbled: it is no object.
    """
    if source is None or source == b"null":
        return {}
    try:
        return _decode_fields(source)
    except NOT_DECODED:
        try:
            return _decode_fields(mended(source))
        except NOT_DECODED:
            raise ModelGarbled("the endpoint's answer is not in the form of its API") from None


def items_of(source: Source | None) -> list[msgspec.Raw]:
    """The items of a list; none of what is no list."""
    try:
        return _decode_items(source) if source is not None else []
    except NOT_DECODED:
        return []


def mended(source: Source) -> bytes:
    """The same JSON as the strict decoder takes it.

    Raises:
        ModelGarbled: it is no JSON.
    """
    try:
        return dumps(read_json(bytes(source))).encode()
    except JsonProblem:
        raise ModelGarbled("the endpoint's answer is no JSON, or broke off") from None


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
    return mended(source).decode() if "\n" in found else found


def as_text(found: Json) -> str:
    """The value, if it is a text; else empty."""
    return found if isinstance(found, str) else ""
