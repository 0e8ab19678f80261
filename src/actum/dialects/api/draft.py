"""`Draft`: a reply of a model API in the making, as events for who watches and as the parts of a `Reply`. Pure.

The decoders of all APIs fill one. Both sides come from the same few words (`say`, `sign`, `begin_call`, `argue`, ...),
so they can not differ. It knows nothing of any wire: which piece goes where is for the decoder to say. What an API says
of a part beyond our nouns lies in the part's `fields`, and in the reply under a key of that API; see `block_extras`.

Arguments are collected as text and read once, when the call is settled.

Within one reply an id of the endpoint names one call. Some servers say a call twice: at two indexes, or once more in
their last chunk. So a call whose id came before waits, and all events behind it: a call that differs proves that this
id names nothing, and a reply that ends without one proves that the call was only repeated (`join_repeats`).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeVar

from msgspec import structs

from ...core.call import REPEATED, TextPart, ToolCall, differ, repeats
from ...core.event import (
    CallDelta,
    CallSaid,
    Delta,
    ReasoningDelta,
    TextDelta,
)
from ...core.json import Json, JsonObject, dumps
from ...core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    ReplyPart,
    Usage,
)
from ..tool_names import ANY_NAMES, ToolNames
from .block_extras import gather
from .call_wire import read_arguments, unique_id

TextKind = type[TextPart] | type[ReasoningPart] | type[RefusalPart]

BEFORE_ARGUMENTS = "the answer broke off before the arguments"
INSIDE_ARGUMENTS = "the answer broke off inside the arguments"


class OpenText:
    """A run of text of one kind.

    Attributes:
        signature: of a thought: its opaque token.
        by: whose that is.
        redacted: the token is all there is of the thought.
    """

    __slots__ = ("by", "fields", "kind", "pieces", "redacted", "signature")

    def __init__(self, kind: TextKind, *, redacted: bool = False) -> None:
        self.kind = kind
        self.redacted = redacted
        self.pieces: list[str] = []
        self.signature = ""
        self.by = ""
        self.fields: JsonObject = {}

    def part(self) -> ReplyPart | None:
        """As it is so far; None as long as there is nothing in it."""
        if not (self.pieces or self.signature or self.fields):
            return None
        text = "".join(self.pieces)
        return (
            ReasoningPart(text, self.signature, self.redacted, self.by)
            if self.kind is ReasoningPart
            else self.kind(text)
        )


class OpenWhole:
    """A part that came at once; None and all of it in `fields` where we have no noun."""

    __slots__ = ("_part", "fields")

    def __init__(self, part: ReplyPart | None, fields: JsonObject) -> None:
        self._part = part
        self.fields = fields

    def part(self) -> ReplyPart | None:
        """The noun."""
        return self._part


class OpenCall:
    """A call.

    Attributes:
        index: which call of the reply, from 0.
        id: ours.
        wire_id: the endpoint's, empty where it gave none.
        named: the endpoint's id by which a repeat of the call is known; mostly `wire_id`.
        pieces: of the arguments' source text.
        notes: what had to be mended beside the arguments.
        signature: an opaque token that goes back beside the call.
        said: the call, once it was told to be whole.
    """

    __slots__ = ("fields", "id", "index", "name", "named", "notes", "pieces", "said", "signature", "wire_id")

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        self.index = index
        self.id = id
        self.wire_id = wire_id
        self.named = ""
        self.name = ""
        self.pieces: list[str] = []
        self.notes: tuple[str, ...] = ()
        self.signature = ""
        self.said: ToolCall | None = None
        self.fields: JsonObject = {}

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it; without arguments it is whole only if the answer did not break off."""
        raw = "".join(self.pieces)
        arguments, repairs, complete = read_arguments(raw)
        if broke_off and not raw.strip():
            complete, repairs = False, (BEFORE_ARGUMENTS,)
        return ToolCall(self.id, self.name, arguments, raw, complete, (*self.notes, *repairs), self.signature)

    def part(self) -> ReplyPart:
        """As it is so far."""
        return self.said or self.settle(broke_off=True)


def custom_call(call: OpenCall, *, broke_off: bool) -> ToolCall:
    """The call of a custom tool, which is given free text in place of arguments: the text becomes one argument."""
    arguments: JsonObject = {"input": "".join(call.pieces)}
    note = "a custom tool's text: taken as 'input'"
    return ToolCall(call.id, call.name, arguments, dumps(arguments), not broke_off, (note,))


OpenPart = OpenText | OpenWhole | OpenCall
SomeCall = TypeVar("SomeCall", bound=OpenCall)


class Draft:
    """The part of a reply that has come so far.

    Args:
        names: how the tools of the request are called on the wire.

    Attributes:
        understood: something of this API came.
        ended: the reply came to its own end.
        parts: in order.
        deltas: told and not taken yet.
        usage: as the API says it.
        refusal: the words for a refusal that stand beside the parts; they become the last one.
        extras: what it says of the reply beyond our nouns.
    """

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.names = names
        self.understood = False
        self.ended = False
        self.parts: list[OpenPart] = []
        self.calls: list[OpenCall] = []
        self.deltas: list[Delta] = []
        self.finish_reason = ""
        self.usage: JsonObject = {}
        self.model = ""
        self.id = ""
        self.refusal = ""
        self.extras: JsonObject = {}
        self._ids: set[str] = set()
        self._first: dict[str, OpenCall] = {}
        self._came_again: set[str] = set()
        self._names_nothing: set[str] = set()

    # The reply as a whole.

    def learn(self, id_: Json, model: Json) -> None:
        """What the answer and the model are called; the first word counts."""
        if not self.id and isinstance(id_, str):
            self.id = id_
        if not self.model and isinstance(model, str):
            self.model = model

    def count(self, usage: Json) -> None:
        """Take counts of tokens. They are totals; what a later event leaves out did not change."""
        if isinstance(usage, dict):
            self.usage |= {name: value for name, value in usage.items() if value is not None}

    def refuse(self, words: str) -> None:
        """The API gives words for a refusal, which stand beside the parts."""
        if words:
            self.refusal += words
            self.deltas.append(TextDelta(words, refusal=True))

    def take(self) -> list[Delta]:
        """The events since the last time; none as long as a call among them may be a repeat of another."""
        if self._came_again:
            return []
        deltas, self.deltas = self.deltas, []
        return deltas

    def reply(self, usage: Usage, key: str = "", usage_key: str = "", counted: Collection[str] = ()) -> Reply:
        """All that was said so far.

        Args:
            usage: the counts as our noun.
            key: under which the `fields` of the parts lie in the reply's extras.
            usage_key: under which counts lie there that the noun has no place for; empty to leave them out.
            counted: those that it has one for.
        """
        read = [(part.part(), part.fields) for part in self.parts]
        parts, rest = gather([(part, fields) for part, fields in read if part is not None or fields])
        if self.refusal:
            parts = (*parts, RefusalPart(self.refusal))
        extras = dict(self.extras)
        if rest:
            extras[key] = rest
        more: JsonObject = {name: value for name, value in self.usage.items() if name not in counted and value}
        if more and usage_key:
            extras[usage_key] = more
        return Reply(parts, self.finish_reason, usage, self.model, self.id, extras)

    # Texts.

    def begin_text(self, kind: TextKind, *, redacted: bool = False) -> OpenText:
        """A text of its own."""
        begun = OpenText(kind, redacted=redacted)
        self.parts.append(begun)
        return begun

    def run_of(self, kind: TextKind) -> OpenText:
        """The text that goes on, if it is of this kind and nothing closed it, or a new one."""
        last = self.parts[-1] if self.parts else None
        if isinstance(last, OpenText) and last.kind is kind and not last.fields and not last.signature:
            return last
        return self.begin_text(kind)

    def say(self, opened: OpenText, text: str) -> None:
        """More of a text."""
        if text:
            opened.pieces.append(text)
            kind = opened.kind
            self.deltas.append(ReasoningDelta(text) if kind is ReasoningPart else TextDelta(text, kind is RefusalPart))

    def sign(self, opened: OpenText, signature: str, by: str) -> None:
        """The token of a thought, or more of it."""
        if signature:
            opened.signature += signature
            opened.by = by
            self.deltas.append(ReasoningDelta("", signature, opened.redacted, by))

    # Calls.

    @property
    def unsaid(self) -> list[OpenCall]:
        """The calls that were not told to be whole."""
        return [call for call in self.calls if call.said is None]

    def begin_call(self, kind: type[SomeCall], wire_id: str, id_: str = "") -> SomeCall:
        """Begin a call.

        Args:
            kind: what to collect it in.
            wire_id: the endpoint's id, empty where it gives none.
            id_: the id that is used then, such as the id of the block that holds the call.
        """
        number = len(self.calls)
        call = kind(number, unique_id(wire_id or id_, number, self._ids), wire_id)
        self._ids.add(call.id)
        self._identify(call, wire_id or id_)
        self.calls.append(call)
        self.parts.append(call)
        return call

    def rename_call(self, call: OpenCall, wire_id: str) -> None:
        """The endpoint's id of a call comes after its beginning, and before it was told."""
        call.wire_id = wire_id
        call.id = unique_id(wire_id, call.index, self._ids)
        self._ids.add(call.id)
        self._identify(call, wire_id)

    def name_call(self, call: OpenCall, name: str, arguments: str = "") -> None:
        """Tell a call by the name that it has on the wire, and what of its arguments came before."""
        call.name = self.names.back(name)
        self.deltas.append(CallDelta(call.index, call.name, arguments, call.id))

    def argue(self, call: OpenCall, piece: str) -> None:
        """More of a call's arguments."""
        call.pieces.append(piece)
        self.deltas.append(CallDelta(call.index, "", piece))

    def say_call(self, call: OpenCall, said: ToolCall) -> None:
        """A call is whole, or as whole as it gets."""
        call.said = said
        self.deltas.append(CallSaid(call.index, said))
        first = self._first[call.named].said if call.named in self._came_again else None
        if first is not None and differ(first, said):
            self._came_again.discard(call.named)
            self._names_nothing.add(call.named)

    def say_calls(self, *, broke_off: bool) -> None:
        """Nothing more will come: tell the calls that were not told."""
        for call in self.unsaid:
            self.say_call(call, call.settle(broke_off=broke_off))

    # Repeats.

    def _identify(self, call: OpenCall, named: str) -> None:
        """Remember the id by which a repeat of this call is known."""
        call.named = named
        is_first = self._first.setdefault(named, call) is call
        if named and not is_first and named not in self._names_nothing:
            self._came_again.add(named)

    def join_repeats(self) -> None:
        """Nothing more will come and all calls were told: make one call of those that one id names."""
        if not self._came_again:
            return
        alike: dict[str, list[OpenCall]] = {named: [] for named in self._came_again}
        for call in self.calls:
            if call.named in alike:
                alike[call.named].append(call)
        self._came_again = set()
        self._leave_out({call for calls in alike.values() for call in _repeats_of(calls)})

    def _leave_out(self, left_out: set[OpenCall]) -> None:
        """Take these calls out of the reply, and out of the events that were not taken yet.

        All events of these calls and of those behind them are still there. That a call was repeated, only the reply
        says: the event by which that call was told may be long gone.
        """
        self.calls = [call for call in self.calls if call not in left_out]
        self.parts = [part for part in self.parts if part not in left_out]
        numbers = {call.index: number for number, call in enumerate(self.calls)}
        deltas, self.deltas = self.deltas, []
        for delta in deltas:
            if not isinstance(delta, CallDelta | CallSaid):
                self.deltas.append(delta)
            elif delta.index in numbers:
                self.deltas.append(structs.replace(delta, index=numbers[delta.index]))
        for number, call in enumerate(self.calls):
            call.index = number


def _repeats_of(calls: list[OpenCall]) -> list[OpenCall]:
    """Those of the calls with one id that are repeats; the call that stays is told so."""
    again = repeats([call.said for call in calls if call.said is not None])
    stay = set(range(len(calls))).difference(again) if again else ()
    numbers = tuple([calls[place].index + 1 for place in again])
    for call in [calls[place] for place in stay]:
        if call.said is not None and call.said.complete:
            call.said = structs.replace(call.said, repairs=(*call.said.repairs, REPEATED), repeats=numbers)
    return [calls[place] for place in again]


def others(fields: JsonObject, known: Collection[str]) -> JsonObject:
    """The fields that are not known and say something."""
    return {name: value for name, value in fields.items() if name not in known and value not in (None, "", [], {})}
