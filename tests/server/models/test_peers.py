"""Clients of others at the gateway, each in an environment of its own, unmodified but for base URL and key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Message, Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.dialects.api.openai_chat.dialect import OPENAI_CHAT, OPENAI_FUNCTIONS
from actum.dialects.api.openai_chat.request import forms_of
from actum.models.catalog import ModelPlace
from actum.server.models.upstream import ModelRoute, ModelUpstream
from tests.chat_server import ChatServer, Raw, Said
from tests.patience import HANGS_S
from tests.peers import install
from tests.server.models.desk import desk
from tests.server.models.gateway import upstream
from tests.server.models.test_agents import add, openai_of

CLIENTS = Path(install.__file__).parent / "clients"
PROGRAMS = {"gateway_langchain": "langchain", "gateway_openai_agents": "mcp2", "gateway_pydantic_ai": "mcp2"}


def script(request: Request) -> str | Reply:
    """Adds with a tool of the server, doubles with a tool of the client, and answers."""
    said = [message for message in request.messages if isinstance(message, UserMessage)]
    results = [message.result.text for message in request.messages if isinstance(message, ToolMessage)]
    if said[-1].text == "Sure?":
        return f"Sure: {' and '.join(results)}."
    if not results:
        return Reply.of(calls=[ToolCall("call_0", "add", {"a": 2, "b": 3})])
    if len(results) == 1:
        return Reply.of(calls=[ToolCall("call_0", "double", {"number": int(results[0])})])
    return f"It is {results[1]}."


@pytest.mark.row("S9")
@pytest.mark.parametrize("program", PROGRAMS)
async def test_a_client_of_others_has_its_own_tools_beside_governed_ones_streams_and_gets_a_structure(
    program: str,
) -> None:
    python = install.py_bin(PROGRAMS[program], "python")
    with ChatServer(lambda _: '{"value": 5}') as chat:
        async with desk(script, [add], passing={"fast": ModelRoute([upstream(chat.url)])}) as server:
            process = await asyncio.create_subprocess_exec(
                python,
                CLIENTS / f"{program}.py",
                *(f"{server.url}/v1", server.keys["ann"]),
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
            said, problems = await asyncio.wait_for(process.communicate(), HANGS_S)
            assert process.returncode == 0, problems.decode()[-3_000:]
            heard = msgspec.json.decode(said, type=dict[str, Any])
            for way in ("chat False", "chat True", "responses False", "responses True"):
                assert heard[way] == ["It is 10.", "Sure: 5 and 10."], way  # the record gave the result of `add`
            assert heard["structured"] == 5
            assert "Did you mean desk" in heard["error"]
            runs = await server.journal.runs(limit=None)
            assert [run.status for run in runs] == ["done"] * 8
            assert chat.requests[0].json["response_format"]


def weather(messages: Sequence[Message]) -> str | Reply:
    """Calls the function of the program, and tells what it knows."""
    words = [message.text for message in messages if isinstance(message, UserMessage)]
    results = [message.result for message in messages if isinstance(message, ToolMessage)]
    if not results:
        return Reply.of(calls=[ToolCall("call_9", "get_current_weather", {"location": "Boston", "unit": "celsius"})])
    known = msgspec.json.decode(results[-1].text, type=dict[str, str])
    return f"{known['location']} {known['temperature']}, {' '.join(words)}"


def api_of_today(body: JsonObject) -> Said:
    """An upstream that knows `tools` and refuses the form of 2023, as the newest models of the API do."""
    said = msgspec.json.encode(body)
    if forms_of(body) - {"tools"} or b'"function_call"' in said or b'"role":"function"' in said:
        told = b'{"error":{"message":"Unsupported parameter: functions","type":"invalid_request_error"}}'
        return Raw((told,), status=400)
    return weather(OPENAI_CHAT.decode_request(said).messages)


def api_of_2023(body: JsonObject) -> Said:
    """An upstream that knows `functions`, and refuses all that came later."""
    said = msgspec.json.encode(body)
    if forms_of(body) - {"functions"} or "stream_options" in body:
        return Raw(
            (b'{"error":{"message":"Unrecognized request arguments","type":"invalid_request_error"}}',), status=400
        )
    told = weather(OPENAI_CHAT.decode_request(said).messages)
    reply = Reply.of(told) if isinstance(told, str) else told
    is_streamed = body.get("stream") is True
    return Raw((OPENAI_FUNCTIONS.encoder().close(reply) if is_streamed else OPENAI_FUNCTIONS.encode_reply(reply),))


FUNCTION: JsonObject = {
    "name": "get_current_weather",
    "parameters": {
        "type": "object",
        "properties": {"location": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "required": ["location"],
    },
}


@pytest.mark.row("P1")
@pytest.mark.row("S9")
async def test_the_sample_of_2023_runs_word_for_word_at_an_agent_and_at_a_model_that_is_passed_through() -> None:
    python = install.py_bin("openai0", "python")
    boston = "Boston 72, What's the weather like in Boston?"
    with ChatServer(api_of_today) as chat:
        routes = {"fast": ModelRoute([upstream(chat.url)])}
        async with desk(lambda request: weather(request.messages), [add], passing=routes) as server:
            for model in ("desk", "fast"):
                process = await asyncio.create_subprocess_exec(
                    *(python, CLIENTS / "openai_2023.py", f"{server.url}/v1", server.keys["ann"], model),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                said, problems = await asyncio.wait_for(process.communicate(), HANGS_S)
                assert process.returncode == 0, problems.decode()[-3_000:]
                assert msgspec.json.decode(said) == [boston, *[f"{boston} And tomorrow?"] * 2], model
            asked = server.model.requests
            assert [len(request.messages) for request in asked] == [2, 4, 2, 5, 6]  # with the instructions
            assert "tomorrow" not in "".join([each.result.text for each in said_by_tools(asked)])


@pytest.mark.row("S9")
@pytest.mark.parametrize("stream", [False, True])
async def test_the_newest_client_of_openai_speaks_the_words_of_2023(stream: bool) -> None:
    boston = "Boston 72, What's the weather like in Boston?"
    with ChatServer(api_of_today) as new, ChatServer(api_of_2023) as old:
        place = ModelPlace(url=old.url, model="m", key="", dialect=OPENAI_FUNCTIONS)
        routes = {"fast": ModelRoute([upstream(new.url)]), "old": ModelRoute([ModelUpstream("old", place)])}
        async with (
            desk(lambda request: weather(request.messages), [add], passing=routes) as server,
            openai_of(server) as client,
        ):
            for model in ("desk", "fast", "old"):

                async def ask(model: str = model, **body: object) -> dict[str, object]:
                    if not stream:
                        answer = await client.chat.completions.create(model=model, **body)
                    else:
                        async with client.chat.completions.stream(model=model, **body) as pieces:
                            answer = await pieces.get_final_completion()
                    told: dict[str, object] = answer.choices[0].message.to_dict()
                    return {"content": None, **told}

                messages: list[dict[str, object]] = [{"role": "user", "content": "What's the weather like in Boston?"}]
                said = await ask(messages=messages, functions=[FUNCTION], function_call="auto")
                result = msgspec.json.encode({"location": "Boston", "temperature": "72"}).decode()
                messages += [said, {"role": "function", "name": FUNCTION["name"], "content": result}]
                answer = await ask(messages=messages)
                assert answer["content"] == boston, model
                messages += [answer, {"role": "user", "content": "And tomorrow?"}]
                assert (await ask(messages=messages))["content"] == f"{boston} And tomorrow?", model


def said_by_tools(requests: Sequence[Request]) -> list[ToolMessage]:
    return [message for request in requests for message in request.messages if isinstance(message, ToolMessage)]
