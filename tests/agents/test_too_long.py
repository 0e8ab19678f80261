"""A conversation that is too long for the model: it is shortened where the agent allows it, and can be summed up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Literal

import pytest

from actum import Agent, ToolCall, tool
from actum.agents.shortening import WHOLE, Shortening, halves
from actum.core.call import MediaPart, TextPart, ToolResult
from actum.core.errors import ContextOverflow, ModelGarbled
from actum.core.event import Event, ReplyFinished, TextDelta
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, UserMessage
from actum.core.model import Request
from actum.core.run.record import Ended, ModelReplied
from actum.journal.memory import MemoryJournal
from actum.testing import Said, ScriptedModel

pytestmark = pytest.mark.row("A1")

CONTEXT = 3_000


@tool(effects={"read"})
def page(size: int) -> str:
    """A page of so many letters."""
    return "w" * size


def small(script: Sequence[Said], context: int = CONTEXT) -> ScriptedModel:
    """A model that reads so many characters, and answers by a script."""
    left = list(script)

    def say(request: Request) -> Said:
        length = sum(len(_text(message)) for message in request.messages)
        return left.pop(0) if length <= context else ContextOverflow("the conversation is too long", status=400)

    return ScriptedModel(say)


def _text(message: Message) -> str:
    return message.result.text if isinstance(message, ToolMessage) else message.text


def sound(request: Request) -> None:
    """What every API and template wants: a user speaks first, no two of them in a row, and each result stands behind
    the reply that holds its call.
    """
    messages = [message for message in request.messages if not isinstance(message, SystemMessage)]
    assert isinstance(messages[0], UserMessage)
    assert not [pair for pair in pairwise(messages) if all(isinstance(each, UserMessage) for each in pair)]
    known: set[str] = set()
    for message in messages:
        if isinstance(message, Reply):
            known = {call.id for call in message.calls}
        elif isinstance(message, ToolMessage):
            assert message.result.call_id in known
            known.remove(message.result.call_id)
        else:
            assert not known


async def filled(agent: Agent, turns: int = 5) -> None:
    for number in range(turns):
        await agent.run(f"Turn {number}: " + "x" * 400, conversation="c")


async def test_a_conversation_that_is_too_long_is_shortened_where_the_agent_allows_it() -> None:
    journal = MemoryJournal()
    model = small(["y" * 300] * 5 + ["Short again.", "And again."])
    agent = Agent(model, journal=journal, instructions="Be brief.", truncation="auto")
    events: list[Event] = []
    await filled(agent)
    result = await agent.run("Last: " + "x" * 200, conversation="c", run_id="last", emit=events.append)
    assert (result.status, result.text) == ("done", "Short again.")
    assert len(result.messages) > len(model.requests[-1].messages)  # the program is told all
    sound(model.requests[-1])
    assert model.requests[-1].messages[0] == SystemMessage("Be brief.")
    assert "left out" in _text(model.requests[-1].messages[1])
    assert [event.left_out for event in events if isinstance(event, ReplyFinished)] == [6]
    (replied,) = [entry.record for entry in await journal.read("last") if isinstance(entry.record, ModelReplied)]
    assert replied.left_out == 6
    assert (await agent.resume("last")).text == "Short again."  # replayed, nobody is asked
    assert sum(isinstance(event, TextDelta) for event in events) == 1


async def test_the_next_steps_of_the_run_are_shortened_alike_also_when_it_is_resumed() -> None:
    @tool(approval=True)
    def stamp() -> str:
        """Stamp."""
        return "stamped"

    model = small(["y" * 300] * 5 + [[ToolCall("1", "stamp", {})], [ToolCall("2", "page", {"size": 30})], "Done."])
    agent = Agent(model, tools=[page, stamp], truncation="auto")
    await filled(agent)
    paused = await agent.run("Stamp it " + "x" * 300, conversation="c")
    asked = len(model.requests)
    result = await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
    assert (result.status, result.text) == ("done", "Done.")
    assert len(model.requests) == asked + 2  # none was too long
    for request in model.requests[asked:]:
        sound(request)
        assert "left out" in _text(request.messages[0])


async def test_long_results_are_cut_where_nothing_else_is_left_to_leave_out() -> None:
    model = small([[ToolCall("1", "page", {"size": 9_000}), ToolCall("2", "page", {"size": 10})], "Read."])
    result = await Agent(model, tools=[page], truncation="auto").run("Read the page")
    assert (result.text, len(result.calls[0][1].text)) == ("Read.", 9_000)
    sound(model.requests[-1])
    assert [len(_text(message)) < 2_100 for message in model.requests[-1].messages] == [True] * 4
    assert "cut here: 7000 more characters" in _text(model.requests[-1].messages[2])


async def test_without_leave_the_run_fails_and_says_what_will_help() -> None:
    model = small([[ToolCall("1", "page", {"size": 9_000})], "Never."])
    with pytest.raises(ContextOverflow, match="truncation='auto'") as caught:
        await Agent(model, tools=[page]).run("Read the page")
    assert caught.value.can_be_shortened
    ways: tuple[Literal["auto", "disabled"], ...] = ("auto", "disabled")
    for truncation in ways:
        model = small(["Never."])
        with pytest.raises(ContextOverflow, match="a longer context") as caught:
            await Agent(model, truncation=truncation).run("x" * 9_000)
        assert not caught.value.can_be_shortened
        assert "truncation" not in str(caught.value)
        assert len(model.requests) == 1


async def test_a_conversation_can_be_summed_up_after_an_overflow_and_goes_on() -> None:
    journal = MemoryJournal()
    script: list[Said] = [
        [ToolCall("1", "page", {"size": 1_000})],
        "y" * 900,
        "y" * 300,
        "First part.",
        "Second part.",
        "All of it.",
    ]
    model = small([*script, "Going on."])
    agent = Agent(model, tools=[page], journal=journal)
    await agent.run("Read " + "x" * 400, conversation="c")
    await agent.run("And then? " + "x" * 100, conversation="c")
    with pytest.raises(ContextOverflow):
        await agent.run("Again " + "x" * 600, conversation="c")
    assert await agent.compact("c") == "All of it."
    for request in model.requests[3:]:
        sound(request)
    result = await agent.run("Now?", conversation="c")
    assert result.text == "Going on."
    assert [_text(message)[-10:] for message in model.requests[-1].messages] == [
        "All of it.",
        "nderstood.",
        "Now?",
    ]
    assert "Second part." in _text(model.requests[-2].messages[0])


async def test_even_one_message_that_is_too_long_is_summed_up() -> None:
    model = small(["Big.", "A greeting.", "So much.", "So much, and no answer.", "Fine."])
    agent = Agent(model)
    for size in (100, 20_000):
        with pytest.raises(ContextOverflow) if size > CONTEXT else pytest.MonkeyPatch.context():
            await agent.run("x" * size, conversation="c")
    assert await agent.compact("c") == "So much, and no answer."  # the last part: how the turn ended
    assert (await agent.run("And?", conversation="c")).text == "Fine."


async def test_a_summary_is_not_tried_for_ever() -> None:
    model = ScriptedModel(lambda request: ContextOverflow("too long"))
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(["a"] * 4), journal=journal)
    await filled(agent, 4)
    stubborn = Agent(model, journal=journal)
    with pytest.raises(ContextOverflow):
        await stubborn.compact("c")
    assert len(model.requests) < 20
    cut = Agent(ScriptedModel([Reply(Reply.of("So f").content, finish_reason="length")]), journal=journal)
    with pytest.raises(ModelGarbled, match="cut off"):
        await cut.compact("c")
    (latest,) = await journal.runs(conversation="c", limit=1)
    ended = (await journal.read(latest.run_id))[-1].record
    assert isinstance(ended, Ended)
    assert ended.status == "failed"


def test_every_shorter_way_to_tell_is_shorter_and_sound_and_there_is_a_last() -> None:
    history: list[Message] = [SystemMessage("Be brief."), UserMessage((TextPart("Summary: ..."),), "memory")]
    for number in range(9):
        call = ToolCall(f"c{number}", "page", {"size": 10})
        picture = MediaPart("image/png", b"x" * 50)
        result = ToolResult(call.id, (TextPart("r" * 1_000 * number), picture))
        history += [UserMessage.of(f"{number}"), Reply.of(calls=[call]), ToolMessage("page", result), Reply.of("so")]
    question = len(history) - 4
    shortening: Shortening | None = WHOLE
    lengths, ways = [], 0
    while shortening is not None:
        told = shortening.told(history, "left out", "noted")
        sound(Request(messages=told))
        assert told[:2] == history[:2]
        assert history[question] in told
        lengths.append(sum(len(_text(message)) for message in told))
        shortening, ways = shortening.next(history, question), ways + 1
    assert ways < 12
    assert lengths[-1] < 1_000 < lengths[0]
    assert WHOLE.next([UserMessage.of("?")], 0) is None
    parts = halves(history)
    assert parts is not None
    assert [*parts[0], *parts[1]] == history
    assert halves(history[:1]) is None


async def test_no_two_of_the_user_stand_in_a_row_after_a_summary_news_and_a_conversation_left_out() -> None:
    @tool(approval=True)
    def send(text: str) -> str:
        """Send a text.

        Args:
            text: What to send.
        """
        return "sent"

    journal = MemoryJournal()
    model = ScriptedModel([[ToolCall("1", "send", {"text": "x"})], "One.", "Sent.", "A summary.", "Two.", "Three."])
    agent = Agent(model, [send], journal=journal)
    paused = await agent.run("Send x", conversation="c")
    await agent.run("Hi", conversation="c")
    await agent.resume(paused.run_id, {paused.pending[0].id: "approve"})
    await agent.compact("c", keep=0)
    news = await agent.run("And now?", conversation="c")
    assert "carried out" in repr(model.requests[-1].messages)
    told = model.requests[-1].messages
    assert [type(each).__name__ for each in told] == ["UserMessage", "Reply", "UserMessage", "Reply", "UserMessage"]
    await agent.run("And then?", messages=news.messages)
    for request in model.requests:
        sound(request)
