"""One agent hands its user over to another: what the other says is the answer, and the first is not asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from actum import Agent, Limits, Rule, Rules, ToolCall, tool
from actum.core.event import Event, TextDelta
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.policy import Answer
from actum.core.run.record import ModelReplied
from actum.journal.memory import MemoryJournal
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel

ALLOWED = Rules(Rule("allow"))


def hands_over(*names: str) -> Callable[[Request], Said]:
    """Hands over at once, to one agent or to several, and says where it was asked again."""

    def said(request: Request) -> Said:
        last = request.messages[-1]
        if isinstance(last, ToolMessage):
            return f"again: {last.result.text}"
        if last.text == "Thank you.":
            return "You are welcome."
        return [ToolCall(f"c{number}", name, {"task": "Refund it."}) for number, name in enumerate(names)]

    return said


def billing(journal: MemoryJournal, *script: Said, **options: object) -> Agent:
    return Agent(ScriptedModel(list(script)), name="billing", journal=journal, **options)  # type: ignore[arg-type]


@pytest.mark.row("A5")
async def test_what_the_other_agent_says_is_the_answer_and_the_first_model_is_asked_once() -> None:
    journal, heard = MemoryJournal(), list[Event]()
    desk = ScriptedModel(hands_over("billing"))
    agent = Agent(desk, [billing(journal, "Refunded.").as_tool(answers=True)], journal=journal)
    result = await agent.run("My money back!", conversation="c", emit=heard.append)
    assert (result.status, result.text, result.output) == ("done", "Refunded.", "Refunded.")
    assert len(desk.requests) == 1
    assert [event for event in heard if isinstance(event, TextDelta)][-1].text == "Refunded."
    # The next question of the conversation goes to the first agent, which knows what was said.
    again = await agent.run("Thank you.", conversation="c")
    told = desk.requests[1].messages
    assert any(isinstance(message, ToolMessage) and message.result.text == "Refunded." for message in told)
    assert again.text == "You are welcome."


async def test_without_the_word_the_first_agent_answers_itself() -> None:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(hands_over("billing")), [billing(journal, "Refunded.")], journal=journal)
    assert (await agent.run("My money back!")).text == "again: Refunded."


async def test_an_agent_that_fails_hands_the_user_back() -> None:
    journal = MemoryJournal()
    stuck = billing(journal, [ToolCall("1", "none", {})], limits=Limits(steps=1))
    agent = Agent(ScriptedModel(hands_over("billing")), [stuck.as_tool(answers=True)], journal=journal)
    result = await agent.run("My money back!")
    assert result.status == "done"
    assert result.text.startswith("again: billing did not finish.")


class Refund(BaseModel):
    euros: int


async def test_an_answer_that_is_not_of_the_type_of_the_first_agent_goes_back_to_its_model() -> None:
    for answer, text in (('{"euros": 7}', '{"euros": 7}'), ("Seven euros.", '{"euros": 8}')):
        journal = MemoryJournal()

        def said(request: Request) -> Said:
            last = request.messages[-1]
            return '{"euros": 8}' if isinstance(last, ToolMessage) else [ToolCall("1", "billing", {"task": "Refund."})]

        model = ScriptedModel(said)
        tools = [billing(journal, answer).as_tool(answers=True)]
        agent: Agent[Refund] = Agent(model, tools, output_type=Refund, journal=journal)
        result = await agent.run("My money back!")
        assert (result.text, result.output) == (text, Refund.model_validate_json(text)), answer


async def test_of_several_results_the_first_that_may_answer_does_and_all_calls_are_made() -> None:
    journal, noted = MemoryJournal(), list[str]()

    @tool(effects=["write"])
    def note(task: str) -> str:
        """Note it."""
        noted.append(task)
        return "noted"

    @tool(answers=True, effects=["read"])
    def closing(task: str) -> str:
        """Say good-bye."""
        return "Good-bye."

    agent = Agent(ScriptedModel(hands_over("note", "closing")), [note, closing], policy=ALLOWED, journal=journal)
    assert (await agent.run("Bye!")).text == "Good-bye."
    assert noted == ["Refund it."]


async def test_a_question_of_the_other_agent_reaches_the_user_and_the_answer_ends_both_after_a_restart(
    tmp_path: Path,
) -> None:
    paid = list[int]()

    @tool(effects=["spend"], approval=True)
    def pay(euros: int) -> str:
        """Pay."""
        paid.append(euros)
        return "paid"

    def other(request: Request) -> Said:
        return "All paid." if isinstance(request.messages[-1], ToolMessage) else [ToolCall("1", "pay", {"euros": 7})]

    def opened() -> tuple[Agent, SQLiteJournal]:
        journal = SQLiteJournal(tmp_path / "journal.db")
        specialist = Agent(ScriptedModel(other), [pay], name="billing", journal=journal, policy=ALLOWED)
        desk = ScriptedModel(hands_over("billing"))
        return Agent(desk, [specialist.as_tool(answers=True)], journal=journal, policy=ALLOWED), journal

    agent, journal = opened()
    waits = await agent.run("My money back!")
    assert (waits.status, paid) == ("paused", [])
    await journal.close()
    agent, journal = opened()
    done = await agent.resume(waits.run_id, {each.id: Answer("approve") for each in waits.pending})
    assert (done.status, done.text, paid) == ("done", "All paid.", [7])
    replies = [entry for entry in await journal.read(waits.run_id) if isinstance(entry.record, ModelReplied)]
    assert len(replies) == 1
    again = await agent.resume(waits.run_id)
    assert (again.text, paid) == ("All paid.", [7])
    await journal.close()
