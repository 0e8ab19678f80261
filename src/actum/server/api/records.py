"""What a caller may read of the journal: the one place where our own API looks for runs, and asks whose they are.

What is another tenant's, or another user's, is not there: found and not found are one look-up.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from msgspec import Struct

from ...call.asking.inbox import InboxItem, find_waiting, page_of_waiting
from ...core.errors import JournalError, UnknownName, UsageError
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal, RunFilter
from ...core.record import Entry, RunSummary, Started, TaskQueued, is_last, summary_of
from ...features.refusal import Refusal, not_found
from ...journal.audit import AuditLine, Wanted, audit_lines
from ...journal.conversations import Conversation, as_they_stand
from ...journal.lists import bad_cursor, page_of_conversations, page_of_runs, read_cursor, write_cursor
from ...journal.recording import RunState
from ...runs.recorded import is_run_id
from ..scopes import allows
from .bodies import ApprovalsQuery, AuditQuery, RunsQuery, SessionsQuery

POLL_S = 0.2
"""So often it is looked whether another process has come further with a run."""
AUDIT_RUNS = 100
"""So many runs at most are read for one part of the audit."""
AUDIT_ENTRIES = 1000
"""After so many entries no further run is read for one part of the audit: some runs are long."""
_CONTROL = re.compile("[\\x00-\\x1f\\x7f]")


class Recorded(Struct, frozen=True):
    """A run that a caller may read.

    Attributes:
        run_id: the run.
        entries: its entries.
        state: what the entries say.
    """

    run_id: str
    entries: Sequence[Entry]
    state: RunState

    @property
    def started(self) -> Started:
        """The record that the run began with."""
        return self.state.beginning()

    @property
    def is_over(self) -> bool:
        """Whether the run has come to its end."""
        return is_last(self.entries[-1].record)

    @property
    def is_task(self) -> bool:
        """Whether the run is a task, which the dispatcher of tasks goes on with, and not the request."""
        return any(isinstance(entry.record, TaskQueued) for entry in self.entries)


class Records:
    """A journal, as callers may read it.

    Args:
        journal: the journal.
        clock: says when to look again.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.journal = journal
        self.clock = clock

    async def entries(self, run_id: str, who: Identity, after: int = -1) -> list[Entry]:
        """The entries of a run of the caller's tenant; none where there is no such run."""
        if not is_run_id(run_id):
            return []
        return await self.journal.read(run_id, after, tenant=who.tenant)

    async def run(self, run_id: str, who: Identity, *, beyond_own: Sequence[str] = ()) -> Recorded:
        """A run.

        Args:
            run_id: the run.
            who: the caller.
            beyond_own: the scopes with which a caller also reads runs of others in the same tenant, beside `admin`.

        Raises:
            Refusal: there is no such run for the caller, or its record was damaged or forgotten.
        """
        entries = await self.entries(run_id, who)
        started = _beginning(entries)
        if started is None or started.tenant != who.tenant:
            raise not_found("run")
        if started.principal != who.principal and not allows(who, ("admin", *beyond_own)):
            raise not_found("run")
        try:
            return Recorded(run_id, entries, RunState(entries))
        except JournalError:
            raise Refusal(503, "record_unreadable", "The record of this run can not be read.", run=run_id) from None

    async def again(self, recorded: Recorded) -> Recorded:
        """A run as it stands now."""
        entries = await self.journal.read(recorded.run_id)
        return Recorded(recorded.run_id, entries, RunState(entries))

    async def summary(self, recorded: Recorded) -> RunSummary:
        """How a run stands now."""
        line = summary_of(recorded.run_id, recorded.entries)
        if line is None:
            raise Refusal(503, "record_unreadable", "The record of this run can not be read.", run=recorded.run_id)
        return (await as_they_stand(self.journal, [line]))[0]

    async def runs(self, query: RunsQuery, who: Identity) -> tuple[list[RunSummary], str | None, int | None]:
        """A part of the list of runs, the cursor of the next part, and how many runs fit where that is wanted.

        Raises:
            Refusal: the cursor is not known.
        """
        wanted = RunFilter(
            tenant=who.tenant,
            agent=query.agent,
            kind=query.kind,
            conversation=query.session,
            status="running" if query.status == "interrupted" else query.status,  # the list can not tell the two apart
            since=query.since or None,
            until=query.until or None,
        )
        if allows(who, ("admin",)):
            wanted["principal"] = query.principal
        elif who.principal:
            wanted["principal"] = who.principal
        else:  # nobody known: an empty principal fits all
            wanted["owner"] = ""
        with _cursors():
            page = await page_of_runs(self.journal, limit=query.limit, cursor=query.cursor, **wanted)
        found = [
            run
            for run in page.items
            if query.status in ("", run.status) and (run.principal == who.principal or allows(who, ("admin",)))
        ]
        count = sum((await self.journal.count_runs(**wanted)).values()) if query.count else None
        return found, page.next or None, count

    async def waiting(self, query: ApprovalsQuery, who: Identity) -> tuple[list[InboxItem], str | None]:
        """A part of the list of what waits for a person in the caller's tenant, and the cursor of the next part: what
        the caller's own runs wait for, or all for a caller with the scope `approve`.

        Raises:
            Refusal: the cursor is not known.
        """
        wanted = RunFilter(tenant=who.tenant)
        if not allows(who, ("approve",)):
            wanted["owner"] = who.principal
        with _cursors():
            page = await page_of_waiting(self.journal, limit=query.limit, cursor=query.cursor, **wanted)
        return [item for item in page.items if _may_see(item, who)], page.next or None

    async def waiting_under(self, ask_id: str, who: Identity) -> InboxItem:
        """What waits under an id.

        Raises:
            Refusal: nothing waits under this id for the caller.
        """
        try:
            item = await find_waiting(self.journal, ask_id if is_run_id(ask_id) else "")
        except UnknownName:
            raise not_found("approval") from None
        if not (_may_see(item, who) if item.run.tenant == who.tenant else _is_named(item, who)):
            raise not_found("approval")
        return item

    async def sessions(self, query: SessionsQuery, owner: str, who: Identity) -> tuple[list[Conversation], str | None]:
        """A part of the list of an owner's conversations in the caller's tenant, and the cursor of the next part.

        Raises:
            Refusal: the cursor is not known.
        """
        with _cursors():
            page = await page_of_conversations(
                self.journal, limit=query.limit, cursor=query.cursor, owner=owner, tenant=who.tenant
            )
        return list(page.items), page.next or None

    async def session(self, session: str, owner: str, who: Identity) -> list[RunSummary]:
        """The runs of a conversation, the latest first.

        Raises:
            Refusal: there is no such conversation for the caller.
        """
        if not session or _CONTROL.search(session):
            raise not_found("session")
        runs = await self.journal.runs(conversation=session, owner=owner, tenant=who.tenant, limit=None)
        if not runs:
            raise not_found("session")
        return runs

    async def children(self, run_id: str, who: Identity) -> list[RunSummary]:
        """The runs that the calls of a run started, and those that these started."""
        found: list[RunSummary] = []
        for child in await self.journal.runs(parent=run_id, tenant=who.tenant, limit=None):
            found += [child, *await self.children(child.run_id, who)]
        return found

    async def audit(self, query: AuditQuery, who: Identity) -> tuple[list[AuditLine], str | None]:
        """A part of the audit of the caller's tenant, the latest runs first, and the cursor of the next part. Lines of
        one run stand in the order of its entries. A part can be empty although there are more parts: the runs that
        were read for the part had no line that is wanted.

        Raises:
            Refusal: the cursor is not known.
        """
        wanted = Wanted(
            since=query.since or None,
            until=query.until or None,
            principal=query.principal,
            tool=query.tool,
            decision=query.decision,
        )
        with _cursors():
            behind, skipped = read_cursor(query.cursor, tuple[str, int]) if query.cursor else ("", 0)
            if behind and not await self.journal.is_listed(behind, tenant=who.tenant):
                raise bad_cursor()
        lines: list[AuditLine] = []
        if query.run:
            runs = [query.run] if await self.entries(query.run, who) else []
        else:
            page = await self.journal.runs(
                tenant=who.tenant, until=query.until or None, behind=behind, limit=AUDIT_RUNS + 1
            )
            runs = [run.run_id for run in page]
        read = 0
        for run_id in runs[:AUDIT_RUNS]:
            entries = await self.entries(run_id, who)
            read += len(entries)
            for index, line in enumerate(audit_lines(run_id, entries)):
                if index < skipped or not wanted.fits(line):
                    continue
                if len(lines) == query.limit:
                    return lines, write_cursor((behind, index))
                lines.append(line)
            behind, skipped = ("" if query.run else run_id), 0
            if run_id != runs[-1] and read >= AUDIT_ENTRIES:
                return lines, write_cursor((behind, 0))
        return lines, write_cursor((behind, 0)) if len(runs) > AUDIT_RUNS else None


def _is_named(item: InboxItem, who: Identity) -> bool:
    """Whether a rule names a caller of another tenant as an approver: `ada@north`. Nothing else is shown to them."""
    approvers = item.asked.pending.approvers
    return bool(approvers) and who.voter(item.run.tenant).is_among(approvers) and allows(who, ("approve",))


def _may_see(item: InboxItem, who: Identity) -> bool:
    """Whether a caller sees something that waits in the caller's tenant."""
    return item.run.principal == who.principal or allows(who, ("approve",))


@contextmanager
def _cursors() -> Iterator[None]:
    """A block in which a cursor is read.

    Raises:
        Refusal: the cursor is not known.
    """
    try:
        yield
    except UsageError:
        raise Refusal(404, "cursor", "This cursor is not known here: begin the list anew.") from None


def _beginning(entries: Sequence[Entry]) -> Started | None:
    try:
        return RunState(entries[:1]).started
    except JournalError:
        return None
