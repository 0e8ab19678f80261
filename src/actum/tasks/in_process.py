"""`InProcess`: tasks that run in this very process, since nobody else can build what they need.

A service made in code, such as `McpService([add])`, has tools that no other process knows, and a client that is still
there to be asked. Its tasks have the same records and stand in the same list as all others (`home` names the service),
so they are told of, cancelled and counted alike. What can not be had here: nothing but its process can end a tool that
does not want to end. A time limit cancels what can be cancelled, and leaves the call in doubt.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any

from ..core.errors import ActumError, Busy, JournalError
from ..core.event import RunResult
from ..core.interfaces import Clock, Journal
from ..core.process.claim import claim_of_cancel
from ..core.run.record import Entry, TaskQueued, TaskStarted
from ..core.run.task import Backoff, TaskOptions
from ..runs.run import Stopping
from .attempt import LOOK_S, next_start, settle

log = logging.getLogger("actum.tasks")

OPTIONS = TaskOptions(max_retries=3, backoff=Backoff(base=0.0))
"""How a task that ended with its process is begun again, when it is next asked after."""

Work = Callable[[Stopping], Coroutine[Any, Any, RunResult]]
"""Carries a run out, and is told why it is cancelled."""


class InProcess:
    """The tasks of one service in this process.

    Args:
        journal: where they are on record.
        clock: the time.
        home: the name of the service; see `core.run.task.TaskLine`.
    """

    def __init__(self, journal: Journal, clock: Clock, home: str) -> None:
        self._journal = journal
        self._clock = clock
        self._home = home
        self._jobs: dict[str, asyncio.Task[RunResult]] = {}
        self._stopping: dict[str, Stopping] = {}
        self._adopted: set[str] = set()
        self._watching: asyncio.Task[None] | None = None

    def get(self, run_id: str) -> asyncio.Task[RunResult] | None:
        """What carries a run out in this process; None where nothing does."""
        return self._jobs.get(run_id)

    def start(self, run_id: str, work: Work, *, is_task: bool) -> asyncio.Task[RunResult]:
        """Let a run go on by itself.

        Args:
            run_id: the run.
            work: carries it out.
            is_task: the run is a task; otherwise it may become one, by `adopt`.
        """
        stopping = self._stopping[run_id] = Stopping()
        if is_task:
            self._take_on(run_id)
        job = self._jobs[run_id] = asyncio.create_task(self._carry_out(run_id, work, stopping), name=f"task {run_id}")
        job.add_done_callback(lambda _: self._ended(run_id, job))
        return job

    def adopt(self, run_id: str) -> None:
        """A run that is under way here becomes a task: its client does not wait for it any more."""
        now = self._clock.now()
        self._journal.append(run_id, TaskQueued(due=now, options=OPTIONS, home=self._home))
        self._journal.append(run_id, TaskStarted(1, self._home))
        self._take_on(run_id)

    async def adopt_ended(self, run_id: str) -> None:
        """A run that has just ended here becomes a task that has ended."""
        with suppress(Busy, JournalError):
            async with self._journal.claim(run_id):
                await self._journal.read(run_id)
                now = self._clock.now()
                self._journal.append(run_id, TaskQueued(due=now, options=OPTIONS, home=self._home))
                self._journal.append(run_id, TaskStarted(1, self._home))
        await self._settle(run_id, is_free=False)

    def begins(self, run_id: str) -> Callable[[Sequence[Entry]], TaskStarted]:
        """Makes the record by which the next attempt at a task begins; see `runs.runner.Setting`."""
        return lambda entries: next_start(run_id, entries, self._clock.now(), self._home)

    def _take_on(self, run_id: str) -> None:
        self._adopted.add(run_id)
        if self._watching is None:
            self._watching = asyncio.create_task(
                self._watch(), name=f"tasks of {self._home} that others want cancelled"
            )

    async def _carry_out(self, run_id: str, work: Work, stopping: Stopping) -> RunResult:
        try:
            return await work(stopping)
        finally:
            if run_id in self._adopted:
                await asyncio.shield(self._settle(run_id, is_free=stopping.is_interrupted))

    async def _settle(self, run_id: str, *, is_free: bool) -> None:
        with suppress(Busy, JournalError):
            await settle(self._journal, run_id, clock=self._clock, is_free=is_free, because="stopped")

    async def _watch(self) -> None:
        """Cancel what other processes want cancelled, as long as any task is under way."""
        try:
            while self._adopted:
                await self._clock.sleep(LOOK_S)
                names = {claim_of_cancel(run_id): run_id for run_id in self._adopted}
                with suppress(JournalError):
                    for name in await self._journal.driven(list(names)):
                        if (job := self._jobs.get(names[name])) is not None:
                            job.cancel()
        finally:
            self._watching = None

    def _ended(self, run_id: str, job: asyncio.Task[RunResult]) -> None:
        if self._jobs.get(run_id) is job:
            del self._jobs[run_id]
            self._stopping.pop(run_id, None)
            self._adopted.discard(run_id)
        if not job.cancelled() and isinstance(job.exception(), ActumError):
            log.warning("task %s: %s", run_id, job.exception())

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is under way here, and wait until it has stopped; whether there was one."""
        job = self._jobs.get(run_id)
        if job is None:
            return False
        job.cancel()
        await asyncio.wait([job])
        return True

    async def close(self) -> None:
        """Break off what still runs. Each task is on record as interrupted, and goes on when it is next asked after."""
        jobs = list(self._jobs.values())
        for run_id in self._adopted:
            if (stopping := self._stopping.get(run_id)) is not None:
                stopping.is_interrupted = True
        for job in jobs:
            job.cancel()
        if jobs:
            await asyncio.wait(jobs)
        if self._watching is not None:
            self._watching.cancel()
