"""Calls as Python writes them, in a list: `[f(a=1), g()]`.

The values are literals (`written_values`), each told as JSON when it is at its end. What is no literal is kept as text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from msgspec import Struct

from ..core.call import ToolCall
from ..core.json import Json, JsonProblem, dumps
from .marks import WAIT, Head, Marks, Waiting, follows
from .tagged_bodies import SPACE, BodyReader, Place, Spoken, resolve
from .toolbox import Toolbox
from .written_values import AFTER_STRING, read_python, read_text, write_python

_NAME = r"[^\W\d][\w.\-]{0,127}"
KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")
"""What a keyword looks like before its value."""

_CALL_HEAD = Head(
    re.compile(rf"\s*(?P<name>{_NAME})\s*\("), refuse=re.compile(rf"\s*+(?:[\W\d]|{_NAME}\s*[^\w.\-(\s])")
)
_QUOTE_STEPS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ("'", '"', "'''", '"""')}


class PythonicCall(Struct, frozen=True, kw_only=True):
    """Calls as Python writes them, in a list.

    Attributes:
        listed: the list's brackets may be missing behind an opening mark, where there is one call.
        suffix: what stands behind each name and is no part of it.
    """

    listed: bool = True
    suffix: str = ""

    @property
    def head(self) -> Head:
        return _LIST_HEAD if self.listed else _ONE_HEAD

    def bare(self, box: Toolbox) -> Head | None:
        return _BARE_LIST if self.listed else None

    def reader(self, head: re.Match[str], place: Place) -> BodyReader:
        return PythonicReader(place, listed=head[0].startswith("["), suffix=self.suffix)

    def write(self, call: ToolCall, index: int) -> str:
        if not call.complete:
            return f"{call.name}({call.raw}"
        return f"{call.name}({', '.join([_argument(key, value) for key, value in call.arguments.items()])})"


_LIST_HEAD = Head(
    re.compile(rf"\[(?=\s*{_NAME}\()|(?={_NAME}\()"),
    refuse=re.compile(rf"[^\w\[]|\d|\[\s*(?:[^\w\s]|\d)|\[?\s*+{_NAME}[^\w.\-(]"),
)
_ONE_HEAD = Head(re.compile(rf"(?={_NAME}\()"), refuse=re.compile(rf"[\W\d]|{_NAME}[^\w.\-(]"))
_BARE_LIST = Head(
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

    def __init__(self, place: Place, *, listed: bool, suffix: str) -> None:
        self.ended = False
        self.text = ""
        self._place = place
        self._listed = listed
        self._suffix = suffix
        self._marks = re.compile("|".join([place.stops.pattern.pattern, r"""[\\"'()\[\]{},]"""]))
        self._after_string = Marks((*AFTER_STRING, *place.stops.all))
        self._state: Callable[[str, int, bool], int] = self._name
        self._call: Spoken | None = None
        self._argument: list[str] = []
        self._quote = ""
        self._depth = 0
        self._positions = 0

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        while at < len(text) and not self.ended:
            state, before = self._state, at
            at = state(text, at, closing)
            if at == before and state == self._state:
                break
        return at

    def stop(self) -> None:
        if self._call is not None:
            self._call.break_off()
        self.ended = True

    def _name(self, text: str, at: int, closing: bool) -> int:
        found = _CALL_HEAD.sees(text, at, closing=closing)
        if isinstance(found, re.Match):
            name, repairs = resolve(found["name"].removesuffix(self._suffix), self._place.box)
            self._call = Spoken(name, repairs, self._place)
            self._positions = 0
            self._state = self._in_arguments
            return at + found.end()
        self.ended = found is not WAIT
        return at

    def _behind(self, text: str, at: int, closing: bool) -> int:
        """Behind a call: a comma and the next, or the end of the list."""
        space = SPACE.match(text, at)
        if space is not None and space.end() > at:
            return space.end()
        if text[at] == ",":
            self._state = self._name
            return at + 1
        self.ended = True
        return at + (text[at] == "]")

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
            self.ended = True
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
            if isinstance(ends, Waiting):
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
            self._set(keyword[1], source[keyword.end() :].strip())
        elif source.startswith("**"):
            self._spread(source[2:])
        else:
            names = self._place.box.parameters(self._call.name)
            self._call.repairs.append("took values by the order of the parameters")
            key = names[self._positions] if self._positions < len(names) else f"argument_{self._positions + 1}"
            self._positions += 1
            self._set(key, source)

    def _set(self, key: str, source: str) -> None:
        assert self._call is not None
        kinds = self._call.kinds(key)
        try:
            value = read_python(source)
        except JsonProblem:
            value, mended = read_text(source, kinds)
            self._call.repairs += (*mended, f"kept {source[:40]!r} as text") if value == source else mended
        else:
            if kinds == {"string"} and isinstance(value, int | float):
                value = source
        self._call.open(key)
        self._call.arguments[key] = value
        self._call.tell(dumps(value))

    def _spread(self, source: str) -> None:
        assert self._call is not None
        try:
            found = read_python(source)
        except JsonProblem:
            found = None
        for key, value in found.items() if isinstance(found, dict) else ():
            self._call.open(key)
            self._call.arguments[key] = value
            self._call.tell(dumps(value))
        if not isinstance(found, dict):
            self._call.repairs.append(f"ignored {source[:40]!r}")

    def _end_call(self, *repairs: str) -> None:
        assert self._call is not None
        if repairs:
            self._end_argument()
        self._call.repairs += repairs
        self._call.end()
        self._call = None
        self._depth = 0
        self._state = self._behind
        self.ended = not self._listed
