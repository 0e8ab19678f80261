"""What a client of MCP asks an agent is no turn of a user's memory, and the tools of a memory work for one person.

Others are told in the answer that the agent has no memory for them.
"""

from __future__ import annotations

import pytest

from actum import Agent, Rule, Rules, ToolCall
from actum.core.message import Reply, ToolMessage
from actum.core.run.record import Started
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.protocols.mcp.config import McpServer
from actum.server.access import Access
from actum.server.mcp.service import McpService
from actum.server.verifier import Keys
from actum.testing import ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from tests.web import serving

pytestmark = pytest.mark.row("A2")
ALL = Rules(Rule("allow"))


@pytest.mark.parametrize("personal", [False, True])
async def test_an_agent_at_mcp_tells_nothing_by_itself_and_its_tools_look_into_the_memory_of_one_person_alone(
    personal: bool,
) -> None:
    journal = MemoryJournal()
    first = await Agent(ScriptedModel(["Nice."]), name="desk", journal=journal, memory="user").run(
        "My boat is red.", principal="ann"
    )
    model = ScriptedModel([Reply.of(calls=[ToolCall("c1", "recall", {"query": "boat"})]), "Done."])
    desk = Agent(model, name="desk", journal=journal, memory="user")
    text, key = new_key("page", principal="ann", scopes=["tools"], personal=personal)
    app = McpService([desk], policy=ALL, journal=journal).app(access=Access(verifier=Keys([key])))
    async with serving(app) as origin:
        server = McpServer(
            name="ours", url=f"{origin}/mcp", transport="http", headers={"Authorization": f"Bearer {text}"}
        )
        async with McpConnection(server) as client:
            told = await client.request("tools/call", {"name": "desk", "arguments": {"task": "Which boat?"}})
    meta = told["_meta"]
    assert isinstance(meta, dict)
    assert meta.get("actum") == (None if personal else {"memory": "off"})
    found = next(each.result for each in model.requests[-1].messages if isinstance(each, ToolMessage))
    assert ("My boat is red" in found.text) == personal
    assert (found.error.code if found.error else "") == ("" if personal else "permission_denied")
    assert "Earlier words" not in str(model.requests[0].messages)
    turns = [each for each in await journal.runs() if each.principal == "ann" and each.run_id != first.run_id]
    for each in turns:
        started = (await journal.read(each.run_id))[0].record
        assert isinstance(started, Started)
        assert started.space == ""
    assert len(turns) == 2
