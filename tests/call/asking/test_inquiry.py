"""What a running tool may ask: the user, a model, the program at the other end of its run."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from actum import Agent, Context, Tool, ToolCall, tool
from actum.call.asking.inbox import answer_pending, inbox
from actum.call.limits.limits import Limits
from actum.core.call import TextPart, ToolResult
from actum.core.errors import ApprovalDenied, UsageError
from actum.core.json import Json, JsonObject
from actum.core.message import Reply, Usage, UserMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.pending import Pending
from actum.core.run.record import CallParked, Sampled
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from actum.workflow import Workflow
from actum.workflow.load import read_definition

pytestmark = pytest.mark.row("T9")

NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def says(*names: str) -> ScriptedModel:
    return ScriptedModel([[ToolCall(id=str(at), name=name, arguments={}) for at, name in enumerate(names)], "Done."])


class Person:
    """Answers what is asked with what they were told to say."""

    def __init__(self, *answers: Answer | None) -> None:
        self.answers = list(answers)
        self.asked: list[Pending] = []

    async def ask(self, pending: Pending) -> Answer | None:
        self.asked.append(pending)
        return self.answers.pop(0)


@tool
async def greet(ctx: Context) -> str:
    """Greet the user by name."""
    given = await ctx.elicit("What is your name?", NAME)
    return f"{given.action}: Hello {given.content.get('name', 'stranger')}"


async def test_whoever_is_there_is_asked_while_the_tool_runs() -> None:
    person = Person(Answer("answer", arguments={"name": "Ada"}))
    result = await Agent(says("greet"), [greet], approver=person).run("Hi")
    assert [outcome.text for _, outcome in result.calls] == ["accept: Hello Ada"]
    (asked,) = person.asked
    assert asked.kind == "elicitation"
    assert asked.message == "What is your name?"
    assert asked.schema == NAME


@pytest.mark.parametrize(("verdict", "action"), [("deny", "decline"), ("cancel", "cancel")])
async def test_a_no_and_going_away_are_told_apart(verdict: str, action: str) -> None:
    person = Person(Answer(verdict))  # type: ignore[arg-type]
    result = await Agent(says("greet"), [greet], approver=person).run("Hi")
    assert result.calls[0][1].text == f"{action}: Hello stranger"


async def test_what_a_person_is_shown_is_on_the_disk_before_so_that_the_answer_finds_it_after_a_kill(
    tmp_path: Path,
) -> None:
    """An approval of an agent's call, a question of a running tool, and an approval in a workflow."""
    path, found = tmp_path / "journal.db", []

    class Looks:
        """Looks into the file at the moment when it is shown what waits."""

        async def ask(self, pending: Pending) -> Answer | None:
            with closing(sqlite3.connect(path)) as file:
                payloads = [bytes(row[0]) for row in file.execute("SELECT payload FROM entries")]
            found.append((pending.kind, any(pending.id.encode() in payload for payload in payloads)))
            return Answer("deny")

    @tool(effects={"spend"}, approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    text = b"actum: workflow/1\nname: till\nnodes: {pay: {type: tool, tool: pay, on_error: branch}}\nedges: []\n"
    journal = SQLiteJournal(path)
    await Agent(says("greet", "pay"), [greet, pay], approver=Looks(), journal=journal).run("Hi")
    await Workflow(read_definition(text), [pay], approver=Looks(), journal=journal).run({})
    await journal.close()
    assert sorted(found) == [("approval", True), ("approval", True), ("elicitation", True)]


async def test_a_call_whose_question_nobody_answers_now_is_parked_and_goes_on_with_the_answer() -> None:
    started: list[int] = []

    @tool
    async def order(ctx: Context) -> str:
        """Order a dish."""
        started.append(ctx.attempt)
        dish = await ctx.elicit("Which dish?", NAME)
        size = await ctx.elicit("How large?", NAME)
        return f"{size.content['name']} {dish.content['name']}"

    journal = MemoryJournal()
    agent = Agent(says("order"), [order], journal=journal)
    first = await agent.run("Order", run_id="r")
    assert first.status == "paused"
    (waiting,) = await inbox(journal)
    assert waiting.asked.pending.message == "Which dish?"
    await answer_pending(journal, waiting.asked.id, Answer("answer", arguments={"name": "soup"}))
    second = await agent.resume("r")
    assert [pending.message for pending in second.pending] == ["How large?"]
    third = await agent.resume("r", {second.pending[0].id: '{"name": "large"}'})
    assert third.calls[0][1].text == "large soup"
    assert started == [1, 2, 3]


async def test_a_parked_call_is_not_in_doubt_and_is_not_executed_before_its_answer_is_there() -> None:
    started: list[int] = []

    @tool
    async def order(ctx: Context) -> str:
        """Order a dish."""
        started.append(ctx.attempt)
        return str((await ctx.elicit("Which dish?", NAME)).content["name"])

    journal = MemoryJournal()
    agent = Agent(says("order"), [order], journal=journal)
    await agent.run("Order", run_id="r")
    again = await agent.resume("r")
    assert [pending.kind for pending in again.pending] == ["elicitation"]
    assert started == [1]
    assert any(isinstance(entry.record, CallParked) for entry in await journal.read("r"))


async def test_an_approver_who_answers_later_is_asked_once_and_the_run_pauses() -> None:
    person = Person(None)
    result = await Agent(says("greet"), [greet], approver=person).run("Hi")
    assert result.status == "paused"
    assert len(person.asked) == 1


async def test_an_answer_that_does_not_fit_the_form_is_told_to_whoever_gives_it() -> None:
    journal = MemoryJournal()
    agent = Agent(says("greet"), [greet], journal=journal)
    paused = await agent.run("Hi", run_id="r")
    ask_id = paused.pending[0].id
    with pytest.raises(UsageError, match="name: type: expected string"):
        await agent.resume("r", {ask_id: Answer("answer", arguments={"name": 5})})
    with pytest.raises(UsageError, match="JSON object"):
        await agent.resume("r", {ask_id: "Ada"})
    with pytest.raises(UsageError, match="approve"):
        await agent.resume("r", {ask_id: Answer("approve")})
    done = await agent.resume("r", {ask_id: "deny"})
    assert done.calls[0][1].text == "decline: Hello stranger"


async def test_the_same_question_asked_twice_has_two_answers() -> None:
    @tool
    async def both(ctx: Context) -> str:
        """Ask for two names."""
        first = await ctx.elicit("Name?", NAME)
        second = await ctx.elicit("Name?", NAME)
        return f"{first.content['name']} and {second.content['name']}"

    person = Person(Answer("answer", arguments={"name": "A"}), Answer("answer", arguments={"name": "B"}))
    result = await Agent(says("both"), [both], approver=person).run("Hi")
    assert result.calls[0][1].text == "A and B"


async def test_time_limits_stand_still_while_a_person_thinks() -> None:
    clock = FakeClock()

    class Slow:
        async def ask(self, pending: Pending) -> Answer:
            clock.advance(10_000)
            await asyncio.sleep(0)
            return Answer("answer", arguments={"name": "Ada"})

    limits = Limits(seconds=60, call_seconds=30)
    result = await Agent(says("greet"), [greet], approver=Slow(), limits=limits, clock=clock).run("Hi")
    assert result.status == "done"
    assert result.calls[0][1].text == "accept: Hello Ada"


async def test_the_time_limit_of_a_call_stands_still_until_the_last_of_its_questions_is_answered() -> None:
    clock = FakeClock()

    class Slow:
        async def ask(self, pending: Pending) -> Answer:
            await asyncio.sleep(0)
            clock.advance(10_000)
            await asyncio.sleep(0)
            return Answer("answer", arguments={})

    @tool
    async def both(ctx: Context) -> str:
        """Ask twice at once."""
        given = await asyncio.gather(ctx.elicit("One?"), ctx.elicit("Two?"))
        return " ".join(one.action for one in given)

    result = await Agent(says("both"), [both], approver=Slow(), limits=Limits(call_seconds=30), clock=clock).run("Hi")
    assert result.calls[0][1].text == "accept accept"


async def test_a_time_limit_holds_for_a_tool_that_asks_and_blocks_before_it_waits() -> None:
    clock = FakeClock()

    class Quick:
        async def ask(self, pending: Pending) -> Answer:
            clock.advance(10_000)  # a person answers before the tool has waited for anything: that time does not count
            return Answer("answer", arguments={})

    def waiting(seconds: float, *, asks: bool) -> FunctionTool[[Context[object]], Coroutine[Any, Any, str]]:
        @tool(name=f"after_{seconds:g}_{asks}")
        async def waits(ctx: Context) -> str:
            """Keep the program busy, and wait."""
            if asks:
                await ctx.elicit("Go on?")
            clock.advance(seconds)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            return "in time"

        return waits

    for seconds, asks, told in [(29, False, "in time"), (29, True, "in time"), (31, False, "No"), (31, True, "No")]:
        slow = waiting(seconds, asks=asks)
        agent = Agent(says(slow.name), [slow], approver=Quick(), limits=Limits(call_seconds=30), clock=clock)
        result = await agent.run("Hi")
        assert result.calls[0][1].text.startswith(told), (seconds, asks)


async def test_two_calls_at_once_ask_one_after_the_other() -> None:
    busy: list[int] = []

    class OneAtATime:
        async def ask(self, pending: Pending) -> Answer:
            assert not busy
            busy.append(1)
            await asyncio.sleep(0)
            busy.pop()
            return Answer("answer", arguments={"name": pending.message[-2]})

    @tool
    async def ask_a(ctx: Context) -> str:
        """Ask for A."""
        return str((await ctx.elicit("A?", NAME)).content["name"])

    @tool
    async def ask_b(ctx: Context) -> str:
        """Ask for B."""
        return str((await ctx.elicit("B?", NAME)).content["name"])

    result = await Agent(says("ask_a", "ask_b"), [ask_a, ask_b], approver=OneAtATime()).run("Hi")
    assert [outcome.text for _, outcome in result.calls] == ["A", "B"]


async def test_a_person_who_breaks_off_while_a_tool_asks_cancels_the_run() -> None:
    class Leaves:
        async def ask(self, pending: Pending) -> Answer:
            raise asyncio.CancelledError

    journal = MemoryJournal()
    with pytest.raises(asyncio.CancelledError):
        await Agent(says("greet", "greet"), [greet], approver=Leaves(), journal=journal).run("Hi", run_id="r")
    (run,) = await journal.runs()
    assert run.status == "stopped"


async def test_a_tool_that_stops_waiting_for_its_user_cancels_nothing() -> None:
    class Thinks:
        async def ask(self, pending: Pending) -> Answer:
            await asyncio.Event().wait()
            raise AssertionError

    @tool(effects={"read"})
    async def hasty(ctx: Context) -> str:
        """Ask, and go on by itself."""
        asking = asyncio.ensure_future(ctx.elicit("Your name?", NAME))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait([asking])
        return "Hello you"

    result = await Agent(says("hasty"), [hasty], approver=Thinks()).run("Hi")
    assert (result.status, result.calls[0][1].text) == ("done", "Hello you")


ASK = Request(messages=[UserMessage.of("Sum it up.")])


@tool
async def summarise(ctx: Context) -> str:
    """Sum something up."""
    return (await ctx.sample(ASK)).text


async def test_a_tool_asks_the_runs_own_model_on_record_and_within_its_limits() -> None:
    replies = iter(
        [
            Reply.of(calls=[ToolCall(id="1", name="summarise", arguments={})]),
            Reply((TextPart("Short."),), usage=Usage(input_tokens=70, output_tokens=30)),
            Reply.of("Done."),
        ]
    )
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(lambda request: next(replies)), [summarise], journal=journal)
    result = await agent.run("Sum up", run_id="r")
    assert result.calls[0][1].text == "Short."
    (sampled,) = [entry.record for entry in await journal.read("r") if isinstance(entry.record, Sampled)]
    assert sampled.reply.text == "Short."


async def test_a_tool_can_not_ask_a_model_beyond_the_tokens_of_the_run() -> None:
    replies = iter(
        [
            Reply((ToolCall(id="1", name="summarise", arguments={}),), usage=Usage(input_tokens=60, output_tokens=40)),
            Reply.of("Never asked."),
        ]
    )
    agent = Agent(ScriptedModel(lambda request: next(replies)), [summarise], limits=Limits(tokens=100))
    result = await agent.run("Sum up")
    assert result.calls[0][1].error is not None
    assert result.calls[0][1].error.code == "budget_exceeded"


async def test_what_a_call_used_before_it_was_parked_counts_when_the_run_goes_on() -> None:
    @tool
    async def dig(ctx: Context) -> str:
        """Ask the model, then the user."""
        await ctx.sample(ASK)
        await ctx.elicit("Go on?")
        return "deep"

    replies = iter(
        [
            Reply.of(calls=[ToolCall(id="1", name="dig", arguments={})]),
            Reply((TextPart("Short."),), usage=Usage(input_tokens=70, output_tokens=30)),
            Reply.of("Never asked."),
        ]
    )
    agent = Agent(ScriptedModel(lambda request: next(replies)), [dig], limits=Limits(tokens=100))
    (pending,) = (await agent.run("Dig", run_id="r")).pending
    result = await agent.resume("r", {pending.id: Answer("answer", arguments={})})
    assert (result.status, result.stop_reason) == ("stopped", "tokens")


class ForeignSummary:
    """A toolset of another party whose tool asks our model."""

    generation = 0

    async def list_tools(self) -> Sequence[Tool]:
        return (Tool(name="theirs", description="Theirs.", effects=frozenset({"read"}), foreign=True),)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        return ToolResult(call.id, (TextPart((await context.sample(ASK)).text),))


async def test_a_foreign_tool_asks_our_model_only_once_a_person_agrees() -> None:
    model = ScriptedModel([[ToolCall(id="1", name="theirs", arguments={})], "By the model.", "Done."])
    person = Person(Answer("approve"))
    result = await Agent(model, [ForeignSummary()], approver=person).run("Go")
    assert [pending.kind for pending in person.asked] == ["sampling"]
    assert person.asked[0].request is not None
    assert result.calls[0][1].text == "By the model."


async def test_a_foreign_tool_that_is_not_let_ask_our_model_is_told_so() -> None:
    model = ScriptedModel([[ToolCall(id="1", name="theirs", arguments={})], "Done."])
    result = await Agent(model, [ForeignSummary()], approver=Person(Answer("deny", "no"))).run("Go")
    assert result.calls[0][1].error is not None
    assert result.calls[0][1].error.code == ApprovalDenied.code


class Client:
    """A program at the other end of a run."""

    def __init__(self, reply: Reply | None, roots: Sequence[str] | None) -> None:
        self.reply = reply
        self.told = roots
        self.logged: list[tuple[str, Json]] = []

    async def sample(self, request: Request) -> Reply | None:
        return self.reply

    async def roots(self) -> Sequence[str] | None:
        return self.told

    def log(self, level: str, message: Json) -> None:
        self.logged.append((level, message))


@tool
async def survey(ctx: Context) -> str:
    """Look around."""
    ctx.log("info", {"looking": True})
    return f"{(await ctx.sample(ASK)).text} in {', '.join(await ctx.roots())}"


async def test_a_tool_turns_to_the_program_at_the_other_end() -> None:
    client = Client(Reply.of("Theirs."), ["file:///data"])
    result = await Agent(says("survey"), [survey]).run("Go", peer=client)
    assert result.calls[0][1].text == "Theirs. in file:///data"
    assert client.logged == [("info", {"looking": True})]


async def test_what_the_other_end_can_not_tell_now_parks_the_call_until_it_does() -> None:
    agent = Agent(says("survey"), [survey])
    client = Client(None, None)
    first = await agent.run("Go", run_id="r", peer=client)
    (asked,) = first.pending
    assert asked.kind == "sampling"
    assert asked.request is not None
    reply: JsonObject = {"content": [{"type": "text", "text": "Later."}]}
    second = await agent.resume("r", {asked.id: Answer("answer", arguments=reply)}, peer=client)
    (roots,) = second.pending
    assert roots.kind == "roots"
    third = await agent.resume("r", {roots.id: '{"roots": ["file:///x"]}'}, peer=client)
    assert third.calls[0][1].text == "Later. in file:///x"


async def test_what_a_tool_asks_for_at_once_waits_together() -> None:
    @tool
    async def both(ctx: Context) -> str:
        """Ask for two things."""
        names = await asyncio.gather(ctx.elicit("First?", NAME), ctx.elicit("Second?", NAME))
        return " ".join(str(name.content["name"]) for name in names)

    agent = Agent(says("both"), [both])
    paused = await agent.run("Go", run_id="r")
    assert [pending.message for pending in paused.pending] == ["First?", "Second?"]
    first, second = paused.pending
    half = await agent.resume("r", {second.id: '{"name": "B"}'})
    assert [pending.message for pending in half.pending] == ["First?"]
    done = await agent.resume("r", {first.id: '{"name": "A"}'})
    assert done.calls[0][1].text == "A B"


async def test_without_anybody_at_the_other_end_there_are_no_roots() -> None:
    @tool
    async def where(ctx: Context) -> str:
        """Say where."""
        return str(await ctx.roots())

    result = await Agent(says("where"), [where]).run("Go")
    assert result.calls[0][1].text == "()"


async def test_an_agent_under_an_agent_asks_by_the_one_above() -> None:
    under = Agent(says("greet"), [greet], name="under")
    model = ScriptedModel([[ToolCall(id="1", name="under", arguments={"task": "greet"})], "Done."])
    person = Person(Answer("answer", arguments={"name": "Ada"}))
    journal = MemoryJournal()
    under = Agent(says("greet"), [greet], name="under", journal=journal)
    result = await Agent(model, [under], approver=person, journal=journal).run("Go")
    assert result.status == "done"
    assert [pending.kind for pending in person.asked] == ["elicitation"]
