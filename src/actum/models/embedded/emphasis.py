"""What is said so plainly that it counts beside what was learned: a piece in quotes, a list in brackets, and either
right after the name of the slot: `the title should be 'Dune'`.

Made of signs and of the words of the tool, the same for any tool. What such a piece is worth is added to its score in
`ranker`, where the learned weights are summed.
"""

from __future__ import annotations

from .candidates import Candidate, View
from .features import Aim

QUOTED, BRACKETED, ANNOUNCED, ANOTHERS = 2.5, 6.0, 3.0, -3.0
REACH = 6
"""So many words before a quote may name what it is."""


def emphasis(aim: Aim, view: View, candidate: Candidate) -> float:
    """How much more speaks for a piece than was learned; less than 0 where another slot's name stands before it."""
    around = (*view.lower[candidate.first - 1 : candidate.first], *view.lower[candidate.last : candidate.last + 1])
    worth = BRACKETED if candidate.listed > 1 and around == ("[", "]") else 0.0
    if aim.slot.type != "string" or "quoted" not in candidate.kinds:
        return worth
    return worth + QUOTED + _announced(aim, view, candidate.first)


def _announced(aim: Aim, view: View, first: int) -> float:
    """Whether the nearest name of a slot before a quote is this one's."""
    for at in range(first - 1, max(-1, first - 1 - REACH), -1):
        if view.lower[at] in _QUOTES or view.lower[at] in ".?!;":
            break
        if view.keys[at] & aim.own:
            return ANNOUNCED
        if view.keys[at] & aim.others and not view.keys[at] & aim.shared:
            return ANOTHERS
    return 0.0


_QUOTES = frozenset("'\"“”‘’`")
