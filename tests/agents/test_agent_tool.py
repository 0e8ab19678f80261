"""A child run is written to its caller's journal, so that a process that resumes the caller finds it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, ToolCall, tool
from actum.core.errors import UsageError
from actum.core.event import RunResult
from actum.core.interfaces import Context, Journal
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request
from actum.core.run.ids import child_id
from actum.core.run.record import Started
from actum.journal.conversations import family
from actum.journal.memory import MemoryJournal
from actum.server.mcp.service import McpService
from actum.storage.place import open_journal
from actum.testing import Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.mcp_service import Client, connected
from tests.postgres import PostgresServer

pytestmark = pytest.mark.row("C7")


class Office:
    """Mail that was sent and payments that were made; the world outside, which outlives each process."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.paid: list[int] = []

    def tools(self) -> list[FunctionTool]:
        @tool(effects={"write"})
        async def send(to: str) -> str:
            """Send a mail."""
            self.sent.append(to)
            return "sent"

        @tool(effects={"spend"}, approval=True)
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return "paid"

        return [send, pay]

    def boss(self, journal: Journal | str | None, levels: int = 1, own: Journal | None = None) -> Agent:
        """A boss above a clerk who sends and then pays, with so many levels between; as a new process makes them."""
        agent = Agent(ScriptedModel(sends_and_pays), self.tools(), name="clerk", journal=own)
        for level in range(levels - 1):
            agent = Agent(ScriptedModel(hands_on(agent.name)), [agent], name=f"level{level}", journal=own)
        return Agent(ScriptedModel(hands_on(agent.name)), [agent], name="boss", journal=journal)


def sends_and_pays(request: Request) -> Said:
    done = [message for message in request.messages if isinstance(message, ToolMessage)]
    script: list[Said] = [[ToolCall("1", "send", {"to": "Ada"})], [ToolCall("2", "pay", {"amount": 20})], "Both done."]
    return script[len(done)]


def hands_on(name: str) -> Callable[[Request], Said]:
    def says(request: Request) -> Said:
        done = any(isinstance(message, Reply) for message in request.messages)
        return "All done." if done else [ToolCall("1", name, {"task": "Mail and pay"})]

    return says


@pytest.fixture(scope="module")
def database(postgres: PostgresServer) -> str:
    return postgres.new_database()


async def after_a_restart(office: Office, place: str, levels: int, own: Callable[[], Journal | None]) -> RunResult:
    """One process asks, another one answers; each has its journal anew."""
    first = open_journal(place)
    run_id = f"r{levels}"
    paused = await office.boss(first, levels, own()).run("Go", run_id=run_id)
    (pending,) = paused.pending
    await first.close()
    second = open_journal(place)
    result = await office.boss(second, levels, own()).resume(run_id, {pending.id: "approve"})
    found = await family(second, next(run for run in await second.runs() if run.run_id == run_id))
    depth = 0
    while found.children:
        (found,), depth = found.children, depth + 1
    assert (depth, found.run.agent) == (levels, "clerk"), "every child run is in the journal of the boss"
    await second.close()
    return result


@pytest.mark.parametrize("levels", [1, 2, 3])
@pytest.mark.parametrize("kind", ["file", "postgres"])
async def test_a_child_run_is_found_again_in_the_journal_of_its_boss_after_a_restart(
    kind: str, levels: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place = str(tmp_path / "k.db") if kind == "file" else request.getfixturevalue("database")
    office = Office()
    result = await after_a_restart(office, place, levels, lambda: None)
    assert (result.status, office.sent, office.paid) == ("done", ["Ada"], [20])


async def test_a_child_s_own_journal_is_for_runs_that_are_begun_on_it_directly(tmp_path: Path) -> None:
    office, own = Office(), MemoryJournal()
    result = await after_a_restart(office, str(tmp_path / "k.db"), 2, lambda: own)
    assert (result.status, office.sent, office.paid) == ("done", ["Ada"], [20])
    assert await own.runs() == []
    await Agent(ScriptedModel(["Hello."]), journal=own).run("Hi")
    assert len(await own.runs()) == 1


async def test_an_agent_that_is_served_over_mcp_is_written_to_the_journal_of_the_service() -> None:
    service, own = MemoryJournal(), MemoryJournal()
    helper = Agent(ScriptedModel(["Helped."]), name="helper", journal=own)
    async with connected(McpService([helper], journal=service)) as way:
        result = await way.request("tools/call", {"name": "helper", "arguments": {"task": "Help"}}, caller=Client({}))
    assert result.get("isError") is not True
    called, asked = await service.runs()
    assert (called.agent, called.parent, await own.runs()) == ("helper", asked.run_id, [])


@pytest.mark.parametrize("where", ["lost", "elsewhere"])
async def test_a_child_run_that_an_earlier_version_wrote_elsewhere_is_not_begun_anew(where: str) -> None:
    office, journal, own = Office(), MemoryJournal(), MemoryJournal()
    (pending,) = (await office.boss(journal, own=own).run("Go", run_id="r")).pending
    (child,) = [run.run_id for run in await journal.runs() if run.parent]
    written = [entry.record for entry in journal._entries.pop(child)]  # as it was: not in the journal of the boss
    journal._summaries.pop(child)
    for record in written if where == "elsewhere" else ():
        own.append(child, record)
    result = await office.boss(journal, own=own).resume("r", {pending.id: "approve"})
    (call,) = result.calls
    assert call[1].error is not None
    assert (call[1].error.code, call[1].error.effect) == ("in_doubt", "unknown")
    assert (office.sent, office.paid) == (["Ada"], [])


async def test_a_child_that_was_never_begun_is_begun_when_its_boss_is_resumed() -> None:
    office, journal = Office(), MemoryJournal()
    (pending,) = (await office.boss(journal).run("Go", run_id="r")).pending
    (child,) = [run.run_id for run in await journal.runs() if run.parent]
    cut = MemoryJournal()  # the process ended between the intent of the call and the first record of the child
    for entry in (await journal.read("r"))[:3]:
        cut.append("r", entry.record)
    again = Office()
    resumed = await again.boss(cut).resume("r")
    assert (resumed.status, again.sent) == ("paused", ["Ada"])
    (begun,) = [run.run_id for run in await cut.runs() if run.parent]
    assert (begun, pending.id == resumed.pending[0].id) == (child, False)
    started = (await cut.read(begun))[0].record
    assert isinstance(started, Started)
    assert started.parent == "r"


async def test_outside_of_a_run_an_agent_is_no_tool() -> None:
    agent = Agent(ScriptedModel(["Hello."]), name="helper")
    call = ToolCall("1", "helper", {"task": "Help"})
    context = Context(run_id="r", call=call, key="k", attempt=1, principal="", deps=None, attachments={})
    with pytest.raises(UsageError, match="within a run"):
        await agent.as_tool().execute(call, context)
    assert await agent.journal.read(child_id("k")) == []
