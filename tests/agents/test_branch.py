"""A run that branches off from another has its history and not its deeds."""

from __future__ import annotations

import pytest

from actum import Agent, Answer, Rule, Rules, ToolCall, tool
from actum.call.asking.inbox import inbox
from actum.core.call import MediaPart, TextPart
from actum.core.errors import UnknownName, UsageError
from actum.core.event import RunResult
from actum.core.message import ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.chain import verify
from actum.core.run.record import CallCompleted, Ended, InputGiven, InputRequested, Intended, ModelReplied, Started
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.testing import Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.till import Till, pays_once

pytestmark = pytest.mark.row("C7")


class Desk:
    """Looks up a price and pays it, and what was paid."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.journal = MemoryJournal()

        @tool(effects={"read"})
        async def price(of: str) -> int:
            """Price."""
            return 20

        @tool(effects={"spend"})
        async def pay(amount: int) -> str:
            """Pay."""
            self.paid.append(amount)
            return f"paid {amount}"

        self.tools: list[FunctionTool] = [price, pay]

    def agent(self, name: str = "desk") -> Agent:
        return Agent(ScriptedModel(pays_the_price), self.tools, journal=self.journal, name=name)

    async def numbers(self, run_id: str, kind: type) -> list[int]:
        return [entry.number for entry in await self.journal.read(run_id) if isinstance(entry.record, kind)]


def pays_the_price(request: Request) -> Said:
    results = [message.result.text for message in request.messages if isinstance(message, ToolMessage)]
    match results:
        case []:
            return [ToolCall("1", "price", {"of": "tea"})]
        case [price]:
            return [ToolCall("1", "pay", {"amount": int(price)})] if int(price) < 100 else f"{price} is too much."
        case _:
            return "Paid."


async def whole() -> tuple[Desk, RunResult]:
    desk = Desk()
    return desk, await desk.agent().run("Buy tea", run_id="r")


async def test_a_branch_with_another_result_goes_another_way_and_does_nothing_that_was_done() -> None:
    desk, first = await whole()
    (seen, _) = await desk.numbers("r", CallCompleted)
    agent = desk.agent()
    other = await agent.fork("r", seen, result="900")
    result = await agent.resume(other)
    assert (first.text, result.text) == ("Paid.", "900 is too much.")
    assert desk.paid == [20]
    assert verify(await desk.journal.read(other)) == []
    assert verify(await desk.journal.read("r")) == []


async def test_a_branch_before_a_payment_asks_before_it_pays_again() -> None:
    desk, _ = await whole()
    agent = desk.agent()
    branch = await agent.fork("r", (await desk.numbers("r", CallCompleted))[0])
    paused = await agent.resume(branch)
    (pending,) = paused.pending
    assert (paused.status, pending.kind, desk.paid) == ("paused", "approval", [20])
    result = await agent.resume(branch, {pending.id: "approve"})
    assert (result.status, desk.paid) == ("done", [20, 20])
    records = [entry.record for run in ("r", branch) for entry in await desk.journal.read(run)]
    keys = [record.key for record in records if isinstance(record, Intended) and record.tool == "pay"]
    assert len(set(keys)) == 2


@pytest.mark.parametrize("earlier", [False, True])
async def test_a_branch_of_a_branch_asks_before_it_pays_again(earlier: bool) -> None:
    desk, _ = await whole()
    agent = desk.agent()
    (seen, _) = await desk.numbers("r", CallCompleted)
    branch = await agent.fork(await agent.fork("r", seen), 0 if earlier else seen)
    assert ((await agent.resume(branch)).status, desk.paid) == ("paused", [20])


def pays_twice(request: Request) -> Said:
    paid = sum(isinstance(message, ToolMessage) for message in request.messages)
    return [ToolCall("1", "pay", {"amount": paid})] if paid < 2 else "Done."


async def at_first(journal: MemoryJournal, kind: type) -> int:
    return next(entry.number for entry in await journal.read("r") if isinstance(entry.record, kind))


@pytest.mark.parametrize("at", [InputRequested, InputGiven, CallCompleted])
@pytest.mark.parametrize("for_run", [True, False])
async def test_a_yes_that_a_run_was_given_pays_nothing_in_its_branch(at: type, for_run: bool) -> None:
    till, journal = Till(), MemoryJournal()
    agent = Agent(ScriptedModel(pays_twice), [till.pay], journal=journal)
    (pending,) = (await agent.run("Pay", run_id="r")).pending
    paused = await agent.resume("r", {pending.id: Answer("approve", for_run=for_run, free=["amount"] * for_run)})
    if not for_run:
        await agent.resume("r", {paused.pending[0].id: "approve"})
    branch = await agent.fork("r", await at_first(journal, at))
    (again,) = (await agent.resume(branch)).pending
    assert (again.kind, till.paid) == ("approval", [0, 1])
    assert again.id != pending.id
    assert [waiting.asked.id for waiting in await inbox(journal)] == [again.id]
    await agent.resume(branch, {again.id: "approve"})
    assert till.paid[:3] == [0, 1, int(at is CallCompleted)]


async def test_a_no_that_a_run_was_given_holds_in_its_branch() -> None:
    till, journal = Till(), MemoryJournal()
    agent = Agent(ScriptedModel(pays_once), [till.pay], journal=journal)
    (pending,) = (await agent.run("Pay", run_id="r")).pending
    await agent.resume("r", {pending.id: "deny"})
    result = await agent.resume(await agent.fork("r", await at_first(journal, InputGiven)))
    assert (result.status, till.paid) == ("done", [])


async def test_a_branch_of_an_agent_at_work_for_another_asks_for_itself() -> None:
    till, journal = Till(), MemoryJournal()
    child = Agent(ScriptedModel(pays_once), [till.pay], name="child", journal=journal)
    script: list[Said] = [[ToolCall("1", "child", {"task": "Pay"})]]
    await Agent(ScriptedModel(script), [child], journal=journal).run("Pay", run_id="p")
    (at_work,) = [run.run_id for run in await journal.runs() if run.parent]
    branch = await child.fork(at_work, 0)
    (pending,) = (await child.resume(branch)).pending
    assert (branch, pending.id) in [(waiting.run.run_id, waiting.asked.id) for waiting in await inbox(journal)]


async def test_a_branch_at_the_end_agrees_with_the_run_and_asks_nobody() -> None:
    desk, first = await whole()
    agent = desk.agent()
    branch = await agent.fork("r", (await desk.numbers("r", Ended))[0])
    result = await agent.resume(branch)
    assert (result.text, result.usage, result.calls) == (first.text, first.usage, first.calls)
    assert await desk.numbers(branch, InputRequested) == []
    assert desk.paid == [20]


async def test_a_branch_may_have_another_question_model_and_prompt() -> None:
    desk, _ = await whole()
    other = Agent(ScriptedModel(["Tea is bad for you."]), desk.tools, journal=desk.journal, instructions="Be strict.")
    result = await other.resume(await other.fork("r", 0, question="Should I?", new_run="mine"))
    assert (result.run_id, result.text) == ("mine", "Tea is bad for you.")
    begun = (await desk.journal.read("mine"))[0].record
    assert isinstance(begun, Started)
    assert (begun.instructions, begun.forked, begun.fork_at) == ("Be strict.", "r", 0)


async def test_what_is_attached_to_another_question_gets_a_handle_of_its_own() -> None:
    desk, picture = Desk(), MediaPart("image/png", b"1")
    agent = Agent(ScriptedModel(["Nice."] * 2), desk.tools, journal=desk.journal)
    await agent.run("Look", attachments=[picture], conversation="c")
    later = await agent.run("And?", conversation="c")
    branch = await agent.fork(later.run_id, 0, question=UserMessage((TextPart("And this?"), picture)))
    begun = (await desk.journal.read(branch))[0].record
    assert isinstance(begun, Started)
    (said,) = begun.said
    assert isinstance(said, UserMessage)
    assert [part.handle for part in said.content if isinstance(part, MediaPart)] == ["att_2"]


async def test_files_stay_with_a_question_that_is_asked_in_other_words() -> None:
    desk, picture = Desk(), MediaPart("image/png", b"1", name="cat.png")
    agent = Agent(ScriptedModel(["Nice."] * 3), desk.tools, journal=desk.journal)
    first = await agent.run("Look", attachments=[picture])
    branch = await agent.fork(first.run_id, 0, question="Who is in it?")
    again = await agent.fork(branch, 0, question=UserMessage((TextPart("And now?"),), "agent"))
    for run_id, words, source in ((branch, "Who is in it?", "user"), (again, "And now?", "agent")):
        (said,) = RunState(await desk.journal.read(run_id)).beginning().said
        assert isinstance(said, UserMessage)
        assert (said.text, said.source) == (words, source)
        assert [part.handle for part in said.content if isinstance(part, MediaPart)] == ["att_1"]
    assert (await agent.resume(again)).text == "Nice."


async def test_a_run_can_not_be_branched_off_within_a_call_nor_where_it_is_not() -> None:
    desk, _ = await whole()
    agent = desk.agent()
    (begun, _) = await desk.numbers("r", Intended)
    with pytest.raises(UsageError, match=f"branch off at {begun + 1}"):
        await agent.fork("r", begun)
    with pytest.raises(UsageError, match="entries 0 to"):
        await agent.fork("r", 99)
    with pytest.raises(UnknownName):
        await agent.fork("none", 0)
    with pytest.raises(UsageError, match="no result"):
        await agent.fork("r", (await desk.numbers("r", ModelReplied))[0], result="x")
    with pytest.raises(UsageError, match="at the beginning"):
        await agent.fork("r", 1, question="x")
    assert len(await desk.journal.runs()) == 1


async def test_another_result_is_no_word_of_the_tool_that_a_rule_may_rely_on() -> None:
    sent: list[str] = []

    @tool(effects={"read"}, trusted=("",))
    async def address() -> str:
        """The address of Ada."""
        return "ada@corp.example"

    @tool(effects={"send"}, sinks=["to"])
    async def send(to: str) -> str:
        """Send."""
        sent.append(to)
        return "sent"

    def script(request: Request) -> Said:
        results = [message.result.text for message in request.messages if isinstance(message, ToolMessage)]
        if not results:
            return [ToolCall("1", "address", {})]
        return [ToolCall("2", "send", {"to": results[0]})] if len(results) == 1 else "Sent."

    rules = Rules(Rule("allow", "send", when="trusted(to)"), Rule("allow", effects={"read"}), default="deny")
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(script), [address, send], journal=journal, policy=rules)
    await agent.run("Write to Ada.", run_id="r")
    assert sent == ["ada@corp.example"]
    entries = await journal.read("r")
    seen = next(entry.number for entry in entries if isinstance(entry.record, CallCompleted))
    result = await agent.resume(await agent.fork("r", seen, result="mallory@x.test"))
    assert (sent, result.calls[1][1].error is not None) == (["ada@corp.example"], True)
