"""Schemas as providers take them: nothing that is dropped goes unsaid."""

from __future__ import annotations

import pytest
from google.genai import types
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import JsonObject, dumps
from actum.dialects.api.schema_subset import (
    ANTHROPIC_STRICT,
    GEMINI,
    NODES_MAX,
    Subset,
    narrowed,
)
from tests.dialects import api_corpus


@pytest.mark.parametrize(
    ("schema", "gemini"),
    [
        (
            {"type": "integer", "minimum": 1, "multipleOf": 2},
            {"type": "integer", "minimum": 1, "description": "(multipleOf: 2)"},
        ),
        ({"type": ["string", "null"]}, {"nullable": True, "type": "string"}),
        ({"type": ["string", "integer"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            {"nullable": True, "type": "integer", "default": None},
        ),
        ({"oneOf": [{"type": "integer"}, {"type": "string"}]}, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (
            {"anyOf": [{"type": "integer", "multipleOf": 2}, {"type": "null"}], "description": "Even."},
            {"nullable": True, "type": "integer", "description": "Even. (multipleOf: 2)"},
        ),
        ({"const": "a"}, {"enum": ["a"], "type": "string"}),
        ({"enum": ["a", None]}, {"nullable": True, "enum": ["a"], "type": "string"}),
        (
            {"type": "integer", "enum": [1, 2], "description": "Which."},
            {"type": "integer", "description": "Which. (one of: [1,2])"},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        ({"type": "string", "format": "email"}, {"type": "string", "description": "(format: email)"}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "object", "properties": {}}, {"type": "object"}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "description": '(additionalProperties: {"type":"integer"})'},
        ),
        (
            {
                "allOf": [
                    {"properties": {"a": {"type": "string"}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["b"]},
                ]
            },
            {"properties": {"a": {"type": "string"}, "b": {}}, "type": "object", "required": ["a", "b"]},
        ),
        (
            {
                "properties": {"u": {"allOf": [{"$ref": "#/$defs/U"}], "description": "Unit."}},
                "$defs": {"U": {"enum": ["m", "km"]}},
            },
            {"properties": {"u": {"enum": ["m", "km"], "type": "string", "description": "Unit."}}, "type": "object"},
        ),
    ],
)
def test_gemini_gets_what_it_has_a_word_for_and_the_rest_in_words(schema: JsonObject, gemini: JsonObject) -> None:
    assert narrowed(schema, GEMINI) == gemini


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (
            {"type": "string", "minLength": 2, "pattern": "^a"},
            {"type": "string", "description": "(minLength: 2, pattern: ^a)"},
        ),
        ({"type": "string", "format": "email"}, {"type": "string", "format": "email"}),
        (
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
            {"type": "array", "items": {"type": "integer"}, "minItems": 1},
        ),
        ({"type": "array", "items": {}, "minItems": 3}, {"type": "array", "items": {}, "description": "(minItems: 3)"}),
        ({"type": ["integer", "null"]}, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        ({"const": 5}, {"const": 5}),
        ({"type": "object", "properties": {}}, {"type": "object", "properties": {}, "additionalProperties": False}),
    ],
)
def test_anthropic_gets_closed_objects_and_the_bounds_in_words(schema: JsonObject, strict: JsonObject) -> None:
    assert narrowed(schema, ANTHROPIC_STRICT) == strict


@pytest.mark.parametrize("subset", [GEMINI, ANTHROPIC_STRICT])
def test_a_reference_inside_itself_becomes_any_object(subset: Subset) -> None:
    tree: JsonObject = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}}}
    schema = narrowed({"$ref": "#/$defs/Tree", "$defs": {"Tree": tree}}, subset)
    assert '"description":"Another Tree."' in dumps(schema)
    assert "$ref" not in dumps(schema)


@pytest.mark.parametrize("reference", ["#/$defs/Gone", "https://example.org/schema", "#/$defs/Loop"])
def test_a_reference_that_leads_nowhere_becomes_any_object(reference: str) -> None:
    schema = narrowed({"properties": {"a": {"$ref": reference}}, "$defs": {"Loop": {"$ref": "#/$defs/Loop"}}}, GEMINI)
    assert dumps(schema).count("Another") == 1


def test_references_that_double_at_each_step_do_not_fill_the_memory() -> None:
    defs: JsonObject = {
        f"D{n}": {"properties": {side: {"$ref": f"#/$defs/D{n + 1}"} for side in "ab"}} for n in range(40)
    }
    schema = narrowed({"$ref": "#/$defs/D0", "$defs": defs}, GEMINI)
    assert dumps(schema).count("properties") < 4 * NODES_MAX


NAMES = (
    "type",
    "properties",
    "items",
    "anyOf",
    "allOf",
    "enum",
    "const",
    "required",
    "$ref",
    "format",
    "a",
    "minItems",
)


@given(api_corpus.any_json(NAMES) | st.dictionaries(st.sampled_from(NAMES), api_corpus.any_json(NAMES), max_size=4))
def test_a_schema_of_any_shape_is_narrowed(value: object) -> None:
    if isinstance(value, dict):
        for subset in (GEMINI, ANTHROPIC_STRICT):
            assert isinstance(narrowed(value, subset), dict)


PROPERTIES: list[JsonObject] = [
    {"type": "string", "minLength": 1, "format": "email"},
    {"type": ["integer", "null"], "exclusiveMinimum": 0},
    {"enum": [1, "a", None]},
    {"type": "array", "items": {"type": "object", "properties": {"a": {"const": 1}}, "additionalProperties": True}},
    {"oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "string"}, "uniqueItems": True}]},
]


@given(st.lists(st.sampled_from(PROPERTIES), min_size=1, max_size=5))
def test_what_gemini_gets_is_a_schema_of_the_official_type(properties: list[JsonObject]) -> None:
    named: JsonObject = {f"p{number}": schema for number, schema in enumerate(properties)}
    schema = narrowed({"type": "object", "properties": named, "required": ["p0"]}, GEMINI)
    types.Schema.model_validate(schema)
