"""What the readers of the Anthropic Messages API read; see `..shape`."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.json import Json, JsonObject
from ..shape import ANY_OTHER, ERROR, Fields, Kinds, Shape, Words, by_field, only, whole

_TEXT = Fields({"type": whole, "text": whole})

# Answers.

_BLOCK = Kinds(
    by_field("type"),
    {
        "text": _TEXT,
        "thinking": Fields({"type": whole, "thinking": whole, "signature": whole}),
        "redacted_thinking": Fields({"type": whole, "data": whole}),
        "tool_use": Fields({"type": whole, "id": whole, "name": whole, "input": whole}),
    },
)
_USAGE = Fields(
    {
        "input_tokens": whole,
        "output_tokens": whole,
        "cache_read_input_tokens": whole,
        "cache_creation_input_tokens": whole,
        "output_tokens_details": Fields({"thinking_tokens": whole, ANY_OTHER: only(0)}),
        "cache_creation": Fields({ANY_OTHER: only(0)}),
        "server_tool_use": Fields({ANY_OTHER: only(0)}),
        ANY_OTHER: only(0),
    }
)
_OUTCOME: dict[str, Shape] = {
    "stop_reason": whole,
    "stop_details": Fields({"type": only("refusal"), "explanation": whole}),
}
REPLY = Fields(
    {
        "id": whole,
        "type": only("message", "error"),
        "role": only("assistant"),
        "model": whole,
        "content": Words(_BLOCK),
        "usage": _USAGE,
        "error": ERROR,
        **_OUTCOME,
    }
)
_DELTA = Kinds(
    by_field("type"),
    {
        "text_delta": _TEXT,
        "thinking_delta": Fields({"type": whole, "thinking": whole}),
        "input_json_delta": Fields({"type": whole, "partial_json": whole}),
        "signature_delta": Fields({"type": whole, "signature": whole}),
        "citations_delta": Fields({"type": whole}),
    },
)
_EVENTS: dict[str, dict[str, Shape]] = {
    "message_start": {"message": REPLY},
    "content_block_start": {"index": whole, "content_block": _BLOCK},
    "content_block_delta": {"index": whole, "delta": _DELTA},
    "content_block_stop": {"index": whole},
    "message_delta": {"delta": Fields(_OUTCOME), "usage": _USAGE},
    "message_stop": {},
    "ping": {},
    "error": {"error": ERROR},
}


def places_of_event(event: JsonObject) -> Iterator[tuple[str, Json, Shape]]:
    """The parts of an event, each with its place in the message that the stream makes."""
    kind, index = str(event.get("type")), event.get("index")
    known = _EVENTS.get(kind)
    if known is None:
        yield kind, event, only()
        return
    block = f"content[{index if isinstance(index, int) else 0}]"
    places = {"message": "", "content_block": block, "usage": "usage"}
    for name, value in event.items():
        if name != "type":
            place = places.get(name, name)
            if name == "delta":
                place = block if kind == "content_block_delta" else ""
            yield place, value, known.get(name, only())


# Requests.

_SOURCE = Kinds(
    by_field("type"),
    {
        "base64": Fields({"type": whole, "media_type": whole, "data": whole}),
        "url": Fields({"type": whole, "url": whole}),
        "text": Fields({"type": whole, "media_type": only("text/plain"), "data": whole}),
        "content": Fields(
            {
                "type": whole,
                "content": Words(
                    Kinds(
                        by_field("type"),
                        {
                            "text": _TEXT,
                            "image": Fields(
                                {
                                    "type": whole,
                                    "source": Kinds(
                                        by_field("type"),
                                        {
                                            "base64": Fields({"type": whole, "media_type": whole, "data": whole}),
                                            "url": Fields({"type": whole, "url": whole}),
                                        },
                                    ),
                                }
                            ),
                        },
                    )
                ),
            }
        ),
    },
)
_MEDIA = Fields({"type": whole, "source": _SOURCE, "title": whole})
_SAID: dict[str, Shape] = {
    "text": _TEXT,
    "image": _MEDIA,
    "document": _MEDIA,
    "search_result": Fields(
        {"type": whole, "title": whole, "source": whole, "content": Words(Kinds(by_field("type"), {"text": _TEXT}))}
    ),
}
_ANSWER = Fields(
    {
        "type": whole,
        "tool_use_id": whole,
        "content": Words(Kinds(by_field("type"), _SAID)),
        "is_error": whole,
    }
)
_FORMAT = Kinds(
    lambda item: "schema" if item.get("type") == "json_schema" and isinstance(item.get("schema"), dict) else "other",
    {"schema": Fields({"type": whole, "schema": whole}), "other": whole},
)
_INSTRUCTIONS = Words(Kinds(by_field("type"), {"text": _TEXT}))
REQUEST = Fields(
    {
        "system": _INSTRUCTIONS,
        "messages": Kinds(
            by_field("role"),
            {
                "user": Fields(
                    {"role": whole, "content": Words(Kinds(by_field("type"), {**_SAID, "tool_result": _ANSWER}))}
                ),
                "assistant": Fields({"role": whole, "content": Words(_BLOCK)}),
                "system": Fields({"role": whole, "content": _INSTRUCTIONS}),
            },
        ),
        "tools": Fields(
            {"type": whole, "name": whole, "description": whole, "input_schema": whole, "strict": whole},
        ),
        "tool_choice": Fields({"type": whole, "name": whole, "disable_parallel_tool_use": whole}),
        "output_config": Fields({"format": _FORMAT, ANY_OTHER: whole}),
        ANY_OTHER: whole,
    }
)
"""All other fields are read as they are, or are in the request's `extras`, and `shared_fields` keeps the account of
those."""
