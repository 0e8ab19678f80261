"""How an agent's model is asked, in each kind of request; and what is told of an answer that was cut off."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import BaseModel

from actum import Agent, Context, ModelSettings, ToolCall, tool
from actum.core.errors import UsageError
from actum.core.message import Reply, Usage, UserMessage
from actum.core.model import Request
from actum.core.run.record import Started
from actum.journal.memory import MemoryJournal
from actum.testing import ScriptedModel

pytestmark = pytest.mark.row("A1")


@tool(effects={"spend"}, approval=True)
async def pay(amount: int) -> str:
    """Pay.

    Args:
        amount: how much
    """
    return f"paid {amount}"


@tool
async def think(ctx: Context) -> str:
    """Have a model think."""
    return (await ctx.sample(Request(messages=[UserMessage.of("?")], max_tokens=9))).text


AGENT = ModelSettings(temperature=0.2, max_tokens=50, stop="END", headers={"X-Team": "blue"}, extras={"top_k": 5})


async def test_an_agent_s_settings_and_a_run_s_reach_each_request() -> None:
    model = ScriptedModel([[ToolCall("1", "think", {})], "Thought.", "Done.", "Again."])
    agent = Agent(model, tools=[think], settings=AGENT)
    await agent.run("?", settings=ModelSettings(temperature=0.9, seed=4, timeout_s=5))
    first, sampled, last = model.requests
    for asked in (first, last):
        told = (asked.temperature, asked.max_tokens, asked.seed, asked.stop, asked.timeout_s, asked.extras)
        assert told == (0.9, 50, 4, ("END",), 5, {"top_k": 5})
        assert asked.headers == {"x-team": "blue"}
    assert (sampled.max_tokens, sampled.stop, sampled.temperature) == (9, (), 0.9)  # its own length, our headers
    assert sampled.headers == {"x-team": "blue"}
    await agent.run("?")
    assert (model.requests[-1].temperature, model.requests[-1].seed) == (0.2, None)


async def test_a_resumed_run_is_asked_as_it_was_begun_and_its_headers_are_not_on_record() -> None:
    journal = MemoryJournal()
    model = ScriptedModel([[ToolCall("1", "pay", {"amount": 3})], "Done."])
    begun = Agent(model, tools=[pay], settings=AGENT, journal=journal)
    paused = await begun.run("?", run_id="r", settings=ModelSettings(seed=4))
    started = (await journal.read("r"))[0].record
    assert isinstance(started, Started)
    assert started.settings == {"temperature": 0.2, "max_tokens": 50, "stop": "END", "seed": 4, "extras": {"top_k": 5}}
    assert all(b"blue" not in entry.payload for entry in await journal.read("r") if entry.payload)
    other = Agent(model, tools=[pay], journal=journal, settings=ModelSettings(temperature=1, headers={"X-Team": "red"}))
    result = await other.resume("r", {paused.pending[0].id: "approve"}, settings=ModelSettings(seed=5))
    asked = model.requests[-1]
    assert result.status == "done"
    assert (asked.temperature, asked.seed, asked.headers) == (0.2, 5, {"x-team": "red"})


async def test_what_are_no_settings_is_refused() -> None:
    for wrong in ({"temperature": 1}, 0.5):
        with pytest.raises(UsageError, match="ModelSettings"):
            Agent(ScriptedModel(["x"]), settings=wrong)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="ModelSettings"):
            await Agent(ScriptedModel(["x"])).run("?", settings=wrong)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="truncation"):
        Agent(ScriptedModel(["x"]), truncation="always")  # type: ignore[arg-type]


CUTS = {
    "length": (
        "length",
        "max_tokens",
        "MAX_TOKENS",
        "max_output_tokens",
        "model_length",
        "model_context_window_exceeded",
    ),
    "content_filter": ("content_filter", "SAFETY", "RECITATION", "refusal", "sensitive"),
}


async def test_a_cut_off_answer_is_stopped_and_told_with_what_there_is_of_it() -> None:
    for reason, words in CUTS.items():
        for word in words:
            for text in ("Once upon a", ""):
                reply = Reply(Reply.of(text).content, finish_reason=word, usage=Usage(10, 50))
                result = await Agent(ScriptedModel([reply])).run("Tell me a story", settings=AGENT)
                assert (result.status, result.stop_reason, result.output_or_none) == ("stopped", reason, None), word
                assert result.text.startswith(text), word
                assert len(result.text) > len(text) + 20, word  # and why it ends there
                assert result.messages[-1] == reply, word


def test_a_cut_off_answer_tells_which_limit_it_met() -> None:
    told: list[tuple[int | None, int | None, int, str, str]] = [
        (50, 8192, 50, "?", "50 tokens that the setting max_tokens allows"),
        (None, 8192, 8192, "?", "8192 tokens: that is asked for where the setting max_tokens gives no limit"),
        (None, None, 100, "?", "limit of its length"),
        (50, None, 20, "?", "limit of its length"),  # something else cut it off
        (50, None, 50, "讲个故事", "max_tokens 设定的 50"),
    ]
    for max_tokens, default, used, question, words in told:
        model = ScriptedModel([Reply(Reply.of("a").content, finish_reason="length", usage=Usage(1, used))])
        if default is not None:
            model.default_max_tokens = default  # type: ignore[attr-defined]
        agent = Agent(model, settings=ModelSettings(max_tokens=max_tokens))
        assert words in agent.run_sync(question).text


async def test_a_cut_off_answer_of_a_type_is_not_asked_for_again() -> None:
    class Found(BaseModel):
        name: str

    reply = Reply(Reply.of('{"name": "Ada').content, finish_reason="length")
    model = ScriptedModel([reply, '{"name": "Ada"}'])
    result = await Agent(model, output_type=Found).run("?")
    assert (result.status, result.stop_reason, len(model.requests)) == ("stopped", "length", 1)


async def test_a_cut_reply_that_holds_calls_goes_on() -> None:
    whole, cut = ToolCall("1", "think2", {"n": 1}), ToolCall("2", "think2", {}, raw='{"n": ', complete=False)

    @tool
    def think2(n: int) -> int:
        """Think of a number."""
        return n

    reply = Reply((whole, cut), finish_reason="length")
    result = await Agent(ScriptedModel([reply, "One."]), tools=[think2]).run("?")
    assert (result.status, result.text) == ("done", "One.")
    assert [outcome.error is None for _, outcome in result.calls] == [True, False]
    assert result.cost == Decimal(0)
