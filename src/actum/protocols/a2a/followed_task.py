"""`ReadTask`: what a client knows of a remote agent's task, folded from what the agent tells. Pure.

An agent that speaks of another task than the one that is followed, or moves the task to another conversation, is not
believed. Once the task is over, nothing that is told later changes it.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...core.json import dumps
from .later import UnreadableAnswer
from .model import (
    INTERRUPTED,
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
    calls_used_in,
)

ARTIFACTS_MAX = 1_000
PARTS_MAX = 50_000
RESULT_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes of all results that an agent tells; text counts by its letters."""


class ReadTask:
    """A task while it is followed.

    Args:
        task_id: as far as it is known.
        context_id: as far as it is known.

    Attributes:
        task_id, context_id: empty until the agent told them.
        status: the latest.
        reply: the message of an agent that answered without a task.
        calls_used: how many tool calls the agent says that it has made for the task.
    """

    def __init__(self, task_id: str = "", context_id: str = "") -> None:
        self.task_id = task_id
        self.context_id = context_id
        self.status = A2AStatus(state="submitted")
        self._answered: A2AStatus | None = None
        self.reply: A2AMessage | None = None
        self.calls_used = 0
        self._artifacts: dict[str, list[A2AArtifact]] = {}
        self._parts = self._bytes = 0

    @property
    def state(self) -> A2AState:
        """How far the task is."""
        return "completed" if self.reply is not None else self.status.state

    @property
    def is_over(self) -> bool:
        """It will not change any more."""
        return self.state in TERMINAL

    @property
    def is_settled(self) -> bool:
        """Nothing comes before the client does something, or at all."""
        return self.is_over or self.state in INTERRUPTED

    @property
    def lacks_answer(self) -> bool:
        """It is done, and nothing of a result was told. Some agents put the result into the task alone, and not into
        its stream."""
        return self.state == "completed" and not (self._artifacts or self.reply or self.status.message)

    @property
    def artifacts(self) -> Sequence[A2AArtifact]:
        """The results so far, each whole."""
        return [_joined(pieces) for pieces in self._artifacts.values()]

    def answered(self) -> None:
        """The client has said what the agent waited for: the question does not count any more, also where the agent
        tells it again because it has not looked at the answer yet."""
        self._answered = self.status
        self.status = A2AStatus(state="working")

    def take(self, event: A2AEvent) -> None:
        """The agent told something.

        Raises:
            UnreadableAnswer: it is about another task, or more than can be kept.
        """
        if self.is_over:
            return
        match event:
            case A2AMessage():
                if event.task_id or self.task_id:
                    # A message inside a task is news, and not the answer.
                    self._check(event.task_id, event.context_id)
                    self.status = msgspec.structs.replace(self.status, message=event)
                else:
                    self.reply, self.context_id = event, event.context_id or self.context_id
            case A2ATask():
                self._check(event.id, event.context_id)
                self.calls_used = max(self.calls_used, calls_used_in(event.metadata))
                self._artifacts, self._parts, self._bytes = {}, 0, 0
                for number, each in enumerate(event.artifacts):
                    self._add(msgspec.structs.replace(each, id=each.id or str(number)), append=False)
                self._move(event.status)
            case A2AStatusUpdate():
                self._check(event.task_id, event.context_id)
                self.calls_used = max(self.calls_used, calls_used_in(event.metadata))
                self._move(event.status)
            case A2AArtifactUpdate():
                self._check(event.task_id, event.context_id)
                self._add(event.artifact, append=event.append)

    def fill(self, task: A2ATask) -> None:
        """Take in the result of a task that is done and `lacks_answer`, as the agent tells it when it is asked.

        Raises:
            UnreadableAnswer: as by `take`.
        """
        if self.lacks_answer and task.status.state == "completed":
            self.status = A2AStatus(state="working")
            self.take(task)

    def _move(self, status: A2AStatus) -> None:
        if self._answered is None or not _is_same_question(status, self._answered):
            self.status = status

    def _check(self, task_id: str, context_id: str) -> None:
        if task_id and self.task_id and task_id != self.task_id:
            raise UnreadableAnswer("it is about another task")
        if context_id and self.context_id and context_id != self.context_id:
            raise UnreadableAnswer("it is about another conversation")
        self.task_id = self.task_id or task_id
        self.context_id = self.context_id or context_id

    def _add(self, piece: A2AArtifact, *, append: bool) -> None:
        self._parts += len(piece.parts) + 1
        self._bytes += sum(map(_size, piece.parts))
        if self._parts > PARTS_MAX or self._bytes > RESULT_BYTES_MAX or len(self._artifacts) >= ARTIFACTS_MAX:
            raise UnreadableAnswer("it has more results than can be kept")
        if append:
            self._artifacts.setdefault(piece.id, []).append(piece)
        else:
            self._artifacts[piece.id] = [piece]


def _is_same_question(status: A2AStatus, answered: A2AStatus) -> bool:
    """Whether an agent tells again of a question that was answered. Some servers have put its message away by then, so
    that the time is all that shows it."""
    if status.state != answered.state or words_of(status.message) not in ("", words_of(answered.message)):
        return False
    if status.at is not None and answered.at is not None:
        return status.at == answered.at
    ids = [each.message.id if each.message is not None else "" for each in (status, answered)]
    return bool(ids[0]) and ids[0] == ids[1]


def _size(part: A2APart) -> int:
    match part:
        case A2AText():
            return len(part.text)
        case A2ABytes():
            return len(part.data)
        case A2ALink():
            return len(part.url)
        case A2AData():
            return len(dumps(part.data))


def words_of(message: A2AMessage | None) -> str:
    """The text of a message."""
    parts = message.parts if message is not None else ()
    return "\n".join(part.text for part in parts if isinstance(part, A2AText))


def _joined(pieces: Sequence[A2AArtifact]) -> A2AArtifact:
    """One artifact out of its pieces. Texts that follow one another are one text."""
    parts: list[A2APart] = []
    texts: list[str] = []
    for part in (part for piece in pieces for part in piece.parts):
        if isinstance(part, A2AText):
            texts.append(part.text)
            continue
        if texts:
            parts.append(A2AText(text="".join(texts)))
            texts = []
        parts.append(part)
    if texts:
        parts.append(A2AText(text="".join(texts)))
    return msgspec.structs.replace(pieces[0], parts=tuple(parts))
