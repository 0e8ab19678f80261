"""How much may be under way at once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from actum.server.places import Places


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=60))
def test_nobody_and_not_everybody_together_ever_holds_more_than_allowed_and_all_is_given_back(
    steps: list[tuple[str, bool]],
) -> None:
    places, held = Places(), {"a": 0, "b": 0, "c": 0}
    for caller, takes in steps:
        if takes:
            full = places.take(caller, 2, 4)
            assert full == ("caller" if held[caller] >= 2 else "all" if sum(held.values()) >= 4 else "")
            held[caller] += not full
        elif held[caller]:
            places.leave(caller)
            held[caller] -= 1
        assert places.held == sum(held.values())
