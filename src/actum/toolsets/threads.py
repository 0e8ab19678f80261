"""Threads for functions that block, at most so many at a time, and none that could keep the process from ending.

A function in a thread can't be stopped. When nobody waits for it any more it keeps its place until it returns, and a
process that ends does not wait for it: that is why these are daemon threads, and not those of `concurrent.futures`.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")

THREADS_MAX = 64


class Threads:
    """A pool of daemon threads that grows to `size` as it is used; what comes beyond that waits for its turn."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._idle = threading.Semaphore(0)
        self._started = 0
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def submit(self, function: Callable[[], T]) -> Future[T]:
        """Have a thread call a function, and return the future of its result."""
        future: Future[T] = Future()
        self._jobs.put(functools.partial(_carry_out, function, future))
        with self._lock:
            if not self._idle.acquire(blocking=False) and self._started < self._size:
                self._started += 1
                threading.Thread(target=self._work, name=f"actum-tool-{self._started}", daemon=True).start()
        return future

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                self._idle.release()
                job = self._jobs.get()
            job()
            del job  # it holds the arguments and the result


def _carry_out(function: Callable[[], T], future: Future[T]) -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        result = function()
    except BaseException as error:  # noqa: BLE001  # whoever awaits the future hears of it
        future.set_exception(error)
    else:
        future.set_result(result)


@functools.cache
def _threads_of(_pid: int) -> Threads:
    """One pool a process: threads do not live through a fork."""
    return Threads(THREADS_MAX)


async def in_thread(function: Callable[[], T]) -> T:
    """Call a function in a thread, with the context variables of the caller.

    Raises:
        Exception: what the function raised.
    """
    context, outcome = contextvars.copy_context(), Future[T]()
    job = functools.partial(context.run, _carry_out, function, outcome)
    await asyncio.wrap_future(_threads_of(os.getpid()).submit(job))  # which would copy or choke on some exceptions
    return outcome.result()
