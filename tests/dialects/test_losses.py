"""A fact that is not heard any more is a loss, once for each time that it was said."""

from __future__ import annotations

import pytest
from msgspec import structs

from actum.core.call import MediaPart, TextPart, ToolCall
from actum.core.json import JsonObject
from actum.core.message import ReasoningPart, Reply, Usage, UserMessage
from actum.core.model import Request
from actum.core.tool import AllowedTools, NamedTool, Tool
from actum.dialects.losses import Loss, of_reply, of_request, shortened
from actum.dialects.tool_names import ANY_NAMES

CALL = ToolCall("a", "f", {"x": 1}, raw='{"x": 1}', signature="s")
REPLY = Reply(
    (ReasoningPart("Hm.", "sig", by="gemini"), TextPart("I look."), CALL, MediaPart("image/png", b"1", name="a.png")),
    "stop",
    Usage(5, 4, 3, 2),
    "m",
    "id",
    {"note": 1, "blocks": {"alone": {"0": {"type": "search"}}, "beside": {"1": {"id": "x", "phase": "final"}}}},
)


def where(losses: list[Loss]) -> list[str]:
    return [loss.where for loss in losses]


def test_what_is_heard_as_it_was_said_is_no_loss() -> None:
    request = Request(messages=[UserMessage.of("Hi"), REPLY], tools=(Tool(name="f", strict=True),), stop=("x",))
    assert of_request(request, request, "api", ANY_NAMES) == []
    assert of_reply(REPLY, REPLY, "api") == []


@pytest.mark.row("S9")
def test_every_fact_of_a_reply_is_missed() -> None:
    assert where(of_reply(REPLY, Reply(), "api")) == [
        "reply.content[0].signature",
        "reply.calls[0]",
        "reply.calls[0].id",
        "reply.calls[0].signature",
        "reply.content[3]",
        "reply.content[3]",
        "reply.reasoning",
        "reply.extras.note",
        "reply.extras.blocks",
        "reply.extras.blocks",
        "reply",
        "reply.model",
        "reply.id",
        *(f"reply.usage.{name}" for name in ("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens")),
    ]


def test_what_was_said_twice_is_missed_once_if_it_is_heard_once() -> None:
    said = Request(messages=[UserMessage.of("Hi"), UserMessage.of("Hi")])
    heard = Request(messages=[UserMessage.of("Hi")])
    assert where(of_request(said, heard, "api", ANY_NAMES)) == ["messages[1].content[0]"]


def test_words_for_the_same_choice_and_the_same_end_are_the_same() -> None:
    tools = (Tool(name="f"), Tool(name="g"))
    said = Request(messages=[], tools=tools, tool_choice=NamedTool("f"))
    heard = structs.replace(said, tool_choice=AllowedTools(("f",), "required"))
    assert of_request(said, heard, "api", ANY_NAMES) == []
    assert of_reply(Reply(finish_reason="tool_use"), Reply(finish_reason="tool_calls"), "api") == []
    assert where(of_reply(Reply(finish_reason="pause_turn"), Reply(finish_reason="stop"), "api")) == [
        "reply.finish_reason"
    ]


def test_of_a_tool_that_is_not_heard_nothing_else_is_missed() -> None:
    schema: JsonObject = {"properties": {"a": {"minLength": 1}}, "required": ["a"]}
    tools = (Tool(name="f", description="x", parameters=schema, strict=True),)
    losses = of_request(Request(messages=[], tools=tools), Request(messages=[]), "api", ANY_NAMES)
    assert where(losses) == ["tools[0]"]


def test_a_rule_of_a_schema_counts_wherever_it_stands() -> None:
    inner: JsonObject = {"type": "string", "minLength": 1, "const": "a"}
    said = Tool(name="f", parameters={"properties": {"a": {"$ref": "#/$defs/a"}}, "$defs": {"a": inner}})
    heard = Tool(name="f", parameters={"properties": {"a": {"minLength": 1, "enum": ["a"]}}})
    asked = Request(messages=[], tools=(said,))
    assert of_request(asked, structs.replace(asked, tools=(heard,)), "api", ANY_NAMES) == []
    bare = structs.replace(asked, tools=(Tool(name="f", parameters={"properties": {"a": {}}}),))
    assert [loss.what for loss in of_request(asked, bare, "api", ANY_NAMES)] == ["minLength: 1", 'const: "a"']


def test_what_stood_there_is_told_in_one_short_line() -> None:
    assert shortened("a\n b") == "a b"
    assert len(shortened("x" * 10_000)) == 101
    assert str(Loss("a", "b", "c")) == "a: b: c"
