"""Agents behind the model APIs, asked by the vendors' own clients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import anthropic
import httpx2
import msgspec
import openai
import pydantic
import pytest
from google import genai

from actum import Agent
from actum.core.call import ToolCall
from actum.core.errors import ModelUnavailable
from actum.core.message import Reply
from actum.core.run.record import Started
from actum.core.tool import AllowedTools, NamedTool, ToolChoice
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.server.models.agents.answer import Said, read_answer
from actum.server.models.agents.assistant_view import AssistantRun
from actum.testing import ScriptedModel
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk

AnyClient: TypeAlias = Any
"""A client of a vendor. What the tests send is plain JSON, where the clients' types want classes."""


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


SHOUT = NamedTool("shout")
ADDS: list[str | Reply] = [Reply.of("Let me see.", [ToolCall("call_0", "add", {"a": 2, "b": 3})]), "It is 5."]


PAYS = Reply.of(calls=[ToolCall("call_0", "pay", {"euros": 20})])
LIST = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "array"}}}


class Sum(pydantic.BaseModel):
    """A structured answer."""

    total: int


def openai_of(server: Desk, key: str = "ann", **more: object) -> AnyClient:
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key=server.keys[key], **more)  # type: ignore[arg-type]


def anthropic_of(server: Desk, key: str = "ann") -> AnyClient:
    return anthropic.AsyncAnthropic(base_url=server.url, api_key=server.keys[key])


def gemini_of(server: Desk, key: str = "ann") -> AnyClient:
    return genai.Client(api_key=server.keys[key], http_options=genai.types.HttpOptions(base_url=server.url))


@pytest.mark.row("S9")
async def test_chat_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        raw = await client.chat.completions.with_raw_response.create(
            model="desk", messages=[{"role": "user", "content": "What is 2 + 3?"}]
        )
        assert raw.headers["x-actum-run"].startswith("run_")
        assert raw.parse().choices[0].message.content == "Let me see.\n\nIt is 5."
        stream = await client.chat.completions.create(
            model="desk", messages=[{"role": "user", "content": "What is 2 + 3?"}], stream=True
        )
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == "Let me see.\n\nIt is 5."


async def test_responses_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        answer = await client.responses.create(model="desk", input="What is 2 + 3?")
        kinds = [item.type for item in answer.output]
        assert kinds == ["message", "mcp_call", "message"]
        assert answer.output[1].output == "5"
        async with client.responses.stream(model="desk", input="What is 2 + 3?") as stream:
            events = [event.type async for event in stream]
            last = await stream.get_final_response()
        assert [item.type for item in last.output] == kinds
        assert last.output_text == answer.output_text
        assert "response.mcp_call.completed" in events


async def test_messages_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, anthropic_of(server) as client:
        message = await client.messages.create(
            model="desk", max_tokens=500, messages=[{"role": "user", "content": "What is 2 + 3?"}]
        )
        assert [block.type for block in message.content] == ["text", "mcp_tool_use", "mcp_tool_result", "text"]
        async with client.messages.stream(
            model="desk", max_tokens=500, messages=[{"role": "user", "content": "What is 2 + 3?"}]
        ) as stream:
            text = "".join([piece async for piece in stream.text_stream])
            final = await stream.get_final_message()
        assert text == "Let me see.It is 5."
        assert [block.type for block in final.content] == [block.type for block in message.content]


async def test_gemini_whole_and_streamed() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server:
        client = gemini_of(server)
        answer = await client.aio.models.generate_content(model="desk", contents="What is 2 + 3?")
        assert answer.text == "Let me see.\n\nIt is 5."
        pieces = await client.aio.models.generate_content_stream(model="desk", contents="What is 2 + 3?")
        assert "".join([piece.text or "" async for piece in pieces]) == "Let me see.\n\nIt is 5."


@pytest.mark.row("S9")
async def test_a_run_whose_model_failed_goes_on_when_its_client_asks_again_and_nothing_is_done_twice() -> None:
    paid: list[int] = []

    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    script: Iterator[str | Reply | Exception] = iter([PAYS, ModelUnavailable("no answer", status=503), "Done."])
    ask = [{"role": "user", "content": "Pay."}]
    again = {"idempotency-key": "k1"}
    async with desk([], [pay], model=ScriptedModel(lambda _: next(script))) as server, openai_of(server) as client:
        with pytest.raises(openai.UnprocessableEntityError) as raised:
            await client.chat.completions.create(model="desk", messages=ask, extra_headers=again)
        assert (raised.value.code, raised.value.type) == ("model_unavailable", "server_error")
        assert raised.value.response.headers["x-should-retry"] == "false"
        told = raised.value.body["run"]  # type: ignore[index]
        assert [call["result"] for call in told["calls"]] == ["paid"]
        whole = await client.chat.completions.create(model="desk", messages=ask, extra_headers=again)
        assert (whole.choices[0].message.content, paid) == ("Done.", [20])


@pytest.mark.row("S9")
async def test_an_answer_in_the_form_that_the_client_wants_is_all_that_is_told_whole_and_streamed() -> None:
    """The words between calls are left out, an answer that does not fit is mended, a code fence is taken off."""
    says = [ADDS[0], "It is five.", 'Here it is:\n```json\n{"total": 5}\n```']
    ask: Any = [{"role": "user", "content": "What is 2 + 3?"}]
    schema = Sum.model_json_schema()
    async with desk(says * 8, [add]) as server, openai_of(server) as oai, anthropic_of(server) as ant:
        parsed = await oai.chat.completions.parse(model="desk", messages=ask, response_format=Sum)
        assert parsed.choices[0].message.parsed == Sum(total=5)
        async with oai.chat.completions.stream(model="desk", messages=ask, response_format=Sum) as pieces:
            assert (await pieces.get_final_completion()).choices[0].message.parsed == Sum(total=5)
        answered = await oai.responses.parse(model="desk", input=ask, text_format=Sum)
        assert answered.output_parsed == Sum(total=5)
        async with oai.responses.stream(model="desk", input=ask, text_format=Sum) as pieces:
            assert (await pieces.get_final_response()).output_parsed == Sum(total=5)
        message = await ant.beta.messages.parse(model="desk", max_tokens=99, messages=ask, output_format=Sum)
        assert message.parsed_output == Sum(total=5)
        config = genai.types.GenerateContentConfig(
            response_mime_type="application/json",
            response_json_schema=schema,
        )
        ai = gemini_of(server).aio
        said = await ai.models.generate_content(model="desk", contents="What is 2 + 3?", config=config)
        assert said.text == '{"total":5}'
        await ai.aclose()


async def test_what_an_agent_does_not_do_is_refused_by_name() -> None:
    wrong: list[tuple[dict[str, object], str]] = [
        ({"messages": [{"role": "user", "content": "Hi"}], "n": 2}, "n:"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": "Hi"}], "response_format": LIST}, "schema"),
        ({"messages": "Hi"}, "messages"),
    ]
    async with desk([], [add]) as server, httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as http:
        headers = {"authorization": f"Bearer {server.keys['ann']}"}
        for body, word in wrong:
            answer = await http.post("/v1/chat/completions", json={"model": "desk", **body}, headers=headers)
            assert (answer.status_code, word in answer.json()["error"]["message"]) == (400, True), (body, answer.text)
        body = {"model": "desk", "input": "Hi", "tools": [{"type": "web_search"}]}
        answer = await http.post("/v1/responses", json=body, headers=headers)
        assert (answer.status_code, "web_search" in answer.text) == (400, True)
        answer = await http.post("/v1/messages/count_tokens", json={"model": "desk", "messages": []}, headers=headers)
        assert (answer.status_code, answer.headers["x-actum-estimated"]) == (200, "true")
        assert not await server.journal.runs()


async def test_a_denied_tool_and_an_unknown_tool_never_become_an_error_of_the_server() -> None:
    calls = Reply.of(calls=[ToolCall("1", "rob", {}), ToolCall("2", "add", {"a": 1, "b": 1})])
    deny = Rules(Rule("deny", ["add"]))
    async with desk([calls, "I may not."], [add], policy=deny) as server, openai_of(server) as client:
        answer = await client.responses.create(model="desk", input="Rob.")
        assert [item.type for item in answer.output] == ["mcp_call", "mcp_call", "message"]
        assert [item.status for item in answer.output[:2]] == ["failed", "failed"]


async def test_old_completions_are_answered_by_an_agent_too() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        answer = await client.completions.create(model="desk", prompt="What is 2 + 3?")
        assert answer.choices[0].text == "Let me see.\n\nIt is 5."
        stream = await client.completions.create(model="desk", prompt="What is 2 + 3?", stream=True)
        assert "".join([piece.choices[0].text async for piece in stream if piece.choices]) == "Let me see.\n\nIt is 5."


CALLS = {"type": "function", "function": {"name": "shout", "parameters": {"type": "object"}}}
SAYS = {"messages": [{"role": "user", "content": "Hi."}]}
SHOUTS = {"name": "shout", "parameters": {"type": "object"}}
GEMINI = "/v1beta/models/desk:generateContent"
PARTS = {"contents": [{"parts": [{"text": "Hi."}]}]}
AMONG = {"type": "allowed_tools", "mode": "auto", "tools": [{"name": "add"}]}
Wish = tuple[str, dict[str, Any], ToolChoice]
GEMINI_CHOICES: list[tuple[object, ToolChoice]] = [
    ({"mode": "ANY"}, "required"),
    ({"mode": "any", "allowed_function_names": ["add"]}, NamedTool("add")),
    ({"mode": "NONE"}, "none"),
    ({"allowed_function_names": ["add"]}, AllowedTools(("add",))),
]
WISHES: list[Wish] = [
    ("/v1/chat/completions", {**SAYS, "tool_choice": "required"}, "required"),
    ("/v1/chat/completions", {**SAYS, "tool_choice": "none"}, "none"),
    ("/v1/chat/completions", {**SAYS, "tool_choice": {"function": {"name": "add"}}}, NamedTool("add")),
    ("/v1/chat/completions", {**SAYS, "tools": [CALLS], "tool_choice": {"name": "add"}}, NamedTool("add")),
    *[
        ("/v1/chat/completions", {**SAYS, offered: [form], field: choice}, "none" if choice == "none" else SHOUT)
        for offered, form in (("tools", CALLS), ("functions", SHOUTS))
        for field in ("tool_choice", "function_call")
        for choice in ({"name": "shout"}, {"function": {"name": "shout"}}, "shout", "none")
    ],
    ("/v1/chat/completions", {**SAYS, "tool_choice": AMONG}, AllowedTools(("add",))),
    ("/v1/responses", {"input": "Hi.", "tool_choice": {"name": "add"}}, NamedTool("add")),
    ("/v1/responses", {"input": "Hi.", "tool_choice": "required"}, "required"),
    ("/v1/messages", {**SAYS, "max_tokens": 9, "tool_choice": {"type": "none"}}, "none"),
    ("/v1/messages", {**SAYS, "max_tokens": 9, "tool_choice": {"type": "any"}}, "required"),
    ("/v1/messages", {**SAYS, "max_tokens": 9, "tool_choice": {"type": "tool", "name": "add"}}, NamedTool("add")),
    *[
        (GEMINI, {**PARTS, field: {inner: mode}}, choice)
        for field, inner in (("toolConfig", "functionCallingConfig"), ("tool_config", "function_calling_config"))
        for mode, choice in GEMINI_CHOICES
    ],
    ("/v1/runs", {"agent": "desk", "question": "Hi.", "tool_choice": "add"}, NamedTool("add")),
    ("/v1/runs", {"agent": "desk", "question": "Hi.", "tool_choice": ["add"]}, AllowedTools(("add",))),
]


@pytest.mark.row("S3")
async def test_every_choice_of_calls_that_a_client_names_holds_for_the_run_of_an_agent() -> None:
    async with desk(lambda request: "Hello.", [add]) as server:
        headers = {"authorization": f"Bearer {server.keys['ann']}"}
        async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=HANGS_S) as client:
            for path, body, choice in WISHES:
                asked = body if path == "/v1/runs" else {"model": "desk", **body}
                answer = await client.post(path, json=asked)
                assert answer.status_code in (200, 202), (path, body, answer.text)
                run_id = answer.headers.get("x-actum-run") or answer.json()["id"]
                (begun, *_) = [entry.record for entry in await server.journal.read(run_id)]
                assert isinstance(begun, Started)
                assert begun.tool_choice == choice, (path, body)
                strange = msgspec.json.decode(msgspec.json.encode(asked).replace(b'"add"', b'"nobody"'))
                if strange != asked:
                    answer = await client.post(path, json=strange)
                    assert (answer.status_code in (400, 422), "nobody" in answer.text) == (True, True), strange


async def test_a_wish_about_calls_that_an_agent_does_not_honour_is_refused_by_name() -> None:
    asks: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {**SAYS, "tool_choice": 5}),
    ]
    async with desk([], [add]) as server, httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as client:
        for path, body in asks:
            headers = {"authorization": f"Bearer {server.keys['ann']}"}
            answer = await client.post(path, json={"model": "desk", **body}, headers=headers)
            assert answer.status_code == 400, (path, body, answer.text)
            assert "tool" in answer.json()["error"]["message"], (path, body)
        assert not server.model.requests


async def test_a_client_that_wants_one_call_a_reply_is_heeded() -> None:
    """LangChain and the AI SDK say so by themselves, where an answer has to have a form."""
    asks: list[tuple[str, dict[str, Any]]] = [
        ("/v1/chat/completions", {**SAYS, "parallel_tool_calls": False}),
        ("/v1/responses", {"input": "Hello.", "parallel_tool_calls": False}),
        ("/v1/messages", {**SAYS, "max_tokens": 9, "tool_choice": {"type": "auto", "disable_parallel_tool_use": True}}),
    ]
    async with (
        desk(lambda _: "Hi.", [add]) as server,
        httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as client,
    ):
        for path, body in asks:
            headers = {"authorization": f"Bearer {server.keys['ann']}"}
            answer = await client.post(path, json={"model": "desk", **body}, headers=headers)
            assert (answer.status_code, answer.headers.get("x-actum-lost")) == (200, None), (path, answer.text)
            assert server.model.requests[-1].parallel_calls is False, path


async def test_an_answer_that_a_check_refused_is_told_no_client() -> None:
    journal = MemoryJournal()
    call = ToolCall("call_0", "add", {"a": 2, "b": 3})
    model = ScriptedModel([Reply.of("Let me see.", [call]), "A secret.", "Five."])
    agent = Agent(model, [add], check=lambda said: "Not that." if "secret" in said.text else "", journal=journal)
    result = await agent.run("2 + 3?")
    entries = await journal.read(result.run_id)
    said = [piece.text for piece in read_answer(result.run_id, entries)[0] if isinstance(piece, Said)]
    assert said == ["Let me see.", "Five."]
    told = AssistantRun(result.run_id, entries)
    assert [message["content"][0]["text"]["value"] for message in told.messages()] == said  # type: ignore[index,call-overload]
    assert len([step for step in told.steps() if step["type"] == "message_creation"]) == len(said)
    before = AssistantRun(result.run_id, entries[:-2])  # while nobody knows whether the answer is taken
    assert len(before.messages()) == 1


async def test_a_picture_in_a_result_of_the_clients_tool_is_told_to_be_lost() -> None:
    look = {"name": "look", "input_schema": {"type": "object"}}
    async with (
        desk([Reply.of(calls=[ToolCall("1", "look", {})]), "I see."]) as server,
        anthropic_of(server) as client,
    ):
        asked: list[dict[str, Any]] = [{"role": "user", "content": "Look."}]
        first = await client.messages.create(model="desk", max_tokens=99, messages=asked, tools=[look])
        source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
        given = {
            "type": "tool_result",
            "tool_use_id": first.content[-1].id,
            "content": [{"type": "image", "source": source}],
        }
        asked += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [given]}]
        told = await client.messages.with_raw_response.create(model="desk", max_tokens=99, messages=asked, tools=[look])
        assert "the result of look: [attachment: image/png" in told.headers["x-actum-lost"]
        assert (await told.parse()).content[0].text == "I see."
