"""A net comes to the same as its sums and units say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.learned.nets import net, of
from actum_embedded.learned.weights import CHINESE, SHIPPED, use

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


def test_a_tongue_has_a_net_of_its_own_where_one_was_learned(tmp_path: Path) -> None:
    weights = {"a": 1.0, f"{CHINESE}a": 5.0}
    (tmp_path / "both.json").write_text(json.dumps({"weights": weights}), "utf-8")
    (tmp_path / "one.json").write_text(json.dumps({"weights": {"a": 1.0}}), "utf-8")
    use(tmp_path)
    try:
        assert [net("both.json", tongue).worth({"a": 1.0}) for tongue in ("", CHINESE)] == [1.0, 5.0]
        assert [net("one.json", tongue).worth({"a": 1.0}) for tongue in ("", CHINESE)] == [1.0, 1.0]
    finally:
        use(SHIPPED)
