"""What spans the runs of an agent: never more at a time, a minute or a day than allowed, whoever is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.call.limits.limits import Limits, ToolLimits, UserLimits
from actum.call.limits.meters import (
    USERS_MAX,
    WAIT_S_MAX,
    Account,
    RateLimit,
    RateLimiters,
    acquire,
)
from actum.core.errors import RateLimited
from actum.core.stored.counts import DAY_S, WINDOW_S
from actum.core.user import User
from actum.testing import FakeClock
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("C5")


@given(most=st.integers(1, 6), gaps=st.lists(st.floats(0, 40), min_size=1, max_size=60))
def test_never_more_calls_begin_in_any_minute_than_may_whenever_they_arrive(most: int, gaps: list[float]) -> None:
    clock, gate, begun = FakeClock(auto=True), RateLimit(None, most, "rate"), list[float]()

    async def arrive() -> None:
        for gap in gaps:
            clock.advance(gap)
            arrived = clock.now()
            try:
                async with acquire([gate], clock):
                    begun.append(clock.now())
                    assert clock.now() - arrived <= WAIT_S_MAX
            except RateLimited:
                lately = [at for at in begun if at > arrived + WAIT_S_MAX - WINDOW_S]
                assert len(lately) == most  # it is not turned away without need

    asyncio.run(arrive())
    assert all(later - first >= WINDOW_S - 1e-6 for first, later in zip(begun, begun[most:], strict=False))


async def test_who_is_turned_away_hears_when_to_come_back() -> None:
    clock, gate = FakeClock(), RateLimit(None, 1, "rate")
    async with acquire([gate], clock):
        clock.advance(20)
    with pytest.raises(RateLimited, match=r"Only 1 such calls a minute.*in 40 s") as turned_away:
        async with acquire([gate], clock):
            pass
    assert (turned_away.value.retry_after, turned_away.value.limit) == (40.0, "rate")


async def test_a_clock_that_is_set_back_does_not_shut_the_gate() -> None:
    clock, gate = FakeClock(), RateLimit(None, 1, "rate")
    async with acquire([gate], clock):
        clock.set(clock.now() - 7200)
        clock.advance(60)
    async with acquire([gate], clock):
        pass


@given(
    most=st.integers(1, 3),
    plan=st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=25),
)
def test_never_more_are_inside_than_may_be_and_every_place_comes_back(most: int, plan: list[tuple[int, bool]]) -> None:
    inside, peak = 0, 0
    gate, clock = RateLimit(most, None, "rate"), FakeClock()

    async def work(turns: int) -> None:
        nonlocal inside, peak
        async with acquire([gate], clock):
            inside += 1
            peak = max(peak, inside)
            try:
                for _ in range(turns):
                    await asyncio.sleep(0)
            finally:
                inside -= 1

    async def crowd() -> None:
        tasks = []
        for turns, cancelled in plan:
            tasks.append(asyncio.create_task(work(turns)))
            await asyncio.sleep(0)
            if cancelled:
                tasks[len(tasks) // 2].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(crowd())
    assert peak <= most
    assert inside == 0
    assert gate.idle


async def test_a_place_that_was_handed_to_somebody_cancelled_goes_to_the_next() -> None:
    gate = RateLimit(1, None, "rate")
    await gate.enter()
    first, second = asyncio.create_task(gate.enter()), asyncio.create_task(gate.enter())
    await asyncio.sleep(0)
    gate.leave()  # to the first, who is cancelled before it hears of it
    first.cancel()
    await asyncio.wait_for(second, HANGS_S)
    gate.leave()
    assert first.cancelled()
    assert gate.idle


def test_a_gate_serves_one_event_loop_after_another() -> None:
    gate = RateLimit(1, None, "rate")

    async def wait_in_vain() -> None:
        await gate.enter()
        waiting = asyncio.create_task(gate.enter())
        await asyncio.sleep(0)
        assert not waiting.done()

    asyncio.run(wait_in_vain())
    gate.leave()
    asyncio.run(gate.enter())


async def test_two_that_need_the_same_two_places_do_not_wait_for_each_other() -> None:
    meters = RateLimiters(Limits(tools={"a*": ToolLimits(parallel=1), "*": ToolLimits(parallel=1)}))
    clock, done = FakeClock(), list[str]()

    async def call(tool: str) -> None:
        async with acquire(meters.gates(User(), 0.0, tool), clock):
            await asyncio.sleep(0)
            done.append(tool)

    await asyncio.wait_for(asyncio.gather(*[call(tool) for tool in ("a1", "b1", "a2", "b2")]), HANGS_S)
    assert sorted(done) == ["a1", "a2", "b1", "b2"]


async def test_tokens_and_money_of_a_day_come_back_after_24_hours() -> None:
    account = Account(UserLimits(tokens_per_day=100, cost_per_day=Decimal(1)))
    for hour in range(4):
        assert await account.exhausted(hour * 3600.0) == ""
        account.add(25, Decimal("0.1"), hour * 3600.0)
    assert await account.exhausted(4 * 3600.0) == "user_tokens"
    assert await account.exhausted(DAY_S + 120) == ""  # the first hour's are forgotten
    account.add(0, Decimal("0.8"), DAY_S + 120)
    assert await account.exhausted(DAY_S + 120) == "user_cost"


async def test_so_many_runs_of_a_user_may_be_under_way() -> None:
    account = Account(UserLimits(runs=2))
    runs = [AsyncExitStack() for _ in range(3)]
    assert [await account.begin_run(run) for run in runs] == ["", "", "user_runs"]
    await runs[0].aclose()
    assert await account.begin_run(runs[2]) == ""


async def test_users_who_left_nothing_to_remember_are_forgotten() -> None:
    meters = RateLimiters(Limits(users=UserLimits(runs=1)))
    busy = meters.account(User("", "ada"), 0.0)
    assert busy is not None
    await busy.begin_run(AsyncExitStack())
    for number in range(USERS_MAX):
        meters.account(User("", str(number)), 0.0)
    assert meters.account(User("", "ada"), 0.0) is busy
    assert len(meters._users) < 10


def test_without_limits_of_tools_and_users_nothing_is_counted() -> None:
    meters = RateLimiters(Limits())
    assert not meters.gated
    assert meters.account(User("", "ada"), 0.0) is None
