"""The client's own tools beside those of an agent: the run waits for the client, and goes on with the results."""

from __future__ import annotations

import anthropic
import httpx2
import openai
import pytest
from google.genai import types

from actum.core.call import ToolCall
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk
from tests.server.models.test_agents import add, anthropic_of, gemini_of, openai_of

WHERE = {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]}
MIXED = Reply.of(calls=[ToolCall("call_0", "add", {"a": 2, "b": 3}), ToolCall("call_0", "where", {"who": "ann"})])


def told(request: Request) -> list[str]:
    return [said.result.text for said in request.messages if isinstance(said, ToolMessage)]


async def runs_of(server: Desk) -> list[str]:
    return [run.run_id for run in await server.journal.runs()]


CHAT_TOOL = {"type": "function", "function": {"name": "where", "parameters": WHERE}}


async def test_chat_a_call_of_the_clients_tool_goes_back_to_it_and_the_run_goes_on() -> None:
    async with desk([MIXED, "At home."], [add]) as server, openai_of(server) as client:
        messages: list[dict[str, object]] = [{"role": "user", "content": "Where?"}]
        first = await client.chat.completions.create(model="desk", messages=messages, tools=[CHAT_TOOL])
        (call,) = first.choices[0].message.tool_calls or []
        assert (call.function.name, first.choices[0].finish_reason) == ("where", "tool_calls")
        messages += [
            first.choices[0].message.to_dict(),
            {"role": "tool", "tool_call_id": call.id, "content": "at home"},
        ]
        for key, status in (("bob", openai.NotFoundError), ("ann-2", openai.NotFoundError)):
            async with openai_of(server, key) as other:
                with pytest.raises(status):
                    await other.chat.completions.create(model="desk", messages=messages, tools=[CHAT_TOOL])
        second = await client.chat.completions.create(model="desk", messages=messages, tools=[CHAT_TOOL])
        assert second.choices[0].message.content == "At home."
        assert told(server.model.requests[-1]) == ["5", "at home"]
        assert len(await runs_of(server)) == 1

        again = await client.chat.completions.create(model="desk", messages=messages, tools=[CHAT_TOOL])
        assert again.choices[0].message.content == "At home."  # the results were given: the outcome is told again
        messages[-1]["content"] = "elsewhere"
        with pytest.raises(openai.ConflictError) as refused:
            await client.chat.completions.create(model="desk", messages=messages, tools=[CHAT_TOOL])
        assert refused.value.response.headers["x-should-retry"] == "false"
        assert len(server.model.requests) == 2


async def test_chat_streamed_a_call_of_the_clients_tool_is_told_at_the_end() -> None:
    async with desk([MIXED, "At home."], [add]) as server, openai_of(server) as client:
        async with client.chat.completions.stream(
            model="desk", messages=[{"role": "user", "content": "Where?"}], tools=[CHAT_TOOL]
        ) as stream:
            final = await stream.get_final_completion()
        (call,) = final.choices[0].message.tool_calls or []
        assert (call.function.name, call.function.arguments) == ("where", '{"who":"ann"}')


async def test_responses_a_call_goes_back_and_the_run_goes_on_by_previous_id_or_by_the_items() -> None:
    tool = {"type": "function", "name": "where", "parameters": WHERE, "strict": False}
    async with desk([MIXED, "At home.", MIXED, "At home."], [add]) as server, openai_of(server) as client:
        first = await client.responses.create(model="desk", input="Where?", tools=[tool])
        call = first.output[-1]
        assert [item.type for item in first.output] == ["mcp_call", "function_call"]
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "at home"}
        second = await client.responses.create(
            model="desk", input=[output], previous_response_id=first.id, tools=[tool]
        )
        assert (second.output_text, second.id != first.id) == ("At home.", True)

        items: list[object] = [{"role": "user", "content": "Where?"}]
        first = await client.responses.create(model="desk", input=items, tools=[tool], store=False)
        items += [item.to_dict() for item in first.output]
        forged = [dict(item) for item in items if isinstance(item, dict)]
        forged[1]["output"] = "7"
        items = [*forged, {**output, "call_id": first.output[-1].call_id}]
        second = await client.responses.create(model="desk", input=items, tools=[tool], store=False)
        assert second.output_text == "At home."
        assert told(server.model.requests[-1]) == ["5", "at home"]  # by the record, whatever the client's items say


async def test_messages_the_tool_runner_of_the_client_makes_its_calls() -> None:
    @anthropic.beta_async_tool
    async def where(who: str) -> str:
        """Where somebody is.

        Args:
            who: the name.
        """
        return f"{who} is at home"

    async with desk([MIXED, "At home."], [add]) as server, anthropic_of(server) as client:
        runner = client.beta.messages.tool_runner(
            model="desk", max_tokens=500, tools=[where], messages=[{"role": "user", "content": "Where?"}]
        )
        final = await runner.until_done()
        assert final.content[-1].text == "At home."
        assert told(server.model.requests[-1]) == ["5", "ann is at home"]
        assert len(await runs_of(server)) == 1


async def test_gemini_the_clients_loop_of_functions_goes_on_without_ids() -> None:
    def where(who: str) -> str:
        """Where somebody is."""
        return f"{who} is at home"

    async with desk([MIXED, "At home."], [add]) as server:
        client = gemini_of(server)
        answer = await client.aio.models.generate_content(
            model="desk", contents="Where?", config=types.GenerateContentConfig(tools=[where])
        )
        assert answer.text == "At home."
        assert len(await runs_of(server)) == 1


async def test_functions_of_2023_go_on_by_name_and_history_within_one_caller() -> None:
    async with desk([MIXED, "At home.", "Who are you?"], [add]) as server, httpx2.AsyncClient(timeout=HANGS_S) as http:

        async def ask(key: str, messages: list[dict[str, object]]) -> httpx2.Response:
            body = {"model": "desk", "messages": messages, "functions": [{"name": "where", "parameters": WHERE}]}
            headers = {"authorization": f"Bearer {server.keys[key]}"}
            return await http.post(f"{server.url}/v1/chat/completions", json=body, headers=headers)

        messages: list[dict[str, object]] = [{"role": "user", "content": "Where?"}]
        first = (await ask("ann", messages)).json()["choices"][0]["message"]
        assert first["function_call"]["name"] == "where"
        messages += [first, {"role": "function", "name": "where", "content": "at home"}]
        second = await ask("ann", messages)
        assert second.json()["choices"][0]["message"]["content"] == "At home."
        assert len(await runs_of(server)) == 1
        other = await ask("bob", messages)
        assert (other.headers["x-actum-history"], len(await runs_of(server))) == ("disagrees", 2)


async def test_a_clients_tool_of_the_name_of_a_servers_tool_is_refused() -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": WHERE}}
    async with desk(["Hi."], [add]) as server, openai_of(server) as client:
        with pytest.raises(openai.BadRequestError, match="add"):
            await client.chat.completions.create(
                model="desk", messages=[{"role": "user", "content": "Hi"}], tools=[tool]
            )
        assert not server.model.requests
