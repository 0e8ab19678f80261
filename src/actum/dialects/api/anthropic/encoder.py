"""Writes an answer of the Anthropic Messages API, whole and as an event stream: what a server sends. Pure.

Media in a reply are described in its text, since this API's answers hold none. The words of a refusal go into
`stop_details.explanation`. A call that broke off is written as its text in a field `INVALID_JSON`, which is how this
API wants to be told of one; the stop reason `max_tokens` tells the client too that it is not whole.

In a stream, blocks follow each other: what is said beside a call that is still being said waits for the end of it.
"""

from __future__ import annotations

from typing import cast

import msgspec

from ....core.call import MediaPart, TextPart, ToolCall
from ....core.errors import ActumError
from ....core.event import (
    CallDelta,
    CallSaid,
    Delta,
    ReasoningDelta,
    TextDelta,
    ThoughtEnded,
)
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    ReplyPart,
    Usage,
)
from ....protocols.sse import sse
from ...error_answer import anthropic_error
from ..block_extras import Block, alone, weave
from ..call_wire import WireIds, arguments_object, arguments_text
from ..cut_short import cut_short
from ..signatures import ANTHROPIC, carried
from .decoder import BLOCKS, INVALID

DEFAULT_ID = "msg_actum"
ID_REFUSED = "[^A-Za-z0-9_-]"
"""What the API does not take in the id of a call."""

_OURS = frozenset({BLOCKS, "id", "type", "role", "content", "model", "usage"})
"""Fields of an answer that extras, which may come from another API, do not take the place of."""

_STOP_REASONS = {
    "model_context_window_exceeded": "model_context_window_exceeded",
    "pause_turn": "pause_turn",
}
"""The words of this API that no other API has."""
_CUT_SHORT = {"length": "max_tokens", "content_filter": "refusal"}
"""What a reply that was cut short in whatever API ends with here. An end and calls need no word."""

_NOTHING: Block = {"container": None, "stop_details": None}
_NOT_COUNTED: Block = {"cache_creation": None, "inference_geo": None, "server_tool_use": None, "service_tier": None}
_OF_BLOCK: dict[object, Block] = {"text": {"citations": []}}
"""What the API always says, also where there is nothing to say: strict clients miss a field that is left out."""

_encode = msgspec.json.Encoder().encode


def call_block(wire_id: str, name: str, call: ToolCall) -> Block:
    """A call as a block."""
    source = arguments_object(call) if call.complete else msgspec.Raw(_encode({INVALID: call.raw}))
    return {"type": "tool_use", "id": wire_id, "name": name, "input": source}


def thought_block(part: ReasoningPart) -> Block:
    """A thought as a block."""
    signature = carried(part, ANTHROPIC)
    if part.redacted:
        return {"type": "redacted_thinking", "data": signature}
    return {"type": "thinking", "thinking": part.text, "signature": signature}


def encode_reply(reply: Reply) -> bytes:
    """The body of an answer."""
    head = _head(reply.id, reply.model) | {"content": _blocks(reply), "usage": _usage_object(reply)}
    return _encode(head | _outcome(reply))


class MessagesEncoder:
    """Writes an answer as events; see `base.Encoder`.

    Args:
        id_: of the answer; must be known before it is.
        model: the model that answers; likewise.
        input_tokens: of the request, where they are known by then; the end of the stream tells them again.
    """

    def __init__(self, *, id_: str = DEFAULT_ID, model: str = "", input_tokens: int = 0) -> None:
        self._head = _head(id_, model) | {"usage": _usage_object(Reply((), usage=Usage(input_tokens)))}
        self._began = False
        self._index = -1
        self._open = ""
        self._call: _OpenCall | None = None
        self._told: set[int] = set()
        self._waiting: list[Delta] = []
        self._ids = WireIds(ID_REFUSED)

    def feed(self, delta: Delta) -> bytes:
        """The events for this piece; none where it adds nothing, or has to wait."""
        about = delta.index if isinstance(delta, CallDelta | CallSaid) else -1
        if about in self._told:
            return b""
        if self._call is not None and about != self._call.index:
            self._waiting.append(delta)
            return b""
        match delta:
            case TextDelta(text, refusal):
                return self._more("text", "" if refusal else text)
            case ReasoningDelta(text, signature, redacted, by):
                if redacted:
                    return self._block(thought_block(ReasoningPart("", signature, redacted, by)))
                return self._more("thinking", text) + self._signed(carried(delta, ANTHROPIC))
            case CallDelta(index, name, arguments, id_):
                return self._call_piece(index, name, arguments, id_)
            case CallSaid():
                return self._call_end(delta)
            case ThoughtEnded():
                return b""

    def close(self, reply: Reply) -> bytes:
        """The end of the stream, after what of the reply was not told in pieces."""
        if self._began or self._call is not None:
            events = [self.feed(CallSaid(*item)) for item in enumerate(reply.calls)]
            events += [self._block(block) for block in alone(reply, BLOCKS)]
        else:
            events = [self._block(block) for block in _blocks(reply)]
        events += [self._stop(), self._begin()]
        events.append(_event("message_delta", {"delta": _outcome(reply), "usage": _usage_object(reply)}))
        return b"".join([*events, _event("message_stop", {})])

    def begin(self) -> bytes:
        """The event with which a stream begins, before there is anything to tell."""
        return self._begin()

    def show(self, block: Block) -> bytes:
        """The events for a block that is no part of a reply, such as a call that the server has made.

        Args:
            block: the whole block.
        """
        return self._block(block)

    def fail(self, error: ActumError) -> bytes:
        """The end of a stream whose answer did not come to its own."""
        return sse(_encode(anthropic_error(error)), "error")

    def _call_piece(self, index: int, name: str, arguments: str, id_: str) -> bytes:
        """The block begins with the first of the arguments, since only then the name is known to be whole."""
        call = self._call = self._call or _OpenCall(index)
        call.name += name
        call.id = call.id or id_
        if not arguments:
            return b""
        begin = b"" if call.began else self._begin_call(call)
        return begin + self._delta({"type": "input_json_delta", "partial_json": arguments})

    def _begin_call(self, call: _OpenCall) -> bytes:
        call.began = True
        head: Block = {"type": "tool_use", "id": self._ids.take(call.id), "name": call.name, "input": {}}
        return self._start("tool_use", head)

    def _call_end(self, said: CallSaid) -> bytes:
        call = self._call or _OpenCall(said.index)
        events = []
        if not call.began:
            call.name, call.id = said.call.name, said.call.id
            events.append(self._begin_call(call))
            whole = said.call.complete
            source = bytes(arguments_object(said.call)).decode() if whole else arguments_text(said.call, nothing="{")
            events.append(self._delta({"type": "input_json_delta", "partial_json": source}))
        events.append(self._stop())
        self._call = None
        self._told.add(said.index)
        waiting, self._waiting = self._waiting, []
        return b"".join([*events, *[self.feed(delta) for delta in waiting]])

    def _block(self, block: Block) -> bytes:
        """A block that is all there."""
        kind = str(block.get("type"))
        if kind == "tool_use":
            source = bytes(cast(msgspec.Raw, block["input"])).decode()
            begin = self._start(kind, block | {"input": {}})
            return begin + self._delta({"type": "input_json_delta", "partial_json": source}) + self._stop()
        if kind not in ("text", "thinking"):
            return self._start(kind, block) + self._stop()
        blank = {name: "" for name in ("signature",) if name in block}
        begin = self._start(kind, block | {kind: ""} | blank)
        return begin + self._more(kind, str(block[kind])) + self._signed(str(block.get("signature", ""))) + self._stop()

    def _more(self, kind: str, text: str) -> bytes:
        """More of the text that is being said, or the beginning of another."""
        if not text:
            return b""
        begin = b"" if kind == self._open else self._start(kind, _BLANK[kind])
        return begin + self._delta({"type": f"{kind}_delta", kind: text})

    def _signed(self, signature: str) -> bytes:
        """The end of a thought."""
        if not signature:
            return b""
        begin = b"" if self._open == "thinking" else self._start("thinking", _BLANK["thinking"])
        return begin + self._delta({"type": "signature_delta", "signature": signature}) + self._stop()

    def _start(self, kind: str, block: Block) -> bytes:
        before = self._begin() + self._stop()
        self._index += 1
        self._open = kind
        return before + _event("content_block_start", {"index": self._index, "content_block": _whole(block)})

    def _delta(self, delta: Block) -> bytes:
        return _event("content_block_delta", {"index": self._index, "delta": delta})

    def _stop(self) -> bytes:
        if not self._open:
            return b""
        self._open = ""
        return _event("content_block_stop", {"index": self._index})

    def _begin(self) -> bytes:
        if self._began:
            return b""
        self._began = True
        return _event("message_start", {"message": self._head})


class _OpenCall:
    """The call that is being said."""

    __slots__ = ("began", "id", "index", "name")

    def __init__(self, index: int) -> None:
        self.index = index
        self.began = False
        self.id = ""
        self.name = ""


_BLANK: dict[str, Block] = {
    "text": {"type": "text", "text": ""},
    "thinking": {"type": "thinking", "thinking": "", "signature": ""},
}


def _blocks(reply: Reply) -> list[Block]:
    ids = WireIds(ID_REFUSED)

    def write(part: ReplyPart) -> Block | None:
        match part:
            case ToolCall(id_, name):
                return call_block(ids.take(id_), name, part)
            case ReasoningPart():
                return thought_block(part)
            case RefusalPart():
                return None
            case TextPart(text):
                return {"type": "text", "text": text}
            case MediaPart():
                return {"type": "text", "text": part.describe()}

    return [_whole(block) for block in weave(reply, BLOCKS, write)]


def _whole(block: Block) -> Block:
    """A block with all the fields that the API says."""
    return _OF_BLOCK.get(block.get("type"), {}) | block


def _head(id_: str, model: str) -> Block:
    return {
        "id": id_ or DEFAULT_ID,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        **_NOTHING,
    }


def _outcome(reply: Reply) -> Block:
    """What is said of a message as a whole. Clients trust the stop reason, so it tells of calls whenever there are."""
    refusal = "".join([part.text for part in reply.content if isinstance(part, RefusalPart)])
    details = reply.extras.get("stop_details")
    known = details if isinstance(details, dict) else {}
    outcome: Block = _NOTHING | {name: value for name, value in reply.extras.items() if name not in _OURS}
    outcome |= {
        "stop_reason": _stop_reason(reply, refused=bool(refusal or known)),
        "stop_sequence": reply.extras.get("stop_sequence"),
    }
    if refusal or known:
        outcome["stop_details"] = {"type": "refusal", "category": None, **known, "explanation": refusal or None}
    return outcome


def _stop_reason(reply: Reply, *, refused: bool) -> str:
    last = reply.content[-1] if reply.content else None
    if isinstance(last, ToolCall):  # a limit that was reached would tell the client not to trust this call
        return "tool_use" if last.complete else "max_tokens"
    if refused:
        return "refusal"
    calls_or_end = "tool_use" if reply.calls else "stop_sequence" if "stop_sequence" in reply.extras else "end_turn"
    return _STOP_REASONS.get(reply.finish_reason.lower()) or _CUT_SHORT.get(cut_short(reply), calls_or_end)


def _usage_object(reply: Reply) -> Block:
    usage, extras = reply.usage, reply.extras.get("usage")
    more = extras if isinstance(extras, dict) else {}
    written = usage.cache_written_tokens
    return {
        "input_tokens": max(0, usage.input_tokens - usage.cached_tokens - written),
        "output_tokens": usage.output_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": written,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens},
        **_NOT_COUNTED,
        **more,
    }


def _event(kind: str, fields: Block) -> bytes:
    return sse(_encode({"type": kind, **fields}), kind)
