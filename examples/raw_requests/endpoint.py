"""An endpoint that answers in the form of DeepSeek's: the fields and their order, `content` that is empty and not null,
an `index` in the call of a whole answer too, and what keeps the connection alive while the model is busy."""

from __future__ import annotations

import msgspec

from actum.core.json import Json, JsonObject
from examples.local_services.chat import ChatService, WireRequest

USAGE: JsonObject = {
    "prompt_tokens": 150,
    "completion_tokens": 20,
    "total_tokens": 170,
    "prompt_tokens_details": {"cached_tokens": 128},
    "prompt_cache_hit_tokens": 128,
    "prompt_cache_miss_tokens": 22,
}
CALL: JsonObject = {
    "index": 0,
    "id": "call_0_3f1b6a52-5c1e-4f0b-9d0e-2f7c1a8e4b6d",
    "type": "function",
    "function": {"name": "get_current_time", "arguments": "{}"},
}
CUT = 61
"""Bytes in a piece of a streamed answer: no multiple of anything, so that characters and lines are cut."""


def deepseek_like() -> ChatService:
    """The service. It asks for the time, and puts the tool's answer into a sentence."""
    return ChatService(_answer)


def _answer(request: WireRequest) -> bytes | list[bytes]:
    last = request.messages[-1]
    if last.role == "tool":
        assert last.tool_call_id == CALL["id"]
        answer = f"现在是 {last.text}。"
        return _stream([{"content": answer[:4]}, {"content": answer[4:]}], "stop") if request.stream else _whole(answer)
    if not request.stream:
        return _whole("", CALL)
    pieces: list[JsonObject] = [CALL | {"function": {"name": "get_current_time", "arguments": ""}}]
    pieces += [{"index": 0, "function": {"arguments": piece}} for piece in "{}"]
    return _stream([{"tool_calls": [piece]} for piece in pieces], "tool_calls")


def _head(kind: str) -> JsonObject:
    id_ = "b8a7c1de-9a52-4b7e-8f0a-0d2c6e1f5a34"
    return {"id": id_, "object": kind, "created": 1_736_900_000, "model": "deepseek-chat"}


def _whole(content: str, *calls: Json) -> bytes:
    message: JsonObject = {"role": "assistant", "content": content}
    if calls:
        message["tool_calls"] = list(calls)
    reason = "tool_calls" if calls else "stop"
    choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    body = _head("chat.completion") | {"choices": [choice], "usage": USAGE, "system_fingerprint": "fp_3a5770e1b4"}
    return b"\n\n" + msgspec.json.encode(body)


def _stream(deltas: list[JsonObject], reason: str) -> list[bytes]:
    """The events, cut without regard to where they begin. Before the first one the model was busy."""
    sent = b": keep-alive\n\n: keep-alive\n\n" + _event({"role": "assistant", "content": ""})
    sent += b"".join(_event(delta) for delta in deltas) + _event({"content": ""}, reason) + b"data: [DONE]\n\n"
    return [sent[at : at + CUT] for at in range(0, len(sent), CUT)]


def _event(delta: JsonObject, reason: str | None = None) -> bytes:
    choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": reason}
    chunk = _head("chat.completion.chunk") | {"system_fingerprint": "fp_3a5770e1b4", "choices": [choice]}
    if reason:
        chunk["usage"] = USAGE
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"
