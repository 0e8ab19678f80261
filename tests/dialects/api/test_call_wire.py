"""Ids and arguments of calls on any wire."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import ToolCall
from actum.dialects.api.call_wire import (
    PastIds,
    WireIds,
    arguments_object,
    arguments_text,
    read_arguments,
    readable,
)
from tests.dialects import api_corpus


@given(st.text(max_size=6) | st.sampled_from(["{}", '{"a": 1}', ' {"a": 1} ', "null", "", " "]))
def test_a_call_that_broke_off_is_never_written_as_a_whole_one(raw: str) -> None:
    broken = ToolCall("a", "f", {}, raw, complete=False)
    assert not read_arguments(arguments_text(broken, nothing="{"))[2]
    assert not arguments_text(broken).strip() or not read_arguments(arguments_text(broken))[2]
    assert arguments_text(readable(broken)) == "{}"


@given(st.sampled_from(api_corpus.VALUES), st.booleans(), st.text(max_size=5))
def test_arguments_as_an_object_are_the_models_own_text_where_that_is_one(
    value: dict[str, object], mended: bool, other: str
) -> None:
    raw = msgspec.json.encode(value).decode().replace(":", " : ")
    values = read_arguments(raw)[0]
    call = ToolCall("a", "f", values, raw, repairs=("mended",) if mended else ())
    assert msgspec.json.decode(bytes(arguments_object(call))) == values
    assert mended or bytes(arguments_object(call)) == raw.encode()
    assert read_arguments(bytes(arguments_object(msgspec.structs.replace(call, raw=other))).decode())[2]


def test_ids_are_put_in_the_form_of_an_api_and_stay_apart() -> None:
    ids = WireIds("[^a-z]")
    assert [ids.take(id_) for id_ in ("a.b", "a_b", "a b")] == ["a_b", "a_b_2", "a_b_3"]


@pytest.mark.parametrize("answered", [[], ["a"], ["a", "a", "b"]])
def test_which_calls_wait_for_an_answer_is_known(answered: list[str]) -> None:
    past = PastIds()
    wired = past.asked(tuple(ToolCall(id_, "f", {}) for id_ in "aab"))
    for id_ in answered:
        assert past.waits(id_)
        past.answered(id_)
    assert past.leave_unanswered() == wired[len(answered) :]
    assert not past.waits("b")
