"""The state of a run, read from its records."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from actum.core.budget import Used
from actum.core.call import Effect, Failure, TextPart, ToolCall, ToolResult
from actum.core.errors import JournalError
from actum.core.json import JsonObject
from actum.core.message import Reply, Usage, UserMessage
from actum.core.run.pending import Pending
from actum.core.run.record import (
    CallCompleted,
    CallParked,
    CallRefused,
    Compacted,
    Ended,
    InputGiven,
    InputRequested,
    Intended,
    ModelReplied,
    PrecheckDone,
    Record,
    Started,
    ToolsChanged,
)
from actum.journal.memory import MemoryJournal
from actum.journal.recording import CallRef, RunState


def said(text: str) -> ToolResult:
    return ToolResult("1", (TextPart(text),))


def failed(code: str, message: str, effect: Effect = "none") -> ToolResult:
    return ToolResult("1", error=Failure(code, message, effect=effect))


HERE = CallRef(1, 0)
"""The first call of the reply that stands behind the first record."""
CALL = ToolCall("1", "pay", {"amount": 5})
BEGUN: tuple[Record, ...] = (
    Started(agent="a", model="m", said=(UserMessage.of("Go"),), tools="t0"),
    ModelReplied("i", Reply((CALL,), usage=Usage(7, 3)), 0.5, 0.5, Decimal("0.25")),
)
ATTEMPT = Intended(1, 0, 1, "pay", "v", {"amount": 5}, "key")
DONE = CallCompleted(1, 0, said("paid"), elapsed=2.0)
LOST = CallCompleted(1, 0, failed("timeout", "lost", effect="unknown"), elapsed=2.0, final=False)
ASKED = InputRequested(Pending("ask", "approval", "May I?", CALL), 1, 0)


async def state(*records: Record) -> RunState:
    """The state that is read back from a journal with these records, behind those that begin the run."""
    return await state_of([*BEGUN, *records])


async def state_of(records: Sequence[Record]) -> RunState:
    journal = MemoryJournal()
    for record in records:
        journal.append("r", record)
    return RunState(await journal.read("r"))


async def test_a_run_without_its_first_record_can_not_be_shown() -> None:
    with pytest.raises(JournalError, match="Started"):
        (await state_of([])).beginning()
    assert (await state()).beginning() == BEGUN[0]


async def test_each_reply_is_known_with_its_number_and_the_tools_that_it_was_given() -> None:
    run = await state(ToolsChanged("t1"), ModelReplied("j", Reply.of("Done."), elapsed=3.0), ToolsChanged("t2"))
    assert [number for number, _ in run.replies] == [1, 3]
    assert (run.tools_at, run.tools, run.elapsed) == (["t0", "t1"], "t2", 3.0)


async def test_a_call_is_in_doubt_from_its_intent_to_an_outcome_that_is_known() -> None:
    doubt = InputRequested(Pending("d", "doubt", "Was it paid?", CALL), 1, 0)
    for name, records, doubtful, attempts, has_outcome in (
        ("nothing begun", (), False, 0, False),
        ("begun", (ATTEMPT,), True, 1, False),
        ("done", (ATTEMPT, DONE), False, 1, True),
        ("ended, and nobody knows how", (ATTEMPT, LOST), True, 1, False),
        ("parked", (ATTEMPT, CallParked(1, 0, "half")), False, 1, False),
        ("begun a second time", (ATTEMPT, LOST, Intended(1, 0, 2, "pay", "v", {}, "key")), True, 2, False),
        ("refused", (CallRefused(1, 0, failed("denied", "no")),), False, 0, True),
    ):
        run = await state(*records)
        standing = run.standing(HERE)
        assert (standing.in_doubt, standing.attempts) == (doubtful, attempts), name
        assert (standing.outcome is not None) == has_outcome, name
    assert (await state(ATTEMPT, doubt)).standing(HERE).doubt == doubt
    again = Intended(1, 0, 2, "pay", "v", {}, "key")
    assert (await state(ATTEMPT, doubt, again)).standing(HERE).doubt is None, "it was about the attempt before"


async def test_a_finished_call_and_an_answered_question_wait_for_nothing() -> None:
    assert (await state(ASKED)).waiting() == [ASKED]
    assert (await state(ASKED, InputGiven("ask", "approve"))).waiting() == []
    assert (await state(ASKED, DONE)).waiting() == []


async def test_a_yes_counts_when_as_many_as_are_needed_said_it_to_the_same_arguments() -> None:
    asked = InputRequested(Pending("ask", "approval", "May I?", CALL, needs=2), 1, 0)
    ada, bob = (InputGiven("ask", "approve", by=name) for name in ("ada", "bob"))
    other = InputGiven("ask", "approve", by="bob", arguments={"amount": 1})
    for name, answers, counts in (
        ("one of two", (ada,), False),
        ("the same one twice", (ada, ada), False),
        ("two to different arguments", (ada, other), False),
        ("two", (ada, bob), True),
        ("one, who is enough by a rule of the journal", (InputGiven("ask", "approve", by="ada", met=True),), True),
        ("a no of one", (InputGiven("ask", "deny", by="ada"),), True),
    ):
        run = await state(asked, *answers)
        assert ("ask" in run.answers) == counts, name
        assert run.waiting() == ([] if counts else [asked]), name
    assert (await state(asked, ada, other)).agreed("ask") == {"ada"}
    assert (await state(asked, ada, other)).agreed("ask", {"amount": 1}) == {"bob"}


async def test_arguments_that_a_person_put_in_the_place_of_the_models_are_the_calls() -> None:
    changed: JsonObject = {"amount": 1}
    for given, edited in (
        ((), None),
        ((InputGiven("ask", "approve"),), None),
        ((InputGiven("ask", "approve", arguments=changed),), changed),
        ((InputGiven("ask", "deny", arguments=changed),), None),
    ):
        standing = (await state(ASKED, *given)).standing(HERE)
        assert (standing.asked, standing.answer, standing.edited) == (ASKED, given[0] if given else None, edited)


async def test_what_a_run_used_is_counted_once_with_all_that_its_calls_started() -> None:
    own, child = Usage(7, 3), Used(2, 100, Decimal(1), Usage(90, 10))
    refused = CallRefused(1, 0, failed("budget_exceeded", "no more"))
    assert (await state()).used() == Used(0, 10, Decimal("0.25"), own)
    assert (await state(ATTEMPT)).used() == Used(1, 10, Decimal("0.25"), own)
    assert (await state(refused)).used() == Used(0, 10, Decimal("0.25"), own), "the limit kept it from being made"
    run = await state(ATTEMPT, CallCompleted(1, 0, said("paid"), used=child))
    assert run.used() == Used(3, 110, Decimal("1.25"), Usage(97, 13))
    assert run.own_usage == own
    assert (run.used_in(1, 1), run.used_in(2, 1)) == (child, Used(0, 0, Decimal(0)))


async def test_a_tool_that_stopped_for_an_answer_goes_on_with_its_state_when_the_answer_is_there() -> None:
    asked = InputRequested(Pending("name", "elicitation", "Your name?"), 1, 0)
    parked = await state(ATTEMPT, asked, CallParked(1, 0, "half"))
    assert (parked.standing(HERE).state, parked.standing(HERE).missing, parked.midway()) == ("half", asked, [asked])
    given = await state(ATTEMPT, asked, CallParked(1, 0, "half"), InputGiven("name", "answer", "Ada"))
    assert (given.standing(HERE).state, given.standing(HERE).missing, given.midway()) == ("half", None, [])


async def test_a_result_that_was_cut_is_shown_in_part_and_kept_whole() -> None:
    long = said("x" * 1000)
    run = await state(ATTEMPT, CallCompleted(1, 0, long, shown=100))
    assert len(run.told(HERE, long).text) < 1000
    assert (run.whole(HERE.name), run.whole("9.9")) == (long, None)
    assert run.told(CallRef(1, 1), long) == long


async def test_what_was_looked_up_for_a_rule_is_known_by_that_rule_and_the_latest_counts() -> None:
    first, second = (PrecheckDone(1, 0, "look", {}, said(text), rule="r1") for text in ("one", "two"))
    run = await state(first, second)
    assert (run.check(HERE, "r1"), run.check(HERE, "r2")) == (second, None)


async def test_the_latest_end_and_the_latest_summary_count() -> None:
    run = await state(Ended("paused"), Compacted("before", 1), Compacted("all", 2), Ended("done", "Done."))
    assert (run.ended, run.compacted) == (Ended("done", "Done."), Compacted("all", 2))
