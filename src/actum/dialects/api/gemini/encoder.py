"""Writes an answer of the Gemini API, whole and as an event stream: what a server sends. Pure.

The words of a refusal go into `promptFeedback`, since the official client passes on no `finishMessage`. A call that
broke off is not written as a call, which a client would run: as the API does, the answer ends with
`MALFORMED_FUNCTION_CALL`, and `finishMessage` holds what was said. In a stream a call is written when it is whole.
"""

from __future__ import annotations

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
)
from ....protocols.sse import sse
from ...error_answer import gemini_error
from ..block_extras import Block, alone, weave
from ..call_wire import arguments_object
from ..cut_short import cut_short
from ..data_url import base64_text
from ..signatures import GEMINI, carried
from .decoder import PARTS, REFUSALS

_OWN = frozenset(
    {
        *("STOP", "MAX_TOKENS", "LANGUAGE", "OTHER", "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "NO_IMAGE"),
        *("TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE", "MALFORMED_RESPONSE", "IMAGE_OTHER"),
        *REFUSALS,
    }
)
_BLOCKED = frozenset({"SAFETY", "BLOCKLIST", "PROHIBITED_CONTENT", "IMAGE_SAFETY", "MODEL_ARMOR", "JAILBREAK"})
_CUT_SHORT = {"content_filter": "SAFETY", "length": "MAX_TOKENS"}
"""What a reply that was cut short in another API ends with here. Calls need no word."""

_CANDIDATE = frozenset(
    {
        *("citationMetadata", "groundingMetadata", "safetyRatings", "avgLogprobs", "logprobsResult", "tokenCount"),
        *("urlContextMetadata", "continuationToken", "groundingAttributions", "finishMessage"),
    }
)
"""Fields of a candidate that stand in a reply's extras."""

_encode = msgspec.json.Encoder().encode


def call_part(call: ToolCall, name: str, wire_id: str) -> Block:
    """A call as a part; without an id where that is empty."""
    head: Block = {"id": wire_id} if wire_id else {}
    part: Block = {"functionCall": head | {"name": name, "args": arguments_object(call)}}
    return part | {"thoughtSignature": call.signature} if call.signature else part


def thought_part(part: ReasoningPart) -> Block:
    """A thought as a part."""
    written: Block = {"text": part.text, "thought": True}
    return written | {"thoughtSignature": carried(part, GEMINI)} if part.signature else written


def media_part(part: MediaPart) -> Block:
    """Media as a part."""
    if part.url and not part.data:
        return {"fileData": {"mimeType": part.media_type, "fileUri": part.url}}
    return {"inlineData": {"mimeType": part.media_type, "data": base64_text(part)}}


def encode_reply(reply: Reply) -> bytes:
    """The body of an answer."""
    return _encode(_answer(reply.id, reply.model, weave(reply, PARTS, _written), _outcome(reply)) | _usage(reply))


class ContentEncoder:
    """Writes an answer as events; see `base.Encoder`.

    Args:
        id_: of the answer; must be known before it is.
        model: the model that answers; likewise.
    """

    def __init__(self, *, id_: str = "", model: str = "") -> None:
        self._id = id_
        self._model = model
        self._began = False
        self._waiting: dict[int, ToolCall] = {}
        self._told = 0

    def feed(self, delta: Delta) -> bytes:
        """The event for this piece; none where it adds nothing, or is a part of a call."""
        match delta:
            case TextDelta(text, refusal):
                return b"" if refusal or not text else self._parts([{"text": text}])
            case ReasoningDelta(text, signature, redacted, by):
                part = thought_part(ReasoningPart(text, signature, redacted, by))
                return self._parts([part]) if text or signature else b""
            case CallSaid(index, call):
                self._waiting[index] = call
                return self._in_order()
            case CallDelta():
                return b""
            case ThoughtEnded():
                return b""

    def close(self, reply: Reply) -> bytes:
        """The end of the stream, after what of the reply was not told in pieces."""
        if self._began:
            events = [self.feed(CallSaid(*item)) for item in enumerate(reply.calls)]
            left = [*_signatures(reply), *alone(reply, PARTS)]
        else:
            events, left = [], weave(reply, PARTS, _written)
        events += [self._parts([part]) for part in left]
        return b"".join([*events, sse(_encode(_answer(self._id, self._model, [], _outcome(reply)) | _usage(reply)))])

    def fail(self, error: ActumError) -> bytes:
        """The end of a stream whose answer did not come to its own."""
        return sse(_encode(gemini_error(error)))

    def _in_order(self) -> bytes:
        """The calls that all before them were told of: a later one may be whole first."""
        parts = []
        while self._told in self._waiting:
            part = _written(self._waiting.pop(self._told))
            self._told += 1
            if part is not None:
                parts.append(part)
        return self._parts(parts) if parts else b""

    def _parts(self, parts: list[Block]) -> bytes:
        self._began = True
        return sse(_encode(_answer(self._id, self._model, parts, {})))


def _answer(id_: str, model: str, parts: list[Block], outcome: Block) -> Block:
    candidate: Block = {"content": {"parts": parts, "role": "model"}, "index": 0}
    named: Block = {name: value for name, value in (("modelVersion", model), ("responseId", id_)) if value}
    return {"candidates": [candidate | outcome], **named}


def _written(part: ReplyPart) -> Block | None:
    match part:
        case ToolCall():
            return call_part(part, part.name, part.id) if part.complete else None
        case ReasoningPart():
            return thought_part(part)
        case MediaPart():
            return media_part(part)
        case RefusalPart():
            return None
        case TextPart(text):
            return {"text": text}


def _signatures(reply: Reply) -> list[Block]:
    """The signatures of texts, which were told without them: alone, as the API itself sends them at times."""
    marked = [part for part in weave(reply, PARTS, _written) if part.get("text") and "thought" not in part]
    return [{**part, "text": ""} for part in marked if "thoughtSignature" in part]


def _outcome(reply: Reply) -> Block:
    """What is said of an answer as a whole."""
    outcome: Block = {name: value for name, value in reply.extras.items() if name in _CANDIDATE}
    broken = [call for call in reply.calls if not call.complete]
    if broken:
        said = ", ".join([f"{call.name}({call.raw})" for call in broken])
        return outcome | {
            "finishReason": "MALFORMED_FUNCTION_CALL",
            "finishMessage": f"Malformed function call: {said}",
        }
    return outcome | {"finishReason": _finish_reason(reply)}


def _finish_reason(reply: Reply) -> str:
    own = reply.finish_reason.upper()
    other = _CUT_SHORT.get(reply.cut_off, "OTHER" if cut_short(reply) else "STOP")
    reason = own if own in _OWN else other
    return "SAFETY" if _refusal(reply) and reason not in REFUSALS else reason


def _refusal(reply: Reply) -> str:
    return "".join([part.text for part in reply.content if isinstance(part, RefusalPart)])


def _feedback(reply: Reply) -> Block:
    """What is said of a prompt that gets no answer."""
    known, words = reply.extras.get("promptFeedback"), _refusal(reply)
    feedback: Block = dict(known) if isinstance(known, dict) else {}
    if words:
        reason = _finish_reason(reply)
        feedback |= {"blockReason": reason if reason in _BLOCKED else "OTHER", "blockReasonMessage": words}
    return {"promptFeedback": feedback} if feedback else {}


def _usage(reply: Reply) -> Block:
    usage, extras = reply.usage, reply.extras.get("usageMetadata")
    counts: Block = {
        "promptTokenCount": usage.input_tokens,
        "candidatesTokenCount": max(0, usage.output_tokens - usage.reasoning_tokens),
        "totalTokenCount": usage.total_tokens,
    }
    if usage.cached_tokens:
        counts["cachedContentTokenCount"] = usage.cached_tokens
    if usage.reasoning_tokens:
        counts["thoughtsTokenCount"] = usage.reasoning_tokens
    fields: Block = {"usageMetadata": counts | (extras if isinstance(extras, dict) else {})}
    return fields | _feedback(reply)
