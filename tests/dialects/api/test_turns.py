"""Messages for APIs in which the sides take turns."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actum.dialects.api.turns import Turns, joined


@given(st.lists(st.tuples(st.sampled_from("ab"), st.lists(st.integers(0, 9), max_size=2), st.sampled_from(["", "x"]))))
def test_what_one_side_says_in_a_row_is_one_message(said: list[tuple[str, list[int], str]]) -> None:
    turns = Turns("parts")
    pieces = [turns.piece(role, [{"n": n} for n in numbers], apart=apart) for role, numbers, apart in said]
    expected: list[dict[str, object]] = []
    last = ("", "")
    for role, numbers, apart in said:
        parts = [{"n": n} for n in numbers]
        if parts and (role, apart) == last:
            expected[-1] = {"role": role, "parts": [*msgspec.convert(expected[-1]["parts"], list[object]), *parts]}
        elif parts:
            expected.append({"role": role, "parts": parts})
            last = (role, apart)
    assert msgspec.json.decode(bytes(joined(pieces))) == expected
    for count in range(len(pieces) + 1):
        msgspec.json.decode(bytes(joined(pieces[:count])))


def test_nothing_said_is_no_message() -> None:
    assert bytes(joined([])) == b"[]"
    assert bytes(joined([Turns("parts").piece("user", [])])) == b"[]"
