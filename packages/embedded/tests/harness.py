"""The questions of these tests, the tools they are about, and a short way to hold a conversation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from actum.core.call import Failure, ToolCall, ToolResult
from actum.core.json import Json, JsonObject
from actum.core.message import Message, Reply, SystemMessage, ToolMessage, Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool, ToolChoice
from actum.toolsets.everyday import everyday_tools
from actum_embedded import Embedded

HERE = Path(__file__).parent
TODAY = date(2026, 11, 20)
"""A Friday."""

Result = Json | Failure


def model() -> Embedded:
    """The model on the day on which these tests are held."""
    return Embedded(today=lambda: TODAY)


@cache
def tools(group: str) -> tuple[Tool, ...]:
    """A group of tools: `everyday`, one of `tools.json`, or `all` for everyday and desk together."""
    if group == "everyday":
        return tuple(tool.definition for tool in everyday_tools(HERE))
    if group == "all":
        return tools("everyday") + tools("desk")
    declared = json.loads((HERE / "tools.json").read_text("utf-8"))[group]
    return tuple(
        Tool(
            name=each["name"],
            description=each["description"],
            parameters=each["parameters"],
            effects=frozenset(each["effects"]),
        )
        for each in declared
    )


def named(group: str, *names: str) -> tuple[Tool, ...]:
    """Some tools of a group."""
    return tuple(tool for tool in tools(group) if tool.name in names)


class Question(Struct, frozen=True):
    """A question and what it should come to.

    Attributes:
        ask: the words.
        tools: the group of tools on offer.
        calls: the calls of the first reply, each a name and arguments.
        asks: it should ask for something back.
    """

    ask: str
    tools: str
    calls: list[tuple[str, JsonObject]]
    asks: bool = False


def questions(name: str) -> list[Question]:
    """A file of questions."""
    lines = (HERE / f"{name}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Question) for line in lines]


class Talk:
    """A conversation with the embedded model; results of calls are handed to it by the test.

    Args:
        offered: the tools.
        system: instructions.
    """

    def __init__(self, offered: Sequence[Tool], system: str = "") -> None:
        self.tools = tuple(offered)
        self.messages = Transcript([SystemMessage(system)] if system else [])
        self.model = model()

    async def say(self, text: str, *, choice: ToolChoice = "auto", parallel: bool | None = None) -> Reply:
        """Say something, and get the model's reply to it."""
        self.messages.append(UserMessage.of(text))
        return await self.go_on(choice=choice, parallel=parallel)

    async def go_on(self, *, choice: ToolChoice = "auto", parallel: bool | None = None) -> Reply:
        """The model's next reply."""
        request = Request(messages=self.messages, tools=self.tools, tool_choice=choice, parallel_calls=parallel)
        reply = await self.model.reply(request)
        self.messages.append(reply)
        return reply

    async def hand_back(self, *results: Result) -> Reply:
        """Answer the calls of the last reply in their order, and get the next reply."""
        last = self.messages[-1]
        assert isinstance(last, Reply)
        assert len(last.calls) == len(results), f"{len(results)} results for {calls_of(last)}"
        for call, result in zip(last.calls, results, strict=True):
            self.messages.append(tool_message(call, result))
        return await self.go_on()


def tool_message(call: ToolCall, result: Result) -> Message:
    """The message that answers a call."""
    if isinstance(result, Failure):
        return ToolMessage(call.name, ToolResult(call.id, error=result))
    return ToolMessage(call.name, ToolResult(call.id, structured=result))


def calls_of(reply: Reply) -> list[tuple[str, JsonObject]]:
    """The calls of a reply: name and arguments."""
    return [(call.name, call.arguments) for call in reply.calls]


def is_right(wanted: Sequence[tuple[str, JsonObject]], made: Sequence[tuple[str, JsonObject]]) -> bool:
    """Whether the calls are those that were wanted, in any order. `{"any": [...]}` stands for one of several values;
    spaces in text do not count."""
    left = list(made)
    for name, arguments in wanted:
        found = next((call for call in left if call[0] == name and _same(arguments, call[1])), None)
        if found is None:
            return False
        left.remove(found)
    return not left


def _same(wanted: JsonObject, made: JsonObject) -> bool:
    return wanted.keys() == made.keys() and all(_fits(value, made[name]) for name, value in wanted.items())


def _fits(wanted: Json, made: Json) -> bool:
    if isinstance(wanted, dict) and isinstance(wanted.get("any"), list):
        choices = wanted["any"]
        assert isinstance(choices, list)
        return any(_fits(choice, made) for choice in choices)
    if isinstance(wanted, str) and isinstance(made, str):
        return "".join(wanted.split()) == "".join(made.split())
    return wanted == made and isinstance(wanted, bool) == isinstance(made, bool)
