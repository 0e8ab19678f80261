"""Every limit ends a run as `stopped`, at exactly the limit, with a word to the user; and resuming keeps the counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import partial

import msgspec
import pytest

from actum import Agent, Answer, Context, Limits, Price, Tool, ToolCall, ToolLimits, ToolResult, UserLimits, tool
from actum.core.call import Failure, MediaPart
from actum.core.errors import BudgetExceeded, CallError, ModelUnavailable, RateLimited, UsageError
from actum.core.json import Json
from actum.core.message import Reply, ToolMessage, Usage, UserMessage
from actum.core.model import Request
from actum.core.policy import Approver, Decision, Facts
from actum.core.run.pending import Pending
from actum.core.run.record import CallCompleted, Ended, InputGiven, ModelReplied, ToolsChanged
from actum.journal.memory import MemoryJournal
from actum.policy.rules import Rule, Rules
from actum.testing import FakeClock, RecordingToolset, Said, ScriptedApprover, ScriptedModel
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("C5")

PRICES = {"scripted": Price(input=Decimal(1), output=Decimal(2))}
"""A reply of `Calls` costs 0.00001."""


class Calls:
    """A model that wants a thousand calls of `tick`, each another one, and then says that it is done.

    Args:
        fails_at: the step at which it can not be reached, once.
    """

    name = "scripted"

    def __init__(self, fails_at: int = -1, calls: int = 1000) -> None:
        self.said: list[Request] = []
        self._fails_at = fails_at
        self._calls = calls

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.said.append(request)
        step = sum(isinstance(message, Reply) for message in request.messages)
        if step == self._fails_at:
            self._fails_at = -1
            raise ModelUnavailable("gone for a moment")
        usage = Usage(input_tokens=6, output_tokens=2)
        calls = (ToolCall(f"c{step}", "tick", {"n": step}),) if step < self._calls else ()
        return Reply(calls or Reply.of("done").content, usage=usage)


class Ticking:
    """An agent, the clock that its tool moves on, and how often the tool ran."""

    def __init__(
        self, limits: Limits, model: Calls, answer: Callable[[int], Json] = lambda n: n, pace: float = 1
    ) -> None:
        self.clock = FakeClock(auto=True)
        self.ran: list[int] = []
        self.journal = MemoryJournal(self.clock)

        @tool(effects={"write"})
        async def tick(n: int) -> object:
            """Tick."""
            self.ran.append(n)
            self.clock.advance(pace)
            return answer(n)

        self.agent = Agent(model, [tick], limits=limits, prices=PRICES, clock=self.clock, journal=self.journal)


KINDS: list[tuple[str, Limits, int]] = [
    ("steps", Limits(steps=100), 100),
    ("calls", Limits(steps=None, calls=100), 100),
    ("tokens", Limits(steps=None, tokens=800), 100),
    ("cost", Limits(steps=None, cost=Decimal("0.001")), 100),
    ("seconds", Limits(steps=None, seconds=100), 100),
    ("tool_calls", Limits(steps=None, tools={"ti*": ToolLimits(calls=100)}), 100),
    ("rate", Limits(steps=None, tools={"*": ToolLimits(per_minute=50)}), 50),
    ("user_rate", Limits(steps=None, users=UserLimits(per_minute=50)), 50),
    ("user_tokens", Limits(steps=None, users=UserLimits(tokens_per_day=800)), 100),
    ("user_cost", Limits(steps=None, users=UserLimits(cost_per_day=Decimal("0.001"))), 100),
]


@pytest.mark.parametrize(("reason", "limits", "most"), KINDS, ids=[kind[0] for kind in KINDS])
@pytest.mark.parametrize("question", ["Tick a thousand times", "滴答一千次"])
async def test_a_thousand_calls_are_stopped_at_exactly_the_limit_and_told_why(
    reason: str, limits: Limits, most: int, question: str
) -> None:
    ticking = Ticking(limits, Calls(), pace=0.5 if "rate" in reason else 1)
    result = await ticking.agent.run(question, principal="ada", run_id="r")
    assert (result.status, result.stop_reason) == ("stopped", reason)
    assert len(ticking.ran) == most
    assert result.text.startswith("I stopped: " if question[0] == "T" else "我停下了：")
    (run,) = await ticking.journal.runs()
    assert run.status == "stopped"
    assert (await ticking.journal.read("r"))[-1].record == Ended("stopped", result.text, reason, result.usage)


@pytest.mark.parametrize(("reason", "limits", "most"), KINDS[:6], ids=[kind[0] for kind in KINDS[:6]])
async def test_a_run_that_is_resumed_has_used_what_it_had(reason: str, limits: Limits, most: int) -> None:
    whole, cut = Ticking(limits, Calls()), Ticking(limits, Calls(fails_at=60))
    expected = await whole.agent.run("Tick", run_id="r")
    with pytest.raises(ModelUnavailable):
        await cut.agent.run("Tick", run_id="r")
    result = await cut.agent.resume("r")
    assert (result.status, result.stop_reason, result.cost) == ("stopped", reason, expected.cost)
    assert cut.ran == whole.ran
    again = await cut.agent.resume("r")
    assert (again.status, again.stop_reason, cut.ran) == ("stopped", reason, whole.ran)


async def test_a_rate_is_waited_for_where_that_is_short_and_the_call_judged_again_after_it() -> None:
    clock, judged = FakeClock(auto=True), list[float]()

    class Watching:
        def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
            judged.append(clock.now())
            return Decision("deny" if len(judged) == 6 else "allow", "watching", "Not any more.")

    def tick(call: ToolCall) -> str:
        clock.advance(29)
        return "ok"

    home = RecordingToolset([Tool(name="tick")], tick)
    calls = [[ToolCall("1", "tick", {})] for _ in range(3)]
    limits = Limits(tools={"tick": ToolLimits(per_minute=2)})
    agent = Agent(ScriptedModel([*calls, "done"]), [home], policy=Watching(), limits=limits, clock=clock)
    result = await agent.run("go")
    assert clock.slept == [2.0]
    assert judged[-1] - judged[-2] == 2.0
    assert [each.error.code if each.error else "" for _, each in result.calls] == ["", "", "permission_denied"]
    assert len(home.executed) == 2


@pytest.mark.row("C4")
async def test_an_approval_that_runs_out_while_the_call_waits_for_its_turn_is_none() -> None:
    clock = FakeClock(auto=True)

    def tick(call: ToolCall) -> str:
        clock.advance(29)
        return "ok"

    home = RecordingToolset([Tool(name="tick", approval=True)], tick)
    calls = [[ToolCall("1", "tick", {})] for _ in range(3)]
    limits = Limits(tools={"tick": ToolLimits(per_minute=2)}, approval_seconds=1)
    approver = ScriptedApprover(*[Answer("approve")] * 3)
    agent = Agent(ScriptedModel([*calls, "done"]), [home], approver=approver, limits=limits, clock=clock)
    result = await agent.run("go")
    assert [each.error.code if each.error else "" for _, each in result.calls] == ["", "", "approval_expired"]
    assert len(home.executed) == 2


async def test_a_limit_that_only_a_tool_knows_stops_the_run_in_general_words() -> None:
    home = RecordingToolset([Tool(name="tick")], lambda call: BudgetExceeded("No more today.", limit="of_the_bank"))
    calls = [[ToolCall("1", "tick", {"n": n})] for n in range(1000)]
    result = await Agent(ScriptedModel(calls), [home], policy=Rules(Rule("allow"))).run("go")
    assert (result.status, result.stop_reason, result.text) == (
        "stopped",
        "of_the_bank",
        "I stopped: a limit was reached.",
    )


async def test_what_is_turned_away_by_a_rate_tells_the_model_when_to_come_back() -> None:
    home, clock = RecordingToolset([Tool(name="tick")]), FakeClock(auto=True)
    calls = [[ToolCall("1", "tick", {})] for _ in range(2)]
    agent = Agent(
        ScriptedModel([*calls, "done"]), [home], limits=Limits(tools={"t*": ToolLimits(per_minute=1)}), clock=clock
    )
    result = await agent.run("go")
    error = result.calls[1][1].error
    assert error is not None
    assert (error.code, error.effect, error.retry_after, error.limit) == ("rate_limited", "none", 60.0, "rate")
    assert (result.status, len(home.executed)) == ("done", 1)


async def test_a_rate_and_a_number_at_a_time_hold_over_the_runs_of_an_agent() -> None:
    inside, peak = 0, 0

    @tool(effects={"write"})
    async def slow(n: int) -> int:
        """Take a while."""
        nonlocal inside, peak
        inside += 1
        peak = max(peak, inside)
        for _ in range(3):
            await asyncio.sleep(0)
        inside -= 1
        return n

    def script(request: Request) -> Said:
        if isinstance(request.messages[-1], ToolMessage):
            return "done"
        return [ToolCall(str(n), "slow", {"n": n}) for n in range(8)]

    agent = Agent(ScriptedModel(script), [slow], limits=Limits(tools={"slow": ToolLimits(parallel=3)}))
    results = await asyncio.gather(*[agent.run("go") for _ in range(5)])
    assert [result.status for result in results] == ["done"] * 5
    assert peak == 3


async def test_a_cancelled_run_gives_its_places_back() -> None:
    started = asyncio.Event()
    hang = True

    @tool(effects={"read"})
    async def slow() -> str:
        """Take a while."""
        started.set()
        if hang:
            await asyncio.Event().wait()
        return "ok"

    def script(request: Request) -> Said:
        return "done" if isinstance(request.messages[-1], ToolMessage) else [ToolCall("1", "slow", {})]

    agent = Agent(ScriptedModel(script), [slow], limits=Limits(tools={"*": ToolLimits(parallel=1)}))
    hanging, waiting = asyncio.create_task(agent.run("go")), asyncio.create_task(agent.run("go"))
    await started.wait()
    await asyncio.sleep(0)
    hang = False
    hanging.cancel()
    assert (await asyncio.wait_for(waiting, HANGS_S)).status == "done"


async def test_a_user_with_as_many_runs_as_may_be_is_told_and_the_run_is_on_record() -> None:
    go, started = asyncio.Event(), asyncio.Event()

    @tool(effects={"read"})
    async def wait() -> str:
        """Wait."""
        started.set()
        await go.wait()
        return "ok"

    def script(request: Request) -> Said:
        return "done" if isinstance(request.messages[-1], ToolMessage) else [ToolCall("1", "wait", {})]

    agent = Agent(ScriptedModel(script), [wait], limits=Limits(users=UserLimits(runs=1)))
    first = asyncio.create_task(agent.run("go", principal="ada"))
    await started.wait()
    second = await agent.run("go", principal="ada", run_id="second")
    assert (second.status, second.stop_reason, second.steps) == ("stopped", "user_runs", 1)
    assert second.text == "I did not start: you have as many runs under way as you may. Wait until one is over."
    go.set()
    assert (await agent.run("go", principal="bob")).status == "done"
    assert (await first).status == "done"
    assert (await agent.resume("second")).status == "done"


async def test_one_turn_full_of_calls_ends_at_the_limit_too() -> None:
    home = RecordingToolset([Tool(name="tick"), Tool(name="tock")])
    calls = [ToolCall(str(n), "tick" if n % 2 else "tock", {}) for n in range(1000)]
    agent = Agent(ScriptedModel([calls, "done"]), [home], limits=Limits(tools={"ti*": ToolLimits(calls=7)}))
    result = await agent.run("go")
    assert [call.name for call in home.executed].count("tick") == 7
    assert result.status == "done"  # the model heard of it and went on without
    agent = Agent(ScriptedModel([calls, "done"]), [home], limits=Limits(calls=7))
    result = await agent.run("go")
    assert (result.status, len([1 for _, each in result.calls if each.error is None])) == ("done", 7)
    result = await Agent(ScriptedModel([calls] * 9), [home], limits=Limits(calls=7)).run("go")
    assert (result.status, result.stop_reason, result.steps) == ("stopped", "calls", 3)


async def test_without_a_word_about_calls_two_replies_can_not_make_two_thousand() -> None:
    assert (Limits().calls, Limits(steps=10).calls, Limits(steps=None).calls) == (1000, 200, None)
    assert (Limits(calls=None).calls, Limits(calls=7).calls) == (None, 7)
    home = RecordingToolset([Tool(name="tick")])
    calls = [ToolCall(str(n), "tick", {"n": n}) for n in range(1000)]
    agent = Agent(ScriptedModel([calls, calls, "done"]), [home], policy=Rules(Rule("allow")))
    result = await agent.run("go", run_id="r")
    assert (result.status, len(home.executed), len(result.calls)) == ("done", 256, 2000)
    told = result.calls[128][1].error
    assert told is not None
    assert (told.code, told.limit) == ("budget_exceeded", "calls_per_reply")
    assert "Limits.calls_per_reply" in told.message
    many = [[ToolCall(str(n), "tick", {"n": [step, n]}) for n in range(100)] for step in range(40)]
    home.executed.clear()
    result = await Agent(ScriptedModel(many), [home], policy=Rules(Rule("allow"))).run("go")
    assert (result.status, result.stop_reason, len(home.executed)) == ("stopped", "calls", 1000)
    error = result.calls[-1][1].error
    assert error is not None
    assert "1000 tool calls (the setting Limits.calls)" in error.message


async def test_an_endpoint_that_tells_no_tokens_does_not_escape_their_limit() -> None:
    class Silent:
        """A model whose endpoint tells no usage, or tells it below 0."""

        name = "scripted"

        def __init__(self, usage: Usage) -> None:
            self.usage = usage

        async def reply(self, request: Request, emit: object = None) -> Reply:
            call = ToolCall("1", "tick", {"n": len(request.messages)})
            return msgspec.structs.replace(Reply.of("x" * 380, [call]), usage=self.usage)

    @tool(effects={"read"})
    def tick(n: int) -> int:
        """Tick."""
        return n

    for usage in (Usage(), Usage(-500, -700)):
        for limits, reason in (
            (Limits(steps=None, tokens=2_000), "tokens"),
            (Limits(steps=None, cost=Decimal("0.004")), "cost"),
            (Limits(steps=None, users=UserLimits(tokens_per_day=2_000)), "user_tokens"),
        ):
            agent = Agent(Silent(usage), [tick], limits=limits, prices=PRICES)
            result = await agent.run("go", principal="ada", run_id="r")
            assert (result.status, result.stop_reason) == ("stopped", reason)
            assert result.usage.estimated
            assert 2_000 <= result.usage.total_tokens < 4_000
            assert (await agent.resume("r", accept=True)).usage == result.usage
    unlimited = await Agent(Silent(Usage()), [tick], limits=Limits(steps=2)).run("go")
    assert unlimited.usage == Usage()


async def test_tokens_below_0_are_none_and_what_came_from_the_cache_costs_no_less_than_nothing() -> None:
    model = ScriptedModel([Reply(Reply.of("Hi.").content, usage=Usage(-5, 7, -1, -2))])
    assert (await Agent(model, limits=Limits(tokens=100)).run("Hi")).usage == Usage(0, 7)
    price = Price(input=Decimal(10), cached=Decimal(1), output=Decimal(0))
    assert price.of(Usage(input_tokens=1, cached_tokens=1_000_000)) == Decimal("0.000001")


async def test_what_a_tool_asks_is_bounded_by_the_steps_and_calls_of_the_run_and_by_the_call() -> None:
    asked: list[str] = []

    @tool(effects={"read"})
    async def curious(n: int, ctx: Context) -> str:
        """Ask the model and the user again and again."""
        while len(asked) < 1_000:
            if n % 2:
                await ctx.sample(Request(messages=[UserMessage.of(f"{n} {len(asked)}?")]))
            else:
                await ctx.elicit(f"{n} {len(asked)}?")
            asked.append("model" if n % 2 else "user")
        return "done"

    class Person:
        async def ask(self, pending: Pending) -> Answer:
            return Answer("answer", arguments={})

    def says(first: int, request: Request) -> Said:
        if not request.tools:
            return "Well."
        said = sum(isinstance(message, ToolMessage) for message in request.messages)
        return [ToolCall("1", "curious", {"n": said * 2 + first})]

    for first, limits, reason, questions in (
        (1, Limits(steps=10), "steps", 9),
        (0, Limits(steps=None, calls=40), "requests_per_call", 40),
        (0, Limits(steps=None, calls=20), "calls", 20),
        (1, Limits(steps=None, requests_per_call=5), "requests_per_call", 15),
        (0, Limits(steps=None, requests_per_call=5), "requests_per_call", 15),
    ):
        asked.clear()
        model = ScriptedModel(partial(says, first))
        agent = Agent(model, [curious], limits=limits, approver=Person())
        result = await agent.run("go", run_id="r")
        last = [each.error.limit for _, each in result.calls if each.error is not None]
        assert (result.status, len(asked)) == ("stopped", questions), (limits, result.stop_reason, last)
        assert reason in last
        assert f"Limits.{last[0]}" in (result.calls[0][1].error or Failure("", "")).message
        assert limits.steps is None or len(model.requests) <= limits.steps
        again = await agent.resume("r")
        assert (again.status, len(asked)) == ("stopped", questions)


async def test_a_tool_that_keeps_its_cancellation_to_itself_ends_with_the_time_of_the_run() -> None:
    clock, started, ended = FakeClock(), asyncio.Event(), list[str]()

    @tool(effects={"write"})
    async def stubborn() -> str:
        """Go on, whatever happens."""
        try:
            while True:
                try:
                    started.set()
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    ended.append("heard of it")
        finally:
            ended.append("closed")

    for calls in (1, 2):
        started.clear()
        ended.clear()
        model = ScriptedModel([[ToolCall(str(n), "stubborn", {}) for n in range(calls)], "never"])
        agent = Agent(model, [stubborn], limits=Limits(seconds=1), clock=clock)
        run = asyncio.create_task(agent.run("go"))
        await started.wait()
        for _ in range(20):
            clock.advance(1)
            await asyncio.sleep(0)
        result = await asyncio.wait_for(run, HANGS_S)
        assert (result.status, result.stop_reason, set(ended)) == ("stopped", "seconds", {"heard of it", "closed"})
        assert [each.error.code if each.error else "" for _, each in result.calls] == ["in_doubt"] * calls


async def test_a_tool_that_raises_generator_exit_fails_and_the_run_goes_on() -> None:
    @tool(effects={"read"})
    async def exits() -> str:
        """Leave."""
        raise GeneratorExit

    @tool(effects={"read"})
    def exits_in_a_thread() -> str:
        """Leave."""
        raise GeneratorExit

    for one in (exits, exits_in_a_thread):
        result = await Agent(ScriptedModel([[ToolCall("1", one.name, {})], "Well."]), [one]).run("go")
        assert (result.status, result.text) == ("done", "Well.")
        error = result.calls[0][1].error
        assert error is not None
        assert error.code == "tool_bug"


@pytest.mark.parametrize("jump", [-100_000.0, 100_000.0], ids=["back", "forward"])
async def test_a_wall_clock_that_is_set_neither_stops_a_run_nor_lengthens_it(jump: float) -> None:
    clock = FakeClock()

    @tool(effects={"write"})
    async def tick(n: int) -> int:
        """Tick."""
        clock.set(clock.now() + jump)
        clock.advance(1)
        return n

    agent = Agent(Calls(), [tick], limits=Limits(steps=None, seconds=10), prices=PRICES, clock=clock)
    result = await agent.run("go")
    assert (result.status, result.stop_reason, len(result.calls)) == ("stopped", "seconds", 10)


@pytest.mark.row("C4")
@pytest.mark.parametrize("restart", [False, True])
async def test_a_wall_clock_that_is_set_back_makes_no_expired_approval_valid_again(restart: bool) -> None:
    """In one process the time that passed is known; after a restart the latest time on the run's own record."""
    clock = FakeClock()
    journal = MemoryJournal(clock)
    home = RecordingToolset([Tool(name="pay", approval=True)])

    class Late:
        async def ask(self, pending: Pending) -> Answer:
            clock.advance(100)
            clock.set(clock.now() - 10_000)
            return Answer("approve")

    def agent(approver: Approver | None) -> Agent:
        model = ScriptedModel([[ToolCall("1", "pay", {})], "done"])
        limits = Limits(approval_seconds=60)
        return Agent(model, [home], approver=approver, limits=limits, clock=clock, journal=journal)

    if restart:
        paused = await agent(None).run("go", run_id="r")
        clock.advance(100)
        journal.append("r", InputGiven(paused.pending[0].id, "approve", by="ada"))
        clock.set(clock.now() - 10_000)
        result = await agent(None).resume("r")
    else:
        result = await agent(Late()).run("go", run_id="r")
    error = result.calls[0][1].error
    assert error is not None
    assert (error.code, home.executed) == ("approval_expired", [])


async def test_a_tools_time_is_the_shorter_of_what_it_says_and_what_it_may_have() -> None:
    clock = FakeClock()

    @tool(effects={"read"}, timeout_s=600)
    async def hang() -> str:
        """Hang."""
        clock.advance(10)
        await asyncio.Event().wait()
        return ""

    limits = Limits(attempts=1, tools={"hang": ToolLimits(seconds=5)})
    agent = Agent(ScriptedModel([[ToolCall("1", "hang", {})], "late"]), [hang], limits=limits, clock=clock)
    result = await asyncio.wait_for(agent.run("go"), HANGS_S)
    assert result.calls[0][1].error is not None
    assert result.calls[0][1].error.code == "timeout"


# Money ----------------------------------------------------------------------------------------------------------------


async def test_the_cost_is_reckoned_by_the_prices_and_stands_on_record() -> None:
    usage = Usage(input_tokens=1000, output_tokens=100, cached_tokens=400)
    price = Price(input=Decimal("1.25"), cached=Decimal("0.125"), output=Decimal(10))
    journal = MemoryJournal()
    model = ScriptedModel([Reply(Reply.of("hi").content, usage=usage)])
    result = await Agent(model, prices={"scripted": price}, journal=journal).run("go", run_id="r")
    assert result.cost == Decimal("0.0018")
    replied = (await journal.read("r"))[1].record
    assert isinstance(replied, ModelReplied)
    assert replied.cost == Decimal("0.0018")
    dearer = Agent(model, prices={"scripted": Price(input=Decimal(9), output=Decimal(9))}, journal=journal)
    assert (await dearer.resume("r")).cost == Decimal("0.0018")  # what it cost, it cost


async def test_a_tool_says_what_it_cost_and_that_counts() -> None:
    @tool(effects={"spend"})
    async def buy(n: int, ctx: Context) -> str:
        """Buy."""
        ctx.spend(Decimal("0.25"))
        return "bought"

    script = [[ToolCall("1", "buy", {"n": n})] for n in range(1000)]
    agent = Agent(ScriptedModel(script), [buy], limits=Limits(cost=Decimal(1)), prices=PRICES)
    result = await agent.run("go", run_id="r")
    assert (result.stop_reason, len(result.calls), result.cost) == ("cost", 4, Decimal(1))
    assert (await agent.resume("r")).cost == Decimal(1)


def test_a_limit_to_the_cost_needs_the_price() -> None:
    with pytest.raises(UsageError, match="no price of 'scripted'"):
        Agent(ScriptedModel([]), limits=Limits(cost=Decimal(1)))


@pytest.mark.parametrize("bad", [0.5, -1, "1", Decimal(-1), Decimal("nan"), Decimal(0)])
def test_money_is_a_decimal(bad: Decimal) -> None:
    with pytest.raises(UsageError, match=r"Limits\(cost=.*Decimal above 0"):
        Limits(cost=bad)
    if bad:
        with pytest.raises(UsageError, match=r"Price\(input="):
            Price(input=bad, output=Decimal(1))


# Bytes ----------------------------------------------------------------------------------------------------------------


def long_result(size: int = 1000) -> tuple[RecordingToolset, str]:
    rows: Json = [f"row {n:06}" for n in range(size)]
    toolset = RecordingToolset([Tool(name="rows", effects=frozenset({"read"}))], lambda call: {"rows": rows})
    return toolset, ToolResult("", structured={"rows": rows}).text


def reads_on(request: Request) -> Said:
    """Calls, then reads on until it has seen all, then says how often."""
    tools = [message for message in request.messages if isinstance(message, ToolMessage)]
    if not tools:
        return [ToolCall("1", "rows", {})]
    offset = sum(len(message.result.text.rpartition("\n[")[0]) for message in tools)
    total = int(tools[0].result.text.rpartition(" of ")[2].split()[0])
    if offset >= total:
        return "".join(message.result.text.rpartition("\n[")[0] for message in tools)
    return [ToolCall("1", "read_result", {"id": "1.0", "offset": offset})]


async def test_a_long_result_is_cut_for_the_model_which_reads_the_rest_in_parts() -> None:
    home, text = long_result()
    journal, model = MemoryJournal(), ScriptedModel(reads_on)
    agent = Agent(model, [home], limits=Limits(result_bytes=4000), journal=journal)
    result = await agent.run("go", run_id="r")
    assert result.text == text
    assert max(len(m.result.text) for m in result.messages if isinstance(m, ToolMessage)) < 4000 + 160
    assert [tool.name for tool in model.requests[0].tools] == ["rows"]
    assert [tool.name for tool in model.requests[1].tools] == ["rows", "read_result"]
    records = [entry.record for entry in await journal.read("r")]
    assert sum(isinstance(record, ToolsChanged) for record in records) == 1
    settled = next(record for record in records if isinstance(record, CallCompleted))
    assert settled.result.text == text  # the journal has all of it
    assert result.calls[0][1].text == text  # and so has the program
    asked = len(model.requests)
    assert (await agent.resume("r")).messages == result.messages
    assert len(model.requests) == asked


async def test_a_run_is_gone_on_with_after_a_cut_and_the_model_is_shown_the_same() -> None:
    home, text = long_result()
    first, fails = ScriptedModel(reads_on), [ModelUnavailable("gone")]

    def once(request: Request) -> Said:
        return fails.pop() if fails and isinstance(request.messages[-1], ToolMessage) else reads_on(request)

    agent = Agent(ScriptedModel(once), [home], limits=Limits(result_bytes=4000))
    with pytest.raises(ModelUnavailable):
        await agent.run("go", run_id="r")
    other = Agent(first, [home], limits=Limits(result_bytes=9000), journal=agent.journal)
    assert (await other.resume("r")).text == text
    assert len(home.executed) == 1
    assert len(first.requests[0].messages[-1].result.text) < 4200  # type: ignore[union-attr]


async def test_the_next_run_of_a_conversation_hears_what_was_shown() -> None:
    home, _ = long_result()
    model = ScriptedModel([[ToolCall("1", "rows", {})], "Many.", "As I said."])
    agent = Agent(model, [home], limits=Limits(result_bytes=500))
    await agent.run("go", conversation="c")
    await agent.run("again", conversation="c")
    heard = [message.result.text for message in model.requests[2].messages if isinstance(message, ToolMessage)]
    assert [len(text) < 700 for text in heard] == [True]


async def test_a_tools_own_limit_of_bytes_holds_where_it_is_smaller() -> None:
    home, _ = long_result()
    limits = Limits(tools={"r*": ToolLimits(result_bytes=300), "rows": ToolLimits(result_bytes=100)})
    agent = Agent(ScriptedModel([[ToolCall("1", "rows", {})], "ok"]), [home], limits=limits)
    shown = [m.result.text for m in (await agent.run("go")).messages if isinstance(m, ToolMessage)]
    assert "Cut here: 100 of" in shown[0]


@pytest.mark.parametrize(
    "value",
    ["x" * 2000, {"a": ["x" * 2000]}, ToolResult("", (MediaPart("image/png", b"x" * 2000),))],
    ids=["text", "structured", "media"],
)
async def test_a_result_that_is_larger_than_any_may_be_is_a_failure(value: Json | ToolResult) -> None:
    home = RecordingToolset([Tool(name="big", effects=frozenset({"write"}))], lambda call: value)
    calls = [[ToolCall("1", "big", {"n": n})] for n in range(1000)]
    policy = Rules(Rule("allow"))
    limits = Limits(steps=None, result_bytes_max=1000)
    tools = [Tool(name="big", parameters={"type": "object"}, effects=frozenset({"write"}))]
    home.change(tools)
    result = await Agent(ScriptedModel(calls), [home], limits=limits, policy=policy).run("go")
    error = result.calls[0][1].error
    assert error is not None
    assert (error.code, error.effect, error.limit) == ("resource_limit", "done", "result_bytes")
    assert (result.status, result.stop_reason, len(home.executed)) == ("stopped", "result_bytes", 3)


async def test_what_a_failed_attempt_said_at_length_does_not_cut_what_came_of_the_next() -> None:
    answers: list[Json | CallError] = [RateLimited("x" * 1000, retry_after=1.0), "ok"]
    home = RecordingToolset([Tool(name="ask", effects=frozenset({"read"}))], lambda call: answers.pop(0))
    model = ScriptedModel([[ToolCall("1", "ask", {})], "done"])
    agent = Agent(model, [home], limits=Limits(result_bytes=100), clock=FakeClock(auto=True))
    shown = [m.result.text for m in (await agent.run("go")).messages if isinstance(m, ToolMessage)]
    assert shown == ["ok"]


async def test_a_program_that_has_a_read_result_of_its_own_keeps_it() -> None:
    own = RecordingToolset([Tool(name="read_result", effects=frozenset({"read"}))], lambda call: "x" * 1000)
    agent = Agent(ScriptedModel([[ToolCall("1", "read_result", {})], "ok"]), [own], limits=Limits(result_bytes=100))
    assert (await agent.run("go")).status == "done"


# Agents under agents --------------------------------------------------------------------------------------------------


def boss(child: Agent, limits: Limits, tasks: int = 1, together: bool = False) -> Agent:
    """An agent that hands out tasks, one after another, or the first three at once."""
    calls = [ToolCall(str(n), "child", {"task": f"Tick, {n}"}) for n in range(tasks)]

    def script(request: Request) -> Said:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        if done == tasks:
            return "done"
        return calls[:3] if together and not done else [calls[done]]

    tools = [child.as_tool("child")]
    return Agent(ScriptedModel(script), tools, limits=limits, prices=PRICES, clock=child.clock)


def child_of(model: Calls, limits: Limits | None = None) -> tuple[Agent, list[int]]:
    ticking = Ticking(limits or Limits(steps=None), model)
    ticking.agent.name = "child"
    return ticking.agent, ticking.ran


@pytest.mark.row("T6")
@pytest.mark.parametrize("together", [False, True], ids=["in turn", "at once"])
@pytest.mark.parametrize(
    ("reason", "limits", "most"),
    [
        ("calls", Limits(calls=100), 99),
        ("tokens", Limits(tokens=800), 100),
        ("cost", Limits(cost=Decimal("0.001")), 100),
    ],
    ids=["calls", "tokens", "cost"],
)
async def test_an_agent_never_uses_more_than_the_one_above_has_left(
    reason: str, limits: Limits, most: int, together: bool
) -> None:
    child, ran = child_of(Calls())
    result = await boss(child, limits, tasks=6, together=together).run("go", run_id="r")
    assert (result.status, result.stop_reason) == ("stopped", reason)
    assert most - 3 <= len(ran) <= most + 2 * together  # a reply that is under way is not cut short


@pytest.mark.row("T6")
async def test_what_an_agent_used_counts_for_the_user() -> None:
    child, _ = child_of(Calls(calls=10))
    agent = boss(child, Limits(users=UserLimits(tokens_per_day=80)), tasks=3)
    result = await agent.run("go", principal="ada")
    assert (result.stop_reason, len(result.calls)) == ("user_tokens", 1)
    assert (await agent.run("go", principal="bob")).calls
    assert (await agent.run("go", principal="ada")).calls == ()


@pytest.mark.row("T6")
async def test_an_agent_has_no_longer_than_the_one_above() -> None:
    child, ran = child_of(Calls())
    result = await asyncio.wait_for(boss(child, Limits(seconds=100)).run("go", run_id="r"), HANGS_S)
    assert (result.status, result.stop_reason, len(ran)) == ("stopped", "seconds", 100)


@pytest.mark.row("T6")
async def test_what_an_agent_used_counts_after_the_run_above_was_resumed() -> None:
    child, ran = child_of(Calls(calls=10))
    fails = [ModelUnavailable("gone")]
    inner = boss(child, Limits(), tasks=4)

    def script(request: Request) -> Said:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        if done == 2 and fails:
            return fails.pop()
        return [ToolCall(str(done), "child", {"task": f"Tick, {done}"})]

    limits = Limits(tokens=8 * 25)
    top = Agent(ScriptedModel(script), [child.as_tool("child")], limits=limits, journal=inner.journal)
    with pytest.raises(ModelUnavailable):
        await top.run("go", run_id="r")
    assert len(ran) == 20
    result = await top.resume("r")
    assert (result.stop_reason, len(ran)) == ("tokens", 23)  # two children took 11 replies each


@pytest.mark.row("T6")
async def test_a_child_that_is_gone_on_with_is_not_counted_twice() -> None:
    clock, hangs = FakeClock(auto=True), [True]

    @tool(effects={"read"})
    async def tick(n: int) -> int:
        """Tick."""
        if n == 5 and hangs:
            hangs.clear()
            clock.advance(200)
            await asyncio.Event().wait()
        return n

    child = Agent(Calls(calls=10), [tick], limits=Limits(call_seconds=None), prices=PRICES, clock=clock)
    result = await asyncio.wait_for(boss(child, Limits(call_seconds=120)).run("go", run_id="r"), HANGS_S)
    assert (result.status, result.text, hangs) == ("done", "done", [])
    assert result.calls[0][1].text == "done"
    assert result.cost == 11 * Decimal("0.00001")


@pytest.mark.row("T6")
async def test_money_is_reckoned_for_a_child_by_the_prices_above_it() -> None:
    free = Agent(ScriptedModel([Reply(Reply.of("hi").content, usage=Usage(10, 10))], name="scripted"))
    paid = boss(free, Limits(cost=Decimal(1)))
    assert (await paid.run("go")).cost == Decimal("0.00003")
    unknown = Agent(ScriptedModel(["hi"], name="unknown"))
    result = await boss(unknown, Limits(cost=Decimal(1))).run("go")
    error = result.calls[0][1].error
    assert error is not None
    assert (error.code, error.limit) == ("budget_exceeded", "cost")
    assert await unknown.journal.runs() == []


@pytest.mark.row("T6")
async def test_agents_stand_only_so_deep() -> None:
    reached: list[int] = []

    def nested(level: int) -> Agent:
        def script(request: Request) -> Said:
            reached.append(level)
            last = request.messages[-1]
            if isinstance(last, ToolMessage):
                return last.result.text
            return [ToolCall("1", "deeper", {"task": "Go on"})]

        below = [nested(level + 1).as_tool("deeper")] if level < 12 else []
        return Agent(ScriptedModel(script), below, limits=Limits(depth=4))

    result = await nested(1).run("go")
    assert max(reached) == 4
    assert "Agents may stand 4 deep" in result.text


@pytest.mark.row("T6")
async def test_a_model_that_wants_to_go_deeper_and_deeper_is_stopped() -> None:
    bottom = Agent(ScriptedModel(["never"]))
    script = [[ToolCall("1", "child", {"task": str(n)})] for n in range(1000)]
    agent = Agent(ScriptedModel(script), [bottom.as_tool("child")], limits=Limits(depth=1))
    result = await agent.run("go")
    assert (result.status, result.stop_reason, len(result.calls)) == ("stopped", "depth", 3)


@pytest.mark.row("T6")
async def test_an_agent_is_not_handed_what_it_handed_on() -> None:
    class Later:
        """The tool of an agent that is made later."""

        generation = 0
        agent: Agent

        async def list_tools(self) -> Sequence[Tool]:
            return await self.agent.as_tool("ask").list_tools()

        async def execute(self, call: ToolCall, context: Context) -> ToolResult:
            return await self.agent.as_tool("ask").execute(call, context)

    def script(request: Request) -> Said:
        last = request.messages[-1]
        return last.result.text if isinstance(last, ToolMessage) else [ToolCall("1", "ask", {"task": "You do it"})]

    first = Later()
    second = Agent(ScriptedModel(script), [first])
    first.agent = Agent(ScriptedModel(script), [second.as_tool("ask")])
    result = await first.agent.run("go")
    assert "it can not be given it again" in result.text
    assert [run.agent for run in await first.agent.journal.runs()] == ["agent", "agent"]
    assert await second.journal.runs() == []
