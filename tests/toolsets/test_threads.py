"""Threads for functions that block."""

from __future__ import annotations

import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from actum.toolsets.threads import THREADS_MAX, Threads, in_thread

pytestmark = pytest.mark.row("T1")


async def test_at_least_64_functions_block_at_the_same_time() -> None:
    together = threading.Barrier(THREADS_MAX)
    assert THREADS_MAX >= 64
    places = await asyncio.gather(*(in_thread(lambda: together.wait(30)) for _ in range(THREADS_MAX)))
    assert sorted(places) == list(range(THREADS_MAX))


def test_what_comes_beyond_the_size_waits_for_its_turn_and_threads_are_used_again() -> None:
    pool, gate, seen = Threads(2), threading.Event(), set()

    def job() -> int:
        gate.wait(30)
        seen.add(threading.get_ident())
        return len(seen)

    futures = [pool.submit(job) for _ in range(20)]
    assert sum(future.running() for future in futures) <= 2
    gate.set()
    assert all(future.result(30) for future in futures)
    assert len(seen) <= 2


def test_a_function_that_is_cancelled_before_its_turn_is_never_called() -> None:
    pool, gate, called = Threads(1), threading.Event(), []
    first = pool.submit(lambda: gate.wait(30))
    second = pool.submit(lambda: called.append(1))
    assert second.cancel()
    gate.set()
    assert first.result(30)
    assert pool.submit(lambda: called).result(30) == []


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
from actum.toolsets.threads import in_thread
async def main():
    started = threading.Event()
    task = asyncio.create_task(in_thread(lambda: (started.set(), threading.Event().wait())))
    await asyncio.sleep(0)
    started.wait()
    task.cancel()
asyncio.run(main())
print("ended")
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.strip() == "ended"
