"""Following: a stream that is cut anywhere goes on in another process, without a gap and without an entry twice."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, Entry, ModelReplied, Record, Started
from actum.journal.follow import POLL_S, follow, follow_all
from actum.journal.memory import MemoryJournal
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock
from tests import warm
from tests.patience import HANGS_S, SOON_S

pytestmark = pytest.mark.row("C7")

WAKES_S = 0.5
TRIES = 10

STARTED = Started(agent="a", model="m", said=(UserMessage.of("hi"),), tenant="north")
RECORDS: list[Record] = [
    STARTED,
    ModelReplied("1", Reply.of("x")),
    Ended("paused"),
    ModelReplied("2", Reply.of("y")),
    Ended("done"),
]

WRITES = """
import asyncio, sys
from actum.core.message import Reply, UserMessage
from actum.core.run.record import Ended, ModelReplied, Started
from actum.storage.postgres import PostgresJournal
from actum.storage.sqlite import SQLiteJournal
place = sys.argv[1]
journal = (PostgresJournal if place.startswith("postgresql:") else SQLiteJournal)(place)
records = [Started(agent="a", model="m", said=(UserMessage.of("hi"),), tenant="north")]
records += [ModelReplied(str(n), Reply.of("x")) for n in range(3)] + [Ended("done")]
async def main():
    async with journal.claim("r"):
        for record in records:
            journal.append("r", record)
            await journal.sync("r")
            print("written", flush=True)
            if not isinstance(record, Ended):
                await asyncio.to_thread(sys.stdin.readline)
    await journal.close()
asyncio.run(main())
"""


@pytest.fixture(params=["sqlite", "postgres"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[tuple[str, Callable[[], Journal]]]:
    """A place, and what opens the journal in it as one more process would."""
    made: list[SQLiteJournal | PostgresJournal] = []
    if request.param == "sqlite":
        place = str(tmp_path / "j.db")

        def open_() -> Journal:
            made.append(SQLiteJournal(place))
            return made[-1]

        yield place, open_
    else:
        place = request.getfixturevalue("postgres").new_journal()

        def connect() -> Journal:
            made.append(PostgresJournal(place))
            return made[-1]

        yield place, connect
    for journal in made:
        await journal.close()


async def test_a_stream_cut_at_every_entry_goes_on_in_another_process_without_a_gap_or_a_double(
    opened: tuple[str, Callable[[], Journal]],
) -> None:
    place, open_ = opened
    journal = open_()
    seen: list[int] = []
    delays: list[float] = []
    command = [sys.executable, "-c", WRITES, place]
    pipe = asyncio.subprocess.PIPE
    writer = await warm.start(*command, stdin=pipe, stdout=pipe)
    assert writer.stdin is not None
    assert writer.stdout is not None
    async with asyncio.timeout(HANGS_S):
        while await writer.stdout.readline():
            written = time.monotonic()
            reader = open_()  # whoever followed so far is gone; another process goes on
            async for entry in follow(reader, "r", SystemClock(), after=seen[-1] if seen else -1, tenant="north"):
                seen.append(entry.number)
                delays.append(time.monotonic() - written)
                break
            writer.stdin.write(b"on\n")
        await writer.wait()
    assert seen == [0, 1, 2, 3, 4]
    assert max(delays) < SOON_S
    assert [entry.number async for entry in follow(journal, "r", SystemClock(), after=4)] == []
    for cut in range(-1, 5):
        rest = [entry.number async for entry in follow(journal, "r", SystemClock(), after=cut)]
        assert rest == list(range(cut + 1, 5)), cut


async def test_a_reader_that_waits_wakes_within_half_a_second_of_what_another_process_writes(tmp_path: Path) -> None:
    reader, writer = SQLiteJournal(tmp_path / "j.db"), SQLiteJournal(tmp_path / "j.db")
    delays: list[float] = []
    while len(delays) < TRIES and min(delays, default=math.inf) >= WAKES_S:  # the machine may be busy with other work
        run_id, begun, arrived = f"run {len(delays)}", asyncio.Event(), list[float]()

        async def read(run_id: str, begun: asyncio.Event, arrived: list[float]) -> None:
            async for _ in follow(reader, run_id, SystemClock()):
                arrived.append(time.monotonic())  # one after the other, as they come
                begun.set()

        async with writer.claim(run_id):
            writer.append(run_id, STARTED)
            await writer.sync(run_id)
            reading = asyncio.create_task(read(run_id, begun, arrived))
            await begun.wait()
            writer.append(run_id, Ended("done"))
            await writer.sync(run_id)
            written = time.monotonic()
            await asyncio.wait_for(reading, HANGS_S)
        delays.append(arrived[-1] - written)
    assert min(delays) < WAKES_S, delays
    await reader.close()
    await writer.close()


async def numbers(entries: AsyncIterator[Entry]) -> list[int]:
    return [entry.number async for entry in entries]


async def test_a_pause_ends_a_stream() -> None:
    journal, clock = MemoryJournal(), FakeClock(auto=True)
    for record in RECORDS[:3]:
        journal.append("r", record)
    assert await numbers(follow(journal, "r", clock)) == [0, 1, 2]


async def test_another_tenants_run_and_one_that_is_not_there_end_at_once() -> None:
    journal, clock = MemoryJournal(), FakeClock()
    for record in RECORDS:
        journal.append("r", record)
    for run_id, tenant in (("r", "south"), ("nowhere", "north"), ("r", "")):
        assert await numbers(follow(journal, run_id, clock, tenant=tenant)) == [], (run_id, tenant)
    assert await numbers(follow(journal, "r", clock, tenant="north", after=99)) == []
    assert clock.slept == []


async def test_every_run_is_followed_from_now_on() -> None:
    journal, clock = MemoryJournal(), FakeClock()
    journal.append("old", STARTED)
    stream = follow_all(journal, clock)
    first = asyncio.ensure_future(anext(stream))
    await asyncio.sleep(0)
    journal.append("old", Ended("done"))
    journal.append("new", STARTED)
    clock.advance(POLL_S)
    found = [await first, await anext(stream)]
    assert [(run_id, entry.number) for run_id, entry in found] == [("new", 0), ("old", 1)][::-1]
    await stream.aclose()  # type: ignore[attr-defined]  # it is a generator
