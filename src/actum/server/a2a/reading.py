"""JSON that was sent by strangers, nested so deeply at most. The application bounds its size."""

from __future__ import annotations

import msgspec

from ...core.json import Json, is_too_deep, may_be_deep

DEPTH_MAX = 64


class TooDeep(ValueError):
    """JSON is nested too deeply to be read."""


def read_json(body: bytes) -> Json:
    """JSON text as a value.

    Raises:
        TooDeep: it is nested too deeply.
        ValueError: it is no JSON.

    >>> read_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        value: Json = msgspec.json.decode(body)
    except RecursionError:
        raise TooDeep from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError("this is no JSON") from None
    if may_be_deep(body, DEPTH_MAX) and is_too_deep(value, DEPTH_MAX):
        raise TooDeep
    return value
