"""The driver of a run, seen through an agent: what it does live, what it takes from the record, and how it ends."""

from __future__ import annotations

import asyncio

import pytest

from actum import Agent, Limits, ToolCall, tool
from actum.core.call import TextPart
from actum.core.errors import ModelUnavailable, ReplayDiverged
from actum.core.event import Event, ReplyFinished, RunFinished
from actum.core.message import Reply, ToolMessage, Usage
from actum.core.model import Request
from actum.core.run.record import Ended, ModelReplied, Record
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock, Said, ScriptedModel


@tool(effects={"read"})
async def look(at: str) -> str:
    """Look."""
    return f"seen {at}"


@tool(effects={"spend"}, approval=True)
async def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


class Model(ScriptedModel):
    """Goes by the conversation, so that it can be asked again, and counts how often it is asked."""

    def __init__(self, *calls: ToolCall) -> None:
        self.asked = 0

        def script(request: Request) -> Said:
            self.asked += 1
            told = [message for message in request.messages if isinstance(message, ToolMessage)]
            return [calls[len(told)]] if len(told) < len(calls) else Reply((TextPart("Done."),), usage=Usage(7, 3))

        super().__init__(script)


LOOK = ToolCall("1", "look", {"at": "x"})
PAY = ToolCall("2", "pay", {"amount": 5})


async def test_what_is_on_record_is_not_asked_of_the_model_again() -> None:
    journal, model = MemoryJournal(), Model(LOOK, PAY)
    paused = await Agent(model, [look, pay], journal=journal).run("Go", run_id="r")
    assert (paused.status, model.asked) == ("paused", 2)

    again = Model(LOOK, PAY)
    done = await Agent(again, [look, pay], journal=journal).resume("r", {paused.pending[0].id: "approve"})

    assert (done.status, done.text, again.asked) == ("done", "Done.", 1)
    assert [result.text for _, result in done.calls] == ["seen x", "paid 5"]
    assert (done.steps, done.usage) == (3, Usage(7, 3))


async def test_a_run_that_is_done_is_told_again_and_writes_nothing() -> None:
    journal, model = MemoryJournal(), Model(LOOK)
    agent = Agent(model, [look], journal=journal)
    done = await agent.run("Go", run_id="r")
    records = len(await journal.read("r"))

    again = await agent.resume("r")

    assert (again.text, again.calls, again.usage, again.steps) == (done.text, done.calls, done.usage, done.steps)
    assert (len(await journal.read("r")), model.asked) == (records, 2)


async def test_other_instructions_than_the_recorded_ones_stop_the_run_before_anything_is_done() -> None:
    journal = MemoryJournal()
    paused = await Agent(Model(PAY), [pay], journal=journal, instructions="One.").run("Go", run_id="r")
    records, model = len(await journal.read("r")), Model(PAY)
    other = Agent(model, [pay], journal=journal, instructions="Another.")
    answers = {paused.pending[0].id: "approve"}

    with pytest.raises(ReplayDiverged):
        await other.resume("r", answers)
    entries = await journal.read("r")
    assert not any(isinstance(entry.record, Ended) for entry in entries[records:])
    assert model.asked == 0

    assert (await other.resume("r", accept=True)).status in ("done", "paused")


async def test_a_model_that_fails_ends_the_run_on_record_and_the_run_can_be_resumed() -> None:
    journal, down = MemoryJournal(), [True]

    def script(request: Request) -> Said:
        return ModelUnavailable("down") if down[0] else "Up again."

    agent = Agent(ScriptedModel(script), [look], journal=journal)
    with pytest.raises(ModelUnavailable):
        await agent.run("Go", run_id="r")
    last = (await journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert (last.status, last.reason) == ("failed", "ModelUnavailable")

    down[0] = False
    assert (await agent.resume("r")).text == "Up again."


async def test_a_run_that_is_cancelled_is_stopped_on_record_and_its_canceller_hears_of_it() -> None:
    journal, begun = MemoryJournal(), asyncio.Event()

    @tool(effects={"read"})
    async def wait() -> str:
        """Wait, and keep the cancellation to itself."""
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "not impressed"
        return "never"

    model = Model(ToolCall("1", "wait", {}), LOOK)
    running = asyncio.create_task(Agent(model, [wait, look], journal=journal).run("Go", run_id="r"))
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    last = (await journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert (last.status, last.reason, model.asked) == ("stopped", "cancelled", 1)


async def test_time_that_is_up_during_a_call_stops_the_run_and_the_model_is_not_asked_again() -> None:
    clock, model = FakeClock(), Model(ToolCall("1", "wait", {}))

    @tool(effects={"read"})
    async def wait() -> str:
        """Take longer than the run may."""
        clock.advance(61)
        await asyncio.Event().wait()
        return "never"

    agent = Agent(model, [wait], clock=clock, limits=Limits(seconds=60))
    result = await agent.run("Go")

    assert (result.status, result.stop_reason, model.asked) == ("stopped", "seconds", 1)
    ((_, outcome),) = result.calls
    assert outcome.error is not None


async def test_a_reply_is_told_when_it_is_on_record_and_the_result_last() -> None:
    steps: list[str] = []
    events: list[Event] = []

    class Watched(MemoryJournal):
        def append(self, run_id: str, record: Record) -> int:
            if isinstance(record, ModelReplied | Ended):
                steps.append(type(record).__name__)
            return super().append(run_id, record)

    def emit(event: Event) -> None:
        events.append(event)
        if isinstance(event, ReplyFinished | RunFinished):
            steps.append(type(event).__name__)

    result = await Agent(Model(LOOK), [look], journal=Watched()).run("Go", run_id="r", emit=emit)

    assert steps == [*["ModelReplied", "ReplyFinished"] * 2, "Ended", "RunFinished"]
    assert events[-1] == RunFinished(result)
