"""Calls and runs that are accepted as tasks, and why a task is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ....agents.options import AgentOptions, RunKeywords
from ....core.call import ToolCall
from ....core.errors import CallError, TaskRefused
from ....core.json import JsonObject
from ....core.message import UserMessage
from ....core.run.task import TaskLine, TaskOptions
from ....core.run.task_request import NO_DEFAULTS, TaskDefaults
from ....features.operation import ApiReply, ApiRequest
from ....features.refusal import Refusal
from ....runs.options import ConversationOptions, RunOptions
from ...access_log import traceparent_of_request
from ..calls import call_refusal
from .bodies import TaskAccepted, TaskBody

if TYPE_CHECKING:
    from ....agents.agent import Agent
    from ....workflow.workflow import Workflow
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

_STATUSES = {"queued_max": 429, "options": 422, "deadline": 422}
"""The HTTP status of each reason for which a task is refused; 409 for all others."""
RETRY_S = 30.0
"""Seconds after which somebody with too many tasks may try again."""


async def accept_call(api: Api, asked: ApiRequest[None, TaskBody], name: str, arguments: JsonObject) -> ApiReply:
    """Accept a call of a tool as a task."""
    who = asked.who
    options = _options(api, asked, api.task_defaults(name))
    call = ToolCall("call", name, arguments)
    try:
        line = await api.tasks.accept_call(
            await api.runner_for(who, name),
            call,
            options,
            RunOptions(
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                trace=traceparent_of_request(),
            ),
            speaks_for="user" if who.speaks_for == "user" else "",
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except CallError as error:
        refusal = call_refusal(error.failure(), "")
        if refusal is None:
            raise
        raise refusal from None
    return accepted(line)


async def accept_run(
    api: Api,
    asked: ApiRequest[None, TaskBody],
    agent: Agent[object],
    question: UserMessage,
    run: RunKeywords,
) -> ApiReply:
    """Accept a question to an agent as a task; what comes with the question is in the record of the run."""
    options = _options(api, asked, NO_DEFAULTS)
    try:
        line = await api.tasks.accept_run(
            agent,
            question,
            options,
            AgentOptions(**run),
            is_published=agent.runner.is_published,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    except CallError as error:
        refusal = call_refusal(error.failure(), "")
        if refusal is None:
            raise
        raise refusal from None
    return accepted(line)


async def accept_workflow(
    api: Api,
    asked: ApiRequest[None, TaskBody],
    workflow: Workflow,
    inputs: JsonObject,
    *,
    conversation: str,
    is_published: bool,
) -> ApiReply:
    """Accept a run of a workflow as a task."""
    who = asked.who
    options = _options(api, asked, NO_DEFAULTS)
    try:
        line = await api.tasks.accept_workflow(
            workflow,
            inputs,
            options,
            ConversationOptions(
                conversation=conversation,
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                trace=traceparent_of_request(),
            ),
            given_by="user" if who.speaks_for == "user" else "client",
            is_published=is_published,
        )
    except TaskRefused as refused:
        raise refusal_of(refused) from None
    return accepted(line)


def check_no_task(body: TaskBody) -> None:
    """Raises:
    Refusal: a request that asks for no task says something of a task.
    """
    if body.said:
        words = ", ".join(body.said)
        raise Refusal(
            409, "no_task", "Only a task has these: {options}. Ask for a task by execute_async: true.", options=words
        )


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


def accepted(line: TaskLine) -> ApiReply:
    """The answer to a request whose task was accepted."""
    return ApiReply(TaskAccepted(task_id=line.run_id, state=line.state), 202, f"/v1/tasks/{line.run_id}")


def refusal_of(refused: TaskRefused) -> Refusal:
    """The refusal of a task."""
    return Refusal(
        _STATUSES.get(refused.code, 409),
        refused.code,
        refused,
        run=refused.run_id,
        state=refused.state,
        retry_after=RETRY_S if refused.code == "queued_max" else None,
    )
