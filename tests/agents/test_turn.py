"""The loop by itself, driven by hand: no model, no tool, no event loop."""

from __future__ import annotations

import pytest

from actum.agents.output import plain
from actum.agents.turn import (
    AskUser,
    Called,
    CallModel,
    CallTools,
    Intention,
    ModelAnswered,
    Outcome,
    UserAnswered,
    turn,
)
from actum.call.limits.limits import Limits
from actum.core.call import Failure, Problem, ToolCall, ToolResult
from actum.core.errors import InvalidArguments
from actum.core.json import Json
from actum.core.message import Reply, ToolMessage, Transcript, Usage, UserMessage
from actum.core.pending import Pending
from actum.runs.run import Finish
from actum.runs.wording import Phrases

pytestmark = pytest.mark.row("A1")


def ask(n: Json = 1, id: str = "c1") -> ToolCall:
    return ToolCall(id, "square", {"n": n})


class Loop:
    """The generator with its transcript; `send` returns the next intention, or how it finished."""

    def __init__(self, limits: Limits | None = None, polled: bool = False, question: str = "?") -> None:
        self.transcript = Transcript([UserMessage.of(question)])
        wording = Phrases.for_text(question)
        self.turn = turn(self.transcript, limits or Limits(), wording, lambda name: polled, plain)
        self.at: Intention | Finish = next(self.turn)

    def send(self, outcome: Outcome) -> Intention | Finish:
        try:
            self.at = self.turn.send(outcome)
        except StopIteration as end:
            self.at = end.value
        return self.at

    def say(
        self, *calls: ToolCall, text: str = "", usage: Usage | None = None, elapsed: float = 0.0
    ) -> Intention | Finish:
        reply = Reply(Reply.of(text, calls).content, usage=usage or Usage())
        return self.send(ModelAnswered(reply, elapsed))

    def answer(self, *results: ToolResult | Pending) -> Intention | Finish:
        return self.send(Called(results))


def result(value: Json = 1, id: str = "c1") -> ToolResult:
    return ToolResult(id, structured=value)


def test_a_reply_without_calls_is_the_answer() -> None:
    loop = Loop()
    assert isinstance(loop.at, CallModel)
    finish = loop.say(text="hello")
    assert finish == Finish(status="done", text="hello", output="hello")


@pytest.mark.row("S3")
def test_calls_decide_the_loop_and_not_the_finish_reason() -> None:
    loop = Loop()
    reply = Reply((ask(),), finish_reason="stop")
    assert isinstance(loop.send(ModelAnswered(reply)), CallTools)


def test_results_are_said_to_the_model_in_the_order_of_the_calls() -> None:
    loop = Loop()
    loop.say(ask(1, "a"), ask(2, "b"))
    assert isinstance(loop.answer(result(1, "a"), result(4, "b")), CallModel)
    said = [message.result.call_id for message in loop.transcript if isinstance(message, ToolMessage)]
    assert said == ["a", "b"]


def test_the_same_call_with_the_same_result_is_called_a_loop_once_to_the_model_and_then_to_the_user() -> None:
    loop = Loop(Limits(repeats=3))
    for _ in range(3):
        step = loop.say(ask())
        assert isinstance(step, CallTools)
        assert step.refusals == {}
        loop.answer(result())
    told = loop.say(ask())
    assert isinstance(told, CallTools)
    assert told.refusals[0].code == "loop_detected"
    assert isinstance(loop.answer(ToolResult("c1", error=told.refusals[0].failure())), CallModel)
    again = loop.say(ask())
    assert isinstance(again, CallTools)
    finish = loop.answer(ToolResult("c1", error=again.refusals[0].failure()))
    assert isinstance(finish, Finish)
    assert (finish.status, finish.stop_reason) == ("stopped", "loop_detected")
    assert finish.text


def test_a_polled_tool_may_be_asked_again_and_again() -> None:
    loop = Loop(polled=True)
    for _ in range(10):
        step = loop.say(ask())
        assert isinstance(step, CallTools)
        assert step.refusals == {}
        loop.answer(result())


def test_another_result_is_no_loop() -> None:
    loop = Loop()
    for n in range(10):
        step = loop.say(ask())
        assert isinstance(step, CallTools)
        assert step.refusals == {}
        loop.answer(result(n))


def test_the_same_failure_counts_as_the_same_result_though_its_reference_is_new() -> None:
    loop = Loop()
    for n in range(3):
        loop.say(ask())
        failure = Failure("tool_bug", f"The tool failed (reference ref_{n}).", reference=f"ref_{n}")
        loop.answer(ToolResult("c1", error=failure))
    told = loop.say(ask())
    assert isinstance(told, CallTools)
    assert told.refusals


@pytest.mark.row("C5")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [(Limits(steps=1), "steps"), (Limits(tokens=10), "tokens"), (Limits(seconds=5), "seconds")],
)
def test_a_limit_stops_the_run_before_the_model_is_asked_again(limits: Limits, reason: str) -> None:
    loop = Loop(limits)
    loop.say(ask(), usage=Usage(8, 8), elapsed=1)
    finish = loop.send(Called([result()], elapsed=9))
    assert isinstance(finish, Finish)
    assert (finish.status, finish.stop_reason) == ("stopped", reason)


@pytest.mark.row("C5")
def test_calls_beyond_their_limit_are_refused_and_the_run_stops() -> None:
    loop = Loop(Limits(calls=2))
    step = loop.say(ask(1, "a"), ask(2, "b"), ask(3, "c"))
    assert isinstance(step, CallTools)
    assert {index: error.code for index, error in step.refusals.items()} == {2: "budget_exceeded"}
    finish = loop.answer(result(1, "a"), result(2, "b"), ToolResult("c", error=step.refusals[2].failure()))
    assert isinstance(finish, Finish)
    assert finish.stop_reason == "calls"


@pytest.mark.row("C4")
def test_a_call_that_waits_for_a_person_pauses_the_run() -> None:
    pending = Pending("ask_1", "approval", "", ask())
    loop = Loop()
    loop.say(ask())
    finish = loop.answer(pending)
    assert isinstance(finish, Finish)
    assert (finish.status, finish.pending) == ("paused", (pending,))


@pytest.mark.row("C1")
@pytest.mark.parametrize(("question", "words"), [("weather?", "I need"), ("天气怎么样？", "请问")])
def test_a_value_that_the_model_leaves_out_again_is_asked_of_the_user(question: str, words: str) -> None:
    missing = ToolResult("c1", error=InvalidArguments([Problem("city", "required", "a city")]).failure())
    loop = Loop(question=question)
    loop.say(ask(""))
    assert isinstance(loop.answer(missing), CallModel)
    loop.say(ask(""))
    asked = loop.answer(missing)
    assert isinstance(asked, AskUser)
    assert "city" in asked.question
    assert words in asked.question
    assert isinstance(loop.send(UserAnswered("Beijing")), CallModel)
    assert loop.transcript[-1] == UserMessage.of("Beijing")


def test_two_loops_that_are_told_the_same_intend_the_same() -> None:
    def run() -> tuple[list[str], str]:
        loop = Loop()
        steps = [type(loop.at).__name__]
        for n in range(5):
            steps += [type(loop.say(ask(n))).__name__, type(loop.answer(result(n))).__name__]
        steps.append(type(loop.say(text="done")).__name__)
        return steps, loop.transcript.digest

    assert run() == run()


def test_an_answer_that_was_cut_off_is_not_done() -> None:
    loop = Loop()
    finish = loop.send(ModelAnswered(Reply(Reply.of("Once").content, finish_reason="max_tokens")))
    assert isinstance(finish, Finish)
    assert (finish.status, finish.stop_reason, finish.text) == ("stopped", "length", "Once")
