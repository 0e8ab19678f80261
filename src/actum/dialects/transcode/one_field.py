"""Changes one field of a JSON body and no other byte: white space, order and the spelling of numbers stay. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from ...core.errors import ModelGarbled
from ...core.json import Json, JsonProblem, dumps
from ..api.raw_json import NOT_DECODED, Fields, decode_fields, read_as

TRIES_MAX = 8
"""The most places that look like the field and are tried; the same words may stand in a text, or deeper in the body."""


def with_field(body: bytes, path: Sequence[str], value: Json, *, insert: bool = False) -> bytes:
    """The body with another value in one field.

    Args:
        body: a JSON object. Anything else comes back as it is.
        path: the names that lead to the field.
        value: what is to stand there.
        insert: a field that is not there is put in at the beginning of its object.

    Returns:
        The same bytes but for the value. A body that no strict parser takes, or that hides the name of the field behind
        escapes, is written anew.

    >>> with_field(b'{ "model": "a",  "seed": 1.0 }', ["model"], "b")
    b'{ "model": "b",  "seed": 1.0 }'
    """
    name, *inner = path
    try:
        fields = read_as(decode_fields, body)
    except (JsonProblem, ModelGarbled):
        return body
    found = fields.get(name)
    if found is None:
        return _inserted(body, fields, name, _nested(inner, value)) if insert else body
    old = bytes(found)
    new = with_field(old, inner, value, insert=insert) if inner else dumps(value).encode()
    return body if new == old else _replaced(body, fields, name, new)


def _nested(path: Sequence[str], value: Json) -> bytes:
    for name in reversed(path):
        value = {name: value}
    return dumps(value).encode()


def _inserted(body: bytes, fields: Fields, name: str, value: bytes) -> bytes:
    before, brace, after = body.partition(b"{")
    written = b"".join([before, brace, dumps(name).encode(), b":", value, b"," if fields else b"", after])
    changed = {**fields, name: msgspec.Raw(value)}
    return written if _reads_as(written, changed) else msgspec.json.encode(changed)


def _replaced(body: bytes, fields: Fields, name: str, new: bytes) -> bytes:
    """The value is looked for behind its name; whether that was the place shows when the result is read."""
    old, changed = bytes(fields[name]), {**fields, name: msgspec.Raw(new)}
    for number, place in enumerate(re.finditer(re.escape(dumps(name).encode()) + rb"\s*:\s*", body)):
        if number == TRIES_MAX:
            break
        if body.startswith(old, place.end()):
            written = body[: place.end()] + new + body[place.end() + len(old) :]
            if _reads_as(written, changed):
                return written
    return msgspec.json.encode(changed)


def _reads_as(body: bytes, fields: Fields) -> bool:
    try:
        found = decode_fields(body)
    except NOT_DECODED:
        return False
    return found.keys() == fields.keys() and all(bytes(found[name]) == bytes(fields[name]) for name in fields)
