"""Counts that two real processes share, and what becomes of them when one of the two is killed."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from decimal import Decimal

import msgspec
import pytest

from actum import Agent, Limits, ToolCall, UserLimits, tool
from actum.core.interfaces import Journal
from actum.core.message import Reply, Usage
from actum.core.stored.counts import Rate
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.storage.database import Row
from actum.storage.journal import DatabaseJournal
from actum.testing import FakeClock, ScriptedModel
from tests import warm
from tests.patience import HANGS_S

from .conftest import Store

pytestmark = pytest.mark.row("C7")

PROCESS = """
import asyncio, sys
from actum import Limits, ToolCall, ToolLimits, UserLimits, tool
from actum.core.interfaces import Journal
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.storage.database import Row
from actum.storage.journal import DatabaseJournal
place, what, tenant = sys.argv[1:]

@tool
async def look() -> str:
    "Look."
    print("inside", flush=True)
    if what == "stay":
        await asyncio.to_thread(sys.stdin.readline)
    return "seen"

async def main():
    limits = {
        "rate": Limits(tools={"look": ToolLimits(per_minute=10)}),
        "user rate": Limits(users=UserLimits(per_minute=10)),
        "stay": Limits(tools={"look": ToolLimits(parallel=1)}),
    }[what]
    runner = Runner([look], name="desk", limits=limits, journal=place)
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    for number in range(10 if what != "stay" else 1):
        await runner.call([ToolCall("1", "look", {})], RunOptions(principal="ann", tenant=tenant), by="person")
    print("over", flush=True)
    await runner.journal.close()
asyncio.run(main())
"""


@asynccontextmanager
async def process(store: Store, what: str, tenant: str = "") -> AsyncIterator[asyncio.subprocess.Process]:
    """A process that is ready to make calls; gone at the end of the block."""
    pipe = asyncio.subprocess.PIPE
    running = await warm.start(sys.executable, "-c", PROCESS, store.place, what, tenant, stdin=pipe, stdout=pipe)
    try:
        assert await line(running) == "ready"
        yield running
    finally:
        if running.returncode is None:
            running.kill()
        await running.wait()


async def line(running: asyncio.subprocess.Process) -> str:
    assert running.stdout is not None
    return (await running.stdout.readline()).decode().strip()


async def go(running: asyncio.subprocess.Process) -> None:
    assert running.stdin is not None
    running.stdin.write(b"go\n")
    await running.stdin.drain()


async def calls_made(running: asyncio.subprocess.Process) -> int:
    made = 0
    while await line(running) == "inside":
        made += 1
    return made


@pytest.mark.parametrize("what", ["rate", "user rate"])
async def test_a_rate_of_ten_a_minute_is_ten_over_two_processes(shared: Store, what: str) -> None:
    async with asyncio.timeout(HANGS_S), process(shared, what) as one, process(shared, what) as two:
        await asyncio.gather(go(one), go(two))
        assert sum(await asyncio.gather(calls_made(one), calls_made(two))) == 10


async def test_the_rate_of_a_user_is_that_of_a_tenants_user(shared: Store) -> None:
    async with (
        asyncio.timeout(HANGS_S),
        process(shared, "user rate", "north") as one,
        process(shared, "user rate", "south") as two,
    ):
        await asyncio.gather(go(one), go(two))
        made = await asyncio.gather(calls_made(one), calls_made(two))
        assert list(made) == [10, 10]


async def test_a_place_that_a_killed_process_held_comes_free(shared: Store) -> None:
    async with asyncio.timeout(HANGS_S), process(shared, "stay") as one, process(shared, "stay") as two:
        await go(one)
        assert await line(one) == "inside"
        await go(two)
        waits = asyncio.create_task(line(two))
        done, _ = await asyncio.wait([waits], timeout=0.5)
        assert not done, "there is one place, and the first process has it"
        one.kill()
        assert await waits == "inside"


async def test_a_budget_of_a_day_and_the_runs_under_way_are_counted_over_all_who_share_a_journal(shared: Store) -> None:
    def server(limits: UserLimits) -> Agent:
        said = msgspec.structs.replace(Reply.of("Yes."), usage=Usage(input_tokens=5, output_tokens=5))
        model = ScriptedModel(lambda request: said)
        return Agent(model, name="desk", limits=Limits(users=limits), journal=shared.open())

    one, two = (server(UserLimits(tokens_per_day=1)) for _ in range(2))
    assert (await one.run("Go", principal="ann", tenant="north")).status == "done"
    stopped = [await two.run("Go", principal="ann", tenant=tenant) for tenant in ("north", "south")]
    assert [each.stop_reason for each in stopped] == ["user_tokens", ""]

    inside, leave = asyncio.Event(), asyncio.Event()

    @tool
    async def stay() -> str:
        """Stay until told."""
        inside.set()
        await leave.wait()
        return "stayed"

    runners = [
        Runner([stay], name="till", limits=Limits(users=UserLimits(runs=1)), journal=shared.open()) for _ in range(2)
    ]
    call = [ToolCall("1", "stay", {})]
    first = asyncio.create_task(runners[0].call(call, RunOptions(principal="ann"), by="person"))
    await inside.wait()
    assert (await runners[1].call(call, RunOptions(principal="ann"), by="person")).stop_reason == "user_runs"
    leave.set()
    assert (await first).status == "done"
    assert (await runners[1].call(call, RunOptions(principal="ann"), by="person")).status == "done"


async def test_a_minute_and_a_day_pass_and_a_clock_that_was_ahead_holds_nobody_back_for_longer(shared: Store) -> None:
    clock = FakeClock()
    counts = shared.open(clock=clock).counts
    assert counts is not None
    two, one = Rate("a", 2), Rate("b", 1)
    assert [await counts.begin([two]) for _ in range(3)] == [[0.0], [0.0], [60.0]]
    assert await counts.begin([two, one]) == [60.0, 0.0]
    assert await counts.begin([one]) == [0.0], "what was held back by another rate was not counted"
    clock.advance(59.0)
    assert await counts.begin([two]) == [1.0]
    clock.advance(1.0)
    assert await counts.begin([two, one]) == [0.0, 0.0]
    clock.set(clock.now() - 3600)
    assert await counts.begin([one]) == [60.0]
    for name, tokens, cost in (("a", 3, "0.1"), ("a", 4, "0.0000000001"), ("b", 9, "5")):
        counts.add(name, tokens, Decimal(cost))
    assert await counts.used("a") == (7, Decimal("0.100000001")), "a part of a part is a part"
    clock.advance(25 * 3600.0)
    assert await counts.used("a") == (0, Decimal(0))


async def test_without_limits_nothing_is_asked_of_the_counts(file: Store) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    journal = file.open()
    asked = len(await written(journal))
    runner = Runner([look], journal=journal)
    assert (await runner.call([ToolCall("1", "look", {})], RunOptions(principal="ann"), by="person")).status == "done"
    assert (runner._meters.gated, len(await written(journal))) == (False, asked)


async def written(journal: Journal) -> list[Row]:
    """What stands in the tables of the counts."""
    assert isinstance(journal, DatabaseJournal)
    query = "SELECT name FROM begun UNION ALL SELECT name FROM used"
    return await journal._writer.ask(lambda database: database.execute(query))
