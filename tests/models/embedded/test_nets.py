"""A net comes to the same as its sums and units say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.models.embedded.nets import of

pytestmark = pytest.mark.row("L5")

WORTH = st.floats(-3, 3, allow_nan=False).map(lambda value: round(value, 3))


def test_a_unit_counts_only_where_it_is_more_than_nothing() -> None:
    both = of({"sure": 0.0, "named": 0.0, "sure>0": 1.0, "named>0": 1.0, ">0": -1.0, "0>": 2.0})
    assert both.worth({"sure": 1.0, "named": 0.0}) == 0.0
    assert both.worth({"sure": 0.0, "named": 1.0}) == 0.0
    assert both.worth({"sure": 1.0, "named": 1.0}) == 2.0


@given(st.dictionaries(st.sampled_from("abcd"), WORTH), st.dictionaries(st.sampled_from("abcd"), WORTH))
def test_a_net_without_units_is_a_sum(weights: dict[str, float], signs: dict[str, float]) -> None:
    expected = sum(weights.get(name, 0.0) * value for name, value in signs.items())
    assert of(weights).worth(signs) == pytest.approx(expected)


def test_what_a_net_does_not_know_counts_nothing() -> None:
    assert of({"known": 1.0}).worth({"known": 2.0, "strange": 5.0}) == 2.0
