from __future__ import annotations

import pytest

from tests.each import each

CHECKED: list[int] = []
NONE: dict[str, tuple[()]] = {}


@each({"one": (1, 1), "two": (2, 3), "three": (3, 3), "four": (4, 5)})
def check(number: int, same: int) -> None:
    """Every number is the same as its partner."""
    CHECKED.append(number)
    assert number == same


@each({"never raises": ()})
def raises() -> None:
    with pytest.raises(ValueError, match="never"):
        pass


@each(NONE)
def nothing() -> None:
    pass


def test_every_case_is_checked_and_all_that_fail_are_named() -> None:
    CHECKED.clear()
    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases failed") as caught:
        check()
    assert CHECKED == [1, 2, 3, 4]
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: two"], ["case: four"]]
    assert check.__name__ == "check"


def test_a_case_in_which_nothing_was_raised_fails_as_well() -> None:
    with pytest.raises(BaseExceptionGroup) as caught:
        raises()
    assert [error.__notes__ for error in caught.value.exceptions] == [["case: never raises"]]


def test_a_claim_without_a_case_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="no case"):
        nothing()
