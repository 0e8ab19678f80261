"""`TaskChildren`: carries tasks out in child processes of this one. Others choose the tasks.

Only a process can be ended whatever it does: at its time limit a child and all that it started get SIGTERM, then
SIGKILL. Children are started fresh and never forked, since a fork inherits claims (`docs/decisions/0006`). A child
works for one agent and one tenant, and for no other ever after; it stays for the next task, until it has done
`tasks_max` or uses too much memory. It claims a run itself, and ends when its server does.

The local dispatcher and the workers of Celery both carry tasks out this way.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from signal import SIGKILL, SIGTERM
from typing import Literal, Protocol

import msgspec
from msgspec import Raw, Struct

from ..core.errors import Busy, JournalError
from ..core.interfaces import Clock, Journal
from ..core.process.claim import claim_of_cancel, claim_of_end
from ..core.run.ids import new_id
from ..core.run.record import Ended
from ..core.run.task import TaskLine
from ..journal.recording import RunState
from ..runs.ended_below import CANCELLED
from ..transport.process import Child, Ending, start_child
from .attempt import leave_unfit, settle, timed_out
from .child import Hello, TaskOrder, TaskReport

log = logging.getLogger("actum.tasks")

LEFT_S = 60.0
"""Seconds for which a task that this process can not carry out is left to a worker that can."""
BUSY_S = 2.0
"""Seconds for which a task that another process has just taken is left alone."""
CANCEL_LOOK_S = 0.5
CANCEL_GRACE_S = 3.0
"""Seconds that a child may take to stop a task that was cancelled; then it is killed."""
START_S = 60.0
"""Seconds that a child may take to be ready."""
KILL: Ending = ((SIGTERM, 2.0), (SIGKILL, 5.0))
FAILED_START_S = 5.0


class LocalSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the local dispatcher works.

    Attributes:
        workers: how many tasks run at a time.
        tasks_max: a child is replaced after this number of tasks.
        memory_bytes_max: a child that uses more memory after a task is replaced.
        drain_s: when the dispatcher ends, the seconds that tasks under way may take to end by themselves.
    """

    workers: int = 4
    tasks_max: int = 100
    memory_bytes_max: int = 1 << 30
    drain_s: float = 0.0


class TaskChild:
    """A child process that carries tasks out.

    Args:
        child: the process.
        worker: what it is called on record.

    Attributes:
        owner: the agent and the tenant that the child works for; None before its first task.
        done: how many tasks the child has carried out.
    """

    def __init__(self, child: Child, worker: str) -> None:
        self.worker = worker
        self.owner: tuple[str, str] | None = None
        self.done = 0
        self._child = child
        self._drain = asyncio.create_task(self._log_errors(), name=f"errors of {worker}")

    @property
    def has_exited(self) -> bool:
        """Whether the process has ended."""
        return self._child.exited.is_set()

    async def ask(self, message: bytes) -> TaskReport | None:
        """Send a line, and wait for the report; None where the child ended instead."""
        try:
            if message:
                self._child.stdin.write(message + b"\n")
                await self._child.stdin.drain()
            line = await self._child.stdout.readline()
            return msgspec.json.decode(line, type=TaskReport) if line else None
        except (OSError, ValueError, RecursionError):
            return None

    async def end(self) -> None:
        """End the process with all that it started."""
        try:
            await self._child.end(KILL)
        finally:
            self._child.close()
            self._drain.cancel()

    async def _log_errors(self) -> None:
        with suppress(OSError, ValueError):
            while line := await self._child.stderr.readline():
                log.info("%s: %s", self.worker, line.decode("utf-8", "replace").rstrip())


class CountsAttempts(Protocol):
    """Counts what attempts at tasks have put on record, which child processes wrote."""

    async def count(self, run_id: str, since: float) -> None:
        """Count what is on record of a run, and of the runs that its calls began.

        Args:
            run_id: the run.
            since: when the attempt began, by the clock of the journal; what is older was counted before.

        Raises:
            JournalError: the run can not be read.
        """


class TaskChildren:
    """The child processes of one dispatcher or worker.

    Args:
        journal: where tasks are on record.
        command: starts a child; see `child.main`.
        setup: what a child needs to build agents, as JSON.
        environment: the whole environment of a child.
        clock: the time.
        settings: how many children, and how long they live.
        counts: is told of each attempt that has ended; None for nobody.
    """

    def __init__(
        self,
        journal: Journal,
        command: Sequence[str],
        *,
        setup: bytes,
        environment: Mapping[str, str],
        clock: Clock,
        settings: LocalSettings | None = None,
        counts: CountsAttempts | None = None,
    ) -> None:
        self.settings = settings or LocalSettings()
        self._counts = counts
        self._journal = journal
        self._command = tuple(command)
        self._setup = setup
        self._environment = {**environment, "ACTUM_TASK_CHILD": "1"}
        self._clock = clock
        self._name = f"{socket.gethostname()}:{os.getpid()}"
        self._idle: list[TaskChild] = []
        self._cancelled: dict[str, float] = {}
        self._killing: dict[str, asyncio.Event] = {}
        self._watching: list[asyncio.Task[None]] = []
        self._spare: asyncio.Task[TaskChild | None] | None = None
        self._is_closing = False

    def start(self, *, with_spare: bool) -> None:
        """Look for tasks that were cancelled.

        Args:
            with_spare: start a child already, for the first task.
        """
        self._watching = [asyncio.create_task(self._watch_cancelled())]
        if with_spare:
            self._spare = asyncio.create_task(self._start())

    def stop(self) -> None:
        """Keep no more children: each ends with its task."""
        self._is_closing = True

    async def close(self) -> None:
        """End all children that wait. The caller of `carry_out` has cancelled it before."""
        self.stop()
        spare, self._spare = self._spare, None
        ending = [*self._watching, *([spare] if spare is not None else [])]
        for each in ending:
            each.cancel()
        results = await asyncio.gather(*ending, return_exceptions=True)
        idle, self._idle = [*self._idle, *(each for each in results if isinstance(each, TaskChild))], []
        await asyncio.gather(*(child.end() for child in idle))

    # One task ---------------------------------------------------------------------------------------------------------

    async def carry_out(self, line: TaskLine) -> float:
        """Have a child make an attempt at a task.

        Returns:
            Seconds for which this process leaves the task alone; 0 after an attempt.

        Raises:
            CancelledError: this was cancelled; the attempt does not count.
        """
        try:
            return await self._attempt(line)
        finally:
            self._cancelled.pop(line.run_id, None)
            self._killing.pop(line.run_id, None)

    async def _attempt(self, line: TaskLine) -> float:
        run_id, began = line.run_id, self._journal.now()
        child = await self._child_for((line.agent, line.tenant))
        if child is None:
            await leave_unfit(self._journal, run_id, "no process for tasks becomes ready here", clock=self._clock)
            return FAILED_START_S
        kill = self._killing[run_id] = asyncio.Event()
        asked = asyncio.ensure_future(child.ask(msgspec.json.encode(TaskOrder(run_id))))
        killed = asyncio.ensure_future(kill.wait())
        limit = self._clock.timeout(line.limit_s(self._clock.now()))
        try:
            async with limit:
                await asyncio.wait([asked, killed], return_when=asyncio.FIRST_COMPLETED)
        except TimeoutError:
            if not limit.expired():
                raise
            async with self._ending(child, asked, killed, run_id):
                await self._count(run_id, began)
                await settle(self._journal, run_id, clock=self._clock, ended=timed_out, worker=child.worker)
            return 0.0
        except asyncio.CancelledError:
            await asyncio.shield(self._put_back(child, asked, killed, run_id))
            raise
        if not asked.done():  # it was cancelled, and does not stop
            async with self._ending(child, asked, killed, run_id):
                await self._count(run_id, began)
                await settle(self._journal, run_id, clock=self._clock, ended=_cancelled)
            return 0.0
        killed.cancel()
        report = asked.result()
        await self._count(run_id, began)
        if report is None or report.run_id != run_id:
            await child.end()
            await settle(self._journal, run_id, clock=self._clock, worker=child.worker)
            return 0.0
        left_s = 0.0
        if report.left:
            left_s = left_for_s(line, self._clock.now()) if report.is_unfit else BUSY_S
            log.log(logging.WARNING if report.is_unfit else logging.INFO, "task %s was left: %s", run_id, report.left)
        await self._give_back(child, report)
        return left_s

    async def _count(self, run_id: str, since: float) -> None:
        """Count what the child has put on record. What this process writes down behind that counts elsewhere."""
        if self._counts is not None:
            with suppress(JournalError):
                await self._counts.count(run_id, since)

    @asynccontextmanager
    async def _ending(
        self,
        child: TaskChild,
        asked: asyncio.Future[TaskReport | None],
        killed: asyncio.Future[Literal[True]],
        run_id: str,
    ) -> AsyncIterator[None]:
        """End a child, and put on record why in a block: meanwhile no sweep takes the attempt for a lost one."""
        async with AsyncExitStack() as stack:
            with suppress(Busy, JournalError):  # the child is ended all the same
                await stack.enter_async_context(self._journal.claim(claim_of_end(run_id)))
            killed.cancel()
            await child.end()
            asked.cancel()
            await asyncio.wait([asked])
            yield

    async def _put_back(
        self,
        child: TaskChild,
        asked: asyncio.Future[TaskReport | None],
        killed: asyncio.Future[Literal[True]],
        run_id: str,
    ) -> None:
        """This dispatcher ends: the attempt is broken off, and does not count."""
        async with self._ending(child, asked, killed, run_id):
            with suppress(Busy, JournalError):
                await settle(self._journal, run_id, clock=self._clock, is_free=True, because="stopped")

    async def _watch_cancelled(self) -> None:
        """Kill a child that does not stop a task which was cancelled."""
        while True:
            await self._clock.sleep(CANCEL_LOOK_S)
            names = {claim_of_cancel(run_id): run_id for run_id in self._killing}
            if not names:
                continue
            with suppress(JournalError):
                now = self._clock.monotonic()
                for name in await self._journal.driven(list(names)):
                    since = self._cancelled.setdefault(names[name], now)
                    if now - since >= CANCEL_GRACE_S and (kill := self._killing.get(names[name])) is not None:
                        kill.set()

    # Children ---------------------------------------------------------------------------------------------------------

    async def _child_for(self, owner: tuple[str, str]) -> TaskChild | None:
        """A child for an agent and a tenant: one that has worked for them, the one that was started for the first task,
        also where that start is still under way, or a new one; None where none can be started.
        """
        child = next((each for each in self._idle if each.owner == owner), None)
        if child is not None:
            self._idle.remove(child)
        elif self._spare is not None:
            spare, self._spare = self._spare, None
            child = await spare
        if child is not None and child.has_exited:
            await child.end()
            child = None
        if child is None:
            while len(self._idle) >= self.settings.workers:  # those of others make room
                await self._idle.pop(0).end()
            child = await self._start()
        if child is not None:
            child.owner = owner
        return child

    async def _start(self) -> TaskChild | None:
        worker = f"{self._name}:{new_id('child')[-6:]}"
        try:
            child = TaskChild(await start_child(self._command, env=self._environment), worker)
        except OSError as error:
            log.error("no process for tasks can be started: %s", error)  # for a person
            return None
        hello = msgspec.json.encode(Hello(worker, Raw(self._setup)))
        try:
            async with asyncio.timeout(START_S):
                ready = await child.ask(hello)
        except TimeoutError:
            ready = None
        except asyncio.CancelledError:
            await asyncio.shield(child.end())
            raise
        if ready is None:
            log.error("a process for tasks does not become ready; what it wrote stands above")
            await child.end()
            return None
        return child

    async def _give_back(self, child: TaskChild, report: TaskReport) -> None:
        child.done += 1
        worn = child.done >= self.settings.tasks_max or report.memory_bytes > self.settings.memory_bytes_max
        if worn or report.is_spent or report.is_unfit or self._is_closing:
            await child.end()
        else:
            self._idle.append(child)


def left_for_s(line: TaskLine, now: float) -> float:
    """Seconds for which a task that this process can not build is left alone."""
    most = line.unbuilt_s(now)
    return LEFT_S if most is None or most <= 0 else min(LEFT_S, most + 0.001)


def _cancelled(state: RunState) -> Ended:
    """The end of a run that was cancelled and did not stop by itself."""
    return CANCELLED
