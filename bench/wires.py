"""How four APIs stream one call, or one text, in pieces: the events of their documentation, for benchmarks to read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class Wire(NamedTuple):
    """How an API streams one call, or one text.

    Attributes:
        dialect: its name.
        head: the events before the pieces.
        piece: the event of a piece.
        tail: the events behind the pieces, out of the whole of them.
        take: the piece in an event, or None.
        named: each event stands under its type.
        plain: the pieces are of the text itself, not of the source text of arguments.
    """

    dialect: str
    head: list[Any]
    piece: Callable[[str], Any]
    tail: Callable[[str], list[Any]]
    take: Callable[[Any], str | None]
    named: bool = False
    plain: bool = False

    def events(self, pieces: list[str]) -> list[bytes]:
        values = [*self.head, *map(self.piece, pieces), *self.tail("".join(pieces))]
        return [self._event(value) for value in values]

    def _event(self, value: Any) -> bytes:
        name = f"event: {value['type']}\n" if self.named else ""
        return f"{name}data: {json.dumps(value, ensure_ascii=False)}\n\n".encode()


def _chat(delta: Any, finish_reason: str | None = None) -> Any:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish_reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_718_345_013, "model": "gpt-5-mini"}
    return {**head, "system_fingerprint": "fp_1", "choices": [choice]}


def _chat_call(**function: str) -> Any:
    return {"tool_calls": [{"index": 0, "function": function}]}


def _take_chat(event: Any) -> str | None:
    calls = event["choices"][0]["delta"].get("tool_calls")
    return calls[0]["function"]["arguments"] if calls else None


CHAT = Wire(
    dialect="openai_chat",
    head=[
        _chat({"role": "assistant", "content": None}),
        _chat(
            {
                "tool_calls": [
                    {"index": 0, "id": "call_1", "type": "function", "function": {"name": "write", "arguments": ""}}
                ]
            }
        ),
    ],
    piece=lambda piece: _chat(_chat_call(arguments=piece)),
    tail=lambda whole: [_chat({}, "tool_calls")],
    take=_take_chat,
)
CHAT_TEXT = Wire(
    dialect="openai_chat",
    head=[_chat({"role": "assistant", "content": ""})],
    piece=lambda piece: _chat({"content": piece}),
    tail=lambda whole: [_chat({}, "stop")],
    take=lambda event: event["choices"][0]["delta"].get("content"),
    plain=True,
)


def _response(**fields: Any) -> Any:
    return {"id": "resp_1", "object": "response", "model": "gpt-5-mini", "output": [], **fields}


def _call_item(whole: str, status: str) -> Any:
    return {"id": "fc_1", "type": "function_call", "status": status, "arguments": whole} | {
        "call_id": "call_1",
        "name": "write",
    }


def _of_item(kind: str, **fields: Any) -> Any:
    return {"type": f"response.{kind}", "sequence_number": 9, "item_id": "fc_1", "output_index": 0, **fields}


RESPONSES = Wire(
    dialect="openai_responses",
    head=[
        {"type": "response.created", "sequence_number": 0, "response": _response(status="in_progress")},
        _of_item("output_item.added", item=_call_item("", "in_progress")),
    ],
    piece=lambda piece: _of_item("function_call_arguments.delta", delta=piece, obfuscation="aKf93kd0"),
    tail=lambda whole: [
        _of_item("function_call_arguments.done", arguments=whole),
        _of_item("output_item.done", item=_call_item(whole, "completed")),
        {
            "type": "response.completed",
            "response": _response(status="completed", output=[_call_item(whole, "completed")]),
        },
    ],
    take=lambda event: event.get("delta"),
    named=True,
)

ANTHROPIC = Wire(
    dialect="anthropic_messages",
    head=[
        {
            "type": "message_start",
            "message": {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "content": [],
                "model": "claude-opus-5-5",
                "usage": {"input_tokens": 25, "output_tokens": 1},
            },
        },
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "write", "input": {}},
        },
    ],
    piece=lambda piece: {
        "type": "content_block_delta",
        "index": 0,
        "delta": {"type": "input_json_delta", "partial_json": piece},
    },
    tail=lambda whole: [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 15}},
        {"type": "message_stop"},
    ],
    take=lambda event: event.get("delta", {}).get("partial_json"),
    named=True,
)


def _content(*parts: Any, **fields: Any) -> Any:
    usage = {"promptTokenCount": 25, "candidatesTokenCount": 10, "totalTokenCount": 35}
    usage["promptTokensDetails"] = [{"modality": "TEXT", "tokenCount": 25}]  # type: ignore[assignment]
    candidate = {"content": {"parts": parts, "role": "model"}, **fields, "index": 0}
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-3-pro", "responseId": "r1"}


def _partial(**call: Any) -> Any:
    return _content({"functionCall": call})


def _take_partial(event: Any) -> str | None:
    parts = event["candidates"][0]["content"]["parts"]
    pieces = parts[0]["functionCall"].get("partialArgs") if parts else None
    return pieces[0]["stringValue"] if pieces else None


GEMINI_TEXT = Wire(
    dialect="gemini_content",
    head=[],
    piece=lambda piece: _content({"text": piece}),
    tail=lambda whole: [_content({"text": ""}, finishReason="STOP")],
    take=lambda event: event["candidates"][0]["content"]["parts"][0]["text"],
    plain=True,
)
"""What the API streams in pieces is text; its calls come whole."""

GEMINI_CALL = Wire(
    dialect="gemini_content",
    head=[_partial(name="write", id="fc-1", willContinue=True)],
    piece=lambda piece: _partial(
        partialArgs=[{"jsonPath": "$.text", "stringValue": piece, "willContinue": True}], willContinue=True
    ),
    tail=lambda whole: [_partial(), _content(finishReason="STOP")],
    take=_take_partial,
    plain=True,
)
"""Vertex AI, asked to stream the arguments of calls."""

WIRES = {
    "openai_chat": CHAT,
    "openai_responses": RESPONSES,
    "anthropic_messages": ANTHROPIC,
    "gemini_content, text": GEMINI_TEXT,
    "gemini_content, call": GEMINI_CALL,
}
