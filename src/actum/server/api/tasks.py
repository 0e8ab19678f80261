"""`/v1/tasks`: calls and runs that outlive the request that asked for them."""

from __future__ import annotations

import msgspec
from msgspec.structs import asdict, replace

from ...core.call import Failure, TextPart, ToolCall
from ...core.errors import CallError, TaskRefused, UnknownName, UsageError
from ...core.identity import Identity
from ...core.json import Json
from ...core.message import UserMessage
from ...core.task import TaskLine, TaskOptions
from ...core.task_request import NO_DEFAULTS, TaskDefaults
from ...features.operation import ApiReply, ApiRequest
from ...features.refusal import Refusal, not_found
from ...journal.lists import read_cursor, write_cursor
from ...tasks.queue import RESULT_BYTES_MAX, TaskView
from ...workflow.workflow import Workflow
from ..scopes import allows
from . import views
from .api import Api
from .bodies import (
    Approval,
    CallBody,
    ResultHandle,
    RunBody,
    TaskAccepted,
    TaskBody,
    TaskDetails,
    TaskInfo,
    TaskPage,
    TaskQuery,
    TaskResult,
    TasksQuery,
    TaskTry,
    WorkflowRunBody,
)

_STATUSES = {"queued_max": 429, "options": 422, "deadline": 422}
"""The HTTP status of each reason for which a task is refused; 409 for all others."""
RETRY_S = 30.0
"""Seconds after which somebody with too many tasks may try again."""


# Accepting ------------------------------------------------------------------------------------------------------------


async def accept_call(api: Api, asked: ApiRequest[None, CallBody]) -> ApiReply:
    """Accept a call of a tool as a task."""
    who, name = asked.who, asked.names["name"]
    options = _options(api, asked, api.task_defaults(name))
    call = ToolCall("call", name, asked.body.arguments)
    try:
        line = await api.tasks.accept_call(
            await api.runner_for(who, name),
            call,
            options,
            speaks_for="user" if who.speaks_for == "user" else "",
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except CallError as error:
        refusal = views.refusal_of(error.failure(), "")
        if refusal is None:
            raise
        raise refusal from None
    return _accepted(line)


async def accept_run(api: Api, asked: ApiRequest[None, RunBody]) -> ApiReply:
    """Accept a question to an agent as a task."""
    who, body = asked.who, asked.body
    agent = await api.agent(who, body.agent)
    options = _options(api, asked, NO_DEFAULTS)
    question = UserMessage((TextPart(body.question),), "user" if who.speaks_for == "user" else "agent")
    api.check_question(agent, question)
    try:
        line = await api.tasks.accept_run(
            agent,
            question,
            options,
            conversation=body.session,
            is_published=agent.runner.is_published,
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except CallError as error:
        refusal = views.refusal_of(error.failure(), "")
        if refusal is None:
            raise
        raise refusal from None
    return _accepted(line)


async def accept_workflow(
    api: Api, asked: ApiRequest[None, WorkflowRunBody], workflow: Workflow, *, is_published: bool
) -> ApiReply:
    """Accept a run of a workflow as a task."""
    who = asked.who
    options = _options(api, asked, NO_DEFAULTS)
    try:
        line = await api.tasks.accept_workflow(
            workflow,
            asked.body.inputs,
            options,
            given_by="user" if who.speaks_for == "user" else "client",
            is_published=is_published,
            conversation=asked.body.conversation,
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    return _accepted(line)


def check_no_task(body: TaskBody) -> None:
    """Raises:
    Refusal: a request that asks for no task says something of a task.
    """
    if body.said:
        words = ", ".join(body.said)
        raise Refusal(409, "no_task", f"Only a task has these: {words}. Ask for a task by execute_async: true.")


def _options(api: Api, asked: ApiRequest[None, TaskBody], defaults: TaskDefaults) -> TaskOptions:
    """What a request wants of its task.

    Raises:
        Refusal: an option can not be.
    """
    wanted = asked.body.task()
    if asked.key and wanted.unique_key not in ("", asked.key):
        raise Refusal(422, "invalid", "Idempotency-Key and unique_key mean the same: send one of the two.")
    try:
        options = wanted.options(defaults)
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    key = asked.key or options.unique_key
    if any("\ud800" <= sign <= "\udfff" for sign in key + options.webhook):
        raise Refusal(422, "invalid", "unique_key and webhook: use whole characters.")
    if options.webhook:
        api.check_webhook(asked.who, options.webhook)
    return replace(options, unique_key=key)


def _accepted(line: TaskLine) -> ApiReply:
    return ApiReply(TaskAccepted(task_id=line.run_id, state=line.state), 202, f"/v1/tasks/{line.run_id}")


def refusal_of(refused: TaskRefused) -> Refusal:
    """The refusal of a task."""
    words = str(refused)
    return Refusal(
        _STATUSES.get(refused.code, 409),
        refused.code,
        words[:1].upper() + words[1:] + ".",
        run=refused.run_id,
        state=refused.state,
        retry_after=RETRY_S if refused.code == "queued_max" else None,
    )


# Telling --------------------------------------------------------------------------------------------------------------


async def get_task(api: Api, asked: ApiRequest[TaskQuery, None]) -> ApiReply:
    """How a task stands; waited for, where the caller wants that."""
    run_id, who, seconds = asked.names["id"], asked.who, asked.query.wait
    try:
        if seconds:
            view = await api.tasks.wait(run_id, seconds, tenant=who.tenant, principal=_principal(who))
        else:
            view = await api.tasks.look(run_id, tenant=who.tenant, principal=_principal(who))
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(await _details(api, view, who))


async def get_result(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The whole result of a task."""
    who = asked.who
    try:
        view = await api.tasks.look(asked.names["id"], tenant=who.tenant, principal=_principal(who))
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(TaskResult(result=_result(view)))


async def list_tasks(api: Api, asked: ApiRequest[TasksQuery, None]) -> ApiReply:
    """The caller's tasks, the latest first."""
    query, who = asked.query, asked.who
    if query.principal not in ("", who.principal) and not allows(who, ("admin",)):
        raise Refusal(403, "scope", "The scope 'admin' is needed to see the tasks of another user.", scope=("admin",))
    principal = query.principal or None if allows(who, ("admin",)) else who.principal
    try:
        behind = read_cursor(query.cursor, str) if query.cursor else ""
        if behind:
            await api.tasks.look(behind, tenant=who.tenant, principal=principal)
        lines = await api.tasks.list(
            limit=query.limit + 1,
            behind=behind,
            tenant=who.tenant,
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
        await api.tasks.cancel(asked.names["id"], tenant=who.tenant, principal=_principal(who))
        view = await api.tasks.look(asked.names["id"], tenant=who.tenant, principal=_principal(who))
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except UnknownName:
        raise not_found("task") from None
    return ApiReply(await _details(api, view, who))


async def retry_task(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Begin a dead letter again."""
    who = asked.who
    run_id = asked.names["id"]
    try:
        await api.tasks.look(run_id, tenant=who.tenant, principal=_principal(who))
        await api.check_go_on(who, await api.records.run(run_id, who))
        line = await api.tasks.retry(run_id, by=who.principal, tenant=who.tenant, principal=_principal(who))
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except UnknownName:
        raise not_found("task") from None
    return _accepted(line)


def _principal(who: Identity) -> str | None:
    """Whose tasks a caller may see; None for those of all users of the tenant."""
    return None if allows(who, ("admin",)) else who.principal


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
        problem=(line.problem if allows(who, ("admin",)) else UNBUILT) if line.problem else None,
    )


async def _details(api: Api, view: TaskView, who: Identity) -> TaskDetails:
    line, result = view.line, view.result
    waiting: tuple[Approval, ...] = ()
    if view.waiting:
        recorded = await api.records.run(line.run_id, who)
        waiting = views.waiting_in(await api.records.summary(recorded), recorded)
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
        error=views.failure(_failure(view)) if result is None or result.error is None else views.failure(result.error),
        approvals=waiting,
    )


def _result(view: TaskView) -> Json:
    if view.outputs is not None:
        return view.outputs
    if view.result is not None:
        return views.value(view.result)
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
            return Failure(line.error or "failed", views.FAILED, "unknown")
        case _:
            return Failure(line.error, "The latest attempt failed.", "unknown") if line.error else None
