"""The child's side of the local dispatcher: carries out one task after another, as it is told on its standard input.

Each line is one JSON message. The server sends how to build agents (`Hello`), then one `TaskOrder` at a time; the child
answers each with a `TaskReport`. What tools print goes to the standard error: the pipe of reports is kept from them.

When the input ends, the server is gone: the child kills its whole group at once, itself included. A child that is
stopped or hears of nothing is killed by the keeper (`transport/process_keeper.py`). What it was doing is on record as
any attempt whose process was lost.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path
from typing import BinaryIO

import msgspec
from msgspec import Raw, Struct

from ..core.interfaces import Clock, Journal
from .attempt import LeftTask, attempt_in_time
from .builder import Builder


class Hello(Struct, frozen=True):
    """The first message to a child.

    Attributes:
        worker: what the child is called on record.
        setup: what the child needs to build agents; for the opener of the builder.
    """

    worker: str
    setup: Raw


class TaskOrder(Struct, frozen=True):
    """A task that the child is to make an attempt at."""

    run_id: str


class TaskReport(Struct, frozen=True, omit_defaults=True):
    """What became of an order; without a run, the child is ready.

    Attributes:
        run_id: the task.
        state: the state of the task after the attempt; empty where there was none.
        left: why there was no attempt.
        is_unfit: this child can not build what the task needs.
        is_spent: the child is to be replaced: something of the task may still be going on in it.
        memory_bytes: how much memory the child uses.
    """

    run_id: str = ""
    state: str = ""
    left: str = ""
    is_unfit: bool = False
    is_spent: bool = False
    memory_bytes: int = 0


Opener = Callable[[bytes], AbstractAsyncContextManager[tuple[Journal, Builder]]]
"""Opens the journal and makes the builder, of the setup in `Hello`."""


async def serve(opener: Opener, clock: Clock, orders: asyncio.Queue[bytes], tell: Callable[[TaskReport], None]) -> None:
    """Carry out what is ordered, for ever: the end of the input ends the process.

    Args:
        opener: opens the journal and makes the builder.
        clock: the time.
        orders: the lines of the input.
        tell: writes a report.
    """
    hello = msgspec.json.decode(await orders.get(), type=Hello)
    async with opener(bytes(hello.setup)) as (journal, builder):
        tell(TaskReport())
        while True:
            order = msgspec.json.decode(await orders.get(), type=TaskOrder)
            outcome = await attempt_in_time(
                journal, builder, order.run_id, clock=clock, worker=hello.worker, timeout_s=None
            )
            memory = memory_bytes()
            if isinstance(outcome, LeftTask):
                tell(TaskReport(order.run_id, left=outcome.reason, is_unfit=outcome.is_unfit, memory_bytes=memory))
            else:
                spent = outcome.state == "cancelled"
                tell(TaskReport(order.run_id, outcome.state, is_spent=spent, memory_bytes=memory))


def main(opener: Opener, clock: Clock) -> None:
    """Be a child: until the server closes the input."""
    if os.environ.get("ACTUM_TASK_CHILD") != "1":
        sys.exit("this command is started by the dispatcher of tasks, and by nobody else")
    reports = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # what tools print is no report

    def tell(report: TaskReport) -> None:
        with suppress(OSError):
            reports.write(msgspec.json.encode(report) + b"\n")

    async def work() -> None:
        orders: asyncio.Queue[bytes] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        stdin = os.fdopen(os.dup(0), "rb")
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)  # tools read nothing from the server
        threading.Thread(target=_read, args=(stdin, loop, orders), daemon=True, name="orders").start()
        await serve(opener, clock, orders, tell)

    asyncio.run(work())


def _read(stdin: BinaryIO, loop: asyncio.AbstractEventLoop, orders: asyncio.Queue[bytes]) -> None:
    """Hand on the lines of the input. A thread does so, which also hears of the end while the event loop is blocked."""
    with suppress(OSError, RuntimeError):
        for line in stdin:
            loop.call_soon_threadsafe(orders.put_nowait, line)
    with suppress(OSError):
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def memory_bytes() -> int:
    """How much memory this process uses; 0 where nobody tells."""
    try:
        return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
