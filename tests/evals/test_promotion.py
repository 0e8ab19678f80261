"""Whether something learned may take the place of what there is."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.evals.promotion import EarlierLook, Promotion, number_of_look

MARKS = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60)


def test_clearly_better_is_promoted() -> None:
    assert Promotion.of([False] * 8 + [True] * 20, [True] * 28).deserved


def test_as_good_is_not_promoted() -> None:
    assert not Promotion.of([True, False, True], [True, False, True]).deserved


def test_better_by_what_may_be_chance_is_not_promoted() -> None:
    promotion = Promotion.of([True, False, False], [False, True, True])
    assert promotion.gained > promotion.lost
    assert not promotion.deserved


def test_marks_of_other_questions_are_refused() -> None:
    with pytest.raises(ValueError, match="not of the same questions"):
        Promotion.of([True], [])


@given(MARKS)
def test_nothing_is_promoted_both_ways(marks: list[tuple[bool, bool]]) -> None:
    current, candidate = [old for old, _ in marks], [new for _, new in marks]
    there, back = Promotion.of(current, candidate), Promotion.of(candidate, current)
    assert not (there.deserved and back.deserved)
    assert 0.0 <= there.chance <= 1.0
    assert there.candidate - there.current == there.gained - there.lost


def test_the_first_look_needs_six_gained_and_the_tenth_twelve() -> None:
    for look, gained in ((1, 6), (10, 12)):
        assert Promotion.of([False] * gained, [True] * gained, look).deserved
        assert not Promotion.of([False] * (gained - 1), [True] * (gained - 1), look).deserved
        assert Promotion.of([False] * (gained - 1), [True] * (gained - 1), look).verdict == "unknown"
    assert Promotion.of([True] * 20, [True] * 20).verdict == "not promoted"


def test_ten_looks_at_an_equal_candidate_promote_in_at_most_five_of_a_hundred() -> None:
    drawn = random.Random(46)
    promoted = 0
    for _ in range(1_000):
        for look in range(1, 11):
            differ = drawn.choices([(False, True), (True, False)], k=40)
            if Promotion.of([old for old, _ in differ], [new for _, new in differ], look).deserved:
                promoted += 1
                break
    assert promoted <= 50


def test_a_look_counts_when_it_shares_an_agent_and_a_question_whatever_was_added() -> None:
    before = [
        EarlierLook(frozenset({"a", "b"}), frozenset({"1", "2"})),
        EarlierLook(frozenset({"a", "c"}), frozenset({"7"})),
        EarlierLook(frozenset({"x", "y"}), frozenset({"1"})),
    ]
    assert number_of_look(before, {"a", "d"}, {"1", "2", "3", "4"}) == 2
    assert number_of_look(before, {"a", "d"}, {"1", "7"}) == 3
    assert number_of_look(before, {"d"}, {"1"}) == 1
