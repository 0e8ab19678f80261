"""Reads an answer of the Anthropic Messages API, a whole one or the events of a stream. Pure.

A block of the wire is a part of the reply. What has no noun of ours (blocks of Anthropic's own tools, citations) is
kept by its position, see `block_extras`. The arguments of a call are taken as source text in both forms, so that they
read the same. A call is told at the end of its block; one without arguments only when the stop reason is there, because
one that broke off before them looks alike.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct, field, structs

from ....core.call import TextPart, ToolCall
from ....core.errors import ModelError, ModelGarbled
from ....core.json import Json, JsonObject, dumps
from ....core.message import ReasoningPart, Reply, Usage
from ...tool_names import ANY_NAMES, ToolNames
from ..call_wire import read_arguments
from ..draft import (
    INSIDE_ARGUMENTS,
    Draft,
    OpenCall,
    OpenText,
    OpenWhole,
)
from ..model_errors import error_of
from ..raw_json import (
    NOT_DECODED,
    Fields,
    Source,
    as_text,
    decode_fields,
    fields_of,
    items_of,
    read_as,
    source_of,
    text_of,
    value_of,
)
from ..signatures import ANTHROPIC
from ..token_count import count

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
_USAGE = frozenset(
    {"input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens_details"}
)
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


class _TextDelta(Struct, gc=False, tag="text_delta"):
    text: str


class _ThinkingDelta(Struct, gc=False, tag="thinking_delta"):
    text: str = field(name="thinking")


class _ArgumentsDelta(Struct, gc=False, tag="input_json_delta"):
    text: str = field(name="partial_json")


class _Piece(Struct, gc=False):
    """By far the most common event: more of a block. All others are an `_Event`."""

    type: Literal["content_block_delta"]
    index: int
    delta: _TextDelta | _ThinkingDelta | _ArgumentsDelta


_decode_piece = msgspec.json.Decoder(_Piece).decode
_decode_event = msgspec.json.Decoder(_Event).decode


class _Call(OpenCall):
    """A call; of broken-off arguments the text lies in a field."""

    __slots__ = ()

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        call = super().settle(broke_off=broke_off)
        if call.arguments.keys() != {INVALID}:
            return call
        raw = as_text(call.arguments[INVALID])
        repairs = read_arguments(raw)[1] or (INSIDE_ARGUMENTS,)
        return structs.replace(call, arguments={}, raw=raw, complete=False, repairs=repairs)


class _OwnBlock(OpenWhole):
    """A block of one of Anthropic's own tools; its input may come in pieces."""

    __slots__ = ("pieces",)

    def __init__(self, kind: str) -> None:
        super().__init__(None, {"type": kind})
        self.pieces: list[str] = []

    def part(self) -> None:
        """None: we have no noun for it. What of its input came by now goes to its fields."""
        if self.pieces:
            self.fields["input"] = read_arguments("".join(self.pieces))[0]


_Block = OpenText | _Call | _OwnBlock


class MessagesAnswer:
    """One answer; see `Answer`.

    Args:
        names: how tools are called on the wire.
    """

    KIND = "a message"

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.draft = Draft(names)
        self._blocks: dict[int, _Block] = {}

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        return self.draft.reply(read_usage(self.draft.usage), BLOCKS, "usage", _USAGE)

    def read_blocks(self, content: Source) -> None:
        """Take blocks that are whole, as the JSON text of a list of them, or of a text."""
        said = text_of(content)
        blocks = [msgspec.Raw(dumps({"type": "text", "text": said}).encode())] if said else items_of(content)
        for number, block in enumerate(blocks, 1):
            self._begin(None, block, cut=number == len(blocks) and self.draft.finish_reason in CUT_SHORT)

    def finish(self) -> None:
        """Nothing more will come."""
        self.draft.say_calls(broke_off=not self.draft.ended or self.draft.finish_reason in CUT_SHORT)

    def read_body(self, body: bytes) -> None:
        """Take a whole answer."""
        fields = read_as(decode_fields, body)
        if text_of(fields.get("type")) == "error" or ("error" in fields and "content" not in fields):
            raise _error(value_of(fields.get("error")))
        if "content" in fields:
            self.draft.understood = self.draft.ended = True
            self._read_head(fields)

    def read_event(self, data: bytes) -> None:
        """Take an event."""
        try:
            piece = _decode_piece(data)
        except NOT_DECODED:
            piece = None
        if piece is not None and (block := self._blocks.get(piece.index)) is not None:
            self._grow(block, piece.delta.text)
        else:
            self._read_event(read_as(_decode_event, data))

    def _read_event(self, event: _Event) -> None:
        self.draft.understood = True
        match event.type:
            case "content_block_delta" if isinstance(event.delta, dict):
                self._read_delta(event.index, event.delta)
            case "content_block_start" if event.content_block:
                self._begin(event.index, event.content_block)
            case "content_block_stop":
                self._end(self._block_at(event.index))
            case "message_start" if event.message:
                self._read_head(fields_of(event.message))
            case "message_delta":
                self.draft.count(event.usage)
                if isinstance(event.delta, dict):
                    self._take_outcome(event.delta)
                if self.draft.finish_reason:
                    self.draft.ended = True
                    self.finish()
            case "message_stop":
                self.draft.ended = True
                self.finish()
            case _:  # a ping, or what later versions add
                if event.error:
                    raise _error(event.error)

    def _read_head(self, fields: Fields) -> None:
        """Take the message around the blocks, and those that it holds."""
        content = fields.pop("content", None)
        values = {name: value_of(raw) for name, raw in fields.items()}
        self.draft.learn(values.get("id"), values.get("model"))
        self.draft.count(values.get("usage"))
        self.draft.finish_reason = as_text(values.get("stop_reason"))
        if content is not None:
            self.read_blocks(content)
        self._take_outcome(values)

    def _take_outcome(self, values: JsonObject) -> None:
        """Take what is said of a message as a whole."""
        self.draft.finish_reason = as_text(values.get("stop_reason")) or self.draft.finish_reason
        details = values.get("stop_details")
        if isinstance(details, dict):
            self.draft.refuse(as_text(details.get("explanation")))
            rest: JsonObject = {n: value for n, value in details.items() if n != "explanation" and value is not None}
            if rest.keys() - {"type"}:
                self.draft.extras["stop_details"] = rest
        self.draft.extras |= {name: value for name, value in values.items() if name not in _HEAD and value is not None}

    # Blocks.

    def _block_at(self, index: Json) -> _Block | None:
        return self._blocks.get(index) if isinstance(index, int) else None

    def _begin(self, index: Json, source: Source, *, cut: bool = False) -> _Block:
        """A block begins; outside of a stream it is whole by that.

        Args:
            cut: the answer ended at its limit, maybe inside this block, which the JSON around it hides.
        """
        fields = fields_of(source)
        kind = text_of(fields.pop("type", None))
        block: _Block
        match kind:
            case "text":
                block = self.draft.begin_text(TextPart)
                self.draft.say(block, text_of(fields.pop("text", None)))
            case "thinking":
                block = self.draft.begin_text(ReasoningPart)
                self.draft.say(block, text_of(fields.pop("thinking", None)))
                self.draft.sign(block, text_of(fields.pop("signature", None)), ANTHROPIC)
            case "redacted_thinking":
                block = self.draft.begin_text(ReasoningPart, redacted=True)
                self.draft.sign(block, text_of(fields.pop("data", None)), ANTHROPIC)
            case "tool_use":
                source_text = source_of(fields.pop("input", None))
                if index is not None and source_text.strip() in ("{}", "null"):
                    source_text = ""  # in a stream it comes in pieces
                elif cut:
                    source_text = source_text.rstrip()[:-1]
                block = self.draft.begin_call(_Call, text_of(fields.pop("id", None)))
                block.pieces += [source_text] if source_text else []
                self.draft.name_call(block, text_of(fields.pop("name", None)), source_text)
            case _:
                block = _OwnBlock(kind)
                self.draft.parts.append(block)
        block.fields |= {name: value for name, raw in fields.items() if (value := value_of(raw)) is not None}
        if isinstance(block, OpenText) and block.fields.get("citations") == []:
            del block.fields["citations"]  # the same as none
        if isinstance(index, int):
            self._blocks[index] = block
        return block

    def _grow(self, block: _Block, piece: str) -> None:
        if isinstance(block, OpenText):
            self.draft.say(block, piece)
        elif not piece:
            pass
        elif isinstance(block, _Call):
            self.draft.argue(block, piece)
        else:
            block.pieces.append(piece)

    def _read_delta(self, index: Json, delta: JsonObject) -> None:
        """A piece of another kind, or of a block that was never begun, which is borne where its kind is plain."""
        kind = as_text(delta.get("type"))
        field, begins = _PIECES.get(kind, ("", ""))
        block = self._block_at(index)
        if block is None:
            if not begins:
                raise ModelGarbled("the endpoint's stream goes on with a block that it never began")
            block = self._begin(index, dumps({"type": begins}).encode())
        if field:
            self._grow(block, as_text(delta.get(field)))
        elif kind == "signature_delta" and isinstance(block, OpenText):
            self.draft.sign(block, as_text(delta.get("signature")), ANTHROPIC)
        elif kind == "citations_delta":
            said = block.fields.setdefault("citations", [])
            if isinstance(said, list):
                said.append(delta.get("citation"))
        else:  # of a block that is newer than this: texts grow, of anything else the last counts
            for name, value in delta.items():
                known = block.fields.get(name)
                together = isinstance(known, str) and isinstance(value, str)
                if name != "type":
                    block.fields[name] = f"{known}{value}" if together else value

    def _end(self, block: _Block | None) -> None:
        if isinstance(block, _Call) and block.said is None and any(map(str.strip, block.pieces)):
            self.draft.say_call(block, block.settle(broke_off=False))


def read_usage(usage: JsonObject) -> Usage:
    """The tokens of an answer. The API counts what was read from its cache, or written to it, beside the input."""
    details = usage.get("output_tokens_details")
    read, written = count(usage.get("cache_read_input_tokens")), count(usage.get("cache_creation_input_tokens"))
    return Usage(
        count(usage.get("input_tokens")) + read + written,
        count(usage.get("output_tokens")),
        read,
        count(details.get("thinking_tokens")) if isinstance(details, dict) else 0,
        cache_written_tokens=written,
    )


def _error(error: Json) -> ModelError:
    kind = error.get("type") if isinstance(error, dict) else None
    return error_of(_STATUS_OF_TYPE.get(kind, 500) if isinstance(kind, str) else 500, None, {"error": error})
