"""A run is cancelled by whoever holds the claim of its cancellation; its own program gets a result and goes on."""

from __future__ import annotations

import asyncio

import pytest

from actum import Agent, tool
from actum.core.call import ToolCall
from actum.core.event import RunResult
from actum.core.process.claim import claim_of_cancel
from actum.journal.memory import MemoryJournal
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.testing import ScriptedModel
from tests.patience import HANGS_S


async def _cancelled(journal: MemoryJournal, run_id: str, begun: asyncio.Event, work: asyncio.Task[RunResult]) -> None:
    """Ask for the cancellation of a run, as another process does, until the run's work is over."""
    async with asyncio.timeout(HANGS_S):
        await begun.wait()
        async with journal.claim(claim_of_cancel(run_id)):
            await asyncio.wait([work])


async def test_a_run_that_another_wants_cancelled_ends_as_stopped_and_its_program_goes_on() -> None:
    begun, journal = asyncio.Event(), MemoryJournal()

    @tool(effects=["read"])
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    runner = Runner([wait], journal=journal)
    agent = Agent(ScriptedModel([[ToolCall("1", "wait", {})], "Done."]), [wait], journal=journal)

    async def program(kind: str) -> RunResult:
        if kind == "call":
            result: RunResult = await runner.call([ToolCall("1", "wait", {})], RunOptions(run_id=kind), by="person")
        else:
            result = await agent.run("wait", run_id=kind)
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # the program can go on waiting for other things
        return result

    for kind in ("call", "agent"):
        begun.clear()
        work = asyncio.create_task(program(kind))
        await _cancelled(journal, kind, begun, work)
        result = work.result()
        assert (result.status, result.stop_reason) == ("stopped", "cancelled"), kind
        (summary,) = [each for each in await journal.runs() if each.run_id == kind]
        assert summary.status == "stopped", kind


async def test_a_tool_that_keeps_the_cancellation_to_itself_does_not_keep_the_run_alive() -> None:
    begun, journal = asyncio.Event(), MemoryJournal()

    @tool(effects=["read"])
    async def stubborn() -> str:
        """Do not listen."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "I go on"
        return "never"

    agent = Agent(
        ScriptedModel([[ToolCall("1", "stubborn", {})], [ToolCall("2", "stubborn", {})], "Done."]),
        [stubborn],
        journal=journal,
    )
    work: asyncio.Task[RunResult] = asyncio.create_task(agent.run("go", run_id="r1"))
    await _cancelled(journal, "r1", begun, work)
    assert (work.result().status, work.result().stop_reason) == ("stopped", "cancelled")


async def test_the_programs_own_cancellation_stays_a_cancellation_also_where_another_wants_the_same() -> None:
    begun, heard, journal = asyncio.Event(), asyncio.Event(), MemoryJournal()

    @tool(effects=["read"])
    async def wait() -> str:
        """Wait, and be slow to stop."""
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            heard.set()
            await asyncio.Event().wait()
        return "never"

    runner = Runner([wait], journal=journal)
    for both in (False, True):
        begun.clear()
        heard.clear()
        run_id = f"r{both}"
        work = asyncio.create_task(runner.call([ToolCall("1", "wait", {})], RunOptions(run_id=run_id), by="person"))
        await begun.wait()
        if both:
            async with asyncio.timeout(HANGS_S), journal.claim(claim_of_cancel(run_id)):
                await heard.wait()
        else:
            work.cancel()
            await heard.wait()
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work
        (summary,) = [each for each in await journal.runs() if each.run_id == run_id]
        assert summary.status == "stopped"


def test_runs_are_watched_in_each_event_loop_that_a_program_begins() -> None:
    begun, journal = asyncio.Event(), MemoryJournal()

    @tool(effects=["read"])
    async def wait() -> str:
        """Wait."""
        begun.set()
        await asyncio.Event().wait()
        return "never"

    runner = Runner([wait], journal=journal)

    async def once(run_id: str) -> str:
        work = asyncio.create_task(runner.call([ToolCall("1", "wait", {})], RunOptions(run_id=run_id), by="person"))
        await _cancelled(journal, run_id, begun, work)
        return work.result().stop_reason

    for run_id in ("r1", "r2"):
        begun = asyncio.Event()
        assert asyncio.run(once(run_id)) == "cancelled"
