"""The text of an API document as a value: JSON, or YAML 1.2 with plain types only. Bounded, and strict about keys.

YAML is read event by event: no tag makes an object, dates stay text, `yes` and `no` are words. Aliases count as often
as they are used, so a text of a few lines that stands for billions of values is refused before it is built.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator

import yaml

from ...core.json import Json, JsonObject, finite_float
from .model import BadDocument

BYTES_MAX = 64 * 2**20
DEPTH_MAX = 64
VALUES_MAX = 10_000_000

_INTEGER = re.compile(r"[-+]?[0-9]{1,300}|0o[0-7]{1,300}|0x[0-9a-fA-F]{1,300}")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Json] = {"": None, "~": None}
_WORDS |= {form: value for word, value in (("null", None), ("true", True), ("false", False))
           for form in (word, word.capitalize(), word.upper())}  # fmt: skip


def read_text(text: bytes | str) -> JsonObject:
    """Read a document.

    Args:
        text: JSON or YAML, as UTF-8.

    Returns:
        The document, an object.

    Raises:
        BadDocument: not readable, larger than 64 MB, nested deeper than 64 levels, a key given twice, or YAML whose
            aliases stand for too much.

    >>> read_text("a: [1, yes, 0x10, ~]")
    {'a': [1, 'yes', 16, None]}
    """
    if len(text) > BYTES_MAX:
        raise BadDocument("the document has {count} bytes; at most {most} are read", count=len(text), most=BYTES_MAX)
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadDocument("the document is not UTF-8 text (byte {at})", at=error.start) from None
    value = _json(text) if text.lstrip().startswith("{") else _Yaml().read(text)
    if not isinstance(value, dict):
        raise BadDocument("the document is not an object")
    return value


def _json(text: str) -> Json:
    try:
        value: Json = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=finite_float)
    except json.JSONDecodeError as error:
        if text.lstrip()[:1] == "{" and not re.match(r'\{\s*["}]', text.lstrip()):
            return _Yaml().read(text)  # YAML in braces
        raise BadDocument("the document is not JSON: {why} in line {line}", why=error.msg, line=error.lineno) from None
    except RecursionError:
        raise BadDocument("the document is nested deeper than {most} levels", most=DEPTH_MAX) from None
    except BadDocument:
        raise
    except ValueError as error:  # Python's limit on the digits of an integer, finite_float
        raise BadDocument("the document has a number that can not be read: {why}", why=str(error)[:80]) from None
    level: list[Json] = [value]
    for _ in range(DEPTH_MAX):
        level = [
            child
            for item in level
            for child in (item.values() if isinstance(item, dict) else item if isinstance(item, list) else ())
            if isinstance(child, dict | list)
        ]
        if not level:
            return value
    raise BadDocument("the document is nested deeper than {most} levels", most=DEPTH_MAX)


def _unique(pairs: list[tuple[str, Json]]) -> JsonObject:
    value = dict(pairs)
    if len(value) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadDocument("the key {twice!r} is given twice", twice=twice[:80])
    return value


def _no_constant(name: str) -> Json:
    raise BadDocument("{name} is not JSON", name=name)


class _Yaml:
    """Reads one YAML text."""

    def __init__(self) -> None:
        self._anchors: dict[str, tuple[Json, int] | None] = {}
        self._values = 0

    def read(self, text: str) -> Json:
        try:
            events = iter(yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))
            for event in events:
                if isinstance(event, yaml.DocumentStartEvent):
                    value = self._value(next(events), events, 0)
                    next(events)
                    if isinstance(next(events), yaml.DocumentStartEvent):
                        raise BadDocument("the text holds several YAML documents; one was expected")
                    return value
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f" in line {mark.line + 1}" if mark else ""
            raise BadDocument(
                "the document is not YAML: {given}{where}",
                given=getattr(error, "problem", None) or "not readable",
                where=where,
            ) from None
        raise BadDocument("the document is empty")

    def _value(self, event: yaml.Event, events: Iterator[yaml.Event], depth: int) -> Json:
        if depth > DEPTH_MAX:
            raise BadDocument("the document is nested deeper than {most} levels", most=DEPTH_MAX)
        if isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(str(event.anchor))
            if known is None:
                raise BadDocument(
                    "the YAML alias {anchor!r} stands for nothing, or for itself", _line(event), anchor=event.anchor
                )
            self._count(known[1])
            return known[0]
        anchor, before = getattr(event, "anchor", None), self._values
        if anchor:
            self._anchors[anchor] = None
        self._count(1)
        value: Json
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            items: list[Json] = []
            while not isinstance(event := next(events), yaml.SequenceEndEvent):
                items.append(self._value(event, events, depth + 1))
            value = items
        else:
            value = self._mapping(events, depth)
        if anchor:
            self._anchors[anchor] = (value, self._values - before)
        return value

    def _mapping(self, events: Iterator[yaml.Event], depth: int) -> JsonObject:
        found: JsonObject = {}
        merged: JsonObject = {}
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                raise BadDocument("a key is not text", _line(event))
            self._count(1)
            key = str(event.value)
            value = self._value(next(events), events, depth + 1)
            if key == "<<" and event.implicit[0]:
                for part in value if isinstance(value, list) else [value]:
                    for name, inner in part.items() if isinstance(part, dict) else ():
                        merged.setdefault(name, inner)
            elif key in found:
                raise BadDocument("the key {key!r} is given twice", _line(event), key=key[:80])
            else:
                found[key] = value
        return merged | found if merged else found

    def _count(self, more: int) -> None:
        self._values += more
        if self._values > VALUES_MAX:
            raise BadDocument("the YAML document stands for more than {most} values", most=VALUES_MAX)


def _line(event: yaml.Event) -> str:
    mark = event.start_mark
    return f"line {mark.line + 1}" if mark else ""


def _scalar(event: yaml.ScalarEvent) -> Json:
    text = str(event.value)
    if event.tag == "tag:yaml.org,2002:str" or (not event.implicit[0] and event.tag in (None, "!")):
        return text
    if event.tag is not None and not str(event.tag).startswith("tag:yaml.org,2002:"):
        raise BadDocument("the YAML tag {tag!r} is not known", _line(event), tag=str(event.tag)[:60])
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if _NUMBER.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text
