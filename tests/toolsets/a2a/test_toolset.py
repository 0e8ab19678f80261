"""A remote agent as a tool: over real connections, to agents of every version of the protocol."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest

from actum import Agent
from actum.core.call import MediaPart, ToolCall, ToolResult
from actum.core.event import CallProgress, Event
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.policy.rules import Rule, Rules
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.storage.remote_tasks import RemoteTaskFiles
from actum.testing import FakeClock, Said, ScriptedModel
from actum.toolsets.a2a.toolset import A2AToolset
from tests import warm
from tests.patience import HANGS_S
from tests.toolsets.a2a.remote_servers import Seen, april_agent, scripted_agent, sdk_agent

ALLOWED = Rules(Rule("allow", final=True))
Opened = Callable[[], AbstractAsyncContextManager[tuple[str, Seen]]]
AGENTS: dict[str, Opened] = {
    "1.0 by JSON-RPC": partial(sdk_agent, ("JSONRPC", "1.0")),
    "1.0 by JSON-RPC, without streams": partial(sdk_agent, ("JSONRPC", "1.0"), streams=False),
    "1.0 by HTTP+JSON": partial(sdk_agent, ("HTTP+JSON", "1.0")),
    "1.0 by HTTP+JSON, without streams": partial(sdk_agent, ("HTTP+JSON", "1.0"), streams=False),
    "1.0 by gRPC": partial(sdk_agent, ("GRPC", "1.0")),
    "1.0 by gRPC, without streams": partial(sdk_agent, ("GRPC", "1.0"), streams=False),
    "0.3 by JSON-RPC": partial(sdk_agent, ("JSONRPC", "0.3")),
    "0.3 by JSON-RPC, without streams": partial(sdk_agent, ("JSONRPC", "0.3"), streams=False),
    "April 2025": april_agent,
    "April 2025, without streams": partial(april_agent, streams=False),
}


def asking(message: str, **arguments: Json) -> Callable[[Request], Said]:
    """Asks the agent once, whichever process asks the model."""

    def said(request: Request) -> Said:
        if isinstance(request.messages[-1], ToolMessage):
            return "done"
        return [ToolCall("1", "weather", {"message": message, **arguments})]

    return said


def configured(origin: str, headers: dict[str, str] | None = None, wait_s: float = 600.0) -> RemoteAgent:
    return RemoteAgent(url=origin, name="weather", headers=headers or {}, wait_s=wait_s)


def last_result(model: ScriptedModel) -> ToolResult:
    """What the model was told last."""
    last = model.requests[-1].messages[-1]
    assert isinstance(last, ToolMessage)
    return last.result


async def outcome(toolset: A2AToolset, message: str, **arguments: Json) -> ToolResult:
    """What a model is told that asks the agent this."""
    model = ScriptedModel(asking(message, **arguments))
    result = await Agent(model, tools=[toolset], policy=ALLOWED).run("Ask.")
    assert result.status == "done", result
    return last_result(model)


@pytest.mark.row("T5")
async def test_an_agent_of_every_version_answers_a_call() -> None:
    for case, opened in AGENTS.items():
        async with opened() as (origin, _), A2AToolset(configured(origin)) as toolset:
            (definition,) = await toolset.list_tools()
            assert definition.foreign, case
            assert "Knows the weather." in definition.description, case
            hello = await outcome(toolset, "hello", skill="forecast")
            assert hello.text.startswith("Hello, world."), (case, hello)
            pieces = await outcome(toolset, "pieces")
            assert pieces.text.startswith("one two three"), (case, pieces)
            for message, words in (("fail", "No such place."), ("reject", "")):
                failed = await outcome(toolset, message)
                assert failed.error is not None, (case, message)
                assert words in failed.error.message, (case, failed)


async def test_a_skill_is_named_in_the_description_and_travels_in_the_metadata_of_the_message() -> None:
    async with scripted_agent() as agent, A2AToolset(configured(agent.origin)) as toolset:
        skills: list[Json] = [
            {"id": name, "name": name, "description": f"Does {name}.", "tags": []} for name in ("rain", "snow")
        ]
        agent.card = {"skills": skills}
        sent: list[Json] = []

        def answered(params: JsonObject) -> list[Json]:
            sent.append(params["message"])
            return [{"message": {"role": "ROLE_AGENT", "parts": [{"text": "Yes."}], "messageId": "m"}}]

        agent.says["SendStreamingMessage"] = answered
        (definition,) = await toolset.list_tools()
        assert "- rain: Does rain." in definition.description
        await outcome(toolset, "hello", skill="snow")
        await outcome(toolset, "hello")
        metadata = [each.get("metadata") for each in sent if isinstance(each, dict)]
        assert metadata == [{"skill": "snow"}, None]
        unknown = await outcome(toolset, "hello", skill="hail")
        assert unknown.error is not None
        assert unknown.error.code == "invalid_arguments"
        assert len(sent) == 2


async def test_a_file_goes_to_an_agent_and_comes_back_by_its_handle() -> None:
    picture = MediaPart("image/png", data=b"\x89PNG", name="in.png", handle="att_1")
    for case, opened in AGENTS.items():
        async with opened() as (origin, _), A2AToolset(configured(origin)) as toolset:
            model = ScriptedModel(asking("file", files=["att_1"]))
            await Agent(model, tools=[toolset], policy=ALLOWED).run("Ask.", attachments=[picture])
            media = [part for part in last_result(model).content if isinstance(part, MediaPart)]
            assert [(part.media_type, part.name) for part in media] == [("image/png", "back.png")], case
            assert sorted(media[0].data) == sorted(b"\x89PNG"), case
            assert media[0].handle, case
            lacks = await outcome(toolset, "file", files=["att_7"])
            assert lacks.error is not None, case
            assert "att_7" in lacks.error.message, case


async def test_a_question_of_the_agent_goes_to_the_user_and_the_answer_back_into_the_task(tmp_path: Path) -> None:
    for number, (case, opened) in enumerate(AGENTS.items()):
        async with opened() as (origin, seen):
            path = tmp_path / f"{number}.db"
            async with A2AToolset(configured(origin)) as toolset:
                model = ScriptedModel(asking("ask"))
                first = await Agent(model, tools=[toolset], policy=ALLOWED, journal=str(path)).run("Ask.")
            assert first.status == "paused", (case, first)
            (pending,) = first.pending
            assert (pending.kind, pending.message, pending.asker) == ("elicitation", "Which city?", "weather"), case
            # Another process goes on: nothing of the first one is left but its journal.
            async with A2AToolset(configured(origin)) as toolset:
                model = ScriptedModel(asking("ask"))
                agent = Agent(model, tools=[toolset], policy=ALLOWED, journal=str(path))
                answer = Answer("answer", arguments={"answer": "Oslo"})
                done = await agent.resume(first.run_id, {pending.id: answer})
            assert done.status == "done", (case, done)
            told = last_result(model)
            assert told.text.startswith("Oslo is sunny."), (case, told)
            assert seen.texts == ["ask", "Oslo"], case


async def test_a_task_that_outlives_the_call_waits_on_record_and_is_found_by_another_process(tmp_path: Path) -> None:
    for number, (case, opened) in enumerate(AGENTS.items()):
        async with opened() as (origin, seen):
            path, clock, begun = tmp_path / f"{number}.db", FakeClock(), asyncio.Event()

            def heard(event: Event, begun: asyncio.Event = begun) -> None:
                if isinstance(event, CallProgress):
                    begun.set()

            async with A2AToolset(configured(origin, wait_s=60), clock=clock) as toolset:
                maker = Agent(ScriptedModel(asking("slow")), tools=[toolset], policy=ALLOWED, journal=str(path))
                running = asyncio.ensure_future(maker.run("Ask.", emit=heard))
                # The task is known by a word of its stream, or before it is asked after, or was named by us.
                names_it = case == "April 2025, without streams"
                while not (begun.is_set() or clock.slept or (names_it and seen.heard)):  # noqa: ASYNC110 - any of them
                    await asyncio.sleep(0.01)
                clock.advance(61)
                first = await running
            assert first.status == "paused", (case, first)
            (pending,) = first.pending
            assert "still at work" in pending.message, case
            seen.release.set()
            async with A2AToolset(configured(origin)) as toolset:
                model = ScriptedModel(asking("slow"))
                agent = Agent(model, tools=[toolset], policy=ALLOWED, journal=str(path))
                done = await agent.resume(first.run_id, {pending.id: Answer("answer", arguments={})})
            told = last_result(model)
            assert (done.status, told.text.splitlines()[0]) == ("done", "At last."), (case, done, told)
            assert seen.texts == ["slow"], case


async def test_a_call_that_is_cancelled_cancels_the_task() -> None:
    for case, opened in AGENTS.items():
        if case == "April 2025, without streams":
            continue  # it tells nothing before its task is over
        async with opened() as (origin, seen), A2AToolset(configured(origin)) as toolset:
            begun = asyncio.Event()

            def heard(event: Event, begun: asyncio.Event = begun) -> None:
                if isinstance(event, CallProgress):
                    begun.set()

            agent = Agent(ScriptedModel(asking("slow")), tools=[toolset], policy=ALLOWED)
            running = asyncio.ensure_future(agent.run("Ask.", emit=heard))
            await begun.wait()
            running.cancel()
            await asyncio.wait([running])
            assert len(seen.cancelled) == 1, case


ASKER = """
import asyncio, sys
from pathlib import Path
from actum import Agent, Rule, Rules, ToolCall
from actum.core.message import ToolMessage
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.storage.remote_tasks import RemoteTaskFiles
from actum.testing import ScriptedModel
from actum.toolsets.a2a.toolset import A2AToolset

def said(request):
    if isinstance(request.messages[-1], ToolMessage):
        return request.messages[-1].result.text
    return [ToolCall("1", "weather", {"message": "slow"})]

async def main(origin, folder):
    agent = RemoteAgent(url=origin, name="weather")
    toolset = A2AToolset(agent, handles=RemoteTaskFiles(Path(folder) / "tasks"))
    allowed = Rules(Rule("allow"))
    asker = Agent(ScriptedModel(said), tools=[toolset], policy=allowed, journal=f"{folder}/runs.db")
    await asker.run("Ask.", run_id="run_killed")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_a_call_whose_process_was_killed_joins_its_task_and_sends_nothing_twice(tmp_path: Path) -> None:
    for number, case in enumerate(("1.0 by JSON-RPC", "1.0 by HTTP+JSON", "0.3 by JSON-RPC", "April 2025")):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with AGENTS[case]() as (origin, seen):
            asker = await warm.start(sys.executable, "-c", ASKER, origin, str(folder))
            async with asyncio.timeout(HANGS_S):
                while not [*folder.glob("tasks/*.json")] or not seen.texts:  # noqa: ASYNC110 - another process makes it
                    await asyncio.sleep(0.02)
            asker.kill()
            await asker.wait()
            seen.release.set()
            handles = RemoteTaskFiles(folder / "tasks")
            async with A2AToolset(configured(origin), handles=handles) as toolset:
                model = ScriptedModel(asking("slow"))
                agent = Agent(model, tools=[toolset], policy=ALLOWED, journal=str(folder / "runs.db"))
                done = await agent.resume("run_killed")
            assert done.status == "done", (case, done)
            assert last_result(model).text.startswith("At last."), case
            assert seen.texts == ["slow"], case
            assert not [*folder.glob("tasks/*.json")], case
