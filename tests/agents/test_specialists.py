"""A supervisor and its specialists: what they do is seen, what they use is counted, what they answer is a value."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

import msgspec
import pytest

from actum import Agent, Price, ToolCall, tool
from actum.core.call import MediaPart, TextPart
from actum.core.event import ChildEvent, Event
from actum.core.interfaces import Journal
from actum.core.json import Json
from actum.core.message import Message, Reply, ToolMessage, Usage, UserMessage
from actum.core.model import Request
from actum.events import CallFinished, CallProgress, RunFinished, RunStarted, TextDelta
from actum.journal.memory import MemoryJournal
from actum.runs.streaming import into
from actum.server.models.agents.answer import AnswerFold
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("A5")

PICTURE = MediaPart("image/png", data=b"\x89PNG", name="tower.png")
TOKENS = Usage(input_tokens=100, output_tokens=12)
OWN = Usage(input_tokens=10, output_tokens=2)


def said(text: str, calls: Sequence[ToolCall] = (), usage: Usage = TOKENS) -> Reply:
    return msgspec.structs.replace(Reply.of(text, calls=calls), usage=usage)


def ask(name: str, **arguments: Json) -> ToolCall:
    return ToolCall(f"c-{name}", name, {"task": f"do {name}", **arguments})


@tool(effects={"read"})
def look() -> str:
    """Look around."""
    return "a tower"


@dataclass
class Sight:
    name: str
    steps: int


def supervisor(journal: Journal | None = None) -> Agent:
    """One specialist with a tool, one with a typed answer, and one that has a specialist of its own."""
    scout = Agent(
        ScriptedModel(
            lambda request: _after(request, [said("I look.", [ToolCall("l", "look", {})]), said("A tower.")])
        ),
        [look],
        name="scout",
    )
    counter = Agent(
        ScriptedModel(lambda request: said('{"name": "tower", "steps": 99}')), name="counter", output_type=Sight
    )
    lead = Agent(
        ScriptedModel(lambda request: _after(request, [said("", [ask("scout")]), said("The scout saw it.")])),
        [scout],
        name="lead",
    )
    calls = [ask("scout"), ask("counter"), ask("lead")]
    model = ScriptedModel(lambda request: _after(request, [said("", calls, OWN), said("Done.", usage=OWN)]))
    prices = {"scripted": Price(input=Decimal(1), output=Decimal(1))}
    return Agent(model, [scout, counter, lead], name="boss", journal=journal, prices=prices)


def _after(request: Request, turns: list[Reply]) -> Reply:
    return turns[sum(isinstance(message, Reply) for message in request.messages)]


def inner(event: Event) -> Event:
    while isinstance(event, ChildEvent):
        event = event.event
    return event


def path(event: Event) -> tuple[str, ...]:
    return (event.agent, *path(event.event)) if isinstance(event, ChildEvent) else ()


async def test_whoever_watches_a_supervisor_sees_what_its_specialists_do() -> None:
    events = [event async for event in supervisor().stream("Go.")]
    assert isinstance(events[-1], RunFinished)
    seen = {(path(event), type(inner(event))) for event in events}
    for way in ((), ("scout",), ("counter",), ("lead",), ("lead", "scout")):
        assert {(way, RunStarted), (way, TextDelta), (way, RunFinished)} <= seen, way
    assert (("lead", "scout"), CallFinished) in seen
    (started,) = [each for each in events if path(each) == ("scout",) and isinstance(inner(each), RunStarted)]
    assert isinstance(started, ChildEvent)
    assert (started.call, started.run_id) == ("c-scout", getattr(inner(started), "run_id", ""))
    assert msgspec.json.encode(events)
    alone = [event async for event in supervisor().stream("Go.")]
    assert len(alone) == len(events)


async def test_the_run_that_a_tool_s_code_begins_in_a_thread_is_seen_too() -> None:
    below = Agent(ScriptedModel(lambda request: said("From below.")), name="below")

    @tool
    def in_thread() -> str:
        """Begin a run in a thread."""
        return below.run_sync("Go.").text

    @tool
    async def in_loop() -> str:
        """Begin a run in the loop."""
        return (await below.run("Go on.")).text

    calls = [ToolCall("1", "in_thread", {}), ToolCall("2", "in_loop", {})]
    agent = Agent(ScriptedModel([calls, "Done."]), [in_thread, in_loop])
    events = [event async for event in agent.stream("Go.")]
    ended = {each.call for each in events if isinstance(each, ChildEvent) and isinstance(each.event, RunFinished)}
    assert ended == {"1", "2"}
    assert isinstance(events[-1], RunFinished)


async def test_usage_counts_what_was_used_below_and_own_usage_does_not() -> None:
    journal = MemoryJournal()
    result = await supervisor(journal).run("Go.", run_id="run_1")
    below = [await journal.read(line.run_id) for line in await journal.runs(limit=None) if line.parent]
    own = sum((entry.record.usage for entries in below for entry in entries if hasattr(entry.record, "usage")), Usage())
    assert own == sum([TOKENS] * 7, Usage())
    assert result.own_usage == OWN + OWN
    assert result.usage == own + OWN + OWN
    assert result.cost == Decimal(result.usage.total_tokens) / 1_000_000
    fold = AnswerFold("run_1", until="end")
    for entry in await journal.read("run_1"):
        fold.take(entry)
    assert fold.ending().usage == result.usage  # as clients of the model APIs are told
    again = await supervisor(journal).resume("run_1")
    assert (again.usage, again.own_usage) == (result.usage, result.own_usage)


async def test_a_supervisor_killed_at_any_record_tells_each_call_once_and_counts_all() -> None:
    whole = MemoryJournal()
    expected = await supervisor(whole).run("Go.", run_id="run_1")
    records = sum([len(await whole.read(line.run_id)) for line in await whole.runs(limit=None)])
    for at in range(2, records):
        journal = Dying(at)
        first: list[Event] = []
        with pytest.raises(Killed):
            await supervisor(journal).run("Go.", run_id="run_1", emit=first.append)
        journal.lives()
        later: list[Event] = []
        result = await supervisor(journal).resume("run_1", emit=later.append)
        assert (result.text, result.usage, result.own_usage) == ("Done.", expected.usage, expected.own_usage), at
        for told in (first, later):
            ended = [path(event) for event in told if isinstance(inner(event), RunFinished)]
            assert len(ended) == len(set(ended)), at
        made = [
            path(event)
            for event in [*first, *later]
            if isinstance(happened := inner(event), CallFinished) and happened.call.name == "look"
        ]
        assert len(made) == len(set(made)), at
        lines = await journal.runs(limit=None)
        assert len(lines) == 5, at


class Killed(BaseException):
    """The process is gone."""


class Dying(MemoryJournal):
    """A journal whose process is killed at one of its records."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self._left = at

    def lives(self) -> None:
        self._left = -1

    def append(self, run_id: str, record: object, *rest: object, **options: object) -> int:
        if self._left == 0:
            raise Killed
        self._left -= 1
        return super().append(run_id, record, *rest, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("references", [True, False])
async def test_a_typed_specialist_answers_with_a_value_that_a_reference_reaches_into(references: bool) -> None:
    climbed: list[int] = []

    @tool
    def climb(steps: int) -> str:
        """Climb."""
        climbed.append(steps)
        return "up"

    counter = Agent(ScriptedModel(['{"name": "tower", "steps": 99}']), name="counter", output_type=Sight)
    calls = [ask("counter"), ToolCall("2", "climb", {"steps": "${1.steps}" if references else 99})]
    result = await Agent(ScriptedModel([calls, "Up."]), [counter, climb], references=references).run("Go.")
    assert (climbed, result.calls[0][1].structured) == ([99], {"name": "tower", "steps": 99})
    assert result.calls[0][1].text == '{"name": "tower", "steps": 99}'


@pytest.mark.parametrize(
    ("output_type", "text", "value"),
    [
        (list[int], '{"answer": [1, 2]}', [1, 2]),
        (Literal["yes", "no"], '{"answer": "yes"}', "yes"),
        (Sight, 'Here it is: {"name": "a", "steps": 1}', {"name": "a", "steps": 1}),
        (str, "plain", msgspec.UNSET),
        (str, '{"name": "a"}', msgspec.UNSET),
    ],
)
async def test_the_value_of_an_answer_is_told_whatever_its_type(output_type: type, text: str, value: object) -> None:
    child = Agent(ScriptedModel([text]), name="child", output_type=output_type)
    result = await Agent(ScriptedModel([[ask("child")], "Done."]), [child]).run("Go.")
    assert (result.calls[0][1].structured, result.calls[0][1].text) == (value, text)


async def test_attachments_are_handed_down_and_media_of_a_child_get_handles_above() -> None:
    drawn = MediaPart("image/png", data=b"drawn", name="map.png", handle="att_1")
    painter = ScriptedModel([Reply((TextPart("Here."), drawn))])
    calls = [
        ask("painter", attachments=["att_1", "att_1"]),
    ]
    agent = Agent(ScriptedModel([calls, "Done."]), [Agent(painter, name="painter")])
    result = await agent.run(UserMessage((TextPart("Paint like this."), PICTURE)))
    (asked,) = [each for each in painter.requests[0].messages if isinstance(each, UserMessage)]
    assert [each.data for each in asked.content if isinstance(each, MediaPart)] == [PICTURE.data]
    (media,) = result.calls[0][1].media
    assert (media.data, media.handle) == (b"drawn", "att_2")
    unknown = Agent(ScriptedModel([[ask("painter", attachments=["att_7"])], "So."]), [Agent(painter, name="painter")])
    told = (await unknown.run(UserMessage((TextPart("Go."), PICTURE)))).calls[0][1]
    assert told.error is not None
    assert "no attachment 'att_7'; there are: att_1" in told.error.message
    bare = Agent(ScriptedModel([calls, "So."]), [Agent(painter, name="painter")])
    without = (await bare.run("Go.")).calls[0][1]
    assert without.error is not None
    assert without.error.code == "invalid_arguments"
    assert len(painter.requests) == 1


async def test_a_child_with_history_is_told_what_was_said_without_instructions_calls_and_results() -> None:
    journal = MemoryJournal()
    child = ScriptedModel(["Refunded.", "Again."])
    specialist = Agent(child, name="billing", instructions="You refund.")
    script = ScriptedModel(["Hello, I am the desk.", said("Let me see.", [ToolCall("1", "look", {}), ask("billing")])])
    agent = Agent(
        script, [look, specialist.as_tool(answers=True, history=True)], journal=journal, instructions="Secret rules."
    )
    await agent.run("Hi, I am Ada.", conversation="c")
    result = await agent.run("I want my money back.", conversation="c", run_id="run_2")
    assert result.text == "Refunded."
    told = [_words(each) for each in child.requests[0].messages]
    assert told == [
        "You refund.",
        "Hi, I am Ada.",
        "Hello, I am the desk.",
        "I want my money back.",
        "Let me see.",
        "do billing",
    ]
    assert "Secret rules" not in str(told)
    (line,) = [each for each in await journal.runs(limit=None) if each.parent == "run_2"]
    alone = ScriptedModel(["Refunded."])
    bare = Agent(ScriptedModel([[ask("billing")], "Done."]), [Agent(alone, name="billing")])
    await bare.run("My secret words.")
    assert [_words(each) for each in alone.requests[0].messages] == ["do billing"]
    assert line.question == "do billing"


def _words(message: Message) -> str:
    return message.result.text if isinstance(message, ToolMessage) else message.text


async def test_progress_of_children_is_left_out_where_nobody_reads() -> None:
    events: asyncio.Queue[Event | None] = asyncio.Queue()
    tell = into(events)
    for _ in range(2_000):
        tell(ChildEvent("1", "child", "run", CallProgress("2", "on")))
    assert events.qsize() == 1_000
