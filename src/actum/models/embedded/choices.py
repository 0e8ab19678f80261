"""Values that are chosen, not copied: one of an enumeration by what it means, true or false by how it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from ...core.json import Json
from .clauses import Clause
from .lexicon import HAN, concepts_of, fold, is_han, lexicon, table, wordset
from .meanings import cut
from .selection import generic, start_of
from .slots import Slot
from .spans import Span
from .words import bare, spaced, terms

LITERAL, MEANT, NAMED, ALIKE = 0.95, 0.9, 0.85, 0.75

Choice = tuple[Json, Span, float]


def chosen_values(slot: Slot, own: frozenset[str], clause: Clause) -> list[Choice]:
    """The values of an enumeration that a clause means, the surest first, then in the order of the clause.

    Args:
        slot: the slot with the enumeration.
        own: terms of the tool's name: a value that is nothing but one of them was not chosen by being said.
        clause: the clause.
    """
    told = _glosses(slot.description, tuple(map(str, slot.enum)))
    found = [choice for value in slot.enum if (choice := _choice(slot, value, own, clause, told.get(str(value), ())))]
    found.sort(key=lambda choice: (-choice[2], choice[1].start))
    return found


def truth(slot: Slot, own: frozenset[str], clause: Clause) -> tuple[bool, Span] | None:
    """Whether a clause says yes or no to a slot; None when it is silent."""
    if bare(slot.name) in wordset("switches"):
        for key, value in (("#on", True), ("#off", False)):
            if place := _place(frozenset({key}), clause):
                return value, _span(place, clause, value)
    place = _asked_of(slot, own, clause) or _told_of(slot, own, clause)
    if place is None:
        return None
    before = [bare(token.text) for token in clause.tokens if token.end <= place[0]][-3:]
    denied = bool(wordset("negations").intersection(before))
    if not wordset("avoiding").isdisjoint(spaced(slot.name).lower().split()):
        return (True, _span(place, clause, True)) if denied else None
    return not denied, _span(place, clause, not denied)


def _asked_of(slot: Slot, own: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a clause says all words of the name that tell something: those of `breakfast_included` but the last."""
    silent = wordset("flags") | wordset("avoiding")
    words = " ".join(word for word in spaced(slot.name).lower().split() if word not in silent)
    for concept in concepts_of(words, ""):
        if place := _place(frozenset({f"#{concept}"}), clause):
            return place
    keys = frozenset(term.key for term in terms(words, hints=False)) - own
    return _place(keys, clause) if keys and any(generic(key) > 0.4 for key in keys) else None


def _told_of(slot: Slot, own: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a clause says what the description is about: two words of it, or the one that it has."""
    about = frozenset(term.key for term in terms(slot.description.split(",")[0], hints=False)) - own
    about = frozenset(key for key in about - _SAYING if generic(key) > 0.4)
    said = frozenset(key for key in about if _place(frozenset({key}), clause) is not None)
    return _place(said, clause) if len(said) >= min(2, len(about)) > 0 else None


_SAYING = frozenset({"#yes", "#no", "#include", "whether", "true", "fals", "default", "#only", "flag", "enabl"})
"""Words of descriptions that only say that there is something to say."""


@lru_cache(maxsize=2048)
def _glosses(description: str, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What a description says that values stand for: `driving（驾车）`, `1 for cleaning`, `bus 公交`."""
    told = [value for value in values if value in description]
    if not told:
        return {}
    any_of_them = "|".join(sorted(map(re.escape, told), key=len, reverse=True))
    edge = rf"(?<![\w.])(?P<value>{any_of_them})(?![\w.])['\"”’]?"
    says = r"(?:[（(]|[:：=＝]|-|–|—|for\b|means\b|is\b|表示|代表|为|是)"
    found: dict[str, tuple[str, ...]] = {}
    for pattern in (
        rf"{edge}\s*{says}\s*['\"“‘]?(?P<said>[^，,;；。.、)）|/'\"”’]+)",
        rf"(?P<said>[^\s，,;；。.、（）()|/：:]+)\s*(?:[（(]|[:：=＝])\s*['\"“‘]?{edge}",
        rf"{edge}\s+(?P<said>[{HAN}]+)",
    ):
        for match in re.finditer(pattern, description):
            said = match["said"].strip().lower()
            if 0 < len(said) <= GLOSS_MAX:
                found[match["value"]] = (*found.get(match["value"], ()), said)
    return found


GLOSS_MAX = 24


def _choice(slot: Slot, value: Json, own: frozenset[str], clause: Clause, told: Sequence[str] = ()) -> Choice | None:
    text = spaced(str(value)).strip().lower()
    keys = frozenset(term.key for term in terms(text, hints=False))
    literal = _literal(text, clause)
    if literal is not None and (is_han(text) or not (keys and keys <= own)):
        return value, _span(literal, clause, value), LITERAL
    for gloss in told:
        place = _literal(gloss, clause) or _said(gloss, frozenset(), clause)
        if place is not None:
            return value, _span(place, clause, value), MEANT * place[2]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return next(
            ((value, span, LITERAL) for span in clause.spans if span.kind == "number" and span.value == value), None
        )
    concepts = [f"#{concept}" for concept in concepts_of(text, spaced(slot.name).lower())]
    for concept in [each for each in concepts if each not in own]:
        place = _place(frozenset({concept}), clause) or _signed(concept, clause)
        if place is not None:
            return value, _span(place, clause, value), MEANT * place[2]
    place = None if concepts else _said(text, own, clause)
    if place is not None:
        return value, _span(place, clause, value), MEANT * place[2]
    place = _by_root(text, own, clause)
    if place is not None:
        return value, _span(place, clause, value), ALIKE
    return _by_name(text, value, clause)


def _said(text: str, own: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a clause has a term of each word of a text; of a word with several meanings one is enough."""
    words: dict[tuple[int, int], set[str]] = {}
    for term in terms(text, hints=False):
        words.setdefault((term.start, term.end), set()).add(term.key)
    if not words or set().union(*words.values()) <= own:
        return None
    places = [
        next((place for key in sorted(keys) if (place := _place(frozenset({key}), clause))), None)
        for keys in words.values()
    ]
    found = [place for place in places if place is not None]
    if len(found) < len(places):
        return None
    return min(start for start, _, _ in found), max(end for _, end, _ in found), min(sure for _, _, sure in found)


def _signed(concept: str, clause: Clause) -> tuple[int, int, float] | None:
    """Where one Chinese character that means a concept stands as a word of its own: 热 of 热拿铁, not of 热闹."""
    sign = _signs().get(concept[1:], "")
    if not sign or sign not in clause.words:
        return None
    for run in _HAN_RUN.finditer(clause.words):
        for start, end in cut(run[0]):
            if run[0][start:end] == sign:
                place = clause.start + run.start() + start
                return place, place + 1, ALIKE
    return None


_HAN_RUN = re.compile(f"[{HAN}]+")


@cache
def _signs() -> dict[str, str]:
    return {row["concept"]: row["sign"] for row in table("signs")}


def _by_name(text: str, value: Json, clause: Clause) -> Choice | None:
    """A value that is a name, or the code of a language, by another name of the same: `Euro` by 欧元, `en` by 英文."""
    known = {name.key for name in lexicon().names.get(fold(text), ())}
    for span in clause.spans:
        language = span.kind == "language" and span.detail == text.split()[0]
        if span.detail and (language or known & {span.detail, *span.detail.split(":")}):
            return value, Span("enum", span.start, span.end, span.text, value), NAMED
    return None


def _literal(text: str, clause: Clause) -> tuple[int, int, float] | None:
    """The value's own words. A word such as `on` or `all` means too many things to be taken by itself."""
    if not text or text in lexicon().function_words:
        return None
    if _squeezed(text) not in _squeezed(clause.words):
        return None  # most values are not said: no pattern is made for them
    match = _written(text).search(clause.words)
    return (clause.start + match.start(), clause.start + match.end(), 1.0) if match else None


@lru_cache(maxsize=8192)
def _squeezed(text: str) -> str:
    return _APART.sub("", text.lower())


_APART = re.compile(r"[\s-]")


@lru_cache(maxsize=2048)
def _written(text: str) -> re.Pattern[str]:
    """A pattern that finds a value, `singleplayer` in `single-player` and the other way round."""
    if is_han(text):
        return re.compile(re.escape(text), re.IGNORECASE)
    letters = [re.escape(letter) for letter in _squeezed(text)]
    return re.compile(rf"(?<!\w){'[ -]?'.join(letters)}(?!\w)", re.IGNORECASE)


def _by_root(text: str, own: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a longer word begins as the value does: `every quarter` is quarterly."""
    root = start_of(text)
    if root == text or not text.isalpha() or root in {start_of(key) for key in own}:
        return None
    return next(((term.start, term.end, 1.0) for term in clause.terms if start_of(term.key) == root), None)


def _place(keys: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a clause says all of these, and how surely."""
    found = {
        key: max((term for term in clause.terms if term.key == key), key=lambda term: term.weight, default=None)
        for key in keys
    }
    said = [term for term in found.values() if term is not None]
    if not said or len(said) < len(keys):
        return None
    return min(term.start for term in said), max(term.end for term in said), min(term.weight for term in said)


def _span(place: tuple[int, int, float], clause: Clause, value: Json) -> Span:
    return Span("enum", place[0], place[1], clause.text[place[0] : place[1]], value)
