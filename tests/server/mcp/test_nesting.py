"""An agent that is served over MCP and calls itself ends by our own limits, which nobody outside can raise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from actum import Agent, ToolCall
from actum.agents.agent_tool import AgentTool
from actum.call.limits.limits import Limits
from actum.core.event import RunResult
from actum.core.interfaces import Context
from actum.core.json import JsonObject
from actum.core.message import Message, ToolMessage, UserMessage
from actum.core.run.record import Started
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.service import McpService
from actum.testing import ScriptedModel
from actum.toolsets.mcp.toolset import McpToolset
from tests.mcp_service import connected, served
from tests.web import listening, place, serving

ALL = Rules(Rule("allow"))
ASK_MYSELF = ToolCall("1", "ours_helper", {"task": "Do it."})
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_an_agent_that_is_served_over_mcp_is_not_asked_by_itself(era: McpEra) -> None:
    listener = listening()
    way = McpToolset(McpServer(name="ours", url=f"{place(listener)}/mcp", transport="http", era=era))
    model = ScriptedModel([ASK_MYSELF, "I could not ask myself."])
    agent = Agent(model, [way], name="helper", policy=ALL)
    async with serving(McpService([agent], policy=ALL).app(), listener), way:
        result = await agent.run("Do it.")
    assert result.text == "I could not ask myself."
    (_, refused), *_ = result.calls
    assert "handed the task on itself" in refused.text
    assert len(model.requests) == 2


class Fresh:
    """An agent that is another one at each call, as where each call starts a process."""

    def __init__(self, way: McpToolset) -> None:
        self._way = way
        self.models: list[ScriptedModel] = []

    def as_tool(self) -> AgentTool:
        return AgentTool(self, "helper", "Helps.")

    def new(self) -> Agent:
        model = ScriptedModel([ASK_MYSELF, "Done."])
        self.models.append(model)
        return Agent(model, [self._way], name="helper", policy=ALL, limits=Limits(depth=5))

    async def run_child(
        self, said: UserMessage, run_id: str, context: Context, history: Sequence[Message] = ()
    ) -> RunResult:
        return await self.new().run_child(said, run_id, context, history)


@pytest.mark.parametrize("gateway", [False, True])
async def test_agents_that_start_one_another_over_mcp_stand_no_deeper_than_the_limit(gateway: bool) -> None:
    listener = listening()
    way = McpToolset(McpServer(name="ours", url=f"{place(listener)}/mcp", transport="http"))
    fresh = Fresh(way)
    async with way, served(McpService([fresh], policy=ALL)) as url:
        front = McpGateway([McpServer(name="x", url=url, transport="http")], policy=ALL)
        app = front.app() if gateway else McpService([fresh], policy=ALL).app()
        async with serving(app, listener):
            result = await fresh.new().run("Do it.")
    assert result.text == "Done."
    assert len(fresh.models) == (2 if gateway else 3)  # between two agents stands a run of the service
    last = fresh.models[-1].requests[-1].messages[-1]
    assert isinstance(last, ToolMessage)
    assert "stand 5 deep" in last.result.text


@pytest.mark.parametrize(
    ("told", "runs"),
    [
        ("actum=d:7;l:900", True),
        ("actum=d:8;l:900", False),
        ("actum=d:0;l:0", False),
        ("actum=d:0;l:1", True),
        ("actum=d:-90;l:900", True),
        ("vendor=1,actum=d:9000", False),
        ("actum", True),
        ("actum=" + "9" * 5000, True),
    ],
)
async def test_what_comes_from_outside_lowers_our_limit_and_never_raises_it(told: str, runs: bool) -> None:
    made: list[int] = []

    def count() -> int:
        """Count."""
        made.append(1)
        return len(made)

    journal = MemoryJournal()
    async with connected(McpService([count], journal=journal, policy=ALL)) as way:
        meta: JsonObject = {"traceparent": TRACE, "tracestate": told}
        result = await way.request("tools/call", {"name": "count", "arguments": {}, "_meta": meta})
    assert (bool(made), result.get("isError") is not True) == (runs, runs)
    assert runs or "stand" in str(result)


async def test_a_run_that_is_gone_on_with_keeps_what_it_was_told() -> None:
    journal = MemoryJournal()

    def count() -> int:
        """Count."""
        return 1

    async with connected(McpService([count], journal=journal, policy=ALL)) as way:
        meta: JsonObject = {"traceparent": TRACE, "tracestate": "vendor=1,actum=d:2;l:3"}
        await way.request("tools/call", {"name": "count", "arguments": {}, "_meta": meta})
    (run,) = await journal.runs()
    started = (await journal.read(run.run_id))[0].record
    assert isinstance(started, Started)
    assert started.tracestate == "vendor=1,actum=d:2;l:3"
