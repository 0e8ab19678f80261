"""What a grammar costs: making it, its mask over the next token, and an answer under it; part of `make bench`.

The model is one of random weights with a vocabulary of 32 000 tokens, so that the time is the grammar's. Masks are
those of an answer of text and calls; the first of a grammar are slower, because its lexer is built as it is used.
"""

from __future__ import annotations

import itertools
import string
import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from actum.core.json import JsonObject
from actum.core.model import Request
from actum.core.tool import Tool
from actum.dialects.catalog import text_dialect
from actum.dialects.grammar.grammar import grammar_of
from actum.models.constrained import Vocabulary, generate

from .loop import Row

END = "<|end|>"
TOKENS_MAX = 300
_PARTS: JsonObject = {
    "city": {"type": "string", "maxLength": 40},
    "days": {"type": "integer", "minimum": 1, "maximum": 14},
    "unit": {"enum": ["celsius", "fahrenheit"]},
    "tags": {"type": "array", "items": {"type": "string", "maxLength": 12}, "maxItems": 3},
}


def _tools(count: int) -> tuple[Tool, ...]:
    """Tools that have nothing in common, so that each costs what it does."""
    return tuple([Tool(name=f"tool_{number}", parameters=_parameters(number)) for number in range(count)])


def _parameters(number: int) -> JsonObject:
    properties: JsonObject = {f"{name}_{number}": schema for name, schema in _PARTS.items()}
    return {"type": "object", "properties": properties, "required": [f"city_{number}", f"days_{number}"]}


def _vocabulary(size: int) -> Vocabulary:
    words = map("".join, itertools.chain(*[itertools.product(string.ascii_lowercase, repeat=n) for n in (2, 3, 4)]))
    pieces = ['": ', '", ', '", "', '"}', "}}", "\n</", "tool_call", *itertools.islice(words, size - 264)]
    tokens = [*(bytes([byte]) for byte in range(256)), *(piece.encode() for piece in pieces), END.encode()]
    return Vocabulary.of(tokens, special=[len(tokens) - 1], ends=[len(tokens) - 1])


def _made(tools: tuple[Tool, ...], vocabulary: Vocabulary, rounds: int) -> tuple[str, float]:
    """A grammar of tools, and the seconds that making one took at best: another each time, so that none is known."""
    found, seconds = "", []
    for number in range(rounds):
        request = Request(messages=[], tools=(*tools, Tool(name=f"round_{number}")), tool_choice="required")
        begun = time.perf_counter()
        found = grammar_of(text_dialect("hermes"), request, refuses=vocabulary.refuses).source
        seconds.append(time.perf_counter() - begun)
    return found, min(seconds)


def _masks(source: str, tokens: list[int], vocabulary: Vocabulary) -> list[float]:
    """The seconds that each mask of an answer took."""
    matcher, seconds = vocabulary.matcher(source), []
    for token in tokens:
        begun = time.perf_counter()
        matcher.compute_bitmask()
        seconds.append(time.perf_counter() - begun)
        matcher.consume_token(token)
    return seconds


def constrained_table(rounds: int) -> list[Row]:
    vocabulary = _vocabulary(32_000)
    weights = np.random.default_rng(0).normal(size=(64, vocabulary.size)).astype(np.float32) * 2

    def next_logits(tokens: Sequence[int]) -> NDArray[np.float32]:
        logits: NDArray[np.float32] = weights[tokens[-1] % 64 if tokens else 0]
        return logits

    rows: list[Row] = []
    for count in (1, 10, 100):
        source, made = _made(_tools(count), vocabulary, rounds)
        masks: list[float] = []
        speed = 0.0
        for seed in range(rounds):
            begun = time.perf_counter()
            answer = generate(next_logits, vocabulary, [], grammar=source, max_tokens=TOKENS_MAX, seed=seed)
            tokens = list(answer)
            speed = max(speed, len(tokens) / (time.perf_counter() - begun))
            masks += _masks(source, tokens, vocabulary)
        masks.sort()
        rows.append(
            {
                "tools": count,
                "grammar ms": round(made * 1e3, 1),
                "mask us median": round(masks[len(masks) // 2] * 1e6),
                "mask us 99 %": round(masks[int(len(masks) * 0.99)] * 1e6),
                "tokens a second": round(speed),
            }
        )
    return rows
