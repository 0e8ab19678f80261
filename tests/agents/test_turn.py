"""The loop by itself, driven by hand: no model, no tool, no event loop."""

from __future__ import annotations

import pytest

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
from actum.core.run.pending import Pending
from actum.runs.run import Finish
from actum.runs.wording import Phrases

pytestmark = pytest.mark.row("A1")


def never(name: str) -> bool:
    return False


def ask(n: Json = 1, id: str = "c1") -> ToolCall:
    return ToolCall(id, "square", {"n": n})


class Loop:
    """The generator with its transcript; `send` returns the next intention, or how it finished."""

    def __init__(
        self, limits: Limits | None = None, polled: bool = False, question: str = "?", reads: bool = False
    ) -> None:
        self.transcript = Transcript([UserMessage.of(question)])
        wording = Phrases.for_text(question)
        limits = limits or Limits()
        self.turn = turn(self.transcript, limits, wording, lambda name: polled, lambda name: reads, never)
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


@pytest.mark.row("C5")
@pytest.mark.parametrize("reads", [True, False], ids=["reads", "undeclared"])
def test_the_same_call_with_other_blanks_or_case_and_the_same_result_is_stopped_within_eight_calls(reads: bool) -> None:
    loop, words = Loop(reads=reads), ["Ada", "ada", " ada", "ADA ", "a\nda", "AdA", "A d a", "aDa"]
    for n, word in enumerate(words):
        assert isinstance(loop.at, CallModel), n
        step = loop.say(ask(word))
        assert isinstance(step, CallTools)
        assert (n >= 6) == bool(step.refusals)
        loop.answer(ToolResult("c1", error=step.refusals[0].failure()) if step.refusals else result("Nobody."))
    assert isinstance(loop.at, Finish)
    assert (loop.at.status, loop.at.stop_reason) == ("stopped", "loop_detected")


def same(loop: Loop, steps: int, value: Json = "Nothing.", calls: int = 1) -> list[int]:
    """Say ever new calls that all give this; the steps after which the model was told of it, from 1."""
    told = []
    for step in range(steps):
        if isinstance(loop.at, Finish):
            break
        made = loop.say(*[ask(f"{step} {n}", f"c{n}") for n in range(calls)])
        assert isinstance(made, CallTools)
        assert made.refusals == {}
        before = len(loop.transcript)
        loop.answer(*[result(value, f"c{n}") for n in range(calls)])
        said = [message.result.text for message in loop.transcript[before:] if isinstance(message, ToolMessage)]
        assert len(said) == calls
        if "all gave this" in said[0]:
            assert said[0].startswith(f"{value}\n[The last {(step + 1) * calls} calls of `square` all gave this.")
            told.append(step + 1)
    return told


@pytest.mark.row("C5")
@pytest.mark.parametrize("calls", [1, 3])
def test_ever_new_reads_with_the_same_result_are_told_after_8_steps_and_stopped_after_16(calls: int) -> None:
    loop = Loop(reads=True)
    assert same(loop, 15, calls=calls) == [8]
    assert isinstance(loop.at, CallModel)
    same(loop, 1, calls=calls)
    assert isinstance(loop.at, Finish)
    assert (loop.at.status, loop.at.stop_reason) == ("stopped", "loop_detected")


@pytest.mark.row("C5")
def test_ever_new_reads_that_fail_the_same_are_told_too() -> None:
    loop = Loop(reads=True)
    for n in range(8):
        loop.say(ask(n))
        loop.answer(ToolResult("c1", error=Failure("tool_error", f"Nothing (ref_{n}).", reference=f"ref_{n}")))
    last = loop.transcript[-1]
    assert isinstance(last, ToolMessage)
    assert last.result.text.startswith("Nothing (ref_7). [The last 8 calls")


@pytest.mark.row("C5")
@pytest.mark.parametrize(
    ("loop", "value"),
    [(Loop(), "sent"), (Loop(reads=True, polled=True), "still running")],
    ids=["thirty mails", "polled"],
)
def test_thirty_mails_that_are_sent_and_thirty_polls_are_no_loop(loop: Loop, value: str) -> None:
    assert same(loop, 30, value) == []
    assert isinstance(loop.at, CallModel)


@pytest.mark.row("C5")
def test_a_batch_of_writes_that_answer_ok_is_no_loop() -> None:
    loop = Loop()
    assert same(loop, 20, "ok", calls=10) == []
    assert isinstance(loop.at, CallModel)


@pytest.mark.row("C5")
@pytest.mark.parametrize("words", ["different", "in other case"])
def test_calls_of_one_step_are_no_loop(words: str) -> None:
    loop = Loop(reads=True)
    for step in range(2):
        calls = [ask(f"{step} {n}" if words == "different" else "a" * n + "A" * (40 - n), f"c{n}") for n in range(40)]
        made = loop.say(*calls)
        assert isinstance(made, CallTools)
        assert made.refusals == {}
        loop.answer(*[result("Nothing.", f"c{n}") for n in range(40)])
    assert isinstance(loop.at, CallModel)


@pytest.mark.row("C5")
def test_another_result_another_tool_and_a_change_in_between_end_a_row_of_the_same_results() -> None:
    for between in (ask("x"), ToolCall("c1", "cube", {"n": "x"})):
        loop = Loop(reads=True)
        same(loop, 7)
        loop.say(between)
        loop.answer(result("Something."))
        assert same(loop, 7) == []
    transcript = Transcript([UserMessage.of("?")])
    mixed = Loop()
    mixed.turn = turn(
        transcript, Limits(), Phrases.for_text("?"), lambda name: False, lambda name: name == "square", never
    )
    mixed.transcript, mixed.at = transcript, next(mixed.turn)
    for n in range(20):
        mixed.say(ask(n), ToolCall("c2", "write", {"n": n}))
        assert isinstance(mixed.answer(result("free"), result("ok", "c2")), CallModel)
    assert not any("all gave" in m.result.text for m in transcript if isinstance(m, ToolMessage))


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
def test_calls_beyond_their_limit_are_refused_one_by_one_and_a_model_that_goes_on_is_stopped() -> None:
    loop = Loop(Limits(calls=2))
    step = loop.say(ask(1, "a"), ask(2, "b"), ask(3, "c"))
    assert isinstance(step, CallTools)
    assert {index: error.code for index, error in step.refusals.items()} == {2: "budget_exceeded"}
    assert "may make 2 tool calls (the setting Limits.calls)" in step.refusals[2].message
    loop.answer(result(1, "a"), result(2, "b"), ToolResult("c", error=step.refusals[2].failure()))
    for n in (4, 5):
        assert isinstance(loop.at, CallModel)
        step = loop.say(ToolCall("d", f"other_{n}", {}))
        assert isinstance(step, CallTools)
        loop.answer(ToolResult("d", error=step.refusals[0].failure()))
    assert isinstance(loop.at, Finish)
    assert (loop.at.status, loop.at.stop_reason) == ("stopped", "calls")


@pytest.mark.row("C5")
def test_of_one_reply_only_so_many_calls_are_made_and_the_run_goes_on() -> None:
    loop = Loop()
    step = loop.say(*[ask(n, f"c{n}") for n in range(1000)])
    assert isinstance(step, CallTools)
    assert sorted(step.refusals) == [*range(128, 1000)]
    assert "Limits.calls_per_reply" in step.refusals[128].message
    results = [
        ToolResult(f"c{n}", error=step.refusals[n].failure()) if n in step.refusals else result(n, f"c{n}")
        for n in range(1000)
    ]
    assert isinstance(loop.answer(*results), CallModel)
    step = Loop(Limits(calls=None, calls_per_reply=None)).say(*[ask(n, f"c{n}") for n in range(2000)])
    assert isinstance(step, CallTools)
    assert step.refusals == {}


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
