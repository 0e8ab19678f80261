"""Whether something learned may take the place of what there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.learn import Promotion

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
