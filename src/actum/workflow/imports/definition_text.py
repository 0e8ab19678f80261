"""Writes a definition as YAML 1.2 that a person can read: texts of several lines as blocks, everything else quoted.

Only a small part of YAML is written, so that whatever is written is read back as the same value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.json import Json, JsonObject, dumps
from ...protocols.source_text import plain_scalar

_BARE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[ /.-][A-Za-z0-9_]+)*")
_BLOCK = re.compile(r"[\n\t -\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")
_SHORT = 100


def definition_text(definition: JsonObject) -> str:
    """The text of a definition."""
    return "\n".join(_fields(definition, "")) + "\n"


def _fields(value: JsonObject, indent: str) -> Iterator[str]:
    for name, item in value.items():
        yield from _entry(f"{indent}{_scalar(name)}:", item, indent)


def _entry(head: str, value: Json, indent: str) -> Iterator[str]:
    flat = _flat(value)
    if (flat is not None and len(head) + len(flat) <= _SHORT) or not isinstance(value, dict | list | str):
        yield f"{head} {flat or dumps(value)}"
    elif isinstance(value, str):
        block = _block(value, f"{indent}  ")
        yield from [f"{head} {dumps(value)}"] if block is None else (f"{head} {block[0]}", *block[1:])
    elif isinstance(value, dict):
        yield head
        yield from _fields(value, f"{indent}  ")
    else:
        yield head
        for item in value:
            if (isinstance(item, dict) and _flat(item) is None) or len(_flat(item) or "") > _SHORT:
                inner = list(_entry(f"{indent}  -", item, f"{indent}  "))
                yield from inner
            else:
                yield f"{indent}  - {_flat(item) or dumps(item)}"


def _flat(value: Json) -> str | None:
    """A value on one line; None where it holds a text of several lines or is too long for a line."""
    match value:
        case str():
            return None if "\n" in value and _block(value, "  ") is not None else _scalar(value)
        case dict():
            parts = [(_scalar(name), _flat(item)) for name, item in value.items()]
            if any(part is None for _, part in parts):
                return None
            text = "{" + ", ".join(f"{name}: {part}" for name, part in parts) + "}"
        case list():
            items = [_flat(item) for item in value]
            if any(item is None for item in items):
                return None
            text = "[" + ", ".join(str(item) for item in items) + "]"
        case _:
            return dumps(value)
    return text if len(text) <= _SHORT else None


def _scalar(text: str) -> str:
    if len(text) <= _SHORT and _BARE.fullmatch(text) and plain_scalar(text) == text:
        return text
    return dumps(text)


def _block(text: str, indent: str) -> list[str] | None:
    """A text of several lines as a block; None where a block cannot say the text exactly."""
    lines = text.split("\n")
    if len(lines) < 2 or not _BLOCK.fullmatch(text) or "\x85" in text or "\u2028" in text or "\u2029" in text:
        return None
    body = text.rstrip("\n")
    tail = len(text) - len(body)
    if not body or body[0] in " \t\n" or tail > 1:
        return None
    mark = "|" if tail else "|-"
    return [mark, *(f"{indent}{line}" if line else "" for line in body.split("\n"))]
