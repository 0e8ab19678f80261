"""A run that branches off from another: which of its records are taken over, and what it must not do again unasked.

The records keep their numbers, so that calls are found at their places. The idempotency keys of the branch are its own:
a payment that it makes is another payment.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from ..call.recording import Place
from ..core.call import TextPart, ToolResult
from ..core.errors import JournalError, UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.message import UserMessage
from ..core.record import Entry, Intended, Record, Refused, Settled, Started


def branch(
    run_id: str, entries: Sequence[Entry], at: int, question: str | UserMessage | None, result: str | ToolResult | None
) -> tuple[Started, *tuple[Record, ...]]:
    """The records of a branch, the first of them still to be told whose it is; see `Agent.fork`.

    Raises:
        UnknownName: there is no such run.
        UsageError: a run can not be branched off there.
    """
    if not entries:
        raise UnknownName(f"there is no run {run_id!r} in this journal")
    if not 0 <= at < len(entries):
        raise UsageError(f"run {run_id!r} has the entries 0 to {len(entries) - 1}: it can not be branched off at {at}")
    records = [entry.record for entry in entries[: at + 1]]
    begun = _begun(records)
    if begun:
        ends = (
            number for number in range(at + 1, len(entries)) if not _begun([e.record for e in entries[: number + 1]])
        )
        where = next((f"at {number}" for number in ends), "earlier")
        raise UsageError(f"entry {at} of run {run_id!r} lies within a call: branch off {where}")
    started = records[0]
    assert isinstance(started, Started)
    if question is not None:
        if at != 0:
            raise UsageError("another question can only be asked at the beginning: branch off at 0")
        started = structs.replace(started, said=(UserMessage.of(question),))
    if result is not None:
        records[-1] = _with_result(records[-1], at, result)
    return (started, *records[1:])


async def done_after(journal: Journal, started: Started) -> frozenset[str]:
    """The tools that the run which this one branched off from began to use after that point."""
    entries = await journal.read(started.forked, started.fork_at)
    try:
        records = [entry.record for entry in entries]
    except JournalError:
        raise JournalError(f"what run {started.forked} did after the branch was deleted, and can not be told") from None
    return frozenset(record.tool for record in records if isinstance(record, Intended))


def _begun(records: Sequence[Record]) -> set[Place]:
    """The calls that were begun and have no outcome yet."""
    begun: set[Place] = set()
    for record in records:
        if isinstance(record, Intended):
            begun.add(Place(record.reply, record.index))
        elif isinstance(record, Settled):
            begun.discard(Place(record.reply, record.index))
    return begun


def _with_result(record: Record, at: int, result: str | ToolResult) -> Record:
    if not isinstance(record, Settled | Refused):
        raise UsageError(f"entry {at} holds no result that could be another: it is {type(record).__name__}")
    other = ToolResult("", (TextPart(result),)) if isinstance(result, str) else result
    other = structs.replace(other, call_id=record.result.call_id)
    return Settled(record.reply, record.index, other, elapsed=record.elapsed, detail="another result, in a branch")
