"""The audit says of every call who made it, with what, why it was allowed and what came of it."""

from __future__ import annotations

import pytest
from msgspec import structs

from actum import Agent, Limits, Rule, Rules, ToolCall, tool
from actum.core.errors import RateLimited
from actum.core.message import Reply, UserMessage
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.core.run.record import InputRequested, Intended, ModelReplied, Started
from actum.journal.audit import AuditLine, Wanted, audit
from actum.journal.memory import MemoryJournal
from actum.runs.given_tools import Toolish
from actum.testing import FakeClock, Said, ScriptedModel

pytestmark = pytest.mark.row("C8")


@tool(effects={"read"})
async def look(at: str) -> str:
    """Look."""
    return f"saw {at}"


@tool(effects={"spend"}, approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


LOOK = ToolCall("1", "look", {"at": "tea"})
PAY = ToolCall("2", "pay", {"amount": 20})


class Office:
    """A journal whose clock is turned by hand, and agents that write to it."""

    def __init__(self) -> None:
        self.clock = FakeClock(auto=True)
        self.journal = MemoryJournal(self.clock)

    def agent(self, script: list[Said], tools: list[Toolish], policy: Rules | None = None) -> Agent:
        return Agent(
            ScriptedModel(script), tools, name="desk", journal=self.journal, clock=self.clock, policy=policy or Rules()
        )

    async def lines(self, wanted: Wanted | None = None) -> list[AuditLine]:
        return [line async for line in audit(self.journal, wanted)]


def decisions(lines: list[AuditLine]) -> list[tuple[str, str]]:
    return [(line.decision, line.tool) for line in lines]


async def test_a_run_that_is_hidden_in_the_list_of_runs_is_told_all_the_same() -> None:
    office = Office()
    for run_id in ("one", "two"):
        await office.agent([LOOK, "Tea."], [look]).run("Look", run_id=run_id, principal="ada")
    whole = await office.lines()
    for wanted in (None, Wanted(principal="ada"), Wanted(until=office.clock.now() + 1), Wanted(run="one")):
        before = await office.lines(wanted)
        line = office.journal._summaries["one"]
        office.journal._summaries["one"] = structs.replace(line, principal="eve", started=1e12, status="forgotten")
        assert await office.lines(wanted) == before
        del office.journal._summaries["one"]
        assert {(line.run, line.number) for line in await office.lines(wanted)} == {(b.run, b.number) for b in before}
        office.journal._summaries = {"one": line, **office.journal._summaries}
    assert await office.lines() == whole


async def test_what_was_damaged_is_told_in_its_place_and_fits_every_filter() -> None:
    office = Office()
    await office.agent([LOOK, "Tea."], [look]).run("Look", run_id="r", principal="ada")
    entries = office.journal._entries["r"]
    entries[3] = structs.replace(entries[3], payload=entries[3].payload.replace(b"saw tea", b"saw bob"))
    assert decisions(await office.lines()) == [("allowed", "look"), ("damaged", "")]
    for wanted in (Wanted(principal="bob"), Wanted(tool="pay"), Wanted(since=1e12), Wanted(text="nowhere")):
        (line,) = await office.lines(wanted)
        assert (line.decision, line.number, line.text) == ("damaged", 3, "entry 3: its payload was changed")


async def test_a_call_is_told_with_who_what_why_and_what_came_back() -> None:
    office = Office()
    await office.agent([LOOK, "Tea."], [look]).run("Look", run_id="r", principal="ada")
    allowed, done = await office.lines()
    assert (allowed.principal, allowed.agent, allowed.tool, allowed.arguments) == ("ada", "desk", "look", {"at": "tea"})
    assert (allowed.decision, allowed.rule, allowed.attempt) == ("allowed", "default: passed by the developer", 1)
    assert (done.decision, done.outcome, done.effect, done.text) == ("done", "ok", "done", "saw tea")
    entries = await office.journal.read("r")
    assert (allowed.key, done.key) == (entries[2].record.key, allowed.key)  # type: ignore[union-attr]
    assert [line.head for line in (allowed, done)] == [entries[2].head.hex(), entries[3].head.hex()]
    for text, found in (("TEA", [allowed, done]), ("saw", [done]), ("developer", [allowed]), ("Ada", [allowed, done])):
        assert await office.lines(Wanted(text=text)) == found
    assert await office.lines(Wanted(text="tea*")) == []


async def test_an_approval_is_told_with_who_gave_it_and_how_long_it_took() -> None:
    office = Office()
    agent = office.agent([PAY, "Paid."], [pay])
    paused = await agent.run("Pay", run_id="r", principal="ada")
    await office.clock.sleep(90)
    await agent.resume("r", {paused.pending[0].id: Answer("approve", by="bo")})
    asked, approved, allowed, done = await office.lines()
    assert (asked.decision, asked.rule, asked.arguments) == ("asked", "declared: needs approval", {"amount": 20})
    assert (approved.decision, approved.by, approved.waited_s) == ("approved", "bo", 90)
    assert (allowed.by, done.text) == ("bo", "paid 20")


async def test_a_person_who_says_no_and_the_call_that_was_not_made_are_both_denied() -> None:
    office = Office()
    agent = office.agent([PAY, "Not paid."], [pay])
    paused = await agent.run("Pay", run_id="r")
    await agent.resume("r", {paused.pending[0].id: Answer("deny", "Not this month.", "bo")})
    asked, said_no, turned_away = await office.lines()
    assert (asked.decision, said_no.decision, said_no.by, said_no.text) == ("asked", "denied", "bo", "Not this month.")
    assert (turned_away.decision, turned_away.outcome, turned_away.effect) == ("denied", "approval_denied", "none")


async def test_a_call_that_a_policy_forbids_is_denied_by_its_rule_and_an_unknown_one_refused() -> None:
    office = Office()
    policy = Rules(Rule("deny", tools="look"))
    await office.agent([[LOOK, ToolCall("2", "loook", {})], "No."], [look], policy).run("Look")
    denied, refused = await office.lines()
    assert (denied.decision, denied.rule, denied.tool) == ("denied", "rule 1: deny look", "look")
    assert (refused.decision, refused.outcome, refused.tool) == ("refused", "unknown_tool", "loook")


async def test_every_attempt_has_its_line_and_all_share_the_key() -> None:
    tries = 0

    async def flaky() -> str:
        """Flaky."""
        nonlocal tries
        tries += 1
        if tries < 2:
            raise RateLimited("Slow down.")
        return "there"

    office = Office()
    await office.agent([ToolCall("1", "flaky", {}), "Done."], [tool(effects={"read"})(flaky)]).run("Try")
    lines = await office.lines()
    assert [(line.decision, line.attempt, line.outcome) for line in lines] == [
        *(("allowed", 1, ""), ("failed", 1, "rate_limited"), ("allowed", 2, ""), ("done", 2, "ok")),
    ]
    assert len({line.key for line in lines}) == 1


async def test_what_a_person_says_of_a_doubt_is_resolved() -> None:
    office = Office()
    agent = office.agent(["Then it is done."], [pay])
    office.journal.append(
        "r",
        Started(
            agent="desk",
            model="scripted",
            said=(UserMessage.of("Pay Ada."),),
            tools=(await agent.runner.catalog()).digest,
        ),
    )
    office.journal.append("r", ModelReplied("", Reply.of(calls=[PAY])))
    office.journal.append("r", Intended(1, 0, 1, "pay", "v", {"amount": 20}, "key"))
    office.journal.append("r", InputRequested(Pending("ask_1", "doubt", "Did it?", PAY), 1, 0))
    paused = await agent.resume("r", accept=True)
    await agent.resume("r", {paused.pending[0].id: Answer("done", by="bo")}, accept=True)
    resolved = next(line for line in await office.lines() if line.decision == "resolved")
    assert (resolved.by, resolved.outcome, resolved.tool) == ("bo", "done", "pay")


async def test_a_branch_does_not_tell_again_what_it_took_over() -> None:
    office = Office()
    agent = office.agent([LOOK, "Tea.", "Coffee."], [look])
    await agent.run("Look", run_id="r")
    await agent.resume(await agent.fork("r", 3, result="saw coffee", new_run="b"))
    lines = await office.lines()
    assert [(line.run, line.decision) for line in lines] == [("r", "allowed"), ("r", "done"), ("b", "forked")]
    assert lines[-1].text == "r up to entry 3"


async def test_what_was_forgotten_is_told_as_deleted_and_by_whom() -> None:
    office = Office()
    await office.agent([LOOK, "Tea."], [look]).run("Look", run_id="r", principal="ada")
    entries = len(await office.journal.read("r"))
    await office.journal.forget("r", "bo", "ada asked for it")
    deleted, forgotten = await office.lines()
    assert (deleted.decision, deleted.number, deleted.arguments, deleted.principal) == ("deleted", 0, None, "")
    assert (forgotten.decision, forgotten.number, forgotten.by) == ("forgotten", entries, "bo")
    assert forgotten.text == "ada asked for it"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (Wanted(), ["allowed look", "done look", "asked pay"]),
        (Wanted(principal="ada"), ["allowed look", "done look"]),
        (Wanted(tool="p*"), ["asked pay"]),
        (Wanted(tool="nothing"), []),
        (Wanted(decision="done"), ["done look"]),
        (Wanted(run="second"), ["asked pay"]),
        (Wanted(since=50), ["asked pay"]),
        (Wanted(until=50), ["allowed look", "done look"]),
        (Wanted(since=50, decision="done"), []),
    ],
)
async def test_lines_are_found_by_time_principal_tool_decision_and_run(wanted: Wanted, found: list[str]) -> None:
    office = Office()
    began = office.clock.now()
    await office.agent([LOOK, "Tea."], [look]).run("Look", run_id="first", principal="ada")
    await office.clock.sleep(began + 100 - office.clock.now())
    await office.agent([PAY, "Paid."], [pay]).run("Pay", run_id="second", principal="bo")
    moved = {name: value + began for name in ("since", "until") if (value := getattr(wanted, name)) is not None}
    lines = await office.lines(Wanted(**{name: getattr(wanted, name) for name in Wanted.__struct_fields__} | moved))
    assert [f"{line.decision} {line.tool}" for line in lines] == found


async def test_a_run_that_began_before_and_went_on_after_is_found() -> None:
    office = Office()
    agent = office.agent([PAY, "Paid."], [pay])
    paused = await agent.run("Pay", run_id="r")
    await office.clock.sleep(1000)
    later = office.clock.now() - 1
    await agent.resume("r", {paused.pending[0].id: "approve"})
    assert decisions(await office.lines(Wanted(since=later))) == [
        ("approved", "pay"),
        ("allowed", "pay"),
        ("done", "pay"),
    ]


async def test_a_call_beyond_a_limit_is_refused() -> None:
    office = Office()
    agent = Agent(ScriptedModel([[LOOK, LOOK], "Tea."]), [look], journal=office.journal, limits=Limits(calls=1))
    await agent.run("Look")
    assert sorted(decisions(await office.lines())) == [("allowed", "look"), ("done", "look"), ("refused", "look")]
