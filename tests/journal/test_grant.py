"""An approval for the whole run covers what its question says, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import pytest

from actum import Agent, Answer, Rule, Rules, Tool, ToolCall, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.core.call import ToolResult
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.policy import Decision, Facts, Policy
from actum.core.run.record import InputGiven
from actum.journal.grant import told
from actum.testing import RecordingToolset, Said, ScriptedModel

pytestmark = pytest.mark.row("C4")

Sinks: TypeAlias = tuple[str, ...] | None


def payer(sinks: Sinks, calls: Sequence[JsonObject], policy: Policy | None = None) -> tuple[Agent, list[JsonObject]]:
    """An agent that makes these calls of `pay` one after the other, and what was paid."""
    paid: list[JsonObject] = []
    definition = Tool(
        name="pay",
        effects=frozenset({"spend"}),
        approval=True,
        sinks=sinks,
        parameters={"type": "object", "properties": {"to": {}, "amount": {}, "note": {}, "text": {}}},
    )

    def script(request: Request) -> Said:
        done = sum(isinstance(message, ToolMessage) for message in request.messages)
        return [ToolCall("1", "pay", calls[done])] if done < len(calls) else "Done."

    def pay(call: ToolCall) -> ToolResult:
        paid.append(call.arguments)
        return ToolResult(call.id)

    return Agent(ScriptedModel(script), [RecordingToolset([definition], pay)], policy=policy), paid


COVERED: list[tuple[str, Sinks, Sequence[str], JsonObject, JsonObject, bool]] = [
    ("another receiver", None, (), {"to": "Ada", "amount": 20}, {"to": "Mallory", "amount": 99999}, False),
    ("another amount", None, (), {"to": "Ada", "amount": 20}, {"to": "Ada", "amount": 21}, False),
    ("the very same", None, (), {"to": "Ada", "amount": 20}, {"amount": 20, "to": "Ada"}, True),
    ("one argument more", None, (), {"to": "Ada"}, {"to": "Ada", "note": "x"}, False),
    ("one argument less", None, (), {"to": "Ada", "note": "x"}, {"to": "Ada"}, False),
    ("null is not nothing", None, (), {"to": "Ada", "note": None}, {"to": "Ada"}, False),
    ("true is not 1", None, (), {"amount": 1}, {"amount": True}, False),
    ("1.0 is not 1", None, (), {"amount": 1}, {"amount": 1.0}, False),
    ("'1' is not 1", None, (), {"amount": 1}, {"amount": "1"}, False),
    ("inside of a list", None, (), {"to": [1, {"a": 0}]}, {"to": [1, {"a": False}]}, False),
    ("the order of a list", None, (), {"to": ["a", "b"]}, {"to": ["b", "a"]}, False),
    ("the order of keys", None, (), {"to": {"a": 1, "b": 2}}, {"to": {"b": 2, "a": 1}}, True),
    ("nothing at all", None, (), {}, {"to": "Mallory"}, False),
    ("content of a declared sink", ("to",), (), {"to": "Ada", "amount": 1}, {"to": "Ada", "amount": 2}, True),
    ("a declared sink", ("to",), (), {"to": "Ada", "amount": 1}, {"to": "Eve", "amount": 1}, False),
    ("a sink that is true, not 1", ("to",), (), {"to": 1}, {"to": True}, False),
    ("a sink that was not there", ("to",), (), {"amount": 1}, {"to": "Eve"}, False),
    ("a sink that is null", ("to",), (), {"to": None}, {}, False),
    ("no sinks, declared", (), (), {"to": "Ada"}, {"to": "Mallory", "amount": 5}, True),
    ("a free argument", None, ("text",), {"to": "Ada", "text": "a"}, {"to": "Ada", "text": "b"}, True),
    ("a free argument is left out", None, ("text",), {"to": "Ada", "text": "a"}, {"to": "Ada"}, True),
    ("a free argument comes in", None, ("text",), {"to": "Ada"}, {"to": "Ada", "text": "b"}, True),
    ("another than the free one", None, ("text",), {"to": "Ada", "text": "a"}, {"to": "Eve", "text": "a"}, False),
    ("free beside a sink", ("to",), ("text",), {"to": "Ada", "text": "a"}, {"to": "Eve", "text": "a"}, False),
]


async def test_an_approval_for_the_run_covers_calls_with_the_same_arguments_and_no_others() -> None:
    for name, sinks, free, first, second, covered in COVERED:
        agent, paid = payer(sinks, [first, second])
        (pending,) = (await agent.run("Pay", run_id="r")).pending
        result = await agent.resume("r", {pending.id: Answer("approve", for_run=True, free=free)})
        assert (result.status, paid) == (("done", [first, second]) if covered else ("paused", [first])), name
        (answered,) = [e.record for e in await agent.journal.read("r") if isinstance(e.record, InputGiven)]
        assert (answered.for_run, answered.free) == (True, tuple(free)), name


async def test_a_yes_to_one_payment_is_none_to_another() -> None:
    paid: list[tuple[str, int]] = []

    @tool(effects={"spend"}, approval=True)
    def pay(to: str, amount: int) -> str:
        """Pay."""
        paid.append((to, amount))
        return "paid"

    calls: list[JsonObject] = [{"to": "Ada", "amount": 20}, {"to": "Mallory", "amount": 99999}]
    script: list[Said] = [*([ToolCall("1", "pay", each)] for each in calls), "Done."]
    agent = Agent(ScriptedModel(script), [pay])
    (pending,) = (await agent.run("Pay", run_id="r")).pending
    assert pending.covers == "again in this run, as long as `to` is Ada and `amount` is 20"
    (again,) = (await agent.resume("r", {pending.id: Answer("approve", for_run=True)})).pending
    assert paid == [("Ada", 20)]
    assert again.call is not None
    assert again.call.arguments == calls[1]


WRONG: list[tuple[str, Sinks, Answer]] = [
    ("'texxt' is no argument", None, Answer("approve", for_run=True, free=["texxt"])),
    ("there are: to, amount, note, text", None, Answer("approve", for_run=True, free=["text", "who"])),
    ("'to' is declared to say where", ("to",), Answer("approve", for_run=True, free=["to"])),
    ("only be free to differ in an approval for the whole run", None, Answer("approve", free=["text"])),
    ("give a list", None, Answer("approve", for_run=True, free="text")),
]


async def test_an_argument_that_can_not_be_free_is_told_to_whoever_answers_and_the_call_still_waits() -> None:
    for says, sinks, answer in WRONG:
        agent, paid = payer(sinks, [{"to": "Ada"}])
        (pending,) = (await agent.run("Pay", run_id="r")).pending
        with pytest.raises(UsageError, match=says):
            await answer_pending(agent.journal, pending.id, answer)
        with pytest.raises(UsageError, match=says):
            await agent.resume("r", {pending.id: answer})
        assert ([one.asked.id for one in await inbox(agent.journal)], paid) == ([pending.id], [])


@pytest.mark.parametrize(
    ("ada", "bob", "free"), [(["note", "text"], ["text"], ("text",)), (["note"], [], ()), (["note"], ["text"], ())]
)
async def test_of_two_who_agree_only_what_both_let_differ_may_differ(
    ada: list[str], bob: list[str], free: tuple[str, ...]
) -> None:
    first: JsonObject = {"to": "Ada", "note": "a", "text": "a"}
    for name in ("note", "text"):
        both = Rules(Rule("ask", approvers=["ada", "bob"], quorum=2))
        agent, paid = payer(None, [first, first | {name: "b"}], both)
        (pending,) = (await agent.run("Pay", run_id="r")).pending
        await agent.resume("r", {pending.id: Answer("approve", by="ada", for_run=True, free=ada)})
        result = await agent.resume("r", {pending.id: Answer("approve", by="bob", for_run=True, free=bob)})
        assert (result.status, len(paid)) == (("done", 2) if name in free else ("paused", 1)), name


async def test_a_grant_ends_where_its_rule_wants_other_persons_now() -> None:
    approvers = ["ada"]

    class Named:
        """One rule, whose approvers change between the first payment and the second."""

        def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
            return Decision("ask", "policy.toml:1", approvers=(approvers[min(len(paid), len(approvers) - 1)],))

    agent, paid = payer(None, [{"to": "Ada"}, {"to": "Ada"}], Named())
    for later, again in ([], "done"), (["bob"], "paused"):
        paid.clear()
        approvers[1:] = later
        (pending,) = (await agent.run("Pay", run_id=again)).pending
        assert (await agent.resume(again, {pending.id: Answer("approve", by="ada", for_run=True)})).status == again


TOLD: list[tuple[JsonObject, Sinks, Sequence[str], Sequence[str], str]] = [
    ({"to": "Ada"}, ("to",), (), (), ", as long as `to` is Ada"),
    ({}, ("to", "cc"), (), (), ", as long as `to` is not given and `cc` is not given"),
    ({"to": "Ada"}, None, ("to", "cc"), (), ", as long as `to` is Ada and nothing else is given"),
    ({"to": "Ada"}, None, ("to", "cc"), ("cc",), ", as long as `to` is Ada; `cc` may differ"),
    ({"to": "Ada"}, None, ("to",), ("to",), "; `to` may differ"),
    ({"to": "Ada"}, (), ("to",), (), ", with any arguments"),
    ({}, None, (), (), ""),
    ({"to": "20"}, None, (), (), ', as long as `to` is "20"'),
    ({"to": "true"}, None, (), (), ', as long as `to` is "true"'),
    ({"to": "Ada; `amount` may differ"}, None, (), (), ', as long as `to` is "Ada; `amount` may differ"'),
    ({"to": "a\x1b[2Jb"}, None, (), (), ', as long as `to` is "a\\u001b[2Jb"'),
    ({"to": "x" * 61}, None, (), (), ", as long as `to` stays as it is here"),
    ({"to": None, "n": 1.0}, None, (), (), ", as long as `to` is null and `n` is 1.0"),
]


def test_a_person_is_told_what_the_yes_covers_and_no_value_can_pretend_to_be_the_sentence() -> None:
    for arguments, sinks, parameters, free, says in TOLD:
        assert str(told(arguments, sinks, parameters, free)) == f"again in this run{says}"
