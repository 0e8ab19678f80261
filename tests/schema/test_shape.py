"""Python types as JSON has them: our table says what pydantic says, and a careful person would write it so."""

from __future__ import annotations

import typing
from typing import Annotated, Any, Literal, Optional, Union

import pytest
from pydantic import TypeAdapter

from actum.core.json import JsonObject
from actum.schema.shape import (
    plain_shape,
    result_schema,
    tidied,
    with_definitions,
)

pytestmark = pytest.mark.row("T1")

PLAIN: list[object] = [
    None,
    bool,
    int,
    float,
    str,
    Any,
    object,
    list,
    dict,
    typing.List,  # noqa: UP006  # as older code has it
    typing.Dict[str, int],  # noqa: UP006
    list[Any],
    list[int],
    list[list[str | None]],
    dict[str, Any],
    dict[str, list[float]],
    Literal["a"],
    Literal["a", "b"],
    Literal[1, 2],
    Literal[1, "a"],
    Literal["a", None],  # noqa: PYI061  # as somebody may write it
    Literal[True, False],
    Literal[None],  # noqa: PYI061
    int | str,
    Optional[int],  # noqa: UP045
    Union[list[int], Optional[str]],  # noqa: UP007, UP045
    Literal["a", "b"] | None,
    list[Literal["a"] | int],
]


@pytest.mark.parametrize("annotation", PLAIN, ids=str)
def test_our_table_says_what_pydantic_says(annotation: Any) -> None:  # noqa: ANN401
    shape = plain_shape(annotation, "a")
    assert shape is not None
    assert shape.schema == tidied(TypeAdapter(annotation).json_schema())


@pytest.mark.parametrize(
    "annotation", [dict[int, str], tuple[int, str], set[int], bytes, list[set[int]], int | bytes, list[int] | set[int]]
)
def test_what_json_does_not_have_is_left_to_pydantic(annotation: object) -> None:
    assert plain_shape(annotation, "a") is None


def test_words_in_an_annotation_are_a_description_wherever_they_stand() -> None:
    shape = plain_shape(list[Annotated[str, "a city"]], "a")
    assert shape is not None
    assert shape.schema == {"type": "array", "items": {"type": "string", "description": "a city"}}


def test_a_whole_number_written_as_a_float_becomes_an_int_where_an_int_is_asked_for() -> None:
    def read(annotation: object, value: Any) -> object:  # noqa: ANN401
        shape = plain_shape(annotation, "a")
        assert shape is not None
        return value if shape.read is None else shape.read(value, {})

    assert repr(read(int, 5.0)) == "5"
    assert repr(read(int | None, 5.0)) == "5"
    assert repr(read(list[int], [5.0, 6])) == "[5, 6]"
    assert repr(read(dict[str, list[int]] | None, {"a": [5.0]})) == "{'a': [5]}"
    assert repr(read(int | float, 5.0)) == "5.0"
    assert repr(read(float, 5.0)) == "5.0"
    assert read(list[int] | str, "x") == "x"


def test_titles_and_other_noise_are_taken_out_and_names_are_not() -> None:
    noisy: JsonObject = {
        "title": "Book",
        "type": "object",
        "properties": {"title": {"title": "Title", "type": "string", "default": {"title": "kept"}}},
        "additionalProperties": True,
        "discriminator": {"propertyName": "kind"},
        "anyOf": [{"items": {}, "type": "array", "title": "A"}],
    }
    assert tidied(noisy) == {
        "type": "object",
        "properties": {"title": {"type": "string", "default": {"title": "kept"}}},
        "anyOf": [{"type": "array"}],
    }


def test_a_definition_is_put_in_place_unless_it_is_shared_or_recursive() -> None:
    schema: JsonObject = {
        "properties": {
            "a": {"$ref": "#/$defs/Once", "description": "mine"},
            "b": {"$ref": "#/$defs/Twice"},
            "c": {"$ref": "#/$defs/Twice"},
            "d": {"$ref": "#/$defs/Tree"},
        }
    }
    definitions: dict[str, JsonObject] = {
        "Once": {"type": "string", "description": "its own", "enum": ["x"]},
        "Twice": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Inner"}}},
        "Inner": {"type": "integer"},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "Unused": {"type": "null"},
    }
    settled = with_definitions(schema, definitions)
    assert settled["properties"]["a"] == {"type": "string", "description": "mine", "enum": ["x"]}  # type: ignore[index,call-overload]
    assert settled["$defs"] == {
        "Twice": {"type": "object", "properties": {"x": {"type": "integer"}}},
        "Tree": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
    }


@pytest.mark.parametrize("annotation", [str, None, Any, str | None, object, str | dict[str, int]])
def test_a_function_that_may_answer_in_text_has_no_result_schema(annotation: object) -> None:
    assert result_schema(annotation) is None


def test_a_structured_result_has_a_schema() -> None:
    assert result_schema(int) == {"type": "integer"}
    assert result_schema(set[int]) == {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}


def test_a_result_that_nobody_can_describe_has_no_schema_and_is_no_error() -> None:
    class Socket: ...

    assert result_schema(Socket) is None
