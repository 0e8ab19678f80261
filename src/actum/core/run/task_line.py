"""The line of a task in the list of tasks, and its attempts: folds of the records of its run.

Every journal that keeps the list applies `task_line` in the transaction of the record. Code that reads a run applies
the same function to its entries. So the list and the record can not disagree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, get_args

from msgspec.structs import replace

from .record import (
    Ended,
    Entry,
    Forgotten,
    InputGiven,
    Record,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
)
from .summary import RunSummary, is_telling, summarize
from .task import ENDINGS, STEPS, TaskAttempt, TaskEvent, TaskLine, meaning_of

if TYPE_CHECKING:
    from typing_extensions import TypeIs

TaskTelling = TaskQueued | TaskStarted | TaskRetrying | TaskEnded | Ended | InputGiven | Forgotten
"""The records that change a task's line in the list of tasks."""
_TELLING = frozenset(get_args(TaskTelling))


def may_tell_of_task(record: Record) -> TypeIs[TaskTelling]:
    """Whether a record changes the line of a task, where the run is one."""
    return type(record) in _TELLING


def task_line(run: RunSummary | None, before: TaskLine | None, record: TaskTelling, at: float) -> TaskLine | None:
    """The line of a task after one more record.

    Args:
        run: the run's line in the list of runs; None where `before` is known.
        before: the line before; None where the run is no task.
        record: the record.
        at: when it was written, in seconds since 1970.

    Returns:
        The line; None where the run is no task, or is forgotten.
    """
    if isinstance(record, TaskQueued) and before is None and run is not None:
        return TaskLine(
            run_id=run.run_id,
            tenant=run.tenant,
            principal=run.principal,
            agent=run.agent,
            state="queued",
            priority=record.options.priority,
            due=record.due,
            attempt=0,
            first=1,
            queued=at,
            changed=at,
            ended=None,
            home=record.home,
            digest=record.digest,
            error="",
            worker="",
            options=record.options,
        )
    if before is None or isinstance(record, Forgotten):
        return None
    event = event_of(record)
    following = STEPS[before.state].get(event) if event is not None else None
    if following is None:
        return before
    line = replace(before, state=following, changed=at, ended=at if following in ENDINGS else None)
    match record:
        case TaskQueued():
            return replace(
                line,
                due=record.due,
                first=line.attempt + 1,
                error="",
                home=record.home,
                priority=record.options.priority,
                options=record.options,
            )
        case TaskStarted():
            return replace(line, attempt=record.attempt, worker=record.worker)
        case TaskRetrying():
            return replace(line, due=record.due, error=record.error, first=line.first + record.free)
        case TaskEnded():
            return replace(line, error=record.error)
        case InputGiven():
            return replace(line, due=at)
        case Ended():
            return replace(line, error=record.reason if following in ENDINGS else line.error)


def event_of(record: TaskTelling) -> TaskEvent | None:
    """What a record means for the task. How a run ended decides by itself only where the run waits or was cancelled;
    else `TaskRetrying` or `TaskEnded` follows.
    """
    match record:
        case TaskQueued():
            return "queue"
        case TaskStarted():
            return "start"
        case TaskRetrying():
            return "retry"
        case TaskEnded():
            return ENDINGS.get(record.state)
        case InputGiven():
            return "answer"
        case Ended():
            meaning = meaning_of(record.status, record.reason)
            return meaning if meaning in ("pause", "cancel") else None
        case Forgotten():
            return None


def line_of(run_id: str, entries: Iterable[Entry]) -> TaskLine | None:
    """The line of a task, as the entries of its run say that it must be; None where the run is no task.

    Raises:
        JournalError: an entry can not be read.
    """
    run: RunSummary | None = None
    line: TaskLine | None = None
    for entry in entries:
        record = entry.record
        if is_telling(record):
            run = summarize(run_id, run, record, entry.at)
        if run is not None and may_tell_of_task(record):
            line = task_line(run, line, record, entry.at)
    return line


def attempts_of(entries: Sequence[Entry]) -> list[TaskAttempt]:
    """The attempts at a task, in order. An attempt that waited for a person and went on is one attempt.

    Raises:
        JournalError: an entry can not be read.
    """
    found: dict[int, TaskAttempt] = {}
    latest = 0
    for entry in entries:
        record = entry.record
        match record:
            case TaskStarted():
                latest = record.attempt
                known = found.get(latest) or TaskAttempt(attempt=latest, started=entry.at, worker=record.worker)
                found[latest] = replace(known, ended=None, worker=record.worker)
            case TaskRetrying() if record.attempt in found:
                attempt = found[record.attempt]
                found[record.attempt] = replace(attempt, ended=attempt.ended or entry.at, error=record.error)
            case TaskEnded() if latest in found:
                attempt = found[latest]
                found[latest] = replace(attempt, ended=attempt.ended or entry.at, error=record.error)
            case Ended() if latest in found:
                error = "" if record.status in ("done", "paused") else record.reason or record.status
                found[latest] = replace(found[latest], ended=entry.at, error=error)
            case _:
                pass
    return [found[attempt] for attempt in sorted(found)]
