"""Emoji that a program wrote as two halves, each a surrogate of UTF-16: they are put together."""

from __future__ import annotations

from ...core.json import Json


def whole(value: Json) -> Json:
    """The same value, with emoji that were written as two halves put together."""
    match value:
        case str():
            return value if value.isascii() else _joined(value)
        case dict():
            return {_joined(name): whole(item) for name, item in value.items()}
        case list():
            return [whole(item) for item in value]
        case _:
            return value


def _joined(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
