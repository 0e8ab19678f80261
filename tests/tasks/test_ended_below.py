"""A run that is ended from outside takes the runs below it along: nothing would ever go on with them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from actum import Agent, ToolCall, tool
from actum.agents.options import AgentOptions
from actum.core.interfaces import Journal
from actum.core.message import ToolMessage
from actum.core.run.record import Started
from actum.core.run.summary import RunSummary
from actum.core.run.task import TaskOptions
from actum.journal.timeline import Timeline
from actum.policy.rules import Rule, Rules, Verdict
from actum.runs.given_tools import Toolish
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import attempt, settle
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue
from actum.telemetry.spans import ended_for_good
from actum.testing import FakeClock, ScriptedModel
from tests.patience import HANGS_S
from tests.storage.conftest import Store


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(1_000_000.0, auto=True)


class Desk:
    """An agent that hands its task to another, which hands it to a third, whose tool waits until it may go on."""

    def __init__(self, journal: Journal, clock: FakeClock, verdict: Verdict = "allow") -> None:
        self.entered, self.may_go_on = asyncio.Event(), asyncio.Event()
        self.journal, self.clock, self.looked = journal, clock, 0

        @tool(effects={"read"})
        async def look() -> str:
            self.looked += 1
            self.entered.set()
            await self.may_go_on.wait()
            return "seen"

        policy = Rules(Rule(verdict, tools="look"), Rule("allow"))
        below: Toolish = look
        for name, calls in (("books", ToolCall("c", "look", {})), ("clerk", ToolCall("c", "books", {"task": "x"}))):
            agent = Agent(_said(calls), tools=[below], name=name, journal=journal, policy=policy, clock=clock)
            below = agent.as_tool()
        call = ToolCall("c", "clerk", {"task": "x"})
        self.agent = Agent(_said(call), tools=[below], name="desk", journal=journal, clock=clock)
        self.queue = TaskQueue(journal, clock=clock, home="here")

    async def build(self, started: Started) -> Resumable:
        """As the `Builder` of a worker."""
        return self.agent

    async def attempt(self, run_id: str) -> None:
        """Make the next attempt at a task."""
        await attempt(self.journal, self, run_id, clock=self.clock, worker="w1")

    async def runs(self) -> Sequence[RunSummary]:
        """All runs, the first first."""
        return sorted(await self.journal.runs(limit=None), key=lambda run: ("desk", "clerk", "books").index(run.agent))


def _said(call: ToolCall) -> ScriptedModel:
    return ScriptedModel(lambda request: "done" if isinstance(request.messages[-1], ToolMessage) else [call])


async def _killed(desk: Desk, run_id: str, journal: Journal) -> None:
    """Another journal gets what stands on record at the moment at which the process of an attempt is killed."""
    under_way = asyncio.create_task(desk.attempt(run_id))
    async with asyncio.timeout(HANGS_S):
        await desk.entered.wait()
    for run in await desk.runs():
        for entry in await desk.journal.read(run.run_id):
            journal.append(run.run_id, entry.record)
        await journal.sync(run.run_id)
    desk.may_go_on.set()
    await under_way


@pytest.mark.row("F9")
async def test_a_task_that_is_lost_for_good_ends_the_runs_below_and_retry_goes_on_with_them(
    store: Store, clock: FakeClock, tmp_path: Path
) -> None:
    first = SQLiteJournal(tmp_path / "first.db", now=clock.now)
    before = Desk(first, clock)
    task = await before.queue.accept_run(before.agent, "Look.", TaskOptions(), AgentOptions())
    after = Desk(store.open(clock=clock), clock)
    await _killed(before, task.run_id, after.journal)
    await first.close()
    assert [run.status for run in await after.runs()] == ["running"] * 3
    settled = await settle(after.journal, task.run_id, clock=clock)
    assert settled is not None
    assert (settled.state, settled.error) == ("failed", "worker_lost")
    for run in await after.runs():
        ended = ended_for_good(Timeline(await after.journal.read(run.run_id)))
        assert ended is not None, f"the trace of {run.agent} stays open"
        assert (ended[0].status, ended[0].reason) == ("failed", "worker_lost")
    after.may_go_on.set()
    await after.queue.retry(task.run_id)
    await after.attempt(task.run_id)
    assert [run.status for run in await after.runs()] == ["done"] * 3
    assert after.looked == 1


@pytest.mark.row("P5")
async def test_a_cancelled_task_that_waits_below_leaves_no_run_waiting(store: Store, clock: FakeClock) -> None:
    desk = Desk(store.open(clock=clock), clock, "ask")
    task = await desk.queue.accept_run(desk.agent, "Look.", TaskOptions(), AgentOptions())
    await desk.attempt(task.run_id)
    assert [run.status for run in await desk.runs()] == ["paused"] * 3
    await desk.queue.cancel(task.run_id)
    assert [run.status for run in await desk.runs()] == ["stopped"] * 3
    assert not await desk.journal.asked(limit=None)
