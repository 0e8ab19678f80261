"""The pure functions that expressions of a workflow may call, beside those of CEL itself.

A function can be written in front of its first value or behind it: `split(text, ",")` and `text.split(",")`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime

from ...core.json import Json, dumps, parse
from ...schema.canonical import Unclear
from .loose import LOOSE

TEXT_MAX = 1_000_000
"""A function makes no longer text,"""
ITEMS_MAX = 100_000
"""and no longer list."""
NUMBER_MAX = 1.7e308
"""A number is not larger: JSON has no infinity."""


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Unclear(f"a text, not {type(value).__name__}")
    return value


def _list(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise Unclear(f"a list, not {type(value).__name__}")
    return list(value)


def _bounded(text: str) -> str:
    if len(text) > TEXT_MAX:
        raise Unclear(f"a text of at most {TEXT_MAX} characters as the result")
    return text


def _split(text: object, by: object = " ") -> list[str]:
    text = _text(text)
    parts = text.count(_text(by)) + 1 if by else len(text)
    if parts > ITEMS_MAX:
        raise Unclear(f"a text of at most {ITEMS_MAX} parts")
    return text.split(_text(by)) if by else list(text)


def _join(items: object, by: object = "") -> str:
    return _bounded(_text(by).join(told(item) for item in _list(items)))


def _replace(text: object, old: object, new: object) -> str:
    text, old, new = _text(text), _text(old), _text(new)
    if len(text) + text.count(old) * max(0, len(new) - len(old)) > TEXT_MAX:
        raise Unclear(f"a text of at most {TEXT_MAX} characters as the result")
    return text.replace(old, new)


def _numbers(items: object) -> list[int | float]:
    numbers = []
    for item in _list(items):
        if isinstance(item, bool) or not isinstance(item, int | float):
            raise Unclear(f"numbers in the list, not {type(item).__name__}")
        numbers.append(item)
    return numbers


def _sort(items: object) -> list[object]:
    given = _list(items)
    if any(isinstance(item, dict | list) for item in given):
        return sorted(given, key=dumps)
    return sorted(given)  # type: ignore[type-var]  # what can not be compared raises TypeError, which is told


def _distinct(items: object) -> list[object]:
    return list({dumps(item): item for item in reversed(_list(items))}.values())[::-1]


def _first(items: object) -> object:
    given = _list(items)
    if not given:
        raise Unclear("a list that is not empty")
    return given[0]


def _last(items: object) -> object:
    return _first(_list(items)[::-1])


def _flatten(items: object) -> list[object]:
    flat: list[object] = []
    for item in _list(items):
        flat.extend(item if isinstance(item, list | tuple) else [item])
    return flat


def _get(value: object, key: object, default: object = None) -> object:
    if isinstance(value, dict):
        return value.get(key, default)
    if isinstance(value, list | tuple) and isinstance(key, int) and not isinstance(key, bool):
        return value[key] if -len(value) <= key < len(value) else default
    raise Unclear("an object and a name, or a list and an index")


def _json(value: object) -> Json:
    """The value that a JSON text says."""
    return parse(_text(value))[0]


def _number(value: object) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    text = _text(value).strip().replace(",", "")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or "_" in text:
        raise Unclear(f"a number, not {text!r:.80}")
    return int(text) if text.lstrip("+-").isdecimal() else number


def _date(value: object) -> str:
    """A date or a time as ISO 8601 text; a number is seconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, UTC).isoformat().replace("+00:00", "Z")
    return datetime.fromisoformat(_text(value).strip()).isoformat().replace("+00:00", "Z")


def told(value: object) -> str:
    """A value as a part of a text: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else dumps(value)


FUNCTIONS: dict[str, Callable[..., object]] = {
    "split": _split,
    "join": _join,
    "lower": lambda text: _text(text).lower(),
    "upper": lambda text: _text(text).upper(),
    "trim": lambda text: _text(text).strip(),
    "replace": _replace,
    "sum": lambda items: sum(_numbers(items)),
    "sort": _sort,
    "distinct": _distinct,
    "first": _first,
    "last": _last,
    "flatten": _flatten,
    "get": _get,
    "json": _json,
    "text": told,
    "number": _number,
    "date": _date,
    **LOOSE,
}
