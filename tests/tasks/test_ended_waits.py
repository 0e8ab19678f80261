"""A wait of a workflow ends when its time has come, once, though nobody resumes the run."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest

from actum import Agent, Answer
from actum.call.asking.inbox import answer_in_run
from actum.core.call import ToolCall
from actum.core.errors import Busy, JournalError, UnknownName
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.process.claim import claim_of_conversation
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import CLOCK, Ended, InputGiven, Started, TaskQueued
from actum.core.run.task import TaskOptions
from actum.journal.recording import RunState
from actum.runs.options import ConversationOptions
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.ended_waits import AGAIN_S, DueQuestions, EndedWaits
from actum.tasks.queue import TaskQueue
from actum.testing import FakeClock, ScriptedModel
from actum.workflow import Workflow
from actum.workflow.load import read_definition
from tests.endurance import share
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
    line = await desk.queue.accept_workflow(desk.workflow, {}, TaskOptions(), ConversationOptions())
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
    run_id = (await desk.queue.accept_workflow(desk.workflow, {}, TaskOptions(), ConversationOptions())).run_id
    await desk.go_on(run_id)
    waits = EndedWaits(desk.journal, desk.clock)
    desk.clock.advance(601)
    async with desk.journal.claim(run_id):
        await waits.look()
    assert await desk.clocked(run_id) == 0
    desk.clock.advance(599)
    await waits.look()
    assert await desk.clocked(run_id) == 1


async def test_what_is_to_be_looked_at_again_is_not_forgotten_by_a_look_that_is_under_way(store: Store) -> None:
    desk = Desk(store)
    await desk.workflow.run({})
    due = DueQuestions(desk.journal, desk.clock)
    desk.clock.advance(601)
    (ended,) = await due.look()
    desk.clock.advance(2 * AGAIN_S)
    looking = asyncio.ensure_future(due.look())
    await asyncio.sleep(0)
    due.look_again(ended)
    await looking
    assert list(await due.look()) == [ended]
    assert list(await due.look()) == []


CHOICE = b"""
actum: workflow/1
name: choice
nodes:
  asked: {type: human, message: "Send it?", choices: [send], expires: 10m}
  sent: {type: set, set: {}}
  late: {type: set, set: {}}
edges: [asked.send > sent, asked.expired > late]
"""
OUTER = b"""
actum: workflow/1
name: outer
nodes:
  inner: {type: workflow, workflow: nap}
outputs: {slept: "${inner.output.slept}"}
"""
NAP = b"""
actum: workflow/1
name: nap
nodes:
  nap: {type: wait, for: 10m}
outputs: {slept: true}
"""


async def anything(run_id: str, state: RunState) -> bool:
    """Whether a run can be gone on with: any can."""
    return True


async def test_a_run_that_is_no_task_goes_on_as_its_wait_ends_and_becomes_one_task_in_whatever_process(
    store: Store,
) -> None:
    desk = Desk(store)
    run_id = (await desk.workflow.run({})).run_id
    lookers = [EndedWaits(desk.journal, desk.clock, anything) for _ in range(4)]
    for minutes, ended in ((11, 1), (10, 2), (10, 3)):
        desk.clock.advance(minutes * 60)
        if ended == 1:
            await EndedWaits(desk.journal, desk.clock).look()  # where only tasks are gone on with
            assert await desk.clocked(run_id) == 0
        await asyncio.gather(*(waits.look() for waits in lookers))
        assert await desk.go_on(run_id) == ("succeeded" if ended == 3 else "waiting")
        assert await desk.clocked(run_id) == ended
    records = [entry.record for entry in await desk.journal.read(run_id)]
    assert sum(isinstance(record, TaskQueued) for record in records) == 1
    assert (await desk.queue.look(run_id)).outputs == {"waited": None, "paid": None, "asked": None}


async def test_a_run_that_nobody_here_can_carry_out_or_that_was_interrupted_or_cancelled_is_left_alone(
    store: Store,
) -> None:
    desk = Desk(store)
    runs = [(await desk.workflow.run({})).run_id for _ in range(3)]
    strange, broken, cancelled = runs

    async def can_go_on(run_id: str, state: RunState) -> bool:
        return run_id != strange

    desk.journal.append(broken, NodeLeft(path="unpaid"))  # as a process leaves it that is killed
    desk.journal.append(cancelled, Ended("stopped", "", "cancelled"))
    before = [len(await desk.journal.read(run_id)) for run_id in runs]
    desk.clock.advance(3_600)
    await EndedWaits(desk.journal, desk.clock, can_go_on).look()
    assert [len(await desk.journal.read(run_id)) for run_id in runs] == before
    assert not await desk.queue.list()


@pytest.mark.parametrize("kind", ["workflow", "agent"])
async def test_who_called_a_workflow_that_waits_goes_on_with_it(store: Store, kind: str) -> None:
    clock = FakeClock(auto=True)
    journal: Journal = store.open(clock=clock)
    nap = Workflow(read_definition(NAP), [], journal=journal, clock=clock)
    script = ScriptedModel([[ToolCall("1", "nap", {})], "Slept well."])
    agent = Agent(script, [nap], journal=journal, clock=clock)
    outer = Workflow(read_definition(OUTER), [nap.as_tool()], journal=journal, clock=clock)
    if kind == "workflow":
        above: Resumable = outer
        run_id = (await outer.run({})).run_id
    else:
        above = agent
        run_id = (await agent.run("Sleep!")).run_id
    clock.advance(601)
    waits = EndedWaits(journal, clock, anything)
    await waits.look()
    await waits.look()

    class Builds:
        async def build(self, started: Started) -> Resumable:
            return above

    await attempt(journal, Builds(), run_id, clock=clock, worker="w")
    view = await TaskQueue(journal, clock=clock).look(run_id)
    assert view.line.state == "succeeded"
    said = ({"slept": True}, '{"slept":true}') if kind == "workflow" else (None, "Slept well.")
    assert (view.outputs, view.text) == said


@pytest.mark.endurance("src/actum/tasks", "src/actum/workflow", "src/actum/storage")
async def test_an_answer_at_the_moment_in_which_its_question_expires_counts_or_the_question_has_expired(
    store: Store,
) -> None:
    """Raced 36 or 200 times, while nobody drives the run and while somebody does."""
    clock = FakeClock(auto=True)
    journal = store.open(clock=clock)
    flow = Workflow(read_definition(CHOICE), [], journal=journal, clock=clock)
    send = Answer("answer", arguments={"choice": "send"}, by="ann")
    came: dict[str, int] = {}
    for at in range(share(200, 36)):
        waiting = await flow.run({})
        run_id, asked = waiting.run_id, waiting.pending[0]
        clock.set(asked.expires + (0.0, 1.0, -1.0)[at % 3])
        waits = EndedWaits(journal, clock, anything)

        async def answers(run_id: str = run_id, ask_id: str = asked.id, at: int = at) -> bool:
            for _ in range(at % 17):
                await asyncio.sleep(0)
            with suppress(Busy, UnknownName):
                await answer_in_run(journal, run_id, ask_id, send)
                return True
            return False

        async def drives(run_id: str = run_id, at: int = at) -> None:
            for _ in range(at % 5):
                await asyncio.sleep(0)
            with suppress(Busy):
                await flow.resume(run_id)

        both = [answers(), waits.look(), *([drives()] if at % 2 else [])]
        await asyncio.gather(*both)
        clock.set(asked.expires + 2)
        await waits.look()
        while (result := await flow.resume(run_id)).status == "paused":
            clock.advance(1)
        ports = [
            entry.record.port
            for entry in await journal.read(run_id)
            if isinstance(entry.record, NodeLeft) and entry.record.path == "asked"
        ]
        assert ports in (["send"], ["expired"]), (at, ports)
        assert result.status == "done"
        assert await journal.posted(run_id) == []
        came[ports[0]] = came.get(ports[0], 0) + 1
    assert min(came.values()) > 4, came


async def test_an_answer_to_a_wait_at_the_moment_in_which_its_time_is_over_goes_on_once(store: Store) -> None:
    clock = FakeClock(auto=True)
    journal = store.open(clock=clock)
    flow = Workflow(read_definition(NAP), [], journal=journal, clock=clock)
    lookers = [EndedWaits(journal, clock, anything) for _ in range(2)]
    for at in range(40):
        waiting = await flow.run({})
        run_id, asked = waiting.run_id, waiting.pending[0]
        clock.set(asked.expires + (0.0, 0.5)[at % 2])

        async def ends_early(run_id: str = run_id, ask_id: str = asked.id, at: int = at) -> None:
            for _ in range(at % 11):
                await asyncio.sleep(0)
            with suppress(Busy, UnknownName):
                await flow.resume(run_id, {ask_id: "now"})

        await asyncio.gather(ends_early(), *(waits.look() for waits in lookers))
        assert (await flow.resume(run_id)).output == {"slept": True}
        entries = await journal.read(run_id)
        left = [entry.record.path for entry in entries if isinstance(entry.record, NodeLeft)]
        answers = [entry for entry in entries if isinstance(entry.record, InputGiven)]
        assert (left, len(answers)) == (["nap"], 1), at


async def test_a_wait_ends_by_the_clock_as_it_is_set_back_and_forward(store: Store) -> None:
    clock = FakeClock(auto=True)
    journal = store.open(clock=clock)
    flow = Workflow(read_definition(NAP), [], journal=journal, clock=clock)
    waits = EndedWaits(journal, clock, anything)

    async def queued(run_id: str) -> bool:
        await waits.look()
        assert journal.tasks is not None
        return await journal.tasks.find(run_id) is not None

    early = (await flow.run({})).run_id
    now = clock.now()
    assert not await queued(early)
    clock.set(now - 86_400)
    later = (await flow.run({})).run_id
    clock.set(now - 86_400 + 601)
    assert [await queued(later), await queued(later), await queued(early)] == [False, True, False]
    clock.set(now + 601)
    assert await queued(early)


async def test_a_run_whose_conversation_is_busy_as_its_wait_ends_goes_on_later_and_no_attempt_is_counted(
    store: Store,
) -> None:
    desk = Desk(store)
    run_id = (await desk.workflow.run({}, conversation="c", principal="ann")).run_id
    desk.clock.advance(3_601)
    await EndedWaits(desk.journal, desk.clock, anything).look()
    async with desk.journal.claim(claim_of_conversation("ann", "c")):
        assert await desk.go_on(run_id) == "queued"
    assert await desk.go_on(run_id) == "succeeded"
    assert [each.attempt for each in (await desk.queue.look(run_id)).attempts] == [1]


async def test_a_damaged_run_keeps_no_other_waiting_and_a_journal_that_was_away_leaves_nothing_out(
    tmp_path: Path,
) -> None:
    clock = FakeClock(auto=True)
    journal = SQLiteJournal(tmp_path / "j.db", now=clock.now)
    flow = Workflow(read_definition(NAP), [], journal=journal, clock=clock)
    damaged, sound = [(await flow.run({})).run_id for _ in range(2)]
    with sqlite3.connect(tmp_path / "j.db") as database:
        database.execute("UPDATE entries SET payload = ? WHERE run_id = ? AND number = 1", (b"?", damaged))
    waits = EndedWaits(journal, clock, anything)
    clock.advance(700)
    with sqlite3.connect(tmp_path / "j.db") as database:
        database.execute("ALTER TABLE entries RENAME TO away")
    with pytest.raises(JournalError):
        await waits.look()
    clock.advance(700)
    with sqlite3.connect(tmp_path / "j.db") as database:
        database.execute("ALTER TABLE away RENAME TO entries")
    await waits.look()
    assert [line.run_id for line in await TaskQueue(journal, clock=clock).list()] == [sound]
    await journal.close()
