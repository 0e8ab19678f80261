"""Calls as Python writes them, in a list: `[f(a=1), g()]`.

The values are literals (`written_values`), each told as JSON when it is at its end. What is no literal is kept as text.

A quote that was not escaped can cut a string in two, and then what follows looks like more arguments. A call is
therefore complete only where it has one meaning: no value without a name behind a named one, no parameter with two
values, nothing that can not be read, and nothing between the end of the call and the end of the list.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from ....core.call import ToolCall
from ....core.json import (
    Ambiguous,
    Json,
    JsonProblem,
    dumps,
)
from ...written_values import (
    AFTER_STRING,
    read_python,
    read_text,
    write_python,
)
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
    resolve,
)

_NAME = r"[^\W\d][\w.\-]{0,127}"
KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")
"""What a keyword looks like before its value."""
_BLANKS = re.compile(r"[ \t\r]*")
_KEY_MAX = 140
_STRINGS_INSIDE = {
    quote: re.compile(
        rf"(?P<begins>(?:[,(]\s{{0,4}}(?P<key>[^\W\d]\w{{0,127}})\s{{0,4}}=|[,(\[{{:=])\s{{0,4}}[bru]?{quote})|(?<!\\){quote}"
    )
    for quote in "'\""
}
"""By the quote of a string: another string that begins in it, or a quote that may end one."""
_KEY_AT_END = re.compile(r"[,(]\s{0,4}([^\W\d]\w{0,127})\s{0,4}=\s{0,4}['\"]\Z")
_LATER_KEYWORD = re.compile(r"\s([^\W\d]\w*)\s*=(?!=)")

_CALL_HEAD = CallHead(
    re.compile(rf"\s*(?P<name>{_NAME})\s*\("), refuse=re.compile(rf"\s*+(?:[\W\d]|{_NAME}\s*[^\w.\-(\s])")
)
_QUOTE_STEPS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ("'", '"', "'''", '"""')}


class PythonicCall(Struct, frozen=True, kw_only=True):
    """Calls as Python writes them, in a list.

    Attributes:
        listed: the list's brackets may be missing behind an opening mark, where there is one call.
        suffix: a text behind each name that is no part of the name.
    """

    listed: bool = True
    suffix: str = ""

    @property
    def head(self) -> CallHead:
        return _LIST_HEAD if self.listed else _ONE_HEAD

    def bare(self, box: Toolbox) -> CallHead | None:
        return _BARE_LIST if self.listed else None

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return PythonicReader(place, listed=head[0].startswith("["), suffix=self.suffix)

    def write(self, call: ToolCall, index: int) -> str:
        if not call.complete:
            return f"{call.name}({call.raw}"
        return f"{call.name}({', '.join([_argument(key, value) for key, value in call.arguments.items()])})"


_LIST_HEAD = CallHead(
    re.compile(rf"\[(?=\s*{_NAME}\()|(?={_NAME}\()"),
    refuse=re.compile(rf"[^\w\[]|\d|\[\s*(?:[^\w\s]|\d)|\[?\s*+{_NAME}[^\w.\-(]"),
)
_ONE_HEAD = CallHead(re.compile(rf"(?={_NAME}\()"), refuse=re.compile(rf"[\W\d]|{_NAME}[^\w.\-(]"))
_BARE_LIST = CallHead(
    re.compile(rf"\[(?=\s*{_NAME}\(\s*(?:\)|\*\*\{{|[^\W\d]\w*\s*=[^=]))"),
    refuse=re.compile(
        rf"[^\[]|\[\s*(?:[^\w\s]|\d)|\[\s*{_NAME}[^\w.\-(]|\[\s*{_NAME}\(\s*(?:[^\w)\s*]|\d|\*[^*]|\*\*[^{{])"
        rf"|\[\s*{_NAME}\(\s*\w+\s*[^\w\s=]|\[\s*{_NAME}\(\s*\w+\s+[^\s=]|\[\s*{_NAME}\(\s*\w+\s*=="
    ),
)


def _argument(key: str, value: Json) -> str:
    if key.isidentifier() and KEYWORD.fullmatch(key + "="):
        return f"{key}={write_python(value)}"
    return f"**{{{dumps(key)}: {write_python(value)}}}"


class PythonicReader:
    """Reads calls as Python writes them."""

    def __init__(self, place: BodySetting, *, listed: bool, suffix: str) -> None:
        self.ended = False
        self.text = ""
        self._place = place
        self._listed = listed
        self._suffix = suffix
        self._marks = re.compile("|".join([place.stops.pattern.pattern, r"""[\\"'()\[\]{},]"""]))
        self._after_string = Marks((*AFTER_STRING, *place.stops.all))
        self._state: Callable[[str, int, bool], int] = self._name
        self._call: CallBuilder | None = None
        self._argument: list[str] = []
        self._quote = ""
        self._waits = False
        self._depth = 0
        self._positions = 0
        self._named = False

    @property
    def in_value(self) -> bool:
        """Not behind a quote that ends a string, unless it is data: what follows has to tell."""
        return bool(self._quote) and not self._waits

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        self._waits = False
        while at < len(text) and not self.ended:
            state, before = self._state, at
            at = state(text, at, closing)
            if at == before and state == self._state:
                break
        return at

    def stop(self, *, whole: bool) -> None:
        if self._state in (self._behind, self._next, self._alone):
            self._settle()
        elif self._call is not None:
            self._call.break_off()
        self.ended = True

    def _name(self, text: str, at: int, closing: bool) -> int:
        found = _CALL_HEAD.sees(text, at, closing=closing)
        if isinstance(found, re.Match):
            self._settle()
            name, repairs = resolve(found["name"].removesuffix(self._suffix), self._place.box)
            self._call = CallBuilder(name, repairs, self._place)
            self._positions, self._named = 0, False
            self._state = self._in_arguments
            return at + found.end()
        self.ended = found is not WAIT
        return at

    def _behind(self, text: str, at: int, closing: bool) -> int:
        """Behind a call, which is complete unless something is left over: a comma and the next, or the list's end."""
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        if text[at] == ",":
            self._state = self._next
            return at + 1
        return self._end_list(text, at, closing)

    def _alone(self, text: str, at: int, closing: bool) -> int:
        """Behind a call that is in no list. Whatever stands on its line behind it may have been a part of it."""
        space = _BLANKS.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        return self._end_list(text, at, closing, end="\n")

    def _next(self, text: str, at: int, closing: bool) -> int:
        """Behind the comma: the next call. A comma too many before the list's end is no harm."""
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        at = self._name(text, at, closing)
        if not self.ended:
            return at
        self.ended = False
        return self._end_list(text, at, closing)

    def _end_list(self, text: str, at: int, closing: bool, end: str = "]") -> int:
        """The calls end here, with the sign of their end or a mark of the row; anything else is left over."""
        stops, ends = self._place.stops, text[at] == end
        if not ends and stops.pattern.match(text, at) is None:
            if not closing and stops.may_begin(text, at):
                return at
            assert self._call is not None
            self._call.doubt("something stands behind the call that is no call, before the calls end")
        self._settle()
        self.ended = True
        return at + ends

    def _settle(self) -> None:
        """Nothing was left over behind the last call."""
        if self._call is not None:
            self._call.end()
            self._call = None

    def _in_arguments(self, text: str, at: int, closing: bool) -> int:
        if self._quote:
            return self._in_string(text, at, closing)
        found = self._marks.search(text, at)
        end = found.start() if found is not None else len(text)
        if found is None and not closing:
            end = self._place.stops.hold(text, at, end)
        if found is None or end > at:
            self._take(text[at:end])
            return end
        mark = found[0]
        if mark in ("'", '"'):
            return self._open_string(text, at, closing)
        if len(mark) > 1:  # a mark of the row: the bracket is missing
            self._end_call("closing bracket missing")
            return at
        if not self._depth and mark in ",)":
            self._end_argument()
            if mark == ")":
                self._end_call()
            return at + 1
        self._depth = max(0, self._depth + (mark in "([{") - (mark in ")]}"))
        self._take(mark)
        return at + 1

    def _open_string(self, text: str, at: int, closing: bool) -> int:
        if len(text) - at < 3 and not closing and text[at:] in (text[at], text[at] * 2):
            return at
        self._quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
        self._take(self._quote)
        return at + len(self._quote)

    def _in_string(self, text: str, at: int, closing: bool) -> int:
        found = _QUOTE_STEPS[self._quote].search(text, at)
        if found is None:
            keep = 0 if closing else max(len(self._quote) - 1, text.endswith("\\"))
            end = max(at, len(text) - keep)
            self._take(text[at:end])
            return end
        if found.start() > at:
            self._take(text[at : found.start()])
            at = found.start()
        if found[0] == self._quote and len(self._quote) == 1:
            ends = follows(self._after_string, text, found.end(), closing=closing)
            if isinstance(ends, NeedsMore):
                self._waits = True
                return at
            if ends:
                self._quote = ""
        elif found[0] == self._quote:
            self._quote = ""
        self._take(found[0])
        return found.end()

    def _take(self, text: str) -> None:
        assert self._call is not None
        self._argument.append(text)
        self._call.source.append(text)

    def _end_argument(self) -> None:
        assert self._call is not None
        source = "".join(self._argument).strip()
        self._argument = []
        self._call.source.append(",")
        if not source:
            return
        keyword = KEYWORD.match(source)
        if keyword is not None:
            self._named = True
            self._set(keyword[1], source[keyword.end() :].strip())
        elif source.startswith("**"):
            self._named = True
            self._spread(source[2:])
        else:
            self._set(self._by_order(source), source)

    def _by_order(self, source: str) -> str:
        """The parameter whose turn it is, for a value without a name."""
        assert self._call is not None
        names = self._place.box.parameters(self._call.name)
        if self._named:
            self._call.doubt(f"the value {source[:40]!r} has no name and stands behind a named one")
        elif names and self._positions >= len(names):
            self._call.doubt(f"{source[:40]!r} is a value more than there are parameters")
        self._call.repairs.append("took values by the order of the parameters")
        self._positions += 1
        return names[self._positions - 1] if self._positions <= len(names) else f"argument_{self._positions}"

    def _set(self, key: str, source: str) -> None:
        assert self._call is not None
        kinds = self._call.kinds(key)
        try:
            value = read_python(source)
        except Ambiguous as problem:
            self._call.doubt(str(problem))
            value = source
        except JsonProblem:
            value, mended = read_text(source, kinds)
            self._call.repairs += (*mended, f"kept {source[:40]!r} as text") if value == source else mended
            if value == source and self._holds_another(source):
                self._call.doubt(f"{source[:40]!r} holds another parameter")
        else:
            if kinds == {"string"} and isinstance(value, int | float):
                value = source
        if source[:1] in _STRINGS_INSIDE and not source.startswith(source[0] * 3):
            self._look_inside(key, source)
        self._give(key, value)

    def _holds_another(self, source: str) -> bool:
        """The text of a value holds what looks like another parameter of the tool: a comma may be missing."""
        assert self._call is not None
        names = self._place.box.parameters(self._call.name)
        return any(found[1] in names for found in _LATER_KEYWORD.finditer(source))

    def _look_inside(self, key: str, source: str) -> None:
        """A string in which another one begins and does not end has lost its own end."""
        assert self._call is not None
        quote, depth = source[0], 0
        bare = source.count(quote) - source.count("\\" + quote) > 2
        for found in _STRINGS_INSIDE[quote].finditer(source, 1, len(source) - 1) if bare else ():
            if found["key"]:
                self._call.begins_inside(found["key"], key)
            depth = max(0, depth - 1) if found["begins"] is None else depth + 1
        if depth:
            self._call.doubt(f"the end of the value of {key[:40]!r} is missing, and more of the call stands in it")
        elif (last := _KEY_AT_END.search(source[-_KEY_MAX:])) is not None:
            self._call.begins_inside(last[1], key)

    def _give(self, key: str, value: Json) -> None:
        assert self._call is not None
        self._call.open(key)
        self._call.give(key, value)
        self._call.tell(dumps(value))

    def _spread(self, source: str) -> None:
        assert self._call is not None
        try:
            found = read_python(source)
        except JsonProblem:
            found = None
        if not isinstance(found, dict):
            self._call.doubt(f"{source[:40]!r} can not be read")
            return
        for key, value in found.items():
            self._give(key, value)

    def _end_call(self, *repairs: str) -> None:
        assert self._call is not None
        if repairs:
            self._end_argument()
        self._call.repairs += repairs
        self._depth = 0
        self._state = self._behind if self._listed else self._alone
        if repairs:
            self._settle()
            self.ended = True
