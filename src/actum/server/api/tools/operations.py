"""`/v1/tools`: the tools that a caller may use, and calls of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct, structs

from ....core.call import ToolCall, ToolResult
from ....core.errors import UsageError
from ....core.event import RunResult
from ....core.identity import Identity
from ....core.json import JsonObject
from ....core.stored.definitions import checked_name
from ....core.tool import Tool
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal
from ....journal.lists import read_cursor, write_cursor
from ....journal.recording import CallRef
from ....runs.options import RunOptions
from ....runs.run import outcome as outcome_of
from ....runs.runner import Runner
from ...scopes import allows, wants
from ..api import Api, wait_for
from ..approvals.bodies import waiting_in
from ..calls import FAILED, call_failure, call_refusal, call_value, not_made
from ..definitions.bodies import VersionQuery
from ..examples import APPROVAL, ASK, RUN
from ..records import Recorded, cursors
from ..tasks.accepting import accept_call, check_no_task
from ..tasks.bodies import TaskAccepted
from .bodies import CallAnswer, CallBody, CallWaits, ToolInfo, ToolPage, ToolSchema, ToolSource, ToolsQuery
from .kind import TOOLS

CALL = "call"
NO_VERSIONS: Mapping[str, int] = {}
_BUSY = frozenset({"user_runs", "user_tokens", "user_cost"})
"""The limits of a user for which a call is not begun."""


class CallOutcome(Struct, frozen=True):
    """What became of a call.

    Attributes:
        result: the result; None where the call has none.
        is_waiting: whether the call waits for a person.
        text: what the user is told where there is no result.
        reason: why the run of the call was stopped.
    """

    result: ToolResult | None
    is_waiting: bool
    text: str
    reason: str


async def list_tools(api: Api, asked: ApiRequest[ToolsQuery, None]) -> ApiReply:
    """The tools that the caller may use; those that fit the words best come first, behind drafts with such a name."""
    query, who, is_shown = asked.query, asked.who, await api.shows(asked.who)
    versions = (await api.published.offered(who.tenant)).versions
    drafted = await _drafted(api, who) if query.drafts else []
    drafts = {tool.name for tool in drafted}

    def page(tools: Sequence[Tool], following: str | None = None) -> ApiReply:
        infos = (tool_info(tool, versions, is_draft=tool.name in drafts) for tool in tools)
        return ApiReply(ToolPage(items=tuple(infos), next=following))

    if query.query.strip():
        words = query.query.casefold().split()
        named = [tool for tool in drafted if is_shown(tool) and all(word in tool.name.casefold() for word in words)]
        fitting = [*named, *await api.search_tools(who, query.query, query.limit)][: query.limit]
        return page(fitting)
    with cursors():
        last = read_cursor(query.cursor, str) if query.cursor else ""
    behind = await api.tools_behind(who, last)
    behind = merge(behind, (tool for tool in drafted if tool.name > last), key=lambda tool: tool.name)
    shown = list(islice(filter(is_shown, behind), query.limit + 1))  # no more is looked at than the page takes
    part = shown[: query.limit]
    following = write_cursor(part[-1].name) if len(shown) > len(part) else None
    return page(part, following)


async def _drafted(api: Api, who: Identity) -> list[Tool]:
    """The tools that have a draft and no publication; all that is known of them is their names.

    Raises:
        Refusal: the caller may see no drafts.
    """
    if not allows(who, TOOLS.builders):
        raise wants("build", "to see drafts")
    lines = await api.journal.definitions.names(TOOLS.name, tenant=who.tenant)
    known = {tool.name for tool in await api.tools(who)}
    return [Tool(name=line.name) for line in lines if not line.published and line.name not in known]


async def get_tool(api: Api, asked: ApiRequest[VersionQuery, None]) -> ApiReply:
    """A tool with its schemas: the one in use, or another publication of the caller's tenant."""
    who, name, number = asked.who, asked.names["name"], asked.query.version
    tool = None if number else await api.tool(who, name)
    offered = await api.published.offered(who.tenant)
    is_own = tool is not None and tool is not offered.tools.get(name)
    if is_own or (not number and name not in offered.versions):
        assert tool is not None
        return ApiReply(tool_schema(tool))
    if number and not (allows(who, TOOLS.builders) and who.may_use("tool", name)):
        raise wants("build", "to see other versions")
    found = await api.journal.definitions.published(TOOLS.name, _checked(name), number or None, tenant=who.tenant)
    own = api.published.tools_of(who.tenant)
    if found is None or own is None:
        raise Refusal(404, "unknown_tool", "There is no tool of this name that this key may use.")
    tool = tool or await own.tool(found)
    text = found.text if allows(who, TOOLS.builders) else None
    return ApiReply(structs.replace(tool_schema(tool), version=found.number, source="published", declaration=text))


def _checked(name: str) -> str:
    """A name that a published tool can have.

    Raises:
        Refusal: no tool is called so.
    """
    try:
        return checked_name(name)
    except UsageError:
        raise Refusal(404, "unknown_tool", "There is no tool of this name that this key may use.") from None


async def call_tool(api: Api, asked: ApiRequest[None, CallBody]) -> ApiReply:
    """Make a call: what it came to, or what it waits for."""
    who, name = asked.who, asked.names["name"]
    await api.tool(who, name)
    if asked.body.execute_async:
        return await accept_call(api, asked, name, asked.body.arguments)
    check_no_task(asked.body)
    return await make_call(api, asked, await api.runner_for(who, name), asked.body.arguments)


async def make_call(api: Api, asked: ApiRequest[None, Any], runner: Runner, arguments: JsonObject) -> ApiReply:
    """Make the call that a request asks for: what it came to, or what it waits for.

    Args:
        api: what the handlers share.
        asked: the request, with the name of the tool.
        runner: makes the call.
        arguments: of the call.
    """
    who, name, start = asked.who, asked.names["name"], api.start(asked)
    calls = [ToolCall(CALL, name, arguments)]
    job = await api.begin(
        start,
        lambda emit: runner.call(
            calls,
            RunOptions(
                principal=who.principal,
                tenant=who.tenant,
                roles=who.roles,
                key_id=who.key_id,
                run_id=start.run_id,
                request=start.request,
                trace=start.trace,
                emit=emit,
            ),
            by="client",
            speaks_for="user" if who.speaks_for == "user" else "",
        ),
    )
    if job is not None:
        await wait_for(job)
    if job is None or job.task.cancelled() or (start.request and isinstance(job.task.exception(), UsageError)):
        outcome = of_record(await api.settled(start.run_id, who))  # another server was quicker to begin the run
    else:
        outcome = of_result(job.task.result())
    return await told(api, who, start.run_id, name, outcome)


def of_result(result: RunResult) -> CallOutcome:
    """What became of the call of a run that has just ended or paused."""
    outcome = result.calls[-1][1] if result.calls and result.status != "paused" else None
    return CallOutcome(outcome, result.status == "paused", result.text, result.stop_reason)


def of_record(recorded: Recorded) -> CallOutcome:
    """What became of the call of a run that is on record.

    Raises:
        Refusal: the run failed.
    """
    state, ended = recorded.state, recorded.state.ended
    if ended is None or not recorded.is_over:
        return CallOutcome(None, True, "", "")
    if ended.status == "failed":
        raise Refusal(500, "failed", FAILED, run=recorded.run_id)
    if not state.requested or ended.reason in _BUSY:
        return CallOutcome(None, False, ended.text, ended.reason)
    cause, requested = state.requested[-1]
    return CallOutcome(outcome_of(state, CallRef(cause, 0), requested.calls[0]), False, ended.text, ended.reason)


async def told(api: Api, who: Identity, run_id: str, tool: str, outcome: CallOutcome) -> ApiReply:
    """The answer to a request for a call.

    Raises:
        Refusal: the call was not made because of the request: the policy denies it, its arguments do not fit, or the
            caller is busy.
    """
    if outcome.is_waiting:
        recorded = await api.records.run(run_id, who)
        waiting = waiting_in(await api.records.summary(recorded, who), await api.records.shown(recorded, who))
        first = waiting[0].id if waiting else ""
        return ApiReply(CallWaits(run=run_id, approval=first, approvals=waiting), 202, f"/v1/runs/{run_id}")
    result = outcome.result
    if result is None:
        if outcome.reason in _BUSY:
            raise Refusal(429, outcome.reason, outcome.text, run=run_id, effect="none", retry_after=60.0)
        result = ToolResult(CALL, error=not_made(outcome.reason, outcome.text))
    if result.labels or result.seen:
        mask = await api.records.mask_of(run_id, await api.journal.read(run_id), who)
        result = mask.result(result)
    error = result.error
    if error is not None:
        refusal = call_refusal(error, run_id)
        if refusal is not None:
            raise refusal
    return ApiReply(
        CallAnswer(
            run=run_id,
            tool=tool,
            result=call_value(result),
            content=result.content,
            error=call_failure(error),
        )
    )


def tool_info(tool: Tool, versions: Mapping[str, int] = NO_VERSIONS, *, is_draft: bool = False) -> ToolInfo:
    """A tool in a list.

    Args:
        tool: the tool.
        versions: the numbers of the publications in use.
        is_draft: nobody has published it.
    """
    source: ToolSource = "draft" if is_draft else "settings"
    if tool.from_client:
        source = "published" if tool.name in versions else "workflow"
    return ToolInfo(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        effects=None if tool.effects is None else tuple(sorted(tool.effects)),
        approval=tool.approval,
        version=versions.get(tool.name, 0) if tool.from_client else 0,
        source=source,
    )


def tool_schema(tool: Tool) -> ToolSchema:
    """A tool with its schemas."""
    shown = msgspec.structs.asdict(tool_info(tool))
    return ToolSchema(**shown, parameters=tool.parameters, result=tool.result)


_TOOL = {
    "name": "add",
    "title": "",
    "description": "Add two numbers.",
    "effects": ["read"],
    "approval": False,
    "version": 0,
    "source": "settings",
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listTools",
        method="get",
        path="/v1/tools",
        tag="tools",
        summary="List or search the tools that you may use.",
        scopes=("tools", "build"),
        query=ToolsQuery,
        replies={200: AnswerKind(means="The tools.", body=ToolPage, example={"items": [_TOOL], "next": None})},
        handler=list_tools,
    ),
    Operation(
        id="getTool",
        method="get",
        path="/v1/tools/{name}",
        tag="tools",
        summary="Get a tool with the schemas of its arguments and its result.",
        scopes=("tools", "build"),
        names={"name": "The name of a tool."},
        query=VersionQuery,
        replies={
            200: AnswerKind(
                means="The tool.",
                body=ToolSchema,
                example=_TOOL
                | {
                    "parameters": {
                        "type": "object",
                        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
                        "required": ["a", "b"],
                    },
                    "result": {"type": "integer"},
                    "declaration": None,
                },
            )
        },
        handler=get_tool,
    ),
    Operation(
        id="callTool",
        method="post",
        path="/v1/tools/{name}/call",
        tag="tools",
        summary="Call a tool.",
        description=(
            "The answer is 200 also where the tool failed: `error` says why, and what the call may have changed. 403 "
            "with the code `permission_denied`: the policy denies the call. 202: the call waits for a person; its run "
            "goes on when the person has answered. A client that hangs up does not end the call."
        ),
        scopes=("tools",),
        names={"name": "The name of a tool."},
        body=CallBody,
        takes_key=True,
        example={"arguments": {"a": 2, "b": 3}},
        replies={
            200: AnswerKind(
                means="The call has its outcome.",
                body=CallAnswer,
                example={"run": RUN, "tool": "add", "result": 5, "content": [], "error": None},
            ),
            202: AnswerKind(
                means="The call waits for a person, and `Location` names its run. With `execute_async` the call is a "
                "task, and `Location` names the task.",
                body=CallWaits,
                others=(TaskAccepted,),
                example={"run": RUN, "approval": ASK, "approvals": [APPROVAL]},
                has_location=True,
            ),
        },
        errors=(409,),
        handler=call_tool,
    ),
)
