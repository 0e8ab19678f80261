"""`/v1/runs`: questions to agents, and what becomes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from ....core.call import MediaPart, TextPart
from ....core.errors import Busy, UsageError
from ....core.identity import Identity
from ....core.interfaces import Journal, RunFilter
from ....core.language.words import written_words
from ....core.message import UserMessage
from ....core.process.claim import claim_of_cancel
from ....core.run.summary import RunSummary
from ....features.command import AnswerText, Command, CommandOption, FoundBy, ListColumn
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Events, Operation
from ....features.refusal import Refusal
from ....journal.conversations import as_they_stand
from ....journal.lists import count_of_runs, counts_of_runs, page_of_runs
from ....journal.mismatch import mismatch, summary
from ....journal.named import find_run
from ....knowledge.citing.cited import references_of
from ....knowledge.problems import UnreadableAttachment
from ....runs.ended_below import CANCELLED, end_runs_below
from ....runs.recorded import outputs_of
from ...scopes import allows, wants
from ..examples import ASKED_AT, RUN, RUN_INFO
from ..records import POLL_S, Recorded, Records, cursors, no_agent, told_problems
from ..tasks.bodies import TaskAccepted
from ..work import CANCEL_S
from .bodies import (
    FILE_BYTES_MAX,
    CancelBody,
    EventsQuery,
    ForkBody,
    ResumeBody,
    RunBegun,
    RunBody,
    RunDelta,
    RunDetails,
    RunEvent,
    RunInfo,
    RunPage,
    RunsQuery,
)
from .following import RunsBelow, run_events
from .views import run_details, run_info

if TYPE_CHECKING:
    from ....agents.options import RunKeywords
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

COUNT_MAX = 1_000
"""The runs of each status are counted up to here; more are `1000+`."""


async def start_run(api: Api, asked: ApiRequest[None, RunBody]) -> ApiReply:
    """Have an agent answer a question."""
    from ..tasks.accepting import accept_run, check_no_task  # noqa: PLC0415  # as for `Api`

    who, body = asked.who, asked.body
    if not body.execute_async:
        check_no_task(body)
    agent = await api.agent(who, body.agent, conversation=body.session, version=body.version)
    start = api.start(asked)
    question = asked_by(who, body.question)
    api.check_question(agent, question)
    try:
        await agent.checked_choice(body.tool_choice)
        await agent.checked_mandate(body.mandate)
    except UsageError as error:
        raise Refusal(422, "invalid", "{why}", why=error) from None
    if sum(len(each.data) for each in body.attachments) > FILE_BYTES_MAX:
        raise Refusal(413, "content_too_large", "The files are longer than {most} bytes together.", most=FILE_BYTES_MAX)
    options: RunKeywords = {
        "conversation": body.session,
        "attachments": [MediaPart(each.media_type, each.data, name=each.name) for each in body.attachments],
        "principal": who.principal,
        "tenant": who.tenant,
        "roles": who.roles,
        "key_id": who.key_id,
        "run_id": start.run_id,
        "request": start.request,
        "trace": start.trace,
        "tool_choice": body.tool_choice,
        "memory": body.memory,
        "mandate": body.mandate,
    }
    try:
        if body.execute_async:
            return await accept_run(api, asked, agent, question, options)
        await api.begin(start, lambda emit: agent.run(question, **options, emit=emit))
    except UnreadableAttachment as error:
        raise Refusal(422, "invalid", "attachments: {why}", why=error) from None
    return await begun(api, start.run_id, who)


def asked_by(who: Identity, question: str) -> UserMessage:
    """A question that came in a request. What a client says may be its model's words, unless the operator trusts the
    client to say only what its user said.
    """
    return UserMessage((TextPart(question),), "user" if who.speaks_for == "user" else "agent")


async def list_runs(api: Api, asked: ApiRequest[RunsQuery, None]) -> ApiReply:
    """The caller's runs, the latest first."""
    query = asked.query
    if query.principal not in ("", asked.who.principal) and not allows(asked.who, ("admin",)):
        raise wants("admin", "to see the runs of another user")
    wanted = _wanted(query, asked.who, asked.tenant)
    runs, following, count = await _listed(api.records, query, asked.who, wanted)
    counts: dict[str, str] | None = None
    if query.counts:
        every = wanted.copy()
        every["status"] = ""
        if query.text and api.records.mask(asked.who).hides_any:
            found = Counter([line.status for line in await _all_shown(api.records, query.text, asked.who, every)])
        else:
            found = Counter(await counts_of_runs(api.journal, COUNT_MAX, **every))
        counts = {status: f"{COUNT_MAX}+" if number == COUNT_MAX else str(number) for status, number in found.items()}
    problems: Sequence[str] = ()
    if asked.by_operator:
        compared, problems = await _compared(api.journal, runs, query, asked.tenant)
        runs = await api.records.lines_shown(compared, asked.who)
    items = tuple(run_info(line, asked.who) for line in runs)
    return ApiReply(RunPage(items=items, next=following, count=count, counts=counts, problems=tuple(problems)))


async def _compared(
    journal: Journal, listed: list[RunSummary], query: RunsQuery, tenant: str | None
) -> tuple[list[RunSummary], Sequence[str]]:
    """The runs of a part of the list, marked where their entries say otherwise, and what is wrong. A list of all runs
    begins with the runs that are missing in the list of runs.
    """
    found = await mismatch(journal, [run.run_id for run in listed])
    is_begun = query == RunsQuery(limit=query.limit)
    missing = [await summary(journal, id_) for id_ in found.missing[: query.limit]] if is_begun else []
    others = [run for run in missing if run is not None and tenant in (None, run.tenant)]
    return found.mark([*await as_they_stand(journal, others), *listed]), found.problems


async def get_run(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """How a run stands."""
    return await shown(api, await api.records.run(asked.names["id"], asked.who), asked.who)


async def cancel_run(api: Api, asked: ApiRequest[None, object]) -> ApiReply:
    """Cancel a run, wherever it waits; what it is doing right now may have happened."""
    run_id = asked.names["id"]
    recorded = await api.records.asked_for(asked, run_id)
    who = structs.replace(asked.who, tenant=recorded.started.tenant)
    if not recorded.is_over:
        await api.journal.held.release(run_id)
        await api.work.cancel(run_id)
        await cancel_elsewhere(api, run_id, who)  # a run that was just about to pause has not ended
    return await shown(api, await api.records.run(run_id, who), who)


async def cancel_elsewhere(api: Api, run_id: str, who: Identity) -> None:
    """Cancel a run that has not ended: it waits, or another process carries it out, and sees that the run is to be
    cancelled.

    Raises:
        Busy: the process that carries the run out did not stop it in time.
    """
    until = api.clock.monotonic() + CANCEL_S
    async with AsyncExitStack() as asking:
        with suppress(Busy):  # somebody else asks for the same
            await asking.enter_async_context(api.journal.claim(claim_of_cancel(run_id)))
        while not (await api.records.run(run_id, who)).is_over:
            try:
                await _end_idle(api, run_id, who)
            except Busy:
                if api.clock.monotonic() >= until:
                    raise
                await api.clock.sleep(POLL_S)


async def _end_idle(api: Api, run_id: str, who: Identity) -> None:
    """End a run that nobody carries out.

    Raises:
        Busy: somebody does.
    """
    async with api.journal.claim(run_id):
        if not (await api.records.run(run_id, who)).is_over:
            await end_runs_below(api.journal, run_id, CANCELLED)
            api.journal.append(run_id, CANCELLED)
            await api.journal.sync(run_id)


async def resume_run(api: Api, asked: ApiRequest[None, ResumeBody]) -> ApiReply:
    """Go on with a run that was paused or interrupted."""
    recorded = await api.records.run(asked.names["id"], asked.who)
    await api.check_go_on(asked.who, recorded)
    was_held = bool(await api.journal.held.release(recorded.run_id))
    if recorded.is_task and was_held:
        api.tasks.wake(recorded.run_id)
    elif recorded.is_task:
        raise Refusal(
            409,
            "task",
            "This run is a task: it goes on by itself, or with POST /v1/tasks/{task}/retry once it has ended.",
            run=recorded.run_id,
            task=recorded.run_id,
        )
    elif not recorded.is_over and api.work.get(recorded.run_id) is None:
        job = api.go_on(recorded, accept=asked.body.accept)
        await api.started(job)
    return await begun(api, recorded.run_id, asked.who)


async def fork_run(api: Api, asked: ApiRequest[None, ForkBody]) -> ApiReply:
    """Begin a run that branches off from another, and go on with it."""
    who, body = asked.who, asked.body
    recorded = await api.records.run(asked.names["id"], who)
    agent = await api.agent_of(recorded.started)
    if agent is None and not recorded.started.workflow:
        raise no_agent(recorded)
    await api.check_go_on(who, recorded)
    start = api.start(asked)
    if agent is None and (body.question or body.session):
        raise Refusal(422, "invalid", "A run of a workflow has no question and no session: leave both out.")
    question = None if body.question is None else asked_by(who, body.question)
    if agent is not None and question is not None:
        api.check_question(agent, question)
    if start.request and await api.was_begun(start):
        pass
    elif agent is None:
        workflow = await api.workflows.of(recorded.run_id, recorded.started)
        await workflow.fork(
            recorded.run_id,
            body.at,
            result=body.result,
            new_run=start.run_id,
            principal=recorded.started.principal,
            tenant=who.tenant,
            request=start.request,
            trace=start.trace,
        )
    else:
        await agent.fork(
            recorded.run_id,
            body.at,
            question=question,
            result=body.result,
            new_run=start.run_id,
            conversation=body.session,
            principal=recorded.started.principal,
            tenant=who.tenant,
            request=start.request,
            trace=start.trace,
        )
    branch = await api.records.run(start.run_id, who)
    if not branch.is_over and api.work.get(start.run_id) is None and not await api.journal.driven([start.run_id]):
        await api.started(api.go_on(branch))
    return await begun(api, start.run_id, who)


async def follow_run(api: Api, asked: ApiRequest[EventsQuery, None]) -> ApiReply | Events:
    """The events of a run as they come."""
    recorded = await api.records.run(asked.names["id"], asked.who)
    after = max(asked.query.after, asked.last_event)
    if recorded.is_over and after >= recorded.entries[-1].number:
        return ApiReply(None, 204)  # tells a browser not to come again
    below = RunsBelow(api.records, recorded.run_id, asked.who) if asked.query.below else None
    mask = partial(api.records.mask, asked.who)
    return run_events(api.watch, recorded, after, api.work.spoken if asked.query.deltas else None, below, mask=mask)


async def shown(api: Api, recorded: Recorded, who: Identity) -> ApiReply:
    """A run as it stands."""
    line = await api.records.summary(recorded, who)
    if line.ended is not None and not recorded.is_over:  # the run has ended since it was read
        recorded = await api.records.again(recorded)
    outputs = await outputs_of(api.journal, recorded.state.ended)
    seen = await api.records.shown(recorded, who)
    if outputs is not None and seen is not recorded:  # those that are kept beside the record, too
        outputs = await api.records.shown_object(recorded, outputs, who)
    references = tuple(each for _, each in await references_of(api.journal, recorded.run_id, seen.state))
    details = structs.replace(run_details(line, seen, who, outputs), references=references)
    is_held = bool(await api.journal.held.which([recorded.run_id]))
    return ApiReply(structs.replace(details, stop_reason="held") if is_held else details)


async def begun(api: Api, run_id: str, who: Identity) -> ApiReply:
    """The answer to a request that started a run. It says nothing of how the run stands, so that the same request
    is always answered the same.
    """
    await api.journal.sync(run_id)
    started = (await api.records.run(run_id, who)).started
    place = f"/v1/runs/{run_id}"
    body = RunBegun(id=run_id, agent=started.agent, session=started.conversation, events=f"{place}/events")
    return ApiReply(body, 202, place)


def _wanted(query: RunsQuery, who: Identity, tenant: str | None) -> RunFilter:
    """Which runs of a tenant (None for all) a caller may see, and asks for."""
    wanted = RunFilter(
        tenant=tenant,
        agent=query.workflow or query.agent,
        kind="workflow" if query.workflow else query.kind,
        conversation=query.session,
        status=query.status,
        since=query.since or None,
        until=query.until or None,
        tool=query.tool,
        error=query.error,
        version=query.version,
        text=query.text,
    )
    if allows(who, ("admin",)):
        wanted["principal"] = query.principal
    elif who.principal:
        wanted["principal"] = who.principal
    else:  # nobody known: an empty principal fits all
        wanted["owner"] = ""
    return wanted


async def _listed(
    records: Records, query: RunsQuery, who: Identity, wanted: RunFilter
) -> tuple[list[RunSummary], str | None, int | None]:
    """A part of the list of runs that are wanted, the cursor of the next part, and where that is asked for, how many
    runs fit.

    Raises:
        Refusal: the cursor is not known.
    """
    with cursors():
        page = await page_of_runs(records.journal, limit=query.limit, cursor=query.cursor, **wanted)
    found = [run for run in page.items if run.principal == who.principal or allows(who, ("admin",))]
    shown = await _shown(records, found, query.text, who)
    if query.count and query.text and records.mask(who).hides_any:
        return shown, page.next or None, len(await _all_shown(records, query.text, who, wanted))
    count = await count_of_runs(records.journal, **wanted) if query.count else None
    return shown, page.next or None, count


async def _shown(records: Records, found: Sequence[RunSummary], text: str, who: Identity) -> list[RunSummary]:
    """Runs as a caller may see them, without those that were found by what is hidden from the caller."""
    shown = await records.lines_shown(found, who)
    return [line for line, run in zip(shown, found, strict=True) if not text or _has(line, run, text)]


async def _all_shown(records: Records, text: str, who: Identity, wanted: RunFilter) -> list[RunSummary]:
    """The runs that a caller finds by a text, up to `COUNT_MAX`: a number of others would tell what is hidden."""
    shown: list[RunSummary] = []
    cursor: str | None = ""
    while cursor is not None and len(shown) < COUNT_MAX:
        page = await page_of_runs(records.journal, limit=100, cursor=cursor, **wanted)
        shown += await _shown(records, page.items, text, who)
        cursor = page.next or None
    return shown[:COUNT_MAX]


def _has(line: RunSummary, run: RunSummary, text: str) -> bool:
    """Whether a run is found by what a caller may see of its question."""
    return line.question == run.question or {*written_words(text)} <= {*written_words(line.question)}


_RUN_WHOLE = RUN_INFO | {
    "text": "5",
    "stop_reason": "",
    "usage": {"input_tokens": 41, "output_tokens": 7},
    "own_usage": {"input_tokens": 41, "output_tokens": 7},
    "calls": [
        {
            "call": "1.0",
            "tool": "add",
            "arguments": {"a": 2, "b": 3},
            "is_over": True,
            "result": 5,
            "handle": None,
            "error": None,
        }
    ],
    "approvals": [],
    "forked": "",
    "recalled": [],
    "references": [],
}
BEGUN = {"id": RUN, "agent": "desk", "session": "c1", "events": f"/v1/runs/{RUN}/events"}
_EVENT = {
    "id": "0",
    "event": "started",
    "data": f'{{"run":"{RUN}","number":0,"at":{ASKED_AT},"type":"started","text":"What is 2 and 3?"}}',
}
_RUN_NAME = {"id": "The id of a run."}
REPLY_BEGUN = AnswerKind(
    means="The run is on record and under way. `Location` names it.", body=RunBegun, example=BEGUN, has_location=True
)


def _driver(run: RunInfo) -> str:
    """What drove the run: the name of its model, or in brackets what it had instead of a model."""
    return run.model or ("(administrator)" if run.kind == "administration" else "(a call)")


_LIST = Command(
    words=("runs", "list"),
    help="List the latest runs.",
    options={
        "since": CommandOption(form="time", help="Only runs that began then or later: 24h, 90d, 2026-11-01."),
        "until": CommandOption(form="time", help="Only runs that began before then."),
        "principal": CommandOption(help="Only runs on behalf of this user."),
        "tool": CommandOption(help="Only runs in which a call of this tool was asked for."),
        "error": CommandOption(help="Only runs in which a call had this error, or that stopped for this reason."),
        "version": CommandOption(help="Only runs by the publication of this number."),
        "text": CommandOption(help="Only runs whose question has all words of this text."),
        "count": CommandOption(is_hidden=True),
        "counts": CommandOption(is_hidden=True),
        "limit": CommandOption(help="How many, the newest first."),
    },
    columns=(
        ListColumn("when", "started", "moment"),
        ListColumn("status", "status"),
        ListColumn("run", "id"),
        ListColumn("model", made_of=_driver),
        ListColumn("question", "question", "title"),
    ),
    empty='Nothing is on record yet. Try: actum run "What is 17 * 23?"',
    beside=lambda page: told_problems(page.problems),
)


def _cancelled(run: RunDetails, names: Mapping[str, str]) -> list[AnswerText]:
    """What a person is told of a run that was to be cancelled."""
    told = [AnswerText(run.id, "run"), AnswerText(run.status, "status")]
    if run.stop_reason != CANCELLED.reason:
        told.append(AnswerText("The run had ended before: nothing was cancelled.", is_note=True))
    return told


async def _look_up(api: Api, named: str) -> str:
    return (await find_run(api.journal, named)).run_id


FOUND_BY = FoundBy(operation="listRuns", about=("status", "question"), noun="run", look_up=_look_up)
LINKS_OF_RUN = {
    "getRun": (202, "id", "/id"),
    "cancelRun": (202, "id", "/id"),
    "resumeRun": (202, "id", "/id"),
    "forkRun": (202, "id", "/id"),
}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listRuns",
        method="get",
        path="/v1/runs",
        tag="runs",
        summary="List your runs, the latest first.",
        scopes=("runs", "tools"),
        query=RunsQuery,
        replies={
            200: AnswerKind(means="The runs.", body=RunPage, example={"items": [RUN_INFO], "next": None, "count": None})
        },
        handler=list_runs,
        command=_LIST,
    ),
    Operation(
        id="startRun",
        method="post",
        path="/v1/runs",
        tag="runs",
        summary="Have an agent answer a question.",
        description=(
            "The answer comes as soon as the run is on record. `GET /v1/runs/{id}` tells how the run stands, and "
            "`GET /v1/runs/{id}/events` tells what happens in it. A client that hangs up does not end the run."
        ),
        scopes=("runs",),
        body=RunBody,
        takes_key=True,
        file_bytes=FILE_BYTES_MAX,
        example={"agent": "desk", "question": "What is 2 and 3?", "session": "c1"},
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
        errors=(404, 409),
        links=LINKS_OF_RUN,
        handler=start_run,
    ),
    Operation(
        id="getRun",
        method="get",
        path="/v1/runs/{id}",
        tag="runs",
        summary="Get a run: how it stands, its calls, and what it waits for.",
        scopes=("runs", "tools"),
        names=_RUN_NAME,
        replies={200: AnswerKind(means="The run.", body=RunDetails, example=_RUN_WHOLE)},
        handler=get_run,
    ),
    Operation(
        id="followRun",
        method="get",
        path="/v1/runs/{id}/events",
        tag="runs",
        summary="Follow a run: what has happened in it, and what happens, as server-sent events.",
        description=(
            "The data of each event is a `RunEvent` as JSON. The id of an event is the number of an entry in the "
            "record of the run: send the last id as `Last-Event-ID` to go on behind it. The stream ends with the run; "
            "204 says that nothing more will come. With `deltas`, events of the type `delta` have words that a model "
            "is saying. They have no id and are on no record, and come from the server that carries the run out. "
            "With `below`, the events of runs are told, too, that calls of this run began; `run` names the run of "
            "each. They have no id either: a client that comes again is told them anew."
        ),
        scopes=("runs", "tools"),
        query=EventsQuery,
        names=_RUN_NAME,
        takes_last_event=True,
        replies={
            200: AnswerKind(
                means="The events.",
                body=RunEvent,
                others=(RunDelta,),
                example=_EVENT,
                media_type="text/event-stream",
            ),
            204: AnswerKind(means="The run is over, and the client has all its events."),
        },
        handler=follow_run,
    ),
    Operation(
        id="cancelRun",
        method="post",
        path="/v1/runs/{id}/cancel",
        tag="runs",
        summary="Cancel a run.",
        description=(
            "What a tool is doing right now may have happened: the outcome of its call says so. 409: another server "
            "carries the run out."
        ),
        scopes=("runs", "tools"),
        names=_RUN_NAME,
        body=CancelBody,
        body_is_optional=True,
        example={},
        replies={200: AnswerKind(means="The run as it stands now.", body=RunDetails, example=_RUN_WHOLE)},
        errors=(409,),
        handler=cancel_run,
        command=Command(
            words=("runs", "cancel"),
            help="End a run, wherever it waits or runs, with the runs that its calls began. What it is doing right now "
            "may have happened.",
            found_by=FOUND_BY,
            show=_cancelled,
            exit_code=lambda run: 0 if run.stop_reason == CANCELLED.reason else 1,
        ),
    ),
    Operation(
        id="resumeRun",
        method="post",
        path="/v1/runs/{id}/resume",
        tag="runs",
        summary="Go on with a run that was interrupted or paused.",
        description=(
            "What the run has done is not done again, and a run that is over stays as it is: the same request can be "
            "sent again without an `Idempotency-Key`."
        ),
        scopes=("runs", "tools"),
        names=_RUN_NAME,
        body=ResumeBody,
        body_is_optional=True,
        example={"accept": False},
        replies={202: REPLY_BEGUN},
        errors=(409,),
        handler=resume_run,
    ),
    Operation(
        id="forkRun",
        method="post",
        path="/v1/runs/{id}/fork",
        tag="runs",
        summary="Begin a run that branches off from another run, and go on with it.",
        description=(
            "The new run has the entries of the other run up to the entry `at`. Calls of tools that the other run made "
            "after that entry ask for approval."
        ),
        scopes=("runs",),
        names=_RUN_NAME,
        body=ForkBody,
        takes_key=True,
        example={"at": 0, "question": "What is 2 and 4?"},
        replies={202: REPLY_BEGUN},
        errors=(409,),
        handler=fork_run,
    ),
)
