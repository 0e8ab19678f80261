"""A model in this process: `Local` over an engine of random weights."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from pydantic import BaseModel

from actum import Agent, Limits, tool
from actum.core.errors import UsageError
from actum.core.event import CallDelta, CallSaid, Delta, TextDelta
from actum.core.message import UserMessage
from actum.core.model import Model, Request
from actum.core.tool import Tool
from actum.models import open_model
from actum.models.local import Local
from actum.models.local_transformers import plain_prompt

from .random_model import END, MARKS, RandomModel, vocabulary_of

VOCABULARY = vocabulary_of(MARKS)
QWEN = "{% for message in messages %}<tool_call></tool_call>{% endfor %}"
PING = Tool(name="ping", parameters={"type": "object", "properties": {}})
GREET = Tool(
    name="greet",
    parameters={"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
)


class RandomEngine:
    """An engine without torch."""

    def __init__(self, *, template: str = QWEN, wishes: dict[str, float] | None = None) -> None:
        self.vocabulary = VOCABULARY
        self.template = template
        self.temperature = 1.0
        strengths = {VOCABULARY.special[mark]: strength for mark, strength in (wishes or {}).items()}
        self.next_logits = RandomModel(VOCABULARY.size, wishes=strengths).next_logits
        self.prompts: list[str] = []

    def render(self, messages: Sequence[tuple[str, str]]) -> str:
        self.prompts.append(plain_prompt(messages))
        return self.prompts[-1]

    def encode(self, prompt: str) -> list[int]:
        return VOCABULARY.encode(prompt)


def tokens_of(text: str) -> list[int]:
    """Text as tokens, marks as theirs."""
    pieces = re.split("(" + "|".join(map(re.escape, MARKS)) + ")", text)
    tokens = [[VOCABULARY.special[piece]] if piece in MARKS else VOCABULARY.encode(piece) for piece in pieces]
    return [token for piece in tokens for token in piece]


class Says:
    """An engine that says one text, then ends."""

    def __init__(self, text: str, template: str = QWEN) -> None:
        self.vocabulary = VOCABULARY
        self.template = template
        self.temperature = 0.0
        self._said = [*tokens_of(text), VOCABULARY.special[END]]
        self._prompt = 0

    def render(self, messages: Sequence[tuple[str, str]]) -> str:
        return "> "

    def encode(self, prompt: str) -> list[int]:
        tokens = VOCABULARY.encode(prompt)
        self._prompt = len(tokens)
        return tokens

    def next_logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        logits = np.zeros(VOCABULARY.size, dtype=np.float32)
        logits[self._said[min(len(tokens) - self._prompt, len(self._said) - 1)]] = 9.0
        return logits


def local(engine: Callable[[], RandomEngine | Says], **options: object) -> Local:
    return Local(engine, name="local:random", seed=1, **options)  # type: ignore[arg-type]


def asked(*tools: Tool, **more: object) -> Request:
    return Request(messages=[UserMessage.of("Greet Ada.")], tools=tools, **more)  # type: ignore[arg-type]


@pytest.mark.row("S7")
async def test_random_weights_can_only_answer_what_the_output_type_allows() -> None:
    class Order(BaseModel):
        size: Literal["small", "large"]
        paid: bool

    for seed in range(10):
        model = Local(RandomEngine, name="local:random", seed=seed)
        assert (await Agent(model, output_type=Order).run("?")).steps == 1
        assert isinstance((await Agent(model, output_type=bool | None).run("?")).output, bool | None)


async def test_it_is_a_model_that_streams_what_it_says() -> None:
    model = local(RandomEngine)
    assert isinstance(model, Model)
    heard: list[Delta] = []
    reply = await model.reply(asked(PING, GREET, tool_choice="required"), heard.append)
    assert reply.calls
    assert [delta.call for delta in heard if isinstance(delta, CallSaid)] == list(reply.calls)
    told = "".join([delta.arguments for delta in heard if isinstance(delta, CallDelta) and delta.index == 0])
    assert told == reply.calls[0].raw
    assert reply.finish_reason == "stop"
    assert reply.usage.output_tokens > 0
    assert reply.model == "local:random"


@pytest.mark.row("S7")
async def test_an_agent_runs_on_random_weights() -> None:
    greeted = []

    @tool
    def greet(name: str, times: int = 1) -> str:
        """Greet someone."""
        greeted.append(name)
        return f"Hello, {name}!"

    model = local(lambda: RandomEngine(wishes={"<tool_call>": 8.0, END: 4.0}))
    result = await Agent(model, tools=[greet], limits=Limits(steps=3)).run("Greet Ada.")
    assert greeted
    assert all(answer.error is None for _, answer in result.calls)


@pytest.mark.row("S7")
async def test_copies_are_of_the_conversation() -> None:
    model = local(RandomEngine, constrained="copy")
    reply = await model.reply(asked(GREET, tool_choice="required"))
    assert all(str(call.arguments["name"]) in "Greet Ada." for call in reply.calls)


@pytest.mark.parametrize(
    ("template", "name", "expected"),
    [(QWEN, "x", "hermes"), ("", "local:models/Phi-4-mini", "phi4_mini"), ("", "x", "prompt_json")],
)
def test_the_dialect_is_found_by_template_or_name(template: str, name: str, expected: str) -> None:
    model = Local(lambda: RandomEngine(template=template), name=name)
    assert model.dialect().name == expected


async def test_a_dialect_of_an_api_is_refused() -> None:
    with pytest.raises(UsageError, match="no text dialect called 'openai_chat'"):
        await local(RandomEngine, dialect="openai_chat").reply(asked(PING))


async def test_it_stops_at_a_text_that_is_asked_for() -> None:
    heard: list[Delta] = []
    reply = await local(lambda: Says("One. Two. Three.")).reply(asked(stop=("wo. ", " Th")), heard.append)
    assert reply.text == "One. T"
    assert "".join([delta.text for delta in heard if isinstance(delta, TextDelta)]) == "One. T"


async def test_a_call_that_its_limit_cuts_off_is_not_complete() -> None:
    reply = await local(RandomEngine).reply(asked(GREET, tool_choice="required", max_tokens=25))
    assert reply.finish_reason == "length"
    assert reply.usage.output_tokens == 25
    assert not reply.calls[-1].complete


async def test_without_a_grammar_it_says_what_it_likes() -> None:
    text = '<tool_call>\n{"name": "fly", "arguments": {}}\n</tool_call>'
    free = await local(lambda: Says(text), constrained=False).reply(asked(PING))
    bound = await local(lambda: Says(text)).reply(asked(PING))
    assert [call.name for call in free.calls] == ["fly"]
    assert [call.name for call in bound.calls] in ([], ["ping"])


async def test_a_cancelled_answer_leaves_the_engine_free() -> None:
    model = local(lambda: RandomEngine(wishes={END: -1000.0}))
    begun = asyncio.Event()
    task = asyncio.create_task(model.reply(asked(max_tokens=10**9), lambda delta: begun.set()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await model.reply(asked(max_tokens=3))).usage.output_tokens == 3


async def test_an_answer_that_waits_for_another_can_be_cancelled() -> None:
    model = local(lambda: RandomEngine(wishes={END: -1000.0}))
    begun = asyncio.Event()
    long = asyncio.create_task(model.reply(asked(max_tokens=10**9), lambda delta: begun.set()))
    await begun.wait()
    waits = asyncio.create_task(model.reply(asked(max_tokens=3)))
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert not long.done()
    long.cancel()
    with pytest.raises(asyncio.CancelledError):
        await long


async def test_what_the_grammar_does_not_hold_is_said(caplog: pytest.LogCaptureFixture) -> None:
    odd = Tool(name="odd", parameters={"type": "object", "properties": {"x": {"not": {"const": 1}}}})
    model = local(RandomEngine)
    with caplog.at_level(logging.WARNING):
        await model.reply(asked(odd, max_tokens=5))
        await model.reply(asked(odd, max_tokens=5))
    assert [(one.tool, one.kept) for one in model.loose] == [("odd", "lenient")]
    (record,) = caplog.records
    assert "odd" in record.getMessage()
    assert "not" in record.getMessage()


async def test_reasoning_that_the_prompt_began_is_reasoning() -> None:
    class Thinks(Says):
        def render(self, messages: Sequence[tuple[str, str]]) -> str:
            return "<|im_start|>assistant\n<think>\n"

    reply = await local(lambda: Thinks("Easy.</think>\n\nHello.")).reply(asked(PING))
    assert (reply.reasoning, reply.text.strip()) == ("Easy.", "Hello.")


def test_a_missing_package_is_named() -> None:
    try:
        model = open_model("local:some/model")
    except UsageError as error:
        assert "pip install 'actum[local]'" in str(error)  # noqa: PT017  # one of two, as the machine has torch or not
    else:
        assert model.name == "local:some/model"
