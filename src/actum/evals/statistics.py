"""The statistics of a paired comparison: what 60 lines over `math.comb` and the normal distribution can say. Pure.

Sources: Bonett and Price, Adjusted Wald confidence interval for a difference of binomial proportions based on paired
data (2012); the exact sign test; Cochran, Sampling Techniques (ratio estimators, delta method); Cohen, A coefficient of
agreement for nominal scales (1960).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import NamedTuple

NORMAL = statistics.NormalDist()
SEEN_FACTOR = 2.8
"""1.96 + 0.84: how many standard errors a difference has that is seen in 80 of 100 comparisons."""


class Interval(NamedTuple):
    """A value, and between what the true value lies at the level that was asked for."""

    value: float
    low: float
    high: float


def quantile(level: float) -> float:
    """How many standard errors the interval of a level reaches to either side."""
    return NORMAL.inv_cdf((1 + level) / 2)


def difference(differences: Sequence[float], level: float = 0.95) -> Interval:
    """The mean of paired differences, with its interval.

    To the differences one of +1 and one of -1 are added (Bonett and Price): the plain interval is far too narrow where
    there are few cases.

    Args:
        differences: of each case, from -1 to 1.
        level: of the interval.

    >>> [round(each, 3) for each in difference([0.0] * 30)]
    [0.0, -0.087, 0.087]
    """
    widened = [*differences, 1.0, -1.0]
    count = len(widened)
    mean = math.fsum(widened) / count
    deviation = math.sqrt(math.fsum((each - mean) ** 2 for each in widened) / count)
    half = quantile(level) * deviation / math.sqrt(count)
    plain = math.fsum(differences) / len(differences) if differences else 0.0
    return Interval(plain, max(-1.0, mean - half), min(1.0, mean + half))


def upper_tail(gained: int, lost: int) -> float:
    """How likely that number of gains or more is, if each case that differs may fall to either side."""
    differ = gained + lost
    return float(sum(math.comb(differ, k) for k in range(gained, differ + 1)) / 2**differ)


def sign_test(gained: int, lost: int) -> float:
    """How likely a difference at least so clear is, to either side, if neither is better.

    >>> sign_test(5, 1), sign_test(0, 0)
    (0.21875, 1.0)
    """
    return min(1.0, 2 * upper_tail(max(gained, lost), min(gained, lost)))


def ratio(before: Sequence[float], after: Sequence[float], level: float = 0.95) -> Interval | None:
    """The ratio of two totals of the same cases, with its interval by the delta method.

    Args:
        before, after: a value of each case.
        level: of the interval.

    Returns:
        The ratio; None where a total is 0.
    """
    count = len(before)
    total, other = math.fsum(before), math.fsum(after)
    if total <= 0 or other <= 0 or count < 2:
        return None
    found = other / total
    rests = [new - found * old for old, new in zip(before, after, strict=True)]
    variance = math.fsum(each * each for each in rests) / (count - 1)
    half = quantile(level) * math.sqrt(variance / count) / (total / count)
    return Interval(found, found - half, found + half)


def could_see(differ: int, count: int) -> float:
    """The difference that a set shows with power 80 %, if as many cases differ as did; at least three are taken to.

    >>> round(could_see(0, 30), 3)
    0.162
    """
    return min(1.0, SEEN_FACTOR * math.sqrt(max(differ, 3)) / count) if count else 1.0


def cases_needed(differences: Sequence[float], margin: float, level: float = 0.95) -> int:
    """How many cases are needed to show that no more than a margin was lost, if others differ as these did.

    Args:
        differences: of the cases there are.
        margin: the loss, from 0 to 1.
        level: of the interval.

    Returns:
        The number; 0 where no number of cases shows it, since the difference is a loss of the margin or more.

    >>> cases_needed([], 0.05)
    54
    """
    count = len(differences)
    mean = math.fsum(differences) / count if count else 0.0
    square = math.fsum(each * each for each in differences) / count if count else 0.0
    if mean <= -margin:
        return 0
    z, needed, step = quantile(level), 1, 1 << 30

    def shows(number: int) -> bool:
        wide = number + 2
        centre = number * mean / wide
        deviation = math.sqrt(max(0.0, (number * square + 2) / wide - centre**2))
        return centre - z * deviation / math.sqrt(wide) > -margin

    while step:  # the smallest number that shows it: the interval only becomes narrower
        if not shows(needed + step - 1):
            needed += step
        step >>= 1
    return needed


def kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two judges: how far they agree beyond chance.

    Args:
        pairs: what each judge said of the same things.

    Returns:
        From -1 to 1; None where there are no pairs, or where both judges always say the same, so that nothing tells
        agreement from chance.
    """
    if not pairs:
        return None
    count = len(pairs)
    agreed = sum(one == other for one, other in pairs) / count
    first, second = sum(one for one, _ in pairs) / count, sum(other for _, other in pairs) / count
    by_chance = first * second + (1 - first) * (1 - second)
    return (agreed - by_chance) / (1 - by_chance) if by_chance < 1 else None
