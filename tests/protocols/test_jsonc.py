"""Comments and trailing commas are taken out of JSON, and nothing else is."""

from __future__ import annotations

import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json, JsonProblem, parse
from actum.protocols.jsonc import plain_json

VARIANTS = {
    "a comment to the end of the line": '{"a": [1, 2], // why\n "b": "x"}',
    "a comment at the end of the file": '{"a": [1, 2], "b": "x"} // the end',
    "a comment of several lines": '/* first\n second */ {"a": [1, 2], "b": /* here */ "x"}',
    "a comma after the last field": '{"a": [1, 2], "b": "x",}',
    "a comma after the last element": '{"a": [1, 2,], "b": "x"}',
    "a comma, then a comment, then the end": '{"a": [1, 2, // two\n ], "b": "x", /* , */ }',
    "a byte order mark and the lines of Windows": '\ufeff// set\r\n{"a": [1, 2],\r\n"b": "x",\r\n}\r\n',
}


def test_every_variant_of_json_with_comments_is_read() -> None:
    for variant, text in VARIANTS.items():
        assert (variant, parse(plain_json(text))[0]) == (variant, {"a": [1, 2], "b": "x"})


@pytest.mark.parametrize(
    "text", ["[,]", "[1,,]", "{,}", '{"a":,}', "[1] /* no end", '{"a": "b}', "[1, 2", "[1] / 2", "/"]
)
def test_what_no_editor_would_read_is_refused(text: str) -> None:
    with pytest.raises(JsonProblem):
        parse(plain_json(text))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["//x", "/*", ",]", '",}', "\\", '\\"//']),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(values)
def test_json_stays_as_it_is(value: Json) -> None:
    for indent in (None, 2):
        text = json.dumps(value, ensure_ascii=False, indent=indent)
        assert plain_json(text) == text


@given(st.text(alphabet='"\\/*,[]{}:1 \n', max_size=40))
def test_any_text_is_read_and_keeps_its_length(text: str) -> None:
    assert len(plain_json(text)) == len(text)


def test_no_text_takes_long() -> None:
    began = perf_counter()
    for piece in ('"', '\\"', "/*", "//", "/", ",", "[,", '"\\', "/**", " ,"):
        plain_json(piece * 200_000)
    assert perf_counter() - began < 10
