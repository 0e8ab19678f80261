"""Values of enumerations and booleans that nobody named but that the words lean to: `all on my own` to `singleplayer`.

A learned log-linear choice like that of `ranker`, with weights in the same file, asked only where `choices` finds
nothing said. What speaks for a value is which words stand in the clause, which groups of words these belong to, and
how near their meanings come to it. Limits: it knows no grammar; a `not` is a word like others.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from actum.core.json import Json

from ..learned.weights import weights_in
from ..text.clauses import Clause
from ..text.lexicon import stem
from ..text.meanings import Point, cut, nearness, point_of, sort_of
from ..text.spans import Span
from ..text.words import Token, bare, spaced
from ..tools.candidates import View
from ..tools.slots import Slot
from .features import meaning_of


class Guess(NamedTuple):
    """A value, where the word stands that comes nearest to it, and how likely it is."""

    value: Json
    span: Span
    likely: float


class Word(NamedTuple):
    """A word of a clause that says something."""

    token: Token
    stem: str
    group: str
    point: Point | None


def guessed(slot: Slot, clause: Clause) -> Guess | None:
    """The likeliest value of an enumeration or a boolean; None where it is likelier that nothing was said."""
    known = weights_in("ranker.json", View.of(clause).tongue)
    values = values_of(slot)
    scores = [math.fsum(known.get(each, 0.0) for each in spoken) for spoken in speaking(slot, clause)]
    empty = math.fsum(known.get(each, 0.0) for each in silent(slot, clause))
    best = max(range(len(values)), key=scores.__getitem__, default=-1)
    if best < 0 or scores[best] <= empty:
        return None
    total = math.fsum(math.exp(score - scores[best]) for score in [*scores, empty])
    meant = _meaning(slot, values[best])
    nearest = max(_words(clause), key=lambda each: nearness(each.point, meant), default=None)
    start, end = (nearest.token.start, nearest.token.end) if nearest else (clause.start, clause.start)
    return Guess(values[best], Span("guess", start, end, clause.text[start:end], values[best]), 1.0 / total)


def values_of(slot: Slot) -> Sequence[Json]:
    """What a slot has to choose from."""
    return slot.enum if slot.kind == "enum" else (True, False)


def speaking(slot: Slot, clause: Clause) -> list[list[str]]:
    """For each value what speaks for it, as names of features."""
    words = _words(clause)
    values = values_of(slot)
    meant = [_meaning(slot, value) for value in values]
    nearest = [max((nearness(each.point, point) for each in words), default=0.0) for point in meant]
    if slot.kind == "boolean":
        return [list(_of_truth(slot, bool(value), words, nearest[0])) for value in values]
    whole = meaning_of(clause.words)
    found: list[list[str]] = []
    first, second = sorted([*nearest, 0.0, 0.0] if len(values) < 2 else nearest, reverse=True)[:2]
    for at, value in enumerate(values):
        rival = second if nearest[at] == first else first
        found.append(list(_of_value(slot, value, words, (nearest[at], rival, nearness(whole, meant[at])))))
    return found


def _of_value(slot: Slot, value: Json, words: Sequence[Word], near: tuple[float, float, float]) -> Iterator[str]:
    name = _last_word(str(value))
    group = sort_of(name)[1]
    nearest, rival, whole = near
    yield f"enum {name}"
    for each in words:
        yield f"enum {name}:{each.stem}"
        yield f"enum {group}:{each.group}"
    yield f"enum near={_grade(nearest)}"
    yield f"enum nearer={_grade(nearest - rival)}"
    yield f"enum whole={_grade(whole)}"
    yield f"enum starts alike={len(name) > 3 and any(each.stem[:4] == name[:4] for each in words)}"
    yield f"enum default={str(value).lower() in slot.description.lower().partition('default')[2]}"


def _of_truth(slot: Slot, value: bool, words: Sequence[Word], nearest: float) -> Iterator[str]:
    name = _last_word(slot.name)
    group = sort_of(name)[1]
    yield f"boolean {value}"
    for each in words:
        yield f"boolean {value}:{each.stem}"
        yield f"boolean {value} {name}:{each.stem}"
        yield f"boolean {value} {group}:{each.group}"
    yield f"boolean near={_grade(nearest)}{value}"


def silent(slot: Slot, clause: Clause) -> Iterator[str]:
    """What speaks for that nothing was said."""
    must = "must" if slot.required else "may"
    yield f"{slot.kind} none|{must}"
    yield f"{slot.kind} none|{min(len(values_of(slot)), 6)}"
    name = meaning_of(spaced(slot.name))
    near = max((nearness(each.point, name) for each in _words(clause)), default=0.0)
    yield f"{slot.kind} none|{must}|near={_grade(near)}"
    yield f"{slot.kind} none|words={min(len(_words(clause)), 8)}"
    yield f"{slot.kind} none|{must}|default={'default' in slot.description.lower()}"


def _last_word(text: str) -> str:
    """The stem of the last word of a name."""
    words = spaced(text).lower().split()
    return stem(words[-1]) if words else ""


def _meaning(slot: Slot, value: Json) -> Point | None:
    return meaning_of(spaced(str(value))) if slot.kind == "enum" else meaning_of(spaced(slot.name))


@lru_cache(maxsize=64)
def _words(clause: Clause) -> tuple[Word, ...]:
    said = [each for token in clause.tokens if token.kind in _WORDED for each in _words_in(token)]
    return tuple(
        Word(
            token,
            stem(bare(token.text)),
            sort_of(bare(token.text))[1],
            None if token.functional else point_of(bare(token.text)),
        )
        for token in said
    )


_WORDED = ("word", "known", "chunk")


def _words_in(token: Token) -> Iterator[Token]:
    """The words of a dictionary in Chinese that the lexicon does not know; any other token as it is."""
    if token.kind != "chunk":
        yield token
        return
    for start, end in cut(token.text):
        yield Token(token.text[start:end], token.start + start, token.start + end, "chunk")


def _grade(value: float) -> int:
    return round(max(-0.3, min(value, 1.0)) * 10)
