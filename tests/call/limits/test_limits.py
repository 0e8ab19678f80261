"""Limits are numbers above 0, or none."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from actum.call.limits.limits import Limits, ToolLimits, UserLimits
from actum.core.errors import UsageError

pytestmark = pytest.mark.row("C5")


@pytest.mark.parametrize("name", ["parallel", "attempts", "repeats"])
def test_a_limit_that_a_run_can_not_do_without_is_a_number(name: str) -> None:
    with pytest.raises(UsageError, match=rf"Limits\({name}=None\): give a number above 0$"):
        Limits(**{name: None})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["5", 0, -1, True, float("nan")])
def test_a_limit_that_is_no_number_above_0_is_refused_in_a_sentence(value: float) -> None:
    with pytest.raises(UsageError, match=r"Limits\(seconds=.*or None for no limit"):
        Limits(seconds=value)


@pytest.mark.parametrize("made", [lambda: ToolLimits(calls=0), lambda: UserLimits(per_minute=-1)])
def test_the_limits_of_tools_and_users_are_numbers_above_0_too(made: Callable[[], object]) -> None:
    with pytest.raises(UsageError, match=r"^(Tool|User)Limits\(.*or None for no limit"):
        made()


@pytest.mark.parametrize("wrong", [{"tools": {"pay": {"calls": 1}}}, {"users": 5}, {"tools": {"pay": None}}])
def test_what_is_no_limit_is_refused_when_it_is_given(wrong: dict[str, object]) -> None:
    with pytest.raises(UsageError, match=r"give (Tool|User)Limits\(\.\.\.\)"):
        Limits(**wrong)  # type: ignore[arg-type]


def test_all_that_fit_a_tool_hold() -> None:
    limits = Limits(
        call_seconds=60,
        tools={
            "pay_*": ToolLimits(seconds=20),
            "*": ToolLimits(seconds=30, result_bytes=9),
            "x": ToolLimits(seconds=1),
        },
    )
    assert [limits.seconds_of(25, name) for name in ("pay_bill", "look", "x")] == [20, 25, 1]
    assert (limits.seconds_of(None, "look"), limits.bytes_of("look")) == (30, 9)
    assert Limits(call_seconds=None).seconds_of(None, "look") is None
