"""What a journal lists: runs as they stand now, a run with the runs that its calls started, conversations.

Reads by the `Journal` protocol alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from ..core.interfaces import Journal
from ..core.record import ConversationSummary, Entry, RunSummary, summary_of


class Family(Struct, frozen=True):
    """A run, its entries, and the runs that its calls started."""

    run: RunSummary
    entries: Sequence[Entry]
    children: Sequence[Family] = ()


class Conversation(Struct, frozen=True, kw_only=True):
    """A conversation in a list of them.

    Attributes:
        tenant, owner, id: it is named by all three: whose it is, and its id.
        runs: how many turns it has.
        began, latest: when its first and its latest turn began, in seconds since 1970.
        question: its first words.
        status: how its latest turn stands.
    """

    owner: str
    id: str
    runs: int
    began: float
    latest: float
    question: str
    status: str
    tenant: str = ""


async def as_they_stand(journal: Journal, runs: Sequence[RunSummary]) -> list[RunSummary]:
    """The runs, with `interrupted` for each that is `running` and that nobody drives any more."""
    running = [run.run_id for run in runs if run.status == "running"]
    driven = await journal.driven(running) if running else set()
    lost = set(running) - driven
    if lost:  # one of them may have ended between the two looks at the journal
        again = {run_id: summary_of(run_id, await journal.read(run_id)) for run_id in lost}
        runs = [again.get(run.run_id) or run for run in runs]
    return [
        structs.replace(run, status="interrupted") if run.run_id in lost and run.status == "running" else run
        for run in runs
    ]


async def family(journal: Journal, run: RunSummary) -> Family:
    """A run with all that came of its calls, and of theirs."""
    later = await journal.runs(since=run.started, limit=None)
    return await _family(journal, run, await as_they_stand(journal, later))


async def conversations(journal: Journal, owner: str | None = None, tenant: str | None = None) -> list[Conversation]:
    """Conversations, the one that was talked in last first.

    Args:
        owner: whose; None for everybody's.
        tenant: of which tenant; None for all.
    """
    return await conversations_of(journal, await journal.conversations(owner=owner, tenant=tenant, limit=None))


async def conversations_of(journal: Journal, found: Sequence[ConversationSummary]) -> list[Conversation]:
    """The lines of conversations as they stand now."""
    latest = await as_they_stand(journal, [each.latest for each in found])
    return [
        Conversation(
            tenant=each.latest.tenant,
            owner=each.latest.owner,
            id=each.latest.conversation,
            runs=each.runs,
            began=each.first.started,
            latest=each.latest.started,
            question=each.first.question,
            status=turn.status,
        )
        for each, turn in zip(found, latest, strict=True)
    ]


async def _family(journal: Journal, run: RunSummary, later: Sequence[RunSummary]) -> Family:
    children = [await _family(journal, child, later) for child in reversed(later) if child.parent == run.run_id]
    return Family(run, await journal.read(run.run_id), children)
