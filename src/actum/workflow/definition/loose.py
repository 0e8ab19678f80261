"""Loose comparisons, for conditions that came from other programs: a number is compared with a text, a text with null.

Each operator of Dify or of Coze is a function with the same meaning, so that an imported condition decides as it did
there. What cannot be compared fails the node, as it does there. Definitions that a person writes use the operators of
CEL.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from urllib.parse import quote_plus

from ...core.json import JsonProblem, parse
from ...schema.canonical import Unclear

Number = int | float


def _expected(value: object, expected: object) -> object:
    """What is expected, as truth where the value is truth."""
    is_truth = isinstance(value, bool) or (isinstance(value, list) and bool(value) and isinstance(value[0], bool))
    if not is_truth or expected is None:
        return expected
    return [_truth(item) for item in expected] if isinstance(expected, list) else _truth(expected)


def _truth(value: object) -> bool:
    if isinstance(value, str):
        value = json.loads(value)
    if not isinstance(value, int):
        raise Unclear("true or false")
    return bool(value)


def _contains(value: object, expected: object) -> bool:
    if not value:
        return False
    expected = _expected(value, expected)
    if isinstance(value, str):
        return (expected if isinstance(expected, str) else str(expected)) in value
    if isinstance(value, list):
        return expected in value
    raise Unclear(f"a text or a list, not {type(value).__name__}")


def _edge(value: object, expected: object, is_at: Callable[[str, str], bool]) -> bool:
    if not value:
        return False
    if not isinstance(value, str) or not isinstance(expected, str):
        raise Unclear("two texts")
    return is_at(value, expected)


def _is(value: object, expected: object, same: bool) -> bool:
    if value is None:
        return False
    if not isinstance(value, str | bool):
        raise Unclear(f"a text, or true or false, not {type(value).__name__}")
    return (value == _expected(value, expected)) is same


def _in(value: object, expected: object, within: bool) -> bool:
    if not value:
        return not within
    if not isinstance(expected, list):
        raise Unclear("a list of what is allowed")
    return (value in expected) is within


def _all_of(value: object, expected: object) -> bool:
    if not value or not isinstance(value, list | str) or not isinstance(expected, list):
        return False
    if isinstance(value, str):
        return all(isinstance(item, str) and item in value for item in expected)
    wanted = _expected(value, expected)
    return isinstance(wanted, list) and all(item in value for item in wanted)


def _equal(value: object, expected: object, same: bool) -> bool:
    if value is None:
        return False
    if not isinstance(value, int | float):
        raise Unclear(f"a number, or true or false, not {type(value).__name__}")
    expected = _expected(value, expected)
    if not isinstance(expected, int | float | str):
        raise Unclear("a number to compare with")
    wanted: Number = float(expected) if isinstance(value, float) else int(expected)
    return (value == wanted) is same


def _compare(value: object, expected: object, holds: Callable[[Number, Number], bool]) -> bool:
    if value is None:
        return False
    if not isinstance(value, int | float) or not isinstance(expected, int | float | str):
        raise Unclear(f"two numbers, not {type(value).__name__} and {type(expected).__name__}")
    return holds(value, float(expected) if isinstance(expected, str) else expected)


def _number(value: object) -> Number:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unclear(f"a number, not {type(value).__name__}")
    return value


def _get(value: object, *path: object) -> object:
    """The value under names and indices; null where a name is missing."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def loose_text(value: object) -> str:
    """A value as Dify writes the value into a text.

    >>> [loose_text(value) for value in (None, True, 1.0, {"a": "é"}, [], ["a"], [1, None])]
    ['', 'True', '1.0', '{"a": "é"}', '', '["a"]', '[1, None]']
    """
    match value:
        case None:
            return ""
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case list() | tuple():
            if not value:
                return ""
            is_texts = all(isinstance(item, str) for item in value)
            return json.dumps(value, ensure_ascii=False) if is_texts else str(list(value))
        case _:
            return str(value)


def loose_markdown(value: object) -> str:
    """A value as Dify writes the value into an answer.

    >>> loose_markdown(["a", 2])
    '- a\\n- 2'
    """
    match value:
        case dict():
            return json.dumps(value, ensure_ascii=False, indent=2)
        case list() | tuple():
            return "\n".join(f"- {item}" for item in value)
        case _:
            return loose_text(value)


# Coze -----------------------------------------------------------------------------------------------------------------


def loose_json_text(value: object) -> str:
    """A value as Coze writes the value into a text.

    >>> [loose_json_text(value) for value in (None, True, 3, "a", ["a", 1], {"a": "é"})]
    ['', 'true', '3', 'a', '["a",1]', '{"a":"é"}']
    """
    match value:
        case None:
            return ""
        case str():
            return value
        case _:
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _coze_equal(value: object, expected: object) -> bool:
    """Equal as in Coze: numbers by their value, null only with null, true is no number."""
    if value is None or expected is None:
        return value is expected
    if isinstance(value, bool) or isinstance(expected, bool):
        return isinstance(value, bool) and isinstance(expected, bool) and value == expected
    if isinstance(value, int | float):
        return value == _coze_number(expected)
    return value == expected


def _coze_number(value: object) -> Number:
    """A number; a text that says a number counts, since Coze converts what a node is given."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise Unclear("a number") from None
    return _number(value)


def _coze_compare(value: object, expected: object, holds: Callable[[Number, Number], bool]) -> bool:
    """Compare as Coze does: null is smaller than everything, and equal to null."""
    if value is None or expected is None:
        one, other = int(value is not None), int(expected is not None)
        return holds(one, other)
    return holds(_coze_number(value), _coze_number(expected))


def _coze_length(value: object, expected: object, holds: Callable[[Number, Number], bool]) -> bool:
    if value is None:
        value = []
    if not isinstance(value, str | list | tuple):
        raise Unclear(f"a text or a list, not {type(value).__name__}")
    size = len(value.encode()) if isinstance(value, str) else len(value)
    return holds(size, _coze_number(expected))


def _coze_contains(value: object, expected: object) -> bool:
    match value:
        case None:
            return False
        case str():
            return isinstance(expected, str) and expected in value
        case dict():
            return expected in value
        case list() | tuple():
            return any(_coze_equal(item, expected) for item in value if type(item) is type(expected))
        case _:
            raise Unclear(f"a text, a list or an object, not {type(value).__name__}")


def _coze_empty(value: object) -> bool:
    return not value or value == "None"


def _coze_truth(value: object) -> bool:
    if value is None:
        return False
    if not isinstance(value, bool):
        raise Unclear(f"true or false, not {type(value).__name__}")
    return value


_BATCH = 100
"""How many items a batch of Coze takes where its size is 0 or not given."""


def _rows(columns: object, most: object = 1_000_000) -> list[object]:
    """Lists by their names as a list of objects, as long as the shortest list."""
    if not isinstance(columns, dict) or not isinstance(most, int | None):
        raise Unclear("an object of lists, and how many items are taken")
    most = most or _BATCH
    lists = {str(name): [] if each is None else each for name, each in columns.items()}
    for name, each in lists.items():
        if not isinstance(each, list | tuple):
            raise Unclear(f"a list in {name}, not {type(each).__name__}")
    count = min((len(each) for each in lists.values()), default=0)
    return [{name: each[index] for name, each in lists.items()} for index in range(min(count, max(0, most)))]


def _taken(node: object, value: object) -> list[object]:
    """The value as a list of one, or an empty list where the node that gives the value was skipped or failed."""
    if node is None or (value is None and isinstance(node, dict) and "error" in node):
        return []
    return [value]


def _column(rows: object, name: object) -> list[object]:
    """The value under one name in each object of a list."""
    if not isinstance(rows, list | tuple):
        return []
    return [row.get(name) if isinstance(row, dict) else None for row in rows]


def _first_of(values: object) -> object:
    """The first value of a list that is not null."""
    return next((each for each in values if each is not None), None) if isinstance(values, list | tuple) else None


def _joined_text(value: object, by: object) -> str:
    """A list as text with something between its items; any other value as Coze writes the value."""
    if not isinstance(value, list | tuple):
        return loose_json_text(value)
    return loose_json_text(by).join(loose_json_text(item) for item in value)


def _split_text(value: object, marks: object) -> list[str]:
    """A text, split at each of several marks."""
    if not isinstance(value, str) or not isinstance(marks, list | tuple):
        raise Unclear("a text, and a list of marks")
    found = [value]
    for mark in marks:
        if mark and isinstance(mark, str):
            found = [part for text in found for part in text.split(mark)]
    return found


def _parsed_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return parse(value)[0]
    except JsonProblem:
        raise Unclear("a text that is JSON") from None


_UNFIT = object()
"""Stands for a value that cannot be converted."""


def _typed(value: object, schema: object) -> object:
    """A value, converted to the type of a JSON Schema as Coze converts it: null where that cannot be done."""
    found = _converted(value, schema)
    return None if found is _UNFIT else found


def _converted(value: object, schema: object) -> object:
    if value is None or not isinstance(schema, dict):
        return value
    match schema.get("type"):
        case "string":
            is_whole = isinstance(value, float) and value.is_integer()
            return loose_json_text(int(value) if is_whole and isinstance(value, float) else value)
        case "integer" | "number" as type_:
            return _as_number(value, type_ == "integer")
        case "boolean":
            return value if isinstance(value, bool) else _TRUTHS.get(str(value), _UNFIT)
        case "array":
            return _as_list(value, schema.get("items"))
        case "object":
            return _as_object(value, schema.get("properties"))
        case _:
            return value


_TRUTHS: dict[str, object] = {
    **dict.fromkeys(("1", "t", "T", "TRUE", "true", "True"), True),
    **dict.fromkeys(("0", "f", "F", "FALSE", "false", "False"), False),
}


def _as_number(value: object, whole: bool) -> object:
    if isinstance(value, str):
        try:
            return int(value) if whole else float(value)
        except ValueError:
            return _UNFIT
    if isinstance(value, bool) or not isinstance(value, int | float):
        return _UNFIT
    return int(value) if whole else value


def _as_list(value: object, items: object) -> object:
    if isinstance(value, str):
        try:
            value = parse(value)[0]
        except JsonProblem:
            return []
    if not isinstance(value, list | tuple):
        return []
    found = [_converted(item, items) for item in value]
    is_object = isinstance(items, dict) and items.get("type") == "object"
    return [None if item is _UNFIT else item for item in found if item is not _UNFIT or is_object]


def _as_object(value: object, properties: object) -> object:
    if isinstance(value, str):
        try:
            value = parse(value)[0]
        except JsonProblem:
            return _UNFIT
    if not isinstance(value, dict):
        return _UNFIT
    known = properties if isinstance(properties, dict) else {}
    return {str(name): _typed(item, known.get(name)) for name, item in value.items()}


COZE: dict[str, Callable[..., object]] = {
    "coze_equal": _coze_equal,
    "coze_not_equal": lambda value, expected: not _coze_equal(value, expected),
    "coze_longer": lambda value, expected: _coze_length(value, expected, lambda one, other: one > other),
    "coze_longer_or_same": lambda value, expected: _coze_length(value, expected, lambda one, other: one >= other),
    "coze_shorter": lambda value, expected: _coze_length(value, expected, lambda one, other: one < other),
    "coze_shorter_or_same": lambda value, expected: _coze_length(value, expected, lambda one, other: one <= other),
    "coze_contains": _coze_contains,
    "coze_not_contains": lambda value, expected: not _coze_contains(value, expected),
    "coze_empty": _coze_empty,
    "coze_not_empty": lambda value: not _coze_empty(value),
    "coze_true": _coze_truth,
    "coze_false": lambda value: not _coze_truth(value),
    "coze_greater": lambda value, expected: _coze_compare(value, expected, lambda one, other: one > other),
    "coze_at_least": lambda value, expected: _coze_compare(value, expected, lambda one, other: one >= other),
    "coze_less": lambda value, expected: _coze_compare(value, expected, lambda one, other: one < other),
    "coze_at_most": lambda value, expected: _coze_compare(value, expected, lambda one, other: one <= other),
    "coze_text": loose_json_text,
    "coze_rows": _rows,
    "coze_column": _column,
    "coze_first": _first_of,
    "coze_join": _joined_text,
    "coze_split": _split_text,
    "coze_json": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "coze_value": _parsed_json,
    "coze_typed": _typed,
    "coze_or": lambda value, other: other if value is None else value,
    "coze_default": lambda value, other: other if value is None or value in ("", [], {}) else value,
    "coze_taken": _taken,
}
"""The functions of imported Coze files by the names that expressions call."""

LOOSE: dict[str, Callable[..., object]] = {
    "loose_contains": _contains,
    "loose_not_contains": lambda value, expected: not _contains(value, expected),
    "loose_starts_with": lambda value, expected: _edge(value, expected, str.startswith),
    "loose_ends_with": lambda value, expected: _edge(value, expected, str.endswith),
    "loose_is": lambda value, expected: _is(value, expected, True),
    "loose_is_not": lambda value, expected: _is(value, expected, False),
    "loose_empty": lambda value: not value,
    "loose_not_empty": bool,
    "loose_in": lambda value, expected: _in(value, expected, True),
    "loose_not_in": lambda value, expected: _in(value, expected, False),
    "loose_all_of": _all_of,
    "loose_equal": lambda value, expected: _equal(value, expected, True),
    "loose_not_equal": lambda value, expected: _equal(value, expected, False),
    "loose_greater": lambda value, expected: _compare(value, expected, lambda one, other: one > other),
    "loose_less": lambda value, expected: _compare(value, expected, lambda one, other: one < other),
    "loose_at_least": lambda value, expected: _compare(value, expected, lambda one, other: one >= other),
    "loose_at_most": lambda value, expected: _compare(value, expected, lambda one, other: one <= other),
    "loose_null": lambda value: value is None,
    "loose_not_null": lambda value: value is not None,
    "loose_subtract": lambda value, other: _number(value) - _number(other),
    "loose_multiply": lambda value, other: _number(value) * _number(other),
    "loose_divide": lambda value, other: _number(value) / _number(other),
    "loose_form": lambda value: quote_plus(loose_text(value)),
    "loose_items": lambda value: [] if value is None else value,
    "loose_get": _get,
    "loose_text": loose_text,
    "loose_markdown": loose_markdown,
    **COZE,
}
"""The functions by the names that expressions call."""
