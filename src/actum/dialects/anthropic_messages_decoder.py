"""Reads an answer of the Anthropic Messages API: whole or as an event stream, in any cut, in linear time. Pure.

A block of the wire is a part of the reply. What has no noun of ours (blocks of Anthropic's own tools, citations) is
kept by its position, see `block_extras`. The arguments of a call are taken as source text in both forms, so that they
read the same. A call is told at the end of its block; one without arguments only when the stop reason is there, because
one that broke off before them looks alike.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from ..core.call import TextPart, ToolCall
from ..core.errors import ModelError, ModelGarbled
from ..core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.json import Json, JsonObject, dumps
from ..core.message import ReasoningPart, RefusalPart, Reply, ReplyPart, Usage
from .answer_reader import AnswerReader
from .block_extras import gather
from .call_wire import read_arguments, unique_id
from .openai_chat_error import error_of
from .raw_json import NOT_DECODED, Fields, Source, as_text, fields_of, items_of, mended, source_of, text_of, value_of
from .signatures import ANTHROPIC
from .token_count import count
from .tool_names import ANY_NAMES, ToolNames

BLOCKS = "anthropic_blocks"
"""Where in `Reply.extras` stands what our nouns have no place for."""

INVALID = "INVALID_JSON"
"""The field for the text of arguments that are no JSON, by the documentation of fine-grained tool streaming."""

CUT_SHORT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that may leave the last block unfinished."""

_STATUS_OF_TYPE = {
    "api_error": 500,
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "overloaded_error": 529,
    "permission_error": 403,
    "rate_limit_error": 429,
    "request_too_large": 413,
    "timeout_error": 504,
}
_HEAD = frozenset({"id", "type", "role", "content", "model", "stop_reason", "usage", "stop_details"})
_USAGE = frozenset({"input_tokens", "output_tokens", "cache_read_input_tokens", "output_tokens_details"})
_PIECES = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "input_json_delta": ("partial_json", ""),
}
"""Pieces of blocks: the field that they are said in, and the block that they begin where none was begun."""


class _Event(Struct, gc=False):
    """An event of the stream. The fields are checked where they are used, since servers differ in them."""

    type: Json = None
    index: Json = None
    delta: Json = None
    content_block: msgspec.Raw = msgspec.Raw()
    message: msgspec.Raw = msgspec.Raw()
    usage: Json = None
    error: Json = None


_decode_event = msgspec.json.Decoder(_Event).decode


class _Block:
    """A block, as it grows.

    Attributes:
        kind: its type on the wire.
        rest: its fields that have no place in a noun.
        pieces: of its text, its thought or its arguments.
        signature: of a thought; of a redacted one all there is.
        number, id, name: of a call.
        said: the call, once it is whole.
    """

    __slots__ = ("id", "kind", "name", "number", "pieces", "rest", "said", "signature")

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rest: JsonObject = {}
        self.pieces: list[str] = []
        self.signature = ""
        self.number = -1
        self.id = ""
        self.name = ""
        self.said: ToolCall | None = None

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        raw = "".join(self.pieces)
        arguments, repairs, complete = read_arguments(raw)
        if arguments.keys() == {INVALID}:
            raw, arguments, complete = as_text(arguments[INVALID]), {}, False
            repairs = read_arguments(raw)[1] or ("the answer broke off inside the arguments",)
        if broke_off and not raw.strip():
            complete, repairs = False, ("the answer broke off before the arguments",)
        return ToolCall(self.id, self.name, arguments, raw, complete, repairs)

    def part(self) -> tuple[ReplyPart | None, JsonObject]:
        """The block as a noun, and what is left of it."""
        match self.kind:
            case "text":
                return TextPart("".join(self.pieces)), self.rest
            case "thinking":
                return ReasoningPart("".join(self.pieces), self.signature, by=self.by), self.rest
            case "redacted_thinking":
                return ReasoningPart("", self.signature, redacted=True, by=self.by), self.rest
            case "tool_use":
                return self.said or self.settle(broke_off=True), self.rest
            case _ if self.pieces:
                return None, {**self.rest, "type": self.kind, "input": read_arguments("".join(self.pieces))[0]}
            case _:
                return None, {**self.rest, "type": self.kind}

    @property
    def by(self) -> str:
        return ANTHROPIC if self.signature else ""

    @property
    def is_nothing(self) -> bool:
        return self.kind == "text" and not any(self.pieces) and not self.rest


class MessagesDecoder:
    """Reads one answer; see `base.ApiDecoder`.

    Args:
        names: how tools are called on the wire.
    """

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.ended = False
        self._names = names
        self._answer = AnswerReader()
        self._understood = False
        self._blocks: list[_Block] = []
        self._by_index: dict[int, _Block] = {}
        self._calls: list[_Block] = []
        self._ids: set[str] = set()
        self._finish_reason = ""
        self._usage: JsonObject = {}
        self._model = ""
        self._id = ""
        self._refusal = ""
        self._extras: JsonObject = {}

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error.
            ModelGarbled: an event that is not of this API.
        """
        deltas: list[Delta] = []
        for data in self._answer.feed(chunk):
            self._read_event(data, deltas)
        return deltas

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        deltas: list[Delta] = []
        body, events = self._answer.close()
        if body is not None:
            self._read_body(body, deltas)
        for data in events:
            self._read_event(data, deltas, may_be_torn=True)
        if self._answer.began and not self._understood:
            raise ModelGarbled("the endpoint's answer is neither a message nor a stream of one")
        self.finish(deltas)
        return deltas

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        parts, rest = gather([block.part() for block in self._blocks if not block.is_nothing])
        extras = dict(self._extras)
        if rest:
            extras[BLOCKS] = rest
        if more := {name: value for name, value in self._usage.items() if name not in _USAGE and value}:
            extras["usage"] = dict(more)
        if self._refusal:
            parts = (*parts, RefusalPart(self._refusal))
        return Reply(parts, self._finish_reason, read_usage(self._usage), self._model, self._id, extras)

    def read_blocks(self, content: Source, deltas: list[Delta]) -> None:
        """Take blocks that are whole, as the JSON text of a list of them, or of a text."""
        said = text_of(content)
        blocks = [msgspec.Raw(dumps({"type": "text", "text": said}).encode())] if said else items_of(content)
        for number, block in enumerate(blocks, 1):
            cut = number == len(blocks) and self._finish_reason in CUT_SHORT
            self._begin(None, block, deltas, cut=cut)

    def finish(self, deltas: list[Delta]) -> None:
        """Nothing more will come: tell the calls that were not told."""
        cut_short = self._finish_reason in CUT_SHORT
        for block in self._calls:
            if block.said is None:
                block.said = block.settle(broke_off=cut_short or not self.ended)
                deltas.append(CallSaid(block.number, block.said))

    def _read_body(self, body: bytes, deltas: list[Delta]) -> None:
        fields = fields_of(body)
        kind = text_of(fields.get("type"))
        if kind == "error" or ("error" in fields and "content" not in fields):
            raise _error(value_of(fields.get("error")))
        if "content" not in fields:
            return
        self._understood = self.ended = True
        self._read_head(fields, deltas)
        self.finish(deltas)

    def _read_event(self, data: bytes, deltas: list[Delta], *, may_be_torn: bool = False) -> None:
        event = _event_of(data, may_be_torn=may_be_torn)
        if event is None:
            return
        self._understood = True
        match event.type:
            case "content_block_delta":
                if isinstance(event.delta, dict):
                    self._grow(event.index, event.delta, deltas)
            case "content_block_start" if event.content_block:
                self._begin(event.index, event.content_block, deltas)
            case "content_block_stop":
                self._end(event.index, deltas)
            case "message_start" if event.message:
                self._read_head(fields_of(event.message), deltas)
            case "message_delta":
                self._take_usage(event.usage)
                if isinstance(event.delta, dict):
                    self._take_outcome(event.delta, deltas)
                if self._finish_reason:
                    self.ended = True
                    self.finish(deltas)
            case "message_stop":
                self.ended = True
                self.finish(deltas)
            case _:  # a ping, or what later versions add
                if event.error:
                    raise _error(event.error)

    def _read_head(self, fields: Fields, deltas: list[Delta]) -> None:
        """Take the message around the blocks, and those that it holds."""
        content = fields.pop("content", None)
        values = {name: value_of(raw) for name, raw in fields.items()}
        self._id = as_text(values.get("id"))
        self._model = as_text(values.get("model"))
        self._take_usage(values.get("usage"))
        self._finish_reason = as_text(values.get("stop_reason"))
        if content is not None:
            self.read_blocks(content, deltas)
        self._take_outcome(values, deltas)

    def _take_outcome(self, values: JsonObject, deltas: list[Delta]) -> None:
        """Take what is said of a message as a whole."""
        self._finish_reason = as_text(values.get("stop_reason")) or self._finish_reason
        details = values.get("stop_details")
        if isinstance(details, dict):
            if words := as_text(details.get("explanation")):
                self._refusal += words
                deltas.append(TextDelta(words, refusal=True))
            rest: JsonObject = {n: value for n, value in details.items() if n != "explanation" and value is not None}
            if rest.keys() - {"type"}:
                self._extras["stop_details"] = rest
        self._extras |= {name: value for name, value in values.items() if name not in _HEAD and value is not None}

    def _take_usage(self, usage: Json) -> None:
        """The counts of later events are totals, and leave out what did not change."""
        if isinstance(usage, dict):
            self._usage |= {name: value for name, value in usage.items() if value is not None}

    def _begin(self, index: Json, source: Source, deltas: list[Delta], *, cut: bool = False) -> None:
        """A block begins; outside of a stream it is whole by that.

        Args:
            cut: the answer ended at its limit, maybe inside this block, which the JSON around it hides.
        """
        fields = fields_of(source)
        block = _Block(text_of(fields.pop("type", None)))
        self._blocks.append(block)
        if isinstance(index, int):
            self._by_index[index] = block
        match block.kind:
            case "text" | "thinking":
                self._say(block, text_of(fields.pop(block.kind, None)), deltas)
                if block.kind == "thinking":
                    self._sign(block, text_of(fields.pop("signature", None)), deltas)
            case "redacted_thinking":
                self._sign(block, text_of(fields.pop("data", None)), deltas)
            case "tool_use":
                source_text = source_of(fields.pop("input", None))
                if index is not None and source_text.strip() in ("{}", "null"):
                    source_text = ""  # in a stream it comes in pieces
                elif cut:
                    source_text = source_text.rstrip()[:-1]
                self._begin_call(block, fields, source_text, deltas)
            case _:  # a block of one of Anthropic's own tools
                pass
        block.rest = {name: value for name, raw in fields.items() if (value := value_of(raw)) is not None}

    def _begin_call(self, block: _Block, fields: Fields, source: str, deltas: list[Delta]) -> None:
        name = text_of(fields.pop("name", None))
        block.number = len(self._calls)
        block.name = self._names.back(name)
        block.id = unique_id(text_of(fields.pop("id", None)), block.number, self._ids)
        self._ids.add(block.id)
        block.pieces = [source] if source else []
        self._calls.append(block)
        deltas.append(CallDelta(block.number, block.name, source, block.id))

    def _grow(self, index: Json, delta: JsonObject, deltas: list[Delta]) -> None:
        block = self._by_index.get(index) if isinstance(index, int) else None
        kind = as_text(delta.get("type"))
        field, begins = _PIECES.get(kind, ("", ""))
        if block is None:
            if not begins:
                raise ModelGarbled("the endpoint's stream goes on with a block that it never began")
            self._begin(index, dumps({"type": begins}).encode(), deltas)
            block = self._blocks[-1]
        if field:
            self._say(block, as_text(delta.get(field)), deltas)
        elif kind == "signature_delta":
            self._sign(block, as_text(delta.get("signature")), deltas)
        elif kind == "citations_delta":
            said = block.rest.setdefault("citations", [])
            if isinstance(said, list):
                said.append(delta.get("citation"))
        else:  # of a block that is newer than this: texts grow, of anything else the last counts
            for name, value in delta.items():
                known = block.rest.get(name)
                together = isinstance(known, str) and isinstance(value, str) and name != "type"
                if name != "type":
                    block.rest[name] = f"{known}{value}" if together else value

    def _say(self, block: _Block, piece: str, deltas: list[Delta]) -> None:
        if not piece:
            return
        block.pieces.append(piece)
        match block.kind:
            case "text":
                deltas.append(TextDelta(piece))
            case "thinking":
                deltas.append(ReasoningDelta(piece))
            case "tool_use":
                deltas.append(CallDelta(block.number, arguments=piece))
            case _:
                pass

    def _sign(self, block: _Block, signature: str, deltas: list[Delta]) -> None:
        if signature:
            block.signature += signature
            deltas.append(ReasoningDelta("", signature, block.kind == "redacted_thinking", ANTHROPIC))

    def _end(self, index: Json, deltas: list[Delta]) -> None:
        block = self._by_index.get(index) if isinstance(index, int) else None
        if block is not None and block.number >= 0 and block.said is None and any(map(str.strip, block.pieces)):
            block.said = block.settle(broke_off=False)
            deltas.append(CallSaid(block.number, block.said))


def read_usage(usage: JsonObject) -> Usage:
    """The tokens of an answer. The API counts what was read from its cache, or written to it, beside the input."""
    details = usage.get("output_tokens_details")
    cached = count(usage.get("cache_read_input_tokens"))
    return Usage(
        count(usage.get("input_tokens")) + cached + count(usage.get("cache_creation_input_tokens")),
        count(usage.get("output_tokens")),
        cached,
        count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
    )


def _event_of(data: bytes, *, may_be_torn: bool) -> _Event | None:
    """The event; None for one that may have broken off and has."""
    try:
        return _decode_event(data)
    except NOT_DECODED:
        try:
            return _decode_event(mended(data))
        except NOT_DECODED:
            raise ModelGarbled("an event of the endpoint's stream is none of this API") from None
        except ModelGarbled:
            if may_be_torn:
                return None
            raise


def _error(error: Json) -> ModelError:
    kind = error.get("type") if isinstance(error, dict) else None
    return error_of(_STATUS_OF_TYPE.get(kind, 500) if isinstance(kind, str) else 500, None, {"error": error})
