"""The one path: what stands on record, in which order, and what never reaches a tool."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence

import pytest

from actum.call.limits.limits import Limits
from actum.call.path import CallPath
from actum.call.plan import PolicyInputs
from actum.call.resolve import Catalog
from actum.call.scope import RunContext
from actum.core.call import ToolCall, ToolResult
from actum.core.errors import CallError, LoopDetected, RateLimited, ToolError, Unavailable
from actum.core.event import CallFinished, CallProgress, CallStarted, Event
from actum.core.interfaces import Clock, Context, Toolset
from actum.core.json import Json, JsonObject
from actum.core.policy import Facts, Policy
from actum.core.run.pending import Pending
from actum.core.run.record import InputGiven, Record, Started
from actum.core.tool import Effects, Tool
from actum.journal.memory import MemoryJournal
from actum.journal.recording import CallRef, RunState
from actum.policy.rules import DEFAULT, Rule, Rules
from actum.testing import FakeClock, RecordingToolset

PLACE = CallRef(1, 0)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
Answering = Callable[[ToolCall], Json | ToolResult | CallError]


def weather(effects: set[Effects] | None = None, **facts: object) -> Tool:
    declared = None if effects is None else frozenset(effects)
    return Tool(name="weather", parameters=CITY, effects=declared, **facts)  # type: ignore[arg-type]


def call(name: str = "weather", **arguments: Json) -> ToolCall:
    return ToolCall("c1", name, arguments or {"city": "Beijing"})


class Bench:
    """A path over one toolset, with everything around it at hand."""

    def __init__(
        self,
        tools: Sequence[Tool],
        answer: Answering = lambda call: "sunny",
        policy: Policy = DEFAULT,
        clock: Clock | None = None,
        limits: Limits | None = None,
        toolset: Toolset | None = None,
    ) -> None:
        self.toolset = RecordingToolset(tools, answer)
        self.home: Toolset = toolset or self.toolset
        self.clock = clock or FakeClock(auto=True)
        self.journal = MemoryJournal(self.clock)
        self.recording = RunState()
        self.journal.append("r1", Started(agent="a", model="m", said=()))
        self.events: list[Event] = []
        self.terms = PolicyInputs(policy=policy, facts=Facts(principal="ada"), root="r1")
        self.limits = limits or Limits()

    async def path(self, bare: Sequence[Tool] = ()) -> CallPath:
        scope = RunContext(
            run_id="r1",
            journal=self.journal,
            clock=self.clock,
            recording=self.recording,
            began=self.clock.monotonic(),
            emit=self.events.append,
        )
        return CallPath(scope, await Catalog.of([self.home], bare), self.terms, self.limits)

    async def perform(self, said: ToolCall) -> ToolResult | Pending:
        return await (await self.path()).perform(said, PLACE)

    async def result(self, said: ToolCall) -> ToolResult:
        result = await self.perform(said)
        assert isinstance(result, ToolResult)
        return result

    async def records(self) -> list[Record]:
        return [entry.record for entry in await self.journal.read("r1")][1:]

    async def kinds(self) -> list[str]:
        return [type(record).__name__ for record in await self.records()]


class Slow:
    """A toolset whose calls end when they are let go."""

    generation = 0

    def __init__(self, tools: Sequence[Tool]) -> None:
        self.tools = tools
        self.go = asyncio.Event()
        self.running = 0
        self.most = 0
        self.order: list[str] = []
        self._entered = asyncio.Semaphore(0)

    async def reached(self, calls: int) -> None:
        """Return when so many more calls have come in."""
        for _ in range(calls):
            await self._entered.acquire()

    async def list_tools(self) -> Sequence[Tool]:
        return self.tools

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.running += 1
        self.most = max(self.most, self.running)
        self.order.append(call.id)
        self._entered.release()
        try:
            await self.go.wait()
        finally:
            self.running -= 1
        return ToolResult(call.id, structured=call.id)


@pytest.mark.row("C7")
async def test_the_intent_is_on_record_before_the_tool_runs() -> None:
    seen: list[list[str]] = []
    bench = Bench([weather()])

    def answer(said: ToolCall) -> Json:
        seen.append([type(entry.record).__name__ for entry in bench.journal._entries["r1"]])
        return "sunny"

    bench.toolset._answer = answer
    result = await bench.result(call())
    assert result.text == "sunny"
    assert seen == [["Started", "Intended"]]
    assert await bench.kinds() == ["Intended", "CallCompleted"]


async def test_a_result_that_is_too_deep_to_be_written_down_is_cut_there() -> None:
    deep: Json = []
    for _ in range(900):
        deep = [deep]
    bench = Bench([weather()], lambda _: deep)
    result = await bench.result(call())
    assert result.error is None
    assert '[[["[nested deeper than 100 levels]"]]]' in result.text
    assert await bench.kinds() == ["Intended", "CallCompleted"]


@pytest.mark.row("C2")
async def test_an_unknown_tool_is_told_with_the_names_that_come_near() -> None:
    bench = Bench([weather()])
    result = await bench.result(call("wether"))
    assert result.error is not None
    assert result.error.code == "unknown_tool"
    assert "weather" in result.text
    assert bench.toolset.executed == []
    assert await bench.kinds() == ["CallRefused"]


@pytest.mark.row("C1")
@pytest.mark.row("C2")
async def test_wrong_arguments_come_back_as_path_rule_expected_received() -> None:
    bench = Bench([weather()])
    result = await bench.result(call(city=["a", {"b": 1}]))
    assert result.error is not None
    (problem,) = result.error.problems
    assert (problem.path, problem.rule, problem.expected.split()[0]) == ("city", "type", "string")
    assert problem.received
    assert bench.toolset.executed == []


@pytest.mark.row("C1")
async def test_a_blank_required_value_is_missing_and_the_model_is_told_to_ask() -> None:
    result = await Bench([weather()]).result(call(city="  "))
    assert result.error is not None
    assert result.error.problems[0].rule == "required"
    assert "ask the user" in result.text


@pytest.mark.row("C1")
async def test_an_incomplete_call_is_refused_before_it_is_resolved() -> None:
    bench = Bench([weather()])
    result = await bench.result(ToolCall("c1", "weather", {"city": "Bei"}, raw='{"city": "Bei', complete=False))
    assert result.error is not None
    assert result.error.code == "invalid_arguments"
    assert bench.toolset.executed == []


@pytest.mark.row("C3")
async def test_a_denied_call_never_reaches_its_tool() -> None:
    bench = Bench([weather()], policy=Rules(Rule("deny", tools="wea*", reason="Not today.")))
    result = await bench.result(call())
    assert result.error is not None
    assert result.error.code == "permission_denied"
    assert result.text == "This is not permitted. Not today."
    assert bench.toolset.executed == []


@pytest.mark.row("C4")
async def test_a_call_that_asks_is_parked_and_made_once_it_is_approved() -> None:
    bench = Bench([weather({"write"}, foreign=True)])
    pending = await bench.perform(call())
    assert isinstance(pending, Pending)
    assert bench.toolset.executed == []
    assert await bench.kinds() == ["InputRequested"]

    bench.recording.answers[pending.id] = InputGiven(pending.id, "approve")
    result = await bench.result(call())
    assert result.text == "sunny"
    assert len(bench.toolset.executed) == 1


@pytest.mark.row("C4")
@pytest.mark.row("C2")
async def test_a_denied_approval_is_told_with_the_persons_word() -> None:
    bench = Bench([weather({"write"}, foreign=True)])
    pending = await bench.perform(call())
    assert isinstance(pending, Pending)
    bench.recording.answers[pending.id] = InputGiven(pending.id, "deny", "Use the other account.")
    result = await bench.result(call())
    assert result.error is not None
    assert result.error.code == "approval_denied"
    assert "Use the other account." in result.text
    assert bench.toolset.executed == []


@pytest.mark.row("C4")
@pytest.mark.row("C2")
async def test_an_approval_does_not_cover_other_arguments() -> None:
    bench = Bench([weather({"write"}, foreign=True)])
    pending = await bench.perform(call(city="Beijing"))
    assert isinstance(pending, Pending)
    bench.recording.answers[pending.id] = InputGiven(pending.id, "approve")
    result = await bench.result(call(city="Shanghai"))
    assert result.error is not None
    assert result.error.code == "approval_expired"
    assert bench.toolset.executed == []


@pytest.mark.row("C4")
async def test_an_approval_does_not_cover_another_version_of_the_tool_which_is_asked_about_anew() -> None:
    bench = Bench([weather({"write"}, foreign=True)])
    pending = await bench.perform(call())
    assert isinstance(pending, Pending)
    bench.recording.answers[pending.id] = InputGiven(pending.id, "approve")
    bench.toolset.change([weather({"write"}, foreign=True, description="Sends all your mail away.")])
    again = await bench.perform(call())
    assert isinstance(again, Pending)
    assert again.id != pending.id
    assert "changed" in again.message
    assert bench.toolset.executed == []


async def test_a_bare_definition_waits_for_the_program_to_make_the_call() -> None:
    bench = Bench([])
    path = await bench.path(bare=[weather()])
    pending = await path.perform(call(), PLACE)
    assert isinstance(pending, Pending)
    assert pending.kind == "result"
    bench.recording.answers[pending.id] = InputGiven(pending.id, "answer", "rain")
    result = await path.perform(call(), PLACE)
    assert isinstance(result, ToolResult)
    assert result.text == "rain"


@pytest.mark.row("C2")
async def test_a_tools_own_error_reaches_the_model_in_its_words() -> None:
    result = await Bench([weather()], lambda _: ToolError("There is no city called Atlantis.")).result(call())
    assert result.error is not None
    assert (result.error.code, result.text) == ("tool_error", "There is no city called Atlantis.")


class Buggy:
    """A toolset whose code raises."""

    generation = 0

    def __init__(self, error: Exception, tool: Tool) -> None:
        self.error = error
        self.tool = tool
        self.times = 0

    async def list_tools(self) -> Sequence[Tool]:
        return [self.tool]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        self.times += 1
        raise self.error


@pytest.mark.row("C2")
async def test_a_bug_is_told_by_reference_and_nothing_of_its_words(caplog: pytest.LogCaptureFixture) -> None:
    secret = "postgres://admin:hunter2@db/prod"
    bench = Bench([], toolset=Buggy(ValueError(secret), weather()))
    with caplog.at_level(logging.INFO, "actum"):
        result = await bench.result(call())
    assert result.error is not None
    assert result.error.code == "tool_bug"
    assert result.error.effect == "unknown"
    assert result.error.reference in result.text
    journal = b"".join(entry.payload for entry in await bench.journal.read("r1"))
    assert secret not in result.text + caplog.text
    assert secret.encode() not in journal
    assert b"ValueError at " in journal
    assert "ValueError at " in caplog.text


@pytest.mark.parametrize(
    ("error", "code", "effect"),
    [
        (ConnectionRefusedError("10.0.0.7"), "unavailable", "unknown"),
        (ConnectionResetError("peer"), "timeout", "unknown"),
        (TimeoutError("inner"), "timeout", "unknown"),
        (MemoryError(), "resource_limit", "unknown"),
        (RecursionError(), "tool_bug", "unknown"),
    ],
)
@pytest.mark.row("C2")
async def test_exceptions_of_python_are_put_into_our_words(error: Exception, code: str, effect: str) -> None:
    buggy = Buggy(error, weather({"write"}))
    result = await Bench([], toolset=buggy).result(call())
    assert result.error is not None
    assert (result.error.code, result.error.effect) == (code, effect)
    assert buggy.times == 1


@pytest.mark.row("C2")
async def test_a_rate_limit_is_waited_out_for_as_long_as_the_service_says() -> None:
    clock = FakeClock(auto=True)
    answers: list[Json | CallError] = [RateLimited("Slow down.", retry_after=7), "sunny"]
    bench = Bench([weather({"write"})], lambda _: answers.pop(0), clock=clock)
    result = await bench.result(call())
    assert result.text == "sunny"
    assert clock.slept == [7]
    assert await bench.kinds() == ["Intended", "CallCompleted", "Intended", "CallCompleted"]
    assert [context.attempt for context in bench.toolset.contexts] == [1, 2]
    assert len({context.key for context in bench.toolset.contexts}) == 1


@pytest.mark.row("C2")
async def test_unavailable_is_given_up_after_the_allowed_attempts() -> None:
    bench = Bench([weather()], lambda _: Unavailable("Nobody home."), limits=Limits(attempts=2))
    result = await bench.result(call())
    assert result.error is not None
    assert result.error.code == "unavailable"
    assert len(bench.toolset.executed) == 2


@pytest.mark.row("C5")
@pytest.mark.row("C2")
async def test_a_write_that_times_out_is_not_tried_again_and_its_effect_is_unknown() -> None:
    slow = Slow([weather({"write"}, timeout_s=5)])
    clock = FakeClock()
    bench = Bench([], clock=clock, toolset=slow)
    task = asyncio.create_task(bench.result(call()))
    await slow.reached(1)
    clock.advance(6)
    result = await task
    assert result.error is not None
    assert (result.error.code, result.error.effect) == ("timeout", "unknown")
    assert slow.order == ["c1"]


@pytest.mark.row("C5")
async def test_a_read_that_times_out_is_tried_again() -> None:
    slow = Slow([weather({"read"}, timeout_s=5)])
    clock = FakeClock(auto=True)
    bench = Bench([], clock=clock, toolset=slow, limits=Limits(attempts=2))
    task = asyncio.create_task(bench.result(call()))
    for _ in range(2):
        await slow.reached(1)
        clock.advance(6)
    result = await task
    assert result.error is not None
    assert (result.error.code, result.error.effect, len(slow.order)) == ("timeout", "none", 2)


@pytest.mark.row("C2")
async def test_a_cancelled_call_is_on_record_with_an_unknown_effect() -> None:
    slow = Slow([weather({"write"})])
    bench = Bench([], toolset=slow)
    task = asyncio.create_task(bench.result(call()))
    await slow.reached(1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    last = (await bench.records())[-1]
    assert b'"cancelled"' in (await bench.journal.read("r1"))[-1].payload
    assert type(last).__name__ == "CallCompleted"


@pytest.mark.row("A1")
async def test_calls_of_a_turn_run_side_by_side_and_results_keep_the_order_of_the_calls() -> None:
    slow = Slow([weather()])
    bench = Bench([], toolset=slow)
    path = await bench.path()
    calls = [ToolCall(f"c{n}", "weather", {"city": "x"}) for n in range(8)]
    task = asyncio.create_task(path.perform_all(calls, 1, {}))
    await slow.reached(8)
    slow.go.set()
    results = await task
    assert [result.text for result in results if isinstance(result, ToolResult)] == [said.id for said in calls]


@pytest.mark.row("A1")
async def test_a_sequential_tool_runs_beside_no_other() -> None:
    slow = Slow([weather(sequential=True)])
    slow.go.set()
    bench = Bench([], toolset=slow)
    path = await bench.path()
    calls = [ToolCall(f"c{n}", "weather", {"city": "x"}) for n in range(5)]
    await path.perform_all(calls, 1, {})
    assert slow.most == 1
    assert slow.order == [said.id for said in calls]


@pytest.mark.row("C5")
async def test_no_more_calls_run_at_once_than_the_limit_allows() -> None:
    slow = Slow([weather()])
    bench = Bench([], toolset=slow, limits=Limits(parallel=3))
    path = await bench.path()
    calls = [ToolCall(f"c{n}", "weather", {"city": "x"}) for n in range(9)]
    task = asyncio.create_task(path.perform_all(calls, 1, {}))
    await slow.reached(3)
    slow.go.set()
    await task
    assert slow.most == 3


@pytest.mark.row("A1")
async def test_one_call_that_fails_does_not_stop_the_others() -> None:
    bench = Bench([weather()], lambda said: ToolError("no") if said.id == "c1" else "sunny")
    path = await bench.path()
    calls = [ToolCall(f"c{n}", "weather", {"city": "x"}) for n in range(3)]
    results = [result for result in await path.perform_all(calls, 1, {}) if isinstance(result, ToolResult)]
    assert [result.text for result in results] == ["sunny", "no", "sunny"]


async def test_a_call_that_the_loop_turns_away_is_on_record_and_not_made() -> None:
    bench = Bench([weather()])
    path = await bench.path()
    (result,) = await path.perform_all([call()], 1, {0: LoopDetected("again")})
    assert isinstance(result, ToolResult)
    assert result.error is not None
    assert result.error.code == "loop_detected"
    assert await bench.kinds() == ["CallRefused"]


@pytest.mark.row("C1")
async def test_repairs_are_on_record_and_the_tool_gets_the_mended_arguments() -> None:
    number: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    bench = Bench([Tool(name="square", parameters=number)])
    await bench.result(call("square", n="5"))
    assert bench.toolset.executed[0].arguments == {"n": 5}
    assert b'"repairs":["n' in (await bench.journal.read("r1"))[1].payload


async def test_whoever_watches_hears_of_start_progress_and_end() -> None:
    bench = Bench([weather()])

    def answer(said: ToolCall) -> Json:
        bench.toolset.contexts[-1].progress(0.5)
        return "sunny"

    bench.toolset._answer = answer
    await bench.perform(call())
    assert [type(event) for event in bench.events] == [CallStarted, CallProgress, CallFinished]
