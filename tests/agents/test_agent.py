"""The agent as a program uses it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from pydantic import BaseModel

from actum import Agent, Answer, Context, Limits, Rule, Rules, Tool, ToolCall, ToolError, tool
from actum.core.call import MediaPart
from actum.core.errors import BadTool, ModelUnavailable, ScriptExhausted, UsageError
from actum.core.event import CallFinished, CallStarted, Event, RunFinished, RunStarted, TextDelta
from actum.core.json import Json
from actum.core.message import Reply, SystemMessage, ToolMessage, Usage, UserMessage
from actum.core.model import Request
from actum.core.policy import Decision, Facts
from actum.core.run.chain import verify
from actum.core.run.pending import Pending
from actum.core.run.record import Ended
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock, RecordingToolset, Said, ScriptedApprover, ScriptedModel
from tests.till import Till

pytestmark = pytest.mark.row("A1")


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effects={"write"}, approval=True)
async def pay(to: str, amount: int) -> str:
    """Pay somebody.

    Args:
        to: who gets it
        amount: how much
    """
    return f"paid {amount} to {to}"


def call(name: str = "add", id: str = "1", **arguments: object) -> ToolCall:
    return ToolCall(id, name, arguments or {"a": 2, "b": 3})  # type: ignore[arg-type]


def test_five_lines_are_enough() -> None:
    model = ScriptedModel([[call()], "It is 5."])
    result = Agent(model, tools=[add]).run_sync("What is 2 + 3?")
    assert (result.status, result.text, result.output) == ("done", "It is 5.", "It is 5.")
    assert [(said.name, done.text) for said, done in result.calls] == [("add", "5")]
    assert result.steps == 2


async def test_the_sync_door_in_a_running_loop_names_the_other_one() -> None:
    with pytest.raises(UsageError, match=r"await agent\.run"):
        Agent(ScriptedModel(["x"])).run_sync("x")


async def test_the_tools_and_the_instructions_stay_in_every_request() -> None:
    model = ScriptedModel([[call()], [call(a=1, b=1)], "done"])
    await Agent(model, tools=[add], instructions="Be brief.").run("go")
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["add"]] * 3
    assert {request.messages[0] for request in model.requests} == {SystemMessage("Be brief.")}


async def test_every_call_id_is_answered() -> None:
    model = ScriptedModel([[call(id="a"), call("nothing", id="b"), call(id="c", a="x", b=1)], "done"])
    result = await Agent(model, tools=[add]).run("go")
    answered = [message.result.call_id for message in result.messages if isinstance(message, ToolMessage)]
    assert answered == ["a", "b", "c"]
    assert [done.error.code if done.error else "" for _, done in result.calls] == [
        "",
        "unknown_tool",
        "invalid_arguments",
    ]


async def test_a_tool_error_never_ends_a_run() -> None:
    @tool
    def broken() -> str:
        """Break."""
        raise ToolError("It is broken.")

    result = await Agent(ScriptedModel([[call("broken", x=1)], [ToolCall("1", "broken", {})], "Sorry."]), [broken]).run(
        "go"
    )
    assert (result.status, result.text) == ("done", "Sorry.")
    assert result.calls[1][1].text == "It is broken."


async def test_a_model_that_fails_raises_and_the_run_is_on_record_as_failed() -> None:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel([[call()], ModelUnavailable("gone")]), [add], journal=journal)
    with pytest.raises(ModelUnavailable):
        await agent.run("go", run_id="r")
    last = (await journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert (last.status, last.reason) == ("failed", "ModelUnavailable")


@pytest.mark.row("C7")
async def test_a_run_whose_model_failed_goes_on_where_it_was() -> None:
    turns: list[Said] = [[call()], ModelUnavailable("gone"), "It is 5."]
    agent = Agent(ScriptedModel(turns), [add])
    with pytest.raises(ModelUnavailable):
        await agent.run("go", run_id="r")
    result = await agent.resume("r")
    assert (result.text, len(result.calls)) == ("It is 5.", 1)


async def test_a_script_asked_beyond_its_end_says_so() -> None:
    with pytest.raises(ScriptExhausted, match="1 turns"):
        await Agent(ScriptedModel([[call()]]), [add]).run("go")


async def test_events_tell_the_run_as_it_happens_and_end_with_its_result() -> None:
    agent = Agent(ScriptedModel([[call()], "It is 5."]), [add])
    events = [event async for event in agent.stream("go")]
    assert isinstance(events[0], RunStarted)
    kinds = [type(event).__name__ for event in events]
    assert kinds.index("CallStarted") < kinds.index("CallFinished") < kinds.index("RunFinished") == len(kinds) - 1
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "It is 5."
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert last.result.text == "It is 5."


async def test_leaving_the_stream_early_cancels_the_run() -> None:
    cancelled = asyncio.Event()
    started = asyncio.Event()

    @tool
    async def hang() -> str:
        """Hang."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return ""

    agent = Agent(ScriptedModel([[ToolCall("1", "hang", {})]]), [hang])
    stream = agent.stream("go", run_id="r")
    async for event in stream:
        if isinstance(event, CallStarted):
            await started.wait()
            break
    await stream.aclose()
    assert cancelled.is_set()
    last = (await agent.journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert (last.status, last.reason) == ("stopped", "cancelled")


async def test_an_error_in_a_streamed_run_reaches_whoever_watches() -> None:
    agent = Agent(ScriptedModel([ModelUnavailable("gone")]))
    with pytest.raises(ModelUnavailable):
        _ = [event async for event in agent.stream("go")]


@pytest.mark.row("C4")
async def test_a_run_that_needs_approval_pauses_and_goes_on_in_another_agent() -> None:
    journal = MemoryJournal()
    first = Agent(ScriptedModel([[call("pay", to="bob", amount=5), call()], "unused"]), [pay, add], journal=journal)
    paused = await first.run("go", run_id="r")
    assert paused.status == "paused"
    (pending,) = paused.pending
    assert pending.call is not None
    assert pending.call.arguments == {"to": "bob", "amount": 5}

    second = Agent(ScriptedModel(["Paid."]), [pay, add], journal=journal)
    result = await second.resume("r", {pending.id: "approve"})
    assert (result.status, result.text) == ("done", "Paid.")
    assert [done.text for _, done in result.calls] == ["paid 5 to bob", "5"]
    assert verify(await journal.read("r")) == []


@pytest.mark.row("C4")
async def test_a_sequential_call_does_not_overtake_one_that_waits() -> None:
    done: list[str] = []

    @tool(sequential=True, approval=True)
    async def charge() -> str:
        """Charge."""
        done.append("charge")
        return "charged"

    @tool(sequential=True)
    async def ship() -> str:
        """Ship."""
        done.append("ship")
        return "shipped"

    calls = [ToolCall("1", "charge", {}), ToolCall("2", "ship", {})]
    agent = Agent(ScriptedModel([calls, "Done."]), [charge, ship])
    paused = await agent.run("go", run_id="r")
    assert (done, len(paused.pending)) == ([], 1)
    await agent.resume("r", {paused.pending[0].id: "approve"})
    assert done == ["charge", "ship"]


class AnswersFrom:
    """An `Approver` who says yes, but for the first so many questions."""

    def __init__(self, first: int) -> None:
        self.asked: list[str] = []
        self._first = first

    async def ask(self, pending: Pending) -> Answer | None:
        self.asked.append(pending.id)
        return Answer("approve") if len(self.asked) > self._first else None


@pytest.mark.row("C4")
@pytest.mark.parametrize(("later", "made", "asked"), [(0, [1, 2], 2), (1, [], 1)])
async def test_a_person_at_hand_is_asked_about_each_sequential_call_once_and_in_order(
    later: int, made: list[int], asked: int
) -> None:
    done: list[int] = []

    @tool(sequential=True, approval=True)
    async def charge(number: int) -> str:
        """Charge."""
        done.append(number)
        return "charged"

    calls = [ToolCall(str(number), "charge", {"number": number}) for number in (1, 2)]
    person = AnswersFrom(later)
    result = await Agent(ScriptedModel([calls, "Done."]), [charge], approver=person).run("go")
    assert (result.status, done) == ("paused" if later else "done", made)
    assert len(person.asked) == len(set(person.asked)) == asked


@pytest.mark.row("C4")
async def test_a_person_at_hand_is_asked_all_that_an_agent_asks_that_works_for_another() -> None:
    journal, till = MemoryJournal(), Till()

    def pays_twice(request: Request) -> Said:
        paid = sum(isinstance(message, ToolMessage) for message in request.messages)
        return [ToolCall("1", "pay", {"amount": paid})] if paid < 2 else "Done."

    child = Agent(ScriptedModel(pays_twice), [till.pay], name="child", journal=journal)
    script: list[Said] = [[ToolCall("1", "child", {"task": "Pay"})], "Well."]
    parent = Agent(ScriptedModel(script), [child], journal=journal, approver=AnswersFrom(0))
    assert ((await parent.run("Pay")).status, till.paid) == ("done", [0, 1])


@pytest.mark.row("C4")
async def test_a_paused_run_that_is_resumed_without_an_answer_is_paused_again() -> None:
    agent = Agent(ScriptedModel([[call("pay", to="bob", amount=5)]]), [pay])
    paused = await agent.run("go", run_id="r")
    again = await agent.resume("r")
    assert again.status == "paused"
    assert again.pending == paused.pending


@pytest.mark.row("C4")
async def test_a_person_at_hand_is_asked_while_the_run_waits_and_it_does_not_count_as_its_time() -> None:
    clock = FakeClock(auto=True)

    class Slow(ScriptedApprover):
        async def ask(self, pending: object) -> Answer | None:
            await clock.sleep(3600)
            return await super().ask(pending)  # type: ignore[arg-type]

    approver = Slow(Answer("deny", "Too much."))
    model = ScriptedModel([[call("pay", to="bob", amount=500)], "I did not pay."])
    agent = Agent(model, [pay], approver=approver, clock=clock, limits=Limits(seconds=10))
    result = await agent.run("go")
    assert result.text == "I did not pay."
    (said,) = result.calls
    assert said[1].error is not None
    assert said[1].error.code == "approval_denied"
    assert "Too much." in said[1].text


@pytest.mark.row("C1")
async def test_a_question_to_the_user_pauses_the_run_and_the_answer_goes_on_with_it() -> None:
    turns: list[Said] = [[call(a="", b=1)], [call(a="", b=1)], [call(a=1, b=1)], "2"]

    @tool
    def weather(city: str) -> str:
        """The weather.

        Args:
            city: name of the city
        """
        return f"sunny in {city}"

    turns = [[call("weather", city="")], [call("weather", city=" ")], [call("weather", city="Beijing")], "Sunny."]
    agent = Agent(ScriptedModel(turns), [weather])
    paused = await agent.run("weather?", run_id="r")
    (pending,) = paused.pending
    assert (paused.status, pending.kind) == ("paused", "answer")
    assert "city" in pending.message
    result = await agent.resume("r", {pending.id: "Beijing"})
    assert result.text == "Sunny."
    assert UserMessage.of("Beijing") in result.messages


async def test_answers_that_fit_nothing_are_refused_before_anything_is_done() -> None:
    agent = Agent(ScriptedModel([[call("pay", to="bob", amount=5)]]), [pay])
    paused = await agent.run("go", run_id="r")
    with pytest.raises(UsageError, match="nothing waits under"):
        await agent.resume("r", {"ask_x": "approve"})
    with pytest.raises(UsageError, match="'approve' or 'deny'"):
        await agent.resume("r", {paused.pending[0].id: "sure"})
    with pytest.raises(UsageError, match="there is no run"):
        await agent.resume("nope")
    with pytest.raises(UsageError, match="use resume"):
        await agent.run("go", run_id="r")


@pytest.mark.row("C7")
async def test_a_recorded_run_does_not_go_on_with_other_words_or_tools_unless_told_to() -> None:
    journal = MemoryJournal()
    first = Agent(ScriptedModel([[call("pay", to="b", amount=5)]]), [pay], journal=journal)
    paused = await first.run("go", run_id="r")
    answers = {paused.pending[0].id: "approve"}
    toolset = RecordingToolset([Tool(name="other")])
    changed = Agent(ScriptedModel(["done"]), [pay, toolset], journal=journal)
    with pytest.raises(UsageError, match="tools are not those"):
        await changed.resume("r", answers)
    result = await changed.resume("r", answers, accept=True)
    assert result.status == "done"


class Point(BaseModel):
    x: int
    y: int


async def test_a_typed_answer_is_read_and_a_wrong_one_is_sent_back() -> None:
    model = ScriptedModel(["it is at 1, 2", '```json\n{"x": 1}\n```', '{"x": 1, "y": 2}'])
    result = await Agent(model, output_type=Point).run("where?")
    assert result.output == Point(x=1, y=2)
    assert "JSON Schema" in str(model.requests[0].messages[0])
    assert "y: Field required" in str(model.requests[2].messages[-1])


async def test_an_answer_that_never_fits_stops_the_run() -> None:
    result = await Agent(ScriptedModel(["no"] * 5), output_type=int).run("?")
    assert (result.status, result.stop_reason) == ("stopped", "invalid_output")


@pytest.mark.row("A3")
async def test_a_conversation_remembers_what_was_said_and_done() -> None:
    model = ScriptedModel([[call()], "It is 5.", "As I said: 5."])
    agent = Agent(model, [add], instructions="Be brief.")
    await agent.run("2 + 3?", conversation="c")
    await agent.run("And again?", conversation="c")
    said = [type(message).__name__ for message in model.requests[-1].messages]
    assert said == ["SystemMessage", "UserMessage", "Reply", "ToolMessage", "Reply", "UserMessage"]


@pytest.mark.row("A3")
async def test_in_a_conversation_a_call_that_waits_is_told_as_waiting() -> None:
    model = ScriptedModel([[call("pay", to="b", amount=1)], "ok"])
    agent = Agent(model, [pay])
    await agent.run("pay", conversation="c")
    await agent.run("never mind", conversation="c")
    answers = [message for message in model.requests[-1].messages if isinstance(message, ToolMessage)]
    assert answers[0].result.text.startswith("It waits for a person. Do not make this call again")


async def test_a_policy_that_breaks_ends_the_run_before_anything_is_done_and_on_record() -> None:
    class Broken:
        def decide(self, tool: Tool, call: ToolCall, facts: Facts) -> Decision:
            raise KeyError("amount")

    for calls in ([call()], [call(id="1"), call(id="2")]):
        agent = Agent(ScriptedModel([calls]), [add], policy=Broken())
        with pytest.raises(KeyError):
            await agent.run("go", run_id="r")
        records = [entry.record for entry in await agent.journal.read("r")]
        assert [type(record).__name__ for record in records] == ["Started", "ModelReplied", "Ended"]


async def test_usage_is_added_up() -> None:
    replies: list[Said] = [Reply((call(),), usage=Usage(10, 2)), Reply.of("5")]
    result = await Agent(ScriptedModel(replies), [add]).run("go")
    assert result.usage == Usage(10, 2)


@pytest.mark.row("C5")
async def test_a_run_that_takes_too_long_is_stopped_and_says_so() -> None:
    clock = FakeClock()

    class Hanging(ScriptedModel):
        async def reply(self, request: Request, emit: object = None) -> Reply:
            asyncio.get_running_loop().call_soon(clock.advance, 11)
            await asyncio.Event().wait()
            return Reply()

    result = await Agent(Hanging([]), limits=Limits(seconds=10), clock=clock).run("go")
    assert (result.status, result.stop_reason) == ("stopped", "seconds")


@pytest.mark.row("C3")
async def test_a_policy_holds_for_whoever_asks() -> None:
    policy = Rules(Rule("allow", users="ada"), Rule("deny"))
    agent = Agent(
        ScriptedModel(lambda request: "done" if len(request.messages) > 1 else [call()]), [add], policy=policy
    )
    allowed = await agent.run("go", principal="ada")
    denied = await agent.run("go", principal="bob")
    assert allowed.calls[0][1].text == "5"
    assert denied.calls[0][1].error is not None


async def test_an_agent_is_a_tool_of_another() -> None:
    journal = MemoryJournal()
    child = Agent(ScriptedModel([[call()], "five"]), [add], name="adder", journal=journal)
    parent = Agent(ScriptedModel([[call("adder", task="2 + 3")], "It is five."]), [child], journal=journal)
    result = await parent.run("go", run_id="p")
    assert result.calls[0][1].text == "five"
    runs = await journal.runs()
    assert sorted((run.agent, run.parent) for run in runs) == [("adder", "p"), ("agent", "")]


async def test_tools_see_the_programs_object_the_principal_and_the_attachments() -> None:
    seen: list[object] = []

    @tool
    def look(what: str, ctx: Context) -> str:
        """Look.

        Args:
            what: at what
        """
        seen.extend([ctx.deps, ctx.principal, ctx.attachments["att_1"].data, ctx.run_id])
        return what

    agent = Agent(ScriptedModel([[call("look", what="x")], "ok"]), [look])
    picture = MediaPart("image/png", b"\x89PNG")
    await agent.run("go", context={"db": 1}, principal="ada", attachments=[picture], run_id="r")
    assert seen == [{"db": 1}, "ada", b"\x89PNG", "r"]


async def test_tools_may_appear_and_vanish_while_a_run_goes_on() -> None:
    toolset = RecordingToolset([Tool(name="open")])

    def script(request: Request) -> Said:
        if len(request.messages) == 1:
            return [ToolCall("1", "open", {})]
        if len(request.messages) == 3:
            return [ToolCall("2", "open", {}), ToolCall("3", "close", {})]
        return "done"

    def answer(said: ToolCall) -> Json:
        toolset.change([Tool(name="close")])
        return "ok"

    toolset._answer = answer
    model = ScriptedModel(script)
    result = await Agent(model, [toolset]).run("go")
    assert [[tool.name for tool in request.tools] for request in model.requests] == [["open"], ["close"], ["close"]]
    assert [done.error.code if done.error else "" for _, done in result.calls] == ["", "unknown_tool", ""]


def test_what_is_no_tool_is_refused_at_once() -> None:
    with pytest.raises(UsageError, match="int is not a function"):
        Agent(ScriptedModel([]), tools=[5])  # type: ignore[list-item]
    with pytest.raises(BadTool, match="add"):
        Agent(ScriptedModel([]), tools=[add, add])


async def test_finished_calls_carry_how_long_they_took() -> None:
    clock = FakeClock(auto=True)

    @tool
    async def wait() -> str:
        """Wait."""
        await clock.sleep(2)
        return "ok"

    events: list[Event] = []
    await Agent(ScriptedModel([[ToolCall("1", "wait", {})], "ok"]), [wait], clock=clock).run("go", emit=events.append)
    assert [event.seconds for event in events if isinstance(event, CallFinished)] == [2]


def _names(tools: Sequence[Tool]) -> list[str]:
    return [tool.name for tool in tools]


async def test_the_agent_lists_its_tools() -> None:
    assert _names(await Agent(ScriptedModel([]), [add, pay]).list_tools()) == ["add", "pay"]
