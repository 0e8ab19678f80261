"""One attempt at a task, carried out in this process: claimed, put on record, gone on with, and settled.

A run ends by its own record (`Ended`). What follows from that for the task is decided here, by `verdict`, and by nobody
else: the process that made the attempt writes it down, or the sweep does, where that process ended before. Both
read the record under the run's claim, so it is decided once.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from contextlib import suppress

from msgspec import Struct

from ..core.errors import ActumError, Busy, JournalError, ReplayDiverged, UsageError
from ..core.event import CallProgress, Event
from ..core.interfaces import Clock, Journal
from ..core.process.claim import claim_of_cancel
from ..core.run.record import Ended, Entry, TaskEnded, TaskQueued, TaskRetrying, TaskStarted
from ..core.run.summary import summary_of
from ..core.run.task import DEADLINE, TIMED_OUT, UNFIT, WORKER_LOST, TaskLine, TaskState, meaning_of
from ..core.run.task_line import line_of, task_line
from ..core.secrets.given import GIVEN
from ..core.under_way import outside
from ..journal.recording import CallRef, RunState
from ..runs.ended_below import CANCELLED, end_runs_below
from ..runs.run import Stopping
from .builder import Builder, Unfit

log = logging.getLogger("actum.tasks")

LOOK_S = 0.5
"""Seconds between two looks whether somebody wants a task cancelled."""
PROGRESS_S = 0.5
"""The least seconds between two notes of a running tool's progress that are written down."""
CLAIM_S = 10.0
"""Seconds to wait for the claim of a run whose process has just ended."""
POLL_S = 0.05


class NotNow(UsageError):
    """The task is not to be begun now: it is not due, waits for a person, or is over."""


class LeftTask(Struct, frozen=True):
    """A task that was left for somebody else, or for later.

    Attributes:
        reason: why, for the log.
        is_unfit: this process can not build what the task needs; another may.
    """

    reason: str
    is_unfit: bool = False


async def attempt(
    journal: Journal,
    builder: Builder,
    run_id: str,
    *,
    clock: Clock,
    worker: str,
    stopping: Stopping | None = None,
) -> TaskLine | LeftTask:
    """Make the next attempt at a task, up to its end or its next pause.

    Args:
        journal: where the task is on record.
        builder: builds what goes on with the run.
        run_id: the task.
        clock: the time.
        worker: what this process is called on record.
        stopping: says why this is cancelled, where it is.

    Returns:
        The line of the task after the attempt; or why there was none.

    Raises:
        CancelledError: this was cancelled; what the task came to is on record.
    """
    stopping = stopping or Stopping()
    begun = False

    def begins(entries: Sequence[Entry]) -> TaskStarted:
        nonlocal begun
        started = next_start(run_id, entries, clock.now(), worker)
        begun = True
        return started

    try:
        entries = await journal.read(run_id)
        if _is_done_beside(run_id, entries):
            line = await settle(journal, run_id, clock=clock)
            return line if line is not None else LeftTask("the run was forgotten")
        next_start(run_id, entries, clock.now(), worker)  # or nothing is built
        resumable = await builder.build(RunState(entries[:1]).beginning())
        progress = TaskReporter(journal, run_id, clock)
        with outside():  # a call that queued the task does not wait for it
            await resumable.resume(run_id, emit=progress.hear, begins=begins, stopping=stopping)
    except (Unfit, ReplayDiverged) as error:
        return await leave_unfit(journal, run_id, str(error), clock=clock)
    except asyncio.CancelledError:
        if begun:
            await asyncio.shield(settle(journal, run_id, clock=clock, is_free=stopping.is_interrupted))
        elif stopping.reason == TIMED_OUT:  # or it would be begun for ever where a machine is slower than the limit
            await asyncio.shield(settle(journal, run_id, clock=clock, ended=timed_out, worker=worker))
        raise
    except Exception as error:
        if not begun:
            if not isinstance(error, ActumError):
                log.exception("task %s could not be begun", run_id)
            return LeftTask(GIVEN.without(str(error) or type(error).__name__))
        if not isinstance(error, ActumError):
            log.info("task %s: the run failed: %s", run_id, type(error).__name__)
    line = await settle(journal, run_id, clock=clock)
    return line if line is not None else LeftTask("the run was forgotten")


async def leave_unfit(journal: Journal, run_id: str, problem: str, *, clock: Clock) -> LeftTask:
    """Leave a task that this process can not build to another, and say why. A task that has waited for such a process
    for as long as one attempt may take has failed.

    Args:
        journal: where the task is on record.
        run_id: the task.
        problem: why it can not be built, for the operator.
        clock: the time.

    Raises:
        JournalError: nothing can be read or written.
    """
    left = LeftTask(problem, is_unfit=True)
    if (index := journal.tasks) is None:
        return left
    index.tell_progress(run_id, None, clock.now(), problem=problem)
    line = await index.find(run_id)
    if line is None or not _is_unbuilt_for_long(line, clock.now()):
        return left
    with suppress(Busy):  # somebody could build it just now
        async with journal.claim(run_id):
            entries = await journal.read(run_id)
            line = line_of(run_id, entries)
            if line is not None and _is_unbuilt_for_long(line, clock.now()):
                await _append(journal, run_id, entries, TaskEnded("failed", UNFIT))
                await journal.sync(run_id)
    return left


def _is_unbuilt_for_long(line: TaskLine, now: float) -> bool:
    left_s = line.unbuilt_s(now)
    return line.state in ("queued", "retrying") and left_s is not None and left_s <= 0


def next_start(run_id: str, entries: Sequence[Entry], now: float, worker: str) -> TaskStarted:
    """The record by which the next attempt at a task begins.

    Args:
        run_id: the task.
        entries: of its run.
        now: seconds since 1970.
        worker: the process that makes the attempt.

    Raises:
        NotNow: there is to be no attempt now.
    """
    line = line_of(run_id, entries)
    if line is None:
        raise NotNow("run {run!r} is no task", run=run_id)
    if line.state not in ("queued", "retrying"):
        raise NotNow("task {run!r} is {standing}", run=run_id, standing=line.state)
    if _is_done_beside(run_id, entries):
        raise NotNow("the run of task {run!r} is done", run=run_id)
    if line.due > now:
        raise NotNow("task {run!r} is not due", run=run_id)
    if line.options.deadline is not None and line.options.deadline <= now:
        raise NotNow("the deadline of task {run!r} has passed", run=run_id)
    goes_on = line.state == "queued" and line.attempt >= line.first  # it waited for a person within this attempt
    return TaskStarted(line.attempt if goes_on else line.attempt + 1, worker)


async def settle(
    journal: Journal,
    run_id: str,
    *,
    clock: Clock,
    is_free: bool = False,
    ended: Callable[[RunState], Ended] | None = None,
    because: str = WORKER_LOST,
    wait_s: float = CLAIM_S,
    worker: str = "",
) -> TaskLine | None:
    """Write down what follows from the end of an attempt, whose process does not carry it out any more.

    Args:
        journal: where the task is on record.
        run_id: the task.
        clock: the time.
        is_free: an attempt that was broken off does not count against `max_retries`.
        ended: makes the end of a run that has none, where it is known why, such as a time limit.
        because: why an attempt has no end, where nothing else is known.
        wait_s: the seconds to wait for the claim of the run.
        worker: a process that was given the task and has ended. Where it ended before it put the attempt on record,
            the attempt counts all the same: else a task whose code can not be loaded would come back for ever.

    Returns:
        The line of the task; None where it is forgotten.

    Raises:
        Busy: somebody carries the task out.
        JournalError: nothing can be written.
    """
    until = clock.monotonic() + wait_s
    while True:
        try:
            async with journal.claim(run_id):
                entries = await journal.read(run_id)
                if worker:
                    with suppress(NotNow):
                        journal.append(run_id, next_start(run_id, entries, clock.now(), worker))
                        entries = await journal.read(run_id)
                if ended is not None and _is_under_way(run_id, entries):
                    end = ended(RunState(entries))
                    if end == CANCELLED:  # ends the task as well
                        await end_runs_below(journal, run_id, end)
                    journal.append(run_id, end)
                    entries = await journal.read(run_id)
                record = verdict(run_id, entries, clock.now(), is_free=is_free, because=because)
                line = line_of(run_id, entries)
                if record is not None and line is not None:
                    await _append(journal, run_id, entries, record)
                    line = task_line(None, line, record, clock.now())
                await journal.sync(run_id)
                return line
        except Busy:
            if clock.monotonic() >= until:
                raise
            await clock.sleep(POLL_S)


async def _append(journal: Journal, run_id: str, entries: Sequence[Entry], record: TaskRetrying | TaskEnded) -> None:
    """Write down what follows for a task. A task that is over ends its run, too, where the run has no end, and the runs
    below: nobody goes on with them by themselves, so that they would be listed as interrupted, and their trace would
    stay open. What the runs were doing stays in doubt, and `retry` goes on with them.
    """
    if isinstance(record, TaskEnded) and record.state != "succeeded":
        is_late = record.state == "timed_out"
        end = Ended("stopped", "", TIMED_OUT) if is_late else Ended("failed", "", record.error)
        await end_runs_below(journal, run_id, end)
        run = summary_of(run_id, entries)
        if _is_under_way(run_id, entries) or (run is not None and run.status == "running"):
            journal.append(run_id, end)
    journal.append(run_id, record)


def _is_under_way(run_id: str, entries: Sequence[Entry]) -> bool:
    """Whether an attempt was begun whose end is not on record."""
    line = line_of(run_id, entries)
    return line is not None and line.state == "running" and _end_of_attempt(entries) is None


def _end_of_attempt(entries: Sequence[Entry]) -> Ended | None:
    """How the run ended in the latest attempt; None where nothing tells. A run may also have ended just before it
    became a task, while its client still waited.
    """
    records = [entry.record for entry in reversed(entries)]
    for at, record in enumerate(records):
        if isinstance(record, Ended):
            return record
        if isinstance(record, TaskStarted):
            queued, ended = (*records[at + 1 : at + 3], None, None)[:2]
            return ended if isinstance(queued, TaskQueued) and isinstance(ended, Ended) else None
    return None


def _is_done_beside(run_id: str, entries: Sequence[Entry]) -> bool:
    """Whether the run of a waiting or queued task is done: another process went on with the run outside of the queue,
    and was killed before it settled the task.
    """
    line, ended = line_of(run_id, entries), _end_of_attempt(entries)
    waits = line is not None and not line.is_finished and line.state != "running"
    return waits and ended is not None and ended.status == "done"


def verdict(
    run_id: str, entries: Sequence[Entry], now: float, *, is_free: bool = False, because: str = WORKER_LOST
) -> TaskRetrying | TaskEnded | None:
    """What follows from the record of a run for its task, when nobody carries the run out.

    Args:
        run_id: the task.
        entries: of its run.
        now: seconds since 1970.
        is_free, because: as for `settle`.

    Returns:
        The record that is to be written; None where nothing follows.
    """
    line = line_of(run_id, entries)
    if line is None or line.is_finished:
        return None
    late = line.options.deadline is not None and line.options.deadline <= now
    ended = _end_of_attempt(entries)
    if line.state != "running":
        if ended is not None and ended.status == "done":  # somebody went on with the run beside the queue
            return _succeeded(entries)
        return TaskEnded("timed_out", DEADLINE) if late else None
    if ended is None:
        return _again(line, because, now, "failed", is_free=is_free)
    reason = ended.reason or ended.status
    match meaning_of(ended.status, ended.reason):
        case "succeed":
            return _succeeded(entries)
        case "error":
            return _again(line, reason, now, "failed")
        case "time_out":
            return _again(line, TIMED_OUT, now, "timed_out")
        case "fail":
            return TaskEnded("failed", reason)
        case _:
            return None  # the fold has said so: it waits, or was cancelled


def _again(
    line: TaskLine, error: str, now: float, otherwise: TaskState, *, is_free: bool = False
) -> TaskRetrying | TaskEnded:
    """Another attempt, where there may be one."""
    if is_free:
        return TaskRetrying(line.attempt, error, now, free=True)
    if not line.may_retry:
        return TaskEnded(otherwise, error)
    due = now + line.options.backoff.delay_s(line.attempt - line.first + 1, line.run_id)
    if line.options.deadline is not None and due >= line.options.deadline:
        return TaskEnded("timed_out", DEADLINE)
    return TaskRetrying(line.attempt, error, due)


def _succeeded(entries: Sequence[Entry]) -> TaskEnded:
    """The end of a task whose run is done: of a direct call that has an error, the task has failed."""
    state = RunState(entries)
    for cause, requested in state.requested:
        for index in range(len(requested.calls)):
            known = state.outcome(CallRef(cause, index))
            if known is not None and known[0].error is not None:
                return TaskEnded("failed", known[0].error.code)
    return TaskEnded("succeeded")


def timed_out(state: RunState) -> Ended:
    """The end of a run whose attempt was ended at its time limit. What it was doing then is in doubt."""
    return Ended("stopped", "", TIMED_OUT)


class TaskReporter:
    """Writes down what running tools tell of their progress.

    Args:
        journal: with the list of tasks.
        run_id: the task.
        clock: the time.
    """

    def __init__(self, journal: Journal, run_id: str, clock: Clock) -> None:
        self._tasks = journal.tasks
        self._run_id = run_id
        self._clock = clock
        self._latest = -PROGRESS_S

    def hear(self, event: Event) -> None:
        """Take in an event of the run."""
        if self._tasks is None or not isinstance(event, CallProgress):
            return
        if self._clock.monotonic() - self._latest >= PROGRESS_S:
            self._latest = self._clock.monotonic()
            self._tasks.tell_progress(self._run_id, event.value, self._clock.now())


async def until_cancelled(journal: Journal, run_id: str, clock: Clock) -> None:
    """Return when somebody wants a run cancelled; see `core.process.claim.claim_of_cancel`."""
    name = claim_of_cancel(run_id)
    while True:
        await clock.sleep(LOOK_S)
        with suppress(JournalError):  # asked again; the one who cancels is told that the journal fails
            if await journal.driven([name]):
                return


async def attempt_in_time(
    journal: Journal,
    builder: Builder,
    run_id: str,
    *,
    clock: Clock,
    worker: str,
    timeout_s: float | None,
    stopping: Stopping | None = None,
) -> TaskLine | LeftTask:
    """`attempt` in this process, ended at its time limit and when somebody wants it cancelled, as far as a run can be
    ended from within its process.

    Args:
        timeout_s: the time limit; None for none.
        journal, builder, run_id, clock, worker, stopping: as for `attempt`.
    """
    stopping = stopping or Stopping()
    work = asyncio.ensure_future(attempt(journal, builder, run_id, clock=clock, worker=worker, stopping=stopping))
    watch = asyncio.ensure_future(until_cancelled(journal, run_id, clock))
    limit = clock.timeout(timeout_s)
    try:
        async with limit:
            await asyncio.wait([work, watch], return_when=asyncio.FIRST_COMPLETED)
    except TimeoutError:
        if not limit.expired():
            raise
        stopping.reason = TIMED_OUT
    finally:
        watch.cancel()
        if not work.done():
            work.cancel()
            await asyncio.wait([work])
    if not work.cancelled():
        return work.result()
    return line_of(run_id, await journal.read(run_id)) or LeftTask("the run was forgotten")
