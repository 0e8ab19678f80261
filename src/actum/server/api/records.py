"""What a caller may read of the journal: the one place where our own API looks for runs, and asks whose they are.

What is another tenant's, or another user's, is not there: found and not found are one look-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from msgspec import Struct, structs

from ...call.asking.inbox import InboxItem, record_expired, waiting_items
from ...core.errors import JournalError, UsageError
from ...core.identity import Identity
from ...core.interfaces import Clock, Journal
from ...core.json import JsonObject
from ...core.run.ending import is_last
from ...core.run.record import Entry, Started, TaskQueued
from ...core.run.summary import RunSummary, summary_of
from ...features.command import AnswerText
from ...features.operation import ApiRequest
from ...features.refusal import Refusal, not_found
from ...journal.conversations import as_they_stand
from ...journal.recording import RunState
from ...policy.labels import Label
from ...policy.record_mask import RecordMask, reader_mask
from ...runs.other_values import know_others
from ...runs.recorded import is_run_id
from ..scopes import allows

NO_LABELS: Mapping[str, Label] = {}
_BEGINNING = 8
"""The entries of a run among which is what the list of runs tells of its question."""
PROBLEMS_MAX = 10
"""The most problems of the record that are told beside what a command shows."""
POLL_S = 0.2
"""Seconds between two looks whether another process has come further with a run."""


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


class Forgetting(Struct, frozen=True):
    """What was deleted for good.

    Attributes:
        runs: the runs, with those that their calls started.
        records: how many records they had.
    """

    runs: tuple[str, ...]
    records: int


class Records:
    """A journal, as callers may read it.

    Args:
        journal: the journal.
        clock: says when to look again.
        labels: what the labels of values mean: who may read them.
    """

    def __init__(self, journal: Journal, clock: Clock, labels: Mapping[str, Label] = NO_LABELS) -> None:
        self.journal = journal
        self.clock = clock
        self._labels = labels

    def mask(self, who: Identity) -> RecordMask:
        """What hides values with a label from a caller, in the record of one run."""
        return reader_mask(self._labels, who.principal, who.roles)

    async def mask_of(self, run_id: str, entries: Sequence[Entry], who: Identity) -> RecordMask:
        """What hides values from a caller in the record of a run: also those of other runs that this run says again."""
        mask = await know_others(self.mask(who), self.journal, run_id, entries)
        mask.know_run(entries)
        return mask

    async def mask_over(self, run_ids: Sequence[str], who: Identity) -> RecordMask:
        """What hides values of some runs from a caller, wherever they are said again."""
        entries = await self.journal.read_each(list(run_ids)) if self._labels else {}
        return await self._mask_over(entries, who)

    async def _mask_over(self, entries: Mapping[str, Sequence[Entry]], who: Identity) -> RecordMask:
        mask = self.mask(who)
        for run_id, found in entries.items():
            mask.know_run(found)
            await know_others(mask, self.journal, run_id, found)
        return mask

    async def questions_shown(self, questions: Mapping[str, str], who: Identity) -> Mapping[str, str]:
        """What lists tell of the questions of runs, as a caller may see them: a model may write a value into the task
        of an agent below, and a later turn may ask about a value of an earlier one.

        Args:
            questions: what the list of runs says, by the ids of the runs.
            who: the caller.
        """
        if not self._labels:
            return questions
        entries = await self.journal.read_each(list(questions))
        mask = await self._mask_over(entries, who)
        shown: dict[str, str] = {}
        for run_id, question in questions.items():
            begins = mask.of_run(entries.get(run_id, ())[:_BEGINNING])
            line = summary_of(run_id, begins)  # a question that the list has cut may end inside of a value
            shown[run_id] = mask.text(question) if line is None or not line.question else line.question
        return shown

    async def lines_shown(self, lines: Sequence[RunSummary], who: Identity) -> list[RunSummary]:
        """Lines of the list of runs, as a caller may see them."""
        questions = await self.questions_shown({line.run_id: line.question for line in lines}, who)
        return [structs.replace(line, question=questions[line.run_id]) for line in lines]

    async def entries_shown(self, run_id: str, entries: Sequence[Entry], who: Identity) -> Sequence[Entry]:
        """The entries of a run as a caller may see them."""
        return (await self.mask_of(run_id, entries, who)).of_run(entries)

    async def shown(self, recorded: Recorded, who: Identity) -> Recorded:
        """A run as a caller may see its record: to be shown, and not to go on with."""
        entries = await self.entries_shown(recorded.run_id, recorded.entries, who)
        return recorded if entries is recorded.entries else _recorded(recorded.run_id, entries)

    async def shown_object(self, recorded: Recorded, value: JsonObject, who: Identity) -> JsonObject:
        """A value that a run's record names and does not hold, as a caller may see it."""
        mask = await self.mask_of(recorded.run_id, recorded.entries, who)
        return {name: mask.value(each) for name, each in value.items()}

    async def shown_waiting(self, items: Sequence[InboxItem], who: Identity) -> list[InboxItem]:
        """What waits for persons, as a caller may see it: to be shown, and not to be answered."""
        if not self._labels:
            return list(items)
        run_ids = dict.fromkeys(item.run.run_id for item in items)
        entries = await self.journal.read_each(list(run_ids))
        shown = {
            waits.asked.id: waits
            for run in await self.lines_shown([*{item.run.run_id: item.run for item in items}.values()], who)
            for waits in waiting_items(run, await self.entries_shown(run.run_id, entries.get(run.run_id, ()), who))
        }
        return [shown.get(item.asked.id, item) for item in items]

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
        return _recorded(run_id, entries)

    async def asked_for(
        self, asked: ApiRequest[object, object], run_id: str, *, beyond_own: Sequence[str] = ()
    ) -> Recorded:
        """A run that a request names. On the command line the operator of this machine reads the runs of all tenants.

        Args:
            asked: the request.
            run_id, beyond_own: as for `run`.

        Raises:
            Refusal: as for `run`.
        """
        if not asked.by_operator:
            return await self.run(run_id, asked.who, beyond_own=beyond_own)
        entries = await self.journal.read(run_id, tenant=asked.tenant)
        if not entries:
            raise not_found("run")
        return _recorded(run_id, entries)

    async def again(self, recorded: Recorded) -> Recorded:
        """A run as it stands now."""
        entries = await self.journal.read(recorded.run_id)
        return Recorded(recorded.run_id, entries, RunState(entries))

    async def summary(self, recorded: Recorded, who: Identity) -> RunSummary:
        """How a run stands now, as a caller is shown the run."""
        line = summary_of(recorded.run_id, recorded.entries)
        if line is None:
            raise Refusal(503, "record_unreadable", "The record of this run can not be read.", run=recorded.run_id)
        await record_expired(self.journal, [(recorded.run_id, asked) for asked in recorded.state.waiting()])
        return (await as_they_stand(self.journal, await self.lines_shown([line], who)))[0]

    async def children(self, run_id: str, who: Identity) -> list[RunSummary]:
        """The runs that the calls of a run started, and those that these started."""
        found: list[RunSummary] = []
        for child in await self.journal.runs(parent=run_id, tenant=who.tenant, limit=None):
            found += [child, *await self.children(child.run_id, who)]
        return found

    async def forget(self, run_ids: Sequence[str], who: Identity, why: str) -> Forgetting:
        """Delete for good what runs say, with the runs that their calls started.

        Args:
            run_ids: the runs, which the caller may delete.
            who: the caller.
            why: stays on record.

        Raises:
            Refusal: a run is under way, or the record is signed. Of a run that is known to be under way nothing is
                deleted.
        """
        chosen = dict.fromkeys(run_ids)
        for run_id in run_ids:
            chosen |= {child.run_id: None for child in await self.children(run_id, who)}
        await self.check_idle(list(chosen))
        records = 0
        for run_id in reversed(chosen):
            try:
                records += await self.journal.forget(run_id, who.principal or "user", why)
            except UsageError:
                raise Refusal(
                    409, "not_forgotten", "This can not be deleted now: a run is under way, or the record is signed."
                ) from None
        return Forgetting(tuple(chosen), records)

    async def check_idle(self, run_ids: Sequence[str]) -> None:
        """Check that nobody drives some runs.

        Raises:
            Refusal: a run is under way.
        """
        if await self.journal.driven(run_ids):
            raise Refusal(
                409, "busy", "A run that would be deleted is under way. Cancel the run first.", retry_after=1.0
            )


def no_agent(recorded: Recorded) -> UsageError:
    """The error of a run that no agent of this server can go on with."""
    return UsageError("this server has no agent {agent!r}, which the run belongs to", agent=recorded.started.agent)


@contextmanager
def cursors() -> Iterator[None]:
    """A block in which a cursor is read.

    Raises:
        Refusal: the cursor is not known.
    """
    try:
        yield
    except UsageError:
        raise Refusal(404, "cursor", "This cursor is not known here: begin the list anew.") from None


def told_problems(problems: Sequence[str]) -> list[AnswerText]:
    """What a person is told of what is wrong with the record."""
    found = list(dict.fromkeys(problems))
    told = [AnswerText(problem, is_problem=True) for problem in found[:PROBLEMS_MAX]]
    more = f"... and {len(found) - PROBLEMS_MAX} more. " if len(found) > PROBLEMS_MAX else ""
    advice = "{more}The record was damaged or changed: `actum journal verify` checks all of it."
    return [*told, AnswerText(advice, values={"more": more}, is_note=True)] if found else []


def _recorded(run_id: str, entries: Sequence[Entry]) -> Recorded:
    try:
        return Recorded(run_id, entries, RunState(entries))
    except JournalError:
        raise Refusal(503, "record_unreadable", "The record of this run can not be read.", run=run_id) from None


def _beginning(entries: Sequence[Entry]) -> Started | None:
    try:
        return RunState(entries[:1]).started
    except JournalError:
        return None
