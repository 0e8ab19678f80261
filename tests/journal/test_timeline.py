"""A run in time: attempts, what was waited for, and what nobody knows."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.errors import CallCancelled, RateLimited
from actum.core.message import Reply
from actum.core.run.chain import GENESIS, seal
from actum.core.run.pending import Pending
from actum.core.run.record import (
    CallCompleted,
    CallRefused,
    Ended,
    Entry,
    InputGiven,
    InputRequested,
    Intended,
    ModelReplied,
    Record,
    Started,
)
from actum.journal.timeline import (
    CallSpan,
    InputAsked,
    ModelTurn,
    OtherEvent,
    Timeline,
    union,
)

pytestmark = pytest.mark.row("C7")

CALL = ToolCall("1", "pay", {"amount": 20})
DONE = ToolResult("1", (TextPart("paid"),))
BUSY = ToolResult("1", error=RateLimited("Busy.").failure())
BROKEN_OFF = ToolResult("1", error=CallCancelled("Cancelled.").failure())


def told(*records: tuple[float, Record]) -> Timeline:
    """A run whose model made one call after two seconds, and went on like this."""
    before: list[tuple[float, Record]] = [
        (0.0, Started(agent="a", model="m", said=())),
        (2.0, ModelReplied("", Reply.of(calls=[CALL]), seconds=1.5)),
    ]
    entries: list[Entry] = []
    for number, (at, record) in enumerate([*before, *records]):
        entries.append(seal(record, number, at, entries[-1].head if entries else GENESIS))
    return Timeline(entries)


def intent(attempt: int = 1) -> Intended:
    return Intended(1, 0, attempt, "pay", "v", CALL.arguments, "key")


def only_call(timeline: Timeline) -> CallSpan:
    (call,) = timeline.calls()
    return call


def test_a_turn_of_the_model_began_before_it_was_written_down() -> None:
    (step,) = told().steps()
    assert (step.begun, step.at) == (0.5, 2.0)


def test_an_attempt_lasts_from_its_intent_to_its_outcome_and_the_wait_between_two_is_told() -> None:
    timeline = told(
        (2.0, intent()),
        (3.0, CallCompleted(1, 0, BUSY, 1.0, final=False)),
        (7.0, intent(2)),
        (8.0, CallCompleted(1, 0, DONE, 6.0)),
    )
    call = only_call(timeline)
    assert [(each.at, each.ended, each.waited_s) for each in call.attempts] == [(2.0, 3.0, 0.0), (7.0, 8.0, 4.0)]
    assert (call.begun, call.ended, call.in_doubt) == (2.0, 8.0, False)
    assert timeline.busy() == [(0.5, 8.0)]


def test_a_call_without_a_word_of_its_end_is_in_doubt_and_its_time_is_not_known() -> None:
    timeline = told((2.0, intent()))
    assert only_call(timeline).in_doubt
    assert timeline.busy() == [(0.5, 2.0)]


def test_a_call_that_was_broken_off_is_in_doubt() -> None:
    assert only_call(told((2.0, intent()), (3.0, CallCompleted(1, 0, BROKEN_OFF, final=False)))).in_doubt


def test_what_a_person_found_out_later_ends_the_doubt_and_is_no_time_of_the_tool() -> None:
    timeline = told(
        (2.0, intent()),
        (500.0, InputRequested(Pending("ask_1", "doubt", "Did it?", CALL), 1, 0)),
        (900.0, InputGiven("ask_1", "done", by="bo")),
        (901.0, CallCompleted(1, 0, DONE, 0.0, detail="by bo")),
    )
    call = only_call(timeline)
    assert (call.in_doubt, call.attempts[0].ended, call.ended) == (False, None, 901.0)
    assert call.outcome is not None
    assert timeline.waited_s == 400.0
    assert timeline.busy() == [(0.5, 2.0)]


def test_two_who_are_asked_at_once_are_waited_for_once() -> None:
    timeline = told(
        (10.0, InputRequested(Pending("a", "approval", "Pay?", CALL, needs=2), 1, 0)),
        (15.0, InputRequested(Pending("b", "answer", "Whom?"), 1)),
        (20.0, InputGiven("a", "approve", by="bo")),
        (30.0, InputGiven("a", "approve", by="cy")),
        (25.0, InputGiven("b", "answer", "Ada", "bo")),
    )
    assert timeline.waited_s == 20.0
    (approval,) = only_call(timeline).questions
    assert [answer.by for answer, _ in approval.answers] == ["bo", "cy"]
    assert [type(row) for row in timeline.rows] == [ModelTurn, InputAsked]


def test_a_refused_call_has_an_outcome_and_no_attempt() -> None:
    call = only_call(told((2.5, CallRefused(1, 0, BUSY))))
    assert (call.attempts, call.ended, call.begun) == ([], 2.5, 2.5)


def test_what_was_deleted_leaves_a_place_and_does_not_break_the_rest() -> None:
    entries: list[Entry] = []
    records: list[Record] = [Started(agent="a", model="m", said=()), ModelReplied("", Reply.of(calls=[CALL])), intent()]
    for number, record in enumerate([*records, CallCompleted(1, 0, DONE, 1.0), Ended("done")]):
        entries.append(seal(record, number, 1.0, entries[-1].head if entries else GENESIS))
    bare = [Entry(e.number, e.at, b"" if e.number < 2 else e.payload, e.salt, e.digest, e.head) for e in entries]
    timeline = Timeline(bare)
    assert timeline.started is None
    assert [row.number for row in timeline.rows if isinstance(row, OtherEvent) and row.record is None] == [0, 1]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)).map(lambda pair: (min(pair), max(pair)))))
def test_spans_that_do_not_overlap_cover_the_same_time(spans: list[tuple[int, int]]) -> None:
    whole = union(spans)
    assert all(left[1] < right[0] for left, right in pairwise(whole))
    for moment in range(51):
        covered = any(begin <= moment <= end for begin, end in spans)
        assert covered == any(begin <= moment <= end for begin, end in whole)
