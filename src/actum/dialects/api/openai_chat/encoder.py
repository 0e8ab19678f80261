"""Writes an answer of the Chat Completions API, whole and as an event stream: what a server sends. Pure.

A client of 2023 reads one `function_call` and no more: in that form the first call of a reply is written, and the model
can say the next one in its next turn. Media in a reply are described in its text, since this API has no place for them.
"""

from __future__ import annotations

from collections.abc import Iterable

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
from ....core.json import Json, JsonObject
from ....core.message import (
    ReasoningPart,
    RefusalPart,
    Reply,
    Usage,
)
from ....protocols.sse import sse
from ...error_answer import openai_error
from ...reply_text import spoken
from ..call_wire import WireIds, arguments_text
from ..cut_short import cut_short
from .beside import CHAT, beside_calls, read_beside

DEFAULT_ID = "chatcmpl-actum"
_OURS = frozenset({"role", "content", "refusal", "reasoning_content", "tool_calls", "function_call"})
"""Fields of a message that extras do not take the place of."""

_encode = msgspec.json.Encoder().encode


def call_object(wire_id: str, call: ToolCall) -> JsonObject:
    """A call as an item of `tool_calls`, with its arguments as the text that the model wrote."""
    return {"id": wire_id, "type": "function", "function": function_object(call)}


def function_object(call: ToolCall) -> JsonObject:
    """The name and arguments of a call: all there was to a call in 2023."""
    return {"name": call.name, "arguments": arguments_text(call, nothing="{")}


def encode_reply(reply: Reply, *, functions: bool = False, created: int = 0) -> bytes:
    """The body of an answer.

    Args:
        functions: in the form of 2023.
        created: seconds since 1970.
    """
    refusal = "".join([part.text for part in reply.content if isinstance(part, RefusalPart)])
    message: JsonObject = {"role": "assistant", "content": spoken(reply) or None, "refusal": refusal or None}
    beside = beside_calls(reply)
    message |= beside.fields
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    if reply.calls and functions:
        message["function_call"] = function_object(reply.calls[0])
    elif reply.calls:
        ids = WireIds()
        message["tool_calls"] = [
            beside.calls.get(str(number), {}) | call_object(ids.take(call.id), call)
            for number, call in enumerate(reply.calls)
        ]
    choice: JsonObject = {
        "index": 0,
        "message": reply.extras | message,
        "logprobs": None,
        "finish_reason": _finish_reason(reply, functions),
    }
    return _encode(
        {
            "id": reply.id or DEFAULT_ID,
            "object": "chat.completion",
            "created": created,
            "model": reply.model,
            "choices": [choice],
            "usage": _usage_object(reply.usage),
        }
    )


class ChatEncoder:
    """Writes an answer as events; see `base.Encoder`.

    Args:
        functions: in the form of 2023.
        id_: of the answer; must be known before it is.
        model: the model that answers; likewise.
        created: seconds since 1970.
        include_usage: end with the tokens, as clients ask for with `stream_options`.
    """

    def __init__(
        self,
        *,
        functions: bool = False,
        id_: str = DEFAULT_ID,
        model: str = "",
        created: int = 0,
        include_usage: bool = True,
    ) -> None:
        self._functions = functions
        self._head: JsonObject = {
            "id": id_,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
        }
        self._include_usage = include_usage
        self._began = False
        self._arguments_sent: dict[int, bool] = {}
        self._ids = WireIds()
        self._fields_beside: JsonObject = {}

    def feed(self, delta: Delta) -> bytes:
        """The events for this piece; none where it adds nothing."""
        match delta:
            case TextDelta(text, refusal):
                return self._piece({"refusal" if refusal else "content": text})
            case ReasoningDelta(text, signature, _, by):
                told = self._piece({"reasoning_content": text}) if text else b""
                return told + self._beside(signature) if signature and by == CHAT else told
            case CallDelta(index, name, arguments, id_):
                return self._call(index, id_, name, arguments)
            case CallSaid(index, call):
                if index not in self._arguments_sent:
                    return self._call(index, call.id, call.name, arguments_text(call, nothing="{"))
                return (
                    b"" if self._arguments_sent[index] else self._call(index, "", "", arguments_text(call, nothing="{"))
                )
            case ThoughtEnded():
                return b""

    def close(self, reply: Reply) -> bytes:
        """The end of the stream, after what of the reply was not told in pieces."""
        untold = [CallSaid(*item) for item in enumerate(reply.calls)] if self._began else _deltas_of(reply)
        events = [self.feed(delta) for delta in untold]
        told = _OURS | self._fields_beside.keys()
        more = {name: value for name, value in reply.extras.items() if name not in told}
        if more or not self._began:
            events.append(self._piece(more))
        events.append(self._event({}, _finish_reason(reply, self._functions)))
        if self._include_usage:
            events.append(sse(_encode(self._head | {"choices": [], "usage": _usage_object(reply.usage)})))
        return b"".join([*events, sse(b"[DONE]")])

    def fail(self, error: ActumError) -> bytes:
        """The end of a stream whose answer did not come to its own."""
        return sse(_encode({"error": openai_error(error)}))

    def _call(self, index: int, id_: str, name: str, arguments: str) -> bytes:
        first = index not in self._arguments_sent
        self._arguments_sent[index] = self._arguments_sent.get(index, False) or bool(arguments)
        if self._functions:
            return self._piece({"function_call": _present(name, arguments)}) if index == 0 else b""
        call: JsonObject = {"index": index, "function": _present(name, arguments)}
        if first:
            call |= {"id": self._ids.take(id_), "type": "function", "function": {"name": name, "arguments": arguments}}
        return self._piece({"tool_calls": [call]})

    def _beside(self, signature: str) -> bytes:
        """What stood beside the calls, without the fields that an earlier signature told."""
        beside = read_beside(signature)
        fields = {name: _untold(value, self._fields_beside.get(name)) for name, value in beside.fields.items()}
        self._fields_beside |= beside.fields
        calls: list[Json] = [
            {"index": int(number), **more} for number, more in beside.calls.items() if number.isdecimal()
        ]
        delta: JsonObject = {name: value for name, value in fields.items() if value != []}
        if calls and not self._functions:
            delta["tool_calls"] = calls
        return self._piece(delta) if delta else b""

    def _piece(self, delta: JsonObject) -> bytes:
        begin = b""
        if not self._began:
            self._began = True
            begin = self._event({"role": "assistant", "content": "" if "content" in delta else None}, None)
        return begin + self._event(delta, None) if delta else begin

    def _event(self, delta: JsonObject, finish_reason: str | None) -> bytes:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
        return sse(_encode(self._head | {"choices": [choice]}))


def _deltas_of(reply: Reply) -> Iterable[Delta]:
    """A whole reply as the pieces of a streamed one."""
    calls = 0
    for part in reply.content:
        match part:
            case ToolCall():
                yield CallSaid(calls, part)
                calls += 1
            case ReasoningPart(text, signature, redacted, by):
                yield ReasoningDelta(text, signature, redacted, by)
            case RefusalPart(text):
                yield TextDelta(text, refusal=True)
            case TextPart(text):
                yield TextDelta(text)
            case MediaPart():
                yield TextDelta(part.describe())


def _untold(value: Json, told: Json) -> Json:
    """What of a field beside the calls was not told yet; an empty list where all of it was."""
    if isinstance(value, list) and isinstance(told, list) and value[: len(told)] == told:
        return value[len(told) :]
    return [] if value == told else value


def _present(name: str, arguments: str) -> JsonObject:
    return {"name": name, "arguments": arguments} if name else {"arguments": arguments}


def _finish_reason(reply: Reply, functions: bool) -> str:
    """Our word for it: old clients trust it, so it says that there are calls whenever there are."""
    default = ("function_call" if functions else "tool_calls") if reply.calls else "stop"
    return cut_short(reply) or default


def _usage_object(usage: Usage) -> JsonObject:
    written: JsonObject = {"cache_write_tokens": usage.cache_written_tokens} if usage.cache_written_tokens else {}
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, **written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
    }
