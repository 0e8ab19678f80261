"""What tools and toolsets hand back that they may not: it fails its one call, in a sentence, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from actum import Agent, Context, Tool, ToolCall, ToolError, ToolResult, tool
from actum.core.call import TextPart
from actum.core.errors import CallError, RateLimited
from actum.core.event import RunResult
from actum.core.json import Json, JsonObject
from actum.runs.given_tools import Toolish
from actum.testing import FakeClock, RecordingToolset, Said, ScriptedModel

pytestmark = pytest.mark.row("C2")


async def run(tool: Toolish, calls: int = 1) -> RunResult:
    """The run of a model that calls `find`, so often in one turn, and goes on."""
    script: list[Said] = [[ToolCall(str(number), "find", {}) for number in range(calls)], "Went on."]
    agent = Agent(ScriptedModel(script), [tool], clock=FakeClock(auto=True))
    result = await agent.run("Find")
    assert result.text == "Went on."
    assert (await agent.resume(result.run_id)).calls == result.calls
    return result


def codes(result: RunResult) -> list[str]:
    return [done.error.code if done.error else "ok" for _, done in result.calls]


@pytest.mark.parametrize(
    ("words", "told"),
    [(ValueError("no such city"), "no such city"), (404, "404"), ("half a pair \ud83d", "half a pair \ufffd")],
    ids=["an error", "a number", "a surrogate"],
)
async def test_a_tool_error_may_be_made_of_anything(words: object, told: str) -> None:
    async def find() -> str:
        """Find."""
        raise ToolError(words)

    result = await run(find)
    assert (codes(result), result.calls[0][1].text) == (["tool_error"], told)


async def test_a_tool_that_raises_the_bare_call_error_fails_alone() -> None:
    async def find() -> str:
        """Find."""
        raise CallError("No.")

    result = await run(find)
    assert (codes(result), result.calls[0][1].text) == (["tool_error"], "No.")


@pytest.mark.parametrize("calls", [1, 2])
async def test_a_tool_that_cancels_itself_fails_alone(calls: int) -> None:
    async def find() -> str:
        """Await what was cancelled."""
        raise asyncio.CancelledError

    assert codes(await run(find, calls)) == ["tool_bug"] * calls


async def test_a_tools_own_timeout_is_not_told_as_ours() -> None:
    async def find() -> str:
        """Wait for something else."""
        raise TimeoutError

    result = await run(find)
    assert codes(result) == ["timeout"]
    assert "waited in vain" in result.calls[0][1].text


class Foreign:
    """A toolset that is not ours, and answers as it likes."""

    generation = 0

    def __init__(self, answer: object) -> None:
        self._answer = answer

    async def list_tools(self) -> Sequence[Tool]:
        return [Tool(name="find")]

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        return self._answer  # type: ignore[return-value]  # as a toolset without types would


@pytest.mark.parametrize(
    "answer",
    [None, "text", ToolResult("0", structured=object()), ToolResult("0", (TextPart("\ud83d"),))],  # type: ignore[arg-type]
    ids=["nothing", "a text", "an object", "a surrogate"],
)
async def test_what_a_toolset_may_not_return_is_an_invalid_result(answer: object) -> None:
    assert codes(await run(Foreign(answer))) == ["invalid_result"]


async def test_a_result_answers_the_call_that_was_made() -> None:
    result = await run(Foreign(ToolResult("another", (TextPart("found"),))))
    assert (result.calls[0][1].call_id, result.calls[0][1].text) == ("0", "found")


async def test_a_result_that_does_not_fit_the_tools_own_schema_is_invalid() -> None:
    promised: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    result = await run(RecordingToolset([Tool(name="find", result=promised)], lambda call: {"b": "x"}))
    assert codes(result) == ["invalid_result"]


@pytest.mark.row("C7")
async def test_a_second_attempt_gets_the_arguments_that_are_on_record() -> None:
    got: list[list[str]] = []

    @tool(idempotent=True)
    async def send(items: list[str]) -> str:
        """Send."""
        got.append(list(items))
        items.append("mine")
        if len(got) == 1:
            raise RateLimited("Later.")
        return "sent"

    script: list[Said] = [[ToolCall("1", "send", {"items": ["a"]})], "Sent."]
    result = await Agent(ScriptedModel(script), [send], clock=FakeClock(auto=True)).run("Send")
    assert got == [["a"], ["a"]]
    assert result.calls[0][0].arguments == {"items": ["a"]}


async def test_a_result_whose_fields_are_named_by_numbers_breaks_nothing() -> None:
    numbered = {1: {2: "password: hunter22"}}
    toolset = RecordingToolset([Tool(name="count")], lambda call: cast(Json, numbered))
    agent = Agent(ScriptedModel([[ToolCall("1", "count", {})], "Done."]), [toolset])
    (done,) = (await agent.run("Count")).calls
    assert done[1].structured == {"1": {"2": "password: [redacted: password]"}}
