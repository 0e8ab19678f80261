"""The statistics are those of the papers, and the interval covers what it promises."""

from __future__ import annotations

import random
import statistics
from itertools import product
from math import sqrt

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from actum.evals.statistics import cases_needed, could_see, difference, kappa, ratio, sign_test, upper_tail

pytestmark = pytest.mark.row("F4")


def test_the_interval_where_no_case_differs_is_as_wide_as_the_set_is_small() -> None:
    for count, points in ((30, 8.7), (100, 2.7), (378, 0.7)):
        found = difference([0.0] * count)
        assert found.value == 0
        assert round(100 * found.high, 1) == points
        assert found.low == pytest.approx(-found.high)


def test_the_interval_covers_the_truth_in_about_ninety_five_of_a_hundred_sets() -> None:
    drawn = random.Random(46)
    for count, gain, loss in ((10, 0.05, 0.05), (10, 0.2, 0.05), (30, 0.02, 0.08), (30, 0.3, 0.2), (100, 0.05, 0.01)):
        hits = 0
        for _ in range(2_000):
            gaps = drawn.choices([1.0, -1.0, 0.0], [gain, loss, 1 - gain - loss], k=count)
            found = difference(gaps)
            hits += found.low <= gain - loss <= found.high
        assert hits / 2_000 >= 0.935, (count, gain, loss, hits)


def test_a_thousand_random_tables_come_out_as_in_scipy() -> None:
    """Sign test, interval of the difference and ratio of totals, all to 1e-9."""
    drawn = random.Random(46)
    for _ in range(1_000):
        level, count = drawn.choice([0.9, 0.95, 0.99]), drawn.randrange(2, 400)
        gaps = drawn.choices([0.0, 1.0, -1.0, 0.5, -1 / 3], [8, drawn.random(), drawn.random(), 0.2, 0.2], k=count)
        gained, lost = sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)
        judged = stats.binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
        assert sign_test(gained, lost) == pytest.approx(judged, abs=1e-9)
        assert upper_tail(gained, lost) == pytest.approx(stats.binom.sf(gained - 1, gained + lost, 0.5), abs=1e-9)
        wide = [*gaps, 1.0, -1.0]
        low, high = stats.norm.interval(level, numpy.mean(wide), numpy.std(wide) / sqrt(len(wide)))
        found = difference(gaps, level)
        assert (found.low, found.high) == pytest.approx((max(-1.0, low), min(1.0, high)), abs=1e-9)
        assert found.value == pytest.approx(numpy.mean(gaps), abs=1e-9)
        before = [drawn.uniform(0.1, 100) for _ in gaps]
        after = [each * drawn.uniform(0.5, 2) for each in before]
        times = numpy.sum(after) / numpy.sum(before)
        error = stats.sem(numpy.subtract(after, times * numpy.array(before))) / numpy.mean(before)
        told = ratio(before, after, level)
        assert told is not None
        assert told == pytest.approx((times, *stats.norm.interval(level, times, error)), abs=1e-9)
    assert [sign_test(6, 0), sign_test(5, 1), sign_test(9, 2)] == [0.03125, 0.21875, 0.0654296875]


def test_the_sign_test_counts_every_way_in_which_the_cases_may_fall() -> None:
    for gained, lost in ((3, 1), (2, 2), (0, 4), (1, 5)):
        ways = list(product((0, 1), repeat=gained + lost))
        clear = [way for way in ways if max(sum(way), len(way) - sum(way)) >= max(gained, lost)]
        assert sign_test(gained, lost) == pytest.approx(len(clear) / len(ways))


@given(
    st.lists(st.tuples(st.floats(0.1, 100), st.floats(0.1, 100)), min_size=2, max_size=40),
    st.floats(0.1, 10),
)
def test_a_ratio_of_totals_scales_and_has_none_where_a_total_is_nought(
    pairs: list[tuple[float, float]], scale: float
) -> None:
    before, after = [one for one, _ in pairs], [other for _, other in pairs]
    found = ratio(before, after)
    assert found is not None
    scaled = ratio(before, [scale * each for each in after])
    assert scaled is not None
    assert scaled.value == pytest.approx(scale * found.value)
    assert ratio(before, [0.0] * len(before)) is None
    assert ratio(before[:1], after[:1]) is None


def test_kappa_is_that_of_worked_tables() -> None:
    def table(both: int, first: int, second: int, neither: int) -> list[tuple[bool, bool]]:
        pairs = [(True, True)] * both + [(True, False)] * first
        return [*pairs, *[(False, True)] * second, *[(False, False)] * neither]

    assert kappa(table(20, 5, 10, 15)) == pytest.approx(0.4)
    assert kappa(table(45, 15, 25, 15)) == pytest.approx(0.1304, abs=1e-4)
    assert kappa(table(25, 35, 5, 35)) == pytest.approx(0.2593, abs=1e-4)
    assert kappa(table(10, 0, 0, 10)) == 1
    assert kappa(table(10, 0, 0, 0)) is None
    assert kappa([]) is None


@given(st.lists(st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0]), max_size=40), st.sampled_from([0.02, 0.05, 0.1]))
def test_so_many_cases_as_are_said_to_be_needed_show_it_and_one_less_does_not(gaps: list[float], margin: float) -> None:
    needed = cases_needed(gaps, margin)
    mean = statistics.fmean(gaps) if gaps else 0.0
    assert (needed == 0) == (mean <= -margin)
    if needed and not gaps:
        assert difference([0.0] * needed).low > -margin
        assert difference([0.0] * (needed - 1)).low <= -margin


def test_what_a_set_can_see() -> None:
    assert cases_needed([], 0.05) == 54
    assert could_see(0, 30) == could_see(3, 30) == pytest.approx(2.8 * sqrt(3 / 30 / 30))
    assert could_see(25, 100) == pytest.approx(2.8 * sqrt(0.25 / 100))
    assert could_see(0, 1) == 1
