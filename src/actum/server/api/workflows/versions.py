"""Versions of workflows at `/v1/workflows`: drafts, publications, rollback, the end of use, and what differs between
two versions.

Whoever publishes decides what the server does on behalf of others: this needs the scope `admin`. Each tenant has
workflows of its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....core.call import Problem
from ....core.errors import UnknownName, UsageError
from ....core.identity import Identity
from ....core.shelf import Publication, ShelfDraft, ShelfStore, ShelfVersion, StaleDraft, checked_name
from ....core.worker_thread import off_loop
from ....features.command import AnswerText, Command
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal, not_found
from ....workflow.difference import difference
from ....workflow.published import NameTaken, PublishedWorkflows
from ....workflow.text import BadWorkflow
from ..api import Api
from ..examples import ASKED_AT
from .bodies import (
    DraftBody,
    DraftText,
    PublishBody,
    RollbackBody,
    UnpublishedWorkflow,
    WorkflowChange,
    WorkflowDifference,
    WorkflowDiffQuery,
    WorkflowVersion,
    WorkflowVersions,
)


async def get_draft(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The draft of a workflow."""
    store, _ = await _shelf(api, asked.who, asked.names["name"])
    return ApiReply(_draft(await _drafted(store, asked.who, asked.names["name"])))


async def save_draft(api: Api, asked: ApiRequest[None, DraftBody]) -> ApiReply:
    """Save the draft of a workflow, mistakes included."""
    who, name = asked.who, asked.names["name"]
    store, shelf = await _shelf(api, who, name)
    await _check_free(api, shelf, name)
    try:
        saved = await store.save(
            "workflow", name, asked.body.text, asked.body.revision, tenant=who.tenant, by=who.principal
        )
    except StaleDraft as stale:
        raise _stale(stale) from None
    return ApiReply(_draft(saved))


async def publish(api: Api, asked: ApiRequest[None, PublishBody]) -> ApiReply:
    """Publish the draft of a workflow."""
    who, name = asked.who, asked.names["name"]
    _, shelf = await _shelf(api, who, name)
    await _check_free(api, shelf, name)
    try:
        made = await shelf.publish(
            name,
            await api.workflows.default_tools(),
            revision=asked.body.revision,
            by=who.principal,
            key_id=who.key_id,
        )
    except StaleDraft as stale:
        raise _stale(stale) from None
    except NameTaken as taken:
        raise _taken(taken) from None
    except BadWorkflow as bad:
        raise bad_definition(bad) from None
    except UnknownName:
        raise not_found("draft") from None
    return ApiReply(_version(made))


async def rollback(api: Api, asked: ApiRequest[None, RollbackBody]) -> ApiReply:
    """Publish an older publication anew."""
    who, name = asked.who, asked.names["name"]
    _, shelf = await _shelf(api, who, name)
    await _check_free(api, shelf, name)
    tools = await api.workflows.default_tools()
    try:
        made = await shelf.rollback(name, asked.body.number, tools, by=who.principal, key_id=who.key_id)
    except NameTaken as taken:
        raise _taken(taken) from None
    except BadWorkflow as bad:
        raise bad_definition(bad) from None
    except UnknownName:
        raise not_found("publication") from None
    return ApiReply(_version(made))


async def unpublish(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """Take a workflow out of use."""
    who, name = asked.who, asked.names["name"]
    _, shelf = await _shelf(api, who, name)
    try:
        was, used_by = await shelf.unpublish(name, by=who.principal, key_id=who.key_id)
    except UnknownName:
        raise Refusal(404, "not_found", f"There is no published workflow {name!r}.") from None
    return ApiReply(UnpublishedWorkflow(number=was.number, used_by=tuple(used_by)))


def _unpublished(answer: UnpublishedWorkflow, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a workflow that was taken out of use."""
    again = "{name}@{number} is no longer in use; to publish it anew: actum workflow rollback {name} {number}"
    fails = "{other} uses {name}: its nodes that call it fail from now on."
    return [
        AnswerText(again, values={**names, "number": answer.number}),
        *(AnswerText(fails, values={**names, "other": other}, is_note=True) for other in answer.used_by),
    ]


async def list_versions(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The publications of a workflow, the latest first."""
    who, name = asked.who, asked.names["name"]
    store, _ = await _shelf(api, who, name)
    found = await store.versions("workflow", name, tenant=who.tenant)
    if not found:
        raise not_found("workflow")
    return ApiReply(WorkflowVersions(items=tuple(map(_version, found))))


async def compare(api: Api, asked: ApiRequest[WorkflowDiffQuery, None]) -> ApiReply:
    """What differs between two versions of a workflow."""
    who, name, query = asked.who, asked.names["name"], asked.query
    store, _ = await _shelf(api, who, name)
    old = await store.published("workflow", name, query.old or None, tenant=who.tenant)
    if old is None:
        raise not_found("publication")
    if query.new:
        new: ShelfDraft | Publication | None = await store.published("workflow", name, query.new, tenant=who.tenant)
    else:
        new = await _drafted(store, who, name)
    if new is None:
        raise not_found("publication")
    try:
        changes = await off_loop(len(old.text) + len(new.text), difference, old.text, new.text)
    except BadWorkflow as bad:
        raise bad_definition(bad) from None
    return ApiReply(
        WorkflowDifference(
            changes=tuple(
                WorkflowChange(
                    kind=each.kind, what=each.what, place=each.place, node=each.node, old=each.old, new=each.new
                )
                for each in changes
            )
        )
    )


def bad_definition(bad: BadWorkflow) -> Refusal:
    """The refusal of a definition in which something is wrong."""
    problems = tuple(
        Problem(f"line {each.line}, column {each.column}", "definition", each.message) for each in bad.problems
    )
    return Refusal(422, "definition", f"Something is wrong with the definition: {bad.problems[0]}.", problems=problems)


async def _shelf(api: Api, who: Identity, name: str) -> tuple[ShelfStore, PublishedWorkflows]:
    """The shelf of the caller's tenant.

    Raises:
        Refusal: the journal keeps none, or the key may not use a workflow of this name.
    """
    shelf = await api.workflows.shelf(who.tenant)
    if shelf is None or not who.may_use("agent", name):
        raise not_found("workflow")
    try:
        checked_name(name)
    except UsageError:
        raise not_found("workflow") from None
    return api.journal.shelf, shelf


async def _check_free(api: Api, shelf: PublishedWorkflows, name: str) -> None:
    """Raises:
    Refusal: the name means something else on this server.
    """
    try:
        shelf.check_name(name)
        if name in api.workflows.names:
            raise NameTaken(name, "a workflow of the settings")
        if name in api.agents.names:
            raise NameTaken(name, "an agent")
        if any(tool.name == name for tool in await api.runner.list_tools()):
            raise NameTaken(name, "a tool")
    except NameTaken as taken:
        raise _taken(taken) from None


def _taken(taken: NameTaken) -> Refusal:
    text = str(taken)
    return Refusal(409, "name_taken", f"{text[:1].upper()}{text[1:]}.")


async def _drafted(store: ShelfStore, who: Identity, name: str) -> ShelfDraft:
    found = await store.draft("workflow", name, tenant=who.tenant)
    if found is None:
        raise not_found("draft")
    return found


def _stale(stale: StaleDraft) -> Refusal:
    text = str(stale)
    current = stale.current.text if stale.current is not None else ""
    return Refusal(409, "stale", text[:1].upper() + text[1:] + ".", current=current)


def _draft(draft: ShelfDraft) -> DraftText:
    return DraftText(
        name=draft.name, text=draft.text, revision=draft.revision, at=draft.at, by=draft.by, published=draft.published
    )


def _version(made: ShelfVersion) -> WorkflowVersion:
    return WorkflowVersion(number=made.number, digest=made.digest, at=made.at, by=made.by, again=made.again)


_DRAFT = {
    "name": "booking",
    "text": "actum: workflow/1\nname: booking\nnodes: {}\n",
    "revision": 1,
    "at": ASKED_AT,
    "by": "root",
    "published": 0,
}
_VERSION = {"number": 1, "digest": "4a5c0f", "at": ASKED_AT, "by": "root", "again": 0}
_WORKFLOW_NAME = {"name": "The name of a workflow."}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="getDraft",
        method="get",
        path="/v1/workflows/{name}/draft",
        tag="workflows",
        summary="Get the draft of a workflow.",
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        replies={200: AnswerKind(means="The draft.", body=DraftText, example=_DRAFT)},
        handler=get_draft,
    ),
    Operation(
        id="saveDraft",
        method="post",
        path="/v1/workflows/{name}/draft",
        tag="workflows",
        summary="Save the draft of a workflow.",
        description=(
            "409 with the code `stale`: somebody else has saved the draft since; `current` is the text as it is now. "
            "409 with the code `name_taken`: the name means something else on this server."
        ),
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        body=DraftBody,
        example={"text": "actum: workflow/1\nname: booking\nnodes: {}\n", "revision": 0},
        replies={200: AnswerKind(means="The draft as it was saved.", body=DraftText, example=_DRAFT)},
        errors=(409,),
        handler=save_draft,
    ),
    Operation(
        id="publishWorkflow",
        method="post",
        path="/v1/workflows/{name}/publish",
        tag="workflows",
        summary="Publish the draft of a workflow under the next number.",
        description="A definition in which something is wrong is not published: 422. Runs keep their versions.",
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        body=PublishBody,
        body_is_optional=True,
        example={"revision": 1},
        replies={200: AnswerKind(means="The publication in use.", body=WorkflowVersion, example=_VERSION)},
        errors=(409,),
        handler=publish,
    ),
    Operation(
        id="rollbackWorkflow",
        method="post",
        path="/v1/workflows/{name}/rollback",
        tag="workflows",
        summary="Publish an older publication of a workflow anew, under the next number.",
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        body=RollbackBody,
        example={"number": 1},
        replies={200: AnswerKind(means="The publication in use.", body=WorkflowVersion, example=_VERSION)},
        errors=(409,),
        handler=rollback,
    ),
    Operation(
        id="unpublishWorkflow",
        method="post",
        path="/v1/workflows/{name}/unpublish",
        tag="workflows",
        summary="Take a published workflow out of use.",
        description=(
            "Nothing new begins with the workflow until something is published under its name again. Runs under way go "
            "on with the versions with which they began, and all publications keep their numbers."
        ),
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        replies={
            200: AnswerKind(
                means="What was in use, and who used it.",
                body=UnpublishedWorkflow,
                example={"number": 3, "used_by": ["desk"]},
            )
        },
        handler=unpublish,
        command=Command(
            words=("workflow", "unpublish"),
            help="Take a workflow out of use: nothing new begins with it. Runs under way keep the version they began "
            "with.",
            show=_unpublished,
        ),
    ),
    Operation(
        id="listVersions",
        method="get",
        path="/v1/workflows/{name}/versions",
        tag="workflows",
        summary="List the publications of a workflow, the latest first.",
        scopes=("runs",),
        names=_WORKFLOW_NAME,
        replies={200: AnswerKind(means="The publications.", body=WorkflowVersions, example={"items": [_VERSION]})},
        handler=list_versions,
    ),
    Operation(
        id="compareVersions",
        method="get",
        path="/v1/workflows/{name}/diff",
        tag="workflows",
        summary="Get what differs between two versions of a workflow: nodes, edges and fields.",
        scopes=("admin",),
        names=_WORKFLOW_NAME,
        query=WorkflowDiffQuery,
        replies={
            200: AnswerKind(
                means="The differences.",
                body=WorkflowDifference,
                example={
                    "changes": [
                        {"kind": "added", "what": "node", "place": "book", "node": "", "old": None, "new": "tool"}
                    ]
                },
            )
        },
        errors=(422,),
        handler=compare,
    ),
)
