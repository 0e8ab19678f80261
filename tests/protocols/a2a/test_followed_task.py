"""What a client knows of a task, whatever the agent tells of it and in which order."""

from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.protocols.a2a.followed_task import RESULT_BYTES_MAX, ReadTask, words_of
from actum.protocols.a2a.later import UnreadableAnswer, decode_event
from actum.protocols.a2a.model import (
    A2AArtifact,
    A2AArtifactUpdate,
    A2AData,
    A2AMessage,
    A2AStatus,
    A2AStatusUpdate,
    A2AText,
)


def asks(words: str, at: float | None, id: str = "") -> A2AStatusUpdate:
    message = A2AMessage(role="agent", parts=(A2AText(text=words),), id=id) if words else None
    return A2AStatusUpdate(
        task_id="t", context_id="c", status=A2AStatus(state="input-required", message=message, at=at)
    )


def test_a_question_that_was_answered_is_not_asked_again_and_another_one_is() -> None:
    cases: dict[str, tuple[A2AStatusUpdate, bool]] = {
        "the same": (asks("City?", 1.0, "m1"), False),
        "its message was put away": (asks("", 1.0), False),
        "later": (asks("City?", 2.0, "m2"), True),
        "other words in the same second": (asks("Day?", 1.0, "m2"), True),
        "without marks": (asks("City?", None), True),
    }
    for case, (event, is_new) in cases.items():
        task = ReadTask()
        task.take(asks("City?", 1.0, "m1"))
        assert task.is_settled
        task.answered()
        task.take(event)
        assert task.is_settled == is_new, case


def test_results_are_kept_up_to_a_number_of_bytes_however_they_are_told() -> None:
    piece = A2AArtifact(id="a", parts=(A2AText(text="x" * (RESULT_BYTES_MAX // 4)), A2AData(data={"n": 1})))
    for append in (True, False):
        task = ReadTask()
        for _ in range(3):
            task.take(A2AArtifactUpdate(task_id="t", context_id="c", artifact=piece, append=append))
        with pytest.raises(UnreadableAnswer, match="more results than can be kept"):
            task.take(A2AArtifactUpdate(task_id="t", context_id="c", artifact=piece, append=append))


def test_pieces_of_an_artifact_are_one_text_and_a_later_whole_one_takes_their_place() -> None:
    def piece(text: str, *, append: bool) -> JsonObject:
        return {
            "taskId": "t",
            "contextId": "c",
            "artifact": {"artifactId": "a", "parts": [{"text": text}]},
            "append": append,
        }

    task = ReadTask()
    for text, append in (("one ", False), ("two", True)):
        task.take(decode_event({"artifactUpdate": piece(text, append=append)}))
    assert [words_of(A2AMessage(role="agent", parts=each.parts)) for each in task.artifacts] == ["one two"]
    task.take(decode_event({"artifactUpdate": piece("three", append=False)}))
    assert [words_of(A2AMessage(role="agent", parts=each.parts)) for each in task.artifacts] == ["three"]
    with pytest.raises(UnreadableAnswer):
        for number in range(2_000):
            part: JsonObject = {"artifactId": f"a{number}", "parts": []}
            task.take(decode_event({"artifactUpdate": {"taskId": "t", "artifact": part}}))
