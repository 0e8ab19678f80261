"""What could go into a slot, with how likely each is: a learned log-linear choice among the candidates and nothing.

The weights are names and numbers in `data/ranker.json`, made by `make train-embedded`; `docs/embedded.md` has their
card. A choice is the exponential of the summed weights over the sum for all of them: it needs no library, and every
number can be looked up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..learned.weights import weights_in
from ..text.clauses import Clause
from ..text.spans import Span
from ..tools.candidates import Candidate, View, overlapping
from ..tools.selection import Indexed
from ..tools.slots import Slot
from .emphasis import emphasis
from .features import aim_of, begins, ends, inside, nothing
from .offers import offered

CLOSER_MAX = 16
"""So many candidates with the best borders are looked at more closely."""


MEANT = 1.0
"""So much less than was learned speaks in English for leaving out what need not be said: of those whose questions are
learned from most say little beside, and who does say something means it.
"""

_SEEN = frozenset({"shown", "content"})
"""Kinds of candidates that are always looked at."""


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
    empty = _sum(known, nothing(aim, view, found)) - (MEANT if not view.tongue and _takes_what_is_said(slot) else 0.0)
    if len(found) > CLOSER_MAX:
        found.sort(key=lambda each: (_SEEN.isdisjoint(each.kinds), -starts[each.first] - stops[each.last]))
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


def _takes_what_is_said(slot: Slot) -> bool:
    """It may be left out, and takes a single thing that nobody names by the way: no free text, no unit."""
    return not slot.required and not slot.many and slot.kind not in _BY_THE_WAY


_BY_THE_WAY = frozenset({"unit", "query", "text", "title"})


def _sum(known: Mapping[str, float], features: Iterable[str]) -> float:
    return sum([known.get(each, 0.0) for each in features])
