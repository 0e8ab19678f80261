"""Plans, references and forced choices are the same in every way of calling, whole and streamed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TypeGuard

import pytest

from actum import Agent, ToolCall, tool
from actum.core.call import TextPart
from actum.core.event import RunResult
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.dialects import dialect
from actum.dialects.base import ApiDialect, Dialect, TextDialect
from actum.dialects.text.wording import WORDING
from actum.events import RunFinished
from tests.chat_server import ChatServer

from .test_planning import planned

LOOK = [ToolCall("b", "birthday", {"of": "Ada"}), ToolCall("w", "weather", {"on": "${1.date}"})]
TURNS: Sequence[list[ToolCall] | str] = ([planned("pending Look")], LOOK, [planned("done Look")], "Sunny.")
WAYS: dict[str, dict[str, str]] = {
    "openai_chat": {},
    "openai_responses": {},
    "anthropic_messages": {},
    "gemini_content": {},
    "prompt_json": {},
    "react": {"language": "en"},
    "react zh": {"language": "zh"},
    "hermes": {},
}


@tool(effects={"read"})
def birthday(of: str) -> dict[str, str]:
    """The birthday of a person."""
    return {"date": "1815-12-10"}


@tool(effects={"read"})
def weather(on: str) -> str:
    """The weather of a day."""
    return f"sunny on {on}"


def is_text(spoken: Dialect) -> TypeGuard[TextDialect]:
    return not isinstance(spoken, ApiDialect)


def served(spoken: Dialect, asked: list[JsonObject]) -> Callable[[JsonObject], Reply]:
    """Says the turns one after the other, in text where the model calls in text."""

    def answer(request: JsonObject) -> Reply:
        turn = TURNS[len(asked)]
        asked.append(request)
        reply = Reply.of(turn) if isinstance(turn, str) else Reply.of(calls=turn)
        return Reply((TextPart(spoken.encode_reply(reply)),)) if is_text(spoken) else reply

    return answer


async def finished(agent: Agent, *, streamed: bool) -> RunResult:
    if not streamed:
        return await agent.run("What was the weather on Ada's birthday?")
    events = [event async for event in agent.stream("What was the weather on Ada's birthday?")]
    last = events[-1]
    assert isinstance(last, RunFinished)
    return last.result


@pytest.mark.row("A4")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("way", WAYS)
async def test_a_plan_a_reference_and_a_forced_choice_come_to_the_same_calls(way: str, streamed: bool) -> None:
    spoken = dialect(way.split()[0], **WAYS[way])
    asked: list[JsonObject] = []
    with ChatServer(served(spoken, asked)) as server:
        agent = Agent(f"{server.url}#m", [birthday, weather], dialect=spoken, references=True, plan="first")
        result = await finished(agent, streamed=streamed)
    assert (result.status, result.text) == ("done", "Sunny.")
    made = [(call.name, call.arguments.get("on"), told.text) for call, told in result.calls]
    assert made[1:3] == [("birthday", None, '{"date":"1815-12-10"}'), ("weather", "1815-12-10", "sunny on 1815-12-10")]
    assert [name for name, _, _ in made] == ["update_plan", "birthday", "weather", "update_plan"]
    assert [(step.step, step.status) for step in result.plan] == [("Look", "done")]
    if is_text(spoken):
        demand = WORDING["zh" if way.endswith("zh") else "en"].choice_named.format(name="update_plan")
        assert [demand in json.dumps(each, ensure_ascii=False) for each in asked[:2]] == [True, False]
    else:
        choices = [json.dumps([each.get("tool_choice"), each.get("toolConfig")]) for each in asked[:2]]
        assert ["update_plan" in choice for choice in choices] == [True, False]
