"""Two processes and one run: a person answers in one while the other drives the run, and only one can drive it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actum import tool
from actum.compose.journals import open_journal
from actum.compose.settings import Settings
from actum.core.errors import Busy
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeLeft
from actum.core.run.record import InputGiven
from actum.runs.given_tools import Toolish
from tests import warm
from tests.endurance import share

from .test_posted import DEFINITION, asked_in
from .test_workflow import workflow

RACES = share(200, 20)


@asynccontextmanager
async def answerer(place: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that answers the runs whose ids it is told."""
    command = (sys.executable, "-m", "tests.workflow.answerer", place)
    pipe = asyncio.subprocess.PIPE
    process = await warm.start(*command, stdin=pipe, stdout=pipe)
    assert process.stdout is not None
    assert process.stdin is not None
    assert await process.stdout.readline() == b"ready\n"
    try:
        yield process
    finally:
        process.stdin.close()
        await process.wait()


def working(journal: Journal, run_id: str, behind_s: float) -> Toolish:
    """A tool that works for a moment longer than until the question of the run is on record."""

    @tool(effects={"read"})
    async def work() -> str:
        """Work."""
        await asked_in(journal, run_id)
        until = time.monotonic() + behind_s
        for _ in iter(lambda: time.monotonic() < until, False):
            await asyncio.sleep(0)
        return "worked"

    return work


@pytest.mark.row("F1")
@pytest.mark.endurance("src/actum/workflow", "src/actum/runs", "src/actum/storage")
async def test_an_answer_of_another_process_as_the_driver_ends_is_used_once(place: str) -> None:
    """Raced 20 or 200 times: each time the driver ends a little later behind its question."""
    journal = open_journal(Settings(journal=place), {})
    paused = 0
    async with answerer(place) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for at in range(RACES):
            run_id = f"r{at}"

            work = working(journal, run_id, at * 0.02 / RACES)
            flow = workflow(DEFINITION, [work], journal=journal)
            process.stdin.write(f"{run_id}\n".encode())
            result = await flow.run(run_id=run_id)
            assert await process.stdout.readline() == b"answered\n"
            if result.status == "paused":
                paused += 1
                result = await flow.resume(run_id)
            assert result.status == "done", at
            entries = [each.record for each in await journal.read(run_id)]
            assert sum(isinstance(each, InputGiven) for each in entries) == 1, at
            assert [each.path for each in entries if isinstance(each, NodeLeft)].count("then") == 1, at
            assert await journal.posted(run_id) == [], at
    await journal.close()
    assert paused < RACES


async def test_of_two_that_resume_one_run_at_once_one_drives_it_and_the_other_is_told_so(place: str) -> None:
    let_go, begun = asyncio.Event(), asyncio.Event()
    made: list[str] = []

    @tool(effects={"spend"}, idempotent=True)
    async def work() -> str:
        """Work until the other one was told."""
        made.append("work")
        begun.set()
        await let_go.wait()
        return "worked"

    nodes: JsonObject = {
        "ask": {"type": "human", "message": "Go?", "choices": ["go"]},
        "work": {"type": "tool", "tool": "work"},
    }
    mine, other = (open_journal(Settings(journal=place), {}) for _ in range(2))
    one = workflow({"nodes": nodes, "edges": ["ask.go > work"]}, [work], journal=mine)
    second = workflow({"nodes": nodes, "edges": ["ask.go > work"]}, [work], journal=other)
    waiting = await one.run(run_id="r")
    answers = {waiting.pending[0].id: "go"}
    drives = asyncio.ensure_future(one.resume("r", answers))
    await begun.wait()
    with pytest.raises(Busy):
        await second.resume("r")
    let_go.set()
    assert (await drives).status == "done"
    assert (await second.resume("r")).status == "done"
    assert made == ["work"]
    await mine.close()
    await other.close()
