"""Approvals: exactly what was approved is done, in time, and on the word of those who may give it."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from msgspec import structs

from actum import Agent, Answer, Context, Limits, Rule, Rules, Tool, ToolCall, tool
from actum.call.asking.inbox import answer_pending, inbox, read_inbox
from actum.core.errors import Busy, JournalError, TooLate, UnknownName, UsageError
from actum.core.event import RunResult
from actum.core.json import JsonObject
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.policy import Decision, Facts, Policy
from actum.core.run.record import InputGiven, InputRequested, Intended
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.testing import FakeClock, Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.endurance import share
from tests.till import Till, pays_once

pytestmark = pytest.mark.row("C4")


class Signed:
    """A policy: payments ask two of three; those above 100 ask the boss; those above 1000 are denied."""

    def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
        amount = call.arguments["amount"]
        assert isinstance(amount, int)
        if amount > 1000:
            return Decision("deny", "too much")
        if amount > 100:
            return Decision("ask", "boss", approvers=("boss",), expires_s=60.0)
        return Decision("ask", "two", approvers=("ada", "bob", "eve"), quorum=2, expires_s=60.0)


class Desk:
    """A run that wants to pay 1 under `Signed`, on a clock of its own."""

    def __init__(self, policy: Policy | None = None) -> None:
        self.till = Till(approval=False)
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock)
        self.policy = policy or Signed()

    def agent(self) -> Agent:
        return Agent(
            ScriptedModel(pays_once), [self.till.pay], policy=self.policy, journal=self.journal, clock=self.clock
        )

    async def begin(self) -> str:
        paused = await self.agent().run("Pay", run_id="r")
        return paused.pending[0].id

    async def go_on(self) -> RunResult:
        return await self.agent().resume("r")


def codes(result: RunResult) -> list[str]:
    return [done.error.code if done.error else "ok" for _, done in result.calls]


async def test_as_many_as_the_rule_wants_have_to_agree_and_nobody_twice() -> None:
    desk = Desk()
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada"))
    assert (await desk.go_on()).status == "paused"
    with pytest.raises(UsageError, match="already"):
        await answer_pending(desk.journal, ask, Answer("approve", by="ada"))
    with pytest.raises(UsageError, match="mallory may not"):
        await answer_pending(desk.journal, ask, Answer("approve", by="mallory"))
    (waiting,) = await inbox(desk.journal)
    assert (waiting.agreed, waiting.asked.pending.needs, desk.till.paid) == (("ada",), 2, [])
    await answer_pending(desk.journal, ask, Answer("approve", by="eve"))
    assert await inbox(desk.journal) == []
    assert ((await desk.go_on()).status, desk.till.paid) == ("done", [1])
    with pytest.raises(UnknownName):
        await answer_pending(desk.journal, ask, Answer("approve", by="bob"))


async def test_the_word_of_somebody_whose_name_is_half_a_character_counts() -> None:
    desk = Desk(Rules(Rule("ask")))
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada\udc80"))
    assert ((await desk.go_on()).status, desk.till.paid) == ("done", [1])


async def test_what_waits_is_found_though_the_list_of_runs_hides_it() -> None:
    desk = Desk()
    ask_id = await desk.begin()
    line = desk.journal._summaries["r"]
    for hidden in (None, structs.replace(line, status="done"), structs.replace(line, parent="another")):
        desk.journal._summaries = {"r": hidden} if hidden is not None else {}
        assert [waiting.asked.id for waiting in await inbox(desk.journal)] == [ask_id]


async def test_a_run_that_can_not_be_read_hides_nothing_of_what_others_wait_for() -> None:
    desk = Desk()
    ask_id = await desk.begin()
    desk.journal._entries["bad"] = [
        structs.replace(e, payload=e.payload[:-1] + b"\xe5") for e in desk.journal._entries["r"]
    ]
    found = await read_inbox(desk.journal)
    assert [waiting.asked.id for waiting in found.waiting] == [ask_id]
    assert [str(each) for each in found.unreadable] == ["run bad can not be read: entry 0: its payload was changed"]
    with pytest.raises(UnknownName):
        await answer_pending(desk.journal, "ask_of_bad", Answer("approve"))


async def test_changed_arguments_are_not_checked_by_definitions_that_somebody_changed() -> None:
    desk = Desk()
    ask_id = await desk.begin()
    desk.journal._kept = dict.fromkeys(desk.journal._kept, b"[]")
    with pytest.raises(JournalError, match=r"the tool definitions [0-9a-f]{12} were changed"):
        await answer_pending(desk.journal, ask_id, Answer("approve", by="ada", arguments={"amount": 2}))


async def test_one_no_is_a_no() -> None:
    desk = Desk()
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada"))
    await answer_pending(desk.journal, ask, Answer("deny", "Not this month.", by="bob"))
    result = await desk.go_on()
    assert (codes(result), desk.till.paid) == (["approval_denied"], [])
    assert "Not this month." in result.calls[0][1].text


@pytest.mark.parametrize("answered_in_time", [True, False])
async def test_an_approval_runs_out_answered_or_not(answered_in_time: bool) -> None:
    desk = Desk()
    ask = await desk.begin()
    if answered_in_time:
        await answer_pending(desk.journal, ask, Answer("approve", by="ada"))
        await answer_pending(desk.journal, ask, Answer("approve", by="bob"))
    desk.clock.advance(61.0)
    result = await desk.go_on()
    assert (codes(result), desk.till.paid) == (["approval_expired"], [])


async def test_a_default_of_how_long_an_approval_holds_is_a_limit() -> None:
    till, clock = Till(), FakeClock()
    agent = Agent(ScriptedModel(pays_once), [till.pay], clock=clock, limits=Limits(approval_seconds=10.0))
    paused = await agent.run("Pay")
    assert paused.pending[0].expires == clock.now() + 10.0
    clock.advance(11.0)
    assert codes(await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})) == ["approval_expired"]


async def test_changed_arguments_are_what_is_paid_and_the_model_is_told() -> None:
    desk = Desk(Rules(Rule("ask")))
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada", arguments={"amount": 7}))
    result = await desk.go_on()
    assert desk.till.paid == [7]
    assert result.calls[0][1].text == (
        'A person changed the arguments of this call before it was made: {"amount":7}\npaid 7'
    )
    (intended,) = [e.record for e in await desk.journal.read("r") if isinstance(e.record, Intended)]
    assert intended.arguments == {"amount": 7}


JUDGED = [(50, ["ok"]), (5000, ["permission_denied"])]


@pytest.mark.parametrize(("amount", "came"), JUDGED)
async def test_changed_arguments_are_judged_anew(amount: int, came: list[str]) -> None:
    desk = Desk()
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada", arguments={"amount": amount}))
    await answer_pending(desk.journal, ask, Answer("approve", by="bob", arguments={"amount": amount}))
    assert codes(await desk.go_on()) == came
    assert desk.till.paid == ([50] if amount == 50 else [])


async def test_changed_arguments_that_fall_under_another_rule_are_asked_about_by_that_rule() -> None:
    desk = Desk()
    ask = await desk.begin()
    for by in ("ada", "bob"):
        await answer_pending(desk.journal, ask, Answer("approve", by=by, arguments={"amount": 500}))
    (pending,) = (await desk.go_on()).pending
    assert (pending.approvers, pending.call and pending.call.arguments) == (("boss",), {"amount": 500})
    await answer_pending(desk.journal, pending.id, Answer("approve", by="boss"))
    assert ((await desk.go_on()).status, desk.till.paid) == ("done", [500])


async def test_two_who_agree_to_different_arguments_have_not_agreed() -> None:
    desk = Desk()
    ask = await desk.begin()
    await answer_pending(desk.journal, ask, Answer("approve", by="ada"))
    await answer_pending(desk.journal, ask, Answer("approve", by="bob", arguments={"amount": 50}))
    assert ((await desk.go_on()).status, desk.till.paid) == ("paused", [])
    await answer_pending(desk.journal, ask, Answer("approve", by="ada", arguments={"amount": 50}))
    assert ((await desk.go_on()).status, desk.till.paid) == ("done", [50])


@pytest.mark.parametrize("arguments", [{"amount": "much"}, {}, {"amount": 1, "to": "eve"}])
async def test_a_slip_of_whoever_changes_arguments_is_told_to_them_and_the_call_still_waits(
    arguments: JsonObject,
) -> None:
    desk = Desk(Rules(Rule("ask")))
    ask = await desk.begin()
    with pytest.raises(UsageError, match="pay can not be called so"):
        await answer_pending(desk.journal, ask, Answer("approve", by="ada", arguments=arguments))
    assert [waiting.asked.id for waiting in await inbox(desk.journal)] == [ask]


async def test_arguments_that_do_not_fit_the_tool_are_refused_though_a_person_put_them_in() -> None:
    desk = Desk(Rules(Rule("ask")))
    ask = await desk.begin()
    result = await desk.agent().resume("r", {ask: Answer("approve", by="ada", arguments={"amount": "much"})})
    assert (codes(result), desk.till.paid) == (["invalid_arguments"], [])


async def test_an_approval_for_the_run_covers_the_same_tool_to_the_same_receiver_and_nothing_else() -> None:
    paid: list[tuple[str, int]] = []

    @tool(effects={"spend"}, approval=True, sinks=["to"])
    async def pay(to: str, amount: int) -> str:
        """Pay."""
        paid.append((to, amount))
        return "paid"

    @tool(effects={"spend"}, approval=True)
    async def tip(to: str) -> str:
        """Tip."""
        return "tipped"

    def script(request: Request) -> Said:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        return [ToolCall("1", "pay", {"to": ["ada", "ada", "eve"][done], "amount": done + 1})]

    agent = Agent(ScriptedModel(script), [pay, tip])
    paused = await agent.run("Pay")
    paused = await agent.resume(paused.run_id, {paused.pending[0].id: Answer("approve", for_run=True)})
    assert paid == [("ada", 1), ("ada", 2)]
    (pending,) = paused.pending
    assert pending.call is not None
    assert pending.call.arguments["to"] == "eve"
    records = [entry.record for entry in await agent.journal.read(paused.run_id)]
    assert [r.rule.split(":")[0] for r in records if isinstance(r, Intended)] == ["declared", "approved for this run"]
    with pytest.raises(UsageError, match="only an approval"):
        await agent.resume(paused.run_id, {pending.id: Answer("deny", for_run=True)})


async def test_a_yes_to_a_call_that_the_program_makes_itself_is_not_its_result() -> None:
    bare = Tool(name="pay", parameters={"type": "object", "properties": {"amount": {"type": "integer"}}})
    agent = Agent(ScriptedModel(pays_once), [bare], policy=Rules(Rule("ask")))
    (pending,) = (await agent.run("Pay", run_id="r")).pending
    (wanted,) = (await agent.resume("r", {pending.id: Answer("approve", arguments={"amount": 2})})).pending
    assert (pending.kind, wanted.kind) == ("approval", "result")
    assert wanted.call is not None
    assert wanted.call.arguments == {"amount": 2}
    (done,) = (await agent.resume("r", {wanted.id: "paid by hand"})).calls
    assert done[1].text == "paid by hand"


class PaysOn:
    """A run `r` under `Signed` that pays 1 again and again, each time so many seconds after the last."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.desk = Desk()

        def pays(request: Request) -> Said:
            paid = sum(isinstance(message, ToolMessage) for message in request.messages)
            if paid:
                self.desk.clock.advance(seconds)
            return [ToolCall("1", "pay", {"amount": 1})] if paid < 2 else "Done."

        desk = self.desk
        self.agent = Agent(
            ScriptedModel(pays), [desk.till.pay], policy=desk.policy, journal=desk.journal, clock=desk.clock
        )

    async def agree(self, *answers: Answer) -> RunResult:
        paused = await self.agent.run("Pay", run_id="r")
        for answer in answers:
            paused = await self.agent.resume("r", {paused.pending[0].id: answer})
        return paused


@pytest.mark.parametrize(
    ("ada", "bob", "paid"), [(True, True, [1, 1]), (False, True, [1]), (True, False, [1]), (False, False, [1])]
)
async def test_an_approval_holds_for_the_run_only_where_all_that_are_needed_say_so(
    ada: bool, bob: bool, paid: list[int]
) -> None:
    run = PaysOn()
    result = await run.agree(Answer("approve", by="ada", for_run=ada), Answer("approve", by="bob", for_run=bob))
    assert (result.status, run.desk.till.paid) == ("done" if ada and bob else "paused", paid)


async def test_an_approval_for_the_run_runs_out_like_any_other() -> None:
    run = PaysOn(seconds=61)
    result = await run.agree(*[Answer("approve", by=name, for_run=True) for name in ("ada", "bob")])
    assert (result.status, run.desk.till.paid) == ("paused", [1])


async def test_what_an_agent_asks_that_works_for_another_is_in_the_inbox_once_and_needs_as_many() -> None:
    journal, till = MemoryJournal(), Till(approval=False)
    child = Agent(ScriptedModel(pays_once), [till.pay], name="child", journal=journal, policy=Signed())
    parent = Agent(ScriptedModel([[ToolCall("1", "child", {"task": "Pay"})], "Well."]), [child], journal=journal)
    paused = await parent.run("Pay")
    (waiting,) = await inbox(journal)
    assert (waiting.run.run_id, waiting.asked.pending.needs) == (paused.run_id, 2)
    await answer_pending(journal, waiting.asked.id, Answer("approve", by="ada"))
    assert (await parent.resume(paused.run_id)).status == "paused"
    await answer_pending(journal, waiting.asked.id, Answer("approve", by="bob"))
    assert ((await parent.resume(paused.run_id)).status, till.paid) == ("done", [1])


async def test_an_approval_that_ran_out_waits_no_more_though_its_run_waits_for_the_next() -> None:
    desk = Desk()

    def pays_twice(request: Request) -> Said:
        paid = sum(isinstance(message, ToolMessage) for message in request.messages)
        return [ToolCall("1", "pay", {"amount": paid + 1})]

    agent = Agent(
        ScriptedModel(pays_twice), [desk.till.pay], policy=desk.policy, journal=desk.journal, clock=desk.clock
    )
    await agent.run("Pay", run_id="r")
    desk.clock.advance(61)
    paused = await agent.resume("r")
    assert [waiting.asked.id for waiting in await inbox(desk.journal)] == [one.id for one in paused.pending]


async def test_a_run_that_is_being_driven_is_not_answered_behind_its_back() -> None:
    desk = Desk()
    ask = await desk.begin()
    async with desk.journal.claim("r"):
        with pytest.raises(Busy):
            await answer_pending(desk.journal, ask, Answer("approve", by="ada"))


async def test_a_call_that_the_program_makes_itself_is_approved_first_and_then_waits_for_its_result() -> None:
    pay = Tool(name="pay", effects=frozenset({"spend"}), approval=True)
    agent = Agent(ScriptedModel(pays_once), [pay], extra_arguments="drop")
    paused = await agent.run("Pay")
    assert [pending.kind for pending in paused.pending] == ["approval"]
    paused = await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert [pending.kind for pending in paused.pending] == ["result"]
    result = await agent.resume(paused.run_id, {paused.pending[0].id: "paid it"})
    assert [(done.text, codes(result)) for _, done in result.calls] == [("paid it", ["ok"])]


class Approvals(RuleBasedStateMachine):
    """Answers, edits, expiries, stricter policies, killed processes and two approvers, in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.journal = MemoryJournal(self.clock)
        self.paid: Counter[tuple[str, int]] = Counter()
        self.wrong: list[str] = []
        self.strict = False

    @initialize(amount=st.sampled_from([1, 150]))
    def begin(self, amount: int) -> None:
        self.amount = amount
        self.drive()

    def tools(self) -> list[FunctionTool]:
        @tool(effects={"spend"}, idempotent=True)
        async def pay(amount: int, ctx: Context) -> str:
            """Pay."""
            if not self.paid[ctx.key, amount] and (why := self.unlawful(amount)):
                self.wrong.append(why)
            self.paid[ctx.key, amount] = 1
            return "paid"

        return [pay]

    def unlawful(self, amount: int) -> str:
        """Why this payment must not be made now; looked up in the record, without the code that is tested."""
        records = [entry.record for entry in self.journal._entries["r"]]
        rule, needed = ("boss", 1) if amount > 100 else ("two", 2)
        if self.strict or amount > 1000:
            return "the policy denies it"
        asked = [r for r in records if isinstance(r, InputRequested) and r.rule == rule]
        if not asked:
            return "nobody was asked"
        words = [r for r in records if isinstance(r, InputGiven) and r.id == asked[-1].id]
        if any(word.verdict == "deny" for word in words):
            return "somebody said no"
        asked_for = asked[-1].pending.call.arguments if asked[-1].pending.call else {}
        meant = [word for word in words if (word.arguments or asked_for) == {"amount": amount}]
        yes = {word.by for word in meant if word.verdict == "approve"}
        if len(yes) < needed or not yes <= set(asked[-1].pending.approvers):
            return "not approved"
        return "too late" if self.clock.now() > asked[-1].pending.expires else ""

    def policy(self) -> Policy:
        return Rules(Rule("deny")) if self.strict else Signed()

    def drive(self) -> None:
        def script(request: Request) -> Said:
            last = request.messages[-1]
            return "Done." if isinstance(last, ToolMessage) else [ToolCall("1", "pay", {"amount": self.amount})]

        agent = Agent(ScriptedModel(script), self.tools(), policy=self.policy(), journal=self.journal, clock=self.clock)
        go_on = agent.resume("r") if self.journal._entries.get("r") else agent.run("Go", run_id="r")
        self.status = asyncio.run(go_on).status

    @rule()
    def go_on(self) -> None:
        self.drive()

    @rule(seconds=st.sampled_from([1.0, 30.0, 61.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.advance(seconds)

    @rule()
    def the_policy_changes(self) -> None:
        self.strict = not self.strict

    @rule(
        by=st.sampled_from(["ada", "bob", "boss", "mallory"]),
        verdict=st.sampled_from(["approve", "approve", "deny"]),
        amount=st.none() | st.sampled_from([1, 2, 150, 5000]),
    )
    def somebody_answers(self, by: str, verdict: str, amount: int | None) -> None:
        waiting = asyncio.run(inbox(self.journal))
        arguments: JsonObject | None = None if amount is None or verdict == "deny" else {"amount": amount}
        for one in waiting:
            try:
                asyncio.run(answer_pending(self.journal, one.asked.id, Answer(verdict, by=by, arguments=arguments)))  # type: ignore[arg-type]  # one of two
            except TooLate:
                assert self.clock.now() > one.asked.pending.expires
            except UsageError:
                agreed = RunState(asyncio.run(self.journal.read("r"))).agreed(one.asked.id, arguments)
                assert by not in one.asked.pending.approvers or by in agreed

    @invariant()
    def nothing_is_paid_without_a_live_approval_of_exactly_this(self) -> None:
        assert self.wrong == []
        assert sum(self.paid.values()) <= 1


@pytest.mark.no_cover
@pytest.mark.endurance("src/actum/call", "src/actum/policy")
def test_no_effect_without_permission_and_a_live_approval_whatever_the_order() -> None:
    Approvals.TestCase.settings = settings(max_examples=share(200, 25), stateful_step_count=14, deadline=None)
    Approvals.TestCase("runTest").runTest()
