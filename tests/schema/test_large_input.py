"""What others send costs work in proportion to its size, and problems cost work in proportion to what is told.

The work is counted and not timed: calls of functions, Python's and C's. Reading a body as JSON with `object_pairs_hook`
is one call for each of its objects; a walk that looks at each value is allowed some calls for each value. What the
validator builds in Rust is counted by the errors that it is asked for.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from random import Random

import jsonschema_rs
import pytest

from actum.core.call import TextPart, ToolCall, ToolResult
from actum.core.errors import ActumError, BadTool
from actum.core.json import Json, JsonObject, JsonProblem, dumps, is_too_deep, parse
from actum.core.message import ToolMessage, UserMessage
from actum.core.policy import Facts
from actum.core.process.worker_thread import LARGE, off_loop
from actum.core.secrets.redaction import DEFAULT_REDACTION
from actum.core.tool import Tool
from actum.dialects.api.model_errors import read_json
from actum.dialects.catalog import names, text_dialect
from actum.dialects.json_mend import STEPS_MAX, mend
from actum.policy.origins import LEAVES_MAX, PLACES_OF_CALL_MAX, OriginIndex, comes_from, is_relied_on
from actum.policy.rules import Rule, Rules
from actum.protocols.bound_text.markup import bind_markup
from actum.protocols.bound_text.part import Given, NoPlace
from actum.protocols.sse import SseReader
from actum.schema.applied import told_apart
from actum.schema.schema import Schema, compile_schema
from actum.server.a2a.reading import read_json as read_a2a
from tests.effort import effort
from tests.endurance import share

SIZE = 500_000
FIXED = 60_000
"""So many calls a place may make whatever its size: errors, repairs and origins of the first values."""


def rows(unit: str, size: int) -> str:
    return ",".join([unit] * (size // (len(unit) + 1)))


SHAPES: dict[str, Callable[[int], str]] = {
    "wide: names": lambda size: "{" + ",".join(f'"name{n:07}":{n % 10}' for n in range(size // 16)) + "}",
    "wide: long names": lambda size: "{" + ",".join(f'"{"n" * 1000}{n}":1' for n in range(size // 1010)) + "}",
    "wide: one long name": lambda size: f'{{"{"n" * size}":1}}',
    "repetitive: texts": lambda size: f'{{"a":[{rows(chr(34) + "x" + chr(34), size)}]}}',
    "repetitive: numbers as texts": lambda size: f'{{"a":[{rows(chr(34) + "5" + chr(34), size)}]}}',
    "repetitive: objects": lambda size: f'{{"a":[{rows("{" + chr(34) + "b" + chr(34) + ":1}", size)}]}}',
    "deep: lists": lambda size: f'{{"a":[{rows("[" * 90 + "]" * 90, size)}]}}',
    "deep: a text below 90 objects": lambda size: '{"a":' * 90 + f'"{"x" * size}"' + "}" * 90,
}
SCHEMAS: dict[str, JsonObject] = {
    "closed": {"type": "object", "properties": {"name": {"type": "string"}}, "additionalProperties": False},
    "open, all wrong": {"type": "object", "additionalProperties": {"type": "boolean"}},
    "names": {"type": "object", "propertyNames": {"maxLength": 3}},
    "integers": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "integer"}}}},
    "objects": {
        "type": "object",
        "properties": {"a": {"type": "array", "items": {"type": "object", "required": ["z"], "maxProperties": 0}}},
    },
    "a union": {
        "type": "object",
        "properties": {"a": {"anyOf": [{"type": "array", "items": {"type": "boolean"}}, {"type": "null"}]}},
    },
    "recursive": {"type": "object", "properties": {"a": {"$ref": "#"}}, "required": ["q"]},
    "missing": {"type": "object", "required": [f"name{n}" for n in range(40)]},
    "kinds": {"type": "object", "properties": {"a": {"type": "string", "x-kind": "url"}}},
}


def calls_of(work: Callable[[], object]) -> int:
    with effort() as spent, suppress(ActumError, ValueError):  # it may be refused
        work()
    return spent.calls


def values_in(value: Json) -> int:
    count, waiting = 0, [value]
    while waiting:
        item = waiting.pop()
        inner = list(item.values()) if isinstance(item, dict) else item if isinstance(item, list) else []
        count += 1 + len(inner) * isinstance(item, dict)
        waiting += inner
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_large_arguments_are_checked_with_little_more_work_than_they_are_read(shape: str) -> None:
    text = SHAPES[shape](SIZE)
    value = json.loads(text)
    allowed = 3 * values_in(value) + FIXED
    for name, schema in SCHEMAS.items():
        compiled = compile_schema(schema, where="t")
        assert calls_of(partial(compiled.check, value)) < allowed, name
        assert calls_of(partial(compiled.check, value, extra="drop")) < allowed, name
        assert calls_of(partial(compiled.problems, value)) < allowed, name


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_json_and_looking_at_its_depth_is_a_call_for_each_object(shape: str) -> None:
    text = SHAPES[shape](SIZE // 4)
    value, wire = json.loads(text), text.encode()
    allowed = 3 * values_in(value) + 1_000
    for work in (lambda: parse(text), lambda: read_json(wire), lambda: read_a2a(wire), lambda: is_too_deep(value)):
        assert calls_of(work) < allowed


def web(levels: int, width: int) -> JsonObject:
    """A schema in which each names the next one this many times."""
    named: JsonObject = {
        f"d{at}": {"anyOf": [{"$ref": f"#/$defs/d{at + 1}"} for _ in range(width)]} for at in range(levels)
    }
    return {**named, f"d{levels}": {"type": "string"}}


def deep(levels: int) -> Json:
    return {"a": deep(levels - 1)} if levels else 1


TWICE: list[Json] = [{"$ref": "#"}, {"$ref": "#"}]
FOREIGN: dict[str, tuple[Callable[[int], JsonObject], JsonObject]] = {
    "missing": (lambda size: {"required": [f"n{n}" for n in range(size)]}, {}),
    "missing, described": (
        lambda size: {
            "required": [f"n{n}" for n in range(size)],
            "properties": {f"n{n}": {"type": "string"} for n in range(size)},
        },
        {f"N{n}": 1 for n in range(20)},
    ),
    "missing, in a web": (
        lambda size: {
            "required": [f"n{n}" for n in range(size // 8)],
            "properties": {f"n{n}": {"$ref": "#/$defs/d0"} for n in range(size // 8)},
            "$defs": web(3, 15),
        },
        {},
    ),
    "a web that is too large": (lambda size: {"properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": web(5, 10)}, {}),
    "a union": (
        lambda size: {"properties": {"a": {"anyOf": [{"type": "integer", "minimum": n} for n in range(size)]}}},
        {"a": "x"},
    ),
    "a union of objects": (
        lambda size: {"properties": {"a": {"oneOf": [{"type": "object", "required": [f"x{n}"]} for n in range(size)]}}},
        {"a": '{"b": 1}'},
    ),
    "an enumeration": (lambda size: {"properties": {"a": {"enum": [f"x{n}" for n in range(size)]}}}, {"a": "y"}),
    "a tower": (lambda size: {"allOf": [{"required": [f"a{n}"]} for n in range(size)]}, {}),
    "a chain": (
        lambda size: {
            "properties": {"a": {"$ref": "#/$defs/d0"}},
            "$defs": {**{f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(size // 4)}, f"d{size // 4}": {}},
        },
        {"a": 1},
    ),
    "itself twice": (lambda size: {"additionalProperties": {"anyOf": TWICE}}, {"a": deep(80)}),
    "itself twice, by an anchor": (
        lambda size: {"$anchor": "n", "additionalProperties": {"oneOf": [{"$ref": "#n"}, {"$ref": "#n"}]}},
        {"a": deep(80)},
    ),
    "looks around": (
        lambda size: {"properties": {"a": {"type": "string", "pattern": "(?=(a+)+$)b"}}},
        {"a": "a" * 1_000_000},
    ),
    "looks around, of names": (
        lambda size: {"patternProperties": {"(?=(a+)+$)b": {}}, "not": {"propertyNames": {"pattern": "(?=(a+)+$)b"}}},
        {"a" * 1_000_000: 1},
    ),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_schema_of_another_party_is_read_in_proportion_and_costs_each_call_little(kind: str) -> None:
    made, arguments = FOREIGN[kind]

    def compiled(size: int) -> tuple[int, Schema | None]:
        found: list[Schema] = []
        schema: JsonObject = {"type": "object", **made(size)}
        spent = calls_of(lambda: found.append(compile_schema(schema, where="t", foreign=True)))
        return spent, found[0] if found else None

    once, _ = compiled(2_000)
    twice, schema = compiled(4_000)
    assert twice < 2.2 * once + 2_000
    if schema is not None:  # else it is refused
        began = time.thread_time()
        assert calls_of(partial(schema.check, arguments)) < FIXED
        assert time.thread_time() - began < 1.0  # the validator is one call, and lets no other thread run


def test_what_is_not_held_to_a_pattern_is_held_to_all_else() -> None:
    text: JsonObject = {"type": "string", "pattern": "^(?!x)", "minLength": 2}
    around: JsonObject = {"type": "object", "properties": {"a": text}}
    own, foreign = compile_schema(around, where="t"), compile_schema(around, where="t", foreign=True)
    for compiled in (own, foreign):
        assert compiled.fits({"a": "ab"})
        assert not compiled.fits({"a": "xb"})
        assert not compiled.fits({"a": "b"})
        assert "matches ^(?!x)" in compiled.check({"a": "xb"}).problems[0].expected
    assert foreign.fits({"a": "x" * 300})
    assert not own.fits({"a": "x" * 300})
    assert not own.fits({"a": "b" * 30_000})


def test_a_schema_that_contains_itself_once_holds_for_values_of_any_depth() -> None:
    tree: JsonObject = {
        "type": "object",
        "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}, "n": {"type": "integer"}},
    }
    compiled = compile_schema(tree, where="t", foreign=True)
    inside: JsonObject = {"n": "5"}
    for _ in range(80):
        inside = {"a": inside}
    assert compiled.check(inside).repairs


POSITION: JsonObject = {"type": "array", "items": {"type": "number"}}
TAGGED = [f"kind-{n}" for n in range(15)]
TAGGED_REFERENCES: list[Json] = [{"$ref": f"#/$defs/{kind}"} for kind in TAGGED]
OF_REAL_LIFE: dict[str, tuple[JsonObject, Callable[[Json], Json]]] = {
    "a JSON Schema": (
        {
            "$defs": {"schemas": {"type": "array", "minItems": 1, "items": {"$ref": "#"}}},
            "type": ["object", "boolean"],
            "properties": {
                "items": {"anyOf": [{"$ref": "#"}, {"$ref": "#/$defs/schemas"}]},
                **{name: {"$ref": "#/$defs/schemas"} for name in ("allOf", "anyOf", "oneOf")},
                **{name: {"$ref": "#"} for name in ("not", "if", "then", "else", "contains", "additionalProperties")},
                **{name: {"additionalProperties": {"$ref": "#"}} for name in ("properties", "definitions")},
            },
        },
        lambda inside: {"properties": {"a": inside}},
    ),
    "a filter": (
        {
            "$ref": "#/$defs/filter",
            "$defs": {
                "filter": {
                    "anyOf": [
                        {"properties": {"and": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
                        {"properties": {"or": {"type": "array", "items": {"$ref": "#/$defs/filter"}}}},
                        {"properties": {"not": {"$ref": "#/$defs/filter"}}},
                    ]
                }
            },
        },
        lambda inside: {"or": [{"not": inside}]},
    ),
    "a query": (
        {
            "properties": {
                "bool": {
                    "properties": {
                        name: {"anyOf": [{"$ref": "#"}, {"type": "array", "items": {"$ref": "#"}}]}
                        for name in ("must", "should", "filter")
                    }
                },
            }
        },
        lambda inside: {"bool": {"must": [inside]}},
    ),
    "a block": (
        {
            "oneOf": [
                {
                    "required": [name],
                    "properties": {name: {"properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}},
                }
                for name in ("paragraph", "quote", "toggle", "list", "heading")
            ],
        },
        lambda inside: {"toggle": {"children": [inside]}},
    ),
    "a geometry": (
        {
            "oneOf": [
                {"properties": {"type": {"const": "Point"}, "coordinates": POSITION}},
                {
                    "properties": {
                        "type": {"const": "Collection"},
                        "geometries": {"type": "array", "items": {"$ref": "#"}},
                    }
                },
            ]
        },
        lambda inside: {"type": "Collection", "geometries": [inside]},
    ),
    "a document": (
        {
            "oneOf": [
                {
                    "type": "object",
                    "properties": {"type": {"const": kind}, "content": {"type": "array", "items": {"$ref": "#"}}},
                    "required": ["content", "type"],
                }
                for kind in TAGGED
            ]
        },
        lambda inside: {"type": TAGGED[-1], "content": [inside]},
    ),
    "a rich text": (
        {
            "anyOf": [{"type": "null"}, *TAGGED_REFERENCES],
            "$defs": {
                kind: {
                    "type": "object",
                    "required": ["kind"],
                    "properties": {"kind": {"enum": [kind, kind.upper()]}, "inside": {"$ref": "#"}},
                }
                for kind in TAGGED
            },
        },
        lambda inside: {"kind": TAGGED[3].upper(), "inside": inside},
    ),
}
INNERMOST: dict[str, Json] = {
    "a block": {"toggle": {}},
    "a geometry": {"type": "Point"},
    "a document": {"type": TAGGED[0], "content": []},
    "a rich text": None,
}


@pytest.mark.parametrize("name", OF_REAL_LIFE)
def test_what_names_itself_in_many_places_of_which_a_value_has_one_holds_for_deep_values(name: str) -> None:
    document, around = OF_REAL_LIFE[name]
    compiled = compile_schema({"type": "object", "properties": {"value": {"$ref": "#/$defs/it"}}, "$defs": {
        "it": json.loads(dumps(document).replace('"#', '"#/$defs/it'))}}, where="t", foreign=True)  # fmt: skip
    value = INNERMOST.get(name, {})
    while not is_too_deep(value, 80):
        value = around(value)
    began = time.thread_time()
    assert compiled.fits({"value": value})
    assert time.thread_time() - began < 0.2


def test_in_a_deep_value_of_branches_with_tags_what_is_wrong_is_told_of_the_branch_whose_tag_fits() -> None:
    document, around = OF_REAL_LIFE["a document"]
    compiled = compile_schema(
        {"type": "object", "properties": {"value": {"$ref": "#/$defs/it"}}, "$defs": {
            "it": json.loads(dumps(document).replace('"#', '"#/$defs/it'))}}, where="t", foreign=True)  # fmt: skip
    value: Json = {"type": TAGGED[4], "content": "none", "more": 1}
    for _ in range(30):
        value = around(value)
    with effort() as spent:
        (problem,) = compiled.check({"value": value}).problems
    assert (problem.path.count("content"), problem.expected) == (31, "array")
    assert spent.calls < FIXED
    (problem,) = compiled.check({"value": {"type": "kind-99", "content": []}}).problems
    assert problem.path == "value.type"


def in_a_union(branch: Callable[[str], JsonObject], **more: Json) -> JsonObject:
    return {"type": "object", "properties": {"value": {"$ref": "#/$defs/it"}}, "$defs": {
        "it": {"anyOf": [branch(kind) for kind in TAGGED]}}, **more}  # fmt: skip


def branch_of(kind: str) -> JsonObject:
    inside: JsonObject = {"$ref": "#/$defs/it"}
    return {"type": "object", "required": ["t"], "properties": {"t": {"const": kind}, "a": inside, "b": inside}}


TOGETHER: dict[str, JsonObject] = {
    "a tag that may be missing": in_a_union(lambda kind: {**branch_of(kind), "required": []}),
    "a tag that two branches share": in_a_union(lambda kind: branch_of(kind.replace("9", "8"))),
    "a tag that is a number": in_a_union(lambda kind: branch_of(kind) | {"properties": {"t": {"const": 1}, "a": {"$ref":
        "#/$defs/it"}}}),
    "branches that take lists, too": in_a_union(lambda kind: {**branch_of(kind), "type": ["object", "array"], "items":
        {"$ref": "#/$defs/it"}}),
    "a draft without if": in_a_union(branch_of, **{"$schema": "http://json-schema.org/draft-04/schema#"}),
    "a reference into a branch": in_a_union(branch_of, x={"$ref": "#/$defs/it/anyOf/0/properties/a"}),
}  # fmt: skip


@pytest.mark.parametrize("name", TOGETHER)
def test_where_no_tag_tells_branches_apart_a_value_is_bounded_by_its_depth(name: str) -> None:
    compiled = compile_schema(TOGETHER[name], where="t", foreign=True)
    value: Json = {"t": "kind-8"}
    for _ in range(40):
        value = {"t": "kind-8", "a": value, "b": {"t": "kind-8"}}
    began = time.thread_time()
    assert not compiled.fits({"value": value})
    assert compiled.check({"value": value}).problems
    assert time.thread_time() - began < 0.2


def test_a_schema_whose_branches_are_told_apart_takes_the_same_values() -> None:
    random = Random(7)
    unions: list[JsonObject] = [*(document for document, _ in OF_REAL_LIFE.values()), *TOGETHER.values()]
    texts, fields = [*TAGGED, "KIND-3", "Point", "add"], ["type", "kind", "content", "inside", "value", "t", "a"]

    def value(levels: int) -> Json:
        inner: list[Callable[[], Json]] = [
            lambda: None,
            lambda: random.choice(texts),
            lambda: [value(levels - 1) for _ in range(random.randrange(3))],
            lambda: {name: value(levels - 1) for name in random.sample(fields, random.randrange(4))},
            lambda: {"type": random.choice(texts), "content": [value(levels - 1)]},
            lambda: {"kind": random.choice(texts), "t": random.choice(texts), "inside": value(levels - 1)},
        ]
        return inner[random.randrange(6 if levels else 2)]()

    for document in unions:
        before, after = (jsonschema_rs.validator_for(each) for each in (document, told_apart(document)))
        for _ in range(200):
            one = value(3)
            assert before.is_valid(one) == after.is_valid(one), (document, one)


def test_ever_more_unknown_names_make_no_more_problems_and_no_more_work_to_tell_them() -> None:
    compiled = compile_schema(SCHEMAS["closed"], where="t")
    few: JsonObject = {f"x{n}": n for n in range(20_000)}
    many: JsonObject = {f"x{n}": n for n in range(200_000)}
    assert calls_of(partial(compiled.problems, many)) < calls_of(partial(compiled.problems, few)) + FIXED
    checked = compiled.check({f"x{i}": i for i in range(200_000)})
    assert len(checked.problems) <= 9
    dropped = compiled.check({f"x{i}": i for i in range(200_000)}, extra="drop")
    assert len(dropped.repairs) <= 21


WORST = ("[", "{", "{}", '"', "'", "\\", "{/*", "-", "a ", '"x"y', "<tool_call>", "```", "data: x\n\n", "%25", "7,")


@pytest.mark.endurance("src/actum/core", "src/actum/dialects", "src/actum/policy")
@pytest.mark.parametrize("unit", WORST)
def test_what_is_read_out_of_broken_text_grows_with_the_text_and_not_faster(unit: str) -> None:
    def of(size: int) -> dict[str, int]:
        text = unit * (size // len(unit))
        said = OriginIndex([UserMessage.of(text)], lambda _: ())
        result = ToolResult("1", (TextPart(text),))
        works: dict[str, Callable[[], object]] = {
            "parse": lambda: parse(text),
            "mend": lambda: mend(text, close=True),
            "mend in an object": lambda: mend('{"a": ' + text, close=True),
            "redaction": lambda: DEFAULT_REDACTION.clean(result, ["hunter22secret", "12345678"]),
            "origins": lambda: said.of({"a": text, "n": 7}),
            "events": lambda: SseReader().feed(text.encode()),
        }
        for name in ("hermes", "harmony", "react", "llama3_json", "qwen3_coder", "pythonic"):
            if name in names():
                works[name] = partial(_whole, name, text)
        return {name: calls_of(work) for name, work in works.items()}

    once, twice = of(share(20_000, 8_000)), of(share(40_000, 16_000))
    for name, calls in twice.items():
        assert calls < 2.2 * once[name] + 2_000, (name, once[name], calls)


def _whole(name: str, text: str) -> None:
    decoder = text_dialect(name).decoder(tools=())
    decoder.feed(text)
    decoder.close()


def test_the_origins_of_a_large_call_are_looked_for_in_a_bounded_number_of_places() -> None:
    said = OriginIndex([UserMessage.of("7, " * 100_000)] * 20, lambda _: ())
    said.of({"n": 1})  # the texts are taken apart
    spent = calls_of(lambda: said.of({"a": [7] * 200_000}))
    assert spent < 20 * PLACES_OF_CALL_MAX + 40 * LEAVES_MAX
    found = said.of({"a": [7] * 200_000})
    assert len(found) <= LEAVES_MAX + 1
    assert found["a"][0].source == "model"  # what was not looked at is not trusted
    assert found["a[0]"][0].source == "user"


def test_a_list_with_more_values_than_are_looked_up_is_not_trusted() -> None:
    said = OriginIndex([UserMessage.of(" ".join(f"id{n}" for n in range(2_000)))], lambda _: ())
    few: list[Json] = [f"id{n}" for n in range(400)]
    many: list[Json] = [f"id{n}" for n in range(2_000)]
    assert comes_from([*few, *few, *few], said.of, is_relied_on, frozenset)
    assert not comes_from(many, said.of, is_relied_on, frozenset)


@pytest.mark.parametrize("key", ["allOf", "anyOf", "oneOf"])
def test_a_schema_whose_references_double_each_other_is_refused_at_once(key: str) -> None:
    doubling: JsonObject = {
        f"d{n}": {key: [{"$ref": f"#/$defs/d{n + 1}"}, {"$ref": f"#/$defs/d{n + 1}"}]} for n in range(60)
    }
    schema: JsonObject = {"$defs": doubling | {"d60": {"type": "object"}}, "$ref": "#/$defs/d0"}
    with pytest.raises(BadTool, match="schemas hold for one value"):
        compile_schema(schema, where="t", foreign=True)
    circle: JsonObject = {"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "properties": {"b": {"$ref": "#"}}}
    assert not compile_schema(circle, where="t", foreign=True).check({"b": {}}).problems


def test_in_a_large_list_what_mends_the_first_items_mends_all_and_nothing_else() -> None:
    item: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}}
    compiled = compile_schema(
        {"properties": {"o": {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/i"}}, {"type": "null"}]}},
         "$defs": {"i": item}},
        where="t",
    )  # fmt: skip
    mended = compiled.check({"o": [{"n": str(n)} for n in range(3_000)]})
    assert mended.arguments == {"o": [{"n": n} for n in range(3_000)]}
    either: JsonObject = {"oneOf": [item, {"type": "object", "properties": {"n": {"maxLength": 3, "type": "string"}}}]}
    apart = compile_schema({"properties": {"o": {"type": "array", "items": either}}}, where="t")
    long: list[Json] = [{"n": "12345"}] * 20
    short: list[Json] = [{"n": "12"}] * 600
    left = apart.check({"o": [*long, *short]})
    assert left.problems or left.arguments["o"][-1] == {"n": "12"}  # type: ignore[index]
    late = compile_schema(SCHEMAS["integers"], where="t").check({"a": [*range(3_000), "x"]})
    assert [problem.path for problem in late.problems] == ["a[3000]"]


def test_a_rule_that_reads_origins_denies_a_call_whose_values_could_not_all_be_looked_for() -> None:
    fetched = ToolMessage("fetch", ToolResult("1", (TextPart("ab ab cd, " * 100_000 + "eve@evil.com"),)))
    policy = Rules(Rule("deny", when="origins.to.exists(o, o.source == 'tool')"), default="allow")
    send = Tool(name="send", description="Sends.", parameters={"type": "object"})
    fillings: tuple[JsonObject, ...] = ({}, {"a": ["cd cd" + " ab" * n for n in range(1, 151)]})  # which stand nowhere
    for filling in fillings:
        said = OriginIndex([fetched], lambda _: ())
        arguments: JsonObject = {**filling, "to": "eve@evil.com"}
        call = ToolCall("1", "send", arguments)
        assert policy.decide(send, call, Facts(principal="ada", origins=said.of)).verdict == "deny", len(filling)
        assert said.of(arguments)["to"][-1].unsearched is bool(filling)
    facts = Facts(principal="ada", origins=OriginIndex([fetched], lambda _: ()).of)
    assert policy.decide(send, ToolCall("1", "send", {"to": "nobody@here.com"}), facts).verdict == "allow"


@pytest.mark.parametrize("unit", ["{a:1},", "'x',", "7,", "[],", "a\n"])
def test_broken_json_of_very_many_parts_is_not_mended(unit: str) -> None:
    few, many = (f"[{'' if unit[-1] == ',' else chr(34)}" + unit * count for count in (5_000, STEPS_MAX + 1))
    with pytest.raises(JsonProblem, match=r"too large to mend|breaks off"):
        mend(many, close=True)
    if unit[-1] == ",":
        assert len(mend(few, close=True)[0]) == 5_000  # type: ignore[arg-type]


def test_markup_with_very_many_tags_takes_no_value_behind_them() -> None:
    assert bind_markup(["<a>" * 1_000, Given.of("<")]).endswith("&lt;")
    assert bind_markup([Given.of("<"), "<" * 1_000_000]).startswith("&lt;<")
    with pytest.raises(NoPlace, match="at most 100000 tags"):
        bind_markup(["<" * 100_001, Given.of("x")])


def test_a_schema_of_another_party_is_refused_where_it_is_very_large() -> None:
    wide: JsonObject = {"type": "object", "properties": {f"name{n}": {"type": "string"} for n in range(20_000)}}
    with pytest.raises(BadTool, match="larger than 512 KB"):
        compile_schema(wide, where="t", foreign=True)
    assert not compile_schema(wide, where="t").check({}).problems


async def test_large_input_is_worked_on_in_another_thread_and_small_input_is_not() -> None:
    here = threading.get_ident()
    assert await off_loop(LARGE, threading.get_ident) == here
    assert await off_loop(LARGE + 1, threading.get_ident) != here
    with pytest.raises(JsonProblem):
        await off_loop(LARGE + 1, parse, "{")
