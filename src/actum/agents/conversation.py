"""What was said so far: the messages of a conversation as a fold of its runs in the journal.

There is no other store of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count

import msgspec
from msgspec import Struct

from ..call.recording import Place, Recording
from ..core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.message import Message, ToolMessage, UserMessage
from ..core.record import Entry, Started, verify
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
            place = Place(number, index)
            messages.append(ToolMessage(call.name, recording.told(place, outcome(recording, place, call))))
        messages.extend(
            UserMessage.of(recording.answers[asked.id].text)
            for asked in recording.questions
            if asked.reply == number and asked.id in recording.answers
        )
    return messages


class Before(Struct, frozen=True):
    """What was said in a conversation before a run.

    Attributes:
        run_id: the latest run.
        seen: how many entries it has.
        messages: all that was said.
    """

    run_id: str = ""
    seen: int = 0
    messages: Sequence[Message] = ()

    def handles(self) -> set[str]:
        """The handles of attachments that are taken."""
        return {part.handle for part in media(self.messages)}


def media(messages: Sequence[Message]) -> list[MediaPart]:
    """What users attached."""
    said = [message for message in messages if isinstance(message, UserMessage)]
    return [part for message in said for part in message.content if isinstance(part, MediaPart)]


def question_of(started: Started) -> str:
    """The user's words that a run began with."""
    return next((message.text for message in started.said if isinstance(message, UserMessage)), "")


def with_attachments(message: UserMessage, attachments: Sequence[MediaPart], taken: set[str]) -> UserMessage:
    """The message with its media named `att_1`, `att_2`, ..., past the handles that are taken."""
    content = [*message.content, *attachments]
    taken = taken | {part.handle for part in content if isinstance(part, MediaPart)}
    free = (handle for number in count(1) if (handle := f"att_{number}") not in taken)
    for place, part in enumerate(content):
        if isinstance(part, MediaPart) and not part.handle:
            content[place] = msgspec.structs.replace(part, handle=next(free))
    return msgspec.structs.replace(message, content=tuple(content))
