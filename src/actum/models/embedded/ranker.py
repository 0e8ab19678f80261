"""What could go into a slot, with how likely each is: a learned log-linear choice among the candidates and nothing.

The weights are names and numbers in `data/ranker.json`, made by `make train-embedded`; `docs/embedded.md` has their
card. A choice is the exponential of the summed weights over the sum for all of them: it needs no library, and every
number can be looked up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .candidates import Candidate, View, candidates, overlapping
from .clauses import Clause
from .content import content_of
from .emphasis import emphasis
from .features import aim_of, begins, ends, fits_of, inside, nothing
from .lexicon import HAN, is_han, wordset
from .selection import Indexed
from .slots import Slot
from .spans import PARTS, Span
from .weights import weights_in
from .words import spaced

CLOSER_MAX = 16
"""So many candidates with the best borders are looked at more closely."""


class Ranked(NamedTuple):
    """A candidate and how likely it is what the slot wants, 0 to 1."""

    candidate: Candidate
    score: float
    likely: float


class Ranking(NamedTuple):
    """The candidates of a slot, the likeliest first.

    Attributes:
        none: how likely it is that nothing was said.
        empty: the score of that: what scores more may be a value, of this call or another.
    """

    ranked: tuple[Ranked, ...]
    none: float
    empty: float


def rank(slot: Slot, indexed: Indexed, clause: Clause, avoid: Sequence[Span] = ()) -> Ranking:
    """Judge everything that could go into a slot.

    Args:
        slot: the slot.
        indexed: its tool.
        clause: the clause.
        avoid: words that are taken already.
    """
    view = View.of(clause)
    known = weights_in("ranker.json", view.tongue)
    aim = aim_of(slot, indexed)
    found = [each for each in offered(slot, indexed, clause) if not overlapping(each, avoid)]
    numbers = sum(span.kind == "number" for spans in view.typed.values() for span in spans)
    starts = {first: _sum(known, begins(aim, view, first)) for first in {each.first for each in found}}
    stops = {last: _sum(known, ends(aim, view, last)) for last in {each.last for each in found}}
    empty = _sum(known, nothing(aim, view, found))
    if len(found) > CLOSER_MAX:
        found.sort(key=lambda each: ("shown" not in each.kinds, -starts[each.first] - stops[each.last]))
        found = found[:CLOSER_MAX]
    scores = [
        starts[each.first]
        + stops[each.last]
        + _sum(known, inside(aim, view, each, numbers))
        + emphasis(aim, view, each)
        for each in found
    ]
    highest = max([*scores, empty])
    total = math.fsum(math.exp(score - highest) for score in [*scores, empty])
    ranked = [Ranked(each, score, math.exp(score - highest) / total) for each, score in zip(found, scores, strict=True)]
    ranked.sort(key=lambda each: -each.score)
    return Ranking(tuple(ranked), math.exp(empty - highest) / total, empty)


def offered(slot: Slot, indexed: Indexed, clause: Clause) -> list[Candidate]:
    """What a slot of this tool has to choose from; free text may also be what the command leaves over."""
    if slot.kind in TYPED and not slot.many:
        fits = fits_of(slot.kind)
        found = candidates(slot, clause)
        found = [each for each in found if any(kind in fits or kind == "shown" for kind in each.kinds)]
        return [each for each in found if slot.kind != "month" or each.span.kind == "month"]
    free = slot.kind in FREE_TEXT and not slot.many
    content = content_of(slot, indexed, clause, ()) if free else None
    if content is not None and slot.kind == "query" and content[0].text.strip("?？").count("？"):
        content = None  # two questions are no query
    found = candidates(slot, clause, content)
    if slot.type == "integer" and not slot.many and _is_numbered(slot) and is_han(clause.words):
        return [each for each in found if any(sign.isdigit() for sign in each.span.text)] or found
    if slot.type != "string" or slot.many:
        return found
    view = View.of(clause)
    if slot.kind not in _SPOKEN and is_han(clause.words):
        found = [each for each in found if not _begins_as_no_value(each, view)]
    if slot.kind in NAMED:
        counted = _COUNTED - {"email"} if slot.kind == "person" else _COUNTED
        found = [each for each in found if not (counted.intersection(each.kinds) or _is_denied(each, view))]
        found = [each for each in found if len(each.span.text) > 1 or each.kinds or not is_han(each.span.text)]
        if slot.kind == "person":
            found = [each for each in found if each.kinds or not _INTRODUCED.fullmatch(each.span.text)]
    if is_han(clause.words):
        found = [each for each in found if not (_LABELLED.fullmatch(each.span.text) or _asks(each.span, clause))]
    if re.search(r"\bdigits\b", slot.description):
        found = [each for each in found if re.search(r"\d", each.span.text) and not is_han(each.span.text)]
    if _is_numbered(slot):
        found = [each for each in found if any(not is_han(sign) for sign in each.span.text)]
    found = _with_whole_places(found, indexed, clause)
    commands, name = aim_of(slot, indexed).commands, indexed.tool.name
    if is_han(clause.words) and slot.kind not in _SPOKEN:
        commands |= {key for key in indexed.summary if key[0] == "#"}
    return [each for each in found if not _is_command(each, commands, view) and each.value != name]


_SPOKEN = ("text", "title")
"""Kinds of slots that take what somebody says or writes: it may begin with any word."""


_PORTION = re.compile("[一两二三四五六七八九十半]+[个只条份张杯瓶袋碗盒箱包串盘套束斤件双](?!.?[级班])")
"""So many of something, which is no part of its name."""


def _begins_as_no_value(candidate: Candidate, view: View) -> bool:
    """Its first word leads to a value, counts it, points at one said before, or is half a word of a file's name:
    把大门, 一份紫菜汤, 这个文件, 稿.docx.
    """
    if candidate.first >= len(view.tokens) or not _LOOSE.issuperset(kind.split()[0] for kind in candidate.kinds):
        return False
    token = view.tokens[candidate.first]
    halved = view.halved[candidate.first] and "." in candidate.span.text
    if halved or _PORTION.match(candidate.span.text):
        return True
    return token.kind == "known" and token.text in wordset("before values zh")


_LABELLED = re.compile(rf"[{HAN}]{{0,4}}(?:(?:号码?|单|电话|手机)[:：是为]?\s*[A-Za-z0-9-]{{3,}}|[尾单编卡户]号)")
"""A number with what it is: 尾号6688, of which 6688 is the value."""

_INTRODUCED = re.compile(rf"[{HAN}]{{1,4}}[是为叫][{HAN}].*")
"""A name with what it is: 抬头是星辰公司."""

_EITHER_WAY = re.compile(rf"([{HAN}])不\1")


def _asks(span: Span, clause: Clause) -> bool:
    """It begins or ends in words that ask whether: 好不好 names nothing."""
    return any(
        match.start() <= span.start < match.end() or match.start() < span.end <= match.end()
        for match in _EITHER_WAY.finditer(clause.text)
    )


def _with_whole_places(found: list[Candidate], indexed: Indexed, clause: Clause) -> list[Candidate]:
    """Without the parts of `Riga, Latvia` where the tool takes a place as a whole, without the whole where it takes the
    parts.
    """
    wholes = [span for span in clause.spans if span.detail == PARTS]
    if not wholes:
        return found
    parts = {part for slot in indexed.slots for part in _PART_OF_PLACE.findall(spaced(slot.name).lower())}
    if len(parts) > 1:
        return [each for each in found if each.span.detail != PARTS]
    return [each for each in found if not any(_is_part(each.span, whole) for whole in wholes)]


def _is_part(span: Span, whole: Span) -> bool:
    return whole.start <= span.start and span.end <= whole.end and len(span.text) < len(whole.text)


_PART_OF_PLACE = re.compile(r"\b(?:city|town|state|country|region|province|county|street)\b")


def _is_numbered(slot: Slot) -> bool:
    """It takes digits, as a telephone or an account has: no Chinese word is one."""
    last = spaced(slot.name).lower().split()[-1:]
    told = f"{slot.name}{slot.description}"
    counts = slot.type == "integer" and bool(_COUNTING.intersection(last))
    return (bool(wordset("numbered").intersection(last)) and not counts) or any(
        is_han(word) and word in told for word in wordset("numbered")
    )


_COUNTING = frozenset({"number", "num", "no"})
"""Names of a number that is no name of anything, where an integer goes by it."""


def _is_denied(candidate: Candidate, view: View) -> bool:
    """`without stops` names nothing."""
    return candidate.first > 0 and view.lower[candidate.first - 1] in wordset("negations")


def _is_command(candidate: Candidate, commands: frozenset[str], view: View) -> bool:
    """Nothing but words of the tool, in lower case: they say what to do and not what with."""
    if not _LOOSE.issuperset(kind.split()[0] for kind in candidate.kinds) or candidate.span.text[:1].isupper():
        return False
    places = [at for at in range(candidate.first, candidate.last) if not view.functional[at]]
    return bool(places) and all(view.keys[at] & (commands | _VERBS) for at in places)


_VERBS = frozenset({"#search", "#find", "#query", "#list", "#create", "#update", "#send", "#calculate", "#convert"})
"""What is said of any tool."""

_LOOSE = frozenset({"run", "word", "phrase", "chunk", "content", "name"})


TYPED = frozenset(
    {"date", "month", "time", "datetime", "email", "url", "attachment", "expression", "sql", "unit", "currency"}
)
"""Kinds of slots that take nothing but what can be seen to be such."""

NAMED = frozenset({"city", "country", "place", "person", "timezone", "language"})
"""Kinds of slots that take a name, which no number and no day is."""

_COUNTED = frozenset({"number", "date", "time", "datetime", "email", "url", "sql"})

FREE_TEXT = ("query", "text", "title", "string")


def _sum(known: Mapping[str, float], features: Iterable[str]) -> float:
    return sum([known[each] for each in features if each in known])
