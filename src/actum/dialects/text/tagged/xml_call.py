"""Calls in tags: one for the call, one for each parameter, the values as plain text.

What a value is, its parameter's schema says (`written_values`). A string is told as it comes. A tag in a value is data,
unless what stands behind it shows that the value ended there.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from ....core.call import ToolCall
from ....core.json import dumps
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

CLOSING_TAG_MISSING = "closing tag missing"


class XmlCall(Struct, frozen=True, kw_only=True):
    """A tag a parameter, its value as plain text.

    Attributes:
        head: with the group `name`.
        parameter: how a parameter begins, with the group `key`; a group `string` says by `true` or `false` whether
            the value is a string, whatever the schema says.
        value_end: what ends a value.
        end: what ends the call; empty where a closing mark does.
        padded: a line break stands around each value and is no part of it.
        form, parameter_form: how a call and a parameter are written; `{name}`, `{key}`, `{value}` are filled in.
        unmarked: the call may stand without opening mark.
    """

    head: CallHead
    parameter: CallHead
    parameter_start: str
    value_end: str
    end: str = ""
    padded: bool = False
    form: tuple[str, str]
    parameter_form: str
    unmarked: bool = True

    def bare(self, box: Toolbox) -> CallHead | None:
        return self.head if self.unmarked else None

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return XmlReader(self, CallBuilder(*resolve(head["name"], place.box), place), place)

    def write(self, call: ToolCall, index: int) -> str:
        opening, closing = (fill(part, name=call.name) for part in self.form)
        if not call.complete:
            return opening + call.raw
        return opening + "".join([self._write(key, value) for key, value in call.arguments.items()]) + closing

    def _write(self, key: str, value: object) -> str:
        if isinstance(value, str):
            return fill(self.parameter_form, key=key, value=value, string="true")
        return fill(self.parameter_form, key=key, value=dumps(value), string="false")


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
        pad = ("", "\n") if row.padded else ("",)
        ends = [mark for mark in (row.value_end, row.end, *place.closes.all) if mark]
        openings = ["\n" + row.parameter_start] if row.padded else []
        self._in_value_marks = Marks([*(line + end for line in pad for end in ends), *openings])
        self._key = ""
        self._kinds: Kinds = frozenset()
        self._fresh = False
        self._waits = False
        self._value: list[str] = []
        self._stray: list[str] = []

    @property
    def in_value(self) -> bool:
        """Not behind a tag that ends the value, unless it is data: what follows has to tell."""
        return self._state == self._in_value and not self._waits

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        self._waits = False
        while at < len(text) and not self.ended:
            state, before = self._state, at
            at = state(text, at, closing)
            self._call.source.append(text[before:at])
            if at == before and state == self._state:
                break
        return at

    def stop(self) -> None:
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
        self._key = found["key"].strip()
        self._kinds = self._call.kinds(self._key)
        said = found.groupdict().get("string")
        if said is not None:
            self._kinds = frozenset(("string",)) if said == "true" else self._kinds or _ANY
        self._fresh = self._row.padded
        self._value = []
        self._call.open(self._key)
        self._state = self._in_value
        if self._streams:
            self._call.tell('"')

    @property
    def _streams(self) -> bool:
        """The value is a string whatever follows, so that it can be told as it comes."""
        return not self._kinds or self._kinds == {"string"}

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
        if mark == row.value_end:
            verdict = follows(self._after_value, text, found.end(), closing=closing)
        elif mark == row.parameter_start:
            opening = row.parameter.sees(text, found.end() - len(mark), closing=closing)
            if opening is WAIT:
                return WAIT
            key = opening["key"] if isinstance(opening, re.Match) else ""
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
        return [] if mark == row.value_end else [CLOSING_TAG_MISSING]

    def _take(self, text: str) -> None:
        self._value.append(text)
        if self._streams and text:
            self._call.tell(dumps(text)[1:-1])

    def _end_value(self, *repairs: str) -> None:
        text = "".join(self._value)
        self._call.repairs += repairs
        if self._streams:
            self._call.give(self._key, text)
            self._call.tell('"')
        else:
            value, mended = read_text(text, self._kinds)
            self._call.give(self._key, value)
            self._call.repairs += mended
            self._call.tell(dumps(value))
        self._state = self._between

    def _finish(self, *repairs: str) -> None:
        self._call.repairs += repairs
        self._call.stray("".join(self._stray))
        self._call.end()
        self.ended = True


_NOTHING = Marks(())
_ANY: Kinds = frozenset(("null", "integer", "number", "boolean", "object", "array"))
