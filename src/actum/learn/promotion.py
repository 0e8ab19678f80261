"""`Promotion`: whether something learned may take the place of what there is.

Both answer the same held-out questions. The new one is promoted only where it gets more of them right than it loses,
and where that is hardly chance: half of all differences would fall to either side if neither were better, so the
chance of what was seen is a sum of binomial terms (the sign test). It knows nothing of what was learned, nor of how
right is judged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CHANCE_MAX = 0.2
"""So likely at most may it be to see as much by chance."""


class Promotion(NamedTuple):
    """What a held-out set says of a candidate.

    Attributes:
        questions: how many there were.
        current, candidate: how many each got right.
        gained, lost: how many only the candidate, and only the current one, got right.
        chance: how likely at least so clear a difference is if neither is better, 0 to 1.
    """

    questions: int
    current: int
    candidate: int
    gained: int
    lost: int
    chance: float

    @classmethod
    def of(cls, current: Sequence[bool], candidate: Sequence[bool]) -> Promotion:
        """Compare two on the same questions.

        Args:
            current: for each question whether what there is gets it right.
            candidate: the same of what would take its place.

        Raises:
            ValueError: they are not of the same questions.

        >>> Promotion.of([True, False, False, False], [True, True, True, True]).deserved
        True
        >>> Promotion.of([True, False], [False, True]).deserved
        False
        """
        if len(current) != len(candidate):
            raise ValueError(f"{len(current)} marks beside {len(candidate)}: not of the same questions")
        gained = sum(new and not old for old, new in zip(current, candidate, strict=True))
        lost = sum(old and not new for old, new in zip(current, candidate, strict=True))
        differ = gained + lost
        above = sum(math.comb(differ, k) for k in range(gained, differ + 1))
        return cls(len(current), sum(current), sum(candidate), gained, lost, above / 2**differ)

    @property
    def deserved(self) -> bool:
        """It is better, and hardly by chance."""
        return self.gained > self.lost and self.chance <= CHANCE_MAX

    def __str__(self) -> str:
        verdict = "promoted" if self.deserved else "not promoted"
        return (
            f"{verdict}: {self.candidate} of {self.questions} right instead of {self.current}"
            f" (+{self.gained} -{self.lost}, by chance {self.chance:.2f})"
        )
