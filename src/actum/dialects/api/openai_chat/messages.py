"""Writes the past of a conversation as Chat Completions messages, one at a time, so that each is encoded once. Pure.

A writer is called with the messages in order (`Transcript.render`) and remembers which ids it gave to calls: models
repeat ids from turn to turn, and endpoints want them to be unique.
"""

from __future__ import annotations

import base64
from collections.abc import Collection, Sequence

import msgspec
from msgspec import structs

from ....core.call import MediaPart, TextPart, ToolCall, ToolResult
from ....core.json import Json, JsonObject
from ....core.message import (
    Message,
    ReasoningPart,
    RefusalPart,
    Reply,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from ...reply_text import spoken
from ...tool_names import ToolNames
from ..call_wire import PastIds, readable
from ..data_url import data_url
from .beside import IN_CONTENT, beside_calls
from .encoder import call_object, function_object

_AUDIO_FORMATS = {
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
}
_encode = msgspec.json.Encoder().encode


class ToolWriter:
    """Writes messages in the form with `tool_calls` and `role: tool`.

    A `role: tool` message holds text alone. The pictures that tools returned are in a message of their own, behind the
    last result of the turn, each with its handle before it.

    Args:
        names: how tools are called on the wire.
        reasoning_field: the field in which the endpoint wants reasoning beside calls whose model is unknown; empty when
            it wants none.
        at: the endpoint and the model that are asked.
        returned: the fields that go back to the endpoint that said them.
    """

    def __init__(
        self, names: ToolNames, reasoning_field: str = "", at: str = "", returned: Collection[str] = ()
    ) -> None:
        self._names = names
        self._reasoning_field = reasoning_field
        self._at, self._returned = at, returned
        self._ids = PastIds()
        self._unanswered = 0
        self._pictures: list[MediaPart] = []

    def __call__(self, message: Message) -> bytes:
        match message:
            case Reply():
                self._unanswered = len(message.calls)
                return self._with_pictures(self._reply(message), behind=False)
            case ToolMessage(_, result):
                wire_id = self._ids.answered(result.call_id)
                self._unanswered -= 1
                self._pictures += pictures_of(result)
                answer = _encode({"role": "tool", "tool_call_id": wire_id, "content": result.text})
                return answer if self._unanswered > 0 else self._with_pictures(answer, behind=True)
            case _:
                return self._with_pictures(said(message), behind=False)

    def _with_pictures(self, message: bytes, *, behind: bool) -> bytes:
        """A message with the one that shows the pictures behind it, or before it."""
        if not self._pictures:
            return message
        shown = said(UserMessage(tuple(self._pictures)))
        self._pictures = []
        return message + b"," + shown if behind else shown + b"," + message

    def _reply(self, reply: Reply) -> bytes:
        if not reply.calls:
            return _encode({"role": "assistant", "content": spoken(reply, refusal=True)})
        beside = beside_calls(reply)
        is_theirs = beside.at in ("", self._at)
        returned = {*self._returned, *filter(None, [self._reasoning_field])} if is_theirs else ()
        thought = (beside.thought if is_theirs else "") or ("" if beside.at else self._reasoning_field)
        is_inside = thought == IN_CONTENT and thought in returned
        content: Json = _parts(reply, beside.parts) if is_inside else spoken(reply, refusal=True)
        message: JsonObject = {"role": "assistant", "content": content or None}
        fields = {**beside.fields, **({thought: reply.reasoning} if thought and reply.reasoning else {})}
        if is_inside:
            fields.pop(IN_CONTENT)
        message |= {name: value for name, value in fields.items() if name in returned}
        calls: list[Json] = []
        for number, (wire_id, call) in enumerate(zip(self._ids.asked(reply.calls), reply.calls, strict=True)):
            kept = beside.calls.get(str(number), {}).items() if is_theirs else ()
            more = {name: value for name, value in kept if name in self._returned}
            calls.append(more | call_object(wire_id, _outgoing(call, self._names)))
        message["tool_calls"] = calls
        return _encode(message)


def _parts(reply: Reply, beside: Sequence[JsonObject]) -> list[Json]:
    """What was said, with the thoughts in their places; `beside` are the further fields of each thought."""
    found: list[Json] = []
    more = iter(beside)
    for part in reply.content:
        match part:
            case ReasoningPart(text):
                thoughts: list[Json] = [{"type": "text", "text": text}] if text else []
                fields = next(more, {})
                if text or fields:
                    found.append({"type": IN_CONTENT, IN_CONTENT: thoughts, **fields})
            case TextPart(text) | RefusalPart(text):
                found.append({"type": "text", "text": text})
            case MediaPart():
                found.append({"type": "text", "text": part.describe()})
            case ToolCall():
                pass
    return found


class FunctionWriter:
    """Writes messages in the form of 2023: one `function_call` a message, answered by `role: function`.

    Several calls of one reply become a pair of call and answer each. A call beyond the first that has no answer yet is
    not written: this form has no place for it.

    Args:
        names: how functions are called on the wire.
    """

    def __init__(self, names: ToolNames) -> None:
        self._names = names
        self._unanswered: list[tuple[ToolCall, bool]] = []

    def __call__(self, message: Message) -> bytes:
        match message:
            case Reply():
                calls = message.calls
                self._unanswered = [(call, number == 0) for number, call in enumerate(calls)]
                return _encode(self._said(spoken(message, refusal=True), calls[0] if calls else None))
            case ToolMessage(name, result):
                answer = _encode({"role": "function", "name": self._names.wire(name), "content": result.text})
                for number, (call, is_written) in enumerate(self._unanswered):
                    if call.id == result.call_id:
                        del self._unanswered[number]
                        return answer if is_written else _encode(self._said("", call)) + b"," + answer
                return answer
            case _:
                return said(message)

    def _said(self, text: str, call: ToolCall | None) -> JsonObject:
        if call is None:
            return {"role": "assistant", "content": text}
        function = function_object(_outgoing(call, self._names))
        return {"role": "assistant", "content": text or None, "function_call": function}


def pictures_of(result: ToolResult) -> list[MediaPart]:
    """The pictures that a tool returned."""
    if result.error is not None:
        return []
    return [part for part in result.media if part.media_type.startswith("image/")]


def said(message: SystemMessage | UserMessage) -> bytes:
    """A message of the developer or the user."""
    if isinstance(message, SystemMessage):
        return _encode({"role": "system", "content": message.text})
    texts = [part.text for part in message.content if isinstance(part, TextPart)]
    if len(texts) == len(message.content) <= 1:
        return _encode({"role": "user", "content": "".join(texts)})
    return _encode({"role": "user", "content": [item for part in message.content for item in content_parts(part)]})


def content_parts(part: TextPart | MediaPart) -> list[JsonObject]:
    """A part of the user's message; before an attachment stands its handle, by which the model hands it to a tool."""
    if isinstance(part, TextPart):
        return [{"type": "text", "text": part.text}]
    media = _media(part)
    if media is None or part.handle:
        return [{"type": "text", "text": part.describe()}, *([media] if media else [])]
    return [media]


def _media(part: MediaPart) -> JsonObject | None:
    """None for what this API can not be given: what is neither an image nor here as bytes."""
    if part.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": part.url or data_url(part)}}
    if not part.data:
        return None
    if audio := _AUDIO_FORMATS.get(part.media_type):
        return {"type": "input_audio", "input_audio": {"data": base64.b64encode(part.data).decode(), "format": audio}}
    return {"type": "file", "file": {"filename": part.name or "file", "file_data": data_url(part)}}


def _outgoing(call: ToolCall, names: ToolNames) -> ToolCall:
    call, name = readable(call), names.wire(call.name)
    return call if name == call.name else structs.replace(call, name=name)
