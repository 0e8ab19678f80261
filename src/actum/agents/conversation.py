"""What was said so far: the messages of a conversation as a fold of its runs in the journal.

There is no other store of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from itertools import count
from typing import TypedDict

import msgspec
from msgspec import Struct

from ..core.call import Failure, MediaPart, TextPart, ToolCall, ToolResult
from ..core.errors import JournalError, UsageError
from ..core.interfaces import Journal
from ..core.json import dumps
from ..core.message import Message, Reply, ToolMessage, UserMessage
from ..core.process.claim import claim_of_conversation
from ..core.provenance import Source
from ..core.run.record import Entry, Started, Unfinished
from ..core.user import User
from ..journal.recording import CallRef, RunState
from ..policy.labels import Label
from ..policy.outside import ToolNamed
from ..runs.recorded import sound, unknown_run
from ..runs.wording import Phrases
from .alternation import in_turns
from .cleanness import labels_seen_before, no_tool, outside_before
from .unfinished import standing, unfinished

NO_LABELS: Mapping[str, Label] = {}


class _Marks(TypedDict):
    """Fields of `Started`."""

    outside: tuple[str, ...]
    labels_seen: tuple[str, ...]


class Before(Struct, frozen=True):
    """What was said in a conversation before a run.

    Attributes:
        run_id: the latest run.
        seen: how many entries it has.
        messages: all that was said.
        unfinished: the runs that have not come to their end, as far as the conversation was told of them.
        outside: what had brought foreign text to the conversation; see `cleanness`.
        labels_seen: the labels of values that models had seen in the conversation.
    """

    run_id: str = ""
    seen: int = 0
    messages: Sequence[Message] = ()
    unfinished: tuple[Unfinished, ...] = ()
    outside: tuple[str, ...] = ()
    labels_seen: tuple[str, ...] = ()

    def marks(self, news: Sequence[str]) -> _Marks:
        """What the first record of the next run says of what was told before.

        Args:
            news: what brings foreign text beside the conversation.
        """
        return {"outside": tuple(dict.fromkeys((*self.outside, *news))), "labels_seen": self.labels_seen}

    def handles(self) -> set[str]:
        """The handles of attachments that are taken."""
        return {part.handle for part in media(self.messages)}


async def before(
    journal: Journal,
    owner: User,
    conversation: str,
    after: str = "",
    window: int = 0,
    tool_named: ToolNamed = no_tool,
    labels: Mapping[str, Label] = NO_LABELS,
) -> Before:
    """What was said in a conversation until now, or up to another point.

    Args:
        owner: whose conversation it is; another owner's runs are not there, as far as this one can tell.
        conversation: its id; empty for none.
        after: the run to go on after instead of the latest: its id, or `id@number`.
        window: the number of latest runs that are told; 0 for all.
        tool_named: as for `outside_before`.
        labels: what the labels of values mean: which models see the values.

    Raises:
        UnknownName: there is no such run.
        UsageError: the run has no such entry.
    """
    run_id, _, number = after.partition("@")
    if not after and conversation:
        listed = await journal.runs(conversation=conversation, owner=owner.principal, tenant=owner.tenant, limit=1)
        run_id = next((run.run_id for run in listed), "")
    if after and not run_id:
        raise UsageError("after={after!r}: name a run before the @", after=after)
    if not run_id:
        return Before()
    entries = await journal.read(run_id, tenant=owner.tenant)
    if owner_of(entries) != owner:
        raise unknown_run(run_id)
    seen = len(entries)
    if number:
        if not number.isdecimal() or int(number) >= seen:
            raise UsageError(
                "after={after!r}: run {run!r} has the entries 0 to {seen}", after=after, run=run_id, seen=seen - 1
            )
        seen = int(number) + 1
    told = await history(journal, run_id, seen, owner=owner, window=window)
    outside = await outside_before(journal, run_id, seen, owner, told, tool_named, window)
    labels_seen = await labels_seen_before(journal, run_id, seen, owner, labels)
    return Before(run_id, seen, told, unfinished(run_id, entries, seen), outside, labels_seen)


def owner_of(entries: Sequence[Entry]) -> User | None:
    """The user that a run belongs to; None where there is no run, or nothing that tells."""
    try:
        return RunState(entries[:1]).beginning().owning_user
    except JournalError:
        return None


async def history_of(journal: Journal, started: Started) -> list[Message]:
    """Every message before a run, as the run was told them when it began."""
    whose, window = started.owning_user, started.window
    earlier = await history(journal, started.previous, started.seen, owner=whose, window=window)
    return [*earlier, *started.history]


async def history(journal: Journal, run_id: str, seen: int, *, owner: User, window: int = 0) -> list[Message]:
    """Every message up to this run, those of the runs before it first; instructions left out.

    Args:
        run_id: the last run of the conversation; empty for none.
        seen: how many of its entries count. A run that was paused may have gone on since.
        owner: whose conversation it is. A run of another owner is left out, whatever the records say.
        window: the number of latest runs that are told; 0 for all.

    Raises:
        JournalError: a run is not there, or not as it was written.
    """
    runs: list[RunState] = []
    summary: list[Message] = []
    left: int | None = None  # how many runs before a summary stay as they are
    while run_id and left != 0 and not 0 < window <= len(runs):
        entries = sound(run_id, await journal.read(run_id))[:seen]
        if entries and not entries[0].payload:
            break  # forgotten, and what was before it with it
        recording = RunState(entries)
        started = recording.beginning()
        if started.owning_user != owner:
            pass  # somebody else's
        elif recording.compacted is not None and left is None:
            left = recording.compacted.keep
            text = recording.compacted.summary
            wording = Phrases.for_text(text)
            summary = [UserMessage((TextPart(wording.summary(text)),), "memory"), Reply.of(wording.noted)]
        elif not started.compacts:
            runs.append(recording)
            left = left and left - 1
        run_id, seen = started.previous, started.seen
    return [*summary, *(message for recording in reversed(runs) for message in said_in(recording))]


def said_in(recording: RunState) -> list[Message]:
    """The messages that one run added, with the history that it was given.

    Each call is answered: one that has no outcome, by how it stood when the run was told. The last message is the
    model's: what the user was told where the run had no answer, such as one that was cancelled. The templates of many
    models refuse a conversation in which users speak twice, or in which nothing is said after a call's result.
    """
    started = recording.beginning()
    wording = Phrases.for_text(started.question)
    if started.workflow:
        return _said_by_workflow(recording, started, wording)
    messages = [*started.history, *in_turns(started.said, wording.noted), *answered_in(recording)]
    if messages and not (isinstance(messages[-1], Reply) and not messages[-1].calls):
        ended = recording.ended
        told = ended.text if ended is not None and ended.status in ("stopped", "paused") else ""
        messages.append(Reply.of(told or wording.unanswered))
    return messages


def _said_by_workflow(recording: RunState, started: Started, wording: Phrases) -> list[Message]:
    """A run of a workflow as one turn: what the workflow was given, and what it came to."""
    given = list(started.inputs.values())
    text = given[0] if len(given) == 1 and isinstance(given[0], str) else dumps(started.inputs)
    ended = recording.ended
    source: Source = "user" if started.given_by == "user" else "tool"
    told = UserMessage((TextPart(started.question if started.inputs_kept else text),), source)
    return [told, Reply.of((ended.text if ended is not None else "") or wording.unanswered)]


def answered_in(recording: RunState) -> list[Message]:
    """The replies of one run, the results of their calls, and what the user answered when the run asked."""
    wording = Phrases.for_text(recording.beginning().question)
    messages: list[Message] = []
    was_done = recording.ended is not None and recording.ended.status == "done"
    last = recording.replies[-1][0] if recording.replies else -1
    for number, replied in recording.replies:
        if replied.reply.says_nothing and not (was_done and number == last):
            continue  # the model was asked again; earlier versions took such a reply for an answer
        messages.append(_as_told(recording, replied.reply) if number == last and was_done else replied.reply)
        for index, call in enumerate(replied.reply.calls):
            place = CallRef(number, index)
            result = as_it_stands(recording, place, call, wording)
            messages.append(ToolMessage(call.name, recording.told(place, result)))
        messages.extend(recording.said_beside(number, len(replied.reply.calls)))
        messages.extend(
            UserMessage.of(recording.answers[asked.id].text)
            for asked in recording.questions
            if asked.cause == number and asked.id in recording.answers
        )
    return messages


def _as_told(recording: RunState, reply: Reply) -> Reply:
    """The reply that ended a run: what the user was told, where the answer was held to what was quoted."""
    told = recording.ended.text if recording.ended is not None and recording.beginning().cite else reply.text
    return reply if told == reply.text or reply.calls else Reply.of(told)


def as_it_stands(recording: RunState, place: CallRef, call: ToolCall, wording: Phrases) -> ToolResult:
    """What a call of an earlier run came to, or the state of the call in that run."""
    known = recording.outcome(place)
    if known is not None:
        return known[0]
    how = standing(recording, place)
    words = wording.stands(how)
    if how == "doubt":
        return ToolResult(call.id, error=Failure("in_doubt", words, "unknown"))
    if how == "unmade":
        return ToolResult(call.id, error=Failure("cancelled", words))
    return ToolResult(call.id, (TextPart(words),))


def talking(journal: Journal, owner: User, conversation: str) -> AbstractAsyncContextManager[None]:
    """A block in which nobody else adds to a conversation: two at once would not hear each other."""
    if not conversation:
        return nullcontext()
    return journal.claim(claim_of_conversation(owner.principal, conversation, owner.tenant))


async def handles_before(journal: Journal, entries: Sequence[Entry]) -> set[str]:
    """The handles of attachments that were taken when the run of these entries began."""
    if not entries:
        return set()
    return Before(messages=await history_of(journal, RunState(entries[:1]).beginning())).handles()


def media(messages: Sequence[Message]) -> list[MediaPart]:
    """What users attached, and what tools returned, that has a handle or is still to get one."""
    found: list[MediaPart] = []
    for message in messages:
        if isinstance(message, UserMessage):
            found += [part for part in message.content if isinstance(part, MediaPart)]
        elif isinstance(message, ToolMessage):
            found += [part for part in message.result.content if isinstance(part, MediaPart) and part.handle]
    return found


def with_attachments(message: UserMessage, attachments: Sequence[MediaPart], taken: set[str]) -> UserMessage:
    """The message with its media named `att_1`, `att_2`, ..., past the handles that are taken."""
    content = [*message.content, *attachments]
    taken = taken | {part.handle for part in content if isinstance(part, MediaPart)}
    free = (handle for number in count(1) if (handle := f"att_{number}") not in taken)
    for place, part in enumerate(content):
        if isinstance(part, MediaPart) and not part.handle:
            content[place] = msgspec.structs.replace(part, handle=next(free))
    return msgspec.structs.replace(message, content=tuple(content))
