"""A server that asks our model is understood, and so is a model of another that we ask."""

from __future__ import annotations

import pytest

from actum.core.call import REPEATED, MediaPart, TextPart, ToolCall, ToolResult
from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.core.message import ReasoningPart, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.protocols.mcp.sampling import (
    params_of,
    reply_of,
    request_of,
    result_of_reply,
)

pytestmark = pytest.mark.row("T9")

WEATHER: JsonObject = {"name": "weather", "description": "The weather.", "inputSchema": {"type": "object"}}
SAID: list[Json] = [
    {"role": "user", "content": {"type": "text", "text": "Rain?"}},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "1", "name": "weather", "input": {"in": "Ulm"}}]},
    {
        "role": "user",
        "content": [{"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "Yes"}]}],
    },
]


def test_a_request_with_tools_is_taken_over() -> None:
    request = request_of(
        {
            "messages": SAID,
            "systemPrompt": "Be short.",
            "maxTokens": 50,
            "temperature": 0.5,
            "stopSequences": ["END"],
            "tools": [WEATHER],
            "toolChoice": {"mode": "required"},
            "metadata": {"api_key": "x"},
        }
    )
    assert request.messages == (
        SystemMessage("Be short."),
        UserMessage((TextPart("Rain?"),)),
        Reply((ToolCall("1", "weather", {"in": "Ulm"}),)),
        ToolMessage("weather", ToolResult("1", (TextPart("Yes"),))),
    )
    assert [tool.name for tool in request.tools] == ["weather"]
    assert (request.tool_choice, request.max_tokens, request.temperature) == ("required", 50, 0.5)
    assert (request.stop, request.extras) == (("END",), {})


def test_a_request_comes_back_from_its_parameters() -> None:
    request = Request(
        messages=(
            SystemMessage("Be short."),
            UserMessage((TextPart("Look."), MediaPart("image/png", data=b"x"))),
            Reply((TextPart("I will."), ToolCall("1", "weather", {}))),
            ToolMessage("weather", ToolResult("1", structured={"rain": True}, content=(TextPart("Rain."),))),
        ),
        tools=(Tool(name="weather", description="The weather.", foreign=True),),
        max_tokens=9,
        stop=("END",),
        temperature=0.0,
    )
    assert request_of(params_of(request)) == request


ASK: JsonObject = {"messages": [{"role": "user", "content": {"type": "text", "text": "Hi"}}], "maxTokens": 5}


@pytest.mark.parametrize(
    ("reply", "tools", "stop", "content"),
    [
        (Reply.of("Hi", reasoning="Hm."), [], "endTurn", {"type": "text", "text": "Hi"}),
        (Reply((TextPart("Hi"),), finish_reason="length"), [], "maxTokens", {"type": "text", "text": "Hi"}),
        (
            Reply((TextPart("Hi"),), finish_reason="stop_sequence"),
            [WEATHER],
            "stopSequence",
            [{"type": "text", "text": "Hi"}],
        ),
        (
            Reply.of(calls=[ToolCall("1", "weather", {})]),
            [WEATHER],
            "toolUse",
            [{"type": "tool_use", "id": "1", "name": "weather", "input": {}}],
        ),
    ],
)
def test_an_answer_is_told_as_the_protocol_has_it(reply: Reply, tools: list[Json], stop: str, content: Json) -> None:
    result = result_of_reply(reply, request_of({**ASK, "tools": tools}))
    assert (result["role"], result["stopReason"], result["content"]) == ("assistant", stop, content)
    back = reply_of(result)
    assert back.content == tuple(part for part in reply.content if not isinstance(part, ReasoningPart))


PAY: JsonObject = {"type": "tool_use", "id": "1", "name": "pay", "input": {"to": "ada"}}
SAID_TWICE: list[tuple[list[Json], list[tuple[str, tuple[str, ...]]]]] = [
    ([PAY, PAY], [("1", (REPEATED,))]),
    ([PAY, {"type": "text", "text": "Paid."}, PAY, {**PAY, "id": "2"}], [("1", (REPEATED,)), ("2", ())]),
    ([PAY, PAY, {**PAY, "input": {"to": "eve"}}], [("1", ()), ("1", ()), ("1", ())]),
    ([{**PAY, "id": ""}, {**PAY, "id": ""}], [("", ()), ("", ())]),
]


@pytest.mark.parametrize(("content", "calls"), SAID_TWICE)
def test_a_call_that_an_answer_says_twice_under_one_id_is_one(
    content: list[Json], calls: list[tuple[str, tuple[str, ...]]]
) -> None:
    reply = reply_of({"role": "assistant", "model": "m", "content": content})
    assert [(call.id, call.repairs) for call in reply.calls] == calls


MIXED: JsonObject = {
    "role": "user",
    "content": [{"type": "text", "text": "x"}, {"type": "tool_result", "toolUseId": "1", "content": []}],
}
BAD: list[JsonObject] = [
    {},
    {**ASK, "maxTokens": "many"},
    {**ASK, "messages": [{"role": "system", "content": []}]},
    {**ASK, "messages": SAID[2:]},
    {**ASK, "messages": [*SAID[:2], MIXED]},
    {**ASK, "messages": [{"role": "assistant", "content": {"type": "tool_use", "id": 1}}]},
    {**ASK, "tools": [{"title": "nameless"}]},
    {**ASK, "tools": [{"name": "a b"}]},
]


@pytest.mark.parametrize("params", BAD)
def test_what_is_no_request_is_refused(params: JsonObject) -> None:
    with pytest.raises(UsageError):
        request_of(params)


def test_what_is_no_answer_is_refused() -> None:
    with pytest.raises(UsageError, match="assistant"):
        reply_of({"role": "user", "content": []})
