"""One declaration, in every form that a person writes; and what a person is told of a mistake."""

from __future__ import annotations

import json

import jsonschema_rs
import pytest

from actum.core.definition import BadText
from actum.core.json import Json, JsonObject
from actum.protocols.source_text import BYTES_MAX
from actum.toolsets.declared.declaration import declaration_of, declaration_schema, read_declaration

SCHEMA: JsonObject = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "default": 3}},
    "required": ["city"],
    "additionalProperties": False,
}
URL = "https://api.example.com/now?q={city}&d={days}"
FLAT: JsonObject = {"name": "weather", "description": "The weather.", "parameters": SCHEMA, "http": {"url": URL}}
FORMS = {
    "json": json.dumps(FLAT),
    "nested": json.dumps({"type": "function", "function": FLAT}),
    "place beside": json.dumps(
        {
            "type": "function",
            "function": {name: FLAT[name] for name in ("name", "description", "parameters")},
            "http": FLAT["http"],
        }
    ),
    "anthropic": json.dumps(
        {"type": "custom", "input_schema": SCHEMA} | {k: v for k, v in FLAT.items() if k != "parameters"}
    ),
    "mcp": json.dumps({"inputSchema": SCHEMA} | {k: v for k, v in FLAT.items() if k != "parameters"}),
    "yaml": f"""\
actum: tool/1
name: weather
description: The weather.
parameters: {{city: string, days: {{type: integer, default: 3}}}}
http: {{url: "{URL}"}}
""",
    "toml": f"""\
# The weather.
actum = "tool/1"
name = "weather"
description = "The weather."
[parameters]
city = "string"
days = {{type = "integer", default = 3}}
[http]
url = "{URL}"
""",
}


@pytest.mark.parametrize("form", FORMS)
def test_a_declaration_says_the_same_in_every_form(form: str) -> None:
    declared = read_declaration(FORMS[form])
    assert declared == declaration_of(FLAT)
    assert (declared.place, declared.parameters) == ("http", SCHEMA)


def test_a_parameter_of_a_flat_map_is_required_unless_it_says_otherwise() -> None:
    written: JsonObject = {
        "a": "string",
        "b": {"type": "integer", "default": 1},
        "c": {"type": "array", "required": False, "items": {"type": "string"}},
        "d": {"type": "object", "required": ["x"]},
        "__proto__": "string",
        "constructor": "string",
    }
    found = declaration_of({"name": "t", "parameters": written}).parameters
    assert found["required"] == ["a", "d", "__proto__", "constructor"]
    assert found["properties"] == written | {
        "a": {"type": "string"},
        "c": {"type": "array", "items": {"type": "string"}},
        "__proto__": {"type": "string"},
        "constructor": {"type": "string"},
    }


MISTAKES: dict[str, tuple[str, str, str]] = {
    '{"name": "t", "http": {"url": "https://e.org"}, "agent": "desk"}': ("one place", "agent", "leave out"),
    '{"name": "a b"}': ("the name", "name", ""),
    '{"name": "t\\u200b"}': ("the name", "name", ""),
    '{"description": "x"}': ("missing required field `name`", "", ""),
    '{"name": "t", "parameters": [1]}': ("an object", "parameters", "{city: string}"),
    '{"name": "t", "parameters": {"type": "object", "properties": {"a": {"type": "strng"}}}}': ("strng", "parameters",
    ""), '{"name": "t", "parameters": {"a": "strng"}}': ("no type", "parameters.a", "string"),
    '{"name": "t", "parameters": {"type": "array"}}': ("no type", "parameters.type", "type: {type: string}"),
    '{"name": "t", "parameters": {"type": "object", "properties": {"a": {"$ref": "https://e.org/a.json"}}}}': (
        "parameters", "parameters", ""),
    '{"name": "t", "descripton": "x"}': ("no field 'descripton'", "descripton", "write description"),
    '{"name": "t", "http": {"url": "https://e.org", "methd": "GET"}}': ("'methd'", "http.methd", "write method"),
    '{"name": "t", "http": {"url": "https://e.org", "method": "BREW"}}': ("BREW", "http.method", ""),
    '{"name": "t", "effects": ["reads"]}': ("reads", "effects.0", "read, write"),
    '{"name": "t", "timeout": 0}': ("> 0", "timeout", ""),
    '{"name": "t", "sinks": ["to"]}': ("none of the parameters", "sinks", ""),
    '{"name": "t", "description": "Adds.\\u202e"}': ("nobody sees", "description", "take them out"),
    '{"name": "t", "module": "os.system"}': ("names a function of a module", "module", "package.module:function"),
    '{"name": "t", "actum": "agent/1"}': ("no declaration of a tool", "actum", "tool/1"),
    '{"name": "t", "parameters": {}, "input_schema": {}}': ("the same", "input_schema", "leave one"),
    '{"name": "t", "function": {"name": "u"}}': ("stands twice", "name", "leave one"),
    '{"name": "t", "name": "u"}': ("stands twice", "", "leave one"),
    "name: &a t\ndescription: *a": ("the alias *a", "", "what the alias stands for"),
    "- 1": ("is an object", "", "name: weather"),
    "name = t": ("no TOML", "", ""),
    "name = " + "[" * 5_000: ("no TOML", "", ""),
    '{"name": "t", "description": "' + "x" * BYTES_MAX + '"}': ("more than", "", ""),
    'name = "' + "x" * BYTES_MAX + '"': ("more than", "", ""),
}  # fmt: skip


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: str(text)[:60])
def test_a_mistake_is_told_with_its_place_and_what_would_be_right(text: str) -> None:
    told, path, hint = MISTAKES[text]
    with pytest.raises(BadText) as caught:
        read_declaration(text)
    assert len(str(caught.value)) < 600
    assert any(
        told in str(each.message) and path == each.path and hint in str(each.hint) for each in caught.value.problems
    ), caught.value.problems


def test_the_line_of_a_mistake_is_told() -> None:
    with pytest.raises(BadText) as caught:
        read_declaration("name: t\nparameters:\n  city: string\n  days: intger\n")
    assert [(each.line, each.path, each.hint) for each in caught.value.problems] == [
        (4, "parameters.days", "write integer")
    ]


@pytest.mark.parametrize("form", ["json", "nested", "place beside", "anthropic", "mcp"])
def test_the_published_schema_takes_what_is_read(form: str) -> None:
    schema, others = declaration_schema()
    validator = jsonschema_rs.validator_for({**schema, "$defs": {**others}})
    written: Json = json.loads(FORMS[form])
    assert validator.is_valid(written)
    assert not validator.is_valid({"name": "t", "htp": {}})
    assert not validator.is_valid({"name": "t", "http": {}})


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("def work(n):\n    return n\n", "the code defines no main"),
        ("print(main)", "the code defines no main"),
        ("x = 1\ndef main(n:\n", "this is no Python: '(' was never closed, in line 2 of the code"),
        ("(" * 10_000, "this is no Python: too many nested parentheses"),
        ("a\0b", "this is no Python"),
    ],
)
def test_code_that_could_never_run_is_told_before_it_is_published(code: str, told: str) -> None:
    with pytest.raises(BadText) as caught:
        declaration_of({"name": "t", "python": code})
    (problem,) = caught.value.problems
    assert (problem.path, told in str(problem.message)) == ("python.source", True), problem
    for good in ("def main(n): ...", "main = max", "from a import b as main", "if 1:\n    def main(): ..."):
        assert declaration_of({"name": "t", "python": good}).python is not None


def test_a_module_that_names_no_function_is_told_how_to_write_one_and_no_pattern() -> None:
    with pytest.raises(BadText, match=r"names a function of a module \(write package\.module:function\)"):
        declaration_of({"name": "t", "parameters": {}, "module": "shop.stock:os.system"})
