"""A run of a workflow as a turn of a conversation: who holds the conversation, and with what the run begins."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from msgspec import structs

from ..agents.cleanness import labels_seen_before
from ..core.interfaces import Context, Journal
from ..core.process.claim import claim_of_conversation, claim_of_variables
from ..core.run.record import Started
from ..journal.recording import RunState
from ..policy.labels import Label
from .conversation import ConversationState, state_after, state_of


@asynccontextmanager
async def conversation_held(started: Started | None, journal: Journal) -> AsyncIterator[None]:
    """Hold the conversation of a run: two runs at once would overwrite each other's variables. A run that works for
    another run may find the conversation held by that run.

    Args:
        started: the first record of the run; None where it is forgotten.
        journal: where the run is written down.

    Raises:
        Busy: another run of the conversation is under way.
    """
    async with AsyncExitStack() as stack:
        if started is not None and started.conversation:
            named = (started.owning_user.principal, started.conversation, started.owning_user.tenant)
            if not started.parent:
                await stack.enter_async_context(journal.claim(claim_of_conversation(*named)))
            await stack.enter_async_context(journal.claim(claim_of_variables(*named)))
        yield


async def with_variables(run_id: str, started: Started, journal: Journal, labels: Mapping[str, Label]) -> Started:
    """The first record of a run, with its conversation as the conversation stands now. `labels` is as for `state_of`.

    Raises:
        UsageError: too many runs of the conversation are open.
    """
    if not started.conversation:
        return started
    state = await state_of(journal, started.owning_user, started.conversation, labels=labels)
    state.check_room(started.conversation)
    return state.within(run_id, started, journal)


async def for_caller(
    run_id: str, started: Started, context: Context, journal: Journal, labels: Mapping[str, Label]
) -> Started:
    """The first record of a run that answers in a conversation on behalf of the run that calls it: the conversation is
    that of the caller. Where the caller's conversation has no id, its runs name the run before them.

    Args:
        run_id: the run that begins.
        started: its first record, without a conversation.
        context: of the call.
        journal: where both runs are written down.
        labels: as for `state_of`.

    Raises:
        UsageError: too many runs of the conversation are open.
    """
    above = RunState((await journal.read(context.run_id, tenant=context.tenant))[:1]).beginning()
    state = ConversationState()
    if above.conversation:
        state = await state_of(journal, above.owning_user, above.conversation, labels=labels)
        state.check_room(above.conversation)
    labels_seen = await labels_seen_before(journal, above.previous, above.seen, above.owning_user, labels)
    if above.previous and not state.variables:
        labels_seen = (*labels_seen, *state.labels_seen)
        state = await state_after(journal, above.owning_user, above.previous)
    state = structs.replace(state, labels_seen=(*state.labels_seen, *labels_seen))
    return structs.replace(
        state.within(run_id, started, journal),
        conversation=above.conversation or f"after {context.run_id}",
        owner=above.owner,
        history=above.history,
        previous=above.previous,
        seen=above.seen,
    )


async def read_conversation(run_id: str, state: RunState, journal: Journal, labels: Mapping[str, Label]) -> None:
    """Put on record how the conversation of a run that was queued stands, now that the run begins.

    Args:
        run_id: the run.
        state: the run as it stands; takes the record.
        journal: where the run is written down.
        labels: as for `state_of`.
    """
    started = state.beginning()
    if state.has_read_conversation or not started.conversation:
        return
    found = await state_of(journal, started.owning_user, started.conversation, but=run_id, labels=labels)
    record = found.read(run_id, journal, started.labels_seen)
    state.take(journal.append(run_id, record), record)
