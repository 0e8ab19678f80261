"""Threads for functions that block: a limited number at a time, and none that could keep the process from ending.

A function in a thread can't be stopped. When nobody waits for it any more it keeps its place until it returns, and a
process that ends does not wait for it: that is why these are daemon threads, and not those of `concurrent.futures`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import os
import queue
import threading
from collections.abc import Callable
from typing import NoReturn, TypeVar

T = TypeVar("T")

THREADS_MAX = 64


class Threads:
    """A pool of daemon threads that grows as it is used; what comes beyond its size waits for its turn.

    Args:
        size: the most threads.
        name: what each thread is called, with a number behind it.
    """

    def __init__(self, size: int, name: str = "actum-tool") -> None:
        self._size = size
        self._name = name
        self._lock = threading.Lock()
        self._idle = 0
        self._started = 0
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def submit(self, job: Callable[[], None]) -> None:
        """Have a thread call a function that raises nothing."""
        self._jobs.put(job)
        with self._lock:
            if self._idle:
                self._idle -= 1
            elif self._started < self._size:
                self._started += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()

    def _work(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                with self._lock:
                    self._idle += 1
                job = self._jobs.get()
            job()
            del job  # it holds the arguments and the result


@functools.cache
def _threads_of(_pid: int) -> Threads:
    """One pool a process: threads do not live through a fork."""
    return Threads(THREADS_MAX)


async def in_thread(function: Callable[[], T], threads: Threads | None = None) -> T:
    """Call a function in a thread, with the context variables of the caller; never, if the caller is gone by then.

    Args:
        function: what to call.
        threads: which may call it; those of this process when it is left out.

    Raises:
        Exception: what the function raised.
    """
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    came: asyncio.Future[Callable[[], T]] = loop.create_future()

    def carry_out() -> None:
        if came.cancelled():
            return
        outcome = context.run(_outcome_of, function)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(_tell, came, outcome)

    (threads or _threads_of(os.getpid())).submit(carry_out)
    return (await came)()


def _outcome_of(function: Callable[[], T]) -> Callable[[], T]:
    """What gives or raises again what a function came to: a future would copy or choke on some exceptions."""
    try:
        return functools.partial(_given, function())
    except BaseException as error:  # noqa: BLE001  # the code that awaits it hears of it
        return functools.partial(_raised, error)


def _tell(came: asyncio.Future[T], outcome: T) -> None:
    if not came.done():
        came.set_result(outcome)


def _given(value: T) -> T:
    return value


def _raised(error: BaseException) -> NoReturn:
    raise error
