"""Sampling under a grammar: logits in, tokens out. Needs numpy and llguidance (the extra `[local]`), and no torch.

    vocabulary.matcher(source) ──mask──▶ ┐
    next_logits(tokens) ──logits───────▶ ┴ one token after the other, until the grammar or the model is at its end

What gives the logits is not known here: a function that is called with all tokens so far. Tokens that the grammar
leaves no choice about are taken without asking it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from ..core.errors import ModelGarbled, UsageError

if TYPE_CHECKING:
    import numpy as np
    from llguidance import LLMatcher, LLTokenizer
    from numpy.typing import NDArray

    Logits = NDArray[np.float32]

_QUOTED = re.compile(r"\s*\d+ \||\s*\^*\s*$")
_PLACE = re.compile(r"^(error: |at \d+\(\d+\): (failed to compile JSON schema: )?)")
"""What an error of the engine says besides: the line of the grammar, and where in it."""

INSTALL = "pip install 'actum[local]'"
_KEPT_MAX = 32
"""The most compiled grammars that are kept: the steps of a run use the same ones."""


class Vocabulary:
    """What a model's tokens stand for.

    Args:
        tokenizer: llguidance's own.
        special: the tokens that are marks, by their text.

    Attributes:
        ends: the tokens that end an answer.
        special: as the argument.
        size: how many tokens there are.
    """

    def __init__(self, tokenizer: LLTokenizer, special: Mapping[str, int]) -> None:
        from llguidance import LLMatcher  # noqa: PLC0415  # in the extra

        self.ends = frozenset(tokenizer.eos_tokens)
        self.special = dict(special)
        self.size = tokenizer.vocab_size
        self._tokenizer = tokenizer
        self._compile = LLMatcher
        self._compiled: dict[str, LLMatcher] = {}

    @classmethod
    def of(
        cls,
        tokens: Sequence[bytes],
        *,
        special: Sequence[int],
        ends: Sequence[int],
        encode: Callable[[bytes], list[int]] | None = None,
    ) -> Vocabulary:
        """A vocabulary out of what each token stands for.

        Args:
            tokens: the bytes of each; of a special one the name in UTF-8.
            special: the tokens that are no text, but marks.
            ends: the tokens that end an answer, which are special.
            encode: cuts text into tokens; a longest match unless it is given.
        """
        need("llguidance")
        from llguidance import LLTokenizer, TokenizerWrapper  # noqa: PLC0415  # in the extra

        longest = _Longest(tokens, frozenset((*special, *ends)))
        wrapped = TokenizerWrapper(_Wrapped(tokens, [*special, *ends], ends[0], encode or longest))
        tokenizer = LLTokenizer(wrapped, n_vocab=len(tokens), eos_token=list(ends))
        return cls(tokenizer, {tokens[token].decode(): token for token in special})

    def encode(self, text: str) -> list[int]:
        """Text as tokens; marks in it are text."""
        return self._tokenizer.tokenize_str(text)

    def bytes_of(self, token: int) -> bytes:
        """What a token stands for; a mark its name."""
        return self._tokenizer.decode_bytes([token])

    def refuses(self, source: str) -> str:
        """Why the engine does not take a grammar; empty where it does."""
        lines = [line for line in self._matcher(source).get_error().splitlines() if not _QUOTED.match(line)]
        told = next((line for line in reversed(lines) if line.startswith("error: ")), lines[0] if lines else "")
        return _PLACE.sub("", told)[:300]

    def matcher(self, source: str) -> LLMatcher:
        """A grammar, at its beginning.

        Raises:
            UsageError: the engine does not take it.
        """
        reason = self.refuses(source)
        if reason:
            raise UsageError("the engine does not take this grammar: {why}", why=reason)
        return self._matcher(source).deep_copy()

    def _matcher(self, source: str) -> LLMatcher:
        found = self._compiled.pop(source, None)
        if found is None:
            found = self._compile(self._tokenizer, source, log_level=0)
        self._compiled[source] = found  # the latest stands last
        while len(self._compiled) > _KEPT_MAX:
            del self._compiled[next(iter(self._compiled))]
        return found


def generate(
    next_logits: Callable[[Sequence[int]], Logits],
    vocabulary: Vocabulary,
    prompt: Sequence[int],
    *,
    grammar: str = "",
    max_tokens: int = 1024,
    temperature: float = 1.0,
    top_p: float = 1.0,
    seed: int | None = None,
) -> Iterator[int]:
    """The tokens of an answer, one by one; those that end it are left out.

    Args:
        next_logits: given all tokens so far, a number for each token of the vocabulary; more are cut off.
        vocabulary: of the model.
        prompt: what the model goes on with.
        grammar: what may be said; empty for anything.
        max_tokens: the most tokens of the answer.
        temperature: 0 takes the likeliest.
        top_p: only the likeliest tokens, which together have this probability, are chosen from.
        seed: for the same answer again.

    Raises:
        UsageError: the engine does not take the grammar.
        ModelGarbled: the engine came to its own limits within the answer.
    """
    import numpy as np  # noqa: PLC0415  # in the extra

    random = np.random.default_rng(seed)
    matcher = vocabulary.matcher(grammar) if grammar else None
    tokens = list(prompt)
    while len(tokens) - len(prompt) < max_tokens:
        forced = matcher.compute_ff_tokens() if matcher is not None else []
        if not forced:
            logits = np.asarray(next_logits(tokens), dtype=np.float32)[: vocabulary.size].copy()
            if matcher is not None:
                logits[~_mask(matcher, vocabulary.size)] = -np.inf
            forced = [_sampled(logits, temperature, top_p, random)]
        for token in forced[: max_tokens - (len(tokens) - len(prompt))]:
            if token not in vocabulary.ends and matcher is not None:
                matcher.consume_token(token)
            if matcher is not None and matcher.is_error():
                raise ModelGarbled("the grammar can not go on: {get_error}", get_error=matcher.get_error()[:200])
            if token in vocabulary.ends:
                return
            tokens.append(token)
            yield token
        if matcher is not None and matcher.is_stopped():
            return


def _mask(matcher: LLMatcher, size: int) -> NDArray[np.bool_]:
    import numpy as np  # noqa: PLC0415  # in the extra

    bits = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
    return np.unpackbits(bits, bitorder="little")[:size].astype(np.bool_)


def _sampled(logits: Logits, temperature: float, top_p: float, random: np.random.Generator) -> int:
    import numpy as np  # noqa: PLC0415  # in the extra

    if temperature <= 0 or not np.isfinite(logits).any():
        return int(logits.argmax())
    odds = np.exp((logits - logits.max()) / np.float32(temperature))
    if top_p < 1:
        likeliest = np.argsort(-odds, kind="stable")
        before = odds[likeliest].cumsum(dtype=np.float64) - odds[likeliest]
        odds[likeliest[before >= top_p * odds.sum(dtype=np.float64)]] = 0
    weights = odds.cumsum(dtype=np.float64)
    return int(np.searchsorted(weights, random.random() * weights[-1], side="right"))


class _Wrapped:
    """A tokenizer as llguidance wants to be given one."""

    def __init__(
        self, tokens: Sequence[bytes], special: list[int], end: int, encode: Callable[[bytes], list[int]]
    ) -> None:
        self.tokens = list(tokens)
        self.special_token_ids = special
        self.eos_token_id = end
        self.bos_token_id = None
        self._encode = encode

    def __call__(self, text: bytes) -> list[int]:
        return self._encode(text)


class _Longest:
    """Cuts text into the longest tokens that fit."""

    def __init__(self, tokens: Sequence[bytes], special: frozenset[int]) -> None:
        self._tokens = {token: number for number, token in enumerate(tokens) if number not in special}
        self._longest = max(map(len, self._tokens), default=1)

    def __call__(self, text: bytes) -> list[int]:
        found, at = [], 0
        while at < len(text):
            piece = next(text[at:end] for end in range(at + self._longest, at, -1) if text[at:end] in self._tokens)
            found.append(self._tokens[piece])
            at += len(piece)
        return found


def need(*names: str) -> None:
    """See that packages are there.

    Raises:
        UsageError: they are not; the message says what to install.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise UsageError("a local model needs {missing}: {install}", missing=", ".join(missing), install=INSTALL)
