"""Tools that a client brings for one run: on record with the run, and no part of the agent."""

from __future__ import annotations

from pathlib import Path

from actum import Agent
from actum.core.call import ToolCall
from actum.core.message import Reply
from actum.core.tool import Tool
from actum.testing import ScriptedModel

WHERE = Tool(name="where", description="Where somebody is.")


async def test_the_agent_itself_goes_on_with_a_run_that_has_the_tools_of_a_client(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    model = ScriptedModel([Reply.of(calls=[ToolCall("1", "where", {})]), "At home."])
    agent = Agent(model, journal=path)
    result = await agent.with_client_tools([WHERE]).run("Where?")
    assert (result.status, [pending.kind for pending in result.pending]) == ("paused", ["result"])
    assert [tool.name for tool in await agent.list_tools()] == []
    await agent.journal.close()

    other = Agent(ScriptedModel(["At home."]), journal=path)  # another process, which knows nothing of the client
    done = await other.resume(result.run_id, {result.pending[0].id: "at home"})
    assert (done.status, done.text) == ("done", "At home.")
    await other.journal.close()
