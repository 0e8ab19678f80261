"""Tasks: calls that go on after their request was answered, durable from the first word."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, Rule, Rules, ToolCall
from actum.core.clock import SystemClock
from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.core.policy import Answer
from actum.core.run.record import InputGiven
from actum.protocols.mcp.config import McpServer
from actum.storage.place import open_journal
from actum.testing import ScriptedModel
from actum.toolsets.mcp import McpToolset
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from tests.mcp_service import Client, connected, served

from ..tasks import (
    KNOWS,
    Desk,
    Pausing,
    begun,
    look,
)

pytestmark = pytest.mark.row("P2")


async def test_a_call_is_answered_with_a_handle_and_its_result_is_asked_after() -> None:
    desk = Desk()
    async with connected(desk.service()) as way:
        task_id = await begun(way, "dig", {"name": "a hole"})
        assert (await look(way, task_id))["status"] == "working"
        desk.go.set()
        task = await look(way, task_id, until="completed")
        assert task["result"] == {"content": [{"type": "text", "text": "dug a hole"}], "isError": False}


async def test_our_own_client_waits_for_a_task_and_gives_what_it_asks_for() -> None:
    async with connected(Desk().service()) as way:
        client = Client(KNOWS, {"action": "accept", "content": {"name": "Ada"}})
        result = await way.request("tools/call", {"name": "greet", "arguments": {}}, caller=client)
        assert result["content"] == [{"type": "text", "text": "Hello Ada"}]
        assert [method for method, _ in client.asked] == ["elicitation/create"]


async def test_what_a_task_asks_and_nobody_answers_now_is_asked_once_and_its_answer_is_found() -> None:
    async with served(Desk().service()) as url, McpToolset(McpServer(name="desk", url=url), approve="all") as toolset:
        model = ScriptedModel([[ToolCall("1", "desk_greet", {})], "Done."])
        agent = Agent(model, [toolset], policy=Rules(default="allow"))
        waits = await agent.run("Go", run_id="r")
        (pending,) = waits.pending
        result = await agent.resume("r", {pending.id: Answer("answer", arguments={"name": "Ada"})})
        assert (result.status, result.pending) == ("done", ())
        assert result.calls[0][1].text == "Hello Ada"


async def test_a_tool_that_fails_completes_and_a_mistake_fails() -> None:
    async with connected(Desk().service()) as way:
        failed = await look(way, await begun(way, "fail"), until="completed")
        assert failed["result"] == {"content": [{"type": "text", "text": "Not today."}], "isError": True}
        slipped = await look(way, await begun(way, "slip"), until="failed")
        assert "ZeroDivisionError" not in str(slipped)
        assert "result" not in slipped


async def test_a_client_that_knows_no_tasks_waits_for_its_result() -> None:
    desk = Desk()
    desk.go.set()
    async with connected(desk.service()) as way:
        result = await way.request("tools/call", {"name": "dig", "arguments": {"name": "x"}})
        assert result["resultType"] == "complete"
        with pytest.raises(McpError, match="-32021"):
            await way.request("tasks/get", {"taskId": "mcp_1"})


async def test_a_task_that_is_cancelled_is_not_gone_on_with_whatever_it_is_answered() -> None:
    service = Desk().service()
    async with connected(service) as way:
        task_id = await begun(way, "greet")
        asked = (await look(way, task_id, until="input_required"))["inputRequests"]
        assert isinstance(asked, dict)
        await way.request("tasks/cancel", {"taskId": task_id}, caller=Client(KNOWS))
        given: JsonObject = {key: {"action": "accept", "content": {"name": "Ada"}} for key in asked}
        await way.request("tasks/update", {"taskId": task_id, "inputResponses": given}, caller=Client(KNOWS))
        assert (await look(way, task_id))["status"] == "cancelled"
        assert not any(isinstance(entry.record, InputGiven) for entry in await service.journal.read(task_id))


async def test_a_task_of_which_some_questions_are_answered_waits_for_the_others() -> None:
    async with connected(Desk().service()) as way:
        task_id = await begun(way, "introduce")
        asked = (await look(way, task_id, until="input_required"))["inputRequests"]
        assert isinstance(asked, dict)
        first, second = asked
        for key, left in ((first, [second]), (second, [])):
            given: JsonObject = {key: {"action": "accept", "content": {"name": key[:3]}}}
            await way.request("tasks/update", {"taskId": task_id, "inputResponses": given}, caller=Client(KNOWS))
            stands = await look(way, task_id, until="" if left else "completed")
            assert list(stands.get("inputRequests", {})) == left  # type: ignore[arg-type]
            assert stands["status"] == ("input_required" if left else "completed")


async def test_a_task_that_is_cancelled_stops() -> None:
    desk = Desk()
    async with connected(desk.service()) as way:
        task_id = await begun(way, "dig", {"name": "x"})
        assert (await way.request("tasks/cancel", {"taskId": task_id}, caller=Client(KNOWS)))[
            "resultType"
        ] == "complete"
        assert (await look(way, task_id))["status"] == "cancelled"
        waiting = await begun(way, "greet")
        await look(way, waiting, until="input_required")
        await way.request("tasks/cancel", {"taskId": waiting}, caller=Client(KNOWS))
        assert (await look(way, waiting))["status"] == "cancelled"


async def test_whoever_stops_waiting_cancels_the_task() -> None:
    desk = Desk()
    service = desk.service()
    clock = Pausing()
    async with (
        served(service) as url,
        McpConnection(McpServer(name="ours", url=url, transport="http"), era="modern", clock=clock) as way,
    ):
        call = {"name": "dig", "arguments": {"name": "x"}}
        waiting = asyncio.create_task(way.request("tools/call", call, caller=Client(KNOWS)))  # type: ignore[arg-type]
        await clock.paused.wait()  # so it has its handle
        waiting.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await waiting
        (run,) = await service.journal.runs()
        assert run.status == "stopped"


class Counting(SystemClock):
    """Time that lets something happen when it was paused in for so many seconds."""

    def __init__(self, seconds: float, happens: Callable[[], None]) -> None:
        self._left = seconds
        self._happens = happens

    async def sleep(self, seconds: float) -> None:
        await super().sleep(seconds)
        self._left -= seconds
        if self._left <= 0:
            self._happens()


async def test_a_task_may_take_longer_than_its_server_may_be_silent() -> None:
    desk, silent_s = Desk(), 4.0  # enough for one request on a busy machine
    async with served(desk.service()) as url:
        server = McpServer(name="ours", url=url, transport="http", timeout=silent_s)
        async with McpConnection(server, era="modern", clock=Counting(silent_s, desk.go.set)) as way:
            params: JsonObject = {"name": "dig", "arguments": {"name": "long"}}
            result = await way.request("tools/call", params, caller=Client(KNOWS))
            assert result["content"] == [{"type": "text", "text": "dug long"}]


async def test_nobody_sees_the_task_of_another(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "runs.db")
    desk = Desk()
    async with connected(desk.service(journal=journal, who=Identity(principal="ada"))) as way:
        task_id = await begun(way, "dig", {"name": "x"})
        async with connected(Desk().service(journal=journal, who=Identity(principal="mallory"))) as other:
            for method in ("tasks/get", "tasks/cancel", "tasks/update"):
                with pytest.raises(McpError, match="-32602"):
                    await other.request(method, {"taskId": task_id, "inputResponses": {}}, caller=Client(KNOWS))
        desk.go.set()
        await look(way, task_id, until="completed")
    await journal.close()


async def test_a_task_outlives_the_process_that_began_it(tmp_path: Path) -> None:
    """The first service ends while the task waits for its client; the second one goes on with it."""
    place = tmp_path / "runs.db"
    first = open_journal(place)
    async with connected(Desk().service(journal=first)) as way:
        task_id = await begun(way, "greet")
        asked = await look(way, task_id, until="input_required")
    await first.close()
    second = open_journal(place)
    async with connected(Desk().service(journal=second)) as way:
        assert (await look(way, task_id))["inputRequests"] == asked["inputRequests"]
        requests = asked["inputRequests"]
        assert isinstance(requests, dict)
        answers: JsonObject = {key: {"action": "accept", "content": {"name": "Eve"}} for key in requests}
        given: JsonObject = {"taskId": task_id, "inputResponses": answers}
        await way.request("tasks/update", given, caller=Client(KNOWS))
        task = await look(way, task_id, until="completed")
        assert task["result"] == {"content": [{"type": "text", "text": "Hello Eve"}], "isError": False}
    await second.close()


async def test_a_task_that_waits_for_an_approver_elsewhere_says_so() -> None:
    policy = Rules(Rule("ask", approvers=("boss",)))
    async with connected(Desk().service(policy=policy)) as way:
        task = await look(way, await begun(way, "dig", {"name": "x"}), until="working")
        while "statusMessage" not in task:
            task = await look(way, str(task["taskId"]))
        assert "approval" in str(task["statusMessage"])
