"""A program that runs a workflow waits along where the run waits for a time alone, and attends to its other runs."""

import asyncio
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from actum import tool
from actum.core.errors import Busy
from actum.core.event import RunFinished, RunStarted
from actum.core.interfaces import Journal
from actum.core.json import Json, JsonObject
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import Ended
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.runs.runner import Begins
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.ended_waits import AGAIN_S
from actum.testing import FakeClock
from actum.workflow import Workflow
from actum.workflow.waiting import WaitingRuns

from .test_workflow import workflow

ASK: JsonObject = {"type": "human", "message": "Go?", "choices": ["go"], "expires": "1h"}
SAY: JsonObject = {"type": "say", "text": "later"}


def waits(seconds: Json, clock: FakeClock, journal: Journal | None = None, **more: Json) -> Workflow:
    """A workflow that waits, and says so afterwards."""
    nodes: JsonObject = {"w": {"type": "wait", "for": seconds}, "s": SAY, **more}
    day: JsonObject = {"seconds": 86_400}  # the clock of a test may jump by hours while a run is carried out
    definition: JsonObject = {"nodes": nodes, "edges": ["w > s"], "limits": day}
    return workflow(definition, clock=clock, journal=journal or MemoryJournal(clock))


async def left(journal: Journal, run_id: str) -> list[str]:
    """The nodes that a run has left, in order."""
    return [entry.record.path for entry in await journal.read(run_id) if isinstance(entry.record, NodeLeft)]


async def always(run_id: str, _: RunState) -> bool:
    """All runs can be gone on with here."""
    return True


async def cancel(journal: Journal, run_id: str) -> None:
    """End a run that waits, as a server does."""
    async with journal.claim(run_id):
        journal.append(run_id, Ended("stopped", "", "cancelled"))
        await journal.sync(run_id)


async def test_a_run_that_waits_for_a_time_alone_is_waited_for_a_minute_or_as_long_as_the_program_says() -> None:
    clock = FakeClock(auto=True)
    assert (await waits("50s", clock).run()).text == "later"
    assert (await waits("70s", clock).run()).status == "paused"
    assert (await waits("70s", clock).run(wait_s=80)).text == "later"
    assert (await waits("3d", clock).run(wait_s=None)).text == "later"
    assert (await waits("50s", clock).run(wait_s=0)).status == "paused"
    assert (await waits("50s", clock, ask=ASK).run()).status == "paused"  # a person may come first
    for year, status in ((1950, "done"), (2025, "paused"), (9999, "paused")):
        until: Json = datetime(year, 1, 1, tzinfo=UTC).isoformat()
        flow = workflow({"nodes": {"w": {"type": "wait", "until": until}}}, clock=clock)
        assert (await flow.run()).status == status, year


@pytest.mark.parametrize(
    "wait",
    [
        {"for": {"cel": "'9999999999d'"}},
        {"for": {"cel": "1.0e300"}},
        {"until": {"cel": "1.0e300"}},
        {"until": {"cel": "'tomorrow'"}},
    ],
)
async def test_a_time_that_does_not_come_is_an_error_of_its_node(wait: JsonObject) -> None:
    clock = FakeClock()
    nodes: JsonObject = {"w": {"type": "wait", "on_error": "branch", **wait}, "s": SAY}
    flow = workflow({"nodes": nodes, "edges": ["w.error > s"]}, clock=clock)
    assert (await flow.run()).text == "later"


async def test_a_wait_that_ends_goes_on_while_another_branch_works() -> None:
    clock, let_go = FakeClock(auto=True), asyncio.Event()

    @tool(effects={"read"})
    async def work() -> str:
        """Work until the other branch is over."""
        clock.advance(11)
        await let_go.wait()
        return "worked"

    journal = MemoryJournal(clock)
    nodes: JsonObject = {"w": {"type": "wait", "for": "10s"}, "s": SAY, "t": {"type": "tool", "tool": "work"}}
    flow = workflow({"nodes": nodes, "edges": ["w > s"]}, [work], clock=clock, journal=journal)
    run = asyncio.ensure_future(flow.run(run_id="r"))
    while True:
        if "s" in await left(journal, "r"):
            break
        await asyncio.sleep(0)
    assert not run.done()
    let_go.set()
    assert (await run).text == "later"


async def test_who_streams_a_run_that_waits_is_told_of_one_beginning_and_one_end() -> None:
    clock = FakeClock(auto=True)
    events = [event async for event in waits("50s", clock).stream()]
    assert sum(isinstance(event, RunStarted) for event in events) == 1
    assert [event.result.status for event in events if isinstance(event, RunFinished)] == ["done"]
    events = [event async for event in waits("70s", clock).stream()]
    assert [event.result.status for event in events if isinstance(event, RunFinished)] == ["paused"]


async def test_a_run_that_others_go_on_with_or_cancel_while_a_program_waits_is_not_done_again(tmp_path: Path) -> None:
    clock = FakeClock()
    journal, other = SQLiteJournal(tmp_path / "j.db"), SQLiteJournal(tmp_path / "j.db")
    here, there = waits("50s", clock, journal), waits("50s", clock, other)

    async def asleep() -> None:
        clock.slept.clear()
        while True:
            if clock.slept:
                return
            await asyncio.sleep(0)

    run = asyncio.ensure_future(here.run(run_id="one"))
    await asleep()
    await cancel(other, "one")
    clock.advance(1)
    assert ((await run).status, run.result().stop_reason, run.result().pending) == ("stopped", "cancelled", ())

    run = asyncio.ensure_future(here.run(run_id="two"))
    await asleep()
    woken = len(clock.slept)
    clock.advance(51)
    with suppress(Busy):
        await there.resume("two")
    while not run.done():
        if len(clock.slept) > woken:  # the time stands still while the database works
            woken = len(clock.slept)
            clock.advance(0.2)
        await asyncio.sleep(0)
    assert (run.result().text, await left(journal, "two")) == ("later", ["w", "s"])

    run = asyncio.ensure_future(here.run(run_id="three"))
    await asleep()
    run.cancel()
    with suppress(asyncio.CancelledError):
        await run
    assert [run.status for run in await journal.runs(limit=1)] == ["stopped"]
    await journal.close()
    await other.close()


async def test_a_program_attends_to_runs_whose_waits_are_over_each_once(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "j.db"
    journals = [SQLiteJournal(path, now=clock.now) for _ in range(2)]
    programs = [waits("2h", clock, journal, ask=ASK) for journal in journals]
    runs = [(await programs[0].run()).run_id for _ in range(10)]
    stranger = workflow(
        {"nodes": {"w": {"type": "wait", "for": "2h"}}, "name": "other"}, journal=journals[0], clock=clock
    )
    strange = (await stranger.run()).run_id
    cancelled = runs.pop()
    await cancel(journals[0], cancelled)
    attending = [asyncio.ensure_future(program.attend()) for program in programs]

    async def statuses() -> dict[str, str]:
        return {run.run_id: run.status for run in await journals[0].runs(limit=None)}

    async def until(path: str) -> None:
        """Wait until a node was left in all runs."""
        for run_id in runs:
            while not any(
                isinstance(e.record, NodeLeft) and e.record.path == path for e in await journals[0].read(run_id)
            ):
                clock.advance(1)
                await asyncio.sleep(0.001)

    clock.advance(3_601)
    await until("ask")
    clock.advance(3_600)
    await until("s")
    for each in attending:
        each.cancel()
    await asyncio.wait(attending)
    for run_id in runs:
        assert sorted(await left(journals[0], run_id)) == ["ask", "s", "w"], run_id
    known = await statuses()
    assert (known[cancelled], known[strange]) == ("stopped", "paused")
    for journal in journals:
        await journal.close()


async def test_a_wait_that_ends_while_its_run_is_let_go_of_is_not_forgotten_however_long_that_takes() -> None:
    clock, paused, let_go = FakeClock(), asyncio.Event(), asyncio.Event()
    program = waits("2h", clock, ask=ASK)
    run_id = (await program.run()).run_id

    async def go_on(run_id: str, _: RunState, begins: Begins) -> None:
        await program.resume(run_id, begins=begins, wait_s=0)
        paused.set()
        await let_go.wait()

    async def until(path: str) -> None:
        for _ in range(1_000):
            if path in await left(program.journal, run_id):
                return
            clock.advance(1)
            await asyncio.sleep(0)
        raise AssertionError(f"{path} was never left")

    attending = asyncio.ensure_future(WaitingRuns(program.journal, clock, always, go_on).attend())
    clock.advance(3_600)
    await until("ask")
    await paused.wait()
    clock.advance(3_600)
    for _ in range(10 * int(AGAIN_S)):
        clock.advance(1)
        await asyncio.sleep(0)
    assert await left(program.journal, run_id) == ["ask"]
    let_go.set()
    await until("s")
    attending.cancel()
    await asyncio.wait([attending])


async def test_a_run_that_is_cancelled_as_its_wait_ends_does_nothing_more() -> None:
    clock = FakeClock()
    program = waits("2h", clock)
    run_id = (await program.run()).run_id
    tried: list[str] = []

    async def go_on(run_id: str, _: RunState, begins: Begins) -> None:
        await cancel(program.journal, run_id)
        try:
            await program.resume(run_id, begins=begins)
        except Busy as busy:
            tried.append(str(busy))
            raise

    attending = asyncio.ensure_future(WaitingRuns(program.journal, clock, always, go_on).attend())
    clock.advance(7_200)
    for _ in range(10 * int(AGAIN_S)):
        clock.advance(1)
        await asyncio.sleep(0)
    attending.cancel()
    await asyncio.wait([attending])
    assert tried == ["this run was stopped in the meantime"]
    assert await left(program.journal, run_id) == []
    state = RunState(await program.journal.read(run_id))
    assert state.ended == Ended("stopped", "", "cancelled")
    assert (await program.resume(run_id)).text == "later"  # a person may still want it


@pytest.mark.parametrize("approvers", [{"cel": "[]"}, {"cel": "null"}, ["${inputs.boss}"], [7]])
async def test_approvers_that_come_to_nobody_are_an_error_and_never_everybody(approvers: Json) -> None:
    ask: JsonObject = {"type": "human", "message": "?", "approvers": approvers, "on_error": "branch"}
    nodes: JsonObject = {"ask": ask, "s": {"type": "say", "text": "${error.message}"}}
    inputs: JsonObject = {"type": "object", "properties": {"boss": {"type": "string"}}}
    flow = workflow({"nodes": nodes, "edges": ["ask.error > s"], "inputs": inputs})
    done = await flow.run({"boss": ""})
    assert (done.status, "no name" in done.text) == ("done", True)
