"""Work that is cancelled ends, whatever it thinks of that."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest

from actum.core.cancellation import GRACE_S, Waiting, begin, cancellable, finish
from actum.core.clock import SystemClock
from actum.testing import FakeClock
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("C5")


async def test_what_work_returns_raises_and_waits_for_passes_through() -> None:
    async def works(gives: object) -> object:
        await asyncio.sleep(0)
        if isinstance(gives, Exception):
            raise gives
        return gives

    assert await cancellable(works(5), SystemClock(), "works") == 5
    with pytest.raises(KeyError, match="no"):
        await cancellable(works(KeyError("no")), SystemClock(), "works")
    future = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(future.set_result, 7)
    assert await cancellable(future, SystemClock(), "future") == 7
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.001):
            await cancellable(asyncio.Event().wait(), SystemClock(), "waits")


async def test_work_that_goes_on_after_it_was_cancelled_is_closed_and_its_cleaning_up_is_run() -> None:
    clock, told, started = FakeClock(), list[str](), asyncio.Event()

    async def stubborn() -> None:
        try:
            while True:
                try:
                    started.set()
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    told.append("cancelled")
        finally:
            told.append("closed")

    async def awaits() -> None:
        await cancellable(stubborn(), clock, "stubborn")

    task = asyncio.create_task(awaits())
    await started.wait()
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.sleep(0)
    assert (told, task.done()) == (["cancelled", "cancelled"], False)
    clock.advance(GRACE_S)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert told == ["cancelled", "cancelled", "closed"]


async def test_what_cancelled_work_still_returns_in_time_counts() -> None:
    started = asyncio.Event()

    async def cleans_up(raises: bool) -> str:
        try:
            started.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            if raises:
                raise
        return "done after all"

    async def awaits(raises: bool) -> str:
        return await cancellable(cleans_up(raises), FakeClock(), "cleans up")

    for raises in (False, True):
        task = asyncio.create_task(awaits(raises))
        started.clear()
        await started.wait()
        task.cancel()
        assert await asyncio.wait([task])
        assert task.cancelled() if raises else task.result() == "done after all"


async def test_a_generator_exit_is_a_failure_of_the_work_and_of_nothing_around_it() -> None:
    async def exits(first: bool) -> None:
        if not first:
            await asyncio.sleep(0)
        raise GeneratorExit

    for first in (True, False):
        with pytest.raises(RuntimeError, match="GeneratorExit"):
            await cancellable(exits(first), SystemClock(), "exits")


async def test_work_whose_awaiter_is_closed_ends() -> None:
    closed = asyncio.Event()

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            closed.set()

    outer = cancellable(waits(), SystemClock(), "waits")
    outer.send(None)
    outer.close()
    async with asyncio.timeout(HANGS_S):
        await closed.wait()


async def test_work_hears_of_a_cancellation_that_comes_before_its_task_took_a_step() -> None:
    inner = list[asyncio.Task[None]]()

    async def future() -> None:
        await asyncio.Event().wait()

    async def pause() -> None:
        await asyncio.sleep(0)
        await asyncio.Event().wait()

    async def task() -> None:
        inner.append(asyncio.create_task(future()))
        await inner[0]

    async def works(waits_for: Callable[[], Awaitable[None]], told: list[str]) -> None:
        awaiting.cancel()
        try:
            await waits_for()
        except asyncio.CancelledError:
            told.append("cancelled")
            await asyncio.sleep(0)
            told.append("cleaned up")
            raise

    for waits_for in (future, pause, task):
        told = list[str]()
        awaiting = asyncio.create_task(cancellable(works(waits_for, told), SystemClock(), "works"))
        async with asyncio.timeout(HANGS_S):
            await asyncio.wait([awaiting])
        assert awaiting.cancelled(), waits_for
        assert told == ["cancelled", "cleaned up"], waits_for
    assert inner[0].cancelled()


async def test_work_keeps_the_context_variables_that_it_sets_from_its_first_step_to_its_last() -> None:
    set_by_work = ContextVar("set_by_work", default="")

    async def works() -> str:
        token = set_by_work.set("by the work")
        await asyncio.sleep(0)
        seen = set_by_work.get()
        set_by_work.reset(token)
        return seen

    assert await cancellable(works(), SystemClock(), "works") == "by the work"
    assert set_by_work.get() == ""


async def test_work_that_never_waits_leaves_no_task_behind() -> None:
    async def works() -> None:
        """Wait for nothing."""

    before = asyncio.all_tasks()
    for _ in range(10):
        await cancellable(works(), SystemClock(), "works")
    assert len(asyncio.all_tasks() - before) == 1  # the next work gets the task of the one before
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_task_that_work_has_kept_is_given_to_no_other_work() -> None:
    async def keeps() -> asyncio.Task[object]:
        task = asyncio.current_task()
        assert task is not None
        return task

    async def waits() -> str:
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        return "done"

    kept = await cancellable(keeps(), SystemClock(), "keeps")
    other = asyncio.create_task(cancellable(waits(), SystemClock(), "waits"))
    await asyncio.sleep(0)
    kept.cancel()
    assert await other == "done"
    kept = await cancellable(keeps(), SystemClock(), "keeps")
    begun = begin(waits())  # in the same turn of the event loop
    kept.cancel()
    assert isinstance(begun, Waiting)
    assert await finish(begun, None, "waits") == "done"
