"""`Promotion`: whether something learned may take the place of what there is.

Both answer the same held-out questions. The new one is promoted only where it gets more of them right than it loses,
and where that is hardly chance: half of all differences would fall to either side if neither were better, so the
chance of what was seen is a sum of binomial terms (the sign test). Who looks again and again at the same questions
finds something by chance in the end, so each look has a smaller share of the chance of 5 % that all looks have
together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from .statistics import upper_tail

CHANCE_OF_ALL = 0.05
"""How likely it is, over all looks, that something is promoted that is no better."""


def chance_at(look: int) -> float:
    """The chance that the look of this number may have: over all looks the sum is `CHANCE_OF_ALL`.

    Args:
        look: from 1.
    """
    return CHANCE_OF_ALL / (look * (look + 1))


class EarlierLook(NamedTuple):
    """An earlier comparison.

    Attributes:
        agents: the digests of what was compared.
        cases: the held-out questions, by their ids or digests.
    """

    agents: frozenset[str]
    cases: frozenset[str]


def number_of_look(before: Sequence[EarlierLook], agents: Collection[str], cases: Collection[str]) -> int:
    """The number of a look. An earlier look counts when it shares an agent and a held-out question with this one,
    whatever was added to the questions since.

    Args:
        before: the earlier looks.
        agents, cases: of this one, as in `EarlierLook`.
    """
    return 1 + sum(not look.agents.isdisjoint(agents) and not look.cases.isdisjoint(cases) for look in before)


class Promotion(NamedTuple):
    """What a held-out set says of a candidate.

    Attributes:
        questions: how many there were.
        current, candidate: how many each got right.
        gained, lost: how many only the candidate, and only the current one, got right.
        chance: how likely at least so clear a difference is if neither is better, 0 to 1.
        look: the number of this look at these questions, from 1.
    """

    questions: int
    current: int
    candidate: int
    gained: int
    lost: int
    chance: float
    look: int = 1

    @classmethod
    def of(cls, current: Sequence[bool], candidate: Sequence[bool], look: int = 1) -> Promotion:
        """Compare two on the same questions.

        Args:
            current: for each question whether what there is gets it right.
            candidate: the same of what would take its place.
            look: the number of this look; see `number_of_look`.

        Raises:
            ValueError: they are not of the same questions, or the look has no number.

        >>> Promotion.of([False] * 6, [True] * 6).deserved
        True
        >>> Promotion.of([False] * 5, [True] * 5).verdict
        'unknown'
        """
        if len(current) != len(candidate):
            raise ValueError(f"{len(current)} marks beside {len(candidate)}: not of the same questions")
        if look < 1:
            raise ValueError(f"look={look}: the first look has the number 1")
        gained = sum(new and not old for old, new in zip(current, candidate, strict=True))
        lost = sum(old and not new for old, new in zip(current, candidate, strict=True))
        chance = upper_tail(gained, lost)
        return cls(len(current), sum(current), sum(candidate), gained, lost, chance, look)

    @property
    def deserved(self) -> bool:
        """It is better, and hardly by chance."""
        return self.gained > self.lost and self.chance <= chance_at(self.look)

    @property
    def verdict(self) -> str:
        """`promoted`, `not promoted`, or `unknown` where so few questions could show nothing."""
        if self.deserved:
            return "promoted"
        return "unknown" if upper_tail(self.questions, 0) > chance_at(self.look) else "not promoted"

    def __str__(self) -> str:
        return (
            f"{self.verdict}: {self.candidate} of {self.questions} right instead of {self.current}"
            f" (+{self.gained} -{self.lost}, by chance {self.chance:.4f}, look {self.look}: at most"
            f" {chance_at(self.look):.4f})"
        )
