"""A server built on the SDK, behind an agent: over every transport and in both eras."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from actum import Agent, ToolCall
from actum.core.call import TextPart
from actum.core.event import CallProgress, Event
from actum.core.json import Json
from actum.core.message import UserMessage
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.protocols.mcp.config import McpEra
from actum.testing import ScriptedModel
from actum.toolsets.mcp import McpServer, McpToolset
from tests.server_process import running

pytestmark = pytest.mark.row("T4")

DESK = str(Path(__file__).parents[2] / "mcp_servers" / "desk.py")
WAYS: list[tuple[str, McpEra]] = [
    ("stdio", "modern"),
    ("stdio", "legacy"),
    ("http", "modern"),
    ("http", "legacy"),
    ("sse", "auto"),
    ("bare", "auto"),
]


@pytest.fixture(params=WAYS, ids=" ".join)
def server(request: pytest.FixtureRequest) -> Iterator[McpServer]:
    transport, era = request.param
    if transport == "stdio":
        yield McpServer(name="desk", command=sys.executable, args=(DESK, "stdio"), era=era)
        return
    kind, path = ("http", "/mcp") if transport == "http" else ("sse", "/sse")
    with running("tests.mcp_servers.desk", kind, path=path) as url:
        yield McpServer(name="desk", url=url, era=era, transport="" if transport == "bare" else transport)


@pytest.fixture
async def desk(server: McpServer) -> AsyncIterator[McpToolset]:
    async with McpToolset(server, wait_s=60) as toolset:
        yield toolset


class Ada:
    """Agrees, and says who she is."""

    async def ask(self, pending: Pending) -> Answer:
        if pending.kind == "elicitation":
            return Answer("answer", arguments={"name": "Ada"})
        return Answer("approve")


async def test_an_agent_has_the_tools_of_a_server_and_its_program_the_rest(desk: McpToolset) -> None:
    calls: list[tuple[str, dict[str, Json]]] = [
        ("desk_add", {"a": "2", "b": 3}),
        ("desk_greet", {}),
        ("desk_slow", {"seconds": 0.01, "steps": 2}),
        ("desk_read_resource", {"uri": "memo://today"}),
        ("desk_fail", {}),
    ]
    model = ScriptedModel([*([ToolCall(str(at), *call)] for at, call in enumerate(calls)), "Done."])
    events: list[Event] = []
    result = await Agent(model, [desk], approver=Ada()).run("Go", emit=events.append)
    added, greeted, slow, read, failed = [outcome for _, outcome in result.calls]
    assert added.structured == {"result": 5}
    if (await desk.facts()).era == "legacy":
        assert greeted.text == "Hello Ada"
    else:  # this server's tool asks in the old way only
        assert greeted.error is not None
    assert slow.text == "done"
    assert read.text == "[resource: memo://today, text/plain]\nNothing."
    assert failed.error is not None
    assert failed.error.code == "tool_error"
    told = [event.value for event in events if isinstance(event, CallProgress)]
    assert {"progress": 1.0, "total": 2.0, "message": "step 1"} in told
    (prompt,) = await desk.prompts()
    assert (prompt.name, [each.name for each in prompt.arguments]) == ("review", ["code"])
    assert await desk.prompt("review", {"code": "x = 1"}) == (UserMessage((TextPart("Review this: x = 1"),)),)
    assert [resource.uri for resource in await desk.resources()] == ["memo://today"]
    assert await desk.complete(prompt, "code", "x") == []
    assert (await desk.facts()).instructions == "Ask me anything."
