"""A language model of random weights: what it says under a grammar, the grammar alone makes sense of."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from actum.models.constrained import Vocabulary

END = "<|end|>"
MARKS = (END, "<tool_call>", "</tool_call>", "<|python_tag|>", "<think>", "</think>", "[TOOL_CALLS]")
_LETTERS = "etaoinshrdlu"
PIECES = [
    *(first + second for first in _LETTERS for second in _LETTERS),
    *(" " + letter for letter in _LETTERS),
    *('",', '"}', '":', '": ', '{"', ' "', '"}}', "}}", "]}", ", ", ": ", "</", "\n\n", "\n</", ">\n", "=", '="', "()"),
    *("name", "arguments", "tool", "params", "function", "parameter", "Action", "Thought: ", "Answer: "),
    *("é", "ü", "北京", "上海", "天", "😀", "true", "false", "null", "10", "20", "007", "0.5", "e3", "-1"),
]


def vocabulary_of(marks: Sequence[str] = (END,)) -> Vocabulary:
    """Every byte, a few hundred longer tokens, and marks that are tokens of their own; the first ends an answer."""
    tokens = [bytes([byte]) for byte in range(256)] + [piece.encode() for piece in dict.fromkeys(PIECES)]
    special = range(len(tokens), len(tokens) + len(marks))
    return Vocabulary.of([*tokens, *(mark.encode() for mark in marks)], special=[*special], ends=[special[0]])


class RandomModel:
    """Logits out of the last three tokens and random weights."""

    def __init__(self, size: int, *, seed: int = 0, width: int = 16, wishes: dict[int, float] | None = None) -> None:
        random = np.random.default_rng(seed)
        self._inner = random.normal(size=(3, size, width)).astype(np.float32)
        self._outer = random.normal(size=(width, size)).astype(np.float32) * np.float32(0.6)
        self._wish = np.zeros(size, dtype=np.float32)
        for token, strength in (wishes or {}).items():
            self._wish[token] = strength
        self.asked = 0

    def next_logits(self, tokens: Sequence[int]) -> NDArray[np.float32]:
        self.asked += 1
        last = [0, 0, 0, *tokens][-3:]
        state = np.tanh(self._inner[0, last[0]] + self._inner[1, last[1]] + self._inner[2, last[2]])
        logits: NDArray[np.float32] = state @ self._outer + self._wish
        return logits
