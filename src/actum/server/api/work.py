"""Runs that this process carries out, each in a task of its own: a client that hangs up ends none of them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import partial

from ...core.errors import ReplayDiverged
from ...core.event import Event, RunResult, RunStarted
from ...core.process.claim import busy
from ...features.refusal import Refusal
from ...runs.options import Emit
from .spoken import SpokenWords

log = logging.getLogger("actum.api")

CANCEL_S = 10.0
"""Seconds that a request waits for a run that it cancelled."""


class RunJob:
    """A run under way in this process.

    Args:
        request: the digest of the request that started the run.
        make: carries the run out, and tells what happens.
        hear: is told each event of the run.

    Attributes:
        task: the task that carries the run out.
        begun: done when the run is on record, or has ended.
    """

    def __init__(
        self, request: str, make: Callable[[Emit], Coroutine[object, object, RunResult]], hear: Callable[[Event], None]
    ) -> None:
        self.request = request
        self._passed_on = hear
        self.begun = asyncio.get_running_loop().create_future()
        self._is_recorded = self._is_cancelled = False
        self.task = asyncio.create_task(make(self._hear))
        self.task.add_done_callback(lambda _: self._tell())

    @property
    def is_recorded(self) -> bool:
        """Whether the run is on record."""
        return self._is_recorded

    def cancel(self) -> None:
        """Cancel the run. A second word changes nothing: the run may be about to write down how far it came."""
        if not self._is_cancelled:
            self._is_cancelled = True
            self.task.cancel()

    def _hear(self, event: Event) -> None:
        if isinstance(event, RunStarted):
            self._is_recorded = True
            self._tell()
        self._passed_on(event)

    def _tell(self) -> None:
        if not self.begun.done():
            self.begun.set_result(None)


class Work:
    """The runs under way in this process that were asked for by our own API.

    Attributes:
        paused: the runs that were let go of here until somebody answers; an answer in another process is looked for.
        spoken: what the models of these runs are saying.
    """

    def __init__(self) -> None:
        self.spoken = SpokenWords()
        self.paused: set[str] = set()
        self._jobs: dict[str, RunJob] = {}
        self._afterwards: set[asyncio.Task[None]] = set()
        self._is_closing = False

    def get(self, run_id: str) -> RunJob | None:
        """The job that carries out a run here; None where there is none."""
        return self._jobs.get(run_id)

    def start(self, run_id: str, request: str, make: Callable[[Emit], Coroutine[object, object, RunResult]]) -> RunJob:
        """Carry out a run.

        Args:
            run_id: the run.
            request: the digest of the request that starts the run; empty where none is known.
            make: makes what carries the run out.

        Raises:
            Refusal: the server stops.
            Busy: the run is under way here.
        """
        if self._is_closing:
            raise Refusal(503, "stopping", "This server is stopping. Try again in a moment.", retry_after=1.0)
        if run_id in self._jobs:
            raise busy(run_id)
        self.paused.discard(run_id)
        self.spoken.begin(run_id)
        job = self._jobs[run_id] = RunJob(request, make, partial(self.spoken.hear, run_id))
        job.task.add_done_callback(lambda task: self._end(run_id, task))
        return job

    def _end(self, run_id: str, task: asyncio.Task[RunResult]) -> None:
        self._jobs.pop(run_id, None)
        self.spoken.end(run_id)
        if task.cancelled():
            return
        error = task.exception()
        if isinstance(error, ReplayDiverged):
            log.warning("a run is not gone on with: %s", error)
        elif error is not None:
            log.info("run %s has failed: %s", run_id, type(error).__name__)  # the record has the error
        elif task.result().status == "paused":
            self.paused.add(run_id)

    def when_ended(self, run_id: str, act: Callable[[], Coroutine[object, object, None]]) -> None:
        """Do something as soon as no job carries out a run here.

        Args:
            run_id: the run.
            act: what to do. An error of it is logged.
        """

        def begin(_: object = None) -> None:
            if not self._is_closing:
                task = asyncio.create_task(act())
                self._afterwards.add(task)
                task.add_done_callback(self._end_act)

        job = self._jobs.get(run_id)
        if job is None:
            begin()
        else:
            job.task.add_done_callback(begin)

    def _end_act(self, task: asyncio.Task[None]) -> None:
        self._afterwards.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("a run that was answered is not gone on with: %s", error)

    async def cancel(self, run_id: str) -> bool:
        """Cancel a run that is under way here, and wait until it has stopped.

        Returns:
            Whether there was such a run.
        """
        job = self._jobs.get(run_id)
        if job is None:
            return False
        job.cancel()
        await asyncio.wait([job.task], timeout=CANCEL_S)
        return True

    def refuse_new(self) -> None:
        """From now on start no run."""
        self._is_closing = True

    async def close(self, drain_s: float) -> None:
        """Wait for the runs under way, and cancel those that take longer; what they did by then is on record.

        Args:
            drain_s: the seconds that they may take.
        """
        self.refuse_new()
        for each in self._afterwards:
            each.cancel()
        tasks = [job.task for job in self._jobs.values()]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=drain_s)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=CANCEL_S)
