"""Reads the text of a definition, YAML 1.2 or JSON, into plain values with the place of each. Refuses what is unsafe.

Sizes are looked at first, and then the events of the parser: a text that is too deep, or whose aliases stand for too
much, is refused before a value is built.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]  # py_scanstring or the one in C
from typing import Literal, Protocol

from msgspec import Struct

from ..core.definition import BadText, TextProblem
from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..core.language.sentence import Sentence

BYTES_MAX = 1_000_000
YAML_BYTES_MAX = 128 * 1024
"""The most bytes of a definition in YAML: reading them takes 1 to 1.6 s, and few threads read definitions."""
DEPTH_MAX = 64
VALUES_MAX = 400_000
REPEATED_BYTES_MAX = 4 * BYTES_MAX
"""The limits of a text: its bytes, the depth of its values, and its values and bytes together with those that aliases
repeat."""

Place = tuple[str | int, ...]
"""The names and indices that lead to a value."""

_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Json] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][-+]?\d+)?")
_OPENINGS = re.compile(rf"(?:[\[{{][ \t\r\n]*){{{DEPTH_MAX + 1}}}")
_SPACE = re.compile(r"[ \t\r\n]*")
_LITERAL = re.compile(r"true|false|null")


class SourceText(Struct):
    """A text that was read.

    Attributes:
        value: what the text says.
        places: line and column of each value, by what leads to the value.
        problems: keys that stand twice.
    """

    value: Json
    places: dict[Place, tuple[int, int]]
    problems: list[TextProblem]

    def at(self, place: Place) -> tuple[int, int]:
        """Line and column of a value, or of the nearest value around it."""
        while place and place not in self.places:
            place = place[:-1]
        return self.places.get(place, (1, 1))


def read_text(text: str | bytes, *, yaml_bytes_max: int = YAML_BYTES_MAX, aliases: bool = True) -> SourceText:
    """Read YAML 1.2, or JSON where the text begins with a brace.

    Args:
        text: the definition.
        yaml_bytes_max: the most bytes that the text may have where it is YAML; JSON may have `BYTES_MAX`.
        aliases: whether YAML may have aliases; otherwise one is refused.

    Raises:
        BadText: the text is too large, too deep, or neither YAML nor JSON.
        UsageError: the library that reads YAML is not installed.
    """
    size = len(text) if isinstance(text, bytes) or len(text) > BYTES_MAX else len(text.encode("utf-8", "replace"))
    if size > BYTES_MAX:
        raise BadText([TextProblem(Sentence("the text has more than {most} bytes", most=BYTES_MAX))])
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise BadText([TextProblem(Sentence("the text is not UTF-8, at byte {at}", at=error.start))]) from None
    if too_deep := _OPENINGS.search(text):  # the parser itself would look at each of them many times
        line = text.count("\n", 0, too_deep.start()) + 1
        raise BadText([TextProblem(Sentence("the text is more than {most} deep", most=DEPTH_MAX), line)])
    if text.lstrip("\ufeff \t\r\n").startswith("{"):
        return _JsonText(text.lstrip("\ufeff")).read()
    if size > yaml_bytes_max:
        told = Sentence("the text is YAML and has more than {most} bytes", most=yaml_bytes_max)
        raise BadText(
            [TextProblem(told, hint=Sentence("write the definition as JSON, of at most {most} bytes", most=BYTES_MAX))]
        )
    return _read_yaml(text, aliases=aliases)


class _Mark(Protocol):
    line: int
    column: int


class _YamlEvent(Protocol):
    start_mark: _Mark
    anchor: str | None
    value: str
    implicit: tuple[bool, bool]
    tag: object


class _Frame(Struct):
    """A list or an object whose end has not come yet."""

    value: JsonObject | list[Json]
    place: Place
    anchor: str | None
    key: str | None = None
    size: int = 1


def _read_yaml(text: str, *, aliases: bool) -> SourceText:
    try:
        from ruamel.yaml import YAML  # noqa: PLC0415  # it takes 40 ms to load, and most programs read no YAML
        from ruamel.yaml.error import YAMLError  # noqa: PLC0415  # as above
    except ImportError:
        raise UsageError("definitions in YAML need ruamel.yaml: pip install 'actum[workflow]'") from None
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    try:
        events = list(_safe_events(reader.parse(text) if aliases else _without_aliases(reader.parse(text))))
        return _YamlText().read(events)
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line, column = (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)
        what = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise BadText([TextProblem(Sentence("this is no YAML: {detail}", detail=what), line, column)]) from None
    except RecursionError:
        raise BadText([TextProblem(Sentence("the text is more than {most} deep", most=DEPTH_MAX))]) from None


def _kind(event: _YamlEvent) -> str:
    return type(event).__name__.removesuffix("Event")


def _without_aliases(events: Iterable[_YamlEvent]) -> Iterator[_YamlEvent]:
    for event in events:
        if _kind(event) == "Alias":
            mark, told = event.start_mark, Sentence("the alias *{anchor} is not read here", anchor=event.anchor)
            raise BadText(
                [TextProblem(told, mark.line + 1, mark.column + 1, Sentence("write what the alias stands for"))]
            )
        yield event


def _safe_events(events: Iterable[_YamlEvent]) -> Iterator[_YamlEvent]:
    """The events of the parser, as long as they are safe. No value is built before all of them were seen.

    Raises:
        BadText: the text is too deep, or stands for too many values.
    """
    sizes: dict[str, tuple[int, int]] = {}
    open_: list[tuple[str | None, int, int]] = []
    total = size = 0
    for event in events:
        kind = _kind(event)
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if kind in ("MappingStart", "SequenceStart"):
            open_.append((event.anchor, total, size))
            total += 1
            if len(open_) > DEPTH_MAX:
                raise BadText(
                    [TextProblem(Sentence("the text is more than {most} deep", most=DEPTH_MAX), line, column)]
                )
        elif kind in ("MappingEnd", "SequenceEnd"):
            anchor, values_before, size_before = open_.pop()
            if anchor:
                sizes[anchor] = (total - values_before, size - size_before)
        elif kind == "Scalar":
            total += 1
            size += len(event.value)
            if event.anchor:
                sizes[event.anchor] = (1, len(event.value))
        elif kind == "Alias":
            if event.anchor not in sizes:
                raise BadText(
                    [TextProblem(Sentence("the alias *{anchor} stands for nothing", anchor=event.anchor), line, column)]
                )
            total += sizes[event.anchor][0]
            size += sizes[event.anchor][1]
        if total > VALUES_MAX:
            raise BadText(
                [TextProblem(Sentence("the text stands for more than {most} values", most=VALUES_MAX), line, column)]
            )
        if size > REPEATED_BYTES_MAX:
            told = Sentence("the text stands for more than {most} bytes", most=REPEATED_BYTES_MAX)
            raise BadText([TextProblem(told, line, column)])
        yield event


class _YamlText:
    """Builds values out of the events of the parser."""

    def __init__(self) -> None:
        self._places: dict[Place, tuple[int, int]] = {}
        self._problems: list[TextProblem] = []
        self._anchors: dict[str, Json] = {}
        self._stack: list[_Frame] = []
        self._value: Json = None
        self._documents = 0

    def read(self, events: Iterable[_YamlEvent]) -> SourceText:
        for event in events:
            kind, mark = _kind(event), event.start_mark
            where = (mark.line + 1, mark.column + 1)
            if kind == "DocumentStart":
                self._documents += 1
                if self._documents > 1:
                    raise BadText([TextProblem(Sentence("the text holds more than one document"), *where)])
            elif kind in ("MappingStart", "SequenceStart"):
                place = self._next_place(where)
                value: JsonObject | list[Json] = {} if kind == "MappingStart" else []
                self._stack.append(_Frame(value, place, event.anchor))
            elif kind in ("MappingEnd", "SequenceEnd"):
                frame = self._stack.pop()
                self._add(frame.value, frame.anchor, where)
            elif kind == "Scalar":
                self._next_place(where)
                self._add(self._scalar(event, where), event.anchor, where)
            elif kind == "Alias":
                self._next_place(where)
                self._add(self._anchors.get(event.anchor or ""), None, where)
        return SourceText(self._value, self._places, self._problems)

    def _next_place(self, where: tuple[int, int]) -> Place:
        if not self._stack:
            place: Place = ()
        else:
            frame = self._stack[-1]
            if isinstance(frame.value, dict):
                if frame.key is None:
                    return frame.place
                place = (*frame.place, frame.key)
            else:
                place = (*frame.place, len(frame.value))
        self._places.setdefault(place, where)
        return place

    def _scalar(self, event: _YamlEvent, where: tuple[int, int]) -> Json:
        text, frame = event.value, self._stack[-1] if self._stack else None
        if event.tag is not None and str(event.tag) not in ("!", "tag:yaml.org,2002:str"):
            self._problems.append(TextProblem(Sentence("the tag {tag} is not used here", tag=event.tag), *where))
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            return text  # a name
        return text if not event.implicit[0] else plain_scalar(text)

    def _add(self, value: Json, anchor: str | None, where: tuple[int, int]) -> None:
        if anchor:
            self._anchors[anchor] = value
        if not self._stack:
            self._value = value
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            if not isinstance(value, str):
                raise BadText([TextProblem(Sentence("a name is a text, and no list or object"), *where)])
            frame.key = value
            if value in frame.value:
                self._problems.append(
                    TextProblem(
                        Sentence("the name {name!r} stands twice", name=value),
                        *where,
                        Sentence("leave one of them out"),
                    )
                )
            self._places[(*frame.place, value)] = where
        else:
            frame.value[frame.key] = value
            frame.key = None


def plain_scalar(text: str) -> Json:
    """What a word without quotes means in YAML 1.2.

    >>> [plain_scalar(text) for text in ("yes", "12:30", "0x1F", "1e3", "null", "007")]
    ['yes', '12:30', 31, 1000.0, None, 7]
    """
    if text in _WORDS:
        return _WORDS[text]
    if len(text) <= 40 and _INT.fullmatch(text):
        return int(text, 0) if text[:2] in ("0x", "0o") else int(text)
    if len(text) <= 40 and _FLOAT.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


class _JsonText:
    """Reads JSON and notes the place of each value."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[Place, tuple[int, int]] = {}
        self._problems: list[TextProblem] = []
        self._lines = [0, *(found.end() for found in re.finditer("\n", text))]

    def read(self) -> SourceText:
        value, at = self._value(self._skip(0), ())
        if self._skip(at) != len(self._text):
            raise self._bad(Sentence("nothing may stand behind the end"), self._skip(at))
        return SourceText(value, self._places, self._problems)

    def _where(self, at: int) -> tuple[int, int]:
        low, high = 0, len(self._lines)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._lines[middle] <= at else (low, middle)
        return low + 1, at - self._lines[low] + 1

    def _bad(self, message: Sentence | str, at: int) -> BadText:
        return BadText(
            [TextProblem(Sentence("this is no JSON: {detail}", detail=message), *self._where(min(at, len(self._text))))]
        )

    def _skip(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    def _value(self, at: int, place: Place) -> tuple[Json, int]:
        if len(place) > DEPTH_MAX:
            raise BadText(
                [TextProblem(Sentence("the text is more than {most} deep", most=DEPTH_MAX), *self._where(at))]
            )
        self._places.setdefault(place, self._where(at))
        sign = self._text[at : at + 1]
        if sign == "{":
            return self._object(at, place)
        if sign == "[":
            return self._list(at, place)
        if sign == '"':
            return self._string(at)
        if word := _LITERAL.match(self._text, at):
            return _WORDS[word[0]], word.end()
        number = _NUMBER.match(self._text, at)
        if number is None or len(number[0]) > 400:
            raise self._bad(Sentence("a value is expected"), at)
        return (float if number[1] or number[2] else int)(number[0]), number.end()

    def _string(self, at: int) -> tuple[str, int]:
        try:
            text, end = scanstring(self._text, at + 1, True)
        except ValueError as error:
            raise self._bad(str(error).partition(":")[0].removesuffix(" at"), at) from None
        return str(text), int(end)

    def _object(self, at: int, place: Place) -> tuple[JsonObject, int]:
        value: JsonObject = {}
        at = self._skip(at + 1)
        if self._text[at : at + 1] == "}":
            return value, at + 1
        while True:
            if self._text[at : at + 1] != '"':
                raise self._bad(Sentence("a name in quotes is expected"), at)
            begin = at
            name, at = self._string(at)
            if name in value:
                where = self._where(begin)
                self._problems.append(
                    TextProblem(
                        Sentence("the name {name!r} stands twice", name=name), *where, Sentence("leave one of them out")
                    )
                )
            self._places[(*place, name)] = self._where(begin)
            at = self._skip(at)
            if self._text[at : at + 1] != ":":
                raise self._bad(Sentence("a colon is expected"), at)
            value[name], at = self._value(self._skip(at + 1), (*place, name))
            at, is_end = self._next(at, "}")
            if is_end:
                return value, at

    def _list(self, at: int, place: Place) -> tuple[list[Json], int]:
        value: list[Json] = []
        at = self._skip(at + 1)
        if self._text[at : at + 1] == "]":
            return value, at + 1
        while True:
            item, at = self._value(at, (*place, len(value)))
            value.append(item)
            at, is_end = self._next(at, "]")
            if is_end:
                return value, at

    def _next(self, at: int, end: Literal["}", "]"]) -> tuple[int, bool]:
        at = self._skip(at)
        sign = self._text[at : at + 1]
        if sign == end:
            return at + 1, True
        if sign != ",":
            raise self._bad(Sentence("a comma or {end!r} is expected", end=end), at)
        return self._skip(at + 1), False
