"""How an answer is found in what comes, whichever API it is of."""

from __future__ import annotations

import pytest

from actum.core.call import TextPart
from actum.core.errors import ModelGarbled
from actum.core.event import TextDelta
from actum.core.json import JsonProblem
from actum.core.message import Reply, Usage
from actum.dialects.api.answer_reader import AnswerReader
from actum.dialects.api.draft import Draft


class Words:
    """An API whose events are words."""

    KIND = "a word"

    def __init__(self) -> None:
        self.draft = Draft()

    def read_event(self, data: bytes) -> None:
        if not data.isalpha():
            raise JsonProblem("no word")
        self.draft.understood = True
        self.draft.say(self.draft.run_of(TextPart), data.decode())

    def read_body(self, body: bytes) -> None:
        self.read_event(body[1:-1])
        self.draft.ended = True

    def finish(self) -> None:
        self.draft.say(self.draft.run_of(TextPart), ".")

    @property
    def reply(self) -> Reply:
        return self.draft.reply(Usage())


def test_events_are_told_as_they_come_and_the_end_by_its_mark() -> None:
    reader = AnswerReader(Words())
    assert reader.feed("data: a\n\nda") == [TextDelta("a")]
    assert reader.feed("ta: b\n\n") == [TextDelta("b")]
    assert not reader.ended
    assert reader.feed("data: [DONE]\n\n") == []
    assert reader.ended
    assert reader.close() == [TextDelta(".")]
    assert reader.reply.text == "ab."


@pytest.mark.parametrize("blank", ["", "\ufeff", " \r\n"])
def test_a_body_in_place_of_events_is_read_at_its_end(blank: str) -> None:
    reader = AnswerReader(Words())
    assert [*reader.feed(blank), *reader.feed("{a"), *reader.feed("b}")] == []
    assert reader.close() == [TextDelta("ab"), TextDelta(".")]
    assert reader.ended


def test_a_last_event_that_broke_off_is_passed_over_and_any_other_is_an_error() -> None:
    torn = AnswerReader(Words())
    torn.feed("data: a\n\ndata: 1")
    torn.close()
    assert not torn.ended
    with pytest.raises(ModelGarbled, match="no JSON"):
        AnswerReader(Words()).feed("data: 1\n\n")


def test_an_end_of_nothing_is_no_answer() -> None:
    reader = AnswerReader(Words())
    reader.feed("data: [DONE]\n\n")
    assert not reader.ended
    with pytest.raises(ModelGarbled, match="neither a word nor"):
        reader.close()
