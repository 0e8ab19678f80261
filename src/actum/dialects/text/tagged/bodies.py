"""How a call is written inside a model's mark-up: four ways, each read in pieces and written.

    JsonCall        {"name": "f", "arguments": {"a": 1}}        alone, in a row, in a list
    NamedCall       f<separator>{"a": 1}                        a head with the name, then the arguments as JSON
    XmlCall         <function=f><parameter=a>1</parameter></function>       see `xml_call`
    PythonicCall    [f(a=1), g()]                                           see `pythonic_call`

A row of `formats` says which of them a model writes and with what marks. A reader takes text from where the call begins
to where it ends and tells a `Speech` of it; the text around calls is `tagged.dialect`'s affair. Where the call was not
JSON, its arguments are told as JSON, string by string.

A mark of the row ends a call that lacks its own end, unless it stands inside a string or a value: there it is data.
"""

from __future__ import annotations

import re
from typing import Protocol

from msgspec import Struct, structs

from ....core.call import ToolCall
from ....core.json import (
    Json,
    JsonObject,
    JsonProblem,
    dumps,
    given_twice,
)
from ...json_scan import JsonScan
from ...written_values import Kinds, kinds_of
from ..json.calls import MAY_START, START
from ..json.value import JsonValue
from ..marks import CallHead, KnownHead, Marks
from ..speech import CallRead, Speech
from ..toolbox import Toolbox, read_input, read_object

PIECE_MAX = 4096
"""The most text that is searched for a mark at once, so that the text behind a short call is not searched again for
each."""

SPACE = re.compile(r"\s*")
_BLANK = re.compile(r"\{(\w+)\}")


def fill(form: str, **values: str) -> str:
    """A form with its blanks filled in, in one pass: what is filled in may hold the name of a blank.

    >>> fill("{name}[{id}]", name="{id}", id="x")
    '{id}[x]'
    """
    return _BLANK.sub(lambda blank: values.get(blank[1], blank[0]), form)


class BodyReader(Protocol):
    """Reads one call, or several where the way of writing has them in one list."""

    ended: bool

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        """Take what is certain of the text from a place on; returns the place behind it."""

    def stop(self, *, whole: bool) -> None:
        """The input ended inside the call: report it as not complete.

        Args:
            whole: the output is known to have come to its own end, so that only a mark can be missing that servers take
                away.
        """

    @property
    def text(self) -> str:
        """What was read and is no call; empty where it was one."""

    @property
    def in_value(self) -> bool:
        """The text so far ends inside of a value, so that a mark would be data."""


class BodySetting(Struct, frozen=True):
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
    def head(self) -> CallHead:
        """How it begins behind an opening mark."""

    def bare(self, box: Toolbox) -> CallHead | None:
        """How it begins where there is no opening mark; None where that is never taken for a call."""

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
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


_LOST_QUOTE = re.compile(r"[}\]]\s*\n[\s`]*\Z")
_TAIL_MAX = 32


class ValueReader:
    """Feeds a value up to its end, or to a mark that stands outside of its strings.

    A quote that was not escaped turns strings inside out. A closing mark ends the value all the same where a bracket
    and a raw line break stand before it: no string of JSON has one.
    """

    def __init__(self, value: _Value, place: BodySetting) -> None:
        self._value = value
        self._stops = place.stops
        self._closes = place.closes
        self.ended = False
        self._text = ""
        self._tail = ""

    @property
    def text(self) -> str:
        return self._text or (self._value.source if isinstance(self._value, JsonValue) and not self._value.used else "")

    @property
    def in_value(self) -> bool:
        return self._value.in_string

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        while at < len(text) and not self.ended:
            limit = min(len(text), at + PIECE_MAX)
            mark = self._stops.pattern.search(text, at, limit)
            end = mark.start() if mark is not None else limit
            if mark is None and not (closing and limit == len(text)):
                end = self._stops.hold(text, at, limit)
            start, at = at, at + self._value.feed(text[at:end], 0)
            self._tail = (self._tail + text[max(start, at - _TAIL_MAX) : at])[-_TAIL_MAX:]
            self.ended = self._value.ended
            if self.ended or (mark is None and at == start):
                return at
            if mark is not None and self._value.in_string and not self._lost_quote(mark[0]):
                at += self._value.feed(mark[0], 0)
                self._tail = mark[0][-_TAIL_MAX:]
            elif mark is not None:
                self._text = self._value.break_off(closed=True)
                self.ended = True
        return at

    def stop(self, *, whole: bool) -> None:
        self._text = self._value.break_off()
        self.ended = True

    def _lost_quote(self, mark: str) -> bool:
        return mark in self._closes.all and _LOST_QUOTE.search(self._tail) is not None


class JsonCall(Struct, frozen=True):
    """An object with the tool's name and its arguments.

    Attributes:
        unmarked: it may stand without opening mark.
        fenced: it may stand in a code fence behind one.
    """

    name_key: str = "name"
    arguments_key: str = "arguments"
    id_key: str = ""
    unmarked: bool = True
    fenced: bool = False

    @property
    def head(self) -> CallHead:
        return _FENCED_HEAD if self.fenced else _JSON_HEAD

    def bare(self, box: Toolbox) -> CallHead | None:
        return _BARE_JSON if self.unmarked else None

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return ValueReader(JsonValue(place.box, place.speech, tagged=place.tagged), place)

    def write(self, call: ToolCall, index: int) -> str:
        told: JsonObject = {self.id_key: call.id} if self.id_key and call.id else {}
        told[self.name_key] = call.name
        if call.complete:
            return dumps({**told, self.arguments_key: call.arguments})
        return f'{dumps(told)[:-1]},"{self.arguments_key}":{call.raw}'


_JSON_HEAD = CallHead(re.compile(r"(?=\{|\[\s*[{\]])"), refuse=re.compile(r"[^{\[]|\[\s*[^{\]\s]"))
_FENCED_HEAD = CallHead(
    re.compile(r"(?:`{3,16}[a-z]{0,16}\s*)?(?=\{|\[\s*[{\]])"),
    refuse=re.compile(r"[^`{\[]|`{1,2}[^`]|`{17}|`{3,16}[a-z]*+\s*+[^a-z\s{\[`]|`{3,16}[a-z]{17}|\[\s*[^{\]\s]"),
)
_BARE_JSON = CallHead(START, may=MAY_START)


# A name, then arguments as JSON.


class NamedCall(Struct, frozen=True, kw_only=True):
    """A head that names the tool, and its arguments.

    Attributes:
        head: with the groups `name` and perhaps `id`.
        form: how it is written; `{id}`, `{name}` and `{arguments}` are filled in.
        unmarked: how it begins where a server dropped the opening marks.
        known: likewise, behind the name of a tool that there is.
        own_id: the form of the model's own ids; empty where any will do.
        made_id: an id of this form, of the `{name}` and the `{index}` of a call.
    """

    head: CallHead
    form: str
    unmarked: CallHead | None = None
    known: KnownHead | None = None
    own_id: str = ""
    made_id: str = ""

    def bare(self, box: Toolbox) -> CallHead | None:
        if self.known is None:
            return self.unmarked
        beginnings = {name[:end] for name in box.tools for end in range(1, len(name) + 1)}
        return structs.replace(self.known, names=frozenset(box.tools), beginnings=frozenset(beginnings))

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        groups = head.groupdict()
        name, repairs = resolve(groups["name"], place.box)
        given = (groups.get("id") or "").strip()
        place.speech.begin_call(name, "" if given == groups["name"] else given)
        return ValueReader(Arguments(name, repairs, place), place)

    def id_of(self, call: ToolCall, index: int) -> str:
        """The id of a call in this form."""
        if not self.own_id or re.fullmatch(self.own_id, call.id):
            return call.id
        return fill(self.made_id, name=call.name, index=str(index))

    def write(self, call: ToolCall, index: int) -> str:
        arguments = dumps(call.arguments) if call.complete else call.raw
        head, tail = self.form.split("{arguments}")
        return fill(head, id=self.id_of(call, index), name=call.name) + arguments + (tail if call.complete else "")


def resolve(said: str, box: Toolbox) -> tuple[str, tuple[str, ...]]:
    """The tool of a name in a head; the name itself where there is no such tool."""
    name = said.strip()
    found = box.find(name)
    if found is None and (half := _half(name)) and (found := box.find(half)):
        return found[0], (f"read {name[:40]!r} as {found[0]!r}",)
    if found is None and name.isdigit() and len(box.tools) == 1:
        (only,) = box.tools
        return only, (f"read {name!r} as {only!r}",)
    return found or (name, ())


def _half(name: str) -> str:
    """The name that stands on both sides of a point, a colon or a slash (`save.save`); empty where two names do."""
    half, rest = name[: len(name) // 2], name[len(name) // 2 :]
    return half if rest[1:] == half and rest[:1] in (".", ":", "/") else ""


class Arguments:
    """The arguments of a call whose name is known: an object, or whatever stands there instead."""

    def __init__(self, name: str, repairs: tuple[str, ...], place: BodySetting) -> None:
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
            space = SPACE.match(text, at)
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
            said = CallRead(self._name, {}, source, complete=False)
        elif self._scan is None:
            said = read_input(self._name, source, self._place.box)
            self._place.speech.call_text(dumps(said.arguments) if said.complete else said.raw)
        else:
            said = read_object(self._name, source.rstrip("` \t\r\n"), close=True)
        self._end(said)
        return ""

    def _end(self, said: CallRead) -> None:
        self.ended = True
        self._place.speech.end_call(structs.replace(said, repairs=(*self._repairs, *said.repairs)))


class CallBuilder:
    """A call whose arguments become JSON piece by piece."""

    def __init__(self, name: str, repairs: tuple[str, ...], place: BodySetting) -> None:
        self.name = name
        self.arguments: JsonObject = {}
        self.repairs = list(repairs)
        self.source: list[str] = []
        self._inside: dict[str, str] = {}
        self._speech = place.speech
        self._tool = place.box.tools.get(name)
        self._begun = False
        self._doubt = ""
        place.speech.begin_call(name)

    def kinds(self, key: str) -> Kinds:
        """The types that a parameter may have."""
        return kinds_of(self._tool, key)

    def schema(self, key: str) -> tuple[Json, JsonObject]:
        """The schema of a parameter, None where nothing is known; and the whole schema."""
        return (self._tool.property_schemas().get(key), self._tool.parameters) if self._tool is not None else (None, {})

    def lacks(self, key: str) -> bool:
        """The tool is known and has no parameter of this name."""
        return self._tool is not None and key not in self._tool.property_schemas()

    def open(self, key: str) -> None:
        """The value of this parameter follows."""
        self._speech.call_text(("," if self._begun else "{") + dumps(key) + ":")
        self._begun = True

    def tell(self, source: str) -> None:
        """More of the arguments' JSON."""
        self._speech.call_text(source)

    def give(self, key: str, value: Json) -> None:
        """The value of a parameter is known."""
        if key in self.arguments:
            try:
                self.repairs.append(given_twice(key, self.arguments[key], value))
            except JsonProblem as problem:
                self.doubt(str(problem))
        self.arguments[key] = value

    def stray(self, text: str) -> None:
        """This text stands between the parameters and is none of them. Words may be a parameter that was lost."""
        if re.search(r"\w", text):
            self.doubt(f"{text[:40]!r} stands between the parameters")
        elif text:
            self.repairs.append(f"ignored {text[:40]!r} between the parameters")

    def begins_inside(self, key: str, holder: str) -> None:
        """Note that the value of a parameter holds what looks like the beginning of another: `end` finds whether it is
        one.

        Args:
            key: the parameter's name.
            holder: the parameter whose value holds the beginning.
        """
        if key != holder and self._tool is not None and not self.lacks(key):
            self._inside.setdefault(key, holder)

    def doubt(self, why: str) -> None:
        """The call has two meanings: it will not be complete. The first reason counts."""
        self._doubt = self._doubt or why

    def end(self) -> None:
        """The call is at its end: complete, unless there is doubt about what it means."""
        for key, holder in self._inside.items():
            if key not in self.arguments:
                self.doubt(f"{key[:40]!r} stands in the value of {holder[:40]!r}, whose end is missing")
        if self._doubt:
            self.repairs.append(self._doubt)
            self.break_off()
            return
        self._speech.call_text("}" if self._begun else "{}")
        self._speech.end_call(CallRead(self.name, self.arguments, repairs=tuple(self.repairs)))

    def break_off(self) -> None:
        """The call is not complete."""
        self._speech.end_call(
            CallRead(self.name, {}, "".join(self.source), complete=False, repairs=tuple(self.repairs))
        )


class ToUser(Struct, frozen=True):
    """A mark in the place of a call that says that text to the user follows.

    Attributes:
        head: the mark-up of that.
    """

    head: CallHead

    def bare(self, box: Toolbox) -> CallHead | None:
        return None

    def reader(self, head: re.Match[str], place: BodySetting) -> BodyReader:
        return _NoCall()

    def write(self, call: ToolCall, index: int) -> str:
        raise NotImplementedError("a row writes its calls in another way")


class _NoCall:
    ended = True
    text = ""
    in_value = False

    def feed(self, text: str, at: int, *, closing: bool) -> int:
        return at

    def stop(self, *, whole: bool) -> None:
        pass
