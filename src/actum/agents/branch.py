"""A run that branches off from another: which of its records are taken over, and what it must not do again unasked.

The records keep their numbers, so that calls are found at their places. The idempotency keys of the branch are its own:
a payment that it makes is another payment. So are its questions: a yes that was given to the run lets only those calls
through that it has made by then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from ..core.call import TextPart, ToolResult
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.message import Message, UserMessage
from ..core.run.ids import new_id
from ..core.run.record import (
    AgentChanged,
    CallCompleted,
    CallRefused,
    CallsRequested,
    Entry,
    InputGiven,
    InputRequested,
    Intended,
    Record,
    Started,
    TaskEnded,
    TaskQueued,
    TaskRetrying,
    TaskStarted,
    ToolsChanged,
)
from ..journal.recording import CallRef
from ..journal.secrets import copied, words_of
from .conversation import media


def branch(
    run_id: str, entries: Sequence[Entry], at: int, question: str | UserMessage | None, result: str | ToolResult | None
) -> tuple[Started, *tuple[Record, ...]]:
    """The records of a branch, the first of them still to be told whose it is; see `Agent.fork`.

    Raises:
        UnknownName: there is no such run.
        UsageError: a run can not be branched off there.
    """
    if not entries:
        raise UnknownName("there is no run {wanted!r} in this journal", wanted=run_id)
    if not 0 <= at < len(entries):
        raise UsageError(
            "run {run!r} has the entries 0 to {count}: it can not be branched off at {at}",
            run=run_id,
            count=len(entries) - 1,
            at=at,
        )
    records = [entry.record for entry in entries[: at + 1]]
    if any(isinstance(entry.record, CallsRequested) for entry in entries[:2]):
        raise UsageError("run {run!r} has no model: make its calls anew, there is nothing to branch off", run=run_id)
    begun = _begun(records)
    if begun:
        ends = (
            number for number in range(at + 1, len(entries)) if not _begun([e.record for e in entries[: number + 1]])
        )
        where = next((f"at {number}" for number in ends), "earlier")
        raise UsageError(
            "entry {at} of run {run!r} lies within a call: branch off {where}", at=at, run=run_id, where=where
        )
    started = records[0]
    assert isinstance(started, Started)
    if started.compacts:
        raise UsageError("run {run!r} only summed up a conversation: there is nothing to branch off from", run=run_id)
    if question is not None:
        if at != 0:
            raise UsageError("another question can only be asked at the beginning: branch off at 0")
        started = structs.replace(started, said=(*started.said[:-1], _asked_anew(started.said[-1], question)))
    if result is not None:
        records[-1] = _with_result(records[-1], at, result)
    started = structs.replace(started, parent="", bound=(), names=(), door={}, space="")
    return (started, *_with_own_questions(records[1:]))


def _asked_anew(before: Message, question: str | UserMessage) -> UserMessage:
    """Another question. One without files takes the place of the words alone: the files that were attached stay."""
    asked = UserMessage.of(question)
    files = [] if media([asked]) else media([before])
    return structs.replace(asked, content=(*asked.content, *files))


def _with_own_questions(records: Sequence[Record]) -> list[Record]:
    """What was asked about calls that are still to be made has an id of its own, and no yes yet: that one stands under
    the id that it was given to.
    """
    ended = {
        CallRef(record.cause, record.index)
        for record in records
        if isinstance(record, CallRefused) or (isinstance(record, CallCompleted) and record.final)
    }
    own = {
        record.id: new_id("ask")
        for record in records
        if isinstance(record, InputRequested) and CallRef(record.cause, record.index) not in ended
    }
    return [_as_own(record, own) for record in records]


def _as_own(record: Record, own: Mapping[str, str]) -> Record:
    match record:
        case InputGiven(verdict="approve"):
            return structs.replace(record, for_run=False, free=())
        case InputRequested(pending):
            return structs.replace(record, pending=structs.replace(pending, id=own.get(pending.id, pending.id)))
        case InputGiven():
            return structs.replace(record, id=own.get(record.id, record.id))
        case TaskQueued() | TaskStarted() | TaskRetrying():  # the branch is no task; its entries keep their numbers
            return TaskEnded("cancelled", "branched off")
        case _:
            return record


def _begun(records: Sequence[Record]) -> set[CallRef]:
    """The calls that were begun and have no outcome yet."""
    begun: set[CallRef] = set()
    for record in records:
        if isinstance(record, Intended):
            begun.add(CallRef(record.cause, record.index))
        elif isinstance(record, CallCompleted):
            begun.discard(CallRef(record.cause, record.index))
    return begun


def _with_result(record: Record, at: int, result: str | ToolResult) -> Record:
    if not isinstance(record, CallCompleted | CallRefused):
        raise UsageError(
            "entry {at} holds no result that could be another: it is {kind}", at=at, kind=type(record).__name__
        )
    other = ToolResult("", (TextPart(result),)) if isinstance(result, str) else result
    other = structs.replace(other, call_id=record.result.call_id, given=True, source_kind="")
    return CallCompleted(
        record.cause, record.index, other, elapsed=record.elapsed, detail="another result, in a branch"
    )


async def take_over(journal: Journal, run_id: str, new: str, records: Sequence[Record], tools: str = "") -> None:
    """Put the records of a branch on record.

    Args:
        journal: where both runs are written down.
        run_id: the run that is branched off from.
        new: the branch.
        records: of the branch.
        tools: the digest of the tools of the agent that goes on, which holds from the beginning; empty for a workflow.
    """
    words = await words_of(journal, run_id, records)
    for record in records:
        changed = tools and isinstance(record, ToolsChanged | AgentChanged)
        journal.append(new, ToolsChanged(tools) if changed else copied(journal, new, record, words))
    await journal.sync(new)
