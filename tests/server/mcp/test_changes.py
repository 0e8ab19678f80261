"""What has changed is told to whoever listens, in both eras, and nobody else is looked after."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from mcp.server.connection import Connection
from mcp.server.subscriptions import PromptsListChanged, ResourceUpdated, ToolsListChanged

from actum import Context, Tool, ToolCall, ToolResult
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server import Folder, McpService, Resource, prompt
from actum.server.mcp.changes import FOLDERS_EVERY, LOOK_S, TELL_S
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from tests.mcp_service import served

both = pytest.mark.parametrize("era", ["legacy", "modern"])


class Growing:
    """A toolset that gets more tools."""

    def __init__(self) -> None:
        self.generation = 0

    async def list_tools(self) -> Sequence[Tool]:
        return tuple(Tool(name=f"tool_{number}") for number in range(self.generation + 1))

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        return ToolResult(call.id)


class Heard:
    """What a client is told of changes."""

    def __init__(self) -> None:
        self.methods: list[tuple[str, object]] = []

    def __call__(self, method: str, params: JsonObject) -> None:
        self.methods.append((method, params.get("uri")))


async def come(there: Callable[[], bool]) -> None:
    while not there():  # noqa: ASYNC110 - a server in between has no event for it
        await asyncio.sleep(0.005)


async def until(clock: FakeClock, heard: Callable[[], bool]) -> None:
    """Let time pass until something was heard: a look at a time, so that no telling runs out of its time."""
    looks = 0
    while not heard():
        if len(clock.slept) > looks:
            looks = len(clock.slept)
            clock.advance(LOOK_S)
        await asyncio.sleep(0.005)


@both
async def test_other_tools_are_told_to_whoever_listens(era: McpEra) -> None:
    clock, tools, heard = FakeClock(), Growing(), Heard()
    service = McpService([tools], clock=clock)
    async with served(service) as url:
        server = McpServer(name="x", url=url, transport="http")
        async with McpConnection(server, era=era, changed=heard) as way:
            way.listen()
            await come(lambda: ToolsListChanged() in service.changes.watched)
            assert len(await way.list_all("tools/list")) == 1
            tools.generation += 1
            await until(clock, lambda: ("notifications/tools/list_changed", None) in heard.methods)
            assert len(await way.list_all("tools/list")) == 2


@both
async def test_a_file_that_changes_is_told_and_so_is_one_that_comes(era: McpEra, tmp_path: Path) -> None:
    clock, heard = FakeClock(), Heard()
    note = tmp_path / "note.txt"
    note.write_text("one", "utf-8")
    service = McpService(resources=[Folder("notes", tmp_path)], clock=clock)
    async with served(service) as url:
        server = McpServer(name="x", url=url, transport="http")
        async with McpConnection(server, era=era, changed=heard) as way:
            way.listen(["notes:///note.txt"])
            await come(lambda: ResourceUpdated("notes:///note.txt") in service.changes.watched)
            note.write_text("three", "utf-8")
            await until(clock, lambda: ("notifications/resources/updated", "notes:///note.txt") in heard.methods)
            (tmp_path / "other.txt").write_text("x", "utf-8")
            await until(clock, lambda: ("notifications/resources/list_changed", None) in heard.methods)
            assert clock.slept[0] == LOOK_S
            assert FOLDERS_EVERY > 1


@both
async def test_a_program_tells_of_what_its_functions_make(era: McpEra) -> None:
    heard = Heard()
    service = McpService(resources=[Resource("memo://today", lambda: "Rain.")])
    async with (
        served(service) as url,
        McpConnection(McpServer(name="x", url=url, transport="http"), era=era, changed=heard) as way,
    ):
        way.listen(["memo://today"])
        await come(lambda: ResourceUpdated("memo://today") in service.changes.watched)
        told = ("notifications/resources/updated", "memo://today")
        while told not in heard.methods:
            await service.resource_updated("memo://today")
            await asyncio.sleep(0.005)


async def test_a_client_that_is_gone_is_told_nothing_more() -> None:
    clock = FakeClock()
    service = McpService([Growing()], clock=clock)
    async with served(service) as url:
        server = McpServer(name="x", url=url, transport="http")
        async with McpConnection(server, era="legacy") as way:
            await way.list_all("tools/list")
            assert service.changes.listeners == 1
        await come(lambda: not service.changes.listeners)


async def test_those_who_do_not_read_keep_nobody_waiting() -> None:
    clock = FakeClock()
    service, heard = McpService(resources=[Resource("note:1", lambda: "a", name="note")], clock=clock), asyncio.Event()

    class Deaf:
        async def notify(self, method: str, params: object, opts: object = None) -> None:
            await asyncio.Event().wait()

    class Listener:
        async def notify(self, method: str, params: object, opts: object = None) -> None:
            heard.set()

    for outbound in (Deaf(), Deaf(), Listener()):
        connection = Connection.for_loop(outbound, session_id="1")  # type: ignore[arg-type]
        service.changes._connections[connection] = {"note:1"}
    telling = asyncio.create_task(service.resource_updated("note:1"))
    await heard.wait()
    clock.advance(TELL_S)
    await telling


@both
async def test_prompts_that_are_added_while_a_service_runs_are_told_and_found(era: McpEra) -> None:
    @prompt
    def one() -> str:
        """One."""
        return "1"

    @prompt
    def two() -> str:
        """Two."""
        return "2"

    clock = FakeClock()
    service, heard = McpService(prompts=[one], clock=clock), Heard()
    async with (
        served(service) as url,
        McpConnection(McpServer(name="x", url=url, transport="http"), era=era, changed=heard) as way,
    ):
        assert (await way.facts()).capabilities["prompts"] == {"listChanged": True}
        way.listen()
        await come(lambda: PromptsListChanged() in service.changes.watched)
        service.set_prompts([one, two])
        await until(clock, lambda: ("notifications/prompts/list_changed", None) in heard.methods)
        assert [each["name"] for each in await way.list_all("prompts/list")] == ["one", "two"]
        filled = await way.request("prompts/get", {"name": "two"})
        assert "2" in str(filled["messages"])
        service.set_prompts([])
        assert await way.list_all("prompts/list") == []
    with pytest.raises(UsageError):
        service.set_prompts([one, one])
