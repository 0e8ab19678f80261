"""Reads an answer of the Gemini API: a whole one, the events of a stream, or the JSON array that its stream is without
`alt=sse`. Pure.

Text goes on over the pieces of a stream; a piece with a signature is a part of its own, since it must go back as it
came. A call comes whole, often without an id, which is then made. What has no noun of ours (code that Gemini ran, the
signature of a text) is kept by its position, see `block_extras`. Arguments in pieces, on Vertex AI, are put together by
`gemini.partial_args`.

There is no mark for the end: an answer that never gave a finish reason broke off.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Collection
from typing import Literal

import msgspec
from msgspec import Struct

from ....core.call import MediaPart, TextPart, ToolCall
from ....core.errors import ModelError
from ....core.json import Json, JsonObject, dumps
from ....core.message import ReasoningPart, Reply, Usage
from ...tool_names import ANY_NAMES, ToolNames
from ..draft import (
    INSIDE_ARGUMENTS,
    Draft,
    OpenCall,
    OpenWhole,
)
from ..model_errors import error_of
from ..raw_json import (
    NOT_DECODED,
    Fields,
    as_text,
    decode_fields,
    fields_of,
    items_of,
    read_as,
    source_of,
    text_of,
    value_of,
)
from ..signatures import GEMINI
from ..token_count import count
from .partial_args import PartialArgs

PARTS = "gemini_parts"
"""Where in `Reply.extras` stands what our nouns have no place for."""

REFUSALS = frozenset(
    {
        *("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "JAILBREAK"),
        *("IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION"),
    }
)
"""Reasons by which the API says that it won't; its message then is the words for that."""

_ANSWER = frozenset({"candidates", "promptFeedback", "usageMetadata"})
_CANDIDATE = frozenset({"content", "finishReason", "finishMessage", "index"})
_USAGE = frozenset(
    {
        *("promptTokenCount", "candidatesTokenCount", "cachedContentTokenCount", "thoughtsTokenCount"),
        *("toolUsePromptTokenCount", "totalTokenCount"),
    }
)
_SECONDS = re.compile(r"(\d+(?:\.\d+)?)s")


class _PartialArgument(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    json_path: str
    string_value: str
    will_continue: bool = False


class _CallPiece(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    partial_args: tuple[_PartialArgument]
    will_continue: Literal[True]


class _PlainPart(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    text: str = ""
    thought: bool = False
    function_call: _CallPiece | None = None


class _PlainContent(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    parts: tuple[_PlainPart]
    role: str = ""


class _PlainCandidate(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    content: _PlainContent
    index: Literal[0] = 0


class _PlainChunk(Struct, gc=False, forbid_unknown_fields=True, rename="camel"):
    """By far the most common event: more of a text, or of the arguments of a call. All others are read as `Fields`."""

    candidates: tuple[_PlainCandidate]
    usage_metadata: dict[str, int | str | list[Json]] = {}
    model_version: str = ""
    response_id: str = ""


_decode_plain = msgspec.json.Decoder(_PlainChunk).decode


class _Call(OpenCall):
    """A call; `partial` are its arguments so far, where they come in pieces with their places."""

    __slots__ = ("partial",)

    def __init__(self, index: int, id: str, wire_id: str) -> None:
        super().__init__(index, id, wire_id)
        self.partial = PartialArgs()

    def settle(self, *, broke_off: bool) -> ToolCall:
        """The call out of all that came of it."""
        if not broke_off:
            return super().settle(broke_off=False)
        return ToolCall(self.id, self.name, self.partial.whole(), "", False, (INSIDE_ARGUMENTS,), self.signature)


class ContentAnswer:
    """One answer; see `Answer`. The first candidate counts, others are passed over.

    Args:
        names: how tools are called on the wire.
    """

    KIND = "generated content"

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.draft = Draft(names)
        self._growing: _Call | None = None

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        return self.draft.reply(read_usage(self.draft.usage), PARTS, "usageMetadata", _USAGE)

    def read_event(self, data: bytes) -> None:
        """Take an event."""
        if not (self.draft.id and self.draft.model and self._read_plain(data)):
            self._read_chunk(read_as(decode_fields, data))

    def read_body(self, body: bytes) -> None:
        """Take a whole answer, or the array of its pieces."""
        is_stream = body.startswith(b"[")
        for chunk in items_of(body) if is_stream else [body]:
            self._read_chunk(read_as(decode_fields, chunk))
        self.draft.ended = self.draft.ended or (self.draft.understood and not is_stream)

    def read_parts(self, parts: list[msgspec.Raw]) -> None:
        """Take parts in order."""
        for part in parts:
            self._read_part(fields_of(part))

    def finish(self) -> None:
        """Nothing more will come: the call that goes on broke off."""
        self._growing = None
        self.draft.say_calls(broke_off=True)

    def _read_plain(self, data: bytes) -> bool:
        """Take an event of the most common form; whether it is one."""
        try:
            chunk = _decode_plain(data)
        except NOT_DECODED:
            return False
        part = chunk.candidates[0].content.parts[0]
        if part.function_call is not None:
            if self._growing is None or part.text:
                return False
            piece = part.function_call.partial_args[0]
            self._growing.partial.add_text(piece.json_path, piece.string_value)
        elif part.text:
            self.draft.say(self.draft.run_of(ReasoningPart if part.thought else TextPart), part.text)
        self.draft.usage |= chunk.usage_metadata
        return True

    def _read_chunk(self, chunk: Fields) -> None:
        if error := value_of(chunk.get("error")):
            raise _error(error)
        self.draft.understood = self.draft.understood or not _ANSWER.isdisjoint(chunk)
        self.draft.learn(value_of(chunk.get("responseId")), value_of(chunk.get("modelVersion")))
        self.draft.count(value_of(chunk.get("usageMetadata")))
        for item in items_of(chunk.get("candidates")):
            candidate = fields_of(item)
            if not value_of(candidate.get("index")):
                self._read_candidate(candidate)
        feedback = value_of(chunk.get("promptFeedback"))
        if isinstance(feedback, dict):
            self._read_feedback(feedback)

    def _read_candidate(self, candidate: Fields) -> None:
        content = value_of(candidate.get("content"))
        if isinstance(content, dict):
            self.read_parts(items_of(fields_of(candidate.get("content")).get("parts")))
        reason, words = text_of(candidate.get("finishReason")), text_of(candidate.get("finishMessage"))
        if reason:
            self.draft.finish_reason, self.draft.ended = reason, True
        if reason in REFUSALS:
            self.draft.refuse(words)
        elif words:
            self.draft.extras["finishMessage"] = words
        self.draft.extras |= _values(candidate, _CANDIDATE)

    def _read_feedback(self, feedback: JsonObject) -> None:
        """What is said of a prompt that gets no answer."""
        reason = as_text(feedback.get("blockReason"))
        if reason:
            self.draft.finish_reason, self.draft.ended = self.draft.finish_reason or reason, True
            self.draft.refuse(as_text(feedback.get("blockReasonMessage")) or f"The prompt was blocked: {reason}.")
        if feedback.get("safetyRatings"):
            self.draft.extras["promptFeedback"] = feedback

    def _read_part(self, part: Fields) -> None:
        signature = text_of(part.get("thoughtSignature"))
        if "functionCall" in part:
            rest = _values(part, {"functionCall", "thoughtSignature"})
            self._read_call(fields_of(part["functionCall"]), signature, rest)
        elif "text" in part and (text_of(part["text"]) or value_of(part.get("thought"))):
            self._read_text(part, signature)
        elif set(part) <= {"text", "thought"}:
            return
        elif media := _media(part):
            self.draft.parts.append(OpenWhole(media, _values(part, {"inlineData", "fileData"})))
        else:
            self.draft.parts.append(OpenWhole(None, _values(part, ())))

    def _read_text(self, part: Fields, signature: str) -> None:
        """More of a text; one with a signature, or with what we have no noun for, is a part of its own."""
        is_thought, words = value_of(part.get("thought")) is True, text_of(part["text"])
        kind = ReasoningPart if is_thought else TextPart
        rest = _values(part, {"text", "thought", "thoughtSignature"} if is_thought else {"text", "thought"})
        if words or signature or rest:
            opened = self.draft.begin_text(kind) if signature or rest else self.draft.run_of(kind)
            opened.fields = rest
            self.draft.say(opened, words)
            self.draft.sign(opened, signature if is_thought else "", GEMINI)

    def _read_call(self, said: Fields, signature: str, rest: JsonObject) -> None:
        name, goes_on = text_of(said.get("name")), bool(value_of(said.get("willContinue")))
        pieces = items_of(said.get("partialArgs"))
        call = self._growing
        if name or call is None:
            self.finish()
            call = self.draft.begin_call(_Call, text_of(said.get("id")))
            call.signature, call.fields = signature, rest
            if not goes_on and not pieces:
                call.pieces = [source_of(said.get("args"))]
            self.draft.name_call(call, name, "".join(call.pieces))
        for piece in pieces:
            call.partial.take(value if isinstance(value := value_of(piece), dict) else {})
        if not goes_on and not call.pieces:
            self.draft.argue(call, dumps(call.partial.whole()))
        if not goes_on:
            self.draft.say_call(call, call.settle(broke_off=False))
        self._growing = call if goes_on else None


def read_usage(usage: JsonObject) -> Usage:
    """The tokens of an answer. The API counts thoughts beside what was said."""
    thoughts = count(usage.get("thoughtsTokenCount"))
    return Usage(
        count(usage.get("promptTokenCount")) + count(usage.get("toolUsePromptTokenCount")),
        count(usage.get("candidatesTokenCount")) + thoughts,
        count(usage.get("cachedContentTokenCount")),
        thoughts,
    )


def retry_delay(body: Json) -> float | None:
    """The seconds after which an error says to come back (`google.rpc.RetryInfo`)."""
    if isinstance(body, list) and body:
        body = body[0]
    error = body.get("error") if isinstance(body, dict) else None
    details = error.get("details") if isinstance(error, dict) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, dict) else None
        if isinstance(delay, str) and (seconds := _SECONDS.fullmatch(delay)):
            return float(seconds[1])
    return None


def base64_any(text: str) -> bytes:
    """The bytes behind base64, in the alphabet of URLs too, which the official SDK writes.

    Raises:
        ValueError: it is neither.
    """
    try:
        return base64.b64decode(text.replace("-", "+").replace("_", "/") + "=" * (-len(text) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError("it is not base64") from error


def _media(part: Fields) -> MediaPart | None:
    inline, located = value_of(part.get("inlineData")), value_of(part.get("fileData"))
    found = inline or located
    if not isinstance(found, dict) or "thought" in part:
        return None
    kind, name = as_text(found.get("mimeType")) or "application/octet-stream", as_text(found.get("displayName"))
    if url := as_text(found.get("fileUri")):
        return MediaPart(kind, url=url, name=name)
    try:
        return MediaPart(kind, base64_any(as_text(found.get("data"))), name=name)
    except ValueError:
        return None


def _values(part: Fields, without: Collection[str]) -> JsonObject:
    return {name: value for name, raw in part.items() if name not in without and (value := value_of(raw)) is not None}


def _error(error: Json) -> ModelError:
    status = error.get("code") if isinstance(error, dict) else None
    known = status if isinstance(status, int) and 400 <= status < 600 else 500
    return error_of(known, retry_delay({"error": error}), {"error": error})
