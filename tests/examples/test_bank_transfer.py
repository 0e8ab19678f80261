from __future__ import annotations

import pytest

from actum import PolicyFile
from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.event import RunResult
from actum.core.message import ToolMessage, UserMessage
from actum.core.policy import Facts
from actum.core.run.record import CallRefused, InputGiven, Intended, PrecheckDone
from actum.policy.file import lint
from actum.policy.origins import OriginIndex
from examples.bank_transfer import main as example
from examples.bank_transfer.desk import desk
from examples.local_services.bank import Bank

pytestmark = pytest.mark.row("C3")


def told(result: RunResult) -> str:
    ((_, outcome),) = result.calls
    return outcome.text if outcome.error else "done"


async def test_a_small_amount_leaves_after_the_balance_was_looked_up() -> None:
    bank = Bank()
    agent, result = await example.run(bank, example.SMALL, "ada")

    assert told(result) == "done"
    assert bank.balances == {"ada-main": 1420, "bob-main": 280, "mallory-1": 0}
    records = [entry.record for entry in await agent.journal.read(result.run_id)]
    looked_up, intended = [record for record in records if isinstance(record, PrecheckDone | Intended)]
    assert isinstance(looked_up, PrecheckDone)
    assert looked_up.result.structured == {"account": "ada-main", "balance": 1500}
    assert isinstance(intended, Intended)


@pytest.mark.row("C4")
async def test_a_large_amount_waits_for_a_manager_and_the_balance_is_looked_up_twice() -> None:
    bank = Bank()
    agent, result = await example.run(bank, example.LARGE, "ada")

    assert told(result) == "done"
    assert list(bank.transfers.values()) == [("ada-main", "bob-main", 500)]
    records = [entry.record for entry in await agent.journal.read(result.run_id)]
    seen = [record for record in records if isinstance(record, PrecheckDone | InputGiven | Intended)]
    assert [type(record).__name__ for record in seen] == ["PrecheckDone", "InputGiven", "PrecheckDone", "Intended"]


@pytest.mark.row("C4")
async def test_an_approval_does_not_help_when_the_money_has_gone() -> None:
    bank = Bank()
    agent, result = await example.run(bank, example.LARGE, "ada", spent_meanwhile=1400)

    assert told(result) == "This is not permitted. The balance is too low."
    assert bank.transfers == {}
    (refused,) = [
        entry.record for entry in await agent.journal.read(result.run_id) if isinstance(entry.record, CallRefused)
    ]
    assert refused.rule.endswith("check.balance >= args.amount is false")


@pytest.mark.parametrize(
    ("question", "user", "reason"),
    [
        (example.TOO_MUCH, "ada", "The balance is too low."),
        (example.SMALL, "eve", "This is not an account of the user."),
        ("Transfer 80 euros from eve-1 to bob-main.", "eve", "Nothing allows it."),
        ("Transfer 20000 euros from ada-main to bob-main.", "ada", "Nothing allows it."),
    ],
)
async def test_nobody_is_asked_about_what_can_not_be(question: str, user: str, reason: str) -> None:
    bank = Bank()
    _, result = await example.run(bank, question, user)

    assert (result.status, told(result), bank.transfers) == ("done", f"This is not permitted. {reason}", {})


async def test_a_hijacked_model_moves_nothing() -> None:
    bank = Bank(example.HOSTILE)
    result = await example.run_hijacked(bank)

    (mail, read), *attempts = result.calls
    assert (mail.name, read.error) == ("read_mail", None)
    assert len(attempts) == 8
    assert {outcome.error.code if outcome.error else "done" for _, outcome in attempts} == {"permission_denied"}
    assert bank.transfers == {}


def test_a_receiver_that_borrows_the_users_words_is_denied() -> None:
    mail = ToolMessage("read_mail", ToolResult("1", (TextPart(example.HOSTILE),)))
    index = OriginIndex([UserMessage.of(f"{example.MAIL} {example.SMALL}"), mail], lambda tool: ())
    transfer = next(tool.definition for tool in desk("") if tool.name == "transfer")
    policy, facts = PolicyFile(example.POLICY), Facts(principal="ada", origins=index.of)
    for to, verdict in (
        ("bob-main", "allow"),
        ("mallory-1", "deny"),
        (f"mallory-1;{example.MAIL.rstrip('?')}", "deny"),
        ("to", "deny"),
        ("main", "deny"),
        ("bob-main,mallory-1", "deny"),
    ):
        call = ToolCall("1", "transfer", {"account": "ada-main", "to": to, "amount": 80.0})
        assert (to, policy.decide(transfer, call, facts).verdict) == (to, verdict)


def test_the_policy_fits_the_tools() -> None:
    assert lint(PolicyFile(example.POLICY).rules, [tool.definition for tool in desk("")]) == []
