"""What the readers of the Responses API read; see `..shape`.

An answer repeats the request that it is to. A repeated field says nothing where it has the API's own default, and is
left over where it has another value.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....core.json import Json, JsonObject
from ..openai_chat.shape import TOOL, TOOL_CHOICE
from ..shape import ANY_OTHER, ERROR, Fields, Kinds, Shape, Words, by_field, only, whole
from .items import image_of

_STATUS = only("completed", "incomplete", "in_progress")
_TEXT = Fields({"type": whole, "text": whole})
_SAID = Words(
    Kinds(
        by_field("type"),
        {
            "output_text": _TEXT,
            "text": _TEXT,
            "input_text": _TEXT,
            "refusal": Fields({"type": whole, "refusal": whole}),
        },
    )
)
_HEAD: dict[str, Shape] = {"id": whole, "type": whole, "status": _STATUS}
"""The id of an item is a name in the API's own store, and says nothing to another."""


def _is_image(value: Json, item: JsonObject) -> bool:
    return image_of(item) is not None


_THOUGHT = Fields({"type": only("summary_text", "reasoning_text", "text"), "text": whole})
_ITEMS: dict[str, Shape] = {
    "message": Fields({**_HEAD, "role": only("assistant"), "content": _SAID}),
    "reasoning": Fields({**_HEAD, "summary": _THOUGHT, "content": _THOUGHT, "encrypted_content": whole}),
    "function_call": Fields({**_HEAD, "call_id": whole, "name": whole, "arguments": whole}),
    "custom_tool_call": Fields(
        {**_HEAD, "type": only("function_call"), "call_id": whole, "name": whole, "input": whole}
    ),
    "image_generation_call": Fields({**_HEAD, "result": _is_image, "output_format": whole}),
}
_SEARCH: dict[str, Shape] = {**_HEAD, "call_id": whole, "execution": only("client")}
_ITEMS["tool_search_call"] = Fields({**_SEARCH, "arguments": whole})
_ITEM = Kinds(by_field("type", "message"), _ITEMS)

# Answers.


def _is_sum(value: Json, item: JsonObject) -> bool:
    counts = [item.get(name) for name in ("input_tokens", "output_tokens")]
    return value == sum([count for count in counts if isinstance(count, int)])


_USAGE = Fields(
    {
        "input_tokens": whole,
        "output_tokens": whole,
        "total_tokens": _is_sum,
        "input_tokens_details": Fields({"cached_tokens": whole, "cache_write_tokens": whole, ANY_OTHER: only(0)}),
        "output_tokens_details": Fields({"reasoning_tokens": whole, ANY_OTHER: only(0)}),
        ANY_OTHER: only(0),
    }
)
_REPEATED: dict[str, Shape] = {
    "background": only(False),
    "frequency_penalty": only(0, 0.0),
    "parallel_tool_calls": only(True),
    "presence_penalty": only(0, 0.0),
    "reasoning": Fields({}),
    "store": only(True, False),
    "temperature": only(1, 1.0),
    "text": Fields({"format": Fields({"type": only("text")}), "verbosity": only("medium")}),
    "tool_choice": only("auto"),
    "top_logprobs": only(0),
    "top_p": only(1, 1.0),
    "truncation": only("disabled"),
}
REPLY = Fields(
    {
        **_REPEATED,
        "id": whole,
        "object": only("response"),
        "created_at": only(0),
        "model": whole,
        "status": whole,
        "incomplete_details": Fields({"reason": whole}),
        "error": ERROR,
        "output": _ITEM,
        "usage": _USAGE,
    }
)
_COUNTED = ("sequence_number", "output_index", "content_index", "summary_index", "item_id", "type", "obfuscation")
_SAID_AGAIN = {
    "response.output_text.delta": ("delta",),
    "response.output_text.done": ("text",),
    "response.refusal.delta": ("delta",),
    "response.refusal.done": ("refusal",),
    "response.reasoning_summary_text.delta": ("delta",),
    "response.reasoning_summary_text.done": ("text",),
    "response.reasoning_text.delta": ("delta",),
    "response.reasoning_text.done": ("text",),
    "response.function_call_arguments.delta": ("delta",),
    "response.function_call_arguments.done": ("arguments", "name"),
    "response.custom_tool_call_input.delta": ("delta",),
    "response.custom_tool_call_input.done": ("input",),
    "error": ("code", "message", "param", "error"),
}
"""The fields of events that are read."""


def places_of_event(event: JsonObject) -> Iterator[tuple[str, Json, Shape]]:
    """The parts of an event, each with its place in the response that the stream makes: the API says all of it several
    times, and what is left over has the same place each time.
    """
    kind, index, part = str(event.get("type")), event.get("output_index"), event.get("content_index")
    item = f"output[{index if isinstance(index, int) else 0}]"
    inside = f"{item}.content[{part}]" if isinstance(part, int) else item
    for name, value in event.items():
        if name in _COUNTED or name in _SAID_AGAIN.get(kind, ()):
            continue
        if name == "response":
            yield "", value, REPLY
        elif name == "item":
            yield item, value, _ITEM
        elif name == "part" and "summary_index" in event:
            yield f"{item}.summary[{event['summary_index']}]", value, _THOUGHT
        elif name == "part":
            yield inside, value, _PART_OF_ITEM
        else:
            yield f"{inside}.{'annotations' if name == 'annotation' else name}", value, only()


_PART_OF_ITEM = Kinds(
    by_field("type"),
    {
        "output_text": _TEXT,
        "text": _TEXT,
        "refusal": Fields({"type": whole, "refusal": whole}),
        "reasoning_text": _TEXT,
        "summary_text": _TEXT,
    },
)

# Requests.

_AUDIO = Fields({"data": whole, "format": whole})
_PARTS = Words(
    Kinds(
        by_field("type"),
        {
            "": whole,
            "input_text": _TEXT,
            "output_text": _TEXT,
            "text": _TEXT,
            "input_image": Fields({"type": whole, "image_url": whole, "detail": only("auto")}),
            "input_file": Fields(
                {
                    "type": whole,
                    "file_data": whole,
                    "file_url": lambda _, item: not isinstance(item.get("file_data"), str),
                    "filename": whole,
                }
            ),
            "input_audio": Fields({"type": whole, "input_audio": _AUDIO}),
        },
    )
)
_HEARD = Fields({**_HEAD, "role": whole, "content": _PARTS})
_ANSWER = Fields({**_HEAD, "call_id": whole, "name": whole, "output": _PARTS})


def _kind_of_item(item: JsonObject) -> str:
    kind = str(item.get("type") or "message")
    return "heard" if kind == "message" and item.get("role") != "assistant" else kind


_FORMAT = Kinds(
    lambda item: "schema" if item.get("type") == "json_schema" and isinstance(item.get("schema"), dict) else "other",
    {"schema": Fields({"type": whole, "schema": whole}), "other": whole},
)
REQUEST = Fields(
    {
        "input": Words(
            Kinds(
                _kind_of_item,
                {
                    **_ITEMS,
                    "heard": _HEARD,
                    "function_call_output": _ANSWER,
                    "custom_tool_call_output": _ANSWER,
                    "tool_search_output": Fields({**_SEARCH, "tools": TOOL}),
                },
            )
        ),
        "tools": TOOL,
        "tool_choice": TOOL_CHOICE,
        "text": Fields({"format": _FORMAT, ANY_OTHER: whole}),
        ANY_OTHER: whole,
    }
)
"""All other fields are read as they are, or are in the request's `extras`, and `shared_fields` keeps the account of
those."""
