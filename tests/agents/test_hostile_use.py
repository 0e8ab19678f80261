"""The agent as careless or hostile programs use it: at once, in the wrong kind, cut short, with old handles."""

from __future__ import annotations

import asyncio
import datetime
import gc
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from actum import Agent, Context, Limits, Tool, ToolCall, tool
from actum.core.attachment import Image
from actum.core.call import MediaPart
from actum.core.errors import ModelUnavailable, RateLimited, UsageError
from actum.core.event import CallFinished, CallProgress, Event, RunFinished
from actum.core.interfaces import Journal
from actum.core.message import Reply, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.record import Ended, Started
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import FakeClock, RecordingToolset, Said, ScriptedModel
from tests.patience import HANGS_S
from tests.till import Till, pays_once

pytestmark = pytest.mark.row("A1")


@pytest.fixture(params=["memory", "sqlite"])
async def journal(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Journal]:
    made: Journal = MemoryJournal() if request.param == "memory" else SQLiteJournal(tmp_path / "journal.db")
    yield made
    await made.close()


# One run, driven twice ------------------------------------------------------------------------------------------------


@pytest.mark.row("C4")
@pytest.mark.row("C7")
async def test_of_two_who_resume_a_run_at_once_one_is_refused_and_it_is_paid_once(journal: Journal) -> None:
    till = Till()
    agent = Agent(ScriptedModel(pays_once), [till.pay], journal=journal)
    paused = await agent.run("Pay")
    yes = {paused.pending[0].id: "approve"}
    one, two = await asyncio.gather(*[agent.resume(paused.run_id, yes) for _ in range(2)], return_exceptions=True)
    assert not isinstance(one, BaseException)
    assert one.status == "done"
    assert isinstance(two, UsageError)
    assert till.paid == [1]


@pytest.mark.row("C7")
async def test_two_runs_of_one_id_at_once_are_not_mixed(journal: Journal) -> None:
    agent = Agent(ScriptedModel(lambda request: "Hi."), journal=journal)
    outcomes = await asyncio.gather(*[agent.run("Hi", run_id="r") for _ in range(2)], return_exceptions=True)
    assert [isinstance(outcome, UsageError) for outcome in outcomes] == [False, True]
    assert [type(entry.record) for entry in await journal.read("r")].count(Started) == 1


@pytest.mark.row("C7")
async def test_a_run_that_is_under_way_is_not_resumed_beside_itself() -> None:
    looked: list[int] = []
    started, go_on = asyncio.Event(), asyncio.Event()

    @tool(effects={"read"})
    async def look() -> str:
        """Look."""
        looked.append(1)
        started.set()
        await go_on.wait()
        return "seen"

    agent = Agent(ScriptedModel([[ToolCall("1", "look", {})], "Seen."]), [look])
    first = asyncio.create_task(agent.run("Look", run_id="r"))
    await started.wait()
    with pytest.raises(UsageError, match="under way"):
        await agent.resume("r")
    go_on.set()
    assert (await first).text == "Seen."
    assert looked == [1]


# What ends a run, and what does not -----------------------------------------------------------------------------------


async def test_a_cancelled_run_ends_though_its_tool_swallows_the_cancellation() -> None:
    started = asyncio.Event()

    async def stubborn() -> str:
        """Go on."""
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "done"
        return ""

    model = ScriptedModel([[ToolCall("1", "stubborn", {})], "Went on."])
    agent = Agent(model, [stubborn])
    run = asyncio.create_task(agent.run("Try", run_id="r"))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert len(model.requests) == 1
    last = (await agent.journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert (last.status, last.reason) == ("stopped", "cancelled")


@pytest.mark.row("C5")
async def test_calls_that_were_made_before_the_time_was_up_are_in_the_result() -> None:
    paid, hanging, clock = asyncio.Event(), asyncio.Event(), FakeClock()

    async def pay() -> str:
        """Pay."""
        return "paid"

    async def hang() -> str:
        """Hang."""
        hanging.set()
        await asyncio.Event().wait()
        return ""

    def emit(event: Event) -> None:
        if isinstance(event, CallFinished) and event.call.name == "pay":
            paid.set()

    model = ScriptedModel([[ToolCall("1", "pay", {}), ToolCall("2", "hang", {})]])
    agent = Agent(model, [pay, hang], limits=Limits(seconds=10), clock=clock)
    run = asyncio.create_task(agent.run("Go", emit=emit))
    await paid.wait()
    await hanging.wait()
    clock.advance(11)
    result = await run
    assert (result.status, result.stop_reason) == ("stopped", "seconds")
    told = [(said.name, done.error.code if done.error else done.text) for said, done in result.calls]
    assert told == [("pay", "paid"), ("hang", "in_doubt")]
    assert [type(message) for message in result.messages[-2:]] == [ToolMessage, ToolMessage]


@pytest.mark.parametrize("limits", [Limits(), Limits(seconds=60)], ids=["no limit", "a limit"])
async def test_a_model_that_times_out_by_itself_is_on_record_as_failed(limits: Limits) -> None:
    class Slow:
        name = "slow"

        async def reply(self, request: Request, emit: object = None) -> Reply:
            raise TimeoutError

    agent = Agent(Slow(), limits=limits)
    with pytest.raises(TimeoutError):
        await agent.run("Hi")
    assert (await agent.journal.runs())[0].status == "failed"


@pytest.mark.row("C5")
async def test_the_model_hears_of_a_loop_before_the_run_is_stopped_though_it_called_twice_in_a_turn() -> None:
    async def look() -> str:
        """Look."""
        return "same"

    pair = [ToolCall("1", "look", {}), ToolCall("2", "look", {})]
    result = await Agent(ScriptedModel([pair, pair, pair, "I give up."]), [look]).run("Look")
    assert (result.status, result.text) == ("done", "I give up.")


# Values of the wrong kind ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("run_id", ["\ud800", "", "a b", "r" * 129, 7.5j, 5], ids=lambda value: ascii(value)[:12])
async def test_a_run_id_that_is_none_breaks_nothing_for_others(journal: Journal, run_id: str) -> None:
    agent = Agent(ScriptedModel(lambda request: "Hi."), journal=journal)
    with pytest.raises(UsageError, match="run_id="):
        await agent.run("Hi", run_id=run_id)
    assert (await agent.run("Hi")).text == "Hi."


@pytest.mark.parametrize("question", [None, 5, b"x"])
async def test_a_question_that_is_no_text_is_refused_in_a_sentence(question: str) -> None:
    with pytest.raises(UsageError, match="text"):
        await Agent(ScriptedModel(["Hi."])).run(question)


async def test_a_question_with_half_a_surrogate_pair_is_answered() -> None:
    model = ScriptedModel(["Hi."])
    assert (await Agent(model).run("caf\udce9")).text == "Hi."
    assert list(model.requests[0].messages) == [UserMessage.of("caf\ufffd")]


async def test_a_principal_that_is_no_text_is_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="principal=5"):
        await Agent(ScriptedModel(["Hi."])).run("Hi", principal=5)  # type: ignore[arg-type]


@pytest.mark.row("C7")
async def test_a_run_with_half_a_surrogate_pair_in_its_principal_can_be_read_back(journal: Journal) -> None:
    agent = Agent(ScriptedModel(["Hi."]), journal=journal)
    result = await agent.run("Hi", principal="\ud800")
    assert (await agent.resume(result.run_id)).text == "Hi."


async def test_a_strict_type_reads_what_json_can_say() -> None:
    class Trip(BaseModel):
        model_config = ConfigDict(strict=True)
        day: datetime.date

    result = await Agent(ScriptedModel(['{"day": "2026-01-01"}']), output_type=Trip).run("When?")
    assert result.output == Trip(day=datetime.date(2026, 1, 1))


# Conversations and attachments ----------------------------------------------------------------------------------------


@pytest.mark.row("A3")
async def test_an_earlier_paused_run_that_goes_on_does_not_lock_out_the_next_of_its_conversation() -> None:
    till = Till()
    agent = Agent(ScriptedModel(pays_once), [till.pay])
    one = await agent.run("One", conversation="c")
    two = await agent.run("Two", conversation="c")
    for paused in (one, two):
        assert (await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})).status == "done"
    assert till.paid == [1, 1]


@pytest.mark.row("A3")
async def test_a_handle_means_one_attachment_in_a_whole_conversation() -> None:
    seen: list[bytes] = []

    @tool
    async def look(image: Image) -> str:
        """Look.

        Args:
            image: at this.
        """
        seen.append(image.data)
        return "seen"

    def script(request: Request) -> Said:
        asked = isinstance(request.messages[-1], UserMessage) and request.messages[-1].text == "The first?"
        return [ToolCall("1", "look", {"image": "att_1"})] if asked else "Well."

    agent = Agent(ScriptedModel(script), [look])
    await agent.run("Here.", conversation="c", attachments=[MediaPart("image/png", data=b"first")])
    await agent.run("The first?", conversation="c", attachments=[MediaPart("image/png", data=b"second")])
    assert seen == [b"first"]


async def test_a_handle_of_the_callers_own_is_not_given_twice() -> None:
    own = MediaPart("image/png", data=b"own", handle="att_2")
    others = [MediaPart("image/png", data=b"one"), MediaPart("image/png", data=b"two")]
    result = await Agent(ScriptedModel(["Hm."])).run("Q", attachments=[own, *others])
    said = result.messages[0]
    assert isinstance(said, UserMessage)
    assert {part.handle: part.data for part in said.content if isinstance(part, MediaPart)} == {
        "att_2": b"own",
        "att_1": b"one",
        "att_3": b"two",
    }


# What whoever watches hears -------------------------------------------------------------------------------------------


async def test_a_finished_call_is_told_as_the_model_said_it() -> None:
    events: list[Event] = []
    toolset = RecordingToolset([Tool(name="pay", parameters={"properties": {"amount": {"type": "integer"}}})])
    agent = Agent(ScriptedModel([[ToolCall("1", "pay", {"amount": "5"})], "Done."]), [toolset])
    await agent.run("Pay", emit=events.append)
    assert toolset.executed[0].arguments == {"amount": 5}
    assert [event.call.arguments for event in events if isinstance(event, CallFinished)] == [{"amount": "5"}]


@pytest.mark.parametrize("debug", [False, True])
async def test_progress_told_from_a_thread_is_heard_while_the_tool_runs(debug: bool) -> None:
    asyncio.get_running_loop().set_debug(debug)
    heard = threading.Event()

    @tool
    def slow(ctx: Context) -> str:
        """Be slow."""
        ctx.progress("half")
        return "heard" if heard.wait(HANGS_S) else "not heard"

    told: list[str] = []
    async for event in Agent(ScriptedModel([[ToolCall("1", "slow", {})], "Done."]), [slow]).stream("Go"):
        if isinstance(event, CallProgress):
            heard.set()
        if isinstance(event, CallFinished):
            told.append(event.result.text)
    assert told == ["heard"]


class Late:
    """Tools that go on in their threads after their time was up, and tell of it."""

    def __init__(self) -> None:
        self.begun, self.go_on, self.told = threading.Event(), threading.Event(), threading.Event()

        @tool(timeout_s=5)
        def generator() -> Iterator[str]:
            """Yield late."""
            self._be_late()
            try:
                yield "late"
            finally:
                self.told.set()

        @tool(timeout_s=5)
        def context(ctx: Context) -> str:
            """Tell late."""
            self._be_late()
            ctx.progress("late")
            self.told.set()
            return ""

        self.tools: list[Callable[..., object]] = [generator, context]

    def _be_late(self) -> None:
        self.begun.set()
        self.go_on.wait(HANGS_S)


@pytest.mark.parametrize("way", ["generator", "context"])
async def test_nothing_is_told_after_the_end_of_a_run(way: str) -> None:
    late, clock = Late(), FakeClock()
    events: list[Event] = []
    agent = Agent(ScriptedModel([[ToolCall("1", way, {})], "Done."]), late.tools, clock=clock)
    run = asyncio.create_task(agent.run("Go", emit=events.append))
    assert await asyncio.to_thread(late.begun.wait, HANGS_S)
    clock.advance(6)
    assert (await run).text == "Done."
    late.go_on.set()
    assert await asyncio.to_thread(late.told.wait, HANGS_S)
    assert isinstance(events[-1], RunFinished)


async def test_what_a_thread_tells_as_its_call_ends_is_not_told_after_it() -> None:
    @tool
    async def hasty(ctx: Context) -> str:
        """Let a thread tell, and end before the event loop can pass it on."""
        thread = threading.Thread(target=ctx.progress, args=("late",))
        thread.start()
        thread.join()
        return "done"

    events: list[Event] = []
    await Agent(ScriptedModel([[ToolCall("1", "hasty", {})], "Done."]), [hasty]).run("Go", emit=events.append)
    heard = asyncio.Event()
    asyncio.get_running_loop().call_soon(heard.set)
    await heard.wait()
    assert isinstance(events[-1], RunFinished)


class Gone:
    """A model that fails: by itself, or once it is cancelled."""

    name = "gone"

    def __init__(self, *, at_once: bool) -> None:
        self.asked = asyncio.Event()
        self._at_once = at_once

    async def reply(self, request: Request, emit: object = None) -> Reply:
        self.asked.set()
        if self._at_once:
            raise ModelUnavailable("gone")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ModelUnavailable("gone") from None
        return Reply()


@pytest.mark.parametrize("at_once", [True, False])
async def test_leaving_the_stream_of_a_run_that_fails_leaves_nothing_unheard(at_once: bool) -> None:
    complaints: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context["message"]))
    model = Gone(at_once=at_once)
    stream = Agent(model).stream("Hi")
    await anext(stream)
    await model.asked.wait()
    await stream.aclose()
    gc.collect()
    assert complaints == []


async def test_a_call_that_was_told_as_begun_is_told_as_ended_though_it_is_cancelled_between_two_attempts() -> None:
    class Clock(FakeClock):
        def __init__(self) -> None:
            super().__init__()
            self.asleep = asyncio.Event()

        async def sleep(self, seconds: float) -> None:
            self.asleep.set()
            await super().sleep(seconds)

    @tool
    async def busy() -> str:
        """Be busy."""
        raise RateLimited("Later.", retry_after=20)

    events: list[Event] = []
    clock = Clock()
    agent = Agent(ScriptedModel([[ToolCall("1", "busy", {})]]), [busy], clock=clock)
    run = asyncio.create_task(agent.run("Go", emit=events.append))
    await clock.asleep.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    last = events[-1]
    assert isinstance(last, CallFinished)
    assert last.result.error is not None
    assert last.result.error.code == "cancelled"
