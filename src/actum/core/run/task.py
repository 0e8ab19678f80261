"""A task: a run that outlives the request that asked for it. What may be asked of a task, and which states it has.

The record of the run is the truth. `task_line` folds the records of a run into one line (`TaskLine`), which every
journal in a database keeps in a table: an index, written in the transaction of the record that it follows from.

Pure: knows nothing of who carries a task out. See `actum.tasks`.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypedDict, get_args

from msgspec import Struct, structs

from ..json import Json

TaskState = Literal["queued", "running", "waiting", "retrying", "succeeded", "failed", "timed_out", "cancelled"]
"""`waiting` is for a person; `retrying` waits for the time of the next attempt."""

TaskEvent = Literal["queue", "start", "pause", "answer", "retry", "succeed", "fail", "time_out", "cancel"]
"""What can happen to a task; each event follows from one record of the run."""

TASK_STATES: tuple[TaskState, ...] = get_args(TaskState)

STEPS: dict[TaskState, dict[TaskEvent, TaskState]] = {
    "queued": {
        "start": "running",
        "pause": "waiting",
        "succeed": "succeeded",
        "fail": "failed",
        "time_out": "timed_out",
        "cancel": "cancelled",
    },
    "running": {
        "start": "running",
        "pause": "waiting",
        "retry": "retrying",
        "succeed": "succeeded",
        "fail": "failed",
        "time_out": "timed_out",
        "cancel": "cancelled",
    },
    "waiting": {
        "answer": "queued",
        "start": "running",
        "retry": "retrying",
        "succeed": "succeeded",
        "fail": "failed",
        "time_out": "timed_out",
        "cancel": "cancelled",
    },
    "retrying": {
        "start": "running",
        "pause": "waiting",
        "succeed": "succeeded",
        "fail": "failed",
        "time_out": "timed_out",
        "cancel": "cancelled",
    },
    "succeeded": {},
    "failed": {"queue": "queued"},
    "timed_out": {"queue": "queued"},
    "cancelled": {},
}
"""The states of a task: `state -> {event: next state}`. An event that a state does not name changes nothing."""

FINISHED = frozenset[TaskState]({"succeeded", "failed", "timed_out", "cancelled"})
"""The states in which nothing more happens by itself."""
DEAD = frozenset[TaskState]({"failed", "timed_out"})
"""The dead letters: tasks that were given up, and that `retry` begins again."""
ENDINGS: dict[TaskState, TaskEvent] = {
    "succeeded": "succeed",
    "failed": "fail",
    "timed_out": "time_out",
    "cancelled": "cancel",
}
"""The event that leads to each end."""

RunEnding = Literal["succeed", "pause", "fail", "time_out", "cancel", "error"]
"""What the end of a run means for its task: an event; or `error`, after which the task may be tried again."""

RETRIED = frozenset({"user_runs", "user_tokens", "user_cost"})
"""The reasons of a stopped run for which another attempt later makes sense: limits of the user that pass by."""

WORKFLOW_FAILED = "WorkflowFailed"
"""The reason of a run of a workflow whose node failed. The failure is on record: another attempt would end with it."""
TIMED_OUT = "timed_out"
"""The reason of a run that was ended at the time limit of its attempt."""
WORKER_LOST = "worker_lost"
"""The error of an attempt whose process ended before the run did."""
DEADLINE = "deadline"
"""The error of a task whose deadline has passed."""
UNFIT = "unfit"
"""The error of a task that no process could build for as long as one attempt may take."""


def meaning_of(status: str, reason: str) -> RunEnding:
    """What the end of a run means for its task.

    Args:
        status, reason: of the record `Ended`.

    >>> meaning_of("done", ""), meaning_of("stopped", "cancelled"), meaning_of("stopped", "calls")
    ('succeed', 'cancel', 'fail')
    >>> meaning_of("failed", "ModelUnavailable"), meaning_of("stopped", "timed_out")
    ('error', 'time_out')
    >>> meaning_of("failed", "WorkflowFailed")
    'fail'
    """
    if status == "done":
        return "succeed"
    if status == "paused":
        return "pause"
    if reason == WORKFLOW_FAILED:
        return "fail"
    if status == "failed" or reason in RETRIED:
        return "error"
    if reason == "cancelled":
        return "cancel"
    return "time_out" if reason == TIMED_OUT else "fail"


class Backoff(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How long to wait between two attempts.

    Attributes:
        base: seconds before the second attempt.
        factor: each further wait is longer than the wait before by this factor.
        cap: the longest wait, in seconds.
        jitter: each wait differs by up to this part of its length, so that tasks which failed together do not come
            back together.
    """

    base: float = 1.0
    factor: float = 2.0
    cap: float = 60.0
    jitter: float = 0.1

    def delay_s(self, attempt: int, run_id: str) -> float:
        """Seconds between an attempt that failed and the next.

        Args:
            attempt: the number of the attempt that failed, from 1.
            run_id: decides the jitter, so that the same task always waits the same time.

        >>> [round(Backoff(jitter=0).delay_s(attempt, "run_1")) for attempt in range(1, 9)]
        [1, 2, 4, 8, 16, 32, 60, 60]
        """
        try:
            wait = min(self.base * self.factor ** (attempt - 1), self.cap)
        except OverflowError:
            wait = self.cap
        drawn = hashlib.sha256(f"{run_id} {attempt}".encode()).digest()
        part = int.from_bytes(drawn[:4], "big") / 2**32  # from 0 to 1
        return max(0.0, wait * (1 + self.jitter * (2 * part - 1)))


class TaskOptions(Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a caller may say of a task beside the arguments. Times are seconds; points in time, seconds since 1970.

    Attributes:
        max_retries: how often, at most, the run is gone on with after a failed attempt.
        backoff: how long to wait between attempts.
        timeout_s: how long one attempt may take; None for no limit.
        deadline: the whole task has to be over by then; None for no limit.
        not_before: the first attempt begins then at the earliest; None for at once.
        priority: tasks of a higher priority begin first; from 0 to 9.
        unique_key: the same key of the same user gives the same task; empty for a task of its own.
        webhook: the address that is told when the task has ended; empty for none.
        webhook_result: the message to that address also holds the result.
        in_process: by the word of the operator the local dispatcher makes the call in its own process, and not in a
            child. Nothing can end such a call that does not want to end.
    """

    max_retries: int = 0
    backoff: Backoff = Backoff()
    timeout_s: float | None = None
    deadline: float | None = None
    not_before: float | None = None
    priority: int = 5
    unique_key: str = ""
    webhook: str = ""
    webhook_result: bool = False
    in_process: bool = False


class TaskLine(Struct, frozen=True, kw_only=True):
    """A task in the list of tasks: an index of the journal, written with the run's records.

    Attributes:
        run_id: the run, whose id is also the task's.
        tenant, principal: the user on whose behalf the task runs.
        agent: the name of the run on record.
        state: see `STEPS`.
        priority: see `TaskOptions`.
        due: the next attempt begins then at the earliest, in seconds since 1970.
        attempt: the number of the latest attempt that was begun; 0 before the first.
        first: the number of the first attempt that counts against `max_retries`: 1, until a dead letter is begun again.
        queued: when the task was accepted.
        changed: when the state was last written.
        ended: when the task ended; None while it has not.
        home: the name of the service in whose own process the task has to run, since nobody else can build what it
            needs; empty for any worker.
        digest: a digest of what was asked for, by which the same key with other arguments is found out.
        error: why the latest attempt failed, or the task ended.
        worker: the process that began the latest attempt.
        options: what was asked for.
        problem: why the process that last took the task up could not build what the task needs; empty where the task
            has begun since, or nobody had such a problem. For the operator: the text may name files. Not on record.
    """

    run_id: str
    tenant: str
    principal: str
    agent: str
    state: TaskState
    priority: int
    due: float
    attempt: int
    first: int
    queued: float
    changed: float
    ended: float | None
    home: str
    digest: str
    error: str
    worker: str
    options: TaskOptions
    problem: str = ""

    @property
    def is_finished(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in FINISHED

    def with_problem(self, progress: TaskProgress) -> TaskLine:
        """This line with the problem that was told last, as long as the task still waits to be begun."""
        waits = self.state in ("queued", "retrying")
        return structs.replace(self, problem=progress.problem) if waits and progress.problem else self

    def limit_s(self, now: float) -> float | None:
        """Seconds that an attempt may take which begins now; None for no limit."""
        limits = [self.options.timeout_s]
        if self.options.deadline is not None:
            limits.append(max(0.0, self.options.deadline - now))
        return min((limit for limit in limits if limit is not None), default=None)

    def unbuilt_s(self, now: float) -> float | None:
        """Seconds for which this task may still wait for a process that can build what it needs: as long as an attempt
        may take, from the time when the task was due; None for no limit.
        """
        return None if self.options.timeout_s is None else self.due + self.options.timeout_s - now

    @property
    def may_retry(self) -> bool:
        """Whether another attempt is allowed after the latest."""
        return self.attempt - self.first < self.options.max_retries


class TaskAttempt(Struct, frozen=True, kw_only=True):
    """One attempt at a task.

    Attributes:
        attempt: its number, from 1.
        started: when it was begun, in seconds since 1970.
        ended: when its end was recorded; None while it is under way.
        worker: the process that began it.
        error: why it failed; empty where it did not, or is under way.
    """

    attempt: int
    started: float
    ended: float | None = None
    worker: str = ""
    error: str = ""


class TaskFilter(TypedDict, total=False):
    """Which tasks of a list are wanted; what is left out, None or empty fits all, unless something else is said.

    Attributes:
        tenant: only tasks of this tenant, which may be `""`; None for all.
        principal: only tasks on behalf of this principal, which may be `""`; None for all.
        agent: only tasks of this name.
        state: only tasks in this state.
        since, until: only those accepted from the one on and before the other, in seconds since 1970.
    """

    tenant: str | None
    principal: str | None
    agent: str
    state: str
    since: float | None
    until: float | None


class TaskFigure(Struct, frozen=True, kw_only=True):
    """How many tasks of one priority are in one state.

    Attributes:
        state: the state; never `succeeded` or `cancelled`, about which there is nothing to do.
        priority: see `TaskOptions`.
        count: how many tasks.
        since: of those that could begin now, since when the first of them has waited; None where none could.
    """

    state: TaskState
    priority: int
    count: int
    since: float | None = None


class TaskProgress(Struct, frozen=True, omit_defaults=True):
    """How far a task is. Not on record.

    Attributes:
        value: what its running tool told last.
        at: when that was told, in seconds since 1970.
        problem: of a task that waits: see `TaskLine`.
    """

    value: Json
    at: float
    problem: str = ""
