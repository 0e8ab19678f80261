"""What stands inside of messages and tools and is read by nobody is named by its place."""

from __future__ import annotations

import msgspec
import pytest

from actum.core.json import Json, JsonObject
from actum.dialects import dialect
from actum.dialects.api.unread import unread_of_request
from actum.dialects.catalog import ApiName

TEXT: JsonObject = {"type": "text", "text": "Hi"}


def places(source: ApiName, **body: Json) -> list[str]:
    wire = msgspec.json.encode(body)
    dialect(source).decode_request(wire)  # it is a request that can be read
    return [loss.where for loss in unread_of_request(body, source)]


@pytest.mark.row("S9")
def test_each_api_has_its_own_names() -> None:
    call: JsonObject = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}, "new": 1}
    assert places(
        "openai_chat",
        messages=[
            {"role": "user", "name": "ada", "content": [{**TEXT, "cache_control": {}}, {**TEXT, "cache_control": 1}]},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "a", "content": "x", "name": "f"},
        ],
        tools=[{"type": "function", "function": {"name": "f", "parameters": {"any": 1}, "new": 1}}],
    ) == [
        "messages[0].name",
        "messages[0].content[1].cache_control",
        "messages[1].tool_calls[0].new",
        "tools[0].function.new",
    ]
    assert places(
        "openai_responses",
        input=[
            {"role": "user", "content": [{"type": "input_image", "image_url": "https://x.org/a", "detail": "low"}]},
            {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "new": 1},
            {"type": "function_call_output", "call_id": "a", "output": "x", "new": 1},
        ],
    ) == ["input[0].content[0].detail", "input[1].new", "input[2].new"]
    assert places(
        "anthropic_messages",
        system=[{**TEXT, "cache_control": {"type": "ephemeral"}, "citations": 1}],
        messages=[{"role": "user", "content": [TEXT]}],
        tools=[{"name": "f", "input_schema": {"any": 1}, "new": 1}, {"type": "web_search_1", "name": "w", "new": 1}],
    ) == ["system[0].cache_control", "system[0].citations", "tools[0].new", "tools[1].new"]
    assert places(
        "gemini_content",
        contents=[{"parts": [{"text": "Hi", "video_metadata": {"fps": 1}}]}, {"role": "model", "parts": [{"new": 1}]}],
        tools=[{"function_declarations": [{"name": "f", "behavior": "BLOCKING"}]}, {"google_maps": {"new": 1}}],
    ) == [
        "contents[0].parts[0].videoMetadata",
        "contents[1].parts[0]",
        "tools[0].functionDeclarations[0].behavior",
        "tools[1].googleMaps",
    ]


def test_a_name_from_outside_is_looked_through_as_far_as_it_is_known() -> None:
    assert unread_of_request({"messages": "?"}, "another_api") == []
