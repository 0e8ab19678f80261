"""Tasks of a server behind a gateway: tasks of the gateway too, durable, and each its caller's own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TypedDict

import pytest

from actum import Label, Limits, Rules, tool
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.run.record import InputGiven, InputRequested
from actum.protocols.mcp.config import McpEra, McpServer
from actum.protocols.mcp.tasks import EXTENSION
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.service import McpService
from actum.storage.place import open_journal
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.toolsets.wrappers import ToolLabels
from tests.mcp_service import Client, connected, served
from tests.server_process import running

from ...gateways import client
from ...tasks import (
    KNOWS,
    Desk,
    begun,
    look,
)

pytestmark = pytest.mark.row("P2")


def gateway(
    url: str, era: McpEra = "modern", journal: Journal | None = None, who: Identity | None = None
) -> McpGateway:
    server = McpServer(name="behind", url=url, transport="http", era=era)
    return McpGateway([server], policy=Rules(default="allow"), journal=journal, who=who)


@asynccontextmanager
async def between(service: McpService) -> AsyncIterator[tuple[McpConnection, McpGateway]]:
    """A client of a gateway in front of a service."""
    async with served(service) as url:
        front = gateway(url)
        async with connected(front) as way:
            yield way, front


def given(key: str, name: str) -> JsonObject:
    return {key: {"action": "accept", "content": {"name": name}}}


async def test_a_task_of_the_server_is_a_task_here_and_its_end_is_on_record() -> None:
    desk = Desk()
    service = desk.service()
    async with between(service) as (way, front):
        task_id = await begun(way, "dig", {"name": "a hole"})
        assert (await look(way, task_id))["status"] == "working"
        assert (await front.journal.runs())[0].status == "paused"
        desk.go.set()
        task = await look(way, task_id, until="completed")
        assert task["result"] == {"content": [{"type": "text", "text": "dug a hole"}], "isError": False}
        assert (task["taskId"], task["resultType"]) == (task_id, "complete")
        (here,), (there,) = await front.journal.runs(), await service.journal.runs()
        assert (here.run_id, here.status) == (task_id, "done")
        assert there.run_id != task_id, "the server's own id is nobody's business"
        assert await look(way, task_id) == task, "told again out of the record"


async def test_what_a_task_asks_is_asked_by_its_own_keys_and_answered_in_parts() -> None:
    async with between(Desk().service()) as (way, front):
        task_id = await begun(way, "introduce")
        asked = (await look(way, task_id, until="input_required"))["inputRequests"]
        assert isinstance(asked, dict)
        assert asked.keys() == {"you", "me"}
        await way.request(
            "tasks/update", {"taskId": task_id, "inputResponses": given("me", "Bob")}, caller=Client(KNOWS)
        )
        left = (await look(way, task_id, until="input_required"))["inputRequests"]
        assert isinstance(left, dict)
        assert left.keys() == {"you"}
        await way.request(
            "tasks/update", {"taskId": task_id, "inputResponses": given("you", "Ada")}, caller=Client(KNOWS)
        )
        done = await look(way, task_id, until="completed")
        assert done["result"] == {"content": [{"type": "text", "text": "Ada, Bob"}], "isError": False}
        records = [entry.record for entry in await front.journal.read(task_id)]
        names = {each.id: each.pending.name for each in records if isinstance(each, InputRequested)}
        told = {names[each.id]: each.arguments for each in records if isinstance(each, InputGiven)}
        assert (told["me"], told["you"]) == (given("me", "Bob")["me"], given("you", "Ada")["you"])


async def test_a_question_that_nobody_answered_does_not_hold_up_the_end() -> None:
    async with between(Desk().service()) as (way, front):
        task_id = await begun(way, "introduce")
        await look(way, task_id, until="input_required")
        await way.request("tasks/cancel", {"taskId": task_id}, caller=Client(KNOWS))
        assert [run.status for run in await front.journal.runs()] == ["done"], "its end was asked for at once"
        assert (await look(way, task_id))["status"] == "cancelled"


async def test_a_task_outlives_the_gateway_that_began_it(tmp_path: Path) -> None:
    async with served(Desk().service()) as url:
        first = open_journal(tmp_path / "runs.db")
        async with connected(gateway(url, journal=first)) as way:
            task_id = await begun(way, "greet")
        await first.close()
        second = open_journal(tmp_path / "runs.db")
        async with connected(gateway(url, journal=second)) as way:
            requests = (await look(way, task_id, until="input_required"))["inputRequests"]
            assert isinstance(requests, dict)
            (key,) = requests
            answer: JsonObject = {"taskId": task_id, "inputResponses": given(key, "Eve")}
            await way.request("tasks/update", answer, caller=Client(KNOWS))
            task = await look(way, task_id, until="completed")
            assert task["result"] == {"content": [{"type": "text", "text": "Hello Eve"}], "isError": False}
        await second.close()


async def test_the_end_that_was_told_once_needs_no_server(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "runs.db")
    desk = Desk()
    desk.go.set()
    async with served(desk.service()) as url, connected(gateway(url, journal=journal)) as way:
        task_id = await begun(way, "dig", {"name": "x"})
        task = await look(way, task_id, until="completed")
    async with served(Desk().service()) as url, connected(gateway(url, journal=journal)) as way:  # knows no such task
        assert await look(way, task_id) == task
    await journal.close()


async def test_nobody_sees_the_task_of_another(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "runs.db")
    async with (
        served(Desk().service()) as url,
        connected(gateway(url, journal=journal, who=Identity(principal="ada"))) as ada,
        connected(gateway(url, journal=journal, who=Identity(principal="mallory"))) as mallory,
    ):
        task_id = await begun(ada, "dig", {"name": "x"})
        for method in ("tasks/get", "tasks/cancel", "tasks/update"):
            with pytest.raises(McpError, match="-32602"):
                await mallory.request(method, {"taskId": task_id, "inputResponses": {}}, caller=Client(KNOWS))
    await journal.close()


async def test_the_id_that_the_server_gave_is_no_task_here() -> None:
    service = Desk().service()
    async with between(service) as (way, _):
        await begun(way, "dig", {"name": "x"})
        (there,) = await service.journal.runs()
        with pytest.raises(McpError, match="-32602"):
            await look(way, there.run_id)


async def test_a_tool_that_fails_completes_and_a_mistake_fails() -> None:
    async with between(Desk().service()) as (way, _):
        failed = await look(way, await begun(way, "fail"), until="completed")
        assert failed["result"] == {"content": [{"type": "text", "text": "Not today."}], "isError": True}
        slipped = await look(way, await begun(way, "slip"), until="failed")
        assert isinstance(slipped["error"], dict)
        assert slipped["error"]["code"] == -32603


async def test_a_client_that_knows_no_tasks_waits_and_is_refused_what_can_only_be_one() -> None:
    desk = Desk()
    desk.go.set()
    async with between(desk.service()) as (way, _):
        result = await way.request("tools/call", {"name": "dig", "arguments": {"name": "x"}})
        assert (result["resultType"], result["content"]) == ("complete", [{"type": "text", "text": "dug x"}])
        with pytest.raises(McpError) as refused:
            await way.request("tools/call", {"name": "owe", "arguments": {}})
        assert refused.value.rpc_code == -32021
        assert refused.value.data == {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        with pytest.raises(McpError, match="-32021"):
            await way.request("tasks/get", {"taskId": "mcp_1"})


async def test_a_secret_in_the_result_of_a_task_is_kept_out_of_it() -> None:
    async with between(Desk().service()) as (way, front):
        task = await look(way, task_id := await begun(way, "leak"), until="completed")
        assert task["result"] == {
            "content": [{"type": "text", "text": "the key is [redacted: api key]"}],
            "isError": False,
        }
        assert "sk-abc" not in str(await front.journal.read(task_id))


async def test_a_client_that_listens_is_told_how_its_tasks_are_and_of_no_others() -> None:
    heard: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue()
    with running("tests.mcp_servers.behind") as url:
        front = gateway(url)
        async with (
            served(front) as place,
            client(place, "modern", changed=lambda method, params: heard.put_nowait((method, params))) as way,
        ):
            task_id = await begun(way, "dig")
            wanted: JsonObject = {"taskIds": [task_id, "far-1", "mcp_no_such"]}
            listening = asyncio.create_task(way.listen_for(wanted, Client(KNOWS)))
            told = [await heard.get() for _ in range(3)]
            listening.cancel()
            task = await look(way, task_id)
            assert {**task, "_meta": None} == {**told[2][1], "resultType": "complete", "_meta": None}

    assert [method for method, _ in told] == ["notifications/subscriptions/acknowledged", *["notifications/tasks"] * 2]
    assert told[0][1]["notifications"] == {"taskIds": [task_id]}
    assert [(task["taskId"], task["status"]) for _, task in told[1:]] == [(task_id, "working"), (task_id, "completed")]
    assert told[2][1]["result"] == {"content": [{"type": "text", "text": "dug"}], "x-result": {"keep": None}}
    assert [run.status for run in await front.journal.runs()] == ["done"]


async def test_a_client_that_knows_no_tasks_is_told_that_it_would_have_to() -> None:
    async with between(Desk().service()) as (way, _):
        with pytest.raises(McpError) as refused:
            await way.listen_for({"taskIds": ["mcp_1"]}, Client({}))
    assert refused.value.rpc_code == -32021


async def test_a_server_that_tells_nothing_of_tasks_is_not_said_to() -> None:
    heard: asyncio.Queue[JsonObject] = asyncio.Queue()
    async with (
        served(Desk().service()) as url,
        served(gateway(url)) as place,
        client(place, "modern", changed=lambda _, params: heard.put_nowait(params)) as way,
    ):
        wanted: JsonObject = {"taskIds": [await begun(way, "dig", {"name": "x"})], "toolsListChanged": True}
        listening = asyncio.create_task(way.listen_for(wanted, Client(KNOWS)))
        assert (await heard.get())["notifications"] == {"toolsListChanged": True}
        listening.cancel()


class Employee(TypedDict):
    salary: int


@pytest.mark.row("C9")
async def test_a_client_is_told_no_value_that_its_user_may_not_read_by_a_call_or_by_a_task() -> None:
    @tool(effects={"read"})
    def get_employee() -> Employee:
        """Look Ada up."""
        return {"salary": 73_250}

    operator = {"get_employee": ToolLabels(labels={"salary": "personal"}), "dig": ToolLabels(labels={"": "personal"})}
    labels = {"personal": Label(readers=["role:hr"])}
    for service, name in ((McpService([get_employee]), "get_employee"), ((desk := Desk()).service(), "dig")):
        desk.go.set() if name == "dig" else None
        async with served(service) as url:
            for roles in ((), ("hr",)):
                front = McpGateway(
                    [McpServer(name="behind", url=url, transport="http")],
                    policy=Rules(default="allow"),
                    labels=operator,
                    value_labels=labels,
                    who=Identity(principal="ann", roles=roles),
                )
                async with connected(front) as way:
                    listed = (await way.request("tools/list", {}))["tools"]
                    if name == "dig":
                        task = await look(way, await begun(way, "dig", {"name": "73250 holes"}), until="completed")
                        shown = str(task["result"])
                    else:
                        assert ("outputSchema" in str(listed)) is bool(roles)
                        shown = str(await way.request("tools/call", {"name": name, "arguments": {}}))
                assert ("73250" in shown, "[personal]" in shown) == (bool(roles), not roles), (name, shown)


async def test_a_result_that_is_too_large_is_too_large_in_a_task_too() -> None:
    async with served(Desk().service()) as url:
        server = McpServer(name="behind", url=url, transport="http", era="modern")
        front = McpGateway([server], policy=Rules(default="allow"), limits=Limits(result_bytes_max=20))
        async with connected(front) as way:
            task = await look(way, await begun(way, "leak"), until="completed")
    assert isinstance(task["result"], dict)
    assert task["result"]["isError"] is True
    assert "the key is" not in str(task)


async def test_a_task_that_is_completed_by_nothing_has_a_result_that_says_so() -> None:
    with running("tests.mcp_servers.behind") as url:
        async with served(front := gateway(url)) as place, client(place, "modern") as way:
            task_id = await begun(way, "dig")
            task = await look(way, task_id, until="completed")
            assert isinstance(task["result"], dict)
            assert task["result"]["isError"] is True
            assert await look(way, task_id) == task
    assert [run.status for run in await front.journal.runs()] == ["done"]


async def test_a_server_that_is_gone_is_needed_for_a_task_that_is_not_over_alone() -> None:
    desk = Desk()
    async with AsyncExitStack() as behind:
        front = gateway(await behind.enter_async_context(served(desk.service())))
        async with connected(front) as way:
            desk.go.set()
            task = await look(way, await begun(way, "dig", {"name": "x"}), until="completed")
            waiting = await begun(way, "greet")
            await behind.aclose()
            assert await look(way, str(task["taskId"])) == task
            with pytest.raises(McpError, match="Nobody listens there"):
                await look(way, waiting)
    assert {run.status for run in await front.journal.runs()} == {"done", "paused"}


async def test_tasks_are_offered_to_those_who_can_have_them_alone() -> None:
    async with served(Desk().service()) as url:
        async with connected(gateway(url)) as modern, connected(gateway(url), "legacy") as legacy:
            assert EXTENSION in str((await modern.facts()).capabilities)
            assert EXTENSION not in str((await legacy.facts()).capabilities)
        async with connected(gateway(url, "legacy")) as way:
            assert EXTENSION not in str((await way.facts()).capabilities), "its server has no tasks in the older era"
