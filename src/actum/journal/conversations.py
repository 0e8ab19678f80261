"""What a journal lists: runs as they stand now, a run with the runs that its calls started, conversations.

Reads by the `Journal` protocol alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from ..core.interfaces import Journal
from ..core.run.ids import child_id
from ..core.run.noted import NO_KINDS, RecordKinds
from ..core.run.record import Entry, InputGiven, Intended, Started
from ..core.run.summary import ConversationSummary, RunSummary, records_of, summary_of
from ..core.run.task import FINISHED
from ..core.trace import span_id, span_in, trace_id
from .recording import RunState


class Family(Struct, frozen=True):
    """A run, its entries, and the runs that its calls started.

    Attributes:
        run: the line of the run.
        entries: all of them.
        children: the runs that its calls started, here or by way of a server that keeps the same journal.
        place: where it stands among the runs of the same caller: its id, or for a run that a server began for a call,
            the id that a run of this process for the same call would have.
        record_kinds: the kinds of records that features bring here.
    """

    run: RunSummary
    entries: Sequence[Entry]
    children: Sequence[Family] = ()
    place: str = ""
    record_kinds: RecordKinds = NO_KINDS

    @property
    def trace(self) -> str:
        """The id of the trace, where the run shares the trace with a run of another caller; else empty."""
        started = next(iter(records_of(self.entries[:1])), None)
        if not isinstance(started, Started):
            return ""
        is_shared = bool(started.trace) or any(child.trace for child in self.children)
        return trace_id(self.run.run_id, started.trace) if is_shared else ""


def span_name(traceparent: str) -> str:
    """Under this name a server keeps a run that it began for a call of another run: by the span of the call."""
    span = span_in(traceparent)
    return f"span:{span}" if span else ""


class Conversation(Struct, frozen=True, kw_only=True):
    """A conversation in a list of them.

    Attributes:
        tenant, owner, id: it is named by all three: whose it is, and its id.
        runs: how many turns it has.
        began, latest: when its first and its latest turn began, in seconds since 1970.
        question: its first words.
        first: the run of its first turn.
        status: how its latest turn stands.
    """

    owner: str
    id: str
    runs: int
    began: float
    latest: float
    question: str
    first: str
    status: str
    tenant: str = ""


_UNFINISHED = ("running", "waiting", "paused")


async def as_they_stand(
    journal: Journal, runs: Sequence[RunSummary], *, reads_records: bool = True
) -> list[RunSummary]:
    """The runs, with `interrupted` for each that is `running` and that nobody drives any more. A task that has not
    ended goes on by itself, and counts as `running`. A paused run that still waits for somebody is `paused`, though
    another question of the run was answered. A run that is held is `interrupted`, whatever it waits for.

    Args:
        journal: the journal.
        runs: their lines in the list of runs.
        reads_records: whether the records of runs that nobody drives are read. Without that, such a run is
            `interrupted` also where it waits for somebody, or has ended since its line was read.
    """
    held = await journal.held.which([run.run_id for run in runs if run.status in _UNFINISHED])
    if held:
        runs = [structs.replace(run, status="interrupted") if run.run_id in held else run for run in runs]
    running = [run.run_id for run in runs if run.status == "running"]
    driven = await journal.driven(running) if running else set()
    lost = set(running) - driven
    if lost:  # one of them may have ended between the two looks at the journal
        again = {run_id: _stands(run_id, await journal.read(run_id)) for run_id in lost} if reads_records else {}
        runs = [again.get(run.run_id) or run for run in runs]
        states = await journal.tasks.states(list(lost)) if journal.tasks is not None else {}
        lost -= {run_id for run_id, state in states.items() if state not in FINISHED}
    return [
        structs.replace(run, status="interrupted") if run.run_id in lost and run.status == "running" else run
        for run in runs
    ]


def _stands(run_id: str, entries: Sequence[Entry]) -> RunSummary | None:
    """The line of a run that nobody drives; None where its record can not be read."""
    line = summary_of(run_id, entries)
    if line is None or line.status != "running" or not isinstance(entries[-1].record, InputGiven):
        return line
    state = RunState(entries)
    is_paused = state.ended is not None and state.ended.status == "paused" and bool(state.waiting())
    return structs.replace(line, status="paused") if is_paused else line


async def family(journal: Journal, run: RunSummary) -> Family:
    """A run with all that came of its calls, and of theirs."""
    later = await journal.runs(since=run.started, limit=None)
    return await _family(journal, run, await as_they_stand(journal, later), frozenset())


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
            first=each.first.run_id,
            status=turn.status,
        )
        for each, turn in zip(found, latest, strict=True)
    ]


async def _family(
    journal: Journal, run: RunSummary, later: Sequence[RunSummary], above: frozenset[str], place: str = ""
) -> Family:
    above |= {run.run_id}
    children = [await _family(journal, child, later, above) for child in reversed(later) if child.parent == run.run_id]
    entries = await journal.read(run.run_id)
    for at, child in await _served(journal, run, entries, later):
        if child.run_id not in above:  # a client can claim any span, and so make a circle
            children.append(await _family(journal, child, later, above, at))
    return Family(run, entries, children, place, journal.record_kinds)


async def _served(
    journal: Journal, run: RunSummary, entries: Sequence[Entry], later: Sequence[RunSummary]
) -> list[tuple[str, RunSummary]]:
    """The runs that servers with this journal began for calls of a run, each with its place. Only runs of the same
    tenant and trace count, since which span a run belongs to is the word of a client. Of a damaged record, only what
    can be read counts."""
    records = records_of(entries) if len(later) > 1 else []
    if not records or not isinstance(records[0], Started):
        return []
    trace, found = trace_id(run.run_id, records[0].trace), dict[str, RunSummary]()
    by_id = {each.run_id: each for each in later if each.tenant == run.tenant and not each.parent}
    keys = [each.key for each in records if isinstance(each, Intended)]
    for key in dict.fromkeys(keys):
        for run_id in await journal.named(f"span:{span_id(key)}", limit=1):
            first = records_of((await journal.read(run_id))[:1]) if run_id in by_id else []
            started = first[0] if first else None
            if isinstance(started, Started) and trace_id(run_id, started.trace) == trace:
                found[child_id(key)] = by_id[run_id]
    return list(found.items())
