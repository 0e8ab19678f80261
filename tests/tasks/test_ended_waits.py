"""A wait of a workflow ends when its time has come, once, though nobody resumes the run."""

from __future__ import annotations

import asyncio

from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.record import InputGiven, Started
from actum.core.task import TaskOptions
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.ended_waits import CLOCK, EndedWaits
from actum.tasks.queue import TaskQueue
from actum.testing import FakeClock
from actum.workflow import Workflow
from actum.workflow.load import read_definition
from tests.storage.conftest import Store

TEXT = b"""
actum: workflow/1
name: order
nodes:
  a_while: {type: wait, for: 10m}
  paid: {type: wait, event: "order 7", expires: 20m}
  asked: {type: human, message: "Send it?", choices: [yes_send, no], expires: 30m}
  unpaid: {type: set, set: {}}
  unasked: {type: set, set: {}}
edges: [paid.expired > unpaid, asked.expired > unasked]
outputs: {waited: "${a_while.output?}", paid: "${paid.output?}", asked: "${asked.output?}"}
"""


class Desk:
    """A journal, and workflows that wait."""

    def __init__(self, store: Store) -> None:
        self.clock = FakeClock(auto=True)
        self.journal: Journal = store.open(clock=self.clock)
        self.queue = TaskQueue(self.journal, clock=self.clock)
        self.workflow = Workflow(read_definition(TEXT), [], journal=self.journal, clock=self.clock)

    async def build(self, started: Started) -> Resumable:
        return self.workflow

    async def go_on(self, run_id: str) -> str:
        """Carry the task out, as a worker would where it is due; and tell how the task stands then."""
        if (await self.queue.look(run_id)).line.state == "queued":
            await attempt(self.journal, self, run_id, clock=self.clock, worker="w")
        return (await self.queue.look(run_id)).line.state

    async def clocked(self, run_id: str) -> int:
        """How many waits have ended by the clock, as the record has it."""
        records = [entry.record for entry in await self.journal.read(run_id)]
        return sum(isinstance(record, InputGiven) and record.by == CLOCK for record in records)


async def test_waits_end_when_their_time_has_come_each_once_and_in_whatever_process(store: Store) -> None:
    desk = Desk(store)
    line = await desk.queue.accept_workflow(desk.workflow, {}, TaskOptions())
    run_id = line.run_id
    beside = await desk.workflow.run({})  # no task: whoever began the run goes on with it
    assert await desk.go_on(run_id) == "waiting"
    lookers = [EndedWaits(desk.journal, desk.clock) for _ in range(4)]
    for minutes, ended in ((9, 0), (2, 1), (10, 2)):
        desk.clock.advance(minutes * 60)
        await asyncio.gather(*(waits.look() for waits in lookers))
        assert (await desk.go_on(run_id), await desk.clocked(run_id)) == ("waiting", ended)
    desk.clock.advance(600)
    await asyncio.gather(*(waits.look() for waits in lookers))
    assert (await desk.go_on(run_id), await desk.clocked(run_id)) == ("succeeded", 3)
    outputs: JsonObject = {"waited": None, "paid": None, "asked": None}
    assert (await desk.queue.look(run_id)).outputs == outputs
    assert await desk.clocked(beside.run_id) == 0


async def test_a_wait_that_ends_while_its_run_is_driven_ends_at_a_later_look(store: Store) -> None:
    desk = Desk(store)
    run_id = (await desk.queue.accept_workflow(desk.workflow, {}, TaskOptions())).run_id
    await desk.go_on(run_id)
    waits = EndedWaits(desk.journal, desk.clock)
    desk.clock.advance(601)
    async with desk.journal.claim(run_id):
        await waits.look()
    assert await desk.clocked(run_id) == 0
    desk.clock.advance(599)
    await waits.look()
    assert await desk.clocked(run_id) == 1
