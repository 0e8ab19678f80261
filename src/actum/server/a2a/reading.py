"""JSON that was sent by strangers, as a value neither too deep nor too large. The application bounds its bytes."""

from __future__ import annotations

import msgspec

from ...core.json import Json, is_too_deep, may_be_deep

DEPTH_MAX = 64
VALUES_MAX = 20_000
"""The SDK takes some 30 µs of the processor for each value of a request: half a second for this number."""


class TooMuch(ValueError):
    """JSON is nested too deeply, or has too many values, to be read. The text says which, and can be told to all."""


def read_json(body: bytes) -> Json:
    """JSON text as a value.

    Raises:
        TooMuch: it is nested too deeply, or has more than `VALUES_MAX` values.
        ValueError: it is no JSON.

    >>> read_json(b'{"a": [1]}')
    {'a': [1]}
    """
    try:
        value: Json = msgspec.json.decode(body)
    except RecursionError:
        raise TooMuch(_TOO_DEEP) from None
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise ValueError("this is no JSON") from None
    if body.count(b",") + body.count(b"[") + body.count(b"{") > VALUES_MAX and _is_too_many(value):
        raise TooMuch(f"The JSON has more than {VALUES_MAX} values. Send a large text or a file as one part.")
    if may_be_deep(body, DEPTH_MAX) and is_too_deep(value, DEPTH_MAX):
        raise TooMuch(_TOO_DEEP)
    return value


_TOO_DEEP = "The JSON is nested too deeply."


def _is_too_many(value: Json) -> bool:
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count > VALUES_MAX:
                return True
            waiting += item.values() if isinstance(item, dict) else item
    return False
