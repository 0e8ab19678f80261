"""Values in JSON. A value within quotes is a string or a part of one; outside of quotes it has its own type."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from ...core.json import Json, dumps
from .part import Given, Later, NoPlace, Part, Parts

T = TypeVar("T")

_MARK = re.compile("\0([0-9]+)\0")
_WHOLE = re.compile("\x01([0-9]+)\x01")
_BROKEN = "expected JSON around the values: a value stands within quotes, or in the place of a whole value"


def bind_json(parts: Parts) -> str:
    """A JSON text.

    Raises:
        NoPlace: the text around the values is no JSON, or a value would be a second member of one name.

    >>> bind_json(['{"note": "for ', Given.of('a"b'), '", "amount": ', Given.of(2), "}"])
    '{"note": "for a\\\\"b", "amount": 2}'
    """
    written, in_string = list[str](), False
    for part in parts:
        match part:
            case str():
                in_string = _state(part, in_string)
                written.append(part)
            case Later():
                written.append(part.text)
            case Given(encoded="raw"):
                in_string = _state(part.text, in_string)
                written.append(part.text)
            case Given():
                written.append(_string(part.text)[1:-1] if in_string else _value(part.value))
    text = "".join(written)
    if any(isinstance(part, Given) and part.encoded == "raw" for part in parts):
        if not any(isinstance(part, Later) for part in parts):
            _read(text)
        return text
    _, names = _read("".join(_skeleton(parts)))
    _check_names(parts, names)
    return text


def is_json(parts: Parts) -> bool:
    """Whether a text is JSON around its values."""
    try:
        _read("".join(_skeleton(parts)))
    except NoPlace:
        return False
    return True


def _check_names(parts: Parts, objects: list[tuple[str, ...]]) -> None:
    """Whether the names of members that values make up are names of their own."""
    for names in objects:
        if any(_MARK.search(name) for name in names):
            filled = {_MARK.sub(lambda found: _text_of(parts[int(found[1])]), name) for name in names}
            if len(filled) < len(set(names)):
                raise NoPlace("expected a value that is not the name of another member of the same object")


def _text_of(part: Part) -> str:
    return part if isinstance(part, str) else part.text


def structured(parts: Sequence[str | T], text: Callable[[list[str | T]], Json], value: Callable[[T], Json]) -> Json:
    """A JSON text with references as a value, with each reference where its author put it.

    Args:
        parts: words and references.
        text: what a string with references becomes.
        value: what a reference outside of quotes becomes.

    Raises:
        NoPlace: the text around the references is not JSON, or the name of a member holds a reference.
    """
    skeleton = "".join(_skeleton([part if isinstance(part, str) else Later(str(at)) for at, part in enumerate(parts)]))
    return _rebuilt(_read(skeleton)[0], parts, text, value)


def _rebuilt(
    found: Json, parts: Sequence[str | T], text: Callable[[list[str | T]], Json], value: Callable[[T], Json]
) -> Json:
    match found:
        case dict():
            if any(_MARK.search(name) for name in found):
                raise NoPlace("expected no value in the name of a member")
            return {name: _rebuilt(item, parts, text, value) for name, item in found.items()}
        case list():
            return [_rebuilt(item, parts, text, value) for item in found]
        case str() if whole := _WHOLE.fullmatch(found):
            part = parts[int(whole[1])]
            return part if isinstance(part, str) else value(part)
        case str():
            pieces = [parts[int(each)] if at % 2 else each for at, each in enumerate(_MARK.split(found))]
            return text([each for each in pieces if each != ""])
        case _:
            return found


def _skeleton(parts: Parts) -> list[str]:
    """The text with a mark in the place of each value.

    Raises:
        NoPlace: a value stands behind a backslash, or the author's text has what would be a mark.
    """
    skeleton, in_string = list[str](), False
    for at, part in enumerate(parts):
        if isinstance(part, str):
            if re.search(r"\\u000[01]", part):
                raise NoPlace("expected no \\u0000 and no \\u0001 around the values")
            in_string = _state(part, in_string)
            skeleton.append(part)
        else:
            skeleton.append(f"\\u0000{at}\\u0000" if in_string else f' "\\u0001{at}\\u0001" ')
    return skeleton


def _state(text: str, in_string: bool) -> bool:
    """Whether what follows a text stands within quotes.

    Raises:
        NoPlace: the text ends within an escape sequence.
    """
    without = re.sub(r"\\[\s\S]", "", text) if in_string or "\\" in text else text
    inside = in_string ^ (without.count('"') % 2 == 1)
    if without.endswith("\\"):
        raise NoPlace("expected no value within an escape sequence")
    return inside


def _read(text: str) -> tuple[Json, list[tuple[str, ...]]]:
    """The value of a text, and the names of the members of each of its objects."""
    objects: list[tuple[str, ...]] = []

    def object_of(pairs: list[tuple[str, Json]]) -> Json:
        objects.append(tuple(name for name, _ in pairs))
        return dict(pairs)

    try:
        found: Json = json.loads(text, object_pairs_hook=object_of, parse_constant=_refuse)
    except (ValueError, RecursionError):
        raise NoPlace(_BROKEN) from None
    if any(_WHOLE.fullmatch(name) for names in objects for name in names):
        raise NoPlace(_BROKEN)  # a name stands within quotes
    return found, objects


def _refuse(name: str) -> None:
    raise ValueError(name)


def _string(text: str) -> str:
    found = json.dumps(text, ensure_ascii=False)
    return json.dumps(text) if re.search(r"[\ud800-\udfff]", found) else found


def _value(value: Json) -> str:
    return _string(value) if isinstance(value, str) else dumps(value)
