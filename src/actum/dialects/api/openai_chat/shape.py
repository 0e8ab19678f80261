"""What the readers of the Chat Completions API read; see `..shape`."""

from __future__ import annotations

from collections.abc import Iterator

from ....core.json import Json, JsonObject
from ..shape import ANY_OTHER, ERROR, Choices, Fields, Kinds, Leftover, Shape, Words, by_field, only, whole

_TEXT = Fields({"type": whole, "text": whole})
_THOUGHT: dict[str, Shape] = {
    "type": whole,
    "closed": only(True),
    "signature": whole,
    "thinking": Words(Kinds(by_field("type"), {"text": _TEXT})),
}


_SAID = Words(
    Kinds(
        by_field("type"),
        {
            "text": _TEXT,
            "output_text": _TEXT,
            "refusal": Fields({"type": whole, "refusal": whole}),
            "thinking": Fields(_THOUGHT),
            "reasoning": Fields({"type": whole, "text": whole}),
        },
    )
)
"""What a model says, as a text or as parts."""

_NAMED_CALL = {"name": whole, "arguments": whole}
_CALL_HEAD: dict[str, Shape] = {"index": whole, "id": whole, "type": only("function"), "extra_content": whole}


def _form_of_call(item: JsonObject) -> str:
    """How the level below the head of a call is called; servers that leave it out have none."""
    return next((name for name in ("function", "custom") if isinstance(item.get(name), dict)), "flat")


_CALL = Kinds(
    _form_of_call,
    {
        "function": Fields({**_CALL_HEAD, "function": Fields(_NAMED_CALL)}),
        "custom": Fields({**_CALL_HEAD, "custom": Fields({"name": whole, "input": whole})}),
        "flat": Fields({**_CALL_HEAD, **_NAMED_CALL}),
    },
)


def _is_other_name_of_thought(value: Json, item: JsonObject) -> bool:
    """Servers say a thought as `reasoning`, as `reasoning_content` or as both; of both the latter is read."""
    return item.get("reasoning_content") in (None, "", value)


_MESSAGE_FIELDS: dict[str, Shape] = {
    "role": only("assistant"),
    "reasoning_content": _SAID,
    "reasoning": _is_other_name_of_thought,
    "reasoning_details": lambda _, item: bool(item.get("tool_calls")),
    "refusal": _SAID,
    "tool_calls": _CALL,
    "function_call": Fields(_NAMED_CALL),
}
_MESSAGE = Fields({**_MESSAGE_FIELDS, "content": _SAID})

# Answers.


def _is_sum(value: Json, item: JsonObject) -> bool:
    counts = [item.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return value == sum([count for count in counts if isinstance(count, int)])


_USAGE = Fields(
    {
        "prompt_tokens": whole,
        "completion_tokens": whole,
        "total_tokens": _is_sum,
        "prompt_tokens_details": Fields({"cached_tokens": whole, "cache_write_tokens": whole, ANY_OTHER: only(0)}),
        "completion_tokens_details": Fields({"reasoning_tokens": whole, ANY_OTHER: only(0)}),
        "prompt_cache_hit_tokens": lambda _, item: not isinstance(item.get("prompt_tokens_details"), dict),
        ANY_OTHER: only(0),
    }
)
REPLY = Fields(
    {
        "id": whole,
        "object": only("chat.completion", "chat.completion.chunk"),
        "created": only(0),
        "model": whole,
        "choices": Choices(Fields({"index": whole, "message": _MESSAGE, "delta": _MESSAGE, "finish_reason": whole})),
        "usage": _USAGE,
        "error": ERROR,
    }
)


def places_of_event(event: JsonObject) -> Iterator[tuple[str, Json, Shape]]:
    """The places of an event that are looked through: it is a piece of an answer, in the same words."""
    yield "", event, REPLY


# Requests.

_ONLY_TEXT = Words(Kinds(by_field("type", "text"), {"text": _TEXT, "": whole}))
_PARTS = Words(
    Kinds(
        by_field("type"),
        {
            "": whole,
            "text": _TEXT,
            "image_url": Fields({"type": whole, "image_url": Words(Fields({"url": whole, "detail": only("auto")}))}),
            "input_audio": Fields({"type": whole, "input_audio": Fields({"data": whole, "format": whole})}),
            "file": Fields({"type": whole, "file": Fields({"file_data": whole, "filename": whole})}),
        },
    )
)
_INSTRUCTION = Fields({"role": whole, "content": _ONLY_TEXT})
_ANSWER = Fields({"role": whole, "content": _PARTS, "tool_call_id": whole, "name": whole})
"""The name is read where it finds the call; `names_of_answers` finds the names that say something else."""


def names_of_answers(messages: Json) -> Iterator[Leftover]:
    """The names of answers that are not the name of the call which they answer: an answer goes by its call's name."""
    called: dict[str, str] = {}
    for number, item in enumerate(messages if isinstance(messages, list) else ()):
        if not isinstance(item, dict):
            continue
        calls = item.get("tool_calls")
        for call in calls if isinstance(calls, list) else ():
            if isinstance(call, dict):
                named = next((call[form] for form in ("function", "custom") if isinstance(call.get(form), dict)), call)
                called[str(call.get("id"))] = str(named.get("name") or "") if isinstance(named, dict) else ""
        name = item.get("name")
        is_named = item.get("role") in ("tool", "function") and name and item.get("tool_call_id")
        if is_named and called.get(str(item["tool_call_id"])) != name:
            yield Leftover(f"messages[{number}].name", name)


_FUNCTION: dict[str, Shape] = {"name": whole, "description": whole, "parameters": whole, "strict": whole}
TOOL = Kinds(
    lambda item: "nested" if item.get("function") is not None else "flat",
    {
        "nested": Fields({"type": whole, "function": Fields(_FUNCTION)}),
        "flat": Fields({"type": whole, **_FUNCTION}),
    },
)
_NAME = Fields({"name": whole})


def _form_of_choice(item: JsonObject) -> str:
    return next((name for name in ("allowed_tools", "function", "custom") if isinstance(item.get(name), dict)), "flat")


_NAMED: dict[str, Shape] = {
    "function": Fields({"type": whole, "function": _NAME}),
    "custom": Fields({"type": whole, "custom": _NAME}),
    "flat": Fields({"type": whole, "name": whole}),
}
_CHOSEN: dict[str, Shape] = {"mode": whole, "tools": Words(Kinds(_form_of_choice, _NAMED))}
TOOL_CHOICE = Words(
    Kinds(
        _form_of_choice,
        {
            **_NAMED,
            "allowed_tools": Fields({"type": whole, "allowed_tools": Fields(_CHOSEN)}),
            "flat": Fields({"type": whole, "name": whole, **_CHOSEN}),
        },
    )
)


def _is_other_limit(value: Json, item: JsonObject) -> bool:
    return item.get("max_completion_tokens") in (None, value)


def _form_of_answer(item: JsonObject) -> str:
    schema = item.get("json_schema")
    has_schema = item.get("type") == "json_schema" and isinstance(schema, dict) and "schema" in schema
    return "schema" if has_schema else "other"


REQUEST = Fields(
    {
        "messages": Kinds(
            by_field("role"),
            {
                "system": _INSTRUCTION,
                "developer": _INSTRUCTION,
                "user": Fields({"role": whole, "content": _PARTS}),
                "assistant": _MESSAGE,
                "tool": _ANSWER,
                "function": _ANSWER,
            },
        ),
        "tools": TOOL,
        "functions": Fields(_FUNCTION),
        "tool_choice": TOOL_CHOICE,
        "max_tokens": _is_other_limit,
        "response_format": Kinds(
            _form_of_answer,
            {"schema": Fields({"type": whole, "json_schema": Fields({"schema": whole})}), "other": whole},
        ),
        ANY_OTHER: whole,
    }
)
"""All other fields are read as they are, or are in the request's `extras`, and `shared_fields` keeps the account of
those."""
