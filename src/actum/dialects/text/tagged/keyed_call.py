"""Calls with bare keys, their strings between marks of their own: `call:f{city:<escape>Oslo<escape>,days:3}`.

What a value is, its parameter's schema says (`written_values`). A string between its marks is told as it comes; a list,
an object or a bare word is told when it is at its end. A mark of strings inside a string is data, unless what stands
behind it shows that the string ended there. A string in which another one begins and does not end has lost its own end:
the call is not complete.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Final

from msgspec import Struct, structs

from ....core.call import ToolCall
from ....core.json import (
    Json,
    JsonObject,
    JsonProblem,
    dumps,
    parse,
)
from ....core.tool import Tool
from ...written_values import Kinds, read_text
from ..marks import (
    WAIT,
    CallHead,
    KnownHead,
    Marks,
    NeedsMore,
    begun,
    follows,
    unlike,
)
from ..toolbox import Toolbox
from .bodies import (
    SPACE,
    BodyReader,
    BodySetting,
    CallBuilder,
    resolve,
)

_NAME = r"[^\s:{}<>()]"
_HEAD = CallHead(
    re.compile(rf"call:(?P<name>{_NAME}{{1,128}})\{{"),
    refuse=re.compile(rf"{unlike('call:')}|call:(?:(?!{_NAME}|\Z)|{_NAME}{{129}}|{_NAME}++[^{{])"),
)
_MARKED_HEAD = CallHead(
    re.compile(rf"(?::?call:|:)?(?P<name>{_NAME}{{1,128}})\{{"),
    may=re.compile(
        "|".join(begun(before, re.compile(rf"{_NAME}{{1,128}}"), "{") for before in ("", ":", "call:", ":call:"))
    ),
)
"""Behind an opening mark the word `call` may be missing, or `call:`, or `call:` stands behind a colon too many."""
_BARE = KnownHead(_HEAD.match, refuse=_HEAD.refuse, word=re.compile(r"[^\s{}<>()]+"))
_PLAIN_KEY = re.compile(r"[\w.\-]+")
_SCALAR = re.compile(r"true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_CLOSERS: Final = {"{": "}", "[": "]"}
_BRACKET_MISSING = "closing bracket missing"


class KeyedCall(Struct, frozen=True):
    """Calls with bare keys.

    Attributes:
        quote: the mark on both sides of a string.
    """

    quote: str

    @property
    def head(self) -> CallHead:
        return _MARKED_HEAD

    def bare(self, box: Toolbox) -> CallHead | None:
        names = {f"call:{name}" for name in box.tools}
        beginnings = {name[:end] for name in names for end in range(1, len(name) + 1)}
        return structs.replace(_BARE, names=frozenset(names), beginnings=frozenset(beginnings))

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return KeyedReader(self.quote, CallBuilder(*resolve(head["name"], place.box), place), place)

    def write(self, call: ToolCall, index: int) -> str:
        return f"call:{call.name}" + (write_keyed(call.arguments, self.quote) if call.complete else "{" + call.raw)

    def declare(self, tool: Tool) -> str:
        """A tool in the same notation, as the models are told of it."""
        told: JsonObject = {"description": tool.description, "parameters": _loud(tool.parameters)}
        return f"declaration:{tool.name}" + write_keyed(told, self.quote)


def write_keyed(value: Json, quote: str) -> str:
    """A value with bare keys; `quote` stands on both sides of a string, and of a key that is no word."""
    match value:
        case str():
            return quote + value + quote
        case list():
            return "[" + ",".join([write_keyed(item, quote) for item in value]) + "]"
        case dict():
            keys = [key if _PLAIN_KEY.fullmatch(key) else quote + key + quote for key in value]
            values = [write_keyed(item, quote) for item in value.values()]
            return "{" + ",".join([f"{key}:{item}" for key, item in zip(keys, values, strict=True)]) + "}"
        case _:
            return dumps(value)


def _holds_another(said: str, mark: str) -> bool:
    """Whether a string begins in the text of another and does not end there: right behind the text before a value."""
    depth = 0
    for found in _begins_or_ends(mark).finditer(said) if mark in said else ():
        depth = depth + 1 if found["begins"] is not None else max(0, depth - 1)
    return depth > 0


def _keys_inside(said: str, mark: str) -> list[str]:
    """The keys in the text of a string behind which another string begins, or would begin with its closing mark."""
    return [found[1] for found in _later_key(mark).finditer(said)] if ":" in said else []


@functools.cache
def _later_key(mark: str) -> re.Pattern[str]:
    return re.compile(rf",\s{{0,4}}([\w.\-]{{1,160}})\s{{0,4}}:\s{{0,4}}(?:{re.escape(mark)}|\Z)")


@functools.cache
def _begins_or_ends(mark: str) -> re.Pattern[str]:
    """A mark of strings, where no backslash makes data of it."""
    return re.compile(rf"(?P<begins>(?:[,\[{{]|:\s{{0,4}}){re.escape(mark)})|(?<!\\){re.escape(mark)}")


def _loud(schema: Json) -> Json:
    """A schema with the names of its types in capitals."""
    match schema:
        case dict():
            return {k: v.upper() if k == "type" and isinstance(v, str) else _loud(v) for k, v in schema.items()}
        case list():
            return [_loud(item) for item in schema]
        case _:
            return schema


class KeyedReader:
    """Reads the text between the brackets of such a call."""

    def __init__(self, quote: str, call: CallBuilder, place: BodySetting) -> None:
        self.ended = False
        self.text = ""
        self._quote = quote
        self._call = call
        self._stops = place.stops
        self._state: Callable[[str, int, bool], int] = self._in_key
        self._quotes = Marks((quote,))
        self._marks = Marks((quote, *place.stops.all, *'{}[],:"'))
        self._behind_string = Marks((*",}]:", *place.stops.all))
        mark = re.escape(quote)
        self._key_head = CallHead(
            re.compile(
                rf'(?:{mark}(?P<quoted>.{{0,160}}?){mark}|"(?P<json>[^"\n]{{0,160}})"|(?P<bare>[^\s:{{}}\[\],"<]'
                rf"[^:{{}}\[\],<\n]{{0,160}}))\s*:",
                re.DOTALL,
            ),
            refuse=re.compile(
                rf'[:{{}}\[\],]|[^"<\s:{{}}\[\],][^:{{}}\[\],<\n]*[{{}}\[\],<\n]|(?=<){unlike(quote)}|"[^"]*\n'
            ),
        )
        self._key = ""
        self._kinds: Kinds = frozenset()
        self._until = ""
        self._stack: list[str] = []
        self._word: list[str] = []
        self._blank = True
        self._waits = False
        self._json: list[str] = []
        self._string: list[str] = []
        self._value: list[str] = []
        self._stray: list[str] = []

    @property
    def in_value(self) -> bool:
        """Not behind a mark that ends a string, unless it is data: what follows has to tell."""
        return self._state == self._in_string and not self._waits

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        self._waits = False
        while at < len(text) and not self.ended:
            state, before = self._state, at
            at = state(text, at, closing)
            taken = text[before:at]
            self._call.source.append(taken)
            self._value.append(taken)
            if at == before and state == self._state:
                break
        return at

    def stop(self, *, whole: bool) -> None:
        self._call.break_off()
        self.ended = True

    # Between values.

    def _in_key(self, text: str, at: int, closing: bool) -> int:
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        if text[at] == "}":
            self._finish()
            return at + 1
        if self._stops.pattern.match(text, at):
            self._finish(_BRACKET_MISSING)
            return at
        if text[at] == ",":
            return at + 1
        found = self._key_head.sees(text, at, closing=closing)
        if isinstance(found, re.Match):
            self._key = (found["quoted"] or found["json"] or "") if found["bare"] is None else found["bare"].strip()
            if self._quote in self._key:
                self._call.doubt(f"the end of the name {self._key[:40]!r} is missing")
            self._kinds = self._call.kinds(self._key)
            self._call.open(self._key)
            self._word, self._blank, self._json, self._value = [], True, [], []
            self._state = self._in_space
            return at + found.end()
        if not closing and (found is WAIT or self._stops.may_begin(text, at)):
            return at
        self._stray.append(text[at])
        return at + 1

    def _in_space(self, text: str, at: int, closing: bool) -> int:
        """Before a value, which may begin with a mark of strings."""
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        if not closing and self._quotes.may_begin(text, at):
            return at
        self._state = self._in_value
        if self._streams and text.startswith(self._quote, at):
            self._call.tell('"')
        return at

    @property
    def _streams(self) -> bool:
        """A string between its marks is one whatever it holds, so that it can be told as it comes."""
        return not self._kinds or self._kinds == {"string"}

    # Values: words, strings, and brackets around them, which become JSON.

    def _in_value(self, text: str, at: int, closing: bool) -> int:
        found = self._marks.pattern.search(text, at)
        end = found.start() if found is not None else len(text)
        hold = len(text) if closing else self._marks.hold(text, at, len(text))
        if hold < end:  # a mark may hold the sign of another
            found, end = None, hold
        if found is None or end > at:
            self._add_word(text[at:end])
            return end
        mark, fresh = found[0], self._blank and (self._stack or not self._json)
        if fresh and mark in (self._quote, '"'):
            self._until, self._string = mark, []
            self._state = self._in_string
        elif mark in self._stops.all:
            self._json += [_CLOSERS[bracket] for bracket in self._end_word()]
            self._end_value(*([_BRACKET_MISSING] if self._stack else []))
            return at
        elif not self._stack and mark in ",}":
            self._end_value()
            return at
        elif fresh and mark in "{[":
            self._stack.append(mark)
            self._json.append(mark)
        elif self._stack and mark in "}]:,":
            self._in_brackets(mark)
        else:
            self._add_word(mark)
        return found.end()

    def _add_word(self, text: str) -> None:
        self._word.append(text)
        self._blank = self._blank and not text.strip()

    def _in_brackets(self, mark: str) -> None:
        self._end_word(key=mark == ":")
        if mark in "}]":
            mark = _CLOSERS[self._stack.pop()]
        self._json.append(mark)
        if not self._stack:
            self._end_value()

    def _end_word(self, *, key: bool = False) -> list[str]:
        """A bare word inside of brackets is at its end. Returns the brackets that are open, the innermost first."""
        word, self._word, self._blank = "".join(self._word).strip(), [], True
        if word and self._stack:
            self._json.append(word if _SCALAR.fullmatch(word) and not key else dumps(word))
        elif word:
            self._word = [word]
        return self._stack[::-1]

    def _in_string(self, text: str, at: int, closing: bool) -> int:
        mark, told = self._until, self._until == self._quote and not self._stack and self._streams
        place = text.find(mark, at)
        end = place if place >= 0 else len(text)
        if place < 0 and not closing and mark == self._quote:
            end = self._quotes.hold(text, at, end)
        if place < 0 or end > at:
            self._take(text[at:end], told=told)
            return end
        ends = follows(self._behind_string, text, at + len(mark), closing=closing)
        if isinstance(ends, NeedsMore):
            self._waits = True
            return at
        if not ends or (mark == '"' and self._string and self._string[-1].endswith("\\")):
            self._take(mark, told=told)
            return at + len(mark)
        self._state = self._in_value
        said = "".join(self._string)
        for key in _keys_inside(said, mark):
            self._call.begins_inside(key, self._key)
        if _holds_another(said, mark):
            self._call.doubt(
                f"the end of the value of {self._key[:40]!r} is missing, and more of the call stands in it"
            )
        if self._stack or mark == '"':
            self._json.append(f'"{said}"' if mark == '"' else dumps(said))
        elif told:
            self._call.tell('"')
            self._keep(said)
        else:
            self._keep(*read_text(said, self._kinds), tell=True)
        return at + len(mark)

    def _take(self, text: str, *, told: bool) -> None:
        self._string.append(text)
        if told and text:
            self._call.tell(dumps(text)[1:-1])

    # The end of a value, and of the call.

    def _end_value(self, *repairs: str) -> None:
        self._call.repairs += repairs
        source = "".join(self._json) or "".join(self._word).strip()
        self._stack = []
        kinds = self._kinds and self._kinds | {"null"}  # strings stand between marks, so that the bare word is null
        try:
            value, mended = parse(source) if self._json or not kinds else read_text(source, kinds)
        except JsonProblem:
            value = "".join(self._value).strip() if self._json else source
            mended = (f"kept {value[:40]!r} as text",) if self._json else ()
        self._keep(value, mended, tell=True)

    def _keep(self, value: Json, repairs: tuple[str, ...] = (), *, tell: bool = False) -> None:
        self._call.give(self._key, value)
        self._call.repairs += repairs
        if tell:
            self._call.tell(dumps(value))
        self._state = self._in_key

    def _finish(self, *repairs: str) -> None:
        self._call.repairs += repairs
        self._call.stray("".join(self._stray))
        self._call.end()
        self.ended = True
