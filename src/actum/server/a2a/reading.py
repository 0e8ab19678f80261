"""What was sent by strangers, as a value neither too deep nor too large. The application bounds its bytes."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, MutableSequence

import msgspec
from google.protobuf.message import Message as ProtoMessage

from ...core.json import Json, is_too_deep, may_be_deep

DEPTH_MAX = 64
VALUES_MAX = 20_000
"""The SDK takes some 30 µs of the processor for each value of a request: half a second for this number."""
TRANSLATED = 32
"""How much a byte of a request weighs where a small request is read on the event loop: the SDK makes ten calls of
functions for a value of two bytes."""
OLD_VALUES_MAX = 2_000
"""The same for a request of 0.3 over HTTP+JSON or gRPC: the SDK translates it three times, on the event loop, which is
held for some 60 ms by this number."""


class TooMuch(ValueError):
    """A request is nested too deeply, or has too many values. The text says which, and can be told to all."""


def read_json(body: bytes, values_max: int = VALUES_MAX) -> Json:
    """JSON text as a value.

    Args:
        body: the text.
        values_max: how many values it may have, the names in objects not counted.

    Raises:
        TooMuch: it is nested too deeply, or has more values.
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
    if body.count(b",") + body.count(b"[") + body.count(b"{") > values_max and _has_more(value, values_max):
        raise TooMuch(_too_many(values_max))
    if may_be_deep(body, DEPTH_MAX) and is_too_deep(value, DEPTH_MAX):
        raise TooMuch(_TOO_DEEP)
    return value


def read_message(body: bytes, read: Callable[[bytes], ProtoMessage], values_max: int = VALUES_MAX) -> ProtoMessage:
    """Bytes of protobuf as a message.

    Args:
        body: the bytes.
        read: makes the message of the bytes; protobuf reads them in no time, and refuses what is nested too deeply.
        values_max: how many items of lists and entries of maps the message may have.

    Raises:
        TooMuch: it has more.
        DecodeError: it is no such message.
    """
    message = read(body)
    count, waiting = 0, [message]
    while waiting:
        for _, value in waiting.pop().ListFields():
            if not isinstance(value, MutableMapping | MutableSequence):
                waiting += [value] if isinstance(value, ProtoMessage) else []
                continue
            count += len(value)
            if count > values_max:
                raise TooMuch(_too_many(values_max))
            inside = value.values() if isinstance(value, MutableMapping) else value
            waiting += [each for each in inside if isinstance(each, ProtoMessage)]
    return message


_TOO_DEEP = "The JSON is nested too deeply."


def _too_many(values_max: int) -> str:
    other = "" if values_max == VALUES_MAX else ", or use A2A 1.0"
    return f"The request has more than {values_max} values. Send a large text or a file as one part{other}."


def _has_more(value: Json, values_max: int) -> bool:
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict | list):
            count += len(item)
            if count > values_max:
                return True
            waiting += item.values() if isinstance(item, dict) else item
    return False
