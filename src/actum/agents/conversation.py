"""What was said so far: the messages of a conversation as a fold of its runs in the journal.

There is no other store of them.
"""

from __future__ import annotations

from ..call.recording import Place, Recording
from ..core.call import Failure, TextPart, ToolCall, ToolResult
from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.message import Message, ToolMessage, UserMessage
from ..core.record import Entry, verify
from .wording import Wording

NOT_MADE = Failure("cancelled", "This call was not carried out: the run ended before it.")
IN_DOUBT = Failure(
    "in_doubt",
    "The run was interrupted during this call. It may or may not have happened; it was not repeated.",
    "unknown",
)


def outcome(recording: Recording, place: Place, call: ToolCall) -> ToolResult:
    """What a call came to; one that has no outcome was not made, or nobody knows."""
    known = recording.outcome(place)
    if known is not None:
        return known[0]
    return ToolResult(call.id, error=IN_DOUBT if recording.in_doubt(place) else NOT_MADE)


async def history(journal: Journal, run_id: str, seen: int) -> list[Message]:
    """Every message up to this run, those of the runs before it first; instructions left out.

    Args:
        run_id: the last run of the conversation; empty for none.
        seen: how many of its entries count. A run that was paused may have gone on since.

    Raises:
        JournalError: a run is not there, or not as it was written.
    """
    runs: list[Recording] = []
    summary: list[Message] = []
    left: int | None = None  # so many runs before a summary stay as they are
    while run_id and left != 0:
        entries = sound(run_id, await journal.read(run_id))[:seen]
        if entries and not entries[0].payload:
            break  # forgotten, and what was before it with it
        recording = Recording(entries)
        if recording.compacted is not None and left is None:
            left = recording.compacted.keep
            text = recording.compacted.summary
            summary = [UserMessage((TextPart(Wording.for_text(text).summary(text)),), "memory")]
        elif not recording.beginning().compacts:
            runs.append(recording)
            left = left and left - 1
        run_id, seen = recording.beginning().previous, recording.beginning().seen
    return [*summary, *(message for recording in reversed(runs) for message in said_in(recording))]


def sound(run_id: str, entries: list[Entry]) -> list[Entry]:
    """The entries of a run, if they are as they were written.

    Raises:
        JournalError: one was changed or is missing; what was changed is not acted upon.
    """
    problems = verify(entries)
    if problems:
        raise JournalError(f"run {run_id} can not be gone on with: {problems[0]}")
    return entries


def said_in(recording: Recording) -> list[Message]:
    """The messages that one run added.

    Each call is answered: one that has no outcome, by a word that it was not made or that nobody knows.
    """
    messages: list[Message] = list(recording.beginning().said)
    for number, replied in recording.replies:
        messages.append(replied.reply)
        for index, call in enumerate(replied.reply.calls):
            messages.append(ToolMessage(call.name, outcome(recording, Place(number, index), call)))
        messages.extend(
            UserMessage.of(recording.answers[asked.id].text)
            for asked in recording.questions
            if asked.reply == number and asked.id in recording.answers
        )
    return messages
