"""The audit: who called what, when, with what, why it was allowed, and what came back. A fold of the journal.

One line for each thing that was decided or done:

    asked                a person has to agree, to answer, or to say whether something happened
    approved, denied     a person said yes or no; `denied` also for a call that was turned away for it, or by a policy
    answered, resolved   a person answered a question; said what became of a call in doubt
    checked              a policy wanted something looked up first; `outcome` says what speaks against the call
    allowed              an attempt begins: the intent, on record before its tool runs
    done, failed         how an attempt ended
    kept_out             a program tried to open files outside its jail while it carried out the call; `text` names them
    refused              a call that never reached a tool: unknown, invalid, beyond a limit
    administered         an administrator did something, such as making a key: `tool` names the act
    forked               what a branch has taken over; what it is made of is told where it happened, not twice
    agent_changed        a run went on, on purpose, with an agent that is not as it was: `text` says what differs
    mandated             what the user's words empower the agent to do was found out: `text` says what
    noted                the tool of a call put a record of a feature on the run: `text` is the record
    forgotten, deleted   somebody deleted what was said here; `deleted` stands where it was
    damaged              what is on record here is not what was written: `text` says how that is known

Each line carries the head of the chain at its entry: what was exported once can be checked later (`export.py`).
A line is what the record says, secrets already left out. Knows nothing of how it is printed.

Everything is read from the entries. The list of runs is an index that no chain covers: a run that is missing there is
told all the same, and `actum journal verify` says that it is missing. What can not be read answers every question:
nobody knows whose it is, what it did, or when.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Literal, get_args

from msgspec import Struct, structs

from ..core.call import Effect, ToolCall, ToolResult
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.run.chain import Chain
from ..core.run.mandate import MandateMade
from ..core.run.noted import NO_KINDS, RecordKinds
from ..core.run.record import (
    AgentChanged,
    CallCompleted,
    CallRefused,
    CallsRequested,
    Entry,
    Forgotten,
    InputGiven,
    InputRequested,
    Intended,
    Noted,
    PrecheckDone,
    Record,
    Started,
)
from ..core.run.summary import records_of
from .export import deleted_before, run_ids
from .recording import CallRef
from .timeline import NAMELESS, Timeline

AuditDecision = Literal[
    "asked",
    "approved",
    "denied",
    "answered",
    "resolved",
    "checked",
    "allowed",
    "done",
    "failed",
    "kept_out",
    "refused",
    "administered",
    "forked",
    "agent_changed",
    "mandated",
    "noted",
    "forgotten",
    "deleted",
    "damaged",
]
DECISIONS: tuple[AuditDecision, ...] = get_args(AuditDecision)
"""What a line can say, in the order of the table above."""

UNJAILED = "without a jail"
"""What the audit tells of a call that a local program carried out while no jail held that program."""

_BY_VERDICT: dict[str, AuditDecision] = {"approve": "approved", "deny": "denied", "answer": "answered"}
_TURNED_AWAY: dict[str, AuditDecision] = dict.fromkeys(("permission_denied", "approval_denied"), "denied")


class AuditLine(Struct, frozen=True, kw_only=True):
    """One line of the audit.

    Attributes:
        at: seconds since 1970.
        run, number: the entry that says so.
        head: the chain's head at it, hexadecimal.
        principal: on whose behalf the run acts; empty once it was forgotten.
        tenant: whose user the principal is.
        agent: whose run it is.
        decision: what was decided or done.
        tool, arguments: the call; empty where there is none. With an intent, the arguments that the tool really gets.
        rule: the rule that allowed it, asked for a person, or turned it away.
        by: the person who answered, approved or forgot.
        waited_s: with an answer, seconds since it was asked.
        attempt: which attempt at the call; 0 where there is none.
        outcome: `ok` or the code of a failure; for a doubt, what the person said; for a check, what speaks against it.
        effect: what may have changed in the world.
        key: the idempotency key, by which the tool's own service may have it on record, too.
        text: what came back, was asked, or was answered.
    """

    at: float
    run: str
    number: int
    head: str
    decision: AuditDecision
    principal: str = ""
    agent: str = ""
    tool: str = ""
    arguments: JsonObject | None = None
    rule: str = ""
    by: str = ""
    waited_s: float | None = None
    attempt: int = 0
    outcome: str = ""
    effect: str = ""
    key: str = ""
    text: str = ""
    tenant: str = ""


class Wanted(Struct, frozen=True, kw_only=True):
    """Which lines are looked for; what is empty or None fits all.

    Attributes:
        since, until: from the one on and before the other, in seconds since 1970.
        principal: on whose behalf.
        tenant: only runs of this tenant; None for all. Of another tenant's run nothing is told, damaged or not.
        tool: the tool's name, or a pattern of names with `*`.
        decision: what was decided or done.
        run: the run's id.
        text: words that stand in the line as they are written here, whatever their case: in the tool, the arguments,
            the rule, the outcome, what was said, or the names of people.
    """

    since: float | None = None
    until: float | None = None
    principal: str = ""
    tenant: str | None = None
    tool: str = ""
    decision: str = ""
    run: str = ""
    text: str = ""

    def fits(self, line: AuditLine) -> bool:
        """Whether this line is one of them; a damaged one may be any."""
        return line.decision == "damaged" or (
            (self.since is None or line.at >= self.since)
            and (self.until is None or line.at < self.until)
            and self.principal in ("", line.principal)
            and self.decision in ("", line.decision)
            and (not self.tool or fnmatchcase(line.tool, self.tool))
            and (not self.text or self.text.casefold() in _words(line))
        )


def _words(line: AuditLine) -> str:
    """All that a person reads in a line, in small letters."""
    arguments = json.dumps(line.arguments, ensure_ascii=False) if line.arguments else ""
    said = (line.tool, arguments, line.rule, line.outcome, line.text, line.principal, line.by, line.agent)
    return "\n".join(said).casefold()


async def _as_it_is(run_id: str, entries: Sequence[Entry]) -> Sequence[Entry]:
    return entries


async def audit(
    journal: Journal,
    wanted: Wanted | None = None,
    seen: Callable[[str, Sequence[Entry]], Awaitable[Sequence[Entry]]] = _as_it_is,
) -> AsyncIterator[AuditLine]:
    """The lines that are wanted, run by run in the order in which the runs began; those that are missing in the list of
    runs come last.

    Every run is read, one at a time: one that began long ago may have gone on since.

    Args:
        journal: the journal.
        wanted: which lines.
        seen: gives the entries of a run as the reader may see them.
    """
    wanted = wanted or Wanted()
    for run_id in [wanted.run] if wanted.run else await _runs_of(journal, wanted.tenant):
        entries = await journal.read(run_id, tenant=wanted.tenant)
        for line in audit_lines(run_id, await seen(run_id, entries), journal.record_kinds):
            if wanted.fits(line):
                yield line
        # A journal in memory may have dropped the run meanwhile.
        if not entries and run_id in await _runs_of(journal, wanted.tenant):
            yield _no_entries(run_id)


def _no_entries(run_id: str) -> AuditLine:
    problem = "no entries are found under its id"
    return AuditLine(at=0.0, run=run_id, number=0, head="", decision="damaged", text=problem)


async def _runs_of(journal: Journal, tenant: str | None) -> list[str]:
    """The runs of a tenant, by when they began; None for all runs of which there is an entry or a line."""
    if tenant is None:
        return await run_ids(journal)
    return [run.run_id for run in reversed(await journal.runs(tenant=tenant, limit=None))]


def audit_lines(run_id: str, entries: Iterable[Entry], record_kinds: RecordKinds = NO_KINDS) -> Iterator[AuditLine]:
    """What one run adds to the audit, with a line for whatever is wrong with its entries.

    Args:
        run_id: its id.
        entries: from its first.
        record_kinds: the kinds of records that features bring here.
    """
    entries = list(entries)
    records = records_of(entries)
    fold = _Fold(run_id, deleted_before(entries, records), record_kinds)
    for entry, record in zip(entries, records, strict=True):
        yield from fold.take(entry, record)


class _Fold:
    """What has to be remembered of a run to tell of its next entry."""

    def __init__(self, run_id: str, deleted_before: int, record_kinds: RecordKinds) -> None:
        self._run_id = run_id
        self._record_kinds = record_kinds
        self._deleted_before = deleted_before
        self._chain = Chain()
        self._timeline = Timeline()
        self._deleting = False
        self._by_administrator = False

    def take(self, entry: Entry, record: Record | None) -> Iterator[AuditLine]:
        """The lines of this entry: what is wrong with it, and what it says."""
        problems = self._chain.take(entry)
        self._timeline.take(entry, record)
        if not entry.payload and entry.number < self._deleted_before:
            if not self._deleting:
                yield self._line(entry, "deleted", text="from here on, what was on record")
            self._deleting = True
            line = None
        else:
            self._deleting = False
            line = self._tell(entry, record) if record is not None else None
            if record is None and not problems:
                problems = [f"entry {entry.number}: its payload was deleted or is not a record"]
        if problems:
            yield self._line(entry, "damaged", text="; ".join(problems))
        started = self._timeline.started
        taken_over = started is not None and started.forked and 0 < entry.number <= started.fork_at
        if line is not None and not taken_over:
            yield line
            if isinstance(record, CallCompleted) and record.opened_outside:
                told = "; ".join(record.opened_outside)
                yield structs.replace(line, decision="kept_out", outcome="", effect="none", text=told)

    def _tell(self, entry: Entry, record: Record) -> AuditLine | None:
        match record:
            case Started():
                whole = f"{record.forked} up to entry {record.fork_at}"
                return self._line(entry, "forked", text=whole) if record.forked else None
            case CallsRequested():
                self._by_administrator = record.by == "administrator"
                return None
            case PrecheckDone():
                line = self._line(entry, "checked", ToolCall("", record.tool, record.arguments), rule=record.rule)
                return structs.replace(line, outcome=record.fault or "ok", effect="none", text=record.result.text)
            case InputRequested():
                return self._line(entry, "asked", record.pending.call, rule=record.rule, text=record.pending.message)
            case InputGiven():
                return self._answered(entry, record)
            case Intended():
                return self._intended(entry, record)
            case CallCompleted() | CallRefused():
                return self._ended(entry, record)
            case AgentChanged():
                changed = ", ".join(record.changed)
                return self._line(entry, "agent_changed", by=record.by, text=f"{record.agent}: {changed}")
            case MandateMade():
                return self._line(entry, "mandated", by=record.by, text=record.line)
            case Noted():
                said = self._said(CallRef(record.cause, record.index))
                return self._line(entry, "noted", said, text=self._record_kinds.shown(record))
            case Forgotten():
                return self._line(entry, "forgotten", by=record.by, text=record.reason)
            case _:
                return None

    def _said(self, place: CallRef) -> ToolCall | None:
        """The call at a place, as it was asked for; None where that was deleted."""
        call = self._timeline.call(place)
        return call.call if call is not None and call.call is not NAMELESS else None

    def _answered(self, entry: Entry, record: InputGiven) -> AuditLine:
        question = self._timeline.question(record.id)
        asked, at = (None, entry.at) if question is None else (question.asked, question.at)
        decision = _BY_VERDICT.get(record.verdict, "resolved")
        call = asked.pending.call if asked is not None else None
        if call is not None and record.arguments is not None and record.verdict == "approve":  # to be made with others
            call = structs.replace(call, arguments=record.arguments)
        line = self._line(entry, decision, call, by=record.answered_by, text=record.text)
        return structs.replace(
            line,
            waited_s=max(0.0, entry.at - at),
            rule=asked.rule if asked is not None else "",
            outcome=record.verdict if decision == "resolved" else "",
        )

    def _intended(self, entry: Entry, record: Intended) -> AuditLine:
        place = CallRef(record.cause, record.index)
        made = ToolCall("", record.tool, record.arguments)
        line = self._line(entry, "allowed", made, rule=record.rule, by=self._approved_by(place))
        text = UNJAILED if record.unjailed else ""
        return structs.replace(line, attempt=record.attempt, key=record.key, text=text)

    def _ended(self, entry: Entry, record: CallCompleted | CallRefused) -> AuditLine:
        place, error = CallRef(record.cause, record.index), record.result.error
        span = self._timeline.call(place)
        intent = span.attempts[-1].intended if span is not None and span.attempts else None
        call = ToolCall("", intent.tool, intent.arguments) if intent is not None else self._said(place)
        if isinstance(record, CallRefused):
            code = error.code if error is not None else ""
            line = self._line(entry, _TURNED_AWAY.get(code, "refused"), call, rule=record.rule)
        else:
            done: AuditDecision = "administered" if self._by_administrator else "done"
            line = self._line(entry, done if error is None else "failed", call)
        return structs.replace(
            line,
            attempt=intent.attempt if intent is not None else 0,
            key=intent.key if intent is not None else "",
            outcome="ok" if error is None else error.code,
            effect=_effect(record.result),
            text=record.result.text,
        )

    def _approved_by(self, place: CallRef) -> str:
        """Who has agreed to a call."""
        call = self._timeline.call(place)
        said = [answer for asked in call.questions for answer, _ in asked.answers] if call is not None else []
        return ", ".join([answer.answered_by for answer in said if answer.verdict == "approve" and answer.answered_by])

    def _line(
        self,
        entry: Entry,
        decision: AuditDecision,
        call: ToolCall | None = None,
        *,
        rule: str = "",
        by: str = "",
        text: str = "",
    ) -> AuditLine:
        started = self._timeline.started
        return AuditLine(
            at=entry.at,
            run=self._run_id,
            number=entry.number,
            head=entry.head.hex(),
            decision=decision,
            principal=started.principal if started is not None else "",
            tenant=started.tenant if started is not None else "",
            agent=started.agent if started is not None else "",
            tool=call.name if call is not None else "",
            arguments=call.arguments if call is not None else None,
            rule=rule,
            by=by,
            text=text,
        )


def _effect(result: ToolResult) -> Effect:
    return "done" if result.error is None else result.error.effect
