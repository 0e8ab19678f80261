"""`local:` models on transformers: a tiny Llama of random weights, made here. `make test-local` runs it.

It stands apart from the other tests because torch is too large for a machine that only runs those.
"""

from __future__ import annotations

from pathlib import Path

import jsonschema_rs
import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from actum import Agent, Limits, tool
from actum.core.errors import UsageError
from actum.core.message import SystemMessage, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.models import open_model
from actum.models.local import Local
from actum.models.local_transformers import Transformers

CHATML = (
    "{% for message in messages %}"
    "{% if message.role == 'system' and forbids %}{{ raise_exception('no system') }}{% endif %}"
    "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}{# <tool_call> </tool_call> #}"
)
WEATHER = Tool(
    name="get_weather",
    parameters={
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}, "days": {"type": "integer", "maximum": 9}},
        "required": ["city"],
    },
)
REQUEST = Request(messages=[UserMessage.of("Weather in Oslo?")], tools=(WEATHER,), tool_choice="required")

# Deprecations inside of torch and transformers are no concern of ours.
pytestmark = pytest.mark.filterwarnings("default")


def make(path: Path, template: str) -> Path:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    inner.add_special_tokens([AddedToken(mark, special=True) for mark in ("<|im_end|>", "<|im_start|>")])
    inner.add_tokens([AddedToken(mark, special=False) for mark in ("<tool_call>", "</tool_call>")])
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    tokenizer.chat_template = template
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=None,
    )
    llama = LlamaForCausalLM(config)
    llama.generation_config.do_sample = True
    llama.save_pretrained(path)
    tokenizer.save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return make(tmp_path_factory.mktemp("tiny"), CHATML)


@pytest.fixture(scope="module")
def engine(tiny: Path) -> Transformers:
    return Transformers(str(tiny), "cpu")


async def test_random_weights_make_valid_calls(engine: Transformers) -> None:
    for seed in range(20):
        model = Local(lambda: engine, name="local:tiny", seed=seed)
        reply = await model.reply(REQUEST)
        assert model.dialect().name == "hermes"
        assert reply.calls
        for call in reply.calls:
            assert (call.name, call.complete, call.repairs) == ("get_weather", True, ())
            jsonschema_rs.validator_for(WEATHER.parameters).validate(call.arguments)


async def test_an_agent_runs_on_a_model_of_a_path(tiny: Path) -> None:
    asked = []

    @tool
    def get_weather(days: int) -> str:
        """The weather of the next days."""
        asked.append(days)
        return "It rains."

    model = open_model(f"local:{tiny}")
    assert repr(model).startswith("Local('local:")
    result = await Agent(model, tools=[get_weather], limits=Limits(steps=2)).run("Weather?")
    assert result.status in ("done", "stopped")
    assert all(answer.error is None for _, answer in result.calls)


async def test_at_temperature_0_an_answer_is_the_same_again(engine: Transformers) -> None:
    model = Local(lambda: engine, name="local:tiny")
    request = Request(messages=REQUEST.messages, temperature=0.0, max_tokens=30)
    first, again = await model.reply(request), await model.reply(request)
    assert first.text == again.text
    assert first.usage.output_tokens <= 30


def test_what_is_kept_from_before_changes_no_logits(engine: Transformers, tiny: Path) -> None:
    tokens = engine.encode("<|im_start|>user\nHello there<|im_end|>")
    for sequence in (tokens, [*tokens, 5, 6, 7], tokens[:4], [*tokens[:4], 9], [8, *tokens]):
        fresh = Transformers(str(tiny), "cpu").next_logits(sequence)
        assert np.allclose(engine.next_logits(sequence), fresh, atol=1e-4)
        assert np.allclose(engine.next_logits(sequence), fresh, atol=1e-4)


def test_marks_are_tokens_of_their_own(engine: Transformers) -> None:
    assert {"<tool_call>", "</tool_call>", "<|im_end|>"} <= engine.vocabulary.special.keys()
    assert engine.vocabulary.special["<|im_end|>"] in engine.vocabulary.ends
    assert engine.vocabulary.special["<tool_call>"] in engine.encode("<tool_call>")


async def test_instructions_go_to_the_user_where_a_template_takes_none(tmp_path: Path) -> None:
    strict = Transformers(str(make(tmp_path, CHATML.replace(" and forbids", ""))), "cpu")
    prompt = strict.render([("system", "Be kind."), ("user", "Hello")])
    assert "<|im_start|>user\nBe kind.\n\nHello<|im_end|>" in prompt
    reply = await Local(lambda: strict, name="x").reply(
        Request(messages=[SystemMessage("Be kind."), UserMessage.of("Hello")], max_tokens=5)
    )
    assert reply.usage.output_tokens <= 5


async def test_a_path_without_a_model_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can not be loaded"):
        await open_model(f"local:{tmp_path}").reply(REQUEST)
