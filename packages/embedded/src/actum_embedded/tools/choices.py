"""Values that are chosen, not copied: one of an enumeration by what it means, true or false by how it is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from actum.core.json import Json

from ..text.clauses import Clause
from ..text.lexicon import HAN, concepts_of, fold, is_han, lexicon, table, wordset
from ..text.meanings import cut
from ..text.spans import Span
from ..text.words import GLOSS_WEIGHT, LETTER, Term, bare, keys_of, spaced, told_terms
from .selection import generic, start_of
from .slots import Slot

LITERAL, MEANT, NAMED, ALIKE = 0.95, 0.9, 0.85, 0.75
SAID = 0.8
"""From this confidence on a value of an enumeration is said and not only like what is said."""

Choice = tuple[Json, Span, float]


def chosen_values(slot: Slot, own: frozenset[str], clause: Clause) -> list[Choice]:
    """The values of an enumeration that a clause means, the surest first, then in the order of the clause.

    Args:
        slot: the slot with the enumeration.
        own: terms of the tool's name: a value that is nothing but one of them was not chosen by being said.
        clause: the clause.
    """
    own = _not_all_named(slot, own)
    listed = () if slot.enum else listed_values(slot.description, slot.type)
    told = _telling(slot.description, tuple(map(str, slot.enum or listed)))
    found = [choice for value in slot.enum if (choice := _choice(slot, value, own, clause, told.get(str(value), ())))]
    found += [choice for value in listed if (choice := _by_gloss(value, clause, told.get(str(value), ())))]
    found = [choice for choice in found if choice[2] >= LITERAL or not _is_one_of_several(choice, found)]
    found.sort(key=lambda choice: (-choice[2], choice[1].start, choice[1].start - choice[1].end))
    return _not_replaced(found, clause)


def _not_all_named(slot: Slot, own: frozenset[str]) -> frozenset[str]:
    """The terms of the tool's name without those of its values, where it names several of them: `gcd_lcm`."""
    named = [keys for value in slot.enum if (keys := keys_of(spaced(str(value)).lower())) and keys <= own]
    return own - frozenset[str]().union(*named) if len(named) > 1 else own


def _is_one_of_several(choice: Choice, found: Sequence[Choice]) -> bool:
    """The same words mean two other values as well, and as surely: 假 is each of the kinds of leave."""
    _, span, sure = choice
    return sum((at.start, at.end) == (span.start, span.end) and likely >= sure for _, at, likely in found) > SEVERAL


SEVERAL = 2


def _not_replaced(found: list[Choice], clause: Clause) -> list[Choice]:
    """The choices, those last that something else shall stand in for: pizza in `from pizza to burger`."""
    gone = [choice for choice in found if _REPLACED.search(clause.text[: choice[1].start])]
    kept = [choice for choice in found if choice not in gone]
    return [*kept, *gone] if kept else found


_REPLACED = re.compile(
    r"\b(?:instead of|rather than|(?:change|switch|swap)\b[^.?!]*\bfrom)(?:\s+(?:an?|the|my))?\s*$", re.IGNORECASE
)


@lru_cache(maxsize=2048)
def _telling(description: str, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """The glosses without the words that all of them have: `service` of `cleaning service` and `ironing service`."""
    told = _glosses(description, values)
    words = [{word for said in each for word in said.split()} for each in told.values()]
    common = set.intersection(*words) if len(words) > 1 else set()
    return {
        value: tuple(" ".join(word for word in said.split() if word not in common) or said for said in each)
        for value, each in told.items()
    }


def truth(slot: Slot, own: frozenset[str], clause: Clause) -> tuple[bool, Span] | None:
    """Whether a clause says yes or no to a slot; None when it is silent, or says that it does not matter."""
    if bare(slot.name) in wordset("switches"):
        for key, value in (("#on", True), ("#off", False)):
            if place := _place(frozenset({key}), clause):
                return value, _span(place, clause, value)
    place = _asked_of(slot, own, clause) or _told_of(slot, own, clause)
    if place is None:
        return None
    around = _same_breath(place, clause)
    if around & wordset("indifferent"):
        return None
    denied = bool(around & wordset("negations"))
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
    if is_han(words) and (place := _literal(words, clause)):
        return place
    keys = _telling_keys(words, own)
    return _together(keys, clause, len(keys)) if keys else None


def says_yes_or_no(slot: Slot) -> bool:
    """It is a boolean, or an enumeration that has both `True` and `False` in words."""
    return slot.kind == "boolean" or {"true", "false"} <= {str(value).lower() for value in slot.enum}


@lru_cache(maxsize=8192)
def _telling_keys(text: str, own: frozenset[str]) -> frozenset[str]:
    """The terms of a name or description that say what it is about, and not that there is something to switch."""
    keys = keys_of(text) - own - wordset("of switches")
    return frozenset(key for key in keys if generic(key) > 0.4)


def _told_of(slot: Slot, own: frozenset[str], clause: Clause) -> tuple[int, int, float] | None:
    """Where a clause says what the description is about: two words of it, or the one that it has."""
    about = _telling_keys(slot.description.split(",")[0], own)
    return _together(about, clause, min(2, len(about))) if about else None


def _together(keys: frozenset[str], clause: Clause, least: int) -> tuple[int, int, float] | None:
    """Where a clause says as many of these in words of their own, be it in another form: `suitable`, `suitability`."""
    roots = {start_of(key) for key in keys}
    said = {
        (term.start, term.end): term
        for term in clause.terms
        if _is_sure(term, clause) and (term.key in keys or start_of(term.key) in roots)
    }
    if len({start_of(each.key) for each in said.values()}) < least:
        return None
    return (*_nearest_together([(place, start_of(each.key)) for place, each in sorted(said.items())]), 1.0)


def _nearest_together(said: Sequence[tuple[tuple[int, int], str]]) -> tuple[int, int]:
    """Where all that is said stands nearest together: `20 characters without special characters`."""
    wanted = {root for _, root in said}
    latest: dict[str, tuple[int, int]] = {}
    found: list[tuple[int, int]] = []
    for place, root in said:
        latest[root] = place
        if len(latest) == len(wanted):
            found.append((min(start for start, _ in latest.values()), place[1]))
    return min(found, key=lambda place: place[1] - place[0])


def _is_sure(term: Term, clause: Clause) -> bool:
    """It is what was said, or what a dictionary has for a Chinese word."""
    glossed = term.key.isascii() and term.key[0] != "#" and is_han(clause.text[term.start])
    return term.weight == 1.0 or (glossed and term.weight >= GLOSS_WEIGHT)


def _same_breath(place: tuple[int, int, float], clause: Clause) -> set[str]:
    """The words before a place that belong to it: no further than the last sign, and not many."""
    words: list[str] = []
    for token in clause.tokens:
        if token.end <= place[0]:
            words = [] if token.kind == "sign" and token.text in ",;.!?，；。！？" else [*words, bare(token.text)]
    return set(words[-NEGATED_BY:])


NEGATED_BY = 4
"""So many words before something may deny it."""


def _glosses(description: str, values: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """What a description says that values stand for: `driving（驾车）`, `1 for cleaning`, `bus 公交`."""
    told = [value for value in values if value in description]
    if not told:
        return {}
    any_of_them = "|".join(sorted(map(re.escape, told), key=len, reverse=True))
    edge = rf"(?<![\w.])(?P<value>{any_of_them})(?![\w.])['\"”’]?(?!\s*(?:to|-|–|—|~|至|到)\s*\d)"
    found: dict[str, tuple[str, ...]] = {}
    patterns = [
        rf"{edge}\s*{_SAYS}\s*['\"“‘]?(?P<said>[^，,;；。.、)）|/'\"”’]+)",
        rf"(?P<said>[^\s，,;；。.、（）()|/：:]+)\s*(?:[（(]|[:：=＝])\s*['\"“‘]?{edge}",
    ]
    if is_han(description):
        patterns.append(rf"{edge}\s+(?P<said>[{HAN}]+)")
    for pattern in patterns:
        for match in re.finditer(pattern, description):
            said = re.split(r"\s+(?:and|or)\s+['\"“‘]?\d", match["said"])[0].strip().lower()
            if 0 < len(said) <= GLOSS_MAX:
                found[match["value"]] = (*found.get(match["value"], ()), said)
    return found


_SAYS = (
    r"(?:[（(]|[:：=＝]|-|–|—|for\b|means\b|is\b|represents?\b|represented by\b|stands for\b|denotes?\b|indicates?\b"
    r"|corresponds to\b|表示|代表|为|是)"
)
GLOSS_MAX = 32


@lru_cache(maxsize=2048)
def listed_values(description: str, type_: str) -> tuple[Json, ...]:
    """The values of a slot that is no enumeration by its schema but lists in words what each stands for: `1 represents
    cleaning, 2 ironing`, `'asc' for ascending`; empty where fewer than two are told.
    """
    kept: list[Json] = []
    for match in _LISTED[type_].finditer(description) if type_ in _LISTED else ():
        value: Json = match[1] if type_ == "string" else int(match[1])
        if value not in kept:
            kept.append(value)
    return tuple(kept) if len(kept) > 1 else ()


_LISTED = {
    "integer": re.compile(rf"(?<![\w.-])['\"“‘]?(\d{{1,3}})['\"”’]?\s*{_SAYS}\s*(?=['\"“‘]?[A-Za-z{HAN}])(?!to\b)"),
    "string": re.compile(
        rf"(?<!\w)['\"“‘]([\w-]+)['\"”’]\s*(?:for|means|represents?|表示|代表)\s*(?=['\"“‘]?[A-Za-z{HAN}])"
    ),
}


def _choice(slot: Slot, value: Json, own: frozenset[str], clause: Clause, told: Sequence[str] = ()) -> Choice | None:
    text = spaced(str(value)).strip().lower()
    keys = keys_of(text)
    literal = _literal(text, clause)
    if literal is not None and (is_han(text) or not (keys and keys <= own)):
        return value, _span(literal, clause, value), LITERAL
    meant_by = _by_gloss(value, clause, told)
    if meant_by is not None:
        return meant_by
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
    for term in told_terms(text):
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
    if _LOCALE.fullmatch(str(value)):
        known.add(str(value)[:2].lower())
    for span in clause.spans:
        language = span.kind == "language" and span.detail == text.split()[0]
        if span.detail and (language or known & {span.detail, *span.detail.split(":")}):
            return value, Span("enum", span.start, span.end, span.text, value), NAMED
    return None


_LOCALE = re.compile(r"[a-z]{2}(?:[-_][A-Za-z]{2,4})?")
"""A code of a language, with that of its country: `zh-CN`."""


def _by_gloss(value: Json, clause: Clause, told: Sequence[str]) -> Choice | None:
    """The value, where the clause has what the description says that it stands for."""
    for gloss in told:
        meant = keys_of(gloss)
        place = _literal(gloss, clause) or (_place(meant, clause) if meant else None)
        if place is not None:
            return value, _span(place, clause, value), MEANT * place[2]
    return None


def _literal(text: str, clause: Clause) -> tuple[int, int, float] | None:
    """The value's own words. A word such as `on` or `all` means too many things to be taken by itself."""
    if not text or text in lexicon().function_words:
        return None
    if _squeezed(text) not in _squeezed(clause.words):
        return None  # most values are not said: no pattern is made for them
    for match in _written(text).finditer(clause.words):
        start, end = clause.start + match.start(), clause.start + match.end()
        in_file = any(span.kind == "file" and span.start < start < end <= span.end for span in clause.spans)
        if not in_file and not counts_off(clause.text, start, end):
            return start, end, 1.0
    return None


def counts_off(text: str, start: int, end: int) -> bool:
    """It only says which task a sentence begins: `First, find ...`."""
    return text[end : end + 1] == "," and text[:start].rstrip()[-1:] in ("", *".?!:;") and text[start:end].istitle()


@lru_cache(maxsize=8192)
def _squeezed(text: str) -> str:
    return _APART.sub("", text.lower())


_APART = re.compile(r"[\s-]")


@lru_cache(maxsize=2048)
def _written(text: str) -> re.Pattern[str]:
    """A pattern that finds a value, `singleplayer` in `single-player` and the other way round."""
    if is_han(text):
        return re.compile(re.escape(text), re.IGNORECASE)
    letters = "[ -]?".join(map(re.escape, _squeezed(text)))
    return re.compile(rf"(?<!{LETTER})(?i:{letters})(?!{LETTER})")


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
