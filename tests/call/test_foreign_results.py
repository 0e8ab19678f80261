"""What tools and toolsets hand back that they may not: it fails its one call, in a sentence, and the run goes on."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest

from actum import Agent, Context, Tool, ToolCall, ToolError, ToolResult, tool
from actum.core.call import Effect, MediaPart, TextPart
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


GONE = "[a {}: JSON can't hold it]"
LOCK = GONE.format("object")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ToolResult("0", structured={"paid": 12, "by": object()}), f'{{"paid":12,"by":"{LOCK}"}}'),  # type: ignore[dict-item]
        (ToolResult("0", structured=[1.5, 1j]), f'[1.5,"{GONE.format("complex")}"]'),  # type: ignore[list-item]
        (ToolResult("0", (TextPart("paid \ud83d"),)), "paid \ufffd"),
        (
            ToolResult("0", (MediaPart("image/png", b"p", name="caf\udce9.png"),)),
            "[att_1: image/png, caf\ufffd.png, 1 bytes]",
        ),
        (ToolResult("0", (TextPart("paid"), object())), "paid"),  # type: ignore[arg-type]
        (ToolResult("0", (TextPart(12),)), "12"),  # type: ignore[arg-type]
    ],
    ids=["an object", "a complex number", "a surrogate", "a name", "a part", "a number"],
)
async def test_of_what_a_toolset_returns_all_that_can_be_said_is_kept(answer: ToolResult, said: str) -> None:
    result = await run(Foreign(answer))
    assert codes(result) == ["ok"]
    assert said in result.calls[0][1].text


@pytest.mark.parametrize(("answer", "said"), [(None, "null"), ("paid", "paid")], ids=["nothing", "a text"])
async def test_what_is_no_result_at_all_is_told_in_the_error(answer: object, said: str) -> None:
    result = await run(Foreign(answer))
    assert codes(result) == ["invalid_result"]
    assert said in result.calls[0][1].text


@pytest.mark.parametrize("effect", ["done", "unknown"])
async def test_an_error_with_a_file_of_any_name_keeps_its_words(effect: Effect) -> None:
    async def find() -> str:
        """Find."""
        raise ToolError("Half is written.", effect=effect, files=[MediaPart("text/csv", b"1,2", name="caf\udce9.csv")])

    result = await run(find)
    assert codes(result) == ["tool_error"]
    assert result.calls[0][1].text == "Half is written.\n[att_1: text/csv, caf\ufffd.csv, 3 bytes]"


async def test_a_result_answers_the_call_that_was_made() -> None:
    result = await run(Foreign(ToolResult("another", (TextPart("found"),))))
    assert (result.calls[0][1].call_id, result.calls[0][1].text) == ("0", "found")


async def test_a_result_that_does_not_fit_the_tools_own_schema_is_invalid() -> None:
    promised: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    result = await run(RecordingToolset([Tool(name="find", result=promised)], lambda call: {"b": "x"}))
    assert codes(result) == ["invalid_result"]
    assert '{"b":"x"}' in result.calls[0][1].text


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
