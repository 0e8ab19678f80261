"""JSON that was sent by strangers: its depth is looked at before it is parsed. The house bounds its size."""

from __future__ import annotations

import re

import msgspec

from ...core.json import Json

DEPTH_MAX = 64
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"?|[\[{]|[\]}]', re.DOTALL)


class TooDeep(ValueError):
    """JSON is nested too deeply to be read."""


def read_json(body: bytes) -> Json:
    """JSON text as a value.

    Raises:
        TooDeep: it is nested too deeply; it was not parsed.
        ValueError: it is no JSON.

    >>> read_json(b'{"a": [1]}')
    {'a': [1]}
    """
    if is_deep(body):
        raise TooDeep
    try:
        value: Json = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise ValueError("this is no JSON") from None
    return value


def is_deep(body: bytes) -> bool:
    """Whether JSON text is nested more deeply than `DEPTH_MAX`.

    >>> is_deep(b"[" * 65), is_deep(b'["' + b"[" * 1000 + b'"]')
    (True, False)
    """
    if body.count(b"[") + body.count(b"{") <= DEPTH_MAX:
        return False
    depth = 0
    for token in _TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
            if depth > DEPTH_MAX:
                return True
        elif first in b"]}":
            depth -= 1
    return False
