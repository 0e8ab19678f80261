"""Reads an answer of the Chat Completions API, a whole one or the events of a stream. Pure.

What compatible servers do differently is borne here without knowing which server it is: ids that are missing, empty or
repeated; pieces of calls without an index, several in one delta, with the name again in each; arguments as an object;
`content` as a list; no `[DONE]`. Which piece belongs to which call is for `_call_of` to say.

`finish_reason` is recorded and not trusted; it only helps to tell a call without arguments from one that broke off
before them.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

import msgspec
from msgspec import Struct, structs

from ....core.call import TextPart, ToolCall
from ....core.event import CallDelta
from ....core.json import Json, JsonObject, dumps
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    Usage,
)
from ...json_scan import JsonScan
from ...tool_names import ANY_NAMES, ToolNames
from ..draft import (
    Draft,
    OpenCall,
    OpenText,
    TextKind,
    custom_call,
    others,
)
from ..model_errors import error_of_event
from ..raw_json import NOT_DECODED, read_as
from ..token_count import count
from .beside import CHAT, IN_CONTENT, THOUGHT_FIELDS, BesideCalls, merged_details

CONTENT_LEVELS = 6
"""How deep parts of a `content` are read: one that holds a list of parts that hold text takes four."""

_KNOWN = frozenset({"role", "content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"})
_PARTS: dict[str, tuple[TextKind | None, str]] = {
    "text": (None, "text"),
    "output_text": (None, "text"),
    "refusal": (RefusalPart, "refusal"),
    "thinking": (ReasoningPart, "thinking"),
    "reasoning": (ReasoningPart, "text"),
}
"""The parts of a `content` that is a list: what they are (None: what they stand in), and in which field they say it."""


class _Choice(Struct, gc=False):
    """An answer, or a piece of one. The fields are checked where they are used, since servers differ in them."""

    index: Json = 0
    delta: Json = None
    message: Json = None
    finish_reason: Json = None


class _Chunk(Struct, gc=False):
    """What `choices` stand in: a whole answer or an event."""

    choices: list[_Choice] | None = None
    usage: Json = None
    error: Json = None
    id: Json = None
    model: Json = None


class _ArgumentsPiece(Struct, gc=False, forbid_unknown_fields=True):
    arguments: str
    name: Literal[""] | None = None


class _CallPiece(Struct, gc=False, forbid_unknown_fields=True):
    index: int
    function: _ArgumentsPiece
    id: Literal[""] | None = None
    type: str | None = None


class _PlainDelta(Struct, gc=False, forbid_unknown_fields=True):
    content: str | None = None
    tool_calls: tuple[_CallPiece] | None = None
    reasoning_content: str | None = None
    role: str | None = None
    refusal: None = None
    function_call: None = None


class _PlainChoice(Struct, gc=False):
    delta: _PlainDelta
    index: Literal[0] = 0
    finish_reason: None = None
    message: None = None


class _PlainChunk(Struct, gc=False):
    """By far the most common event: more of a text, or of the arguments of one call. All others are a `_Chunk`."""

    choices: tuple[_PlainChoice]
    usage: None = None
    error: None = None


_decode_plain = msgspec.json.Decoder(_PlainChunk).decode
_decode_chunk = msgspec.json.Decoder(_Chunk).decode


class _ChatCall(OpenCall):
    """A call whose name may come in pieces. `said` is set as long as nothing more of it came since it was found whole.

    Attributes:
        is_custom: a custom tool's, which is given free text; that becomes one argument, `input`.
        wire_name: as it came so far.
        untold: what of it is held back, because it may be the beginning of a stand-in.
        beside: fields that go back with it.
    """

    __slots__ = (
        "_bracketed",
        "_scan",
        "_scanned",
        "_tried",
        "beside",
        "is_custom",
        "untold",
        "was_object",
        "wire_name",
    )

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        super().__init__(index, id, wire_id)
        self.wire_name = ""
        self.untold = ""
        self.was_object = False
        self.is_custom = False
        self.beside: JsonObject = {}
        self._tried = False
        self._scan = JsonScan()
        self._scanned = 0
        self._bracketed = False

    def looks_whole(self) -> bool:
        """The arguments so far are a value whose brackets are closed. Each piece is looked at once."""
        for piece in self.pieces[self._scanned :]:
            at, mark = self._scan.next(piece, 0)
            while mark:
                self._bracketed = True
                at, mark = self._scan.next(piece, at + 1)
        self._scanned = len(self.pieces)
        return self._bracketed and self._scan.depth == 0 and not self._scan.in_string

    def try_to_settle(self) -> ToolCall | None:
        """The call, if it can be told to be whole before the answer ends. Asked once, since it reads all arguments."""
        if self.said or self._tried or self.is_custom or not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return None
        self._tried = True
        call = self.settle(broke_off=False)
        return call if call.complete else None

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it; arguments that were an object have no source text."""
        if self.is_custom:
            return custom_call(self, broke_off=broke_off)
        call = super().settle(broke_off=broke_off)
        return structs.replace(call, raw="") if self.was_object else call


class ChatAnswer:
    """One answer; see `Answer`. The first choice counts, others are passed over.

    Args:
        names: how the tools of the request are called on the wire.
        at: the endpoint and the model that answer; empty where nobody knows.
        kept: the fields that go back beside calls.
    """

    KIND = "a chat completion"

    def __init__(self, names: ToolNames = ANY_NAMES, at: str = "", kept: Collection[str] = THOUGHT_FIELDS) -> None:
        self.draft = Draft(names)
        self._at, self._kept = at, kept
        self._thought = ""
        self._calls: list[_ChatCall] = []
        self._slots: dict[int | str, _ChatCall] = {}
        self._more: dict[str, list[Json]] = {}
        self._beside_thoughts: dict[OpenText, JsonObject] = {}
        self._is_whole = False
        self._is_signed = False

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        self.draft.extras = {name: _merged(values) for name, values in self._more.items()}
        return self.draft.reply(read_usage(self.draft.usage))

    def read_event(self, data: bytes) -> None:
        """Take an event."""
        self.draft.understood = True
        if not (self.draft.id and self.draft.model and self._read_plain(data)):
            self._read_chunk(read_as(_decode_chunk, data), data, whole=False)

    def read_body(self, body: bytes) -> None:
        """Take a whole answer."""
        chunk = read_as(_decode_chunk, body)
        self._read_chunk(chunk, body, whole=True)
        self.draft.ended = self.draft.understood = bool(chunk.choices)

    def finish(self) -> None:
        """Nothing more will come."""
        broke_off = not self.draft.ended or self.draft.finish_reason == "length"
        for call in self._calls:
            if call.said is None:
                self._say_call(call, call.settle(broke_off=broke_off))
        self._keep_beside()

    def _keep_beside(self) -> None:
        """Keep what has to go back with the calls, and what stood beside thoughts in the content: as the signature of
        the first thought.
        """
        beside = self._beside() if self._calls else BesideCalls(self._at, self._thought, parts=self._parts_beside())
        for name in beside.fields:
            del self._more[name]
        if beside.fields or beside.calls or beside.parts or (self._calls and self._at and self._thought):
            self._sign(beside)

    def _sign_before_end(self) -> None:
        """Sign the first thought once something else is said behind it. An API of blocks can tell a signature only as
        long as the block of the thought is open, and a client may leave out a thought that has none.

        A call may still come, or not. Should more come that goes back with a call, the end signs the thought anew.
        """
        if self._at and self._thought and not self._is_signed:
            self._sign(self._beside())

    def _beside(self) -> BesideCalls:
        """What goes back with the calls, as far as it came."""
        of_calls = {
            str(number): call.beside
            for number, call in enumerate(self.draft.calls)
            if isinstance(call, _ChatCall) and call.beside
        }
        return BesideCalls(self._at, self._thought, self._fields_beside(), of_calls, self._parts_beside())

    def _sign(self, beside: BesideCalls) -> None:
        thoughts = self._thoughts()
        first = thoughts[0] if thoughts else self.draft.begin_text(ReasoningPart)
        self._is_signed = True
        if first.signature != beside.signature:
            first.signature = ""
            self.draft.sign(first, beside.signature, CHAT)

    def _thoughts(self) -> list[OpenText]:
        return [part for part in self.draft.parts if isinstance(part, OpenText) and part.kind is ReasoningPart]

    def _fields_beside(self) -> JsonObject:
        """The fields of the message, as far as they came, that go back with its calls."""
        return {
            name: merged_details([item for value in values if isinstance(value, list) for item in value])
            if name == "reasoning_details"
            else _merged(values)
            for name, values in self._more.items()
            if name in self._kept
        }

    def _parts_beside(self) -> list[JsonObject]:
        """What stood beside each thought in the content, up to the last thought beside which something stood."""
        thoughts = self._thoughts()
        parts = [self._beside_thoughts.get(each, {}) for each in thoughts if each.pieces or each is thoughts[0]]
        while parts and not parts[-1]:
            del parts[-1]
        return parts

    def read_message(self, message: JsonObject, *, whole: bool) -> None:
        """Take a message, or a piece of one.

        Args:
            whole: each item of `tool_calls` is a call of its own, not a piece of one.
        """
        get = message.get
        self._is_whole = whole
        for name, value in others(message, _KNOWN).items():
            self._more.setdefault(name, []).append(value)
        name = "reasoning_content" if get("reasoning_content") else "reasoning"
        if thought := get(name):
            self._read_content(thought, ReasoningPart)
            if isinstance(thought, str) and name in self._kept:
                self._thought = name
        if content := get("content"):
            self._read_content(content, TextPart)
        if refusal := get("refusal"):
            self._read_content(refusal, RefusalPart)
        if items := get("tool_calls"):
            self._read_calls(items if isinstance(items, list) else [items], whole=whole)
        if (call := get("function_call")) and not _says_again(call, items):
            self._read_calls([call], whole=whole)

    def _read_plain(self, data: bytes) -> bool:
        """Take an event of the most common form; whether it is one."""
        try:
            delta = _decode_plain(data).choices[0].delta
        except NOT_DECODED:
            return False
        if delta.tool_calls:
            piece = delta.tool_calls[0]
            call = self._slots.get(piece.index)
            if call is None or call.said or call.untold or delta.content or delta.reasoning_content:
                return False
            if piece.function.arguments:
                self.draft.argue(call, piece.function.arguments)
            return True
        if delta.reasoning_content:
            self._thought = self._thought or ("reasoning_content" if "reasoning_content" in self._kept else "")
            self.draft.say(self.draft.run_of(ReasoningPart), delta.reasoning_content)
        if delta.content:
            self._sign_before_end()
            self.draft.say(self.draft.run_of(TextPart), delta.content)
        return True

    def _read_chunk(self, chunk: _Chunk, source: bytes, *, whole: bool) -> None:
        if (chunk.error or not chunk.choices) and (error := error_of_event(source)):
            raise error
        self.draft.learn(chunk.id, chunk.model)
        self.draft.count(chunk.usage)
        for choice in chunk.choices or ():
            if choice.index:
                continue
            message = choice.delta or choice.message
            if isinstance(message, dict):
                self.read_message(message, whole=whole)
            if choice.finish_reason:
                self.draft.finish_reason = str(choice.finish_reason)
                self.draft.ended = True
                for call in self._calls:
                    self._try_to_settle(call)

    def _read_content(self, content: Json, kind: TextKind, levels: int = CONTENT_LEVELS) -> None:
        field = ""
        if isinstance(content, dict):
            part_kind, field = _PARTS.get(str(content.get("type")), (None, ""))
            kind = part_kind or kind
        if isinstance(content, str):
            if content:
                if kind is not ReasoningPart:
                    self._sign_before_end()
                self.draft.say(self.draft.run_of(kind), content)
        elif isinstance(content, list) and levels:
            for part in content:
                self._read_content(part, kind, levels - 1)
        elif isinstance(content, dict) and field in content and levels:
            if IN_CONTENT in self._kept and content["type"] == IN_CONTENT:
                self._read_thought(content)
            self._read_content(content[field], kind, levels - 1)
        elif content is not None:
            self._more.setdefault("content", []).append([content])

    def _read_thought(self, part: JsonObject) -> None:
        """Take the fields beside the text of a thought, or of a piece of one, in the content."""
        self._thought = self._thought or IN_CONTENT
        opened = self.draft.run_of(ReasoningPart)
        is_over = self._is_whole or "signature" in self._beside_thoughts.get(opened, {})
        if part[IN_CONTENT] and is_over and opened.pieces:
            opened = self.draft.begin_text(ReasoningPart)
        if more := others(part, ("type", IN_CONTENT)):
            self._beside_thoughts[opened] = self._beside_thoughts.get(opened, {}) | more

    # Calls.

    def _read_calls(self, items: list[Json], *, whole: bool) -> None:
        touched: list[_ChatCall] = []
        for item in items:
            if isinstance(item, dict):
                touched.append(self._read_call(item, touched, whole=whole))

    def _read_call(self, item: JsonObject, touched: list[_ChatCall], *, whole: bool) -> _ChatCall:
        function, custom = item.get("function"), item.get("custom")
        if not isinstance(function, dict):
            function = item  # the form of 2023, and servers that leave the level out
        if isinstance(custom, dict):
            return self._read_custom(item, custom, touched, whole=whole)
        id_, name = str(item.get("id") or ""), str(function.get("name") or "")
        piece = function.get("arguments") or ""
        beside: JsonObject = {name: item[name] for name in self._kept if item.get(name) not in (None, "", [], {})}
        call = None if whole else self._call_of(item.get("index"), id_, name, piece, touched)
        is_new = call is None
        call = call or self._begin_call(item.get("index"), id_)
        call.beside |= beside
        self._sign_before_end()
        if piece and not isinstance(piece, str):
            piece = dumps(piece)
            call.was_object, call.notes = True, ("arguments were an object, not text",)
        if name and name != call.wire_name:  # some servers repeat it and some split it
            call.wire_name += name
            call.untold += name
            call.name = self.draft.names.back(call.wire_name)
        told = self._untold(call) if piece or not self.draft.names.may_go_on(call.wire_name) else ""
        if piece:
            call.pieces.append(piece)
            if piece.strip():
                call.said = None
        if piece or told or is_new:
            self.draft.deltas.append(CallDelta(call.index, told, piece, call.id if is_new else ""))
        return call

    def _read_custom(self, item: JsonObject, custom: JsonObject, touched: list[_ChatCall], *, whole: bool) -> _ChatCall:
        """Take a call of a custom tool, or a piece of one. Its text is told when the call is, as one argument."""
        id_, name, piece = (str(found or "") for found in (item.get("id"), custom.get("name"), custom.get("input")))
        call = None if whole else self._call_of(item.get("index"), id_, name, piece, touched)
        if call is None:
            call = self._begin_call(item.get("index"), id_)
            call.is_custom = True
        self._sign_before_end()
        if name and name != call.wire_name:
            call.wire_name += name
            call.untold += name
            call.name = self.draft.names.back(call.wire_name)
        if piece:
            call.pieces.append(piece)
        return call

    def _call_of(self, index: Json, id_: str, name: str, piece: Json, touched: list[_ChatCall]) -> _ChatCall | None:
        """The call that a piece goes on with, or None when it begins another. Only a piece with a name or an id can."""
        call = self._slots.get(index if isinstance(index, int) else id_)
        if call is None and self._calls and not (isinstance(index, int) and (name or id_)):
            call = self._calls[-1]
        if call is None or not name:
            return call
        another_id = id_ and id_ != call.wire_id and (call.wire_id or call.pieces)
        another_name = call.pieces and (name != call.wire_name or (piece and call.looks_whole()))
        return None if call in touched or another_id or another_name else call

    def _begin_call(self, index: Json, wire_id: str) -> _ChatCall:
        if self._calls:
            self._try_to_settle(self._calls[-1])
        here = self._slots.get(index) if isinstance(index, int) else None
        call = self.draft.begin_call(_ChatCall, wire_id, here.named if here else "")
        self._calls.append(call)
        if wire_id:
            self._slots[wire_id] = call
        if isinstance(index, int):
            self._slots[index] = call
        return call

    def _untold(self, call: _ChatCall) -> str:
        """What of the name is not told yet: all of it, if it is a stand-in."""
        untold, call.untold = call.untold, ""
        return call.name if untold == call.wire_name else untold

    def _try_to_settle(self, call: _ChatCall) -> None:
        if said := call.try_to_settle():
            self._say_call(call, said)

    def _say_call(self, call: _ChatCall, said: ToolCall) -> None:
        if call.untold or call.is_custom:
            arguments, id_ = (said.raw, said.id) if call.is_custom else ("", "")
            self.draft.deltas.append(CallDelta(call.index, self._untold(call), arguments, id_))
        self.draft.say_call(call, said)


def _says_again(call: Json, items: Json) -> bool:
    """A `function_call` beside `tool_calls` is one of these in the form of 2023: some servers write both forms."""
    if not items or not isinstance(call, dict):
        return False
    functions = [
        item.get("function") for item in (items if isinstance(items, list) else [items]) if isinstance(item, dict)
    ]
    names = [function.get("name") for function in functions if isinstance(function, dict)]
    return not call.get("name") or call["name"] in names


def read_usage(usage: JsonObject) -> Usage:
    """The tokens of an answer; what is missing or no number counts as 0."""
    output, cached = usage.get("completion_tokens_details"), usage.get("prompt_tokens_details")
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(cached.get("cached_tokens") if isinstance(cached, dict) else usage.get("prompt_cache_hit_tokens")),
        count(output.get("reasoning_tokens") if isinstance(output, dict) else 0),
        cache_written_tokens=count(cached.get("cache_write_tokens") if isinstance(cached, dict) else 0),
    )


def _merged(values: list[Json]) -> Json:
    """The value of a field that came in pieces: texts and lists are put together, of anything else the last counts."""
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return texts[0] if len(set(texts)) == 1 else "".join(texts)
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == len(values):
        return [item for value in lists for item in value]
    return values[-1]
