"""Reads an answer of the Gemini API: whole, as an event stream, or as the JSON array that its stream is without
`alt=sse`; in any cut, in linear time. Pure.

Text goes on over the pieces of a stream; a piece with a signature is a part of its own, since it must go back as it
came. A call comes whole, often without an id, which is then made. What has no noun of ours (code that Gemini ran, the
signature of a text) is kept by its position, see `block_extras`. Arguments in pieces, on Vertex AI, are put together by
`gemini_partial_args`.

There is no mark for the end: an answer that never gave a finish reason broke off.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from ..core.call import MediaPart, TextPart, ToolCall
from ..core.errors import ModelError, ModelGarbled
from ..core.event import CallDelta, CallSaid, Delta, ReasoningDelta, TextDelta
from ..core.json import Json, JsonObject, dumps
from ..core.message import ReasoningPart, RefusalPart, Reply, ReplyPart, Usage
from .answer_reader import AnswerReader
from .block_extras import gather
from .call_wire import read_arguments, unique_id
from .gemini_partial_args import PartialArgs
from .openai_chat_error import error_of
from .raw_json import Fields, as_text, fields_of, items_of, source_of, text_of, value_of
from .signatures import GEMINI
from .token_count import count
from .tool_names import ANY_NAMES, ToolNames

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


class _Text:
    """A run of text or of thought, as it grows."""

    __slots__ = ("kind", "pieces", "rest", "signature")

    def __init__(self, kind: type[TextPart | ReasoningPart]) -> None:
        self.kind = kind
        self.pieces: list[str] = []
        self.signature = ""
        self.rest: JsonObject = {}

    def part(self) -> tuple[ReplyPart, JsonObject]:
        text = "".join(self.pieces)
        by = GEMINI if self.signature else ""
        return TextPart(text) if self.kind is TextPart else ReasoningPart(text, self.signature, by=by), self.rest


class _Whole:
    """A part that came at once; None and the whole of it where there is no noun."""

    __slots__ = ("_part",)

    def __init__(self, part: ReplyPart | None, rest: JsonObject) -> None:
        self._part = (part, rest)

    def part(self) -> tuple[ReplyPart | None, JsonObject]:
        return self._part


class _Call:
    """A call, as it grows.

    Attributes:
        said: it, once it is whole.
        partial: its arguments so far, where they come in pieces.
    """

    __slots__ = ("id", "name", "number", "partial", "rest", "said", "signature")

    def __init__(self, number: int, id_: str, name: str, signature: str) -> None:
        self.number = number
        self.id = id_
        self.name = name
        self.signature = signature
        self.partial = PartialArgs()
        self.said: ToolCall | None = None
        self.rest: JsonObject = {}

    def settle(self, raw: str) -> ToolCall:
        arguments, repairs, complete = read_arguments(raw)
        return ToolCall(self.id, self.name, arguments, raw, complete, repairs, self.signature)

    def broken_off(self) -> ToolCall:
        note = ("the answer broke off inside the arguments",)
        return ToolCall(self.id, self.name, self.partial.whole(), "", False, note, self.signature)

    def part(self) -> tuple[ReplyPart, JsonObject]:
        return self.said or self.broken_off(), self.rest


class ContentDecoder:
    """Reads one answer; see `base.ApiDecoder`. The first candidate counts, others are passed over.

    Args:
        names: how tools are called on the wire.
    """

    def __init__(self, names: ToolNames = ANY_NAMES) -> None:
        self.ended = False
        self._names = names
        self._answer = AnswerReader()
        self._understood = False
        self._open: list[_Text | _Whole | _Call] = []
        self._calls: list[_Call] = []
        self._growing: _Call | None = None
        self._ids: set[str] = set()
        self._finish_reason = ""
        self._refusal = ""
        self._usage: JsonObject = {}
        self._model = ""
        self._id = ""
        self._extras: JsonObject = {}

    def feed(self, chunk: bytes | str) -> list[Delta]:
        """Take the next piece.

        Raises:
            ModelError: the stream tells of an error.
            ModelGarbled: an event that is not of this API.
        """
        deltas: list[Delta] = []
        for data in self._answer.feed(chunk):
            self._read_chunk(data, deltas)
        return deltas

    def close(self) -> list[Delta]:
        """The input is at its end.

        Raises:
            ModelGarbled: what came is not an answer of this API.
        """
        deltas: list[Delta] = []
        body, events = self._answer.close()
        if body is not None:
            for chunk in items_of(body) if body.startswith(b"[") else [body]:
                self._read_chunk(bytes(chunk), deltas)
            self.ended = self.ended or (self._understood and not body.startswith(b"["))
        for data in events:
            self._read_chunk(data, deltas, may_be_torn=True)
        if self._answer.began and not self._understood:
            raise ModelGarbled("the endpoint's answer is neither generated content nor a stream of it")
        self.finish(deltas)
        return deltas

    @property
    def reply(self) -> Reply:
        """All that was said so far."""
        parts, rest = gather([opened.part() for opened in self._open])
        extras = dict(self._extras)
        if rest:
            extras[PARTS] = rest
        if more := {name: value for name, value in self._usage.items() if name not in _USAGE and value}:
            extras["usageMetadata"] = dict(more)
        if self._refusal:
            parts = (*parts, RefusalPart(self._refusal))
        return Reply(parts, self._finish_reason, read_usage(self._usage), self._model, self._id, extras)

    def read_parts(self, parts: list[msgspec.Raw], deltas: list[Delta]) -> None:
        """Take parts in order."""
        for part in parts:
            self._read_part(fields_of(part), deltas)

    def finish(self, deltas: list[Delta]) -> None:
        """Nothing more will come: tell the call that was not told."""
        if self._growing is not None:
            self._growing.said = self._growing.broken_off()
            deltas.append(CallSaid(self._growing.number, self._growing.said))
            self._growing = None

    def _read_chunk(self, data: bytes, deltas: list[Delta], *, may_be_torn: bool = False) -> None:
        try:
            chunk = fields_of(data)
        except ModelGarbled:
            if may_be_torn:
                return
            raise
        if error := value_of(chunk.get("error")):
            raise _error(error)
        self._understood = self._understood or not _ANSWER.isdisjoint(chunk)
        self._id = self._id or text_of(chunk.get("responseId"))
        self._model = self._model or text_of(chunk.get("modelVersion"))
        usage = value_of(chunk.get("usageMetadata"))
        if isinstance(usage, dict):  # the counts of later pieces are totals
            self._usage |= {name: value for name, value in usage.items() if value is not None}
        for item in items_of(chunk.get("candidates")):
            candidate = fields_of(item)
            if not value_of(candidate.get("index")):
                self._read_candidate(candidate, deltas)
        feedback = value_of(chunk.get("promptFeedback"))
        if isinstance(feedback, dict):
            self._read_feedback(feedback, deltas)

    def _read_candidate(self, candidate: Fields, deltas: list[Delta]) -> None:
        content = value_of(candidate.get("content"))
        if isinstance(content, dict):
            self.read_parts(items_of(fields_of(candidate.get("content")).get("parts")), deltas)
        reason, words = text_of(candidate.get("finishReason")), text_of(candidate.get("finishMessage"))
        if reason:
            self._finish_reason, self.ended = reason, True
        if words and reason in REFUSALS:
            self._refuse(words, deltas)
        elif words:
            self._extras["finishMessage"] = words
        for name, raw in candidate.items():
            if name not in _CANDIDATE and (value := value_of(raw)) is not None:
                self._extras[name] = value

    def _read_feedback(self, feedback: JsonObject, deltas: list[Delta]) -> None:
        """What is said of a prompt that gets no answer."""
        reason = as_text(feedback.get("blockReason"))
        if reason:
            self._finish_reason, self.ended = self._finish_reason or reason, True
            self._refuse(as_text(feedback.get("blockReasonMessage")) or f"The prompt was blocked: {reason}.", deltas)
        if feedback.get("safetyRatings"):
            self._extras["promptFeedback"] = feedback

    def _refuse(self, words: str, deltas: list[Delta]) -> None:
        self._refusal += words
        deltas.append(TextDelta(words, refusal=True))

    def _read_part(self, part: Fields, deltas: list[Delta]) -> None:
        signature = text_of(part.get("thoughtSignature"))
        if "functionCall" in part:
            rest = _values(part, {"functionCall", "thoughtSignature"})
            self._read_call(fields_of(part["functionCall"]), signature, rest, deltas)
        elif "text" in part and (text_of(part["text"]) or value_of(part.get("thought"))):
            self._read_text(part, signature, deltas)
        elif set(part) <= {"text", "thought"}:
            return
        elif media := _media(part):
            self._open.append(_Whole(media, _values(part, {"inlineData", "fileData"})))
        else:
            self._open.append(_Whole(None, _values(part, ())))

    def _read_text(self, part: Fields, signature: str, deltas: list[Delta]) -> None:
        is_thought, words = value_of(part.get("thought")) is True, text_of(part["text"])
        rest = _values(part, {"text", "thought", "thoughtSignature"} if is_thought else {"text", "thought"})
        kind = ReasoningPart if is_thought else TextPart
        last = self._open[-1] if self._open else None
        if not isinstance(last, _Text) or last.kind is not kind or last.rest or last.signature or rest or signature:
            if not (words or signature or rest):
                return
            last = _Text(kind)
            last.rest = rest
            last.signature = signature if is_thought else ""
            self._open.append(last)
        last.pieces.append(words)
        if is_thought:
            deltas.append(ReasoningDelta(words, signature, by=GEMINI if signature else ""))
        elif words:
            deltas.append(TextDelta(words))

    def _read_call(self, call: Fields, signature: str, rest: JsonObject, deltas: list[Delta]) -> None:
        name, pieces, goes_on = (
            text_of(call.get("name")),
            items_of(call.get("partialArgs")),
            bool(value_of(call.get("willContinue"))),
        )
        growing = self._growing
        if name or growing is None:
            self.finish(deltas)
            growing = self._begin_call(call, name, signature, rest)
            raw = source_of(call.get("args"))
            deltas.append(CallDelta(growing.number, growing.name, "" if goes_on or pieces else raw, growing.id))
            if not goes_on and not pieces:
                growing.said = growing.settle(raw)
                deltas.append(CallSaid(growing.number, growing.said))
                return
            self._growing = growing
        for piece in pieces:
            growing.partial.take(value if isinstance(value := value_of(piece), dict) else {})
        if not goes_on:
            self._growing = None
            raw = dumps(growing.partial.whole())
            growing.said = growing.settle(raw)
            deltas += [CallDelta(growing.number, arguments=raw), CallSaid(growing.number, growing.said)]

    def _begin_call(self, call: Fields, name: str, signature: str, rest: JsonObject) -> _Call:
        number = len(self._calls)
        id_ = unique_id(text_of(call.get("id")), number, self._ids)
        begun = _Call(number, id_, self._names.back(name), signature)
        begun.rest = rest
        self._ids.add(id_)
        self._calls.append(begun)
        self._open.append(begun)
        return begun


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


def _values(part: Fields, without: set[str] | tuple[()]) -> JsonObject:
    return {name: value for name, raw in part.items() if name not in without and (value := value_of(raw)) is not None}


def _error(error: Json) -> ModelError:
    status = error.get("code") if isinstance(error, dict) else None
    known = status if isinstance(status, int) and 400 <= status < 600 else 500
    return error_of(known, retry_delay({"error": error}), {"error": error})
