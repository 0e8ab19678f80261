"""`JournalWatch`: one look for all who follow runs; nobody misses an entry, and nobody hears of another tenant."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import cast

import pytest

from actum.core.errors import JournalError
from actum.core.interfaces import Journal
from actum.core.message import UserMessage
from actum.core.run.pending import Pending
from actum.core.run.record import Ended, InputGiven, InputRequested, Record, Started
from actum.journal.follow import POLL_S
from actum.journal.memory import MemoryJournal
from actum.journal.watch import ASKED_LOOKS, RUNS_MAX, JournalWatch, WatchListener, WatchNews
from actum.testing import FakeClock

pytestmark = pytest.mark.row("C7")

DONE, PAUSED = Ended("done"), Ended("paused")


def started(tenant: str = "north") -> Started:
    return Started(agent="a", model="m", said=(UserMessage.of("hi"),), tenant=tenant)


class Counted:
    """A journal whose questions are counted.

    Attributes:
        questions: how often each method was called.
        error: raised by the next question, where it is set.
    """

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.questions: Counter[str] = Counter()
        self.error: JournalError | None = None

    def __getattr__(self, name: str) -> object:
        if name in ("read", "read_each", "runs", "statuses", "driven", "asked"):
            self.questions[name] += 1
            if self.error is not None:
                raise self.error
        return getattr(self._journal, name)


class Watched:
    """A journal that is watched, by a clock that the test moves."""

    def __init__(self) -> None:
        self.journal = MemoryJournal(FakeClock())
        self.counted = Counted(self.journal)
        self.clock = FakeClock()
        self.watch = JournalWatch(cast(Journal, self.counted), self.clock)

    def write(self, run_id: str, *records: Record) -> None:
        for record in records:
            self.journal.append(run_id, record)

    async def look(self, times: int = 1) -> None:
        """Have the watch look."""
        for _ in range(times):
            self.clock.advance(POLL_S)
            await settled()

    @asynccontextmanager
    async def listening(self, tenant: str | None = None, **behind: int) -> AsyncIterator[WatchListener]:
        """A listener, after the first look."""
        async with self.watch.listening(behind, tenant) as listener:
            await self.look()
            yield listener


async def settled() -> None:
    for _ in range(30):
        await asyncio.sleep(0)


def told(news: WatchNews) -> tuple[list[tuple[str, int]], list[tuple[str, str]], bool]:
    return (
        [(run_id, entry.number) for run_id, entry in news.entries],
        [(run.run_id, run.status) for run in news.runs],
        news.has_asked,
    )


async def test_fifty_readers_ask_the_journal_no_more_than_one_does() -> None:
    it = Watched()
    for number in range(50):
        it.write(f"r{number}", started(), PAUSED)
    async with AsyncExitStack() as readers:
        await readers.enter_async_context(it.listening("north", r0=1))
        it.counted.questions.clear()
        await it.look(20)
        one = it.counted.questions.total()
        for number in range(1, 50):
            await readers.enter_async_context(it.listening("north", **{f"r{number}": 1}))
        it.counted.questions.clear()
        await it.look(20)
        assert it.counted.questions.total() == one
        assert one <= 20 * 3
    it.counted.questions.clear()
    await it.look(5)
    assert it.counted.questions.total() == 0


async def test_a_reader_that_is_slow_misses_nothing_and_is_not_read_for() -> None:
    it = Watched()
    it.write("r", started())
    async with it.listening(r=0) as slow, it.listening(r=-1) as quick:
        assert told(await quick.news()) == ([("r", 0)], [], False)
        it.write("r", PAUSED)
        await it.look()
        assert told(await quick.news())[0] == [("r", 1)]
        for _ in range(3):
            it.write("r", PAUSED)
            await it.look()
            await quick.news()
        assert told(await slow.news())[0] == [("r", 1)]
        await it.look()
        assert told(await slow.news())[0] == [("r", 2), ("r", 3), ("r", 4)]
        del slow.behind["r"]
        it.write("r", DONE)
        await it.look()
        assert told(await quick.news())[0] == [("r", 5)]
        slow.wake()
        assert told(await slow.news())[0] == []


async def test_a_run_that_begins_waits_and_ends_is_told_to_its_tenant_alone() -> None:
    it = Watched()
    it.write("old", started())
    async with it.listening("north") as north, it.listening("south") as south, it.listening("") as nobody:
        steps: tuple[tuple[tuple[Record, ...], str], ...] = (
            ((started(),), "interrupted"),
            ((InputRequested(Pending("ask", "approval", "Pay?")),), "waiting"),
            ((InputGiven("ask", "approve"), DONE), "done"),
        )
        for records, status in steps:
            it.write("r", *records)
            await it.look(ASKED_LOOKS)
            assert told(await north.news()) == ([], [("r", status)], True)
        async with it.journal.claim("old"):  # a process goes on with it, and is killed
            await it.look()
            assert told(await north.news())[1] == [("old", "running")]
        await it.look()
        assert told(await north.news())[1] == [("old", "interrupted")]
        for other in (south, nobody):
            other.wake()
            assert told(await other.news()) == ([], [], False)


async def test_what_waits_is_looked_for_once_a_second_and_when_its_time_is_over() -> None:
    it = Watched()
    it.write("r", started(), InputRequested(Pending("one", "approval", "Pay?", expires=it.clock.now() + 10)))
    async with it.listening("north") as listener:
        it.write("r", InputRequested(Pending("two", "approval", "Pay?")))  # the run stands as it stood
        await it.look(ASKED_LOOKS)
        assert told(await listener.news()) == ([], [], True)
        before = it.counted.questions["asked"]
        await it.look(ASKED_LOOKS * 4)
        assert it.counted.questions["asked"] == before + 4
        listener.wake()
        assert told(await listener.news()) == ([], [], False)
        it.clock.advance(10)
        await it.look(ASKED_LOOKS)
        assert (await listener.news()).has_asked


async def test_lines_that_a_slow_reader_does_not_take_are_kept_up_to_a_number() -> None:
    it = Watched()
    async with it.listening("north") as listener:
        for number in range(RUNS_MAX + 50):
            it.write(f"r{number}", started())
            await it.look()
        assert len((await listener.news()).runs) == RUNS_MAX


async def test_a_journal_that_can_not_be_read_ends_its_readers_and_is_looked_at_again_for_the_next() -> None:
    it = Watched()
    it.write("r", started())
    async with it.listening(r=0) as first:
        it.counted.error = JournalError("the database is away")
        await it.look()
        with pytest.raises(JournalError, match="away"):
            await first.news()
        it.counted.error = None
        async with it.listening(r=-1) as second:
            assert told(await second.news())[0] == [("r", 0)]
            it.write("r", DONE)
            await it.look()
            assert told(await second.news())[0] == [("r", 1)]


async def test_the_last_reader_leaves_nothing_behind_and_one_that_comes_meanwhile_is_served() -> None:
    it, before = Watched(), asyncio.all_tasks()
    it.write("r", started())
    async with it.listening(r=-1) as listener:
        await listener.news()
        assert asyncio.all_tasks() != before
    assert asyncio.all_tasks() == before

    async def read_one() -> list[tuple[str, int]]:
        async with it.watch.listening({"r": -1}) as listener:
            return told(await listener.news())[0]

    assert await asyncio.gather(*(read_one() for _ in range(20))) == [[("r", 0)]] * 20
    assert asyncio.all_tasks() == before
