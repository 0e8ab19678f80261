"""`/v1/tasks`: calls and runs that outlive the request that asked for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import asdict, replace

from ....core.call import Failure
from ....core.errors import TaskRefused, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import Json
from ....core.run.task import TaskLine
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal, not_found
from ....journal.lists import read_cursor, write_cursor
from ....tasks.queue import RESULT_BYTES_MAX, TaskView, view_of
from ...scopes import allows
from ..approvals.bodies import Approval, waiting_in
from ..calls import FAILED, call_failure, call_value
from ..examples import ASKED_AT, RUN
from . import commands
from .accepting import accepted, refusal_of
from .bodies import (
    ResultHandle,
    TaskAccepted,
    TaskDetails,
    TaskInfo,
    TaskPage,
    TaskQuery,
    TaskResult,
    TasksQuery,
    TaskTry,
)

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of


async def get_task(api: Api, asked: ApiRequest[TaskQuery, None]) -> ApiReply:
    """How a task stands; waited for, where the caller wants that."""
    run_id, who, seconds = asked.names["id"], asked.who, asked.query.wait
    try:
        if seconds:
            view = await api.tasks.wait(run_id, seconds, tenant=asked.tenant, principal=_principal(who))
        else:
            view = await api.tasks.look(run_id, tenant=asked.tenant, principal=_principal(who))
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(await _details(api, view, _of_tenant(who, view.line)))


async def get_result(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The whole result of a task."""
    who = asked.who
    try:
        view = await api.tasks.look(asked.names["id"], tenant=asked.tenant, principal=_principal(who))
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(TaskResult(result=_result(await _seen(api, view, who))))


async def _seen(api: Api, view: TaskView, who: Identity) -> TaskView:
    """A task as the caller may see it: without values with a label that the caller may not read."""
    run_id = view.line.run_id
    entries = await api.journal.read(run_id)
    mask = await api.records.mask_of(run_id, entries, who)
    shown = mask.of_run(entries)
    if shown is entries:
        return view
    outputs = None if view.outputs is None else {name: mask.value(each) for name, each in view.outputs.items()}
    told = view.progress
    progress = None if told is None else replace(told, value=mask.value(told.value))
    return replace(view_of(run_id, shown, progress), outputs=outputs)


async def list_tasks(api: Api, asked: ApiRequest[TasksQuery, None]) -> ApiReply:
    """The caller's tasks, the latest first."""
    query, who = asked.query, asked.who
    if query.principal not in ("", who.principal) and not allows(who, ("admin",)):
        raise Refusal(403, "scope", "The scope 'admin' is needed to see the tasks of another user.", scope=("admin",))
    principal = query.principal or None if allows(who, ("admin",)) else who.principal
    try:
        behind = read_cursor(query.cursor, str) if query.cursor else ""
        if behind:
            await api.tasks.look(behind, tenant=asked.tenant, principal=principal)
        lines = await api.tasks.list(
            limit=query.limit + 1,
            behind=behind,
            tenant=asked.tenant,
            principal=principal,
            agent=query.agent,
            state=query.state,
            since=query.since or None,
            until=query.until or None,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except UsageError:
        raise Refusal(404, "cursor", "This cursor is not known here: begin the list anew.") from None
    part = lines[: query.limit]
    following = write_cursor(part[-1].run_id) if len(lines) > len(part) else None
    return ApiReply(TaskPage(items=tuple(task_info(line, who) for line in part), next=following))


async def cancel_task(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Cancel a task."""
    who = asked.who
    try:
        await api.tasks.cancel(asked.names["id"], tenant=asked.tenant, principal=_principal(who))
        view = await api.tasks.look(asked.names["id"], tenant=asked.tenant, principal=_principal(who))
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(await _details(api, view, _of_tenant(who, view.line)))


async def retry_task(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Begin a dead letter again."""
    who = asked.who
    run_id = asked.names["id"]
    try:
        view = await api.tasks.look(run_id, tenant=asked.tenant, principal=_principal(who))
        of_tenant = _of_tenant(who, view.line)
        await api.check_go_on(of_tenant, await api.records.run(run_id, of_tenant))
        line = await api.tasks.retry(run_id, by=who.principal, tenant=asked.tenant, principal=_principal(who))
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except UnknownName:
        raise not_found("task") from None
    return accepted(line)


def _principal(who: Identity) -> str | None:
    """Whose tasks a caller may see; None for those of all users of the tenant."""
    return None if allows(who, ("admin",)) else who.principal


def _of_tenant(who: Identity, line: TaskLine) -> Identity:
    """The caller, as a user of the tenant of a task that the caller may see."""
    return who if who.tenant == line.tenant else replace(who, tenant=line.tenant)


UNBUILT = "No process here can carry this task out as it is set up; the task waits for one that can."
"""What is told of the problem of a task. Its own words name files, and are for the operator."""


def task_info(line: TaskLine, who: Identity) -> TaskInfo:
    """A task in a list, as a caller may see it."""
    return TaskInfo(
        task_id=line.run_id,
        state=line.state,
        agent=line.agent,
        principal=line.principal,
        priority=line.priority,
        queued=line.queued,
        due=line.due,
        attempt=line.attempt,
        changed=line.changed,
        ended=line.ended,
        reason=line.error,
        problem=(line.problem if allows(who, ("admin",)) else UNBUILT) if line.problem else None,
    )


async def _details(api: Api, view: TaskView, who: Identity) -> TaskDetails:
    view = await _seen(api, view, who)
    line, result = view.line, view.result
    waiting: tuple[Approval, ...] = ()
    if view.waiting:
        recorded = await api.records.run(line.run_id, who)
        waiting = waiting_in(await api.records.summary(recorded, who), await api.records.shown(recorded, who))
    info = task_info(line, who)
    told = _result(view)
    size = len(msgspec.json.encode(told)) if told is not None else 0
    handle = ResultHandle(bytes=size, url=f"/v1/tasks/{line.run_id}/result") if size > RESULT_BYTES_MAX else None
    return TaskDetails(
        **asdict(info),
        tool=view.tool,
        progress=view.progress.value if view.progress is not None else None,
        attempts=tuple(
            TaskTry(attempt=each.attempt, started=each.started, ended=each.ended, error=each.error)
            for each in view.attempts
        ),
        result=told if handle is None else None,
        handle=handle,
        error=call_failure(_failure(view)) if result is None or result.error is None else call_failure(result.error),
        approvals=waiting,
    )


def _result(view: TaskView) -> Json:
    if view.outputs is not None:
        return view.outputs
    if view.result is not None:
        return call_value(view.result)
    return view.text if view.line.state == "succeeded" and not view.tool else None


def _failure(view: TaskView) -> Failure | None:
    """Why a task whose call has no error of its own did not succeed. The words of an error are for the operator."""
    line = view.line
    match line.state:
        case "succeeded":
            return None
        case "cancelled":
            return Failure("cancelled", "The task was cancelled.", "unknown")
        case "timed_out":
            return Failure("timed_out", "The task took too long.", "unknown")
        case "failed":
            return Failure(line.error or "failed", FAILED, "unknown")
        case _:
            return Failure(line.error, "The latest attempt failed.", "unknown") if line.error else None


_TASK_INFO = {
    "task_id": RUN,
    "state": "succeeded",
    "agent": "api",
    "principal": "ann",
    "priority": 5,
    "queued": ASKED_AT,
    "due": ASKED_AT,
    "attempt": 1,
    "changed": ASKED_AT + 2,
    "ended": ASKED_AT + 2,
    "problem": None,
    "reason": "",
}
_TASK = _TASK_INFO | {
    "tool": "add",
    "progress": None,
    "attempts": [{"attempt": 1, "started": ASKED_AT, "ended": ASKED_AT + 2, "error": ""}],
    "result": 5,
    "handle": None,
    "error": None,
    "approvals": [],
}
_ACCEPTED = {"task_id": RUN, "state": "queued"}
_TASK_NAME = {"id": "The id of a task."}
_REPLY_TASK = AnswerKind(means="The task, as it stands.", body=TaskDetails, example=_TASK)
_REPLY_ACCEPTED = AnswerKind(
    means="The task is on record, and is carried out. `Location` names it.",
    body=TaskAccepted,
    example=_ACCEPTED,
    has_location=True,
)
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listTasks",
        method="get",
        path="/v1/tasks",
        tag="tasks",
        summary="List your tasks, the latest first.",
        scopes=("runs", "tools"),
        query=TasksQuery,
        replies={200: AnswerKind(means="The tasks.", body=TaskPage, example={"items": [_TASK_INFO], "next": None})},
        errors=(409,),
        handler=list_tasks,
        command=commands.LIST,
    ),
    Operation(
        id="getTask",
        method="get",
        path="/v1/tasks/{id}",
        tag="tasks",
        summary="Get a task: its state, progress, attempts and result.",
        description="With `wait` the answer comes when the task has ended or waits for a person, or the time is over.",
        scopes=("runs", "tools"),
        names=_TASK_NAME,
        query=TaskQuery,
        replies={200: _REPLY_TASK},
        handler=get_task,
        command=commands.SHOW,
    ),
    Operation(
        id="getTaskResult",
        method="get",
        path="/v1/tasks/{id}/result",
        tag="tasks",
        summary="Get the whole result of a task.",
        description="For results that are too large to be told with the state of their task: see `handle`.",
        scopes=("runs", "tools"),
        names=_TASK_NAME,
        replies={200: AnswerKind(means="The result.", body=TaskResult, example=TaskResult(result="..."))},
        handler=get_result,
        command=commands.RESULT,
    ),
    Operation(
        id="cancelTask",
        method="delete",
        path="/v1/tasks/{id}",
        tag="tasks",
        summary="Cancel a task.",
        description="What a tool is doing right now may have happened. 409: the task has ended; `state` says how.",
        scopes=("runs", "tools"),
        names=_TASK_NAME,
        replies={200: _REPLY_TASK},
        errors=(409,),
        handler=cancel_task,
        command=commands.CANCEL,
    ),
    Operation(
        id="retryTask",
        method="post",
        path="/v1/tasks/{id}/retry",
        tag="tasks",
        summary="Begin a task again that failed or timed out.",
        description="What has an outcome is not done again: the task goes on with the same run.",
        scopes=("runs", "tools"),
        names=_TASK_NAME,
        replies={202: _REPLY_ACCEPTED},
        errors=(409,),
        handler=retry_task,
        command=commands.RETRY,
    ),
)
