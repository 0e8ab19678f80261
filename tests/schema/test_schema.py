"""Checking arguments against a schema: what passes, what a model is told, and what is never fetched."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.call import Problem
from actum.core.errors import BadTool
from actum.core.json import Json, JsonObject, dumps
from actum.schema.schema import CheckedArguments, Schema, compile_schema
from tests.effort import effort

pytestmark = pytest.mark.row("C1")


def schema_of(properties: JsonObject, *required: str, closed: bool = True) -> Schema:
    rest: JsonObject = {"additionalProperties": False} if closed else {}
    return compile_schema(
        {"type": "object", "properties": properties, "required": list(required), **rest}, where="tool 'x'"
    )


def problems(checked: CheckedArguments) -> list[tuple[str, str, str, str]]:
    return [(p.path, p.rule, p.expected, p.received) for p in checked.problems]


# What passes. ---------------------------------------------------------------------------------------------------------


def test_arguments_that_fit_are_given_back_as_they_are() -> None:
    arguments: JsonObject = {"city": "北京", "days": 3}
    checked = schema_of({"city": {"type": "string"}, "days": {"type": "integer"}}, "city").check(arguments)
    assert checked.arguments is arguments
    assert (checked.repairs, checked.problems) == ((), ())


def test_a_check_that_finds_nothing_costs_little_more_than_the_validator() -> None:
    document: JsonObject = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}}
    schema, bare = compile_schema(document, where="tool 'x'"), jsonschema_rs.validator_for(document)
    arguments: JsonObject = {"a": 1, "b": "x"}

    with effort() as floor:
        bare.is_valid(arguments)
    with effort() as spent:
        schema.check(arguments)
    assert spent.calls - floor.calls <= 3


def test_huge_nested_and_unicode_arguments_are_checked() -> None:
    schema = schema_of({"名前": {"type": "array", "items": {"type": "object"}}, "text": {"type": "string"}})
    nested: Json = "leaf"
    for _ in range(99):
        nested = {"a": nested}
    assert not schema.check({"名前": [nested] * 100, "text": "𝕏" * 1_000_000}).problems
    assert schema.check({"名前": ["x"] * 100}).problems[-1] == Problem("", "more", "92 further problems mended too")


# What is missing. -----------------------------------------------------------------------------------------------------


def test_a_missing_parameter_is_told_with_its_type_and_description() -> None:
    schema = schema_of({"city": {"type": "string", "description": "Where to\n look."}}, "city")
    assert problems(schema.check({})) == [("city", "required", "string (Where to look.)", "")]


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u3000", "\u2003 "])
def test_a_blank_required_text_counts_as_missing(blank: str) -> None:
    schema = schema_of({"city": {"type": "string"}}, "city")
    assert [(p.path, p.rule) for p in schema.check({"city": blank}).problems] == [("city", "required")]


@pytest.mark.parametrize(
    "city",
    [
        {"type": "string", "minLength": 0},
        {"type": "string", "enum": ["", "Paris"]},
        {"const": ""},
        {"type": "string", "default": ""},
        {"anyOf": [{"type": "string", "minLength": 0}, {"type": "null"}]},
        {},
    ],
)
def test_a_blank_text_passes_where_the_schema_says_so(city: JsonObject) -> None:
    assert not schema_of({"city": city}, "city").check({"city": ""}).problems


def test_an_optional_text_may_be_blank() -> None:
    assert not schema_of({"note": {"type": "string"}}).check({"note": " "}).problems


@pytest.mark.parametrize(
    ("city", "definitions"),
    [
        ({"type": ["string", "null"]}, {}),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, {}),
        ({"$ref": "#/$defs/City"}, {"City": {"type": "string"}}),
    ],
)
def test_a_blank_text_is_missing_however_its_type_is_written(city: JsonObject, definitions: JsonObject) -> None:
    document: JsonObject = {"type": "object", "properties": {"city": city}, "required": ["city"], "$defs": definitions}
    checked = compile_schema(document, where="tool 'x'").check({"city": " "})
    assert [(p.path, p.rule) for p in checked.problems] == [("city", "required")]


def test_a_blank_text_is_missing_deep_inside_too() -> None:
    person: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    schema = schema_of({"people": {"type": "array", "items": person}})
    assert problems(schema.check({"people": [{"name": "A"}, {"name": ""}]})) == [
        ("people[1].name", "required", "string", '"" (string)')
    ]


# What is wrong. -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("property_", "value", "rule", "expected"),
    [
        ({"type": "integer"}, "many", "type", "integer"),
        ({"type": ["integer", "null"]}, "many", "type", "integer or null"),
        ({"enum": ["a", "b"]}, "c", "enum", 'one of "a", "b"'),
        ({"const": 3}, 4, "const", "3"),
        ({"type": "integer", "maximum": 100}, 101, "maximum", "at most 100"),
        ({"type": "integer", "minimum": 1}, 0, "minimum", "at least 1"),
        ({"type": "number", "exclusiveMinimum": 0}, 0, "exclusiveMinimum", "more than 0"),
        ({"type": "number", "exclusiveMaximum": 1}, 1, "exclusiveMaximum", "less than 1"),
        ({"type": "integer", "multipleOf": 5}, 7, "multipleOf", "a multiple of 5"),
        ({"type": "string", "minLength": 3}, "ab", "minLength", "at least 3 characters"),
        ({"type": "string", "maxLength": 3}, "abcd", "maxLength", "at most 3 characters"),
        ({"type": "string", "pattern": "^[A-Z]+$"}, "ab", "pattern", "text that matches ^[A-Z]+$"),
        ({"type": "string", "format": "date"}, "20.11.2026", "format", "a date (2026-11-20)"),
        ({"type": "string", "format": "email"}, "nobody", "format", "an e-mail address"),
        ({"type": "string", "format": "ipv4"}, "1.2.3", "format", "an IPv4 address"),
        ({"type": "array", "minItems": 1}, [], "minItems", "at least 1 items"),
        ({"type": "array", "maxItems": 1}, [1, 2], "maxItems", "at most 1 items"),
        ({"type": "array", "uniqueItems": True}, [1, 1], "uniqueItems", "items that all differ"),
        ({"type": "object", "minProperties": 1}, {}, "minProperties", "at least 1 entries"),
        ({"type": "object", "maxProperties": 0}, {"a": 1}, "maxProperties", "at most 0 entries"),
        ({"not": {"type": "string"}}, "x", "not", "another value"),
        (False, 1, "falseSchema", "nothing here"),
        ({"type": "array", "contains": {"const": 1}}, [], "contains", "another number of items of the right kind"),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, "propertyNames", "other names: at most 1 characters"),
        ({"oneOf": [{"minimum": 1}, {"maximum": 9}]}, 5, "oneOf", "a value that fits exactly one of the alternatives"),
        ({"anyOf": [{"type": "integer"}, {"enum": ["all"]}]}, "few", "anyOf", 'integer or one of "all"'),
    ],
)
def test_a_problem_says_which_rule_was_broken_and_what_would_be_right(
    property_: Json, value: Json, rule: str, expected: str
) -> None:
    (problem,) = schema_of({"a": property_}).check({"a": value}).problems
    assert (problem.path, problem.rule, problem.expected) == ("a", rule, expected)
    assert problem.received


def test_a_problem_names_the_place_and_what_came() -> None:
    item: JsonObject = {"type": "object", "properties": {"age": {"type": "integer"}, "a b": {"type": "null"}}}
    schema = schema_of({"filters": {"type": "array", "items": item}})
    came: JsonObject = {"filters": [{"age": "about thirty, or perhaps a little more than that"}, {"a b": [1, 2]}]}
    assert problems(schema.check(came)) == [
        ("filters[0].age", "type", "integer", '"about thirty, or perhaps a little more …" (string)'),
        ('filters[1]["a b"]', "type", "null", "[1,2] (array)"),
    ]


def test_what_is_missing_is_told_first_and_the_rest_is_counted() -> None:
    schema = schema_of({**{f"n{i}": {"type": "integer"} for i in range(12)}, "city": {"type": "string"}}, "city")
    told = schema.check({f"n{i}": "x" for i in range(12)}).problems
    assert told[0].path == "city"
    assert told[-1] == Problem("", "more", "5 further problems mended too")
    assert len(told) == 9


def test_of_a_union_the_alternative_that_was_meant_is_told() -> None:
    cat: JsonObject = {"properties": {"kind": {"const": "cat"}, "lives": {"type": "integer"}}, "required": ["lives"]}
    dog: JsonObject = {"properties": {"kind": {"const": "dog"}, "name": {"type": "string"}}, "required": ["name"]}
    schema = schema_of({"pet": {"anyOf": [{"type": "object", **cat}, {"type": "object", **dog}]}})
    assert problems(schema.check({"pet": {"kind": "dog"}})) == [("pet.name", "required", "string", "")]


def test_an_unknown_name_is_refused_with_the_names_that_come_near() -> None:
    schema = schema_of({"city": {"type": "string"}, "unit": {"type": "string"}})
    assert problems(schema.check({"citty": "Paris"})) == [
        ("citty", "additionalProperties", 'only names like "city"', "")
    ]
    assert schema.check({"zzz": 1}).problems[0].expected == 'only names like "city", "unit"'
    assert schema_of({}).check({"a": 1}).problems[0].expected == "no arguments"


def test_many_options_are_not_all_listed() -> None:
    (problem,) = schema_of({"a": {"enum": [f"o{i}" for i in range(500)]}}).check({"a": "x"}).problems
    assert problem.expected.endswith('"o11", … (500 in all)')


@pytest.mark.parametrize("value", ["\ud800", {1, 2}, {1: 2}, b"x"])
def test_what_was_never_json_is_a_problem_and_no_exception(value: Json) -> None:
    assert [p.rule for p in schema_of({"a": {"type": "integer"}}).check({"a": value}).problems] == ["json"]


@pytest.mark.parametrize("text", ["2026-11-20T14:30:00Z", "2026-11-20T14:30:00.25+01:00", "2026-11-20 14:30"])
def test_a_date_and_time_may_come_without_an_offset(text: str) -> None:
    assert not schema_of({"at": {"type": "string", "format": "date-time"}}).check({"at": text}).problems


@pytest.mark.parametrize(
    "text", ["2026-11-20", "2026-11-31T10:00:00Z", "tomorrow", "2026-11-20T25:00", "20261120T1000"]
)
def test_a_date_and_time_that_is_none_is_refused(text: str) -> None:
    assert schema_of({"at": {"type": "string", "format": "date-time"}}).check({"at": text}).problems


def test_a_time_may_come_without_an_offset() -> None:
    schema = schema_of({"at": {"type": "string", "format": "time"}})
    assert not schema.check({"at": "14:30"}).problems
    assert schema.check({"at": "half past two"}).problems[0].expected == "a time (14:30:00)"


# What is never fetched, and never hangs. ------------------------------------------------------------------------------


class _Asked(ThreadingHTTPServer):
    """A server that serves the schema of an integer, and remembers who asked for it."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        asked = self.paths

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.path)
                body = b'{"type": "integer"}'
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/number.json"


@pytest.fixture
def server() -> Iterator[_Asked]:
    with _Asked() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema"])
def test_a_reference_over_http_is_refused_and_the_server_is_never_asked(server: _Asked, keyword: str) -> None:
    document: JsonObject = {"properties": {"a": {"$ref": server.url}}}
    assert jsonschema_rs.validator_for(document).is_valid({"a": 1})  # the validator by itself does ask
    assert server.paths == ["/number.json"]
    inside: JsonObject = (
        {"properties": {"a": {keyword: server.url}}} if keyword != "$schema" else {"$schema": server.url}
    )
    with pytest.raises(BadTool, match=r"tool 'x': .*127\.0\.0\.1"):
        compile_schema(inside, where="tool 'x'")
    assert server.paths == ["/number.json"]


def test_a_reference_to_a_file_is_refused_though_the_file_is_there(tmp_path: Path) -> None:
    (tmp_path / "number.json").write_text('{"type": "integer"}')
    document: JsonObject = {"properties": {"a": {"$ref": (tmp_path / "number.json").as_uri()}}}
    assert jsonschema_rs.validator_for(document).is_valid({"a": 1})  # the validator by itself does read
    with pytest.raises(
        BadTool, match=r"properties\.a\.\$ref: \"file:.* is outside of this schema, and nothing is fetched"
    ):
        compile_schema(document, where="tool 'x'")


def test_a_reference_inside_the_document_works() -> None:
    node: JsonObject = {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}, "n": {"type": "integer"}}}
    schema = compile_schema(
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/node"}}, "$defs": {"node": node}}, where="x"
    )
    assert schema.check({"a": {"next": {"n": "x"}}}).problems[0].path == "a.next.n"
    assert schema.check({"a": {"next": {"n": "5"}}}).arguments == {"a": {"next": {"n": 5}}}


@pytest.mark.parametrize(
    "pattern", [r"(x+x+)+y", r"^(\w+\s?)*$", r"^(x|x)*$", r"(x+)+\1z", r"^(?=x)(?:x|xx)+\d?(?<!y)$"]
)
def test_a_pattern_that_backtracks_without_end_does_not_hang(pattern: str) -> None:
    schema = schema_of({"a": {"type": "string", "pattern": pattern}})
    assert schema.check({"a": "x" * 2_000 + "!"}).problems


def test_a_pattern_that_took_too_long_counts_as_not_matching_and_says_so() -> None:
    (problem,) = schema_of({"a": {"type": "string", "pattern": r"(\w+)\1+z"}}).check({"a": "a" * 20_000}).problems
    assert problem.expected == "text that matches the pattern; this took too long to tell"


def test_look_around_and_back_references_work_in_patterns() -> None:
    schema = schema_of({"a": {"type": "string", "pattern": r"^(?=.*\d)(a|b)\1$|^\d+$"}})
    assert not schema.check({"a": "12"}).problems
    assert schema.check({"a": "ab"}).problems


# A schema that is none. -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "told"),
    [
        (
            {"properties": {"x": {"type": "sting"}}},
            r"properties\.x\.type: expected one of .*, found \"sting\" \(string\)",
        ),
        ({"properties": {"x": {"pattern": "("}}}, r"properties\.x\.pattern: expected a regular expression, found"),
        (
            {"properties": {"x": {"$ref": "#/$defs/y"}}},
            r'properties\.x\.\$ref: there is no "#/\$defs/y" in this schema',
        ),
        ({"properties": {"x": {"$ref": "y.json"}}}, r"properties\.x\.\$ref: \"y.json\" is outside"),
        ({"properties": {"x": 5}}, r"properties\.x: expected boolean or object"),
        ({"properties": {"x": {"items": [{"minLength": -1}]}}}, r"properties\.x\.items"),
        ({"minProperties": -1}, r"minProperties: expected at least 0"),
        ({"properties": []}, r"properties: expected object"),
        ({"$schema": "https://example.org/mine"}, r"\$schema: .* is not a draft"),
        ({"enum": [{1, 2}]}, r"the schema is not JSON"),
    ],
)
def test_a_bad_schema_is_refused_in_one_line_with_the_tool_and_the_place(document: JsonObject, told: str) -> None:
    with pytest.raises(BadTool, match=rf"^tool 'x': {told}") as caught:
        compile_schema(document, where="tool 'x'")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250


def test_a_schema_nested_without_end_is_refused() -> None:
    document: JsonObject = {}
    for _ in range(100_000):
        document = {"items": document}
    with pytest.raises(BadTool, match="nested too deep"):
        compile_schema(document, where="tool 'x'")


@pytest.mark.parametrize("draft", ["draft-04/schema#", "draft-06/schema#", "draft-07/schema#"])
def test_older_drafts_are_understood(draft: str) -> None:
    document: JsonObject = {
        "$schema": f"http://json-schema.org/{draft}",
        "properties": {"a": {"$ref": "#/definitions/n"}},
        "definitions": {"n": {"type": "integer"}},
        "required": ["a"],
    }
    assert compile_schema(document, where="x").check({"a": "5"}).arguments == {"a": 5}


# What holds for every schema and every value. -------------------------------------------------------------------------

_NAMES = st.sampled_from(["a", "b", "dest", "destination", "Dest", "x y", "名"])
_TEXTS = [
    "5",
    "5.0",
    "2.5",
    "true",
    "null",
    "",
    " ",
    "A",
    " b ",
    '[1, "2"]',
    '{"a": "5"}',
    '"[1]"',
    "[",
    "1e3",
    "02134",
]
_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
    | st.sampled_from(_TEXTS)
)
_VALUES = st.recursive(_LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_NAMES, inner, max_size=3))
_ARGUMENTS: st.SearchStrategy[JsonObject] = st.dictionaries(_NAMES, _VALUES, max_size=4)

_KINDS = st.sampled_from(["null", "boolean", "integer", "number", "string"])
_SIMPLE: st.SearchStrategy[JsonObject] = st.one_of(
    st.builds(lambda kind: {"type": kind}, _KINDS),
    st.builds(lambda kinds: {"type": sorted(kinds)}, st.sets(_KINDS, min_size=1)),
    st.builds(
        lambda options: {"enum": options},
        st.lists(st.sampled_from([*_TEXTS, 1, 5, True, None]), min_size=1, unique_by=repr),
    ),
    st.just({"type": "integer", "maximum": 3}),
    st.just({"type": "string", "format": "date"}),
    st.just({}),
)


def _objects(inner: st.SearchStrategy[JsonObject]) -> st.SearchStrategy[JsonObject]:
    def build(properties: JsonObject, closed: bool, share: int) -> JsonObject:
        required: list[Json] = list[Json](properties)[:share]
        rest: JsonObject = {"additionalProperties": False} if closed else {}
        return {"type": "object", "properties": properties, "required": required, **rest}

    return st.builds(build, st.dictionaries(_NAMES, inner, max_size=3), st.booleans(), st.integers(0, 3))


_SCHEMAS = st.recursive(
    _SIMPLE,
    lambda inner: st.one_of(
        _objects(inner),
        st.builds(lambda items: {"type": "array", "items": items}, inner),
        st.builds(
            lambda key, parts: {key: parts},
            st.sampled_from(["anyOf", "oneOf", "allOf"]),
            st.lists(inner, min_size=1, max_size=3),
        ),
        st.builds(lambda part: {"not": part}, inner),
    ),
    max_leaves=8,
)


@given(_objects(_SCHEMAS), _ARGUMENTS, st.booleans(), st.sampled_from(["refuse", "drop"]))
def test_whatever_comes_is_checked_and_what_passes_is_valid(
    document: JsonObject, arguments: JsonObject, coerce: bool, extra: str
) -> None:
    assert extra in ("refuse", "drop")
    schema = compile_schema(document, where="tool 'x'")
    before = copy.deepcopy(arguments)
    checked = schema.check(arguments, coerce=coerce, extra="drop" if extra == "drop" else "refuse")
    assert dumps(arguments) == dumps(before), "the caller's object was changed"
    if checked.problems:
        assert checked.arguments is arguments
        assert checked.repairs == ()
        return
    assert jsonschema_rs.validator_for(document, validate_formats=True).is_valid(checked.arguments)
    assert (checked.arguments is arguments) == (checked.repairs == ())
    assert schema.check(checked.arguments) == CheckedArguments(checked.arguments), "a second check mends more"


@given(_objects(_SCHEMAS), _ARGUMENTS)
def test_what_fits_without_coercion_is_not_touched_by_it(document: JsonObject, arguments: JsonObject) -> None:
    schema = compile_schema(document, where="tool 'x'")
    if not schema.check(arguments, coerce=False).problems:
        assert schema.check(arguments).arguments is arguments
