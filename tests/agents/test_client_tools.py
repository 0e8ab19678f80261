"""Tools that a client brings for one run: on record with the run, and no part of the agent."""

from __future__ import annotations

from pathlib import Path

import msgspec

from actum import Agent
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.core.run.record import Started
from actum.core.tool import Tool, brought_by_client
from actum.journal.memory import MemoryJournal
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


async def test_whoever_goes_on_with_the_run_follows_no_link_in_a_path_of_the_clients_tool(tmp_path: Path) -> None:
    """Not even where the record was written before a definition said that a client sent it. A program's own bare
    definition has paths of this machine.
    """
    (tmp_path / "link").symlink_to(tmp_path / "target")
    path: JsonObject = {"type": "object", "properties": {"file": {"type": "string", "format": "path"}}}
    fetch = Tool(name="fetch", parameters=path)
    call = Reply.of(calls=[ToolCall("1", "fetch", {"file": f"{tmp_path}/link"})])
    journal = MemoryJournal()
    model = ScriptedModel([call, call, call])
    agent = Agent(model, journal=journal)
    begun = await agent.with_client_tools([fetch]).run("Fetch.")
    for number, entry in enumerate(await journal.read(begun.run_id)):
        record = entry.record
        assert record is not None
        if number == 0:
            assert isinstance(record, Started)
            assert record.client_tools[0].from_client
            record = msgspec.structs.replace(record, client_tools=(fetch,))
        journal.append("run_of_old", record)
    again = await agent.resume("run_of_old", {begun.pending[0].id: "fetched"})
    own = await Agent(model, [fetch], journal=journal).run("Fetch.")
    calls = [each.pending[0].call for each in (begun, again, own)]
    files = [each.arguments["file"] for each in calls if each is not None]
    assert files == [f"{tmp_path}/link", f"{tmp_path}/link", f"{tmp_path}/target"]
    assert brought_by_client([fetch])[0].digest == fetch.digest, "approvals and runs that exist go on"
