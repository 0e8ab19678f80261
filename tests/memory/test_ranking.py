"""A turn lifts the turns around it, and what was said in a span of time; nothing else changes an order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actum.memory.ranking import BEST, IN_SPAN, Occasion, best, ranked
from actum.memory.spans import TimeSpan

TALKS = {"a": list(range(20)), "b": list(range(20, 40))}
WHERE = {number: Occasion(name, float(number)) for name, numbers in TALKS.items() for number in numbers}
SCORES = st.dictionaries(st.integers(0, 39), st.floats(0.1, 100))


def order(scores: dict[int, float], *spans: TimeSpan) -> list[int]:
    return [number for number, _ in ranked(scores, WHERE, TALKS, spans)]


def test_a_neighbour_without_a_word_of_the_question_comes_behind_what_has_one() -> None:
    assert order({5: 10.0}) == [5, 4, 6, 3, 7]


def test_of_equal_turns_the_one_stands_first_whose_conversation_says_more() -> None:
    assert order({2: 5.0, 25: 5.0, 35: 5.0})[:3] == [25, 35, 2]


def test_what_was_said_in_a_span_of_time_comes_first_and_nothing_is_excluded() -> None:
    scores = {2: 5.0, 30: 5.0 * IN_SPAN * 0.9}
    assert order(scores)[0] == 30
    assert order(scores, TimeSpan(2.0, 3.0))[0] == 2
    assert set(order(scores, TimeSpan(2.0, 3.0))) == set(order(scores))


def test_turns_that_stand_alone_neither_lend_nor_lift() -> None:
    alone = {number: Occasion("", float(number)) for number in range(3)}
    assert ranked({0: 1.0, 1: 3.0, 2: 1.0}, alone, {}) == [(1, 3.0), (0, 1.0), (2, 1.0)]


@given(SCORES, st.lists(st.tuples(st.floats(0, 40), st.floats(0, 40))))
def test_only_what_fits_and_its_neighbours_are_ranked_in_one_order(
    scores: dict[int, float], times: list[tuple[float, float]]
) -> None:
    spans = [TimeSpan(*each) for each in times]
    found = ranked(scores, WHERE, TALKS, spans)
    assert ranked(dict(reversed(scores.items())), WHERE, TALKS, spans) == found
    numbers = [number for number, _ in found]
    assert len(numbers) == len(set(numbers))
    assert scores.keys() <= set(numbers) <= {number + far for number in scores for far in range(-2, 3)}
    assert all(score >= scores.get(number, 0.0) for number, score in found)
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


@given(SCORES, st.integers(0, 39))
def test_a_turn_that_fits_better_never_falls(scores: dict[int, float], number: int) -> None:
    before, after = order(scores), order(scores | {number: scores.get(number, 0.0) + 1.0})
    if number in before:
        assert after.index(number) <= before.index(number)


def test_of_very_many_turns_the_best_are_ranked() -> None:
    scores = {number: float(number % 977) for number in range(5_000)}
    top = best(scores)
    assert len(top) == BEST
    assert top[0] == 976
    assert [number for number, _ in ranked(scores, {number: Occasion("", 0.0) for number in scores}, {})] == top
