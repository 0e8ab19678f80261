"""An agent over a real HTTP server that speaks the true wire format, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from actum import Agent, tool
from actum.core.call import ToolCall
from actum.core.errors import ModelRejected
from actum.core.event import RunFinished, RunResult, TextDelta
from actum.core.json import Json, JsonObject
from actum.core.message import Reply

from ..chat_server import ChatServer, Raw, Said

pytestmark = [pytest.mark.row("S3"), pytest.mark.row("A1")]


def said(arguments: str) -> Raw:
    """A whole answer with one call whose arguments are this text, as the endpoint wrote it."""
    call = {"id": "call_1", "type": "function", "function": {"name": "keep", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return Raw((json.dumps({"id": "x", "object": "chat.completion", "choices": [choice]}).encode(),))


def streamed(arguments: str) -> Raw:
    """The same as an event stream, three characters at a time, or more where they are very many."""
    length = max(3, len(arguments) // 1000)
    pieces = [arguments[at : at + length] for at in range(0, len(arguments), length)]
    deltas: list[object] = [{"index": 0, "id": "call_1", "function": {"name": "keep", "arguments": ""}}]
    deltas += [{"index": 0, "function": {"arguments": piece}} for piece in pieces]
    events = [{"choices": [{"index": 0, "delta": {"tool_calls": [delta]}}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    body = [f"data: {json.dumps(event)}\n\n".encode() for event in events]
    return Raw((*body, b"data: [DONE]\n\n"), headers={"content-type": "text/event-stream"})


NESTED: Json = {"a": [{"b": [{"c": ["{", "}", '"', "\\", "]"]}]}]}
HUGE = "长" * 200_000

KEPT: list[tuple[str, str, Json, str]] = [
    ("unicode", json.dumps({"value": "北京 🌧 \u0000 é"}), "北京 🌧 \u0000 é", ""),
    ("escaped", '{"value": "\\u5317\\u4eac"}', "北京", ""),
    ("half a surrogate pair", '{"value": "a\\ud800b"}', "a\ufffdb", "half a surrogate pair"),
    ("huge", json.dumps({"value": HUGE}), HUGE, ""),
    ("nested", json.dumps({"value": NESTED}), NESTED, ""),
    ("big number", '{"value": 123456789012345678901234567890}', 123456789012345678901234567890, ""),
    ("leading zero stays text", '{"value": "02134"}', "02134", ""),
    ("one value twice", '{"value": 2, "value": 2}', 2, "given twice with one value"),
    ("json in a string", json.dumps(json.dumps({"value": 1})), 1, "opened"),
    ("white space", ' \n {"value" : 1}\t', 1, ""),
]

REFUSED = [
    ("empty", "", "value: required"),
    ("empty object", "{}", "value: required"),
    ("truncated", '{"value": "abc', "complete"),
    ("truncated in an escape", '{"value": "ab\\', "complete"),
    ("no json", "value=1", "complete"),
    ("not a number", '{"value": NaN}', "complete"),
    ("a list", "[1, 2]", "complete"),
    ("two values of a key", '{"value": 1, "value": 2}', "given twice with different values"),
    ("too deep", '{"value": ' + "[" * 200 + "]" * 200 + "}", "complete"),
]


async def run(script: Sequence[Said], *, stream: bool) -> tuple[RunResult, list[object], list[JsonObject]]:
    """One run against a server with this script: its result, what the tool was given, what the server was sent."""
    kept: list[object] = []

    @tool
    async def keep(value: object) -> str:
        """Keep a value.

        Args:
            value: what to keep
        """
        kept.append(value)
        return "kept"

    with ChatServer(list(script)) as server:
        agent = Agent(f"{server.url}#m", [keep], dialect="native")
        if stream:
            events = [event async for event in agent.stream("go")]
            last = events[-1]
            assert isinstance(last, RunFinished)
            return last.result, kept, [asked.json for asked in server.requests]
        return await agent.run("go"), kept, [asked.json for asked in server.requests]


@pytest.mark.parametrize("way", [said, streamed])
@pytest.mark.parametrize(("arguments", "value", "repair"), [case[1:] for case in KEPT], ids=[case[0] for case in KEPT])
async def test_arguments_reach_the_tool_as_they_were_meant(
    way: object, arguments: str, value: Json, repair: str
) -> None:
    assert callable(way)
    result, kept, requests = await run([way(arguments), "done"], stream=way is streamed)
    assert kept == [value]
    assert result.text == "done"
    assert repair in " ".join(result.calls[0][0].repairs)
    assert len(requests) == 2


@pytest.mark.parametrize("way", [said, streamed])
@pytest.mark.parametrize(("arguments", "told"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
async def test_arguments_that_can_not_be_meant_reach_no_tool_and_the_model_is_told(
    way: object, arguments: str, told: str
) -> None:
    assert callable(way)
    result, kept, requests = await run([way(arguments), "sorry"], stream=way is streamed)
    assert kept == []
    assert result.text == "sorry"
    assert told in result.calls[0][1].text
    messages = requests[1]["messages"]
    assert isinstance(messages, list)
    assert told in str(messages[-1])


@pytest.mark.parametrize("stream", [False, True])
async def test_every_id_is_answered_the_tools_stay_and_the_answer_is_told(stream: bool) -> None:
    calls = [ToolCall(f"c{n}", "keep", {"value": n}) for n in range(3)]
    result, kept, requests = await run([Reply.of("Keeping.", calls), "Kept three."], stream=stream)
    assert sorted(map(str, kept)) == ["0", "1", "2"]
    assert result.text == "Kept three."
    answered = [message for message in _messages(requests[1]) if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in answered] == ["c0", "c1", "c2"]
    assert requests[0]["tools"] == requests[1]["tools"]


async def test_text_is_told_while_it_comes() -> None:
    with ChatServer(["It is a long answer."]) as server:
        events = [event async for event in Agent(f"{server.url}#m", dialect="native").stream("go")]
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is a long answer."


async def test_a_refused_request_is_raised_in_a_sentence_and_the_run_is_on_record() -> None:
    error = Raw((b'{"error": {"message": "no such model"}}',), status=404)
    with ChatServer([error]) as server:
        agent = Agent(f"{server.url}#m", dialect="native")
        with pytest.raises(ModelRejected, match="no such model"):
            await agent.run("go")
        (run_,) = await agent.journal.runs()
        assert run_.status == "failed"


def _messages(request: JsonObject) -> list[JsonObject]:
    messages = request["messages"]
    assert isinstance(messages, list)
    return [message for message in messages if isinstance(message, dict)]
