"""Threads for functions that block."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from actum.core.process.daemon_threads import THREADS_MAX, Threads, in_thread
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("T1")


async def test_at_least_64_functions_block_at_the_same_time() -> None:
    together = threading.Barrier(THREADS_MAX)
    assert THREADS_MAX >= 64
    places = await asyncio.gather(*(in_thread(lambda: together.wait(HANGS_S)) for _ in range(THREADS_MAX)))
    assert sorted(places) == list(range(THREADS_MAX))


async def test_what_comes_beyond_the_size_waits_for_its_turn_and_threads_are_used_again() -> None:
    pool, gate, lock = Threads(2), threading.Event(), threading.Lock()
    seen, running, most = set[int](), 0, 0

    def job() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gate.wait(HANGS_S)
        seen.add(threading.get_ident())
        with lock:
            running -= 1

    jobs = [asyncio.create_task(in_thread(job, pool)) for _ in range(20)]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(*jobs)
    assert (most <= 2, len(seen) <= 2) == (True, True)


async def test_a_function_that_is_cancelled_before_its_turn_is_never_called() -> None:
    pool, gate, called = Threads(1), threading.Event(), list[int]()
    first = asyncio.create_task(in_thread(lambda: gate.wait(HANGS_S), pool))
    second = asyncio.create_task(in_thread(lambda: called.append(1), pool))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    gate.set()
    assert await first
    assert await in_thread(called.copy, pool) == []


async def test_context_variables_come_along() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")
    assert await in_thread(variable.get) == "here"


async def test_what_a_function_raises_is_raised_where_it_is_awaited() -> None:
    def fail() -> None:
        raise KeyError("a")

    def stop() -> None:
        raise StopIteration

    with pytest.raises(KeyError, match="a"):
        await in_thread(fail)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await in_thread(stop)


def test_a_function_that_never_returns_does_not_keep_the_process_from_ending() -> None:
    code = """
import asyncio, threading
from actum.core.process.daemon_threads import in_thread
async def main():
    started = threading.Event()
    task = asyncio.create_task(in_thread(lambda: (started.set(), threading.Event().wait())))
    await asyncio.sleep(0)
    started.wait()
    task.cancel()
asyncio.run(main())
print("ended")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=HANGS_S, check=True)
    assert ran.stdout.strip() == "ended"
