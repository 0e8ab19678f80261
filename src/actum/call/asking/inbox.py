"""What persons are asked, and what they may answer: the inbox over all runs of a journal, and the word put in it.

A waiting run is not a process. An answer is a record, and the process that drives the run next finds the answer there.
What waits is read from the entries: the list of runs is an index, in which anybody who has the database can hide a run.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Unpack

from msgspec import Struct, structs

from ...core.approver import Voter
from ...core.errors import (
    Busy,
    JournalError,
    TooLate,
    UnknownName,
    UsageError,
    tell_problem,
)
from ...core.interfaces import Journal, RunFilter
from ...core.json import (
    JsonObject,
    JsonProblem,
    parse_object,
    whole_text,
)
from ...core.policy import Answer
from ...core.run.ending import is_last
from ...core.run.pending import AskedKind, Pending
from ...core.run.record import Entry, InputGiven, InputRequested, Verdict, time_over
from ...core.run.summary import OpenQuestion, RunSummary, summary_of
from ...core.tool import Tool, brought_by_client
from ...journal.export import faults
from ...journal.grant import check_free
from ...journal.kept_tools import kept_tools
from ...journal.lists import Page, checked_limit, read_cursor, write_cursor
from ...journal.recording import MIDWAY, RunState
from ...journal.secrets import write_answer
from ...schema.schema import compile_schema
from .posted import post_answer

log = logging.getLogger("actum.journal")

VERDICTS: dict[AskedKind, tuple[Verdict, ...]] = {
    "approval": ("approve", "deny"),
    "answer": ("answer",),
    "result": ("answer",),
    "doubt": ("done", "not_done", "retry", "unknown"),
    "elicitation": ("answer", "deny", "cancel"),
    "sampling": ("approve", "answer", "deny", "cancel"),
    "roots": ("answer", "deny", "cancel"),
}
"""What can be answered to what is asked; a word that is one of these is the answer, where text is not."""
_OPEN = ("waiting", "paused", "running")


class InboxItem(Struct, frozen=True):
    """Something that waits for a person.

    Attributes:
        run: the run that waits.
        asked: what it asks.
        at: when, in seconds since 1970.
        agreed: who has said yes so far to the call as it is, where several have to.
        voters: the same persons, as rules about approvers see them.
    """

    run: RunSummary
    asked: InputRequested
    at: float
    agreed: tuple[str, ...] = ()
    voters: tuple[Voter, ...] = ()

    @property
    def turn(self) -> str:
        """What the calls of one reply that wait for approval have in common; empty for what is no approval."""
        asked = self.asked
        return f"{asked.run or self.run.run_id}.{asked.cause}" if asked.kind == "approval" else ""


class Unreadable(Struct, frozen=True):
    """A run that can not be read, so that nobody knows whether it waits.

    Attributes:
        run_id: the run.
        problem: why it can not be read.
    """

    run_id: str
    problem: str

    def __str__(self) -> str:
        return f"run {self.run_id} can not be read: {self.problem}"


class Inbox(Struct, frozen=True):
    """What waits in a journal.

    Attributes:
        waiting: the oldest first.
        unreadable: runs that have not ended, as far as can be told, and may wait too.
    """

    waiting: Sequence[InboxItem]
    unreadable: Sequence[Unreadable]


async def inbox(journal: Journal) -> list[InboxItem]:
    """All that waits in a journal, the oldest first. An agent that works for another asks by that one.

    A run that can not be read hides nothing of the others: it is named in the log, and by `read_inbox`.
    """
    found = await read_inbox(journal)
    for unreadable in found.unreadable:
        log.warning("%s; what it waits for is not known", unreadable)
    return list(found.waiting)


async def read_inbox(journal: Journal) -> Inbox:
    """All questions that wait in a journal, and the runs that can not be read.

    Reads the latest entry of every run, and the whole of every run that has not ended.
    """
    waiting: list[InboxItem] = []
    unreadable: list[Unreadable] = []
    known = set()
    for run_id, latest in await journal.edges("latest"):
        known.add(run_id)
        if _is_over(latest):
            continue
        entries = await journal.read(run_id)
        problems = faults(entries) or ([] if entries else ["its entries are not found under its id"])
        run = summary_of(run_id, entries)
        if problems or run is None:
            unreadable.append(Unreadable(run_id, problems[0] if problems else "its beginning is gone"))
        elif not run.parent:
            waiting += waiting_items(run, entries)
    unreadable += [
        Unreadable(run.run_id, "it is in the list of runs, and has no entries")
        for run in await journal.runs(limit=None)
        if run.run_id not in known and not run.parent and run.status in _OPEN and not await journal.read(run.run_id)
    ]
    return Inbox(sorted(waiting, key=lambda one: one.at), unreadable)


async def page_of_waiting(
    journal: Journal, *, limit: int = 50, cursor: str = "", **wanted: Unpack[RunFilter]
) -> Page[InboxItem]:
    """What waits, the oldest first, found by the list of what was asked: only the runs that stand on the page are read.

    Args:
        journal: the journal.
        limit, cursor: as for `page_of_runs`.
        wanted: only what such runs wait for.

    Raises:
        UsageError: the limit is no number from 1 to `LIMIT_MAX`, or the cursor is none.
    """
    behind = read_cursor(cursor, tuple[float, str]) if cursor else None
    items: list[InboxItem] = []
    while True:
        found = await journal.asked(limit=checked_limit(limit) + 1, behind=behind, **wanted)
        entries = await journal.read_each(list(dict.fromkeys(asked.run_id for asked in found)))
        for asked in found:
            if len(items) == limit:
                return Page(tuple(items), write_cursor(behind))
            items += _waiting_under(asked, entries.get(asked.run_id, ()), wanted.get("tenant"))
            behind = (asked.at, asked.ask_id)
        if len(found) <= limit:
            return Page(tuple(items))


async def find_waiting(journal: Journal, ask_id: str, *, tenant: str | None = None) -> InboxItem:
    """The question that waits under an id, found by the list of questions.

    Args:
        journal: the journal.
        ask_id: the id.
        tenant: the tenant that asks: a question of another tenant's run is not found.

    Raises:
        UnknownName: nothing waits under this id.
    """
    for asked in await journal.asked(ask_id=ask_id, tenant=tenant, limit=None) if ask_id else ():
        for item in _waiting_under(asked, await journal.read(asked.run_id), tenant):
            return item
    raise UnknownName("nothing waits under {wanted!r}", wanted=ask_id)


def _waiting_under(asked: OpenQuestion, entries: Sequence[Entry], tenant: str | None) -> list[InboxItem]:
    """What the list says to wait, if the entries of its run say so too."""
    run = summary_of(asked.run_id, entries) if not faults(entries) else None
    if run is None or tenant not in (None, run.tenant) or _is_over(entries[-1]):
        return []
    return [item for item in waiting_items(run, entries) if item.asked.id == asked.ask_id]


def _is_over(latest: Entry) -> bool:
    """Whether nothing follows this entry, the latest of its run."""
    try:
        return is_last(latest.record)
    except JournalError:
        return False


def waiting_items(run: RunSummary, entries: Sequence[Entry]) -> list[InboxItem]:
    """All that a run waits for, in the order in which the run asked.

    Args:
        run: the run.
        entries: all its entries.
    """
    recording = RunState(entries)
    at = {entry.record.id: entry.at for entry in entries if isinstance(entry.record, InputRequested)}
    return [
        InboxItem(run, one, at[one.id], tuple(sorted(recording.agreed(one.id))), recording.voters(one.id))
        for one in recording.waiting()
    ]


async def answer_pending(journal: Journal, ask_id: str, answer: Answer, *, tenant: str | None = None) -> InboxItem:
    """Answer what waits; the run goes on when it is resumed next.

    Args:
        journal: the journal.
        ask_id: what is answered.
        answer: the answer.
        tenant: the tenant that answers; None where the program itself answers, or its operator.

    Returns:
        The question that was answered, as it was before.

    Raises:
        UnknownName: nothing waits under this id.
        TooLate: the time to answer is over. That is on record now, unless somebody drives the run.
        UsageError: the answer does not fit the question, or the person who answers is not allowed to.
        Busy: the run is being driven.
        JournalError: the definitions of its tools were changed, and new arguments can not be checked.
    """
    waiting = await look_up_waiting(journal, ask_id, tenant)
    await answer_in_run(journal, waiting.run.run_id, ask_id, answer)
    return waiting


async def answer_in_run(journal: Journal, run_id: str, ask_id: str, answer: Answer) -> RunState:
    """Answer what a run waits for; the run goes on when it is resumed next.

    Returns:
        The state of the run with the answer.

    Raises:
        UnknownName: the run does not wait for this.
        TooLate: the time to answer is over. That is on record now, unless somebody drives the run.
        UsageError, Busy, JournalError: as for `answer_pending`.
    """
    return await answer_each(journal, run_id, {ask_id: answer})


async def answer_each(journal: Journal, run_id: str, answers: Mapping[str, Answer]) -> RunState:
    """Answer several things that a run waits for: all of them, or nothing where one answer does not fit.

    Args:
        journal: the journal.
        run_id: the run.
        answers: the answers, by the id of what is answered.

    Returns:
        The state of the run with the answers.

    Raises:
        UnknownName, TooLate, UsageError, Busy, JournalError: as for `answer_in_run`.
    """
    try:
        async with journal.claim(run_id):
            try:
                recording, records = await _records_of(journal, run_id, answers)
            except TooLate:
                for ask_id in answers:
                    await _write_time_over(journal, run_id, ask_id)
                raise
            for record in records:
                write_answer(journal, run_id, recording, record)
            await journal.sync(run_id)
            return recording
    except Busy:
        recording, records = await _records_of(journal, run_id, answers)
        if not recording.beginning().workflow:  # a model waits for all its calls: nobody could go on with one
            raise
    for record in records:
        await post_answer(journal, run_id, record)
    return recording


async def _records_of(
    journal: Journal, run_id: str, answers: Mapping[str, Answer]
) -> tuple[RunState, list[InputGiven]]:
    """The state of a run, and the records of answers that fit what the run waits for."""
    recording = RunState(await journal.read(run_id))
    for ask_id, answer in answers.items():
        asked = recording.question(ask_id)
        if asked is not None and asked in recording.waiting():
            _check_time(asked.pending, max(journal.now(), recording.latest))
        if asked is not None and answer.arguments is not None and answer.verdict == "approve" and not asked.run:
            brought = recording.beginning().client_tools
            _check(answer.arguments, asked, (*brought_by_client(brought), *await kept_tools(journal, recording.tools)))
    return recording, records_of(recording, answers, is_shared=journal.is_shared)


async def record_expired(journal: Journal, shown: Iterable[tuple[str, InputRequested]]) -> None:
    """Put on record which of the questions that are being shown have expired. Nothing is written if a process drives
    the run, or if nothing can be written now: then the expiry goes on record when the question is shown next.

    Args:
        journal: the journal.
        shown: the runs that wait, and what each waits for.
    """
    for run_id, asked in shown:
        if 0 < asked.pending.expires < journal.now():
            with suppress(Busy, JournalError):
                async with journal.claim(run_id):
                    await _write_time_over(journal, run_id, asked.id)


async def _write_time_over(journal: Journal, run_id: str, ask_id: str) -> None:
    """Put on record that a time is over, if it is, so that no clock that goes back makes the question open again.

    A workflow, or a question of another run, goes on by itself as its time ends: the code that wakes it writes this.
    """
    state = RunState(await journal.read(run_id))
    asked = state.question(ask_id)
    if asked is None or not 0 < asked.pending.expires < max(journal.now(), state.latest):
        return
    if asked in state.waiting() and not asked.run and not state.beginning().workflow:
        journal.append(run_id, time_over(ask_id, state.elapsed))
        await journal.sync(run_id)


def _check_time(asked: Pending, now: float) -> None:
    """There is time left to answer.

    Raises:
        TooLate: there is none.
    """
    if 0 < asked.expires < now:
        ended = datetime.fromtimestamp(asked.expires, UTC).isoformat(" ", "seconds")
        raise TooLate("{ask} could be answered until {moment}: it is too late now", ask=asked.id, moment=ended)


async def look_up_waiting(journal: Journal, ask_id: str, tenant: str | None) -> InboxItem:
    """What waits under an id. An operator finds it too where somebody hid it in the list: every run is read then.

    Args:
        journal: the journal.
        ask_id: the id.
        tenant: as for `find_waiting`; None for the operator.

    Raises:
        UnknownName: nothing waits under this id.
    """
    try:
        return await find_waiting(journal, ask_id, tenant=tenant)
    except UnknownName:
        waiting = await inbox(journal) if tenant is None else []
        found = next((one for one in waiting if one.asked.id == ask_id), None)
        if found is None:
            raise
        return found


def _check(arguments: JsonObject, asked: InputRequested, tools: Sequence[Tool]) -> None:
    """Check arguments that a person changed. A mistake is told to that person, and not to the model when it is too
    late.

    Raises:
        UsageError: the arguments do not fit the tool.
    """
    name = asked.pending.call.name if asked.pending.call is not None else ""
    tool = next((tool for tool in tools if tool.name == name), None)
    if tool is None:
        return
    schema = compile_schema(tool.parameters, where=f"tool {name!r}", foreign=not tool.paths_are_local)
    problems = schema.check(arguments).problems
    if problems:
        raise UsageError(
            "{name} can not be called so: {tell_problem}", name=name, tell_problem=tell_problem(problems[0])
        )


def records_of(recording: RunState, answers: Mapping[str, Answer | str], *, is_shared: bool = True) -> list[InputGiven]:
    """The records of answers to what a run waits for, all looked at before one is taken.

    Args:
        recording: the run.
        answers: the answers, by the id of what was asked.
        is_shared: whether several persons may write to the journal; see `Answer.claimed`.

    Raises:
        UnknownName: nothing waits under an id.
        UsageError: an answer does not fit what was asked.
    """
    waiting = {asked.id: asked for asked in recording.waiting()}
    records = []
    for ask_id, given in answers.items():
        if ask_id not in waiting:
            raise UnknownName(
                "nothing waits under {ask_id!r}; waiting: {waiting}",
                ask_id=ask_id,
                waiting=", ".join(waiting) or "nothing",
            )
        answer = _as_answer(waiting[ask_id], given)
        record = answered(ask_id, answer, recording.elapsed, is_shared=is_shared)
        by = record.voter(recording.tenant)
        fit(waiting[ask_id].pending, answer)
        check_person(waiting[ask_id].pending, answer, by)
        if answer.verdict == "approve" and by.name in recording.agreed(ask_id, answer.arguments):
            needs = waiting[ask_id].pending.needs
            raise UsageError(
                "{name} has agreed to {item} already: {count} persons are needed",
                name=by.name,
                item=ask_id,
                count=needs,
            )
        records.append(record)
    return records


def answered(ask_id: str, answer: Answer, elapsed: float, *, is_shared: bool = True) -> InputGiven:
    """The record of an answer.

    Args:
        is_shared: whether several persons may write to the journal: then a claimed name counts for nothing.
    """
    text, by, claimed = whole_text(answer.text), whole_text(answer.by), whole_text(answer.claimed)
    claimed = claimed if claimed != by else ""
    free = tuple(map(whole_text, answer.free))
    return InputGiven(
        ask_id,
        answer.verdict,
        text,
        by,
        elapsed,
        answer.arguments,
        answer.for_run,
        free=free,
        claimed=claimed,
        as_claimed=bool(claimed) and not is_shared,
        tenant=answer.tenant,
        roles=tuple(map(whole_text, answer.roles)),
        said=tuple(answer.said),
    )


def check_person(asked: Pending, answer: Answer, by: Voter) -> None:
    """An answer is given by somebody who may give it.

    Args:
        asked: what was asked.
        answer: the answer.
        by: who answers.

    Raises:
        UsageError: others have to answer.
    """
    if not by.is_among(asked.approvers):
        raise UsageError(
            "{name} may not answer {item}: {others} may", name=by.name, item=asked.id, others=", ".join(asked.approvers)
        )
    if answer.verdict == "approve" and not asked.may_approve(by):
        raise UsageError(
            "{name} may not approve {item}: the run is on behalf of {same}, and another person has to",
            name=by.name,
            item=asked.id,
            same=by.name,
        )


def fit(asked: Pending, answer: Answer) -> None:
    """An answer is of the kind that was asked for. Who may give it is said by `check_person`.

    Args:
        asked: what was asked.
        answer: the answer.

    Raises:
        UsageError: it is not.
    """
    kind = asked.kind
    if answer.verdict not in VERDICTS[kind]:
        raise UsageError(
            "what waits is {kind}: expected {verdicts}, not {verdict!r}",
            kind=kind,
            verdicts=" or ".join(VERDICTS[kind]),
            verdict=answer.verdict,
        )
    if answer.for_run and (answer.verdict != "approve" or kind != "approval"):
        raise UsageError("only an approval can hold for the whole run")
    check_free(asked, answer)
    if kind in MIDWAY:
        _fit_form(asked, answer)
    elif answer.arguments is not None and answer.verdict != "approve":
        raise UsageError("only an approval can change arguments")


def _fit_form(asked: Pending, answer: Answer) -> None:
    """What was filled in fits the form.

    Raises:
        UsageError: it does not; the message says where.
    """
    if asked.schema is None or answer.verdict != "answer":
        return
    form = compile_schema(asked.schema, where=f"what {asked.id} asks for", foreign=True)
    problems = form.check(answer.arguments or {}, coerce=False).problems
    if problems:
        raise UsageError(
            "this does not answer {asked}: {tell_problem}", asked=asked.id, tell_problem=tell_problem(problems[0])
        )


YES = ("yes", "approve")
"""What a person writes who agrees to a form that asks for nothing."""


def _as_answer(asked: InputRequested, given: Answer | str) -> Answer:
    if isinstance(given, Answer) and _is_form_in_words(asked, given):
        return structs.replace(given, text="", arguments=_read_form(asked, given.text))
    if isinstance(given, Answer) and (given.verdict != "answer" or asked.kind != "doubt"):
        return given
    text, by = (given.text, given.by) if isinstance(given, Answer) else (given, "user")
    verdicts = VERDICTS[asked.kind]
    if verdicts == ("answer",):
        return Answer("answer", text, by)
    if asked.kind in MIDWAY and text not in verdicts:
        return Answer("answer", by=by, arguments=_read_form(asked, text))
    verdict = next((verdict for verdict in verdicts if verdict == text.replace(" ", "_")), None)
    if verdict is None:
        raise UsageError(
            "{asked} waits for {verdicts}, not {text!r}",
            asked=asked.id,
            verdicts=" or ".join(map(repr, verdicts)),
            text=text[:40],
        )
    return Answer(verdict, by=by)


def _is_form_in_words(asked: InputRequested, given: Answer) -> bool:
    """Whether somebody wrote a form as text, such as a person at a terminal."""
    is_form = asked.kind in MIDWAY and asked.pending.schema is not None
    return is_form and given.verdict == "answer" and given.arguments is None


def _read_form(asked: InputRequested, text: str) -> JsonObject:
    """The form that a text stands for: a JSON object, the name of a choice where the form asks for a choice, or a yes
    where the form asks for nothing. No text and `null` are no answers, though they are arguments of a call.
    """
    properties = (asked.pending.schema or {}).get("properties")
    choice = properties.get("choice") if isinstance(properties, dict) else None
    names = choice.get("enum") if isinstance(choice, dict) else None
    if isinstance(names, list) and text in names:
        return {"choice": text}
    if not properties and text in YES:
        return {}
    try:
        if text.strip() in ("", "null"):
            raise JsonProblem("nothing was said")
        return parse_object(text)[0]
    except JsonProblem as problem:
        if not properties:
            raise UsageError("{item} waits for 'yes', 'deny' or 'cancel'", item=asked.id) from None
        raise UsageError(
            "{asked} waits for a JSON object, 'deny' or 'cancel': {why}", asked=asked.id, why=problem
        ) from None
