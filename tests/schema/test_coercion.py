"""Safe coercion: what is read as what was asked for, what is left alone, and what is written down of it."""

from __future__ import annotations

import copy

import pytest

from actum.core.json import Json, JsonObject
from actum.schema.schema import CheckedArguments, compile_schema

pytestmark = pytest.mark.row("C1")


def check(properties: JsonObject, arguments: JsonObject, *required: str, closed: bool = True) -> CheckedArguments:
    rest: JsonObject = {"additionalProperties": False} if closed else {}
    document: JsonObject = {"type": "object", "properties": properties, "required": list(required), **rest}
    return compile_schema(document, where="tool 'x'").check(arguments)


def same(left: Json, right: Json) -> bool:
    """Equal, and of the same types all the way: 1, 1.0 and True are three things."""
    return repr(left) == repr(right)


STRING: JsonObject = {"type": "string"}
INTEGER: JsonObject = {"type": "integer"}
NULL: JsonObject = {"type": "null"}
INTEGERS: JsonObject = {"type": "array", "items": INTEGER}


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INTEGER, "5", 5),
        (INTEGER, " -12 ", -12),
        (INTEGER, "5.0", 5),
        (INTEGER, "9007199254740993", 9007199254740993),
        ({"type": "number"}, "2.5", 2.5),
        ({"type": "number"}, "5", 5),
        ({"type": "number"}, "1e3", 1000.0),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "False", False),
        (STRING, 5, "5"),
        (STRING, 2.5, "2.5"),
        (STRING, True, "true"),
        ({"type": ["string", "null"]}, 5, "5"),
        ({"type": ["integer", "null"]}, "5", 5),
        ({"type": ["integer", "null"]}, "null", None),
        ({"type": ["integer", "null"]}, "", None),
        ({"type": ["integer", "string"]}, "5", "5"),
        ({"anyOf": [INTEGER, NULL]}, "7", 7),
        ({"anyOf": [INTEGER, NULL]}, "", None),
        ({"anyOf": [{"type": "number"}, INTEGER]}, "7", 7),
        ({"anyOf": [INTEGERS, INTEGER]}, "7", 7),
        ({"oneOf": [INTEGERS, NULL]}, "7", [7]),
        ({"anyOf": [STRING, NULL]}, 7, "7"),
        (INTEGERS, "[1, 2]", [1, 2]),
        (INTEGERS, ["1", 2], [1, 2]),
        (INTEGERS, 5, [5]),
        (INTEGERS, "5", [5]),
        ({"type": "array", "items": STRING}, "a, b", ["a, b"]),
        ({"type": "array"}, {"a": 1}, [{"a": 1}]),
        ({"type": "object"}, '{"a": 1}', {"a": 1}),
        ({"type": "object", "properties": {"n": INTEGER}}, ' {"n": "1"} ', {"n": 1}),
        ({"type": "array", "items": {"type": "object"}}, '{"a": 1}', [{"a": 1}]),
        ({"type": "string", "enum": ["celsius", "fahrenheit"]}, " Celsius", "celsius"),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": ["1", "2"]}, 2, "2"),
        ({"enum": [True, None]}, "NULL", None),
        ({"const": "A"}, "a", "A"),
        ({"anyOf": [{"type": "string", "enum": ["up", "down"]}, NULL]}, "UP", "up"),
    ],
)
def test_a_value_is_read_as_what_was_asked_for(schema: JsonObject, value: Json, expected: Json) -> None:
    checked = check({"a": schema}, {"a": value})
    assert not checked.problems
    assert same(checked.arguments["a"], expected)
    assert bool(checked.repairs) == (not same(value, expected))


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (INTEGER, "2.5"),
        (INTEGER, 2.5),
        (INTEGER, "five"),
        (INTEGER, "5 apples"),
        (INTEGER, "1,000"),
        (INTEGER, "0x10"),
        (INTEGER, True),
        (INTEGER, [5]),
        (INTEGER, "9" * 10_000),
        ({"type": "number"}, "NaN"),
        ({"type": "number"}, "1e999"),
        ({"type": "number"}, "1e99999999"),
        ({"type": "boolean"}, "yes"),
        ({"type": "boolean"}, 1),
        (STRING, ["a"]),
        ({"type": ["integer", "string"]}, 2.5),
        ({"anyOf": [STRING, INTEGERS]}, 2.5),
        (INTEGERS, "a"),
        ({"type": "object"}, "{a: 1}"),
        ({"type": "object"}, "[1]"),
        ({"type": "object"}, "{" * 10_000),
        ({"enum": ["a", "A"]}, " a "),
        ({"enum": ["a", "b"]}, "c"),
        ({"type": "integer", "maximum": 3}, "5"),
    ],
)
def test_what_can_not_be_read_exactly_is_a_problem(schema: JsonObject, value: Json) -> None:
    arguments: JsonObject = {"a": value}
    checked = check({"a": schema}, arguments)
    assert checked.problems
    assert checked.arguments is arguments
    assert checked.repairs == ()


@pytest.mark.parametrize("text", ["02134", "5", "true", "null", "[1]", '{"a": 1}', "1e3"])
def test_text_stays_text_where_text_is_asked_for(text: str) -> None:
    assert check({"a": STRING}, {"a": text}, "a").arguments == {"a": text}


def test_each_repair_is_a_phrase_for_the_record() -> None:
    inner: JsonObject = {"type": "object", "properties": {"n": INTEGER}}
    unit: JsonObject = {"enum": ["celsius"]}
    checked = check({"a": INTEGER, "o": inner, "unit": unit}, {"a": "5", "o": '{"n": "1"}', "unit": "Celsius"})
    assert checked.repairs == (
        'a: "5" (string) read as 5 (integer)',
        'o: "{\\"n\\": \\"1\\"}" (string) read as {"n":"1"} (object)',
        'unit: "Celsius" read as "celsius"',
        'o.n: "1" (string) read as 1 (integer)',
    )


def test_the_callers_object_is_never_changed() -> None:
    arguments: JsonObject = {"list": [{"n": "1"}, {"n": "2"}], "destination": "Paris"}
    before = copy.deepcopy(arguments)
    item: JsonObject = {"type": "object", "properties": {"n": INTEGER}}
    checked = check({"list": {"type": "array", "items": item}, "dest": STRING}, arguments, "dest")
    assert checked.arguments == {"list": [{"n": 1}, {"n": 2}], "dest": "Paris"}
    assert arguments == before


def test_ten_thousand_values_are_mended_in_one_go() -> None:
    checked = check({"a": INTEGERS}, {"a": [str(n) for n in range(10_000)]})
    assert checked.arguments == {"a": list(range(10_000))}
    assert checked.repairs[-1] == "9980 further repairs of this kind"
    assert len(checked.repairs) == 21


def test_of_a_union_of_objects_the_one_that_can_be_mended_is_mended() -> None:
    cat: JsonObject = {"type": "object", "properties": {"kind": {"const": "cat"}, "lives": INTEGER}}
    dog: JsonObject = {"type": "object", "properties": {"kind": {"const": "dog"}, "age": INTEGER}}
    pet: JsonObject = {"oneOf": [{**cat, "required": ["kind", "lives"]}, {**dog, "required": ["kind", "age"]}]}
    assert check({"pet": pet}, {"pet": {"kind": "dog", "age": "3"}}).arguments == {"pet": {"kind": "dog", "age": 3}}


def test_the_arguments_as_a_whole_are_an_object_and_stay_one() -> None:
    schema = compile_schema({"anyOf": [{"type": "array"}, {"type": "string"}]}, where="tool 'x'")
    assert [problem.rule for problem in schema.check({"a": 1}).problems] == ["anyOf"]


# Names. ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["destination", "Dest", "DEST", "de-st", "dest_"])
@pytest.mark.parametrize("closed", [True, False])
def test_a_name_that_can_only_mean_the_missing_parameter_is_taken_for_it(name: str, closed: bool) -> None:
    checked = check({"dest": STRING, "when": STRING}, {"when": "now", name: "Paris"}, "dest", closed=closed)
    assert checked.arguments == {"when": "now", "dest": "Paris"}
    assert checked.repairs == (f"{name} taken as dest",)


def test_a_renamed_argument_keeps_its_place_and_is_then_read() -> None:
    checked = check({"userId": INTEGER, "z": INTEGER}, {"user_id": "5", "z": 1}, "userId")
    assert list(checked.arguments.items()) == [("userId", 5), ("z", 1)]


@pytest.mark.parametrize(
    ("properties", "required", "arguments"),
    [
        ({"to": STRING}, ["to"], {"town": "Paris"}),  # two letters in common are chance
        ({"dest": STRING}, [], {"destination": "Paris"}),  # nothing is missing
        ({"dest": STRING}, ["dest"], {"destination": "Paris", "Dest": "Rome"}),  # which of the two
        ({"user_id": STRING, "user_name": STRING}, ["user_id", "user_name"], {"user": "Ann"}),  # for which of the two
        ({"dest": STRING}, ["dest"], {"place": "Paris"}),
    ],
)
def test_a_name_that_may_mean_something_else_is_not_taken(
    properties: JsonObject, required: list[str], arguments: JsonObject
) -> None:
    assert check(properties, arguments, *required).problems


def test_a_known_name_is_never_taken_for_another_one() -> None:
    checked = check({"destination": STRING, "dest": STRING}, {"destination": "Paris"}, "dest", closed=False)
    assert [problem.path for problem in checked.problems] == ["dest"]


def test_unknown_names_are_dropped_where_that_is_the_setting() -> None:
    document: JsonObject = {"type": "object", "properties": {"a": INTEGER}, "additionalProperties": False}
    schema = compile_schema(document, where="tool 'x'")
    arguments: JsonObject = {"a": 1, "b": 2}
    assert schema.check(arguments).problems
    checked = schema.check(arguments, extra="drop")
    assert (checked.arguments, checked.repairs) == ({"a": 1}, ("b: not a parameter, dropped",))
    assert schema.check({"a": "1", "b": 2}, coerce=False, extra="drop").problems


def test_coercion_can_be_switched_off() -> None:
    schema = compile_schema({"type": "object", "properties": {"a": INTEGER}, "required": ["a"]}, where="tool 'x'")
    assert schema.check({"a": "5"}, coerce=False).problems
    assert schema.check({"A": 5}, coerce=False).problems


@pytest.mark.parametrize(
    "schema",
    [
        STRING,
        INTEGER,
        INTEGERS,
        {"type": "string", "default": None},
        {"enum": ["a", "b"]},
        {"const": 1},
        {"type": "object", "properties": {"x": INTEGER}},
        {"anyOf": [STRING, INTEGER]},
    ],
)
def test_a_null_that_is_no_value_counts_as_not_given(schema: JsonObject) -> None:
    checked = check({"a": schema, "b": INTEGER}, {"a": None, "b": 1}, "b")
    assert (checked.arguments, checked.problems) == ({"b": 1}, ())
    assert checked.repairs == ("a: null taken as not given",)
    missing = check({"a": schema, "b": INTEGER}, {"a": None, "b": 1}, "a", "b")
    assert [(problem.path, problem.rule) for problem in missing.problems] == [("a", "required")]


@pytest.mark.parametrize(
    "schema", [NULL, {"type": ["string", "null"]}, {"anyOf": [INTEGER, NULL]}, {}, {"enum": [None]}]
)
def test_a_null_that_is_a_value_stays(schema: JsonObject) -> None:
    arguments: JsonObject = {"a": None}
    assert check({"a": schema}, arguments).arguments is arguments


@pytest.mark.parametrize("schema", [INTEGER, INTEGERS, {"enum": ["a", "b"]}, {"type": "string", "format": "date"}])
@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_where_it_is_no_value_counts_as_not_given(schema: JsonObject, blank: str) -> None:
    checked = check({"a": schema}, {"a": blank})
    assert (checked.arguments, checked.problems) == ({}, ())
    assert checked.repairs == (f'a: "{blank}" (string) taken as not given',)
    assert [(p.path, p.rule) for p in check({"a": schema}, {"a": blank}, "a").problems] == [("a", "required")]


def test_a_null_deep_inside_of_an_alternative_counts_as_not_given_too() -> None:
    shape: JsonObject = {"type": "object", "properties": {"x": INTEGER, "y": INTEGER}, "required": ["y"]}
    checked = check({"a": {"anyOf": [shape, NULL]}}, {"a": {"x": None, "y": "2"}})
    assert checked.arguments == {"a": {"y": 2}}


def test_a_null_that_was_given_a_name_of_its_own_or_a_place_is_a_problem() -> None:
    for schema, value in (
        ({"type": "object", "additionalProperties": STRING}, {"x": None}),
        (INTEGERS, [1, None]),
    ):
        checked = check({"a": schema}, {"a": value})  # type: ignore[dict-item]  # JSON, both
        assert checked.problems
        assert checked.repairs == ()


def test_with_coercion_switched_off_a_null_is_a_problem() -> None:
    document: JsonObject = {"type": "object", "properties": {"a": INTEGER}}
    assert compile_schema(document, where="tool 'x'").check({"a": None}, coerce=False).problems
