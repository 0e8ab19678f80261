"""Several servers at once: of a dead one only its own tools are missing, and it comes back."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.errors import UnknownName, UsageError
from actum.protocols.mcp.config import McpServer
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.mcp import McpHost, McpToolset
from actum.toolsets.mcp.toolset import RETRY_S
from tests.toolsets.shifty_server import READS, SHIFTY, Shifty

pytestmark = pytest.mark.row("T4")


async def test_a_server_that_does_not_start_costs_its_own_tools_only(tmp_path: Path) -> None:
    shifty = Shifty(tmp_path)
    shifty.tell(tools=[READS])
    gone = McpServer(name="gone", command="/there/is/no/such/program")
    async with McpHost([McpToolset(gone), McpToolset(shifty.server(trusted=True))]) as host:
        model = ScriptedModel([[ToolCall("1", "shifty_look", {})], "Done."])
        result = await Agent(model, [host]).run("Go")
        assert result.calls[0][1].text == "look was called"
        assert list(host.problems) == ["gone"]
        assert "can not be reached" in host.problems["gone"]
        assert host.server("gone").health.problem != ""


async def test_a_server_that_comes_up_later_is_asked_again(tmp_path: Path) -> None:
    clock = FakeClock()
    program = tmp_path / "server"
    late = McpServer(name="late", command=str(program), args=(str(tmp_path),))
    async with McpHost([McpToolset(late, clock=clock)], clock=clock) as host:
        assert await host.list_tools() == []
        before = host.generation
        shifty = Shifty(tmp_path)
        shifty.tell()
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {SHIFTY} "$@"\n')
        program.chmod(0o700)
        assert host.generation == before
        clock.advance(RETRY_S + 1)
        assert host.generation != before
        assert [tool.name for tool in await host.list_tools()] == ["late_add"]
        assert host.problems == {}


async def test_no_server_takes_the_place_of_anothers_tool(tmp_path: Path) -> None:
    toolsets = []
    for name, tool in (("a", "b__c"), ("a_b", "c")):
        (tmp_path / name).mkdir()
        shifty = Shifty(tmp_path / name)
        shifty.tell(tools=[{**READS, "name": tool}])
        server = shifty.server()
        toolsets.append(McpToolset(McpServer(name=name, command=server.command, args=server.args)))
    async with McpHost(toolsets) as host:
        assert [tool.name for tool in await host.list_tools()] == ["a__b__c", "a_b__c"]


def test_two_servers_of_one_name_are_refused() -> None:
    server = McpServer(name="a", command="x")
    with pytest.raises(UsageError, match="one name"):
        McpHost([McpToolset(server), McpToolset(server)])
    with pytest.raises(UnknownName, match="there are: a"):
        McpHost([McpToolset(server)]).server("b")
