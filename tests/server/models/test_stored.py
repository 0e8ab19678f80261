"""The state of the Responses API: what was stored is there for its caller, from any process, and for nobody else."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx2
import openai
import pytest
from openai.types.responses import Response

from actum.core.call import ToolCall
from actum.core.message import Reply, UserMessage
from actum.core.model import Request
from actum.core.run.record import Started
from tests.patience import HANGS_S
from tests.server.models.desk import Desk, desk, until
from tests.server.models.test_agents import ADDS, add, openai_of


def texts(request: Request) -> list[str]:
    return [said.text for said in request.messages if isinstance(said, UserMessage | Reply)]


async def raw(server: Desk, method: str, path: str, key: str = "ann") -> httpx2.Response:
    async with httpx2.AsyncClient(base_url=server.url, timeout=HANGS_S) as client:
        return await client.request(method, path, headers={"authorization": f"Bearer {server.keys[key]}"})


async def test_a_stored_response_is_there_for_its_caller_alone() -> None:
    async with desk([*ADDS, "Yes."], [add]) as server, openai_of(server) as client:
        more = {"metadata": {"of": "ann"}, "temperature": 0.5, "tool_choice": "auto"}
        first = await client.responses.create(model="desk", input="What is 2 + 3?", **more)
        assert first.to_dict().items() >= more.items()  # as OpenAI, an answer repeats its request
        found = await client.responses.retrieve(first.id)
        assert found.to_dict() == first.to_dict()
        items = await client.responses.input_items.list(first.id)
        assert [item.content[0].text for item in items.data] == ["What is 2 + 3?"]
        second = await client.responses.create(model="desk", input="Sure?", previous_response_id=first.id)
        assert texts(server.model.requests[-1])[:2] == ["What is 2 + 3?", "Let me see."]
        assert (second.output_text, second.previous_response_id) == ("Yes.", first.id)

        for key in ("bob", "ann-2", "program"):
            for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("GET", "/input_items")):
                answer = await raw(server, method, f"/v1/responses/{first.id}{path}", key)
                assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error"), (key, path)
            async with openai_of(server, key) as other:
                with pytest.raises(openai.BadRequestError, match="not found"):
                    await other.responses.create(model="desk", input="Sure?", previous_response_id=first.id)

        with pytest.raises(openai.InternalServerError, match="not serve /v1/responses/compact") as absent:
            await client.responses.compact(model="desk", previous_response_id=first.id)
        assert (absent.value.status_code, absent.value.response.headers["x-should-retry"]) == (501, "false")
        await client.responses.delete(first.id)
        for method, path in (("GET", ""), ("GET", "/input_items"), ("DELETE", "")):
            assert (await raw(server, method, f"/v1/responses/{first.id}{path}")).status_code == 404


async def test_a_response_that_is_not_stored_leaves_no_words_on_record() -> None:
    async with desk([*ADDS, *ADDS], [add]) as server, openai_of(server) as client:
        first = await client.responses.create(model="desk", input="What is 2 + 3?", store=False)
        stream = await client.responses.create(model="desk", input="What is 2 + 3?", store=False, stream=True)
        events = [event async for event in stream]
        for id_ in (first.id, first.id.removesuffix("t"), events[0].response.id):
            with pytest.raises(openai.NotFoundError):
                await client.responses.retrieve(id_)
        with pytest.raises(openai.BadRequestError) as absent:
            await client.responses.create(model="desk", input="Sure?", previous_response_id=first.id)
        assert absent.value.code == "previous_response_not_found"
        for run in await server.journal.runs():
            run_id = run.run_id

            async def is_forgotten(run_id: str = run_id) -> bool:
                return not any(entry.payload for entry in (await server.journal.read(run_id))[:-1])

            await until(is_forgotten)


async def test_a_response_in_the_background_is_taken_up_again_at_every_event_from_another_process(
    tmp_path: Path,
) -> None:
    path = tmp_path / "runs.db"
    async with desk(ADDS, [add], path=path) as server, openai_of(server) as client:
        stream = await client.responses.create(model="desk", input="What is 2 + 3?", background=True, stream=True)
        events = [event.to_dict() async for event in stream]
        id_ = events[0]["response"]["id"]
        async with (
            desk([], path=path) as other,
            openai_of(other) as elsewhere,
        ):
            for number in range(-1, len(events)):
                again = await elsewhere.responses.retrieve(
                    id_, stream=True, **({"starting_after": number} if number >= 0 else {})
                )
                assert [event.to_dict() async for event in again] == events[number + 1 :], number
        begun = await client.responses.retrieve(id_)
        assert (begun.status, begun.background) == ("completed", True)


async def test_a_response_in_the_background_is_polled_and_cancelled() -> None:
    gate = asyncio.Event()

    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "done"

    script: list[str | Reply] = [
        Reply.of(calls=[ToolCall("1", "wait", {})]),
        "Done.",
        Reply.of(calls=[ToolCall("1", "wait", {})]),
    ]
    async with desk(script, [wait]) as server, openai_of(server) as client:
        begun = await client.responses.create(model="desk", input="Wait.", background=True)
        assert begun.status == "in_progress"
        gate.set()

        async def is_over() -> bool:
            return bool((await client.responses.retrieve(begun.id)).status == "completed")

        await until(is_over)
        found = await client.responses.retrieve(begun.id)
        assert found.output_text == "Done."
        gate.clear()
        begun = await client.responses.create(model="desk", input="Wait.", background=True)
        cancelled = await client.responses.cancel(begun.id)
        assert cancelled.status == "cancelled"
        with pytest.raises(openai.BadRequestError, match="store"):
            await client.responses.create(model="desk", input="Wait.", background=True, store=False)


async def test_conversations_are_the_sessions_of_their_caller() -> None:
    async with desk([*ADDS, "Yes."], [add]) as server, openai_of(server) as client:
        talk = await client.conversations.create()
        assert (await client.conversations.retrieve(talk.id)).id == talk.id
        await client.responses.create(model="desk", input="What is 2 + 3?", conversation=talk.id)
        await client.responses.create(model="desk", input="Sure?", conversation={"id": talk.id})
        assert texts(server.model.requests[-1])[:2] == ["What is 2 + 3?", "Let me see."]
        items = await client.conversations.items.list(talk.id, order="asc")
        assert [item.type for item in items.data] == ["message", "message", "mcp_call", "message", "message", "message"]
        for key in ("bob", "ann-2"):
            async with openai_of(server, key) as other:
                for ask in (other.conversations.retrieve(talk.id), other.conversations.items.list(talk.id)):
                    with pytest.raises(openai.NotFoundError):
                        await ask
                with pytest.raises(openai.NotFoundError):
                    await other.responses.create(model="desk", input="Sure?", conversation=talk.id)
        with pytest.raises(openai.NotFoundError):
            await client.responses.create(model="desk", input="Sure?", conversation="conv_made_up")
        assert (await client.conversations.delete(talk.id)).deleted


@pytest.mark.row("P1")
@pytest.mark.parametrize("stream", [False, True])
async def test_items_of_stored_responses_are_named_by_their_ids(stream: bool) -> None:
    tool = {"type": "function", "name": "weather", "parameters": {"type": "object"}}
    calls = Reply.of("I will look.", [ToolCall("call_0", "weather", {"city": "Oslo"})])
    async with desk([*ADDS, calls, "It is sunny.", "Yes."], [add]) as server, openai_of(server) as client:

        async def respond(
            said: list[dict[str, object]], asked: openai.AsyncOpenAI = client, **more: object
        ) -> Response:
            whole = await asked.responses.create(model="desk", input=said, tools=[tool], stream=stream, **more)  # type: ignore[call-overload]
            if not stream:
                return whole  # type: ignore[no-any-return]
            (response,) = [event.response async for event in whole if event.type == "response.completed"]
            return response  # type: ignore[no-any-return]

        def named(response: Response) -> list[dict[str, object]]:  # as the AI SDK sends what was stored
            return [{"type": "item_reference", "id": item.id} for item in response.output]

        said: list[dict[str, object]] = [{"role": "user", "content": "What is 2 + 3?"}]
        first = await respond(said)
        assert [item.type for item in first.output] == ["message", "mcp_call", "message"]
        said += [*named(first), {"role": "user", "content": "And the weather?"}]
        second = await respond(said)
        call = second.output[-1]
        assert call.type == "function_call"
        said += [*named(second), {"type": "function_call_output", "call_id": call.call_id, "output": "sun"}]
        third = await respond(said)
        said += [*[{**each, "type": None} for each in named(third)], {"role": "user", "content": "Sure?"}]
        assert (third.output_text, (await respond(said)).output_text) == ("It is sunny.", "Yes.")
        assert texts(server.model.requests[-1]) == [
            *("What is 2 + 3?", "Let me see.", "It is 5.", "And the weather?", "I will look.", "It is sunny.", "Sure?")
        ]
        begun = [(await server.journal.read(run.run_id))[0].record for run in await server.journal.runs()]
        assert [record.history for record in begun if isinstance(record, Started)] == [(), (), ()]  # it is on record

        with pytest.raises(openai.BadRequestError, match="named twice"):
            await respond([*named(first), *named(first)])
        for item in first.output:
            for key in ("bob", "ann-2", "program"):
                async with openai_of(server, key) as other:
                    with pytest.raises(openai.NotFoundError, match="not found"):
                        await respond([{"type": "item_reference", "id": item.id}, said[0]], other)
        known = str(first.output[0].id)
        for unknown in ("msg_1", f"{known}9", known.replace("_0_", "_0t_"), "rs_0123"):
            with pytest.raises(openai.NotFoundError) as absent:
                await respond([{"type": "item_reference", "id": unknown}, said[0]])
            assert (absent.value.type, absent.value.param) == ("invalid_request_error", "input")
