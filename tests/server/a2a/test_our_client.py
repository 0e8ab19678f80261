"""Our client and our server: an agent asks an agent elsewhere, by the new card and by the old one, and in a circle."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec

import pytest

from actum import Agent, Rule, Rules, ToolCall
from actum.compose.serving import open_doors
from actum.compose.settings import Settings
from actum.core.identity import Identity
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.journal.memory import MemoryJournal
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.protocols.mcp.config import McpServer
from actum.server.api.api import GivenAgents
from actum.server.mcp.service import McpService
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import Said, ScriptedModel
from actum.toolsets.a2a import A2AToolset
from actum.toolsets.mcp.toolset import McpToolset
from tests.web import listening, place, serving

pytestmark = pytest.mark.skipif(find_spec("actum.server.a2a") is None, reason="the server of A2A is not here")
ALLOWED = Rules(Rule("allow", final=True))


def asks(tool: str) -> ScriptedModel:
    """Hands on to another agent, and tells what it heard."""

    def said(request: Request) -> Said:
        last = request.messages[-1]
        return (
            f"heard: {last.result.text}" if isinstance(last, ToolMessage) else [ToolCall("1", tool, {"message": "go"})]
        )

    return ScriptedModel(said)


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """The agents `desk` and `back`, which ask each other, and `plain`, which answers; the origin where they are."""
    listener, journal = listening(), MemoryJournal()
    here = f"http://127.0.0.1:{listener.getsockname()[1]}"
    async with (
        A2AToolset(RemoteAgent(url=f"{here}/a2a/back", name="back")) as back,
        A2AToolset(RemoteAgent(url=f"{here}/a2a/desk", name="desk")) as desk,
    ):
        plain = ScriptedModel(lambda request: "Plainly.")
        agents = GivenAgents(
            {
                "plain": Agent(plain, tools=[], journal=journal, name="plain"),
                "desk": Agent(asks("back"), tools=[back], policy=ALLOWED, journal=journal, name="desk"),
                "back": Agent(asks("desk"), tools=[desk], policy=ALLOWED, journal=journal, name="back"),
            }
        )
        doors = open_doors(Settings(), [], agents, journal, Identity())
        async with serving(WebApplication(doors, WebApplicationSettings()).app, listener):
            yield here


async def test_our_client_asks_our_server_by_the_new_card_and_by_the_old_one() -> None:
    async with served() as here:
        for place in ("", "/.well-known/agent-card.json", "/.well-known/agent.json"):
            async with A2AToolset(RemoteAgent(url=f"{here}/a2a/plain{place}", name="plain")) as toolset:
                result = await Agent(asks("plain"), tools=[toolset], policy=ALLOWED).run("Ask.")
            assert result.text.startswith("heard: Plainly."), (place, result)


async def test_a_call_back_into_an_agent_that_is_on_the_way_is_refused_as_a_circle() -> None:
    async with served() as here, A2AToolset(RemoteAgent(url=f"{here}/a2a/desk", name="desk")) as toolset:
        result = await Agent(asks("desk"), tools=[toolset], policy=ALLOWED).run("Ask.")
    # The first agent asks `desk`, that asks `back`, and `back` is refused when it asks `desk`.
    assert result.text.startswith("heard: heard: heard: The agent refused")
    assert "waits for this very task already" in result.text


async def test_a_circle_of_agent_remote_agent_mcp_server_and_first_agent_is_refused() -> None:
    a2a, journal = listening(), MemoryJournal()
    mcp = listening()
    by_mcp = McpToolset(McpServer(name="front", url=f"{place(mcp)}/mcp", transport="http"))

    def asks_by_mcp(request: Request) -> Said:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return f"heard: {last.result.text}"
        return [ToolCall("1", "front_first", {"task": "go"})]

    async with A2AToolset(RemoteAgent(url=f"{place(a2a)}/a2a/middle", name="middle")) as middle, by_mcp:
        first_model = asks("middle")
        first = Agent(first_model, tools=[middle], policy=ALLOWED, name="first")
        served_agent = Agent(ScriptedModel(asks_by_mcp), [by_mcp], policy=ALLOWED, journal=journal, name="middle")
        doors = open_doors(Settings(), [], GivenAgents({"middle": served_agent}), journal, Identity())
        async with (
            serving(WebApplication(doors, WebApplicationSettings()).app, a2a),
            serving(McpService([first], policy=ALLOWED).app(), mcp),
        ):
            result = await first.run("Ask.")
    assert result.text.startswith("heard: heard: "), result
    assert "handed the task on itself" in result.text
    assert len(first_model.requests) == 2, "the first agent was not begun again below itself"
