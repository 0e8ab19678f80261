"""Limits are numbers above 0, or none."""

from __future__ import annotations

import pytest

from actum.call.limit import Limits
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
