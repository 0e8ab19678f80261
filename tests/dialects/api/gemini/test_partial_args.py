"""Arguments that come in pieces, each with its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.dialects.api.gemini.partial_args import PartialArgs
from tests.dialects import api_corpus


def pieces_of(value: Json, path: str) -> list[JsonObject]:
    """A value as Vertex AI would stream it."""
    match value:
        case dict():
            return [piece for name, inner in value.items() for piece in pieces_of(inner, f"{path}['{name}']")]
        case list():
            return [piece for n, inner in enumerate(value) for piece in pieces_of(inner, f"{path}[{n}]")]
        case str():
            letters = [*value[:-1]]
            said: list[JsonObject] = [
                {"jsonPath": path, "stringValue": letter, "willContinue": True} for letter in letters
            ]
            return [*said, {"jsonPath": path, "stringValue": value[-1:]}]
        case bool():
            return [{"jsonPath": path, "boolValue": value}]
        case None:
            return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
        case _:
            return [{"jsonPath": path, "numberValue": value}]


values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=2)
    ),
)


@given(st.dictionaries(st.sampled_from(["a", "b.c", "late night"]), values, max_size=3))
def test_pieces_become_the_value_that_they_were_cut_from(value: JsonObject) -> None:
    args = PartialArgs()
    assert all(args.take(piece) for piece in pieces_of(value, "$"))
    assert args.whole() == value


@pytest.mark.parametrize(
    "piece",
    [
        {},
        {"jsonPath": "$"},
        {"jsonPath": "$.a"},
        {"jsonPath": "$[0]", "boolValue": True},
        {"jsonPath": "$..a", "numberValue": 1},
        {"jsonPath": "$.a[99999]", "numberValue": 1},
    ],
)
def test_a_piece_that_is_not_understood_is_told(piece: JsonObject) -> None:
    args = PartialArgs()
    assert not args.take(piece)
    assert args.whole() == {}


@given(
    st.lists(
        st.fixed_dictionaries(
            {"jsonPath": st.sampled_from(["$.a", "$.a.b", "$.a[1]", "$.a[1].b"]), "stringValue": st.just("x")}
        )
    )
)
def test_places_that_contradict_each_other_do_no_harm(pieces: list[dict[str, Json]]) -> None:
    args = PartialArgs()
    for piece in pieces:
        args.take(piece)
    assert set(args.whole()) <= {"a"}


@given(api_corpus.any_json(("jsonPath", "stringValue")))
def test_a_piece_of_any_shape_does_no_harm(value: Json) -> None:
    if isinstance(value, dict):
        PartialArgs().take(value)


def test_a_text_in_pieces_reads_the_same_by_the_short_way() -> None:
    long, short = PartialArgs(), PartialArgs()
    said = [("$.a", "x"), ("$['a']", "y"), ("nonsense[", "lost"), ("$.b[0]", "z"), ("$.a", "!")]
    for number, (path, text) in enumerate(said):
        long.take({"jsonPath": path, "stringValue": text})
        if number % 2:
            short.take({"jsonPath": path, "stringValue": text})
        else:
            short.add_text(path, text)
    assert short.whole() == long.whole() == {"a": "xy!", "b": ["z"]}
