"""`LocalDispatcher`: carries tasks out in child processes of this one (`children.py`), without any server.

Which tasks there are says the list in the journal's database. `wake` saves the wait until the next look.
"""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import suppress

from ..core.errors import JournalError, UsageError
from ..core.interfaces import Clock, Journal, TaskIndex
from ..core.run.task import TaskLine
from ..runs.run import Stopping
from .attempt import LeftTask, attempt_in_time
from .builder import Builder
from .children import BUSY_S, TaskChildren, left_for_s
from .dispatcher import DispatcherState
from .ended_waits import WAKE_S, CanGoOn, EndedWaits
from .queue import TaskLimits
from .sweep import DROP_S, SWEEP_S, sweep

log = logging.getLogger("actum.tasks")

POLL_S = 1.0
"""Seconds between two looks at the list of tasks, where nobody says earlier that there is something to do."""


class LocalDispatcher:
    """A `Dispatcher` with child processes.

    Args:
        journal: where tasks are on record; it has a list of tasks.
        children: make the attempts.
        clock: the time.
        limits: how many tasks of one user or tenant may run at a time, and how long the list holds them.
        builder: builds what carries out the tasks of tools that may run in this process; None for no such tools.
        can_go_on: as for `EndedWaits`.

    Raises:
        UsageError: the journal has no list of tasks.
    """

    def __init__(
        self,
        journal: Journal,
        children: TaskChildren,
        *,
        clock: Clock,
        limits: TaskLimits | None = None,
        builder: Builder | None = None,
        can_go_on: CanGoOn | None = None,
    ) -> None:
        if journal.tasks is None:
            raise UsageError("a journal in memory has no tasks for other processes: use a file or PostgreSQL")
        self._journal = journal
        self._index: TaskIndex = journal.tasks
        self._children = children
        self._clock = clock
        self._limits = limits or TaskLimits()
        self._builder = builder
        self._stopping: dict[str, Stopping] = {}
        self._jobs: dict[str, asyncio.Task[float]] = {}
        self._left: dict[str, float] = {}
        self._woken = asyncio.Event()
        self._is_closing = False
        self._looked_at: dict[str, float] = {}
        self._ended_waits = EndedWaits(journal, clock, can_go_on)

    def wake(self, run_id: str) -> None:
        self._left.pop(run_id, None)
        self._woken.set()

    async def run(self) -> None:
        self._children.start(with_spare=await self._has_tasks())
        while not self._is_closing:
            self._woken.clear()
            try:
                await self._look()
            except JournalError as error:  # a database that is away comes back
                log.warning("the list of tasks can not be read: %s", error)
            await self._sleep()

    async def _has_tasks(self) -> bool:
        """Whether there is a task, ended or not. A server that never had one starts no process for the next."""
        with suppress(JournalError):  # a database that is away comes back
            return bool(await self._index.list(limit=1))
        return False

    async def look(self) -> DispatcherState:
        return DispatcherState()

    async def close(self) -> None:
        self._is_closing = True
        self._children.stop()
        self._woken.set()
        jobs = list(self._jobs.values())
        if jobs and self._children.settings.drain_s:
            await asyncio.wait(jobs, timeout=self._children.settings.drain_s)
        for run_id, job in self._jobs.items():
            if run_id in self._stopping:
                self._stopping[run_id].is_interrupted = True  # the attempt does not count
            job.cancel()
        if self._jobs:
            await asyncio.wait(list(self._jobs.values()))
        await self._children.close()

    async def _sleep(self) -> None:
        """Wait for the next look: until somebody wakes this, a task becomes due, or a while has passed."""
        seconds = POLL_S
        with suppress(JournalError):
            due = await self._index.next_time()
            if due is not None:
                seconds = min(POLL_S, max(0.001, due - self._clock.now()))
        sleep = asyncio.ensure_future(self._clock.sleep(seconds))
        woken = asyncio.ensure_future(self._woken.wait())
        try:
            await asyncio.wait([sleep, woken], return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleep.cancel()
            woken.cancel()

    # What is to be done -----------------------------------------------------------------------------------------------

    async def _look(self) -> None:
        """Begin what is due, as far as there are places; now and then, look for what went wrong."""
        if self._is_time("sweep", SWEEP_S):
            await self.sweep()
        if self._is_time("wake", WAKE_S):
            await self._ended_waits.look()
        if self._is_time("drop", DROP_S):
            await self._index.drop(self._clock.now() - self._limits.kept_s)
        free = self._children.settings.workers - len(self._jobs)
        if free <= 0:
            return
        now = self._clock.monotonic()
        self._left = {run_id: until for run_id, until in self._left.items() if until > now}
        lines = await self._index.next_due(
            self._clock.now(),
            limit=free,
            running_max=self._limits.running,
            tenant_running_max=self._limits.running_tenant,
            without=[*self._jobs, *self._left],
        )
        for line in lines:
            if line.run_id not in self._jobs and not self._is_closing:
                job = self._jobs[line.run_id] = asyncio.create_task(self._carry_out(line), name=f"task {line.run_id}")
                job.add_done_callback(lambda _, run_id=line.run_id: self._ended(run_id))  # type: ignore[misc]

    async def _carry_out(self, line: TaskLine) -> float:
        """Have an attempt made. Returns the seconds for which this process then leaves the task alone."""
        if self._builder is None or not line.options.in_process:
            return await self._children.carry_out(line)
        stopping = self._stopping[line.run_id] = Stopping()
        try:
            outcome = await attempt_in_time(
                self._journal,
                self._builder,
                line.run_id,
                clock=self._clock,
                worker=f"server-{os.getpid()}",
                timeout_s=line.limit_s(self._clock.now()),
                stopping=stopping,
            )
        finally:
            self._stopping.pop(line.run_id, None)
        if not isinstance(outcome, LeftTask):
            return 0.0
        log.log(
            logging.WARNING if outcome.is_unfit else logging.INFO, "task %s was left: %s", line.run_id, outcome.reason
        )
        return left_for_s(line, self._clock.now()) if outcome.is_unfit else BUSY_S

    def _is_time(self, what: str, seconds: float) -> bool:
        now = self._clock.monotonic()
        if now - self._looked_at.get(what, now - seconds) < seconds:
            return False
        self._looked_at[what] = now
        return True

    def _ended(self, run_id: str) -> None:
        job = self._jobs.pop(run_id, None)
        self._woken.set()
        if job is None or job.cancelled():
            return
        if (error := job.exception()) is not None:
            log.error("task %s: %s", run_id, error)
        elif job.result():
            self._left[run_id] = self._clock.monotonic() + job.result()

    async def sweep(self) -> None:
        """Settle the tasks whose process ended before they did, and those whose deadline has passed."""
        await sweep(self._journal, self._index, self._clock, without=self._jobs)
