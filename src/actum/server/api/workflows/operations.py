"""`/v1/workflows`: the workflows of a server. What is begun here is a run, and goes on at `/v1/runs`.

A key may run the workflows that its list of agents names: a workflow stands for itself, as an agent does. Workflows
that were published belong to a tenant; those of the settings are for all.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct

from ....core.errors import CallError, UnknownName, UsageError
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.stored.definitions import checked_name
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal
from ....journal.lists import read_cursor, write_cursor
from ....workflow.listing import ListedWorkflow
from ....workflow.workflow import Workflow
from ...near_names import near_names
from ...scopes import allows, wants
from ..api import Api, user_of
from ..calls import call_refusal
from ..definitions.bodies import CheckBody, VersionQuery
from ..definitions.refusing import told_problems
from ..records import cursors
from ..runs.bodies import RunBegun
from ..runs.operations import BEGUN, LINKS_OF_RUN, begun
from ..tasks.accepting import accept_workflow, check_no_task
from ..tasks.bodies import TaskAccepted
from .bodies import (
    WorkflowChecked,
    WorkflowDetails,
    WorkflowInfo,
    WorkflowNodeInfo,
    WorkflowPage,
    WorkflowRunBody,
    WorkflowsQuery,
)
from .kind import WORKFLOWS, tools_for

NEAR_MAX = 3
"""The most names that are suggested to a caller who named an unknown workflow."""


class ServedWorkflow(Struct, frozen=True):
    """A workflow that a caller may use.

    Attributes:
        workflow: the workflow.
        version: the number of its publication; 0 where the operator set the workflow up.
        description: what the workflow is good for.
    """

    workflow: Workflow
    version: int
    description: str


async def list_workflows(api: Api, asked: ApiRequest[WorkflowsQuery, None]) -> ApiReply:
    """The workflows that a caller may run, by name. No publication is opened for the list."""
    who, query, own = asked.who, asked.query, api.workflows.names
    published = await api.published.listed(who.tenant)
    drafted = await _drafted(api, who) if query.drafts else []
    with cursors():
        behind = read_cursor(query.cursor, str) if query.cursor else ""
    words, items = query.query.casefold().split(), list[WorkflowInfo]()
    for name in sorted(name for name in {*own, *published, *drafted} if name > behind and who.may_use("agent", name)):
        info = _line(api, name, published)
        told = f"{info.name} {info.description}".casefold()
        if all(word in told for word in words):
            items.append(info)
        if len(items) > query.limit:  # no more is looked at than the page takes
            return ApiReply(WorkflowPage(items=tuple(items[:-1]), next=write_cursor(items[-2].name)))
    return ApiReply(WorkflowPage(items=tuple(items), next=None))


async def _drafted(api: Api, who: Identity) -> list[str]:
    """The workflows that have a draft and no publication.

    Raises:
        Refusal: the caller may see no drafts.
    """
    if not allows(who, WORKFLOWS.builders):
        raise wants("build", "to see drafts")
    lines = await api.journal.definitions.names(WORKFLOWS.name, tenant=who.tenant)
    return [line.name for line in lines if not line.published]


def _line(api: Api, name: str, published: Mapping[str, ListedWorkflow]) -> WorkflowInfo:
    """The line of a list; of a draft no more is known than its name."""
    if name in api.workflows.names:
        return _own(api, name)
    return _published(published[name]) if name in published else _draft(name)


def _draft(name: str) -> WorkflowInfo:
    return WorkflowInfo(name=name, description="", version=0, digest="")


def _own(api: Api, name: str) -> WorkflowInfo:
    return _info(ServedWorkflow(api.workflows.get(name), 0, api.workflows.description(name)))


def _published(line: ListedWorkflow) -> WorkflowInfo:
    found = line.publication
    return WorkflowInfo(name=found.name, description=line.description, version=found.number, digest=found.digest)


async def get_workflow(api: Api, asked: ApiRequest[VersionQuery, None]) -> ApiReply:
    """A workflow."""
    found = await find_workflow(api, asked.who, asked.names["name"], asked.query.version)
    definition, info = found.workflow.definition, _info(found)
    readers = WORKFLOWS.builders if found.version else ("admin",)  # those of the settings are the operator's
    details = WorkflowDetails(
        name=info.name,
        description=info.description,
        version=info.version,
        digest=info.digest,
        inputs=definition.inputs,
        outputs=tuple(definition.outputs),
        nodes=tuple(WorkflowNodeInfo(name=each.name, type=each.type.name) for each in definition.graph.nodes.values()),
        definition=definition.text.decode() if allows(asked.who, readers) else None,
    )
    return ApiReply(details)


async def check_workflow(api: Api, asked: ApiRequest[None, CheckBody]) -> ApiReply:
    """What is wrong with a definition."""
    who, name, text = asked.who, asked.names["name"], asked.body.text
    published = await api.workflows.published(who.tenant)
    if text is not None and name not in api.workflows.names and published is not None and who.may_use("agent", name):
        found = await published.findings(text, await tools_for(api, who))
    else:
        workflow = (await find_workflow(api, who, name)).workflow
        found = await workflow.findings(workflow.definition.text if text is None else text)
    return ApiReply(WorkflowChecked(problems=told_problems(found.problems, asked.language), nodes=tuple(found.nodes)))


async def run_workflow(api: Api, asked: ApiRequest[None, WorkflowRunBody]) -> ApiReply:
    """Begin a run of a workflow, or accept it as a task."""
    who, body, name = asked.who, asked.body, asked.names["name"]
    user = user_of(who, body.conversation)
    found = await find_workflow(api, who, name, body.version or await api.published.canary_for(who.tenant, name, user))
    workflow = found.workflow
    if body.execute_async:
        check_inputs(workflow, body.inputs)
        return await accept_workflow(
            api, asked, workflow, body.inputs, conversation=body.conversation, is_published=bool(found.version)
        )
    check_no_task(body)
    return await begin_workflow(api, asked, workflow, body.inputs, conversation=body.conversation)


def check_inputs(workflow: Workflow, inputs: JsonObject) -> None:
    """Raises:
    Refusal: the inputs do not fit the workflow.
    """
    try:
        workflow.check_inputs(inputs)
    except CallError as error:
        refusal = call_refusal(error.failure(), "")
        assert refusal is not None
        raise refusal from None


async def begin_workflow(
    api: Api, asked: ApiRequest[None, Any], workflow: Workflow, inputs: JsonObject, *, conversation: str = ""
) -> ApiReply:
    """Begin the run that a request asks for.

    Args:
        api: what the handlers share.
        asked: the request.
        workflow: the workflow that is run.
        inputs: what the workflow is given.
        conversation: the conversation that the run belongs to; empty for none.

    Raises:
        Refusal: the inputs do not fit the workflow.
    """
    check_inputs(workflow, inputs)
    who, start = asked.who, api.start(asked)
    await api.begin(
        start,
        lambda emit: workflow.run(
            inputs,
            conversation=conversation,
            given_by="user" if who.speaks_for == "user" else "client",
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
            run_id=start.run_id,
            request=start.request,
            trace=start.trace,
            emit=emit,
            wait_s=0,
        ),
    )
    return await begun(api, start.run_id, who)


async def find_workflow(api: Api, who: Identity, name: str, version: int = 0) -> ServedWorkflow:
    """A workflow that a caller may use.

    Args:
        api: what the handlers share.
        who: the caller.
        name: the name of the workflow.
        version: the number of a publication; 0 for what is in use.

    Raises:
        Refusal: there is no such workflow for the caller; the words name those that come near.
    """
    if who.may_use("agent", name):
        if name in api.workflows.names:
            if not version:
                return ServedWorkflow(await api.workflows.opened(name), 0, api.workflows.description(name))
        elif (published := await api.workflows.published(who.tenant)) is not None:
            with suppress(UnknownName):
                workflow = await published.open(_checked(name), version or None)
                return ServedWorkflow(workflow, workflow.version, workflow.definition.description)
    raise await _unknown(api, who, name, version)


def _checked(name: str) -> str:
    """A name that a workflow can have.

    Raises:
        UnknownName: no workflow is called so.
    """
    try:
        return checked_name(name)
    except UsageError:
        raise UnknownName("no workflow is called so") from None


async def _unknown(api: Api, who: Identity, name: str, version: int) -> Refusal:
    names = await _names(api, who)
    which = f"{name[:100]}@{version}" if version else name[:100]
    near = near_names(name, names, NEAR_MAX)
    if name in names:
        told = "It has no publication of this number."
    elif near:
        told = f"Did you mean {' or '.join(near)}?"
    else:
        told = "GET /v1/workflows lists the workflows."
    return Refusal(
        404,
        "unknown_workflow",
        "There is no workflow {which!r} here that this key may run. {why}",
        which=which,
        why=told,
    )


async def _names(api: Api, who: Identity) -> list[str]:
    """The names of all workflows that a caller may run, in order."""
    names = {*api.workflows.names, *(await api.published.listed(who.tenant))}
    return sorted(name for name in names if who.may_use("agent", name))


def _info(found: ServedWorkflow) -> WorkflowInfo:
    workflow = found.workflow
    return WorkflowInfo(
        name=workflow.name,
        description=found.description,
        version=found.version,
        digest=workflow.definition.digest,
    )


WORKFLOW_NAME = {"name": "The name of a workflow."}
_WORKFLOW = {
    "name": "booking",
    "description": "Books flights.",
    "version": 0,
    "digest": "4a5c0f",
}
_WORKFLOW_WHOLE = _WORKFLOW | {
    "inputs": {"type": "object", "required": ["budget"], "properties": {"budget": {"type": "integer"}}},
    "outputs": ["booked"],
    "nodes": [{"name": "find", "type": "tool"}, {"name": "book", "type": "tool"}],
    "definition": None,
}
_CHECKED: JsonObject = {
    "problems": [],
    "nodes": [
        {
            "node": "book",
            "type": "tool",
            "ports": ["out"],
            "output": {"type": "object", "properties": {"output": {"type": "object"}, "text": {"type": "string"}}},
            "upstream": ["find"],
        }
    ],
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listWorkflows",
        method="get",
        path="/v1/workflows",
        tag="workflows",
        summary="List or search the workflows that you may run.",
        scopes=("runs", "build"),
        query=WorkflowsQuery,
        replies={
            200: AnswerKind(means="The workflows.", body=WorkflowPage, example={"items": [_WORKFLOW], "next": None})
        },
        handler=list_workflows,
    ),
    Operation(
        id="getWorkflow",
        method="get",
        path="/v1/workflows/{name}",
        tag="workflows",
        summary="Get a workflow: what it is given, what it gives, and its nodes.",
        scopes=("runs", "build"),
        names=WORKFLOW_NAME,
        query=VersionQuery,
        replies={200: AnswerKind(means="The workflow.", body=WorkflowDetails, example=_WORKFLOW_WHOLE)},
        handler=get_workflow,
    ),
    Operation(
        id="checkWorkflow",
        method="post",
        path="/v1/workflows/{name}/check",
        tag="workflows",
        summary="Check a definition: everything that is wrong with it, and what each node has, gives and may name.",
        description=(
            "Nothing is saved. The tools are those of the workflow of this name. `nodes` tells of what could be read, "
            "also where something is wrong; it is empty where the edges make a cycle, and for more than 500 nodes."
        ),
        scopes=("runs", "build"),
        names=WORKFLOW_NAME,
        body=CheckBody,
        body_is_optional=True,
        example={"text": "actum: workflow/1\nname: booking\nnodes: {}\n"},
        replies={200: AnswerKind(means="What the check found.", body=WorkflowChecked, example=_CHECKED)},
        handler=check_workflow,
    ),
    Operation(
        id="runWorkflow",
        method="post",
        path="/v1/workflows/{name}/run",
        tag="workflows",
        summary="Run a workflow.",
        description=(
            "The answer comes as soon as the run is on record. The run is a run like those of agents: "
            "`GET /v1/runs/{id}` tells how the run stands and what it gave, and `GET /v1/runs/{id}/events` tells what "
            "happens in it. A client that hangs up does not end the run."
        ),
        scopes=("runs",),
        names=WORKFLOW_NAME,
        body=WorkflowRunBody,
        takes_key=True,
        example={"inputs": {"budget": 2000}},
        replies={
            202: AnswerKind(
                means="The run is on record and under way, and `Location` names it. With `execute_async` the run is a "
                "task, and `Location` names the task.",
                body=RunBegun,
                others=(TaskAccepted,),
                example=BEGUN,
                has_location=True,
            )
        },
        errors=(409,),
        links=LINKS_OF_RUN,
        handler=run_workflow,
    ),
)
