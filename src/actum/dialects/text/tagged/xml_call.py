"""Calls in tags: one for the call, one for each parameter, the values as plain text.

What a value is, its parameter's schema says (`written_values`). A string is told as it comes. A tag in a value is data,
unless what stands behind it shows that the value ended there.

A value in which another parameter begins and does not end has lost its own closing tag: nobody knows where the value
ended, so the call is not complete.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from msgspec import Struct

from ....core.call import ToolCall
from ....core.json import Json, JsonProblem, dumps, kind_of
from ...written_values import Kinds, read_text
from ..marks import (
    WAIT,
    CallHead,
    Marks,
    NeedsMore,
    follows,
)
from ..toolbox import Toolbox
from .bodies import (
    SPACE,
    BodyReader,
    BodySetting,
    CallBuilder,
    fill,
    resolve,
)
from .tag_tree import read_tree

CLOSING_TAG_MISSING = "closing tag missing"
ENDS_MAX = 100
"""A name is looked for behind this number of ends in one value at most, of those that no parameter began for."""
LAST_MARK_MISSING = "the last mark is missing"
_SECTION, _SECTION_END = "<![CDATA[", "]]>"
_SECTION_END_INSIDE = "]]" + _SECTION_END + _SECTION + ">"
_NEEDS_SECTION = re.compile(r"[<&\n]")
_SECTIONS = Marks((_SECTION,))


class XmlCall(Struct, frozen=True, kw_only=True):
    """A tag a parameter, its value as plain text.

    Attributes:
        head: with the group `name`.
        parameter: how a parameter begins, with the group `key`. A group `string` says by `true` or `false` whether
            the value is a string, whatever the schema says; a group `type` says it by the name of a JSON type.
        value_start: the mark right before a value, where the parameter's head is more than one tag; else empty.
        value_end: what ends a value; `{key}` is filled in.
        tree: a value may be tags in tags, each behind this mark (`tag_tree`); empty where it never is.
        whole_end: what ends the object of all arguments, which stands where `parameter` has the group `whole`.
        end: what ends the call; empty where a closing mark does.
        end_stripped: the mark behind the call ends the whole output, so that servers take it away: at the end of the
            output, a call is whole without it if all else is closed.
        padded: a line break around each value is not part of the value.
        next_ends: a known parameter that begins in a line of its own ends a value whose own end is missing.
        form, parameter_form: how a call and a parameter are written; `{name}`, `{key}`, `{value}` are filled in, and
            `{string}` or `{type}` by what the value is.
        unmarked: the call may stand without opening mark.
        wrappers: names of parameters that some models put around all arguments, though the tool has no such parameter.
        sections: a value may stand in `<![CDATA[` and `]]>`.
        escaped: names are written as in an attribute of XML: `&quot;` for a quote, `&amp;` for an ampersand.
    """

    head: CallHead
    parameter: CallHead
    parameter_start: str
    value_start: str = ""
    value_end: str
    tree: str = ""
    whole_end: str = ""
    end: str = ""
    end_stripped: bool = False
    padded: bool = False
    next_ends: bool = False
    form: tuple[str, str]
    parameter_form: str
    unmarked: bool = True
    wrappers: tuple[str, ...] = ()
    sections: bool = False
    escaped: bool = False

    def bare(self, box: Toolbox) -> CallHead | None:
        return self.head if self.unmarked else None

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return XmlReader(self, CallBuilder(*resolve(self.plain(head["name"]), place.box), place), place)

    def plain(self, name: str) -> str:
        """A name that was read, without the signs that stand for others in an attribute."""
        return name.replace("&quot;", '"').replace("&amp;", "&") if self.escaped else name

    def _attribute(self, name: str) -> str:
        return name.replace("&", "&amp;").replace('"', "&quot;") if self.escaped else name

    def write(self, call: ToolCall, index: int) -> str:
        opening, closing = (fill(part, name=self._attribute(call.name)) for part in self.form)
        if not call.complete:
            return opening + call.raw
        return opening + "".join([self._write(key, value) for key, value in call.arguments.items()]) + closing

    def _write(self, key: str, value: object) -> str:
        key, kind = self._attribute(key), kind_of(value)
        if isinstance(value, str):
            if self.sections and _NEEDS_SECTION.search(value):
                value = _SECTION + value.replace(_SECTION_END, _SECTION_END_INSIDE) + _SECTION_END
            return fill(self.parameter_form, key=key, value=value, string="true", type=kind)
        kind = "number" if kind == "integer" else kind
        return fill(self.parameter_form, key=key, value=dumps(value), string="false", type=kind)


class XmlReader:
    """Reads a call in tags."""

    def __init__(self, row: XmlCall, call: CallBuilder, place: BodySetting) -> None:
        self.ended = False
        self.text = ""
        self._row = row
        self._call = call
        self._place = place
        self._state: Callable[[str, int, bool], int] = self._between
        self._after_value = Marks((row.parameter_start, row.end, *place.stops.all))
        self._in_value_marks = self._marks_in_value(row.value_end)
        self._section_marks = Marks((_SECTION_END + row.value_end, _SECTION_END + _SECTION)) if row.sections else None
        self._key = ""
        self._wraps = False
        self._value_end = row.value_end
        self._kinds: Kinds = frozenset()
        self._fresh = False
        self._sectioned = False
        self._waits = False
        self._value: list[str] = []
        self._stray: list[str] = []

    def _marks_in_value(self, value_end: str) -> Marks:
        """What may end a value."""
        row = self._row
        pad = ("", "\n") if row.padded else ("",)
        ends = [mark for mark in (value_end, row.whole_end, row.end, *self._place.closes.all) if mark]
        openings = ["\n" + row.parameter_start] if row.next_ends else []
        return Marks([*(line + end for line in pad for end in ends), *openings])

    @property
    def in_value(self) -> bool:
        """Not behind a tag that ends the value, unless it is data: what follows has to tell."""
        return self._state in (self._in_value, self._before_value, self._in_section) and not self._waits

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        self._waits = False
        while at < len(text) and not self.ended:
            state, before = self._state, at
            at = state(text, at, closing)
            self._call.source.append(text[before:at])
            if at == before and state == self._state:
                break
        return at

    def stop(self, *, whole: bool) -> None:
        if whole and self._row.end_stripped and self._state == self._between:
            self._finish(LAST_MARK_MISSING)
        else:
            self._call.break_off()
        self.ended = True

    def _between(self, text: str, at: int, closing: bool) -> int:
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        row = self._row
        if row.end and text.startswith(row.end, at):
            self._finish()
            return at + len(row.end)
        if self._place.stops.pattern.match(text, at):
            self._finish(*([CLOSING_TAG_MISSING] if row.end else []))
            return at
        found = row.parameter.sees(text, at, closing=closing)
        if isinstance(found, re.Match):
            self._begin(found)
            return at + found.end()
        if not closing and (found is WAIT or self._after_value.may_begin(text, at)):
            return at
        self._stray.append(text[at])
        return at + 1

    def _begin(self, found: re.Match[str]) -> None:
        whole = found.groupdict().get("whole") is not None
        self._key = "" if whole else self._row.plain(found["key"].strip())
        self._kinds = self._call.kinds(self._key)
        groups = found.groupdict()
        said, kind = groups.get("string"), groups.get("type")
        if said == "true" or kind == "string":
            self._kinds = _STRING
        elif said == "false":  # JSON, so that the word null is null whatever the schema says
            self._kinds = (self._kinds or _ANY) | _NULL
        elif kind is not None:
            self._kinds = (self._kinds or _ANY) | ({kind} & _ANY)
        self._value_end = self._row.whole_end if whole else fill(self._row.value_end, key=self._key)
        if self._value_end not in self._in_value_marks.all:
            self._in_value_marks = self._marks_in_value(self._value_end)
        self._wraps = whole or (self._key in self._row.wrappers and self._call.lacks(self._key))
        self._fresh = self._row.padded
        self._sectioned = False
        self._value = []
        if self._wraps:
            self._kinds = _OBJECT
        else:
            self._call.open(self._key)
        self._state = self._before_value if self._row.sections else self._in_value
        if self._streams:
            self._call.tell('"')

    @property
    def _streams(self) -> bool:
        """The value is a string whatever follows, so that it can be told as it comes."""
        return not self._wraps and (self._kinds == _STRING or not (self._kinds or self._row.tree))

    def _before_value(self, text: str, at: int, closing: bool) -> int:
        """The value may stand in a section, in which every tag is data."""
        if text.startswith(_SECTION, at):
            self._state = self._in_section
            self._sectioned = True
            return at + len(_SECTION)
        if closing or not _SECTIONS.may_begin(text, at):
            self._state = self._in_value
        return at

    def _in_section(self, text: str, at: int, closing: bool) -> int:
        marks = self._section_marks
        assert marks is not None
        found = marks.pattern.search(text, at)
        if found is None:
            end = len(text) if closing else marks.hold(text, at, len(text))
            self._take(text[at:end])
            return end
        self._take(text[at : found.start()])
        if found[0].endswith(self._row.value_end):
            self._end_value()
        return found.end()

    def _in_value(self, text: str, at: int, closing: bool) -> int:
        if self._fresh:
            self._fresh = False
            if text[at] == "\n":
                return at + 1
        found = self._in_value_marks.pattern.search(text, at)
        end = found.start() if found is not None else len(text)
        if found is None and not closing:
            end = self._in_value_marks.hold(text, at, end)
        if found is None or end > at:
            self._take(text[at:end])
            return end
        repairs = self._ends(found, text, closing)
        if isinstance(repairs, NeedsMore):
            self._waits = not found[0].endswith(self._row.parameter_start)
            return at
        if repairs is None:
            self._take(found[0])
            return found.end()
        self._end_value(*repairs)
        return at if repairs else found.end()

    def _ends(self, found: re.Match[str], text: str, closing: bool) -> list[str] | NeedsMore | None:
        """What had to be mended to end the value here; None where the mark is part of the value."""
        mark, row = found[0].removeprefix("\n") if self._row.padded else found[0], self._row
        if mark in (row.value_end, row.whole_end) and mark != self._value_end:
            return None
        if mark == self._value_end:
            verdict = follows(self._after_value, text, found.end(), closing=closing)
        elif mark == row.parameter_start:
            opening = row.parameter.sees(text, found.end() - len(mark), closing=closing)
            if opening is WAIT:
                return WAIT
            key = (opening["key"] or "") if isinstance(opening, re.Match) else ""
            known = self._place.box.parameters(self._call.name)
            verdict = key in known and key not in self._call.arguments and key != self._key
        else:
            # A closing mark ends a value only where nothing at all follows.
            beyond = self._place.closes if mark == row.end else _NOTHING
            verdict = follows(beyond, text, found.end(), closing=closing)
        if isinstance(verdict, NeedsMore):
            return verdict
        if not verdict:
            return None
        return [] if mark == self._value_end else [CLOSING_TAG_MISSING]

    def _take(self, text: str) -> None:
        self._value.append(text)
        if self._streams and text:
            self._call.tell(dumps(text)[1:-1])

    def _end_value(self, *repairs: str) -> None:
        text = "".join(self._value)
        self._call.repairs += repairs
        value: Json = text
        if self._wraps:
            value = self._unwrap(text)
        elif self._streams:
            self._call.give(self._key, text)
            self._call.tell('"')
        else:
            value, mended = self._read(text)
            self._call.give(self._key, value)
            self._call.repairs += mended
            self._call.tell(dumps(value))
        is_marked_up = bool(self._row.tree) and f"{self._row.tree}<" in text
        if isinstance(value, str) or is_marked_up:  # any other value was read to its end
            self._look_inside(text, whole=not repairs)
        self._state = self._between

    def _look_inside(self, text: str, *, whole: bool) -> None:
        """Doubt a value whose own end is missing, so that the value holds more of the call.

        Args:
            text: the value.
            whole: it ended with its own mark, which may be that of another value.
        """
        if self._holds_another(text) or (not whole and self._holds_mark(text)):
            end = f"the end of the value of {self._key[:40]!r} is missing"
            self._call.doubt(f"{end}, and more of the call stands in it")

    def _holds_another(self, text: str) -> bool:
        """A parameter begins in the text of a value and does not end there."""
        row, depth, ends = self._row, 0, 0
        if self._sectioned and text.count(_SECTION) <= text.count(_SECTION_END):
            return False  # in a section every tag is data
        if row.value_start and row.value_start in text:
            for found in _key_before(row.value_start).finditer(text):
                self._call.begins_inside(found[1], self._key)
        if row.parameter_start not in text and self._value_end not in text:
            return False
        for found in _begins_or_ends(row.parameter_start, row.value_end).finditer(text):
            if found["begins"] is None:
                ends += not depth
                if not depth and ends <= ENDS_MAX and (half := self._half_key_at(text, found.end())):
                    self._call.begins_inside(half, self._key)
                depth = max(0, depth - 1)
            elif (key := self._key_at(text, found.start())) is not None:
                self._call.begins_inside(key, self._key)
                depth += 1
        return depth > 0

    def _key_at(self, text: str, at: int) -> str | None:
        """The name of the parameter that begins here; None where none does, but another mark, or other text."""
        head = self._row.parameter.sees(text, at, closing=True)
        if not isinstance(head, re.Match) or self._place.stops.pattern.match(text, at):
            return None
        return self._row.plain((head["key"] or "").strip())

    def _half_key_at(self, text: str, at: int) -> str:
        """The name of a parameter behind the end of a value, where the mark is missing that begins the parameter, or a
        part of it; empty where no name stands there: then the mark is data, as in text that tells of marks.
        """
        words = "|".join(re.findall(r"\w+", self._row.parameter_start)) or "parameter"
        head = _half_key(words).match(text, at)
        return self._row.plain(head["key"]) if head is not None else ""

    def _holds_mark(self, text: str) -> bool:
        """Whether the text of a value holds a mark of a parameter or of a call."""
        marks = [mark for mark in (self._value_end, self._row.end, self._row.parameter_start) if mark]
        return any(mark in text for mark in marks) or self._place.stops.pattern.search(text) is not None

    def _read(self, text: str) -> tuple[Json, tuple[str, ...]]:
        """The value of a text that is no string as it stands."""
        mark = self._row.tree
        if not mark or (text.strip() and f"{mark}<" not in text):
            return read_text(text, self._kinds)
        try:
            return read_tree(text, mark, *self._call.schema(self._key)), ()
        except JsonProblem as problem:
            self._call.doubt(str(problem))
            return text, ()

    def _unwrap(self, text: str) -> Json:
        """The arguments are inside a parameter that the tool does not have. Returns its value."""
        wrapped, mended = read_text(text, self._kinds)
        self._call.repairs += mended
        if isinstance(wrapped, dict) and self._key:
            self._call.repairs.append(f"took the arguments out of {self._key!r}")
        elif not self._key and not isinstance(wrapped, dict):
            self._call.doubt(f"{text[:40]!r} is no object of arguments")
        for key, value in wrapped.items() if isinstance(wrapped, dict) else [(self._key, wrapped)]:
            self._call.open(key)
            self._call.give(key, value)
            self._call.tell(dumps(value))
        return wrapped

    def _finish(self, *repairs: str) -> None:
        self._call.repairs += repairs
        self._call.stray("".join(self._stray))
        self._call.end()
        self.ended = True


@functools.cache
def _begins_or_ends(begin: str, value_end: str) -> re.Pattern[str]:
    """A mark by which a parameter begins, or one that ends a value."""
    ends = re.escape(value_end).replace(re.escape("{key}"), r"[^\s<>/]{1,160}")
    return re.compile(f"{ends}|(?P<begins>{re.escape(begin)})")


@functools.cache
def _half_key(words: str) -> re.Pattern[str]:
    """A name alone in its line, or what is left of the mark of a parameter, as in `name="to">` and `=to>`."""
    return re.compile(
        rf"[^\w\n]{{0,8}}\s{{0,8}}(?:[^\w\n]{{0,8}}(?:{words})){{0,3}}[^\w\n]{{0,4}}(?P<key>[\w.\-]{{1,128}})"
        r"(?:\s{0,4}[\"'/|]?>|[\"'][\s>]|\s{0,4}</|\s{0,4}\n)"
    )


@functools.cache
def _key_before(value_start: str) -> re.Pattern[str]:
    """The word before the mark of a value, which is a name where the tags around the name were left out."""
    return re.compile(rf"([^\s<>]{{1,128}})\s{{0,8}}(?:</[^<>]{{1,40}}>)?\s{{0,8}}{re.escape(value_start)}")


_NOTHING = Marks(())
_NULL: Kinds = frozenset(("null",))
_STRING: Kinds = frozenset(("string",))
_OBJECT: Kinds = frozenset(("object",))
_ANY: Kinds = frozenset(("null", "integer", "number", "boolean", "object", "array"))
