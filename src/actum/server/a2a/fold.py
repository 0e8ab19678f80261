"""A task of A2A and its events, as a fold of the entries of its run. Pure.

Every process that reads the same entries gets the same task: the one that carries the run out, another one, and one
that was started later. The id of the task is that of the run; the context is the conversation, or the run itself where
the run belongs to no conversation.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ...core.call import MediaPart, TextPart
from ...core.json import JsonObject, dumps
from ...core.message import RefusalPart, Reply, UserMessage
from ...core.run.pending import Pending
from ...core.run.record import CallCompleted, Ended, Entry, InputGiven, ModelReplied, Started
from ...core.run.summary import RunSummary, is_telling, summarize
from ...core.run.task import TaskLine
from ...core.run.task_line import may_tell_of_task, task_line
from ...core.trace import way_in
from ...journal.recording import RunState
from ...policy.record_mask import RecordMask
from ...protocols.a2a.model import (
    TERMINAL,
    A2AArtifact,
    A2AArtifactUpdate,
    A2ABytes,
    A2AData,
    A2AEvent,
    A2ALink,
    A2AMessage,
    A2APart,
    A2AState,
    A2AStatus,
    A2AStatusUpdate,
    A2ATask,
    A2AText,
    with_calls_used,
    with_memory_off,
)
from ...runs.wording import failed_words
from .answers import question_of
from .states import state_of

ANSWER = "answer"
"""The id of the artifact that holds the answer."""
DOOR = "a2a"
"""Under this name `Started.door` holds what the request said."""
_WHY: dict[A2AState, str] = {
    "canceled": "The task was cancelled.",
    "failed": "The task failed. Its operator finds out why by the id of the task.",
    "rejected": "The agent does not take this task.",
}


class TaskFold:
    """Reads a task out of the entries of its run, the first entry first.

    Args:
        run_id: the run.
        is_structured: the agent answers with JSON.
        mask: hides values with a label from the client.
        remembers_users: the agent has a memory of its users.
    """

    def __init__(
        self, run_id: str, mask: RecordMask, *, is_structured: bool = False, remembers_users: bool = False
    ) -> None:
        self.run_id = run_id
        self.mask = mask
        self.context_id = run_id
        self.door: JsonObject = {}
        self.state = RunState()
        self.seen = -1
        self.replies = 0
        self.status = A2AStatus(state="working")
        self.artifacts: dict[str, A2AArtifact] = {}
        self.history: list[A2AMessage] = []
        self._is_structured = is_structured
        self._remembers_users = remembers_users
        self._shares_calls = self._is_without_memory = False
        self._line: TaskLine | None = None
        self._summary: RunSummary | None = None
        self._said = ""

    @property
    def is_over(self) -> bool:
        """Whether the task is in a state that it does not leave."""
        return self.status.state in TERMINAL

    @property
    def is_settled(self) -> bool:
        """Whether the task has ended, or waits for its client."""
        return self.is_over or self.status.state in ("input-required", "auth-required")

    @property
    def waiting(self) -> list[Pending]:
        """What the task waits for."""
        return [asked.pending for asked in self.state.waiting()]

    def take(self, entry: Entry) -> list[A2AEvent]:
        """Take the next entry.

        Returns:
            What a subscriber is told of it.

        Raises:
            JournalError: the entry can not be read.
        """
        record, self.seen = self.mask.take(entry).record, entry.number
        self.state.take(entry.number, record)
        if is_telling(record):
            self._summary = summarize(self.run_id, self._summary, record, entry.at)
        if may_tell_of_task(record):
            self._line = task_line(self._summary, self._line, record, entry.at)
        match record:
            case Started():
                self._begin(record, entry.at)
                return []
            case ModelReplied(reply=reply):
                return self._hear(reply, entry)
            case InputGiven():
                parts: tuple[A2APart, ...] = (A2AText(text=record.text or record.verdict),)
                if record.arguments is not None:
                    parts = (_filled_in(record.arguments),)
                self.history.append(self._message("user", parts, f"{self.run_id}-{entry.number}"))
                return self._move(entry.at) if not self.state.waiting() else []
            case CallCompleted(result=result, final=True):
                files = [part for part in result.content if isinstance(part, MediaPart) and part.handle]
                told: list[A2AEvent] = [self._add(_file(part)) for part in files]
                return [*told, self.update()] if self._shares_calls else told
            case Ended():
                return self._end(record, entry.at)
            case _:
                return self._move(entry.at) if self._differs() else []

    def task(self, *, history: int | None = None, with_artifacts: bool = True) -> A2ATask:
        """The task as it stands.

        Args:
            history: how many of the latest messages are told; None for all.
            with_artifacts: whether the results are told.
        """
        told = self.history if history is None else self.history[-history:] if history else []
        return A2ATask(
            id=self.run_id,
            context_id=self.context_id,
            status=self.status,
            artifacts=tuple(self.artifacts.values()) if with_artifacts else (),
            history=tuple(told),
            metadata=self._use(),
        )

    def _use(self) -> JsonObject:
        """What a caller is told with whom the task shares a limit of calls, or for whom the agent has no memory."""
        told = with_calls_used(self.state.used().calls) if self._shares_calls else {}
        return with_memory_off(told) if self._is_without_memory else told

    def _begin(self, started: Started, at: float) -> None:
        self.context_id = started.conversation or self.run_id
        door = started.door.get(DOOR)
        self.door = door if isinstance(door, dict) else {}
        self._shares_calls = way_in(started.tracestate).calls is not None
        self._is_without_memory = self._remembers_users and started.without_memory
        question = next((each for each in reversed(started.said) if isinstance(each, UserMessage)), None)
        if question is not None:
            id_ = self.door.get("message")
            name = id_ if isinstance(id_, str) and id_ else f"{self.run_id}-0"
            self.history.append(self._message("user", parts_of(question.content), name))
        self.status = A2AStatus(state=self._state(), at=at)

    def _hear(self, reply: Reply, entry: Entry) -> list[A2AEvent]:
        self.replies += 1
        self._said = words_of(reply)
        if not self._said or not reply.calls:
            return self._move(entry.at) if self._differs() else []
        said = self._message("agent", (A2AText(text=self._said),), f"{self.run_id}-{entry.number}")
        self.history.append(said)
        return self._move(entry.at, said)

    def _end(self, ended: Ended, at: float) -> list[A2AEvent]:
        state = self._state()
        if state == "completed":
            said = ended.text or self._said
            told: list[A2AEvent] = [self._add(self._answer(said))] if said else []
            if said:
                parts: tuple[A2APart, ...] = (A2AText(text=said),)
                self.history.append(self._message("agent", parts, f"{self.run_id}-{self.seen}"))
            return [*told, *self._move(at)]
        parts = question_of(self.waiting) if state in ("input-required", "auth-required") else ()
        if not parts:
            why = failed_words(ended.reason) if state == "failed" else ""
            words = ended.text if ended.status == "stopped" and ended.text else why or _WHY.get(state, "")
            parts = (A2AText(text=words),) if words else ()
        message = self._message("agent", parts, f"{self.run_id}-{self.seen}") if parts else None
        if message is not None and state in ("input-required", "auth-required"):
            self.history.append(message)
        return self._move(at, message)

    def _answer(self, said: str) -> A2AArtifact:
        if self._is_structured:
            try:
                data = msgspec.json.decode(said)
            except (msgspec.DecodeError, RecursionError):
                pass
            else:
                part: A2APart = A2AData(data=data, media_type="application/json")
                return A2AArtifact(id=ANSWER, name=ANSWER, parts=(part,))
        return A2AArtifact(id=ANSWER, name=ANSWER, parts=(A2AText(text=said),))

    def _add(self, artifact: A2AArtifact) -> A2AArtifactUpdate:
        self.artifacts[artifact.id] = artifact
        return A2AArtifactUpdate(
            task_id=self.run_id, context_id=self.context_id, artifact=artifact, append=False, last_chunk=True
        )

    def _state(self) -> A2AState:
        waiting = [asked.pending for asked in self.state.waiting()]
        queue = self._line.state if self._line is not None else None
        return state_of(self.state.ended if not self._goes_on(waiting) else None, waiting, queue)

    def _goes_on(self, waiting: Sequence[Pending]) -> bool:
        """A pause is over as soon as nothing is waited for any more: somebody is about to go on with the run."""
        ended = self.state.ended
        return ended is not None and ended.status == "paused" and not waiting

    def _differs(self) -> bool:
        return self._state() != self.status.state

    def _move(self, at: float, message: A2AMessage | None = None) -> list[A2AEvent]:
        self.status = A2AStatus(state=self._state(), at=at, message=message)
        return [self.update()]

    def update(self) -> A2AStatusUpdate:
        """The state of the task as an event."""
        return A2AStatusUpdate(
            task_id=self.run_id, context_id=self.context_id, status=self.status, metadata=self._use()
        )

    def _message(self, role: str, parts: tuple[A2APart, ...], id_: str) -> A2AMessage:
        return A2AMessage(
            role="user" if role == "user" else "agent",
            parts=parts,
            id=id_,
            context_id=self.context_id,
            task_id=self.run_id,
        )


def fold_of(
    run_id: str,
    entries: Iterable[Entry],
    mask: RecordMask,
    *,
    is_structured: bool = False,
    remembers_users: bool = False,
) -> TaskFold:
    """A task, as the entries of its run tell it. The arguments are those of `TaskFold`.

    Raises:
        JournalError: an entry can not be read.
    """
    fold = TaskFold(run_id, mask, is_structured=is_structured, remembers_users=remembers_users)
    for entry in entries:
        fold.take(entry)
    return fold


def parts_of(content: Sequence[TextPart | MediaPart]) -> tuple[A2APart, ...]:
    """What was said, as parts of a message."""
    return tuple([A2AText(text=part.text) if isinstance(part, TextPart) else _part(part) for part in content])


def content_of(parts: Sequence[A2APart]) -> tuple[TextPart | MediaPart, ...]:
    """Parts of a message, as an agent is told them: data becomes its JSON."""
    found: list[TextPart | MediaPart] = []
    for part in parts:
        match part:
            case A2AText():
                found.append(TextPart(part.text))
            case A2AData():
                found.append(TextPart(dumps(part.data)))
            case A2ABytes():
                found.append(MediaPart(part.media_type or "application/octet-stream", data=part.data, name=part.name))
            case A2ALink():
                found.append(MediaPart(part.media_type or "application/octet-stream", url=part.url, name=part.name))
    return tuple(found)


def words_of(reply: Reply) -> str:
    """What a reply says to the user."""
    return "".join([part.text for part in reply.content if isinstance(part, TextPart | RefusalPart)])


def _filled_in(fields: JsonObject) -> A2APart:
    """What filled in a form, as it was said: the text alone where the form has one field of text."""
    values = list(fields.values())
    return A2AText(text=values[0]) if len(values) == 1 and isinstance(values[0], str) else A2AData(data=fields)


def _file(part: MediaPart) -> A2AArtifact:
    return A2AArtifact(id=part.handle, name=part.name, parts=(_part(part),))


def _part(part: MediaPart) -> A2APart:
    if part.url and not part.data:
        return A2ALink(url=part.url, name=part.name, media_type=part.media_type)
    return A2ABytes(data=part.data, name=part.name, media_type=part.media_type)
