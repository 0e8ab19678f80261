"""Sampling under a grammar, with models of random weights and no torch."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter

import jsonschema_rs
import numpy as np
import pytest

from actum.core.errors import UsageError
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.catalog import text_dialect
from actum.dialects.grammar.grammar import Grammar, grammar_of
from actum.models.constrained import Vocabulary, generate, need

from .random_model import END, MARKS, RandomModel, vocabulary_of

TOOLS = (
    Tool(name="ping"),
    Tool(
        name="book_flight",
        parameters={
            "type": "object",
            "properties": {
                "from": {"type": "string", "pattern": "^[A-Z]{3}$"},
                "to": {"type": "string", "pattern": "^[A-Z]{3}$"},
                "passengers": {"type": "integer", "minimum": 1, "maximum": 9},
                "class": {"enum": ["economy", "business"]},
                "price_max": {"type": "number", "minimum": 0},
            },
            "required": ["from", "to"],
        },
    ),
    Tool(
        name="send_mail",
        parameters={
            "type": "object",
            "properties": {
                "to": {"type": "array", "items": {"type": "string", "maxLength": 12}, "minItems": 1, "maxItems": 3},
                "subject": {"type": "string", "maxLength": 30},
                "body": {"type": "string", "maxLength": 60},
                "urgent": {"type": "boolean"},
            },
            "required": ["to", "subject", "body"],
        },
    ),
    Tool(
        name="查天气",
        parameters={
            "type": "object",
            "properties": {"城市": {"type": "string", "maxLength": 8}, "when": {"type": "string", "format": "date"}},
            "required": ["城市", "when"],
        },
    ),
    Tool(
        name="set.tree",
        parameters={
            "type": "object",
            "properties": {"root": {"$ref": "#/$defs/node"}},
            "required": ["root"],
            "$defs": {
                "node": {
                    "type": "object",
                    "properties": {
                        "value": {"type": ["number", "null"]},
                        "next": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]},
                    },
                    "required": ["value"],
                }
            },
        },
    ),
)
VOCABULARY = vocabulary_of(MARKS)


def hermes(*tools: Tool, vocabulary: Vocabulary = VOCABULARY) -> Grammar:
    request = Request(messages=[], tools=tools, tool_choice="required")
    return grammar_of(text_dialect("hermes"), request, refuses=vocabulary.refuses, special=vocabulary.special)


@pytest.mark.no_cover
@pytest.mark.row("S7")
def test_200_answers_of_random_weights_are_200_valid_calls() -> None:
    found, calls = hermes(*TOOLS), Counter[str]()
    schemas = {tool.name: jsonschema_rs.validator_for(tool.parameters) for tool in TOOLS}
    for seed in range(200):
        model = RandomModel(VOCABULARY.size, seed=seed)
        out = list(
            generate(model.next_logits, VOCABULARY, [], grammar=found.source, max_tokens=4000, temperature=1, seed=seed)
        )
        reply = found.dialect.decode(b"".join(map(VOCABULARY.bytes_of, out)), tools=TOOLS)
        assert len(out) < 4000
        assert reply.text == ""
        assert reply.calls
        for call in reply.calls:
            assert (call.complete, call.repairs) == (True, ())
            schemas[call.name].validate(call.arguments)
            calls[call.name] += 1
    assert calls.keys() == schemas.keys()


def test_without_a_grammar_random_weights_make_no_call() -> None:
    for seed in range(20):
        model = RandomModel(VOCABULARY.size, seed=seed)
        out = generate(model.next_logits, VOCABULARY, [], max_tokens=100, seed=seed)
        assert not text_dialect("hermes").decode(b"".join(map(VOCABULARY.bytes_of, out)), tools=TOOLS).calls


def test_the_same_seed_gives_the_same_answer() -> None:
    model = RandomModel(VOCABULARY.size)
    first, again, other = (list(generate(model.next_logits, VOCABULARY, [], max_tokens=20, seed=s)) for s in (1, 1, 2))
    assert first == again != other


def test_at_temperature_0_the_likeliest_token_is_taken() -> None:
    model = RandomModel(VOCABULARY.size)
    tokens: list[int] = []
    for token in generate(model.next_logits, VOCABULARY, [], max_tokens=10, temperature=0):
        assert token == int(model.next_logits(tokens).argmax())
        tokens.append(token)


def test_with_a_small_top_p_the_likeliest_token_is_taken_and_with_all_of_it_any() -> None:
    model = RandomModel(VOCABULARY.size)
    narrow = list(generate(model.next_logits, VOCABULARY, [], max_tokens=10, top_p=1e-9, seed=3))
    assert narrow == list(generate(model.next_logits, VOCABULARY, [], max_tokens=10, temperature=0))
    whole = list(generate(model.next_logits, VOCABULARY, [], max_tokens=10, top_p=1.0, seed=3))
    assert whole == list(generate(model.next_logits, VOCABULARY, [], max_tokens=10, seed=3)) != narrow


def test_an_answer_ends_where_the_model_ends_it_or_at_its_limit() -> None:
    end = VOCABULARY.special[END]
    ends = RandomModel(VOCABULARY.size, wishes={end: 1000.0})
    goes_on = RandomModel(VOCABULARY.size, wishes={end: -1000.0})
    assert list(generate(ends.next_logits, VOCABULARY, [], max_tokens=50)) == []
    assert len(list(generate(goes_on.next_logits, VOCABULARY, [], max_tokens=50, seed=0))) == 50


def test_the_model_is_not_asked_where_the_grammar_leaves_no_choice() -> None:
    model = RandomModel(VOCABULARY.size)
    out = list(generate(model.next_logits, VOCABULARY, [], grammar=hermes(TOOLS[0]).source, seed=0))
    assert model.asked < len(out) / 2


def test_logits_beyond_the_vocabulary_are_cut_off() -> None:
    def padded(tokens: object) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
        return np.full(VOCABULARY.size + 100, 1.0, dtype=np.float32)

    assert all(token < VOCABULARY.size for token in generate(padded, VOCABULARY, [], max_tokens=200, seed=0))


def test_text_is_cut_into_tokens_and_back() -> None:
    text = 'Thought: 北京 "name" 😀<tool_call>'
    tokens = VOCABULARY.encode(text)
    assert b"".join(map(VOCABULARY.bytes_of, tokens)).decode() == text
    assert len(tokens) < len(text.encode())
    assert VOCABULARY.special["<tool_call>"] not in tokens


def test_a_grammar_that_is_none_is_refused_with_a_reason() -> None:
    assert VOCABULARY.refuses("start: nothing") != ""
    with pytest.raises(UsageError, match="does not take"):
        list(generate(RandomModel(VOCABULARY.size).next_logits, VOCABULARY, [], grammar="start: nothing"))


def test_what_is_missing_is_named_with_what_to_install() -> None:
    with pytest.raises(UsageError, match=r"no_such_engine.*pip install 'actum\[local\]'"):
        need("llguidance", "no_such_engine")


def test_importing_it_loads_neither_engine_nor_numpy() -> None:
    code = (
        "import sys, actum.models.local, actum.dialects.grammar.grammar\n"
        "assert not {'numpy', 'llguidance', 'torch', 'transformers'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
