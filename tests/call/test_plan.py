"""Keys and comparisons that approvals and resuming rest on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.call.plan import idempotency_key
from actum.core.call import ToolCall
from actum.core.json import Json, same
from actum.journal.recording import CallRef

PAY = ToolCall("x", "pay", {"to": "bob", "amount": 5})
json_values: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.row("C7")
def test_two_payments_that_were_meant_twice_have_two_keys() -> None:
    assert idempotency_key("r", CallRef(1, 0), PAY) != idempotency_key("r", CallRef(1, 1), PAY)
    assert idempotency_key("r", CallRef(1, 0), PAY) != idempotency_key("r", CallRef(4, 0), PAY)
    assert idempotency_key("r", CallRef(1, 0), PAY) != idempotency_key("q", CallRef(1, 0), PAY)


@pytest.mark.row("C7")
def test_every_attempt_at_a_call_has_the_same_key_whatever_id_the_model_gave() -> None:
    again = ToolCall("y", "pay", {"amount": 5, "to": "bob"})
    assert idempotency_key("r", CallRef(1, 0), PAY) == idempotency_key("r", CallRef(1, 0), again)


def test_one_and_true_and_a_float_are_different_arguments() -> None:
    assert not same({"a": 1}, {"a": True})
    assert not same({"a": 1}, {"a": 1.0})
    assert same({"a": 1, "b": 2}, {"b": 2, "a": 1})


@given(st.dictionaries(st.text(max_size=4), json_values, max_size=4))
def test_arguments_are_the_same_as_themselves_in_any_order(arguments: dict[str, Json]) -> None:
    assert same(arguments, dict(reversed(arguments.items())))
