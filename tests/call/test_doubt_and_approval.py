"""A person's word holds, and what may have happened is never told as not made, whatever else has changed since."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from actum import Agent, Answer, Context, Rule, Rules, Tool, ToolCall, tool
from actum.call.asking.inbox import answer_pending
from actum.core.call import ToolResult
from actum.core.errors import ReplayDiverged, UsageError
from actum.core.event import RunResult
from actum.core.message import ToolMessage
from actum.core.policy import Decision, Facts
from actum.core.run.pending import Pending, Quorum
from actum.core.run.record import CallRefused, InputGiven, InputRequested, Intended
from actum.journal.grant import Grant
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock, RecordingToolset, ScriptedApprover, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.till import Till, pays_once


def codes(result: RunResult) -> list[str]:
    return [done.error.code if done.error else "ok" for _, done in result.calls]


class Milder:
    """A run that a strict policy paused, and the agent that goes on with it under a policy that would not have."""

    def __init__(self) -> None:
        self.till = Till(approval=False)
        journal, tools = MemoryJournal(), [self.till.pay]
        self.strict = Agent(ScriptedModel(pays_once), tools, journal=journal, policy=Rules(Rule("ask")))
        self.mild = Agent(ScriptedModel(pays_once), tools, journal=journal)


@pytest.mark.row("C4")
async def test_a_no_holds_though_the_policy_has_become_milder() -> None:
    run = Milder()
    paused = await run.strict.run("Pay")
    resumed = await run.mild.resume(paused.run_id, {paused.pending[0].id: "deny"})
    assert codes(resumed) == ["approval_denied"]
    assert run.till.paid == []


@pytest.mark.row("C4")
async def test_a_question_that_nobody_answered_stands_though_the_policy_has_become_milder() -> None:
    run = Milder()
    paused = await run.strict.run("Pay")
    resumed = await run.mild.resume(paused.run_id)
    assert (resumed.status, resumed.pending) == ("paused", paused.pending)
    assert run.till.paid == []


@pytest.mark.row("C4")
async def test_an_approver_who_answers_in_words_has_not_approved() -> None:
    till, approver = Till(), ScriptedApprover(Answer("answer", "no, don't"))
    with pytest.raises(UsageError, match="expected approve or deny"):
        await Agent(ScriptedModel(pays_once), [till.pay], approver=approver).run("Pay")
    assert till.paid == []


@pytest.mark.row("C4")
async def test_an_answer_on_record_that_is_no_yes_lets_nothing_through() -> None:
    till = Till()
    agent = Agent(ScriptedModel(pays_once), [till.pay])
    paused = await agent.run("Pay", run_id="r")
    agent.journal.append("r", InputGiven(paused.pending[0].id, "answer", "no, don't"))
    assert codes(await agent.resume("r")) == ["approval_denied"]
    assert till.paid == []


@pytest.mark.row("C4")
async def test_answers_are_all_looked_at_before_one_is_taken() -> None:
    till = Till()
    calls = [ToolCall("1", "pay", {"amount": 1}), ToolCall("2", "pay", {"amount": 2})]
    agent = Agent(ScriptedModel([calls, "Done."]), [till.pay])
    paused = await agent.run("Pay")
    one, two = [pending.id for pending in paused.pending]
    with pytest.raises(UsageError, match="perhaps"):
        await agent.resume(paused.run_id, {one: "approve", two: "perhaps"})
    resumed = await agent.resume(paused.run_id, {one: "deny", two: "approve"})
    assert codes(resumed) == ["approval_denied", "ok"]
    assert till.paid == [2]


def look() -> str:
    """Look."""
    return "seen"


@pytest.mark.row("C4")
@pytest.mark.row("C7")
@pytest.mark.parametrize(("instructions", "more"), [("Be quick.", []), ("Be careful.", [look])], ids=["words", "tools"])
async def test_an_answer_is_not_taken_by_a_resume_that_does_nothing(
    instructions: str, more: list[Callable[..., object]]
) -> None:
    journal, till = MemoryJournal(), Till()
    agent = Agent(ScriptedModel(pays_once), [till.pay], journal=journal, instructions="Be careful.")
    paused = await agent.run("Pay")
    yes = {paused.pending[0].id: "approve"}
    changed = Agent(ScriptedModel(pays_once), [till.pay, *more], journal=journal, instructions=instructions)
    with pytest.raises(ReplayDiverged):
        await changed.resume(paused.run_id, yes)
    assert till.paid == []
    assert (await journal.runs())[0].status == "paused"
    assert (await changed.resume(paused.run_id, yes, accept=True)).status == "done"
    assert till.paid == [1]


@pytest.mark.row("C4")
@pytest.mark.parametrize(("word", "paid"), [("approve", [1]), ("deny", [])])
async def test_an_approval_inside_an_agent_that_is_a_tool_pauses_its_parent_and_is_answered_there(
    word: str, paid: list[int]
) -> None:
    journal, till = MemoryJournal(), Till()
    child = Agent(ScriptedModel(pays_once), [till.pay], name="child", journal=journal)
    parent = Agent(ScriptedModel([[ToolCall("1", "child", {"task": "Pay"})], "Well."]), [child], journal=journal)
    paused = await parent.run("Pay")
    (pending,) = paused.pending
    assert pending.call is not None
    assert (paused.status, pending.call.name, till.paid) == ("paused", "pay", [])
    result = await parent.resume(paused.run_id, {pending.id: word})
    assert (result.status, result.text, till.paid) == ("done", "Well.", paid)


@pytest.mark.row("C3")
async def test_a_verdict_that_is_none_lets_nothing_through() -> None:
    class Mine:
        def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
            return Decision("forbid", "mine")  # type: ignore[arg-type]  # as a policy without types would

    toolset = RecordingToolset([Tool(name="pay")])
    result = await Agent(ScriptedModel(pays_once), [toolset], policy=Mine()).run("Pay")
    assert codes(result) == ["permission_denied"]
    assert toolset.executed == []


@pytest.mark.row("C3")
async def test_a_refused_call_is_on_record_with_the_rule_that_refused_it() -> None:
    agent = Agent(ScriptedModel(pays_once), [RecordingToolset([Tool(name="pay")])], policy=Rules(Rule("deny")))
    result = await agent.run("Pay")
    records = [entry.record for entry in await agent.journal.read(result.run_id)]
    assert [record.rule for record in records if isinstance(record, CallRefused)] == ["rule 1: deny *"]
    assert "rule 1" not in result.calls[0][1].text


async def cut_off_while_it_paid() -> MemoryJournal:
    """The journal of a run `r` as it is found when the process ended within an approved payment."""
    whole, cut = MemoryJournal(), MemoryJournal()
    approver = ScriptedApprover(Answer("approve"))
    await Agent(ScriptedModel(pays_once), [Till().pay], journal=whole, approver=approver).run("Pay", run_id="r")
    for entry in await whole.read("r"):
        cut.append("r", entry.record)
        if isinstance(entry.record, Intended):
            break
    return cut


@tool(effects={"spend"}, approval=True)
async def pay(amount: int) -> str:
    """Pay, in other words."""
    raise AssertionError("it was made again")


@pytest.mark.row("C7")
@pytest.mark.parametrize("change", ["nothing", "gone", "denied", "other words"])
async def test_a_call_in_doubt_is_never_told_as_not_made(change: str) -> None:
    till = Till()
    tools: list[FunctionTool] = {"gone": [], "other words": [pay]}.get(change, [till.pay])
    policy = Rules(Rule("deny")) if change == "denied" else Rules()
    agent = Agent(ScriptedModel(pays_once), tools, journal=await cut_off_while_it_paid(), policy=policy)
    (pending,) = (await agent.resume("r", accept=True)).pending
    assert pending.kind == "doubt"
    (said,) = (await agent.resume("r", {pending.id: "unknown"}, accept=True)).calls
    assert doubt(said[1]) == ("in_doubt", "unknown")
    assert till.paid == []


@pytest.mark.row("C7")
async def test_a_retry_that_is_not_permitted_any_more_is_never_told_as_not_made() -> None:
    till, journal = Till(), await cut_off_while_it_paid()
    (pending,) = (await Agent(ScriptedModel(pays_once), [till.pay], journal=journal).resume("r")).pending
    stricter = Agent(ScriptedModel(pays_once), [till.pay], journal=journal, policy=Rules(Rule("deny")))
    (said,) = (await stricter.resume("r", {pending.id: "retry"})).calls
    assert doubt(said[1]) == ("in_doubt", "unknown")
    assert till.paid == []


def doubt(result: ToolResult) -> tuple[str, str]:
    return (result.error.code, result.error.effect) if result.error is not None else ("ok", "")


class Bank:
    """A service that is cut off when it is asked to pay, and can say what it did.

    Args:
        pays: whether the money has gone by then.
        knows: whether it can tell.
    """

    def __init__(self, *, pays: bool, knows: bool = True) -> None:
        self.ledger: dict[str, int] = {}
        self.cut = True
        bank = self

        @tool(effects={"spend"})
        async def pay(amount: int, ctx: Context) -> str:
            """Pay."""
            if pays or not bank.cut:
                bank.ledger[ctx.key] = bank.ledger.get(ctx.key, 0) + amount
            if bank.cut:
                bank.cut = False
                raise ConnectionResetError
            return f"paid {amount}"

        @pay.probe
        async def was_paid(amount: int, ctx: Context) -> str | bool:
            if not knows:
                raise OSError("no answer")
            return f"paid {amount}" if ctx.key in bank.ledger else False

        self.pay = pay


@pytest.mark.row("C7")
@pytest.mark.parametrize("pays", [True, False])
async def test_a_tool_that_can_look_is_asked_after_a_lost_connection_and_pays_once(pays: bool) -> None:
    bank = Bank(pays=pays)
    (done,) = (await Agent(ScriptedModel(pays_once), [bank.pay], clock=FakeClock(auto=True)).run("Pay")).calls
    assert done[1].text == "paid 1"
    assert list(bank.ledger.values()) == [1]


@pytest.mark.row("C7")
async def test_a_probe_that_knows_only_that_it_happened_says_so_to_the_model() -> None:
    @tool(effects={"spend"})
    async def pay(amount: int) -> str:
        """Pay."""
        raise ConnectionResetError

    @pay.probe
    async def was_paid(amount: int) -> bool:
        return True

    (done,) = (await Agent(ScriptedModel(pays_once), [pay]).run("Pay")).calls
    assert done[1].text == "This call was made; what it returned is not known."


@pytest.mark.row("C7")
async def test_a_probe_that_fails_leaves_the_call_unknown_and_unrepeated() -> None:
    bank = Bank(pays=True, knows=False)
    (done,) = (await Agent(ScriptedModel(pays_once), [bank.pay]).run("Pay")).calls
    assert doubt(done[1]) == ("timeout", "unknown")
    assert list(bank.ledger.values()) == [1]


@pytest.mark.row("C7")
@pytest.mark.parametrize("pays", [True, False])
async def test_a_call_cut_off_with_its_process_is_looked_up_before_anybody_is_asked(pays: bool) -> None:
    bank = Bank(pays=pays)
    bank.cut = False
    whole, journal = MemoryJournal(), MemoryJournal()
    await Agent(ScriptedModel(pays_once), [bank.pay], journal=whole).run("Pay", run_id="r")
    if not pays:
        bank.ledger.clear()
    for entry in await whole.read("r"):
        journal.append("r", entry.record)
        if isinstance(entry.record, Intended):
            break
    resumed = await Agent(ScriptedModel(pays_once), [bank.pay], journal=journal).resume("r")
    assert (resumed.status, resumed.calls[0][1].text) == ("done", "paid 1")
    assert list(bank.ledger.values()) == [1]


@pytest.mark.row("C7")
async def test_a_payment_that_was_cancelled_half_way_is_in_doubt_and_not_cancelled() -> None:
    begun, journal = asyncio.Event(), MemoryJournal()
    paid = []

    @tool(effects={"spend"})
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        begun.set()
        await asyncio.sleep(3600)
        return "paid"

    agent = Agent(ScriptedModel(pays_once), [pay], journal=journal)
    running = asyncio.create_task(agent.run("Pay", run_id="r", conversation="c"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    told = await Agent(ScriptedModel(["I see."]), journal=journal).run("And?", conversation="c")
    (known,) = [message.result for message in told.messages if isinstance(message, ToolMessage)]
    assert doubt(known) == ("in_doubt", "unknown")
    (pending,) = (await agent.resume("r")).pending
    assert (pending.kind, paid) == ("doubt", [1])


@pytest.mark.row("C4")
@pytest.mark.parametrize("approved", [False, True], ids=["while it waits", "after it was approved"])
async def test_a_tool_with_another_version_is_asked_about_anew(approved: bool) -> None:
    paid: list[str] = []

    def till(version: str) -> FunctionTool[..., str]:
        @tool(effects={"spend"}, approval=True, version=version)
        def pay(amount: int) -> str:
            """Pay an amount."""
            paid.append(version)
            return f"paid {amount}"

        return pay

    journal = MemoryJournal()
    first = Agent(ScriptedModel(pays_once), [till("1")], journal=journal)
    second = Agent(ScriptedModel(pays_once), [till("2")], journal=journal)
    paused = await first.run("Pay")
    (asked,) = paused.pending
    if approved:
        await answer_pending(journal, asked.id, Answer("approve", by="ann"))
    resumed = await second.resume(paused.run_id, None if approved else {asked.id: "approve"})
    assert (resumed.status, paid) == ("paused", [])
    assert resumed.pending[0].message.startswith("The tool has changed since this was asked.")
    done = await second.resume(paused.run_id, {resumed.pending[0].id: "approve"})
    assert (done.status, paid) == ("done", ["2"])


@pytest.mark.row("C4")
async def test_an_approval_for_the_whole_run_ends_with_the_version_that_it_was_given_for() -> None:
    tools = [Tool(name="pay", parameters={}, version=version) for version in ("", "1", "2")]
    assert len({each.digest for each in tools}) == 3
    asked = InputRequested(Pending("a", "approval", "", ToolCall("1", "pay", {})), version=tools[1].digest)
    grant = Grant(asked, {})
    assert [grant.covers(each, {}, "", [Quorum()], 0.0) for each in tools] == [False, True, False]
