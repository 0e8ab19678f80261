"""The Assistants API is a view of agents, conversations and runs: the program of OpenAI's guide runs unchanged."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import openai
import pytest
from typer.testing import CliRunner

from actum.cli.app import app
from actum.core.call import ToolCall
from actum.core.identity import Identity
from actum.core.message import Reply
from actum.core.stored.kept_object import OBJECTS_BYTES_MAX, KeptObject
from actum.server.models.agents.assistants import THREAD_S, owner_of
from actum.server.models.agents.executor import TIDY_S
from actum.testing import FakeClock
from tests.server.models.desk import desk, until
from tests.server.models.test_agents import ADDS, add, openai_of
from tests.server.models.test_killed import KEY, is_settled, start
from tests.server.models.test_waiting import PAYS, Till
from tests.web import listening, place

pytestmark = [  # the official client says that OpenAI ends this API
    pytest.mark.filterwarnings("ignore:deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:The Assistants API is deprecated:DeprecationWarning"),
]

Loose: TypeAlias = Any
"""What the client gives: its classes are unions of many kinds."""
TOOLS: Loose = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": "Of a place.",
            "parameters": {
                "type": "object",
                "properties": {"location": {"type": "string"}},
                "required": ["location"],
            },
        },
    }
    for name in ("get_current_temperature", "get_rain_probability")
]
ASKS = Reply.of(
    calls=[
        ToolCall("call_0", "get_current_temperature", {"location": "San Francisco"}),
        ToolCall("call_1", "get_rain_probability", {"location": "San Francisco"}),
    ]
)
SCRIPT: Sequence[str | Reply] = [ASKS, "57 degrees, and 6 percent."]
QUESTION = "What's the weather in San Francisco today and the likelihood it'll rain?"


def outputs(run: Loose) -> Loose:
    values = {"get_current_temperature": "57", "get_rain_probability": "0.06"}
    calls = run.required_action.submit_tool_outputs.tool_calls
    return [{"tool_call_id": call.id, "output": values[call.function.name]} for call in calls]


async def seed(client: openai.AsyncOpenAI) -> tuple[Any, Any]:
    assistant = await client.beta.assistants.create(instructions="You are a weather bot.", model="desk", tools=TOOLS)
    thread = await client.beta.threads.create()
    await client.beta.threads.messages.create(thread_id=thread.id, role="user", content=QUESTION)
    return assistant, thread


@pytest.mark.row("P1")
async def test_the_program_of_the_guide_runs_by_polling_in_two_lives_of_the_server(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    async with desk(SCRIPT[:1], path=path) as server, openai_of(server) as client:
        assistant, thread = await seed(client)
        run = await client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20
        )
        assert run.status == "requires_action"
        with pytest.raises(openai.BadRequestError, match="active run"):
            await client.beta.threads.messages.create(thread_id=thread.id, role="user", content="And?")
        with pytest.raises(openai.BadRequestError, match="1 more"):
            await client.beta.threads.runs.submit_tool_outputs(
                thread_id=thread.id, run_id=run.id, tool_outputs=outputs(run)[:1]
            )
    async with desk(SCRIPT[1:], path=path) as server, openai_of(server) as client:
        assert await client.beta.threads.runs.retrieve(run.id, thread_id=thread.id) == run
        done = await client.beta.threads.runs.submit_tool_outputs_and_poll(
            thread_id=thread.id, run_id=run.id, tool_outputs=outputs(run), poll_interval_ms=20
        )
        assert (done.status, done.instructions) == ("completed", "You are a weather bot.")
        again = await client.beta.threads.runs.submit_tool_outputs(
            thread_id=thread.id, run_id=run.id, tool_outputs=outputs(run)
        )
        assert again.status == "completed"
        messages = [m async for m in client.beta.threads.messages.list(thread_id=thread.id, limit=1)]
        assert [(m.role, m.content[0].text.value) for m in messages] == [
            ("assistant", "57 degrees, and 6 percent."),
            ("user", QUESTION),
        ]
        steps = [s async for s in client.beta.threads.runs.steps.list(run.id, thread_id=thread.id, limit=1)]
        assert [step.type for step in steps] == ["message_creation", "tool_calls", "tool_calls"]
        assert [s.step_details.tool_calls[0].function.output for s in steps[1:]] == ["0.06", "57"]
        assert all(step.status == "completed" for step in steps)
        assert [r.id for r in (await client.beta.threads.runs.list(thread.id)).data] == [run.id]


class Handler(openai.AsyncAssistantEventHandler):
    """The handler of the guide."""

    def __init__(self, client: openai.AsyncOpenAI, heard: list[str], thread: str) -> None:
        super().__init__()
        self.client, self.heard, self.thread = client, heard, thread

    async def on_event(self, event: Loose) -> None:
        self.heard.append(event.event)
        if event.event == "thread.run.requires_action":
            handler = Handler(self.client, self.heard, self.thread)
            async with self.client.beta.threads.runs.submit_tool_outputs_stream(
                thread_id=self.thread, run_id=event.data.id, tool_outputs=outputs(event.data), event_handler=handler
            ) as stream:
                self.heard.append("".join([text async for text in stream.text_deltas]))


async def test_the_program_of_the_guide_runs_by_event_handler() -> None:
    async with desk(SCRIPT) as server, openai_of(server) as client:
        assistant, thread = await seed(client)
        heard: list[str] = []
        async with client.beta.threads.runs.stream(
            thread_id=thread.id, assistant_id=assistant.id, event_handler=Handler(client, heard, thread.id)
        ) as stream:
            await stream.until_done()
        step, message = "thread.run.step", "thread.message"
        call = [f"{step}.created", f"{step}.in_progress", f"{step}.delta"]
        assert [name for name in heard if name != f"{message}.delta"] == [
            *("thread.run.created", "thread.run.in_progress", *call, *call, "thread.run.requires_action"),
            *(f"{step}.completed", f"{step}.completed", "thread.run.in_progress"),
            *(f"{step}.created", f"{step}.in_progress", f"{message}.created", f"{message}.in_progress"),
            *(f"{message}.completed", f"{step}.completed", "thread.run.completed"),
            "57 degrees, and 6 percent.",
        ]


async def test_calls_of_the_server_are_steps_and_a_thread_remembers() -> None:
    async with desk([*ADDS, "Sure."], [add]) as server, openai_of(server) as client:
        async with client.beta.threads.create_and_run_stream(
            assistant_id="desk", thread={"messages": [{"role": "user", "content": "What is 2 + 3?"}]}
        ) as stream:
            heard = [event async for event in stream]
            run = stream.current_run
        assert run is not None
        assert heard[-1].event == "thread.run.completed"
        told = [e.data for e in heard if e.event in ("thread.run.step.completed", "thread.message.completed")]
        steps = (await client.beta.threads.runs.steps.list(run.id, thread_id=run.thread_id, order="asc")).data
        assert [each.id for each in told if each.object == "thread.run.step"] == [step.id for step in steps]
        said = (await client.beta.threads.messages.list(run.thread_id, order="asc")).data
        assert [each.content for each in told if each.object == "thread.message"] == [m.content for m in said[1:]]
        await client.beta.threads.messages.create(run.thread_id, role="user", content="Sure?")
        second = await client.beta.threads.runs.create_and_poll(
            thread_id=run.thread_id, assistant_id="desk", poll_interval_ms=20
        )
        assert second.status == "completed"
        asked = [message.text for message in server.model.requests[-1].messages if hasattr(message, "text")]
        assert asked.count("What is 2 + 3?") == 1
        assert asked[-1] == "Sure?"


async def test_an_approval_is_a_required_action_that_only_an_approver_answers() -> None:
    till = Till()
    async with desk([PAYS, "Done."], [till.pay]) as server, openai_of(server) as client:
        thread = await client.beta.threads.create(messages=[{"role": "user", "content": "Pay."}])
        run = await client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id="desk", poll_interval_ms=20
        )
        assert run.status == "requires_action"
        assert run.required_action is not None
        call = run.required_action.submit_tool_outputs.tool_calls[0]
        assert call.function.name == "approve_call"
        given: Any = [{"tool_call_id": call.id, "output": "approve"}]
        with pytest.raises(openai.BadRequestError, match="approval"):
            await client.beta.threads.runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=given)
        async with openai_of(server, "boss") as boss:
            done = await boss.beta.threads.runs.submit_tool_outputs_and_poll(
                run_id=run.id, thread_id=thread.id, tool_outputs=given, poll_interval_ms=20
            )
        assert done.status == "completed"


async def test_nothing_of_the_assistants_api_exists_for_another_caller() -> None:
    async with desk(SCRIPT) as server, openai_of(server) as client:
        assistant, thread = await seed(client)
        run = await client.beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20
        )
        message = (await client.beta.threads.messages.list(thread.id)).data[-1]
        for key in ("bob", "ann-2"):
            async with openai_of(server, key) as other:
                beta = other.beta
                runs = beta.threads.runs
                assert [a.id for a in (await beta.assistants.list()).data] == ["desk"]
                for ask in (
                    beta.assistants.retrieve(assistant.id),
                    beta.assistants.update(assistant.id, name="mine"),
                    beta.assistants.delete(assistant.id),
                    beta.threads.retrieve(thread.id),
                    beta.threads.update(thread.id, metadata={}),
                    beta.threads.delete(thread.id),
                    beta.threads.messages.list(thread.id),
                    beta.threads.messages.retrieve(message.id, thread_id=thread.id),
                    beta.threads.messages.create(thread.id, role="user", content="x"),
                    runs.list(thread.id),
                    runs.create(thread.id, assistant_id="desk"),
                    runs.retrieve(run.id, thread_id=thread.id),
                    runs.cancel(run.id, thread_id=thread.id),
                    runs.submit_tool_outputs(run.id, thread_id=thread.id, tool_outputs=outputs(run)),
                    runs.steps.list(run.id, thread_id=thread.id),
                ):
                    with pytest.raises(openai.NotFoundError):
                        await ask
                own = await beta.threads.create()
                with pytest.raises(openai.NotFoundError):
                    await runs.create(own.id, assistant_id=assistant.id)
                with pytest.raises(openai.NotFoundError):
                    await runs.retrieve(run.id, thread_id=own.id)
        cancelled = await client.beta.threads.runs.cancel(run.id, thread_id=thread.id)
        assert cancelled.status == "cancelled"
        assert (await client.beta.threads.delete(thread.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await client.beta.threads.runs.retrieve(run.id, thread_id=thread.id)


async def test_what_the_assistants_api_has_and_this_server_has_not_is_refused_by_name() -> None:
    async with desk([]) as server, openai_of(server) as client:
        one = client.with_options(max_retries=0)
        for ask in (
            one.vector_stores.create(name="x"),
            one.vector_stores.list(),
            one.beta.assistants.create(model="desk", tools=[{"type": "file_search"}]),
            one.beta.assistants.create(model="desk", tools=[{"type": "code_interpreter"}]),
        ):
            with pytest.raises(openai.InternalServerError) as told:
                await ask
            assert told.value.status_code == 501
            assert told.value.body is not None
        with pytest.raises(openai.NotFoundError):
            await one.beta.assistants.create(model="nobody")
        thread = await one.beta.threads.create()
        with pytest.raises(openai.BadRequestError, match="tool_choice"):
            await one.beta.threads.runs.create(
                thread.id, assistant_id="desk", tool_choice={"type": "function", "function": {"name": "pay"}}
            )


async def test_a_server_that_is_killed_between_two_polls_pays_once(tmp_path: Path) -> None:
    with listening() as listener:
        first = await start(listener, tmp_path, "first")
        async with openai.AsyncOpenAI(base_url=f"{place(listener)}/v1", api_key=KEY) as client:
            try:
                assistant = await client.beta.assistants.create(model="desk")
                run = await client.beta.threads.create_and_run(
                    assistant_id=assistant.id, thread={"messages": [{"role": "user", "content": "Pay."}]}
                )

                async def is_stuck() -> bool:
                    return (tmp_path / "book.stuck").exists() and is_settled(tmp_path / "runs.db")

                await until(is_stuck)
                polled = await client.beta.threads.runs.retrieve(run.id, thread_id=run.thread_id)
                assert polled.status == "in_progress"
            finally:
                first.send_signal(signal.SIGKILL)
                await first.wait()
            second = await start(listener, tmp_path, "second")
            try:
                done = await client.beta.threads.runs.poll(run.id, thread_id=run.thread_id, poll_interval_ms=50)
                assert done.status == "completed"
                assert (tmp_path / "book").read_text() == "20\n"
            finally:
                second.kill()
                await second.wait()


async def test_what_a_user_said_in_threads_is_forgotten_with_the_run_and_with_the_user(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"

    async def forget(*words: str) -> str:
        command = ["journal", "forget", *words, "--yes", "--journal", str(path)]
        return (await asyncio.to_thread(CliRunner().invoke, app, command)).stdout

    def stands(*texts: bytes) -> list[bool]:
        files = [file.read_bytes() for file in tmp_path.glob("runs.db*")]
        return [any(text in file for file in files) for text in texts]

    async with desk(["Noted."], path=path) as server, openai_of(server) as client:
        beta: Loose = client.beta
        assistant = await beta.assistants.create(instructions="Zinnia.", model="desk")
        thread = await beta.threads.create(messages=[{"role": "user", "content": "My code is Aster."}])
        run = await beta.threads.runs.create_and_poll(
            thread_id=thread.id, assistant_id=assistant.id, poll_interval_ms=20
        )
        await beta.threads.messages.create(thread_id=thread.id, role="user", content="And Begonia.")
        assert stands(b"Aster", b"Begonia", b"Zinnia") == [True] * 3
        assert "1 run," in await forget(run.id)
        assert stands(b"Aster", b"Begonia", b"Zinnia") == [False, True, True]
        assert "3 assistants, threads and messages" in await forget("--principal", "ann")
        assert stands(b"Begonia", b"Zinnia") == [False, False]
        with pytest.raises(openai.NotFoundError):
            await beta.threads.retrieve(thread.id)


async def test_threads_that_nobody_adds_to_are_deleted_and_no_key_keeps_more_than_its_share() -> None:
    clock = FakeClock()
    async with desk(["Noted."], clock=clock) as server, openai_of(server, max_retries=5) as client:
        beta: Loose = client.beta
        assistant = await beta.assistants.create(model="desk")
        thread = await beta.threads.create(messages=[{"role": "user", "content": "x"}])
        clock.advance(THREAD_S + TIDY_S)

        async def is_gone() -> bool:
            try:
                await beta.threads.retrieve(thread.id)
            except openai.NotFoundError:
                return True
            return False

        await until(is_gone)
        await beta.assistants.retrieve(assistant.id)  # an assistant stays: programs know its id for years
        with pytest.raises(openai.BadRequestError, match="too large"):
            await beta.threads.create(messages=[{"role": "user", "content": "x" * 2_000_000}])
        owner, full = owner_of(Identity(principal="ann")), bytes(OBJECTS_BYTES_MAX - 1_000)
        await server.journal.objects.put(KeptObject(id="x", owner=owner, kind="x", payload=full))
        with pytest.raises(openai.RateLimitError, match="keeps too much"):
            await beta.threads.create(metadata={"note": "y" * 2_000})
        async with openai_of(server, "bob") as bob:
            await bob.beta.threads.create()
