"""Calls that are asked for directly: runs without a model, on the same path and the same record as every other call."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec
import pytest

from actum import Agent, Context, ToolCall, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.call.limits.limits import Limits, ToolLimits
from actum.core.errors import PermissionDenied, UnknownName, UsageError
from actum.core.event import CallFinished, CallStarted, Event, RunFinished, RunResult, RunStarted
from actum.core.json import JsonObject
from actum.core.message import Message, UserMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.record import CallCompleted, CallsRequested, Ended, Entry, Intended, Requester, Started
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.policy.rules import Require, Rule, Rules
from actum.runs.options import RunOptions
from actum.runs.runner import Runner, Setting
from actum.testing import FakeClock, Said, ScriptedApprover, ScriptedModel

TRUSTED = Rules(Rule("allow", tools="send", when="trusted(to)"), Rule("deny", tools="send"))


@tool(effects={"send"})
def send(to: str, text: str = "") -> str:
    """Send a message."""
    return f"sent to {to}"


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def call(name: str = "add", **arguments: object) -> ToolCall:
    told: JsonObject = msgspec.to_builtins(arguments)
    return ToolCall("c1", name, told or {"a": 2, "b": 3})


async def test_only_an_id_that_somebody_chose_is_looked_for_in_the_journal() -> None:
    class Watched(MemoryJournal):
        looked_for: list[str]

        async def read(self, run_id: str, after: int = -1, *, tenant: str | None = None) -> list[Entry]:
            self.looked_for.append(run_id)
            return await super().read(run_id, after, tenant=tenant)

    journal = Watched()
    journal.looked_for = []
    asked = [ToolCall("1", "add", {"a": 1, "b": 2})]
    await Runner([add], journal=journal).call(asked, by="person")
    await Agent(ScriptedModel(["Done."]), [add], journal=journal).run("go")
    assert journal.looked_for == []
    await Runner([add], journal=journal).call(asked, RunOptions(run_id="chosen"), by="person")
    with pytest.raises(UsageError, match="there is a run 'chosen' already"):
        await Agent(ScriptedModel(["Done."]), [add], journal=journal).run("go", run_id="chosen")
    assert journal.looked_for == ["chosen", "chosen"]


async def test_a_call_without_a_model_is_on_record_with_who_asked_and_is_made_once() -> None:
    runner, heard = Runner([add], name="desk"), list[Event]()
    result = await runner.call([call()], RunOptions(principal="ada", run_id="r", emit=heard.append), by="person")
    assert (result.status, result.calls[0][1].text, result.steps, result.messages) == ("done", "5", 0, ())
    records = [entry.record for entry in await runner.journal.read("r")]
    assert [type(record) for record in records] == [Started, CallsRequested, Intended, CallCompleted, Ended]
    assert isinstance(started := records[0], Started)
    assert (started.agent, started.model, started.said, started.principal) == ("desk", "", (), "ada")
    assert [type(event) for event in heard] == [RunStarted, CallStarted, CallFinished, RunFinished]
    (line,) = await runner.journal.runs()
    assert (line.question, line.model, line.status) == ("add(a=2, b=3)", "", "done")
    again = await runner.resume("r")
    assert again.calls == result.calls
    assert len(await runner.journal.read("r")) == len(records)
    with pytest.raises(UsageError, match="there is a run 'r' already"):
        await runner.call([call()], RunOptions(run_id="r"), by="person")


@pytest.mark.row("C4")
async def test_only_what_the_user_says_passes_a_rule_that_trusts_the_user() -> None:
    runner = Runner([send], policy=TRUSTED)
    asked: list[tuple[Requester, bool, bool]] = [
        ("person", False, True),
        ("client", False, False),
        ("client", True, True),
        ("schedule", False, False),
        ("event", False, False),
    ]
    for by, speaks, allowed in asked:
        result = await runner.call(
            [call("send", to="mallory@evil.example")], by=by, speaks_for="user" if speaks else ""
        )
        error = result.calls[0][1].error
        assert (error is None) == allowed, by
        assert allowed or (error is not None and error.code == PermissionDenied.code), by
    assert "client" in str([await entry_origins(runner, run.run_id) for run in await runner.journal.runs()])


async def entry_origins(runner: Runner, run_id: str) -> list[str]:
    records = [entry.record for entry in await runner.journal.read(run_id)]
    return [record.source for record in records if isinstance(record, CallsRequested)]


async def test_what_a_client_says_in_pieces_or_as_a_number_is_never_the_users() -> None:
    runner = Runner([send], policy=TRUSTED)
    for to in ("", "true", "1", "me", "ada", "user", "a b c d e f g h", "[]"):
        result = await runner.call([call("send", to=to)], by="client")
        assert result.calls[0][1].error is not None, to


@pytest.mark.row("C4")
async def test_what_an_agents_model_makes_up_is_not_the_word_of_the_person_who_called_the_agent() -> None:
    """The policy of a direct call binds the agent that the call starts, and sees its values as they came about."""

    def model(request: Request) -> Said:
        return [call("send", to="mallory@evil.example")] if len(request.messages) == 1 else "Done."

    policy = Rules(Rule("allow", tools="clerk"), *TRUSTED.rules)
    clerk = Agent(ScriptedModel(model), [send], name="clerk")
    for task, allowed in (("Write to Ada", False), ("Write to mallory@evil.example", True)):
        journal = MemoryJournal()
        result = await Runner([clerk], policy=policy, journal=journal).call([call("clerk", task=task)], by="person")
        assert result.status == "done"
        (child,) = [run.run_id for run in await journal.runs() if run.parent]
        made = [type(entry.record) for entry in await journal.read(child)]
        assert (Intended in made) == allowed, task


async def test_a_call_that_waits_is_answered_in_the_inbox_and_gone_on_with() -> None:
    runner = Runner([send], policy=Rules(Rule("ask", tools="send")))
    paused = await runner.call([call("send", to="ada")], RunOptions(principal="ada"), by="client")
    assert (paused.status, paused.pending[0].kind) == ("paused", "approval")
    origins = [origin.source for found in paused.pending[0].origins.values() for origin in found]
    assert set(origins) == {"client"}
    (item,) = await inbox(runner.journal)
    assert item.run.question == 'send(to="ada")'
    await answer_pending(runner.journal, item.asked.id, Answer("approve", by="boss"))
    with pytest.raises(UnknownName):
        await runner.resume(paused.run_id, principal="mallory")
    done = await runner.resume(paused.run_id, principal="ada")
    assert (done.status, done.calls[0][1].text) == ("done", "sent to ada")


async def test_a_person_who_is_there_is_asked_at_once_and_may_say_no() -> None:
    approver = ScriptedApprover(Answer("deny", "not today"))
    runner = Runner([send], policy=Rules(Rule("ask", tools="send")), approver=approver)
    result = await runner.call([call("send", to="ada")], by="person")
    assert result.status == "done"
    assert result.calls[0][1].error is not None
    assert "not today" in result.calls[0][1].error.message


async def test_the_limits_hold_for_calls_without_a_model() -> None:
    clock = FakeClock()
    limits = Limits(calls=2, tools={"send": ToolLimits(calls=1)})
    runner = Runner([add, send], limits=limits, clock=clock)
    for calls, codes in (
        ([call(), call(), call()], ["", "", "budget_exceeded"]),
        ([call("send", to="ada"), call("send", to="eve")], ["", "budget_exceeded"]),
    ):
        result = await runner.call(calls, by="event")
        assert [made.error.code if made.error is not None else "" for _, made in result.calls] == codes


async def test_a_run_that_was_cancelled_says_so_and_its_call_is_in_doubt() -> None:
    began = asyncio.Event()

    @tool(effects={"spend"})
    async def pay(amount: int) -> str:
        """Pay."""
        began.set()
        await asyncio.Event().wait()
        return "paid"

    runner = Runner([pay])
    task = asyncio.ensure_future(runner.call([call("pay", amount=5)], RunOptions(run_id="r"), by="client"))
    await began.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    state = RunState(await runner.journal.read("r"))
    assert state.ended is not None
    assert (state.ended.status, state.ended.reason) == ("stopped", "cancelled")
    began.clear()
    result = await runner.resume("r")
    assert (result.status, result.pending[0].kind, began.is_set()) == ("paused", "doubt", False)


async def test_an_agent_goes_on_with_a_call_of_its_tools_and_a_runner_not_with_an_agents_run() -> None:
    journal = MemoryJournal()
    policy = Rules(Rule("ask", tools="send"))
    runner = Runner([send], policy=policy, journal=journal)
    paused = await runner.call([call("send", to="ada")], by="client")
    agent = Agent(ScriptedModel(["Hello."]), [send], policy=policy, journal=journal)
    done = await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (done.status, done.calls[0][1].text) == ("done", "sent to ada")
    said = await agent.run("Hi")
    with pytest.raises(UsageError, match="has a model: go on with it by its agent"):
        await runner.resume(said.run_id)
    with pytest.raises(UsageError, match="has no model: make its calls anew"):
        await agent.fork(paused.run_id, 1)


@pytest.mark.parametrize("by_agent", [False, True])
async def test_a_run_that_was_killed_before_its_calls_were_on_record_says_what_to_do(*, by_agent: bool) -> None:
    journal = MemoryJournal()
    runner = Runner([add], journal=journal)
    done = await runner.call([call(a=1, b=2)], by="client")
    (started, *_) = await journal.read(done.run_id)
    journal.append("killed", started.record)  # and nothing more
    goes_on = Agent(ScriptedModel([]), [add], journal=journal).resume if by_agent else runner.resume
    with pytest.raises(UsageError, match="nothing was done, so make the calls anew"):
        await goes_on("killed")
    assert len(await journal.read("killed")) == 1


async def test_changed_tools_do_not_go_on_with_a_call_that_waited() -> None:
    journal = MemoryJournal()
    paused = await Runner([send], policy=Rules(Rule("ask", tools="send")), journal=journal).call(
        [call("send", to="ada")], by="client"
    )
    with pytest.raises(UsageError, match="the tools are not those it was started with"):
        await Runner([add], journal=journal).resume(paused.run_id, {paused.pending[0].id: "approve"})


# Writing a record and taking it in is one step -----------------------------------------------------------------------


def shape(state: RunState) -> dict[str, str]:
    """What the state holds, but for the time of the entries that it was read from."""
    return {name: repr(value) for name, value in vars(state).items() if name not in ("latest", "given_at")}


class Seen(Agent):
    """An agent that shows the state of its run."""

    async def _carry_out(
        self, run_id: str, state: RunState, before: Sequence[Message], setting: Setting
    ) -> RunResult[str]:
        self.state = state
        return await super()._carry_out(run_id, state, before, setting)


async def test_the_state_of_a_run_under_way_is_the_state_that_is_read_back() -> None:
    """Whatever the run does: parks, is asked and answered, samples, is checked, refused, cut, or changes its tools."""

    @tool
    async def asks(ctx: Context) -> str:
        """Ask for a name, and have a model answer."""
        await ctx.sample(Request(messages=[UserMessage.of("Well?")]))
        given = await ctx.elicit("Your name?", {"type": "object", "properties": {"name": {"type": "string"}}})
        return str(given.content)

    @tool
    def long() -> str:
        """Say much."""
        return "x" * 500

    @tool(idempotent=True)
    def flaky(ctx: Context) -> str:
        """Fail once."""
        if ctx.attempt == 1:
            raise ConnectionError("gone")
        return "done"

    @tool(effects={"read"})
    def balance() -> int:
        """Look up the balance."""
        return 10

    @tool(effects={"spend"})
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    journal, clock = MemoryJournal(), FakeClock(auto=True)
    policy = Rules(
        Rule("ask", tools="send"),
        Rule("deny", tools="add"),
        Rule("ask", tools="pay", require=Require("balance", "check >= 0")),
    )
    turns: list[Said] = [
        [ToolCall(name, name, {}) for name in ("asks", "long", "flaky")],
        "Well.",
        [call("send", to="ada"), call("add"), call("nothing", x=1), call("pay", amount=5)],
        "Done.",
    ]
    agent = Seen(
        ScriptedModel(turns),
        [asks, long, flaky, balance, pay, send, add],
        policy=policy,
        journal=journal,
        limits=Limits(result_bytes=100),
        clock=clock,
    )
    result = await agent.run("Go", run_id="r")
    for _ in range(5):
        assert shape(agent.state) == shape(RunState(await journal.read("r"))), result.status
        if result.status != "paused":
            break
        answers: dict[str, Answer | str] = {
            each.id: "approve" if each.kind == "approval" else '{"name": "Ada"}' for each in result.pending
        }
        result = await agent.resume("r", answers)
    assert result.status == "done"
    kinds = {type(entry.record).__name__ for entry in await journal.read("r")}
    assert kinds >= {"CallParked", "Sampled", "InputRequested", "InputGiven", "CallRefused", "PrecheckDone", "Ended"}
