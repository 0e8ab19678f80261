"""`/v1/runs`: questions to agents, and what becomes of them."""

from __future__ import annotations

from contextlib import AsyncExitStack, suppress

from ...core.call import TextPart
from ...core.claim import claim_of_cancel
from ...core.errors import Busy
from ...core.identity import Identity
from ...core.message import UserMessage
from ...core.record import Ended
from ...features.operation import ApiReply, ApiRequest, Events, StreamEvent
from ...features.refusal import Refusal
from ...journal.follow import follow
from ...runs.recorded import outputs_of
from ..scopes import allows
from . import tasks, views
from .api import Api, no_agent
from .bodies import ForkBody, ResumeBody, RunBody, RunPage, RunsQuery
from .records import POLL_S, Recorded, Records
from .views import EventFold
from .work import CANCEL_S


async def start_run(api: Api, asked: ApiRequest[None, RunBody]) -> ApiReply:
    """Have an agent answer a question."""
    who, body = asked.who, asked.body
    if body.execute_async:
        return await tasks.accept_run(api, asked)
    tasks.check_no_task(body)
    agent = await api.agent(who, body.agent)
    start = api.start(asked)
    # What a client says may be its model's words, unless the operator trusts the client to say only what its user said.
    question = UserMessage((TextPart(body.question),), "user" if who.speaks_for == "user" else "agent")
    api.check_question(agent, question)
    await api.begin(
        start,
        lambda emit: agent.run(
            question,
            conversation=body.session,
            principal=who.principal,
            tenant=who.tenant,
            roles=who.roles,
            key_id=who.key_id,
            run_id=start.run_id,
            request=start.request,
            emit=emit,
        ),
    )
    return await api.begun(start.run_id, who)


async def list_runs(api: Api, asked: ApiRequest[RunsQuery, None]) -> ApiReply:
    """The caller's runs, the latest first."""
    query = asked.query
    if query.principal not in ("", asked.who.principal) and not allows(asked.who, ("admin",)):
        raise wants("admin", "to see the runs of another user")
    runs, following, count = await api.records.runs(query, asked.who)
    return ApiReply(RunPage(items=tuple(views.run_info(line, asked.who) for line in runs), next=following, count=count))


async def get_run(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """How a run stands."""
    return await shown(api, await api.records.run(asked.names["id"], asked.who), asked.who)


async def cancel_run(api: Api, asked: ApiRequest[None, object]) -> ApiReply:
    """Cancel a run, wherever it waits; what it is doing right now may have happened."""
    run_id = asked.names["id"]
    recorded = await api.records.run(run_id, asked.who)
    if not recorded.is_over:
        await api.work.cancel(run_id)
        await cancel_elsewhere(api, run_id, asked.who)  # a run that was just about to pause has not ended
    return await shown(api, await api.records.run(run_id, asked.who), asked.who)


async def cancel_elsewhere(api: Api, run_id: str, who: Identity) -> None:
    """Cancel a run that has not ended: it waits, or another process carries it out, and sees that the run is to be
    cancelled.

    Raises:
        Busy: whoever carries the run out did not stop the run in time.
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
            api.journal.append(run_id, Ended("stopped", "", "cancelled"))
            await api.journal.sync(run_id)


async def resume_run(api: Api, asked: ApiRequest[None, ResumeBody]) -> ApiReply:
    """Go on with a run that was paused or interrupted."""
    if asked.body.accept and not allows(asked.who, ("admin",)):
        raise wants("admin", "to go on with a run although its tools or instructions have changed")
    recorded = await api.records.run(asked.names["id"], asked.who)
    await api.check_go_on(asked.who, recorded)
    if recorded.is_task:
        raise Refusal(409, "task", "This run is a task, which goes on by itself.", run=recorded.run_id)
    if not recorded.is_over and api.work.get(recorded.run_id) is None:
        job = api.go_on(recorded, accept=asked.body.accept)
        await api.started(job)
    return await api.begun(recorded.run_id, asked.who)


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
        )
    else:
        await agent.fork(
            recorded.run_id,
            body.at,
            question=body.question,
            result=body.result,
            new_run=start.run_id,
            conversation=body.session,
            principal=recorded.started.principal,
            tenant=who.tenant,
            request=start.request,
        )
    branch = await api.records.run(start.run_id, who)
    if not branch.is_over and api.work.get(start.run_id) is None and not await api.journal.driven([start.run_id]):
        await api.started(api.go_on(branch))
    return await api.begun(start.run_id, who)


async def follow_run(api: Api, asked: ApiRequest[None, None]) -> ApiReply | Events:
    """The events of a run as they come."""
    recorded = await api.records.run(asked.names["id"], asked.who)
    if recorded.is_over and asked.last_event >= recorded.entries[-1].number:
        return ApiReply(None, 204)  # tells a browser not to come again
    return run_events(api.records, recorded.run_id, asked.who.tenant, asked.last_event)


async def run_events(records: Records, run_id: str, tenant: str, after: int) -> Events:
    """The events of a run, with the entries that come. The id of an event is the number of its entry, so that a client
    goes on with `Last-Event-ID` where it was, at any process that has the journal.

    Args:
        records: the journal, as callers may read it.
        run_id: the run.
        tenant: the caller's.
        after: the number of the last event that the client has; -1 for none.
    """
    fold = EventFold(run_id)
    # From the first entry on: an event also tells what earlier entries say of its call.
    async for entry in follow(records.journal, run_id, records.clock, tenant=tenant, through_pauses=True):
        event = fold.take(entry)
        if entry.number > after:
            yield StreamEvent(str(event.number), event.type, event)


async def shown(api: Api, recorded: Recorded, who: Identity) -> ApiReply:
    """A run as it stands."""
    line = await api.records.summary(recorded)
    if line.ended is not None and not recorded.is_over:  # the run has ended since it was read
        recorded = await api.records.again(recorded)
    outputs = await outputs_of(api.journal, recorded.state.ended)
    return ApiReply(views.run(line, recorded, who, outputs))


def wants(scope: str, what: str) -> Refusal:
    """The refusal for a request that needs another scope."""
    return Refusal(403, "scope", f"The scope {scope!r} is needed {what}.", scope=(scope,))
