"""What JSON may hold, as types, and the one place where foreign JSON text becomes such a value.

Model-made JSON is hostile input: duplicate keys, `NaN`, numbers of any length or size, half a surrogate pair. `parse`
reads it strictly and says what it had to mend. The journal and the dialects encode with msgspec, which needs what
`parse` ensures.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]
else:  # msgspec reads annotations at run time and has no recursive alias
    Json = Any

JsonObject = dict[str, Json]

DEPTH_MAX = 100
_sorted = msgspec.json.Encoder(order="sorted")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")


class JsonProblem(ValueError):
    """The text is not the JSON that was asked for.

    The message says what and where, and quotes at most a few characters.
    """


class Ambiguous(JsonProblem):
    """The text has two meanings. A tolerant reader must not choose between them."""


def parse(text: str | bytes, *, keep_last: bool = False) -> tuple[Json, tuple[str, ...]]:
    """Read one JSON value out of text that a model wrote.

    A key that is given twice with two values has two meanings, so the text is refused. The same value twice has one.

    Args:
        text: the whole text; white space around the value is allowed, anything else is not.
        keep_last: of two values of a key the last counts. For the messages of a server, which the fast parser reads
            in the same way; never for what a model wrote.

    Returns:
        The value and the repairs that were made, each a short phrase (`key 'a' is given twice with one value`).

    Raises:
        JsonProblem: not JSON, a key with two values, `NaN` or `Infinity`, a number that is too large (`1e999`), or
            nested deeper than 100 levels.

    >>> parse('{"a": 1, "a": 1}')
    ({'a': 1}, ("key 'a' is given twice with one value",))
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    repairs: list[str] = []

    def unique(pairs: list[tuple[str, Json]]) -> JsonObject:
        value = dict(pairs)
        if len(value) != len(pairs):
            kept: JsonObject = {}
            for key, item in pairs:
                if key in kept and not keep_last:
                    repairs.append(given_twice(key, kept[key], item))
                kept[key] = item
        return value

    try:
        value: Json = json.loads(
            text, object_pairs_hook=unique, parse_constant=_refuse_constant, parse_float=finite_float
        )
    except json.JSONDecodeError as error:
        raise JsonProblem(f"{error.msg} at character {error.pos} of {len(text)}") from None
    except RecursionError:
        raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels") from None
    except JsonProblem:
        raise
    except ValueError as error:  # Python's limit on the digits of an integer, _refuse_constant, finite_float
        raise JsonProblem(str(error).split(";")[0][:120]) from None
    if "\\u" in text and _LONE_SURROGATE.search(json.dumps(value, ensure_ascii=False)):
        value = _without_surrogates(value)
        repairs.append("half a surrogate pair: replaced by U+FFFD")
    if is_too_deep(value):
        raise JsonProblem(f"nested deeper than {DEPTH_MAX} levels")
    return value, tuple(repairs)


def parse_or_text(text: str) -> Json:
    """What a person typed: a JSON value, or else the text itself.

    >>> parse_or_text("[1]"), parse_or_text("blue")
    ([1], 'blue')
    """
    try:
        return parse(text)[0]
    except JsonProblem:
        return text


def parse_object(text: str | bytes) -> tuple[JsonObject, tuple[str, ...]]:
    """Like `parse`, for arguments: empty text is `{}`, an object written as JSON text in a string is opened once.

    Raises:
        JsonProblem: also when the value is not an object.
    """
    if not text.strip():
        return {}, ()
    value, repairs = parse(text)
    if isinstance(value, str) and value.lstrip().startswith("{"):
        value, more = parse(value)
        repairs = (*repairs, "arguments were JSON inside a string: opened", *more)
    if value is None:
        return {}, (*repairs, "null taken as no arguments")
    if not isinstance(value, dict):
        raise JsonProblem(f"an object was expected, {kind_of(value)} came")
    return value, repairs


def given_twice(key: str, value: Json, again: Json) -> str:
    """The repair to note where an object has a key twice.

    Args:
        key: the key.
        value: what the key holds first.
        again: what it holds the second time.

    Raises:
        JsonProblem: the two values differ, so nobody knows which of them is meant.
    """
    if not same(value, again):
        raise Ambiguous(f"{key[:40]!r} is given twice with different values")
    return f"key {key[:40]!r} is given twice with one value"


def dumps(value: object) -> str:
    """Compact JSON text, non-ASCII as it is. The inverse of `parse` for everything that `parse` returns."""
    return msgspec.json.encode(value).decode()


def size_of_json(value: object) -> int:
    """How many bytes a value has as JSON: one call of C, whatever the value holds.

    >>> size_of_json({"a": [1, 2]})
    11
    """
    return len(msgspec.json.encode(value))


def same(left: Json, right: Json) -> bool:
    """Whether two values are equal as JSON of one type: `1`, `1.0` and `true` are three different values.

    >>> same({"a": [1], "b": None}, {"b": None, "a": [1]}), same(1, True), same({}, {"b": None})
    (True, False, False)
    """
    return _sorted.encode(left) == _sorted.encode(right)


def equal(left: Json, right: Json) -> bool:
    """Whether two values are equal as JSON Schema has it: `1` and `1.0` are one number, `true` is none.

    >>> equal({"a": [1]}, {"a": [1.0]}), equal(1, True), equal([1], [1, 1])
    (True, False, False)
    """
    pairs: list[tuple[Json, Json]] = [(left, right)]
    while pairs:
        one, other = pairs.pop()
        if isinstance(one, dict) and isinstance(other, dict):
            if one.keys() != other.keys():
                return False
            pairs += [(value, other[key]) for key, value in one.items()]
        elif isinstance(one, list) and isinstance(other, list):
            if len(one) != len(other):
                return False
            pairs += zip(one, other, strict=True)
        elif isinstance(one, bool) is not isinstance(other, bool) or one != other:
            return False
    return True


def finite(value: float) -> float | str:
    """A number that JSON can hold, or the name of one that JSON can't hold: `NaN`, `Infinity` or `-Infinity`."""
    return value if math.isfinite(value) else json.dumps(value)


def whole_text(text: str) -> str:
    """Text that UTF-8 can write: half a surrogate pair becomes U+FFFD."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def kind_of(value: object) -> str:
    """The JSON name of a value's type, as the model should read it: `integer`, `array`, ..."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def finite_float(text: str) -> float:
    """The number that a text of JSON writes. JSON may write `1e999`, which Python reads as infinity.

    Raises:
        ValueError: the number is too large.
    """
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is too large a number")
    return number


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _without_surrogates(value: Json) -> Json:
    match value:
        case str():
            return whole_text(value)
        case list():
            return [_without_surrogates(item) for item in value]
        case dict():
            return {whole_text(key): _without_surrogates(item) for key, item in value.items()}
        case _:
            return value


def is_too_deep(value: Json, levels: int = DEPTH_MAX) -> bool:
    """Whether a value is nested deeper than this number of levels. Looks level by level, without recursion."""
    level: list[Json] = [value]
    for _ in range(levels):
        below: list[Json] = []
        for item in level:
            if type(item) is dict:
                below += [inner for inner in item.values() if type(inner) in _NESTED]
            elif type(item) is list:
                below += [inner for inner in item if type(inner) in _NESTED]
        if not below:
            return False
        level = below
    return True


def may_be_deep(text: bytes, levels: int = DEPTH_MAX) -> bool:
    """Whether JSON text has enough brackets to be nested deeper than `levels`. Quick; a no is always right."""
    return text.count(b"[") + text.count(b"{") > levels


_NESTED = frozenset((dict, list))
