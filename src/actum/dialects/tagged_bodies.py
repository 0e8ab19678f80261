"""How a call is written inside a model's mark-up: four ways, each read in pieces and written.

    JsonCall        {"name": "f", "arguments": {"a": 1}}        alone, in a row, in a list
    NamedCall       f<separator>{"a": 1}                        a head with the name, then the arguments as JSON
    XmlCall         <function=f><parameter=a>1</parameter></function>
    PythonicCall    [f(a=1), g()]

A row of `tagged_formats` says which of them a model writes and with what marks. A reader takes text from where the call
begins to where it ends and tells a `Speech` of it; what stands around calls is `tagged_text`'s affair. Where the call
was not JSON, its arguments are told as the JSON that they are, string by string.

A mark of the row ends a call that lacks its own end, unless it stands inside a string or a value: there it is data.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct, structs

from ..core.call import ToolCall
from ..core.json import JsonObject, JsonProblem, dumps
from .json_calls import MAY_START, START
from .json_scan import JsonScan
from .json_value import JsonValue
from .marks import WAIT, Head, Marks, Waiting, follows, unlike
from .speech import Said, Speech
from .toolbox import Toolbox, read_input, read_object
from .written_values import AFTER_STRING, Kinds, kinds_of, read_python, read_text, write_python

PIECE_MAX = 4096
"""So much is searched for a mark at once: what follows a short call is not searched again for each."""

_SPACE = re.compile(r"\s*")
CLOSING_TAG_MISSING = "closing tag missing"


class BodyReader(Protocol):
    """Reads one call, or several where the way of writing has them in one list."""

    ended: bool

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        """Take what is certain of the text from a place on; returns the place behind it."""

    def stop(self) -> None:
        """The input ended inside the call: report it as not complete."""

    @property
    def text(self) -> str:
        """What was read and is no call; empty where it was one."""


class Place(Struct, frozen=True):
    """What a reader is given: whom to tell, which tools there are, and which marks end a call.

    Attributes:
        tagged: it stands behind an opening mark.
        closes: the closing marks alone, of all `stops`.
    """

    speech: Speech
    box: Toolbox
    stops: Marks
    closes: Marks
    tagged: bool


class Body(Protocol):
    """A way of writing a call."""

    @property
    def head(self) -> Head:
        """How it begins behind an opening mark."""

    def bare(self, box: Toolbox) -> Head | None:
        """How it begins where there is no opening mark; None where that is never taken for a call."""

    def reader(self, head: re.Match[str], place: Place) -> BodyReader:
        """A reader of what follows the head."""

    def write(self, call: ToolCall, index: int) -> str:
        """The call as a model writes it; `index`: how many were written before."""


# JSON values: followed by their brackets, ended by a mark outside of strings.


class _Value(Protocol):
    ended: bool

    @property
    def in_string(self) -> bool: ...
    def feed(self, text: str, at: int) -> int: ...
    def break_off(self, *, closed: bool = False) -> str: ...


class ValueReader:
    """Feeds a value up to its end, or to a mark that stands outside of its strings."""

    def __init__(self, value: _Value, place: Place) -> None:
        self._value = value
        self._stops = place.stops
        self.ended = False
        self._text = ""

    @property
    def text(self) -> str:
        return self._text or (self._value.source if isinstance(self._value, JsonValue) and not self._value.used else "")

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        while at < len(text) and not self.ended:
            limit = min(len(text), at + PIECE_MAX)
            mark = self._stops.pattern.search(text, at, limit)
            end = mark.start() if mark is not None else limit
            if mark is None and not (closing and limit == len(text)):
                end = self._stops.hold(text, at, limit)
            start, at = at, at + self._value.feed(text[at:end], 0)
            self.ended = self._value.ended
            if self.ended or (mark is None and at == start):
                return at
            if mark is not None and self._value.in_string:
                at += self._value.feed(mark[0], 0)
            elif mark is not None:
                self._text = self._value.break_off(closed=True)
                self.ended = True
        return at

    def stop(self) -> None:
        self._text = self._value.break_off()
        self.ended = True


class JsonCall(Struct, frozen=True):
    """An object with the tool's name and its arguments."""

    name_key: str = "name"
    arguments_key: str = "arguments"
    unmarked: bool = True

    @property
    def head(self) -> Head:
        return _JSON_HEAD

    def bare(self, box: Toolbox) -> Head | None:
        return _BARE_JSON if self.unmarked else None

    def reader(self, head: re.Match[str], place: Place) -> BodyReader:
        return ValueReader(JsonValue(place.box, place.speech, tagged=place.tagged), place)

    def write(self, call: ToolCall, index: int) -> str:
        if call.complete:
            return dumps({self.name_key: call.name, self.arguments_key: call.arguments})
        return f'{{"{self.name_key}":{dumps(call.name)},"{self.arguments_key}":{call.raw}'


_JSON_HEAD = Head(re.compile(r"(?=\{|\[\s*[{\]])"), refuse=re.compile(r"[^{\[]|\[\s*[^{\]\s]"))
_BARE_JSON = Head(START, may=MAY_START)


# A name, then arguments as JSON.


class NamedCall(Struct, frozen=True, kw_only=True):
    """A head that names the tool, and its arguments.

    Attributes:
        head: with the groups `name` and perhaps `id`.
        form: how it is written; `{id}`, `{name}` and `{arguments}` are filled in.
        unmarked: how it begins where a server dropped the opening marks.
        known: likewise, what then stands behind the name of a tool that there is, one of these.
        known_rest: what the rest of such a head looks like.
        own_id: the form of the model's own ids; empty where any will do.
        made_id: an id of this form, of the `{name}` and the `{index}` of a call.
    """

    head: Head
    form: str
    unmarked: Head | None = None
    known: tuple[str, ...] = ()
    known_rest: str = ""
    own_id: str = ""
    made_id: str = ""

    def bare(self, box: Toolbox) -> Head | None:
        if not self.known or not box.tools:
            return self.unmarked
        names = "|".join(map(re.escape, sorted(box.tools, key=len, reverse=True)))
        beginnings = [name + sign for name in box.tools for sign in self.known]
        return Head(re.compile(f"(?P<name>{names}){self.known_rest}"), refuse=re.compile(unlike(*beginnings)))

    def reader(self, head: re.Match[str], place: Place) -> BodyReader:
        groups = head.groupdict()
        name, repairs = resolve(groups["name"], place.box)
        given = (groups.get("id") or "").strip()
        place.speech.begin_call(name, "" if given == groups["name"] else given)
        return ValueReader(_Arguments(name, repairs, place), place)

    def id_of(self, call: ToolCall, index: int) -> str:
        """The id of a call in this form."""
        if not self.own_id or re.fullmatch(self.own_id, call.id):
            return call.id
        return self.made_id.format(name=call.name, index=index)

    def write(self, call: ToolCall, index: int) -> str:
        arguments = dumps(call.arguments) if call.complete else call.raw
        written = self.form.split("{arguments}")
        head = written[0].replace("{id}", self.id_of(call, index)).replace("{name}", call.name)
        return head + arguments + (written[1] if call.complete else "")


def resolve(said: str, box: Toolbox) -> tuple[str, tuple[str, ...]]:
    """The tool of a name in a head; the name itself where there is no such tool."""
    name = said.strip()
    found = box.find(name)
    if found is None and name.isdigit() and len(box.tools) == 1:
        (only,) = box.tools
        return only, (f"read {name!r} as {only!r}",)
    return found or (name, ())


class _Arguments:
    """The arguments of a call whose name is known: an object, or whatever stands there instead."""

    def __init__(self, name: str, repairs: tuple[str, ...], place: Place) -> None:
        self.ended = False
        self._name = name
        self._repairs = repairs
        self._place = place
        self._scan: JsonScan | None = None
        self._pieces: list[str] = []

    @property
    def in_string(self) -> bool:
        return self._scan is not None and self._scan.in_string

    def feed(self, text: str, at: int) -> int:
        if not self._pieces:
            space = _SPACE.match(text, at)
            assert space is not None
            at = space.end()
            if at == len(text):
                return at
            if text[at] == "{":
                self._scan = JsonScan()
        start = at
        if self._scan is None:
            self._pieces.append(text[at:])
            return len(text)
        mark = " "
        while mark:
            at, mark = self._scan.next(text, at)
            at += bool(mark)
            if mark in "}]" and mark and not self._scan.depth:
                break
        self._pieces.append(text[start:at])
        self._place.speech.call_text(text[start:at])
        if mark:
            self._end(read_object(self._name, "".join(self._pieces)))
        return at

    def break_off(self, *, closed: bool = False) -> str:
        source = "".join(self._pieces)
        if not closed:
            said = Said(self._name, {}, source, complete=False)
        elif self._scan is None:
            said = read_input(self._name, source, self._place.box)
            self._place.speech.call_text(dumps(said.arguments) if said.complete else said.raw)
        else:
            said = read_object(self._name, source.rstrip("` \t\r\n"), close=True)
        self._end(said)
        return ""

    def _end(self, said: Said) -> None:
        self.ended = True
        self._place.speech.end_call(structs.replace(said, repairs=(*self._repairs, *said.repairs)))


class _Spoken:
    """A call whose arguments become JSON piece by piece."""

    def __init__(self, name: str, repairs: tuple[str, ...], place: Place) -> None:
        self.name = name
        self.arguments: JsonObject = {}
        self.repairs = list(repairs)
        self.source: list[str] = []
        self._speech = place.speech
        self._tool = place.box.tools.get(name)
        self._begun = False
        place.speech.begin_call(name)

    def kinds(self, key: str) -> Kinds:
        """The types that a parameter may have."""
        return kinds_of(self._tool, key)

    def open(self, key: str) -> None:
        """The value of this parameter follows."""
        if key in self.arguments:
            self.repairs.append(f"duplicate key {key[:40]!r}: kept the last")
        self._speech.call_text(("," if self._begun else "{") + dumps(key) + ":")
        self._begun = True

    def tell(self, source: str) -> None:
        """More of the arguments' JSON."""
        self._speech.call_text(source)

    def end(self) -> None:
        """The call is complete."""
        self._speech.call_text("}" if self._begun else "{}")
        self._speech.end_call(Said(self.name, self.arguments, repairs=tuple(self.repairs)))

    def break_off(self) -> None:
        """The call is not complete."""
        self._speech.end_call(Said(self.name, {}, "".join(self.source), complete=False, repairs=tuple(self.repairs)))


# Tags with parameters.


class XmlCall(Struct, frozen=True, kw_only=True):
    """A tag a parameter, its value as plain text.

    Attributes:
        head: with the group `name`.
        parameter: how a parameter begins, with the group `key`; where it has a group `text`, only values with that
            group are plain text, others are JSON.
        value_end: what ends a value.
        end: what ends the call; empty where a closing mark does.
        padded: a line break stands around each value and is no part of it.
        form, parameter_form: how a call and a parameter are written; `{name}`, `{key}`, `{value}` are filled in.
        unmarked: the call may stand without opening mark.
    """

    head: Head
    parameter: Head
    parameter_start: str
    value_end: str
    end: str = ""
    padded: bool = False
    form: tuple[str, str]
    parameter_form: str
    unmarked: bool = True

    def bare(self, box: Toolbox) -> Head | None:
        return self.head if self.unmarked else None

    def reader(self, head: re.Match[str], place: Place) -> BodyReader:
        return XmlReader(self, _Spoken(*resolve(head["name"], place.box), place), place)

    def write(self, call: ToolCall, index: int) -> str:
        opening, closing = (part.replace("{name}", call.name) for part in self.form)
        if not call.complete:
            return opening + call.raw
        return opening + "".join([self._write(key, value) for key, value in call.arguments.items()]) + closing

    def _write(self, key: str, value: object) -> str:
        text = value if isinstance(value, str) else dumps(value)
        string = "true" if isinstance(value, str) else "false"
        form = self.parameter_form.replace("{string}", string).replace("{key}", key)
        return form.replace("{value}", text, 1)


class XmlReader:
    """Reads a call in tags."""

    def __init__(self, row: XmlCall, call: _Spoken, place: Place) -> None:
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
        self._value: list[str] = []
        self._stray: list[str] = []

    def feed(self, text: str, at: int, *, closing: bool) -> int:
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
        space = _SPACE.match(text, at)
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
        if "string" in found.groupdict():
            plain = found["string"] == "true"
            self._kinds = frozenset(("string",)) if plain else self._kinds or _ANY
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
        if isinstance(repairs, Waiting):
            return at
        if repairs is None:
            self._take(found[0])
            return found.end()
        self._end_value(*repairs)
        return at if repairs else found.end()

    def _ends(self, found: re.Match[str], text: str, closing: bool) -> list[str] | Waiting | None:
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
            beyond = self._place.closes if mark == row.end else self._place.stops
            verdict = follows(beyond, text, found.end(), closing=closing)
        if isinstance(verdict, Waiting):
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
            self._call.arguments[self._key] = text
            self._call.tell('"')
        else:
            value, mended = read_text(text, self._kinds)
            self._call.arguments[self._key] = value
            self._call.repairs += mended
            self._call.tell(dumps(value))
        self._state = self._between

    def _finish(self, *repairs: str) -> None:
        self._call.repairs += repairs
        stray = "".join(self._stray)
        if stray:
            self._call.repairs.append(f"ignored {stray[:40]!r} between the parameters")
        self._call.end()
        self.ended = True


_ANY: Kinds = frozenset(("null", "integer", "number", "boolean", "object", "array"))


# Python calls.

_NAME = r"[^\W\d][\w.\-]{0,127}"
_KEYWORD = re.compile(r"\s*([^\W\d]\w*)\s*=(?!=)")
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


def _argument(key: str, value: object) -> str:
    if key.isidentifier() and _KEYWORD.fullmatch(key + "="):
        return f"{key}={write_python(value)}"  # type: ignore[arg-type]  # arguments are JSON
    return f"**{{{dumps(key)}: {write_python(value)}}}"  # type: ignore[arg-type]


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
        self._call: _Spoken | None = None
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
            self._call = _Spoken(name, repairs, self._place)
            self._positions = 0
            self._state = self._in_arguments
            return at + found.end()
        self.ended = found is not WAIT
        return at

    def _behind(self, text: str, at: int, closing: bool) -> int:
        """Behind a call: a comma and the next, or the end of the list."""
        space = _SPACE.match(text, at)
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
            return found.start()
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
        keyword = _KEYWORD.match(source)
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
