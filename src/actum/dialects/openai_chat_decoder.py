"""Reads an answer of the Chat Completions API: whole or as an event stream, in any cut, in linear time. Pure.

One decoder for all of it, because endpoints answer a streaming request with a whole body and the other way round: the
first byte tells. What compatible servers do differently is borne here without knowing which server it is: ids that are
missing, empty or repeated; pieces of calls without an index, several in one delta, with the name again in each;
arguments as an object; `content` as a list; no `[DONE]`. Which piece belongs to which call is for `_call_of` to say.

`finish_reason` is recorded and not trusted; it only helps to tell a call without arguments from one that broke off
before them. Arguments are collected as text and parsed once.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ..core.call import TextPart, ToolCall
from ..core.errors import ModelGarbled
from ..core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.json import Json, JsonObject, JsonProblem, dumps
from ..core.message import ReasoningPart, RefusalPart, Reply, ReplyPart, Usage
from .answer_reader import AnswerReader
from .call_wire import read_arguments, unique_id
from .json_scan import JsonScan
from .openai_chat_error import error_of_event, read_json
from .token_count import count
from .tool_names import ANY_NAMES, ToolNames

TextKind = type[TextPart] | type[ReasoningPart] | type[RefusalPart]

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


_decode_chunk = msgspec.json.Decoder(_Chunk).decode
_NOT_DECODED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def _mend_chunk(wire: bytes) -> _Chunk:
    """Read what the fast decoder did not.

    Raises:
        JsonProblem: it is no JSON.
        ModelGarbled: it is of another shape.
    """
    try:
        return msgspec.convert(read_json(wire), _Chunk)
    except msgspec.ValidationError:
        raise ModelGarbled("the endpoint's answer is no chat completion") from None


class _OpenText:
    """A run of text of one kind, as it grows."""

    __slots__ = ("kind", "pieces")

    def __init__(self, kind: TextKind) -> None:
        self.kind = kind
        self.pieces: list[str] = []

    def part(self) -> ReplyPart:
        return self.kind("".join(self.pieces))


class _OpenCall:
    """A call, as it grows. `said` is set as long as nothing more of it came since it was found whole.

    `name` is what the wire says; `untold` is what of it is held back, because it may be the beginning of a stand-in.
    """

    __slots__ = (
        "_bracketed",
        "_names",
        "_scan",
        "_scanned",
        "_tried",
        "id",
        "index",
        "name",
        "pieces",
        "said",
        "untold",
        "was_object",
        "wire_id",
    )

    def __init__(self, index: int, id: str, wire_id: str, names: ToolNames) -> None:
        self._names = names
        self.index = index
        self.id = id
        self.wire_id = wire_id
        self.name = ""
        self.untold = ""
        self.pieces: list[str] = []
        self.was_object = False
        self.said: ToolCall | None = None
        self._tried = False
        self._scan = JsonScan()
        self._scanned = 0
        self._bracketed = False

    def add_name(self, name: str, piece: Json) -> str:
        """Take a name, or a part of one, and what of the arguments came with it.

        Returns:
            What of the name can be told by now and was not; some servers repeat it and some split it.
        """
        if name and name != self.name:
            self.name += name
            self.untold += name
        return "" if not piece and self._names.may_go_on(self.name) else self.tell_name()

    def tell_name(self) -> str:
        """What of the name is not told yet: all of it, if it is a stand-in."""
        untold, self.untold = self.untold, ""
        return self._names.back(self.name) if untold == self.name else untold

    def add(self, piece: str) -> None:
        """Take more of the arguments."""
        self.pieces.append(piece)
        if self.said and piece.strip():
            self.said = None

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
        if self.said or self._tried or not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return None
        self._tried = True
        call = self.settle(broke_off=False)
        self.said = call if call.complete else None
        return self.said

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        raw = "".join(self.pieces)
        arguments, repairs, complete = read_arguments(raw)
        if broke_off and not raw.strip():
            complete, repairs = False, ("the answer broke off before the arguments",)
        if self.was_object:
            raw, repairs = "", ("arguments were an object, not text", *repairs)
        return ToolCall(self.id, self._names.back(self.name), arguments, raw, complete, repairs)

    def part(self) -> ReplyPart:
        return self.said or self.settle(broke_off=True)


class ChatDecoder:
    """Reads one answer; see `base.ApiDecoder`. The first choice counts, others are passed over.

    Args:
        names: how the tools of the request are called on the wire.
    """

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.ended = False
        self._names = names
        self._reader = AnswerReader()
        self._understood = False
        self._open: list[_OpenText | _OpenCall] = []
        self._calls: list[_OpenCall] = []
        self._slots: dict[int | str, _OpenCall] = {}
        self._ids: set[str] = set()
        self._finish_reason = ""
        self._usage = Usage()
        self._model = ""
        self._id = ""
        self._extras: dict[str, list[Json]] = {}

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error.
            ModelGarbled: an event that is not of this API.
        """
        deltas: list[Delta] = []
        for data in self._reader.feed(chunk):
            self._read_event(data, deltas)
        return deltas

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        deltas: list[Delta] = []
        body, rest = self._reader.close()
        if body is not None:
            self._read_body(body, deltas)
        for data in rest:
            self._read_event(data, deltas, may_be_torn=True)
        if self._reader.began and not self._understood:
            raise ModelGarbled("the endpoint's answer is neither a chat completion nor a stream of one")
        broke_off = not self.ended or self._finish_reason == "length"
        for call in self._calls:
            if call.said is None:
                self._say_call(call, call.settle(broke_off=broke_off), deltas)
        return deltas

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        return Reply(
            tuple([part.part() for part in self._open]),
            self._finish_reason,
            self._usage,
            self._model,
            self._id,
            {name: _merged(values) for name, values in self._extras.items()},
        )

    def read_message(self, message: JsonObject, deltas: list[Delta], *, whole: bool) -> None:
        """Take a message, or a piece of one.

        Args:
            whole: each item of `tool_calls` is a call of its own, not a piece of one.
        """
        get = message.get
        if thought := get("reasoning_content") or get("reasoning"):
            self._read_content(thought, ReasoningPart, deltas)
        if content := get("content"):
            self._read_content(content, TextPart, deltas)
        if refusal := get("refusal"):
            self._read_content(refusal, RefusalPart, deltas)
        if items := get("tool_calls"):
            self._read_calls(items if isinstance(items, list) else [items], deltas, whole=whole)
        if call := get("function_call"):
            self._read_calls([call], deltas, whole=whole)
        if not _KNOWN.issuperset(message):
            for name, value in message.items():
                if name not in _KNOWN and value not in (None, "", [], {}):
                    self._extras.setdefault(name, []).append(value)

    def _read_body(self, body: bytes, deltas: list[Delta]) -> None:
        try:
            chunk = _mend_chunk(body)
        except JsonProblem:
            raise ModelGarbled("the endpoint's answer is no JSON, or broke off") from None
        self._take_chunk(chunk, body, deltas, whole=True)
        self.ended = self._understood = bool(chunk.choices)

    def _read_event(self, data: bytes, deltas: list[Delta], *, may_be_torn: bool = False) -> None:
        self._understood = True
        try:
            chunk = _decode_chunk(data)
        except _NOT_DECODED:
            try:
                chunk = _mend_chunk(data)
            except JsonProblem:
                if data.startswith(b"[DONE]"):
                    self.ended = True
                elif not may_be_torn:
                    raise ModelGarbled("an event of the endpoint's stream is no JSON") from None
                return
        self._take_chunk(chunk, data, deltas, whole=False)

    def _take_chunk(self, chunk: _Chunk, source: bytes, deltas: list[Delta], *, whole: bool) -> None:
        if (chunk.error or not chunk.choices) and (error := error_of_event(source)):
            raise error
        if not self._id and isinstance(chunk.id, str):
            self._id = chunk.id
        if not self._model and isinstance(chunk.model, str):
            self._model = chunk.model
        if isinstance(chunk.usage, dict):
            self._usage = read_usage(chunk.usage)
        for choice in chunk.choices or ():
            if choice.index:
                continue
            message = choice.delta or choice.message
            if isinstance(message, dict):
                self.read_message(message, deltas, whole=whole)
            if choice.finish_reason:
                self._finish_reason = str(choice.finish_reason)
                self.ended = True
                for call in self._calls:
                    self._try_to_settle(call, deltas)

    def _read_content(self, content: Json, kind: TextKind, deltas: list[Delta], levels: int = CONTENT_LEVELS) -> None:
        field = ""
        if isinstance(content, dict):
            part_kind, field = _PARTS.get(str(content.get("type")), (None, ""))
            kind = part_kind or kind
        if isinstance(content, str):
            self._say(kind, content, deltas)
        elif isinstance(content, list) and levels:
            for part in content:
                self._read_content(part, kind, deltas, levels - 1)
        elif isinstance(content, dict) and field in content and levels:
            self._read_content(content[field], kind, deltas, levels - 1)
        elif content is not None:
            self._extras.setdefault("content", []).append([content])

    def _say(self, kind: TextKind, text: str, deltas: list[Delta]) -> None:
        if not text:
            return
        last = self._open[-1] if self._open else None
        if not isinstance(last, _OpenText) or last.kind is not kind:
            last = _OpenText(kind)
            self._open.append(last)
        last.pieces.append(text)
        deltas.append(ReasoningDelta(text) if kind is ReasoningPart else TextDelta(text, kind is RefusalPart))

    def _read_calls(self, items: list[Json], deltas: list[Delta], *, whole: bool) -> None:
        touched: list[_OpenCall] = []
        for item in items:
            if isinstance(item, dict):
                touched.append(self._read_call(item, touched, deltas, whole=whole))

    def _read_call(self, item: JsonObject, touched: list[_OpenCall], deltas: list[Delta], *, whole: bool) -> _OpenCall:
        function = item.get("function")
        if not isinstance(function, dict):
            function = item  # the form of 2023, and servers that leave the level out
        id_, name = str(item.get("id") or ""), str(function.get("name") or "")
        piece = function.get("arguments") or ""
        call = None if whole else self._call_of(item.get("index"), id_, name, piece, touched)
        new_id = ""
        if call is None:
            call = self._begin_call(item.get("index"), id_, deltas)
            new_id = call.id
        if piece and not isinstance(piece, str):
            piece = dumps(piece)
            call.was_object = True
        name = call.add_name(name, piece) if name or call.untold else ""
        if piece:
            call.add(piece)
        if piece or name or new_id:
            deltas.append(CallDelta(call.index, name, piece, new_id))
        return call

    def _call_of(self, index: Json, id_: str, name: str, piece: Json, touched: list[_OpenCall]) -> _OpenCall | None:
        """The call that a piece goes on with, or None when it begins another. Only a piece with a name or an id can."""
        call = self._slots.get(index if isinstance(index, int) else id_)
        if call is None and self._calls and not (isinstance(index, int) and (name or id_)):
            call = self._calls[-1]
        if call is None or not name:
            return call
        another_id = id_ and id_ != call.wire_id and (call.wire_id or call.pieces)
        another_name = call.pieces and (name != call.name or (piece and call.looks_whole()))
        return None if call in touched or another_id or another_name else call

    def _begin_call(self, index: Json, wire_id: str, deltas: list[Delta]) -> _OpenCall:
        if self._calls:
            self._try_to_settle(self._calls[-1], deltas)
        number = len(self._calls)
        id_ = unique_id(wire_id, number, self._ids)
        call = _OpenCall(number, id_, wire_id, self._names)
        self._ids.add(id_)
        self._calls.append(call)
        self._open.append(call)
        if wire_id:
            self._slots[wire_id] = call
        if isinstance(index, int):
            self._slots[index] = call
        return call

    def _try_to_settle(self, call: _OpenCall, deltas: list[Delta]) -> None:
        if said := call.try_to_settle():
            self._say_call(call, said, deltas)

    def _say_call(self, call: _OpenCall, said: ToolCall, deltas: list[Delta]) -> None:
        call.said = said
        if call.untold:
            deltas.append(CallDelta(call.index, call.tell_name()))
        deltas.append(CallSaid(call.index, said))


def read_usage(usage: JsonObject) -> Usage:
    """The tokens of an answer; what is missing or no number counts as 0."""
    output, cached = usage.get("completion_tokens_details"), usage.get("prompt_tokens_details")
    return Usage(
        count(usage.get("prompt_tokens")),
        count(usage.get("completion_tokens")),
        count(cached.get("cached_tokens") if isinstance(cached, dict) else usage.get("prompt_cache_hit_tokens")),
        count(output.get("reasoning_tokens") if isinstance(output, dict) else 0),
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
