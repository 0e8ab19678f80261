"""`TestModel` needs no script: valid arguments, the same for the same seed, and nothing that changes anything."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Annotated, Literal

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from actum import Agent
from actum.core.errors import UsageError
from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum.protocols.openapi.reading import DocumentReader
from actum.protocols.openapi.text import read_text
from actum.testing import NoExample, RecordingToolset, TestModel, ValueStyle
from actum.testing.example_values import value_of

STYLES: tuple[ValueStyle, ...] = ("usual", "smallest", "odd")
CORPUS = Path(__file__).parents[1] / "corpus" / "openapi"


class Invoice(BaseModel):
    number: Annotated[str, Field(pattern=r"^INV-\d{4}$")]
    lines: list[Annotated[int, Field(multiple_of=5, ge=7)]]
    kind: Literal["a", "b"]
    due: Annotated[float, Field(gt=0.5, lt=0.75)]


READS = Tool(name="find", parameters={"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]})
PLACES: JsonObject = {"type": "object", "properties": {"to": {"type": "string", "format": "email"}}, "required": ["to"]}


def kept(*tools: Tool) -> RecordingToolset:
    return RecordingToolset(list(tools))


def of(name: str, *effects: str) -> Tool:
    return Tool(name=name, parameters=PLACES, effects=frozenset(effects) if effects else None)  # type: ignore[arg-type]


async def test_only_tools_that_declare_to_read_are_called_unless_they_are_named() -> None:
    tools = kept(of("look", "read"), of("mail", "send"), of("unknown"), of("both", "read", "write"))
    text = (await Agent(TestModel(), tools=[tools]).run("Hi")).text
    assert [call.name for call in tools.executed] == ["look"]
    assert text == "look: ok\nNot called, since they may do more than read: both, mail, unknown."
    tools = kept(of("look", "read"), of("mail", "send"))
    await Agent(TestModel(call=["mail"]), tools=[tools]).run("Hi")
    assert [call.name for call in tools.executed] == ["look", "mail"]
    tools = kept(of("mail", "send"))
    await Agent(TestModel(arguments={"mail": {"to": "ada@example.net"}}), tools=[tools]).run("Hi")
    assert [call.arguments for call in tools.executed] == [{"to": "ada@example.net"}]


async def test_a_name_that_no_tool_has_and_a_choice_that_may_not_be_called_are_told() -> None:
    with pytest.raises(UsageError, match=r"'mial', and the run has no such tool. It has: mail"):
        await Agent(TestModel(call=["mial"]), tools=[kept(of("mail", "send"))]).run("Hi")
    with pytest.raises(UsageError, match="must call one of mail"):
        await Agent(TestModel(), tools=[kept(of("mail", "send"))], tool_choice="required").run("Hi")
    assert (await Agent(TestModel(), tools=[kept(of("look", "read"))]).run("Hi", tool_choice="none")).calls == ()


async def test_a_typed_answer_is_a_value_of_its_type_and_a_plan_is_left_alone() -> None:
    for style in STYLES:
        result = await Agent(TestModel(style=style), output_type=Invoice).run("Hi")
        assert isinstance(result.output, Invoice)
    assert (await Agent(TestModel(), tools=[kept(of("look", "read"))], plan=True).run("Hi")).status == "done"


@pytest.mark.parametrize(
    "schema",
    [
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"allOf": [{"const": 1}, {"const": 2}]},
        {"not": {}},
    ],
    ids=str,
)
async def test_a_schema_without_a_value_is_told_with_the_name_of_the_tool(schema: JsonObject) -> None:
    parameters: JsonObject = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    pay = Tool(name="pay", parameters=parameters, effects=frozenset({"read"}))
    with pytest.raises(NoExample, match="the tool 'pay': no value"):
        await Agent(TestModel(), tools=[kept(pay)]).run("Hi")


def test_made_values_fit_the_parameters_of_published_apis_and_are_the_same_for_the_same_seed() -> None:
    reader = DocumentReader(read_text(gzip.decompress((CORPUS / "box.com.json.gz").read_bytes())))
    tools = [operation.tool for operation in reader.api().operations]
    for tool in tools:
        made = [value_of(tool.parameters, style=style, where=tool.name) for style in STYLES]
        assert all(jsonschema_rs.is_valid(tool.parameters, value) for value in made), tool.name
        assert made == [value_of(tool.parameters, style=style, where=tool.name) for style in STYLES]
    assert len(tools) > 200


def _integer(low: int, more: int, step: int) -> JsonObject:
    return {"type": "integer", "minimum": low, "exclusiveMaximum": low + more + step + 1, "multipleOf": step}


def _number(low: int, gap: float) -> JsonObject:
    return {"type": "number", "exclusiveMinimum": low, "maximum": low + gap}


def _string(least: int, more: int) -> JsonObject:
    return {"type": "string", "minLength": least, "maxLength": least + more}


def _array(items: JsonObject, least: int) -> JsonObject:
    return {"type": "array", "items": items, "minItems": least}


def _object(fields: dict[str, JsonObject]) -> JsonObject:
    names: list[Json] = list(sorted(fields)[:2])
    return {"type": "object", "properties": dict(fields), "required": names, "additionalProperties": False}


FIXED: list[JsonObject] = [
    {"type": "boolean"},
    {"const": [1]},
    {"enum": ["a", None]},
    {"type": ["null", "string"]},
    {"type": "string", "pattern": "^[a-c]{3}-\\d+$"},
    {"type": "string", "format": "date-time"},
]
SCHEMAS: st.SearchStrategy[JsonObject] = st.recursive(
    st.one_of(
        st.builds(_integer, st.integers(-50, 50), st.integers(0, 9), st.integers(1, 7)),
        st.builds(_number, st.integers(-9, 9), st.sampled_from([0.01, 1, 50])),
        st.builds(_string, st.integers(1, 20), st.integers(0, 5)),
        st.sampled_from(FIXED),
    ),
    lambda inner: st.one_of(
        st.builds(_array, inner, st.integers(0, 3)),
        st.builds(lambda options: {"anyOf": options}, st.lists(inner, min_size=1, max_size=3)),
        st.builds(_object, st.dictionaries(st.sampled_from("abcd"), inner, max_size=3)),
    ),
    max_leaves=6,
)


@given(SCHEMAS, st.sampled_from(STYLES), st.integers(0, 5))
def test_a_schema_that_has_values_gets_one(schema: JsonObject, style: ValueStyle, seed: int) -> None:
    value: Json = value_of(schema, style=style, seed=seed)
    assert jsonschema_rs.is_valid(schema, value)
