"""Reading JSON that a model wrote: strictly, with every repair said."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import DEPTH_MAX, Ambiguous, Json, JsonProblem, dumps, kind_of, parse, parse_object

_LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(_VALUES)
def test_what_is_written_is_read_back(value: Json) -> None:
    assert parse(dumps(value)) == (value, ())


@given(st.text() | st.binary())
def test_any_text_is_json_or_a_problem(text: str | bytes) -> None:
    try:
        value, _ = parse(text)
    except JsonProblem:
        return
    assert parse(dumps(value))[0] == value


@pytest.mark.row("C1")
@pytest.mark.parametrize(
    "text", ["", " ", "{", '{"a"', '{"a": ', '{"a": "x', '{"a": 1,', "[1, 2", '"\\u12', "tru", "{} {}", "x"]
)
def test_truncated_and_foreign_text_is_a_problem_that_says_where(text: str) -> None:
    with pytest.raises(JsonProblem, match=r"at character \d+ of \d+"):
        parse(text)


@pytest.mark.row("C1")
def test_a_key_with_two_values_is_refused_and_with_one_it_is_noted() -> None:
    for text in ('{"a": 1, "a": 3}', '{"b": {"c": 1, "c": 1.0}}', '[{"a": 1, "a": true}]', '{"a": {}, "a": null}'):
        with pytest.raises(Ambiguous, match="is given twice with different values"):
            parse(text)
    notes = ("key 'c' is given twice with one value", "key 'a' is given twice with one value")
    assert parse('{"a": 1, "b": {"c": [{}], "c": [{}]}, "a": 1}') == ({"a": 1, "b": {"c": [{}]}}, notes)
    assert parse('{"a": 1, "a": 3}', keep_last=True) == ({"a": 3}, ())


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_numbers_that_json_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(JsonProblem, match="is not JSON"):
        parse(text)


@pytest.mark.parametrize("text", ["1e999", '{"amount": -1E400}', "1" * 400 + ".0"])
def test_a_number_that_python_reads_as_infinity_is_refused_since_no_record_can_hold_it(text: str) -> None:
    with pytest.raises(JsonProblem, match="is too large a number"):
        parse(text)


def test_half_a_surrogate_pair_is_replaced_and_it_is_said() -> None:
    value, repairs = parse(r'{"\ud83d": ["\ude00", "\ud83d\ude00"]}')
    assert value == {"\ufffd": ["\ufffd", "😀"]}
    assert repairs == ("half a surrogate pair: replaced by U+FFFD",)


@pytest.mark.parametrize("depth", [DEPTH_MAX + 1, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_values_nested_too_deep_are_refused(depth: int, opening: str) -> None:
    closing = "]" if opening == "[" else "}"
    with pytest.raises(JsonProblem, match="nested deeper than 100"):
        parse(opening * depth + "0" + closing * depth)
    assert parse(opening * DEPTH_MAX + "0" + closing * DEPTH_MAX)[1] == ()


def test_a_number_too_long_to_read_is_a_problem() -> None:
    with pytest.raises(JsonProblem, match="digits"):
        parse("1" * 10_000)


def test_bytes_that_are_no_utf8_are_read_as_far_as_they_go() -> None:
    assert parse(b'{"a": "\xff"}')[0] == {"a": "\ufffd"}


@pytest.mark.row("C1")
@pytest.mark.parametrize(
    ("text", "value", "repairs"),
    [
        ("", {}, 0),
        (" \n", {}, 0),
        ("null", {}, 1),
        ('{"a": 1}', {"a": 1}, 0),
        (json.dumps('{"a": 1}'), {"a": 1}, 1),
        (json.dumps(' {"a": 2, "a": 2}'), {"a": 2}, 2),
    ],
)
def test_arguments_are_an_object_however_they_were_wrapped(text: str, value: Json, repairs: int) -> None:
    found, said = parse_object(text)
    assert (found, len(said)) == (value, repairs)


@pytest.mark.parametrize(("text", "kind"), [("[1]", "array"), ("5", "integer"), ('"x"', "string"), ("true", "boolean")])
def test_arguments_that_are_no_object_are_a_problem(text: str, kind: str) -> None:
    with pytest.raises(JsonProblem, match=f"an object was expected, {kind} came"):
        parse_object(text)


def test_each_kind_has_its_json_name() -> None:
    values: list[object] = [None, True, 1, 1.5, "", [], (), {}]
    kinds = [kind_of(value) for value in values]
    assert kinds == ["null", "boolean", "integer", "number", "string", "array", "array", "object"]
