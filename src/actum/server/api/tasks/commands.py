"""How the operations of tasks are typed, and what a person is told of a task."""

from __future__ import annotations

from collections.abc import Mapping

from ....core.json import dumps
from ....core.run.task import DEAD
from ....features.command import AnswerText, Command, CommandOption, FoundBy, ListColumn
from .bodies import TaskAccepted, TaskDetails, TaskResult

FOUND_BY = FoundBy(operation="listTasks", field="task_id", about=("state", "agent"), noun="task")


def told_of(task: TaskDetails, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a task."""
    told = [
        AnswerText(task.task_id, "task"),
        AnswerText(task.state, "state"),
        AnswerText("", "accepted", at=task.queued),
    ]
    if task.progress is not None:
        told.append(AnswerText(dumps(task.progress), "progress"))
    for each in task.attempts:
        took = f", {each.ended - each.started:.1f} s" if each.ended is not None else ""
        told.append(AnswerText(f"{took} {each.error}".rstrip(), f"attempt {each.attempt}", at=each.started))
    told += [AnswerText(f"{each.message} (actum approvals show {each.id})", "waits for") for each in task.approvals]
    if task.reason:
        told.append(AnswerText(task.reason, "error"))
    if task.problem:
        told.append(AnswerText(task.problem, "problem"))
    if task.state in DEAD:
        told.append(AnswerText(f"actum tasks retry {task.task_id} begins it again", is_note=True))
    if task.handle is not None:
        told.append(
            AnswerText(f"The result has {task.handle.bytes} bytes: actum tasks result {task.task_id}", is_note=True)
        )
    elif task.result is not None:
        told.append(AnswerText(_text(task.result)))
    return told


def _begun(task: TaskAccepted, names: Mapping[str, str]) -> list[AnswerText]:
    return [
        AnswerText(task.task_id, "task"),
        AnswerText(task.state, "state"),
        AnswerText(f"To see how it goes: actum tasks wait {task.task_id}", is_note=True),
    ]


def _result(result: TaskResult, names: Mapping[str, str]) -> list[AnswerText]:
    return [] if result.result is None else [AnswerText(_text(result.result))]


def _text(value: object) -> str:
    return value if isinstance(value, str) else dumps(value)


LIST = Command(
    words=("tasks", "list"),
    help="List the latest tasks.",
    options={
        "limit": CommandOption(help="How many, the newest first."),
        "since": CommandOption(form="time", help="Only tasks accepted from then on: 24h, 90d, 2026-11-01."),
        "until": CommandOption(form="time", help="Only tasks accepted before then."),
        "agent": CommandOption(metavar="NAME"),
        "principal": CommandOption(metavar="NAME", help="Only tasks on behalf of this user."),
    },
    columns=(
        ListColumn("when", "queued", "moment"),
        ListColumn("state", "state"),
        ListColumn("task", "task_id"),
        ListColumn("agent", "agent"),
        ListColumn("attempt", "attempt"),
        ListColumn("error", "reason", other="problem"),
    ),
    empty="There are no tasks.",
)
SHOW = Command(
    words=("tasks", "show"),
    help="Show a task: its state, progress, attempts and result.",
    options={"wait": CommandOption(is_hidden=True)},
    found_by=FOUND_BY,
    default="last",
    show=told_of,
)
RESULT = Command(
    words=("tasks", "result"),
    help="Print the whole result of a task.",
    found_by=FOUND_BY,
    default="last",
    show=_result,
)
CANCEL = Command(
    words=("tasks", "cancel"),
    help="Cancel a task. What it is doing right now may have happened.",
    found_by=FOUND_BY,
    show=told_of,
)
RETRY = Command(
    words=("tasks", "retry"),
    help="Begin a task again that failed or timed out. What has an outcome is not done again.",
    found_by=FOUND_BY,
    show=_begun,
)
