"""What a rule wants looked up first: the path does it, on record, and again after an approval."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, Answer, Require, Rule, Rules, Tool, ToolCall, ToolError, tool
from actum.cli.recorded import show_recorded
from actum.cli.show.page import page_of
from actum.cli.show.terminal import Terminal
from actum.core.event import RunResult
from actum.core.interfaces import Journal
from actum.core.json import Json, JsonObject
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.policy import Policy
from actum.core.run.record import CallCompleted, CallRefused, InputRequested, PrecheckDone, Record
from actum.journal.audit import audit
from actum.journal.conversations import family
from actum.journal.memory import MemoryJournal
from actum.policy.file import PolicyFile
from actum.runs.given_tools import Toolish
from actum.testing import RecordingToolset, ScriptedApprover, ScriptedModel
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("C3")

ENOUGH = Require("get_balance", "check.balance >= args.amount", {"account": "args.account"}, "The balance is too low.")


class Bank:
    """Two tools over one account."""

    def __init__(self, balance: float = 100) -> None:
        self.balance = balance
        self.asked = 0
        self.paid: list[float] = []
        bank = self

        @tool(effects={"read"})
        async def get_balance(account: str) -> dict[str, float]:
            """The balance."""
            bank.asked += 1
            return {"balance": bank.balance}

        @tool(effects={"spend"})
        async def pay(account: str, amount: float) -> str:
            """Pay."""
            bank.paid.append(amount)
            bank.balance -= amount
            return "paid"

        self.tools: list[Toolish] = [get_balance, pay]


def pays(amount: Json = 50) -> Callable[[Request], str | ToolCall]:
    def script(request: Request) -> str | ToolCall:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return last.result.text
        return ToolCall(id="1", name="pay", arguments={"account": "a1", "amount": amount})

    return script


def agent(bank: Bank, policy: Policy, journal: Journal | None = None, **more: object) -> Agent:
    return Agent(ScriptedModel(pays()), bank.tools, policy=policy, journal=journal or MemoryJournal(), **more)  # type: ignore[arg-type]


async def records(agent: Agent, result: RunResult) -> list[Record]:
    return [entry.record for entry in await agent.journal.read(result.run_id)]


async def kinds(agent: Agent, result: RunResult) -> str:
    return " ".join(type(record).__name__ for record in await records(agent, result))


def code(result: RunResult) -> str:
    ((_, outcome),) = result.calls
    return outcome.error.code if outcome.error else "ok"


ALLOW = Rules(Rule("allow", tools="pay", require=ENOUGH))
ASK = Rules(Rule("ask", tools="pay", require=ENOUGH, reason="Payments are approved by a person."))


async def test_a_check_that_holds_is_on_record_before_the_call_it_is_for() -> None:
    bank = Bank()
    payer = agent(bank, ALLOW)
    result = await payer.run("Pay")
    assert (code(result), bank.paid, bank.asked) == ("ok", [50], 1)
    assert await kinds(payer, result) == "Started ModelReplied PrecheckDone Intended CallCompleted ModelReplied Ended"
    (checked,) = [record for record in await records(payer, result) if isinstance(record, PrecheckDone)]
    assert (checked.tool, checked.arguments, checked.result.structured) == (
        "get_balance",
        {"account": "a1"},
        {"balance": 100},
    )
    assert (checked.fault, checked.rule) == ("", "rule 1: allow pay")


async def test_a_check_that_fails_denies_with_the_rules_reason_and_nothing_of_its_inside() -> None:
    bank = Bank(balance=49)
    payer = agent(bank, ALLOW)
    result = await payer.run("Pay")
    assert (code(result), bank.paid) == ("permission_denied", [])
    assert result.text == "This is not permitted. The balance is too low."
    (refused,) = [record for record in await records(payer, result) if isinstance(record, CallRefused)]
    assert refused.rule == "rule 1: allow pay: check.balance >= args.amount is false"


async def test_nobody_is_asked_about_a_call_whose_check_fails() -> None:
    payer = agent(Bank(balance=49), ASK)
    result = await payer.run("Pay")
    assert (result.status, code(result)) == ("done", "permission_denied")
    assert await kinds(payer, result) == "Started ModelReplied PrecheckDone CallRefused ModelReplied Ended"


@pytest.mark.row("C4")
async def test_the_check_is_made_again_right_before_an_approved_call() -> None:
    bank, journal = Bank(), MemoryJournal()
    payer = agent(bank, ASK, journal)
    paused = await payer.run("Pay")
    assert (paused.status, bank.asked, bank.paid) == ("paused", 1, [])
    result = await agent(bank, ASK, journal).resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (code(result), bank.asked, bank.paid) == ("ok", 2, [50])
    assert await kinds(payer, result) == (
        "Started ModelReplied PrecheckDone InputRequested Ended"
        " InputGiven PrecheckDone Intended CallCompleted ModelReplied Ended"
    )


@pytest.mark.row("C4")
async def test_an_approval_does_not_help_when_the_check_has_come_to_fail() -> None:
    bank, journal = Bank(), MemoryJournal()
    paused = await agent(bank, ASK, journal).run("Pay")
    bank.balance = 10
    result = await agent(bank, ASK, journal).resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (code(result), bank.paid) == ("permission_denied", [])


async def test_a_check_on_record_is_not_repeated_while_the_call_waits_or_when_it_is_over() -> None:
    bank, journal = Bank(), MemoryJournal()
    payer = agent(bank, ASK, journal)
    paused = await payer.run("Pay")
    assert (await payer.resume(paused.run_id)).status == "paused"
    assert bank.asked == 1
    await payer.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (await payer.resume(paused.run_id)).status == "done"
    assert (bank.asked, bank.paid) == (2, [50])


@pytest.mark.parametrize(("policy", "again"), [(ASK, 0), (ALLOW, 1)], ids=["asks", "allows"])
async def test_after_a_crash_right_behind_the_check_it_is_repeated_only_to_make_the_call(
    policy: Rules, again: int
) -> None:
    whole, cut, bank = MemoryJournal(), MemoryJournal(), Bank()
    await agent(bank, policy, whole).run("Pay", run_id="r")
    for entry in await whole.read("r"):
        cut.append("r", entry.record)
        if isinstance(entry.record, PrecheckDone):
            break
    later = Bank()
    result = await agent(later, policy, cut).resume("r")
    assert (result.status, later.asked) == (("paused", 0) if again == 0 else ("done", 1))


@pytest.mark.row("C4")
async def test_edited_arguments_are_checked_with_what_they_were_changed_to() -> None:
    bank = Bank()
    approver = ScriptedApprover(Answer("approve", arguments={"account": "a1", "amount": 500}))
    result = await agent(bank, ASK, approver=approver).run("Pay")
    assert (code(result), bank.paid, bank.asked) == ("permission_denied", [], 2)


@pytest.mark.row("C4")
async def test_an_approval_for_the_whole_run_does_not_spare_the_check() -> None:
    bank = Bank(balance=70)
    twice: list[str | ToolCall] = [
        ToolCall(id=str(number), name="pay", arguments={"account": "a1", "amount": 50}) for number in (1, 2)
    ]
    model = ScriptedModel([*twice, "Done."])
    approver = ScriptedApprover(Answer("approve", for_run=True))
    result = await Agent(model, bank.tools, policy=ASK, approver=approver).run("Pay twice")
    assert [outcome.error and outcome.error.code for _, outcome in result.calls] == [None, "permission_denied"]
    assert (bank.paid, len(approver.asked)) == ([50], 1)


@pytest.mark.parametrize("sequential", [True, False])
async def test_of_two_calls_of_one_turn_none_comes_between_a_check_and_its_call(sequential: bool) -> None:
    bank = Bank(balance=70)
    get_balance, _ = bank.tools

    @tool(effects={"spend"}, sequential=sequential)
    async def pay(account: str, amount: float) -> str:
        """Pay."""
        await asyncio.sleep(0)
        bank.balance -= amount
        return "paid"

    calls = [ToolCall(id=str(number), name="pay", arguments={"account": "a1", "amount": 50}) for number in (1, 2)]
    await Agent(ScriptedModel([calls, "Done."]), [get_balance, pay], policy=ALLOW).run("Pay twice")
    assert bank.balance == 20


NO_CHECKS: dict[str, tuple[Require, str]] = {
    "a tool that writes": (Require("pay", "true", {"account": "'a1'", "amount": "1"}), "not declared to read only"),
    "no tool": (Require("get_balanse", "true"), "There is no tool called 'get_balanse'"),
    "wrong arguments": (Require("get_balance", "true"), "account: required"),
    "no value": (Require("get_balance", "check.saldo > 0", {"account": "args.account"}), "has no value"),
}


@pytest.mark.parametrize("case", NO_CHECKS)
async def test_a_check_that_can_not_be_made_denies(case: str) -> None:
    require, told = NO_CHECKS[case]
    bank = Bank()
    payer = agent(bank, Rules(Rule("allow", tools="pay", require=require)))
    result = await payer.run("Pay")
    assert (code(result), result.text, bank.paid) == ("permission_denied", "This is not permitted.", [])
    (checked,) = [record for record in await records(payer, result) if isinstance(record, PrecheckDone)]
    assert told in checked.fault


@pytest.mark.parametrize("error", [ToolError("No such account."), ValueError("secret")])
async def test_a_check_whose_tool_fails_denies(error: Exception) -> None:
    @tool(effects={"read"})
    async def get_balance(account: str) -> float:
        """The balance."""
        raise error

    bank = Bank()
    payer = Agent(ScriptedModel(pays()), [get_balance, bank.tools[1]], policy=ALLOW)
    result = await payer.run("Pay")
    assert (result.text, bank.paid) == ("This is not permitted. The balance is too low.", [])
    (checked,) = [record for record in await records(payer, result) if isinstance(record, PrecheckDone)]
    assert checked.fault.startswith("get_balance failed: tool_")
    assert "secret" not in checked.fault


async def test_a_check_may_speak_of_a_result_that_is_text() -> None:
    toolset = RecordingToolset(
        [Tool(name="get_balance", effects=frozenset({"read"})), Tool(name="pay")], lambda _: "100"
    )
    policy = Rules(Rule("allow", tools="pay", require=Require("get_balance", "int(check) >= args.amount")))
    await Agent(ScriptedModel(pays()), [toolset], policy=policy).run("Pay")
    assert [call.name for call in toolset.executed] == ["get_balance", "pay"]


async def test_a_cancelled_check_leaves_no_outcome_and_the_run_can_be_resumed() -> None:
    reached, journal = asyncio.Event(), MemoryJournal()

    @tool(effects={"read"})
    async def get_balance(account: str) -> float:
        """The balance."""
        reached.set()
        await asyncio.Event().wait()
        return 0

    bank = Bank()
    task = asyncio.ensure_future(
        Agent(ScriptedModel(pays()), [get_balance, bank.tools[1]], policy=ALLOW, journal=journal).run("Pay", run_id="r")
    )
    await reached.wait()
    task.cancel()
    await asyncio.wait([task])
    kinds = [type(entry.record).__name__ for entry in await journal.read("r")]
    assert kinds == ["Started", "ModelReplied", "Ended"]
    await agent(bank, ALLOW, journal).resume("r", accept=True)
    assert bank.paid == [50]


async def test_a_run_is_shown_and_audited_with_what_was_looked_up(capsys: pytest.CaptureFixture[str]) -> None:
    payer = agent(Bank(balance=49), ALLOW)
    result = await payer.run("Pay")
    await show_recorded(Terminal(), payer.journal, result.run_id)
    (run,) = await payer.journal.runs()
    for shown in (capsys.readouterr().out, page_of(await family(payer.journal, run))):
        assert "looked up first" in shown
        assert "get_balance" in shown
        assert "check.balance &gt;= args.amount is false" in shown.replace(">=", "&gt;=")
    checked, denied = [line async for line in audit(payer.journal)]
    assert (checked.decision, checked.tool, checked.arguments) == ("checked", "get_balance", {"account": "a1"})
    assert (checked.outcome, checked.text) == ("check.balance >= args.amount is false", '{"balance":49}')
    assert (denied.decision, denied.tool) == ("denied", "pay")


@pytest.mark.row("C4")
@pytest.mark.parametrize(
    ("stricter", "became"),
    [
        ('[[rules]]\ntools = "pay"\nthen = "deny"\nreason = "Closed."', "denied"),
        ('[[rules]]\nwhen = "args.amount < 50"\nthen = "ask"\n[[rules]]\nthen = "deny"', "denied"),
        ("[[rules]]\nthen = ", "denied"),
        ('[[rules]]\ntools = "pay"\nthen = "ask"\napprovers = ["ada"]', "asked again"),
        ('[[rules]]\ntools = "pay"\nthen = "ask"\nquorum = 2', "asked again"),
    ],
)
async def test_permission_is_looked_at_again_after_an_approval(tmp_path: Path, stricter: str, became: str) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('[[rules]]\ntools = "pay"\nthen = "ask"', "utf-8")
    bank, journal, policy = Bank(), MemoryJournal(), PolicyFile(path)
    payer = agent(bank, policy, journal)
    paused = await payer.run("Pay")
    path.write_text(stricter, "utf-8")
    result = await payer.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert bank.paid == []
    written = [record for record in await records(payer, result) if isinstance(record, CallRefused | InputRequested)]
    if became == "denied":
        assert (result.status, code(result)) == ("done", "permission_denied")
        assert isinstance(written[-1], CallRefused)
        assert written[-1].rule.startswith("policy.toml")
    else:
        assert (result.status, len(written)) == ("paused", 2)
        assert result.pending[0].message.startswith("The policy has changed since this was asked.")


async def test_each_call_of_a_run_is_judged_by_the_policy_as_it_is_then(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text('default = "allow"', "utf-8")
    bank = Bank()

    def script(request: Request) -> str | ToolCall:
        if len(request.messages) == 3:
            path.write_text('default = "deny"', "utf-8")
        pay: JsonObject = {"account": "a1", "amount": len(request.messages)}
        return ToolCall(id="1", name="pay", arguments=pay) if len(request.messages) < 5 else "Done."

    result = await Agent(ScriptedModel(script), bank.tools, policy=PolicyFile(path)).run("Pay")
    assert [outcome.error and outcome.error.code for _, outcome in result.calls] == [None, "permission_denied"]
    assert bank.paid == [1]


async def test_the_facts_of_a_run_reach_the_policy_its_tools_and_the_agents_that_it_asks() -> None:
    bank = Bank()
    policy = Rules(Rule("allow", users="ada", roles="clerk", keys="k1", agents="desk"), default="deny")
    desk = Agent(ScriptedModel(pays()), bank.tools, name="desk", policy=policy)
    parent = Agent(ScriptedModel([[ToolCall("1", "desk", {"task": "Pay"})], "Well."]), [desk])
    await parent.run("Pay", principal="ada", roles=["clerk"], key_id="k1")
    assert bank.paid == [50]
    await desk.run("Pay", principal="ada", roles=["clerk"])
    assert bank.paid == [50]


# Several calls of one reply -------------------------------------------------------------------------------------------


def pays_at_once(*amounts: float, tools: tuple[str, ...] = ("pay",)) -> ScriptedModel:
    calls = [
        ToolCall(str(n), tools[n % len(tools)], {"account": "a1", "amount": amount}) for n, amount in enumerate(amounts)
    ]
    return ScriptedModel([calls, "Done."])


class SlowBank(Bank):
    """A bank whose tools take a few turns of the event loop, so that calls side by side see the same balance."""

    def __init__(self) -> None:
        super().__init__()
        bank = self

        @tool(effects={"read"})
        async def get_balance(account: str) -> dict[str, float]:
            """The balance."""
            bank.asked += 1
            balance = bank.balance
            await asyncio.sleep(0)
            return {"balance": balance}

        async def take(amount: float) -> str:
            for _ in range(5):
                await asyncio.sleep(0)
            bank.paid.append(amount)
            bank.balance -= amount
            return "paid"

        @tool(effects={"spend"})
        async def pay(account: str, amount: float) -> str:
            """Pay."""
            return await take(amount)

        @tool(effects={"send"})
        async def transfer(account: str, amount: float) -> str:
            """Transfer."""
            return await take(amount)

        self.tools = [get_balance, pay, transfer]


@pytest.mark.parametrize("tools", [("pay",), ("pay", "transfer")], ids=["one rule", "two rules"])
@pytest.mark.parametrize("asks", [False, True], ids=["allow", "ask"])
async def test_calls_under_the_same_check_are_made_one_after_the_other_each_with_its_own_check(
    tools: tuple[str, ...], asks: bool
) -> None:
    bank = SlowBank()
    policy = Rules(*[Rule("ask" if asks else "allow", tools=name, require=ENOUGH) for name in ("pay", "transfer")])
    approver = ScriptedApprover(*[Answer("approve")] * 3)
    payer = Agent(pays_at_once(80, 80, 80, tools=tools), bank.tools, policy=policy, approver=approver)
    result = await payer.run("Pay")
    codes = [each.error.code if each.error else "paid" for _, each in result.calls]
    assert (bank.balance, codes) == (20, ["paid", "permission_denied", "permission_denied"])
    made = [record for record in await records(payer, result) if isinstance(record, PrecheckDone | CallCompleted)]
    last = next(n for n, record in enumerate(made) if isinstance(record, CallCompleted))
    before, after = made[last - 1], made[last + 1 :]
    assert isinstance(before, PrecheckDone)
    assert (before.fault, bank.asked) == ("", 6 if asks else 3)
    if not asks:
        assert [isinstance(record, PrecheckDone) and bool(record.fault) for record in after] == [True, True]


async def test_a_rule_may_say_that_calls_under_its_check_are_made_side_by_side(tmp_path: Path) -> None:
    path = tmp_path / "policy.toml"
    path.write_text(
        """[[rules]]
        then = "allow"
        tools = "pay"
        [rules.require]
        tool = "get_balance"
        args = { account = "args.account" }
        when = "check.balance >= args.amount"
        parallel = true""",
        "utf-8",
    )
    bank = SlowBank()
    await Agent(pays_at_once(80, 80, 80), bank.tools, policy=PolicyFile(path)).run("Pay")
    assert bank.balance == -140


async def test_approved_calls_that_a_resumed_run_makes_at_once_are_checked_one_after_the_other() -> None:
    bank, journal = SlowBank(), MemoryJournal()
    paused = await Agent(pays_at_once(80, 80, 80), bank.tools, policy=ASK, journal=journal).run("Pay", run_id="r")
    answers = {each.id: "approve" for each in paused.pending}
    assert len(answers) == 3
    result = await Agent(ScriptedModel(["Done."]), bank.tools, policy=ASK, journal=journal).resume("r", answers)
    assert ([each.error is None for _, each in result.calls], bank.balance) == ([True, False, False], 20)


async def test_calls_that_wait_for_their_turn_end_with_the_run() -> None:
    started = asyncio.Event()

    @tool(effects={"read"})
    async def get_balance(account: str) -> dict[str, float]:
        """The balance."""
        return {"balance": 100}

    @tool(effects={"spend"})
    async def pay(account: str, amount: float) -> str:
        """Pay, for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    payer = Agent(pays_at_once(1, 2, 3), [get_balance, pay], policy=ALLOW)
    run = asyncio.create_task(payer.run("Pay"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(run, HANGS_S)
