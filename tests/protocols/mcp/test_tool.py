"""What an MCP server says of a tool becomes the effects that policies go by."""

from __future__ import annotations

import pytest

from actum.core.call import ToolCall
from actum.core.errors import BadTool
from actum.core.json import JsonObject
from actum.core.policy import Facts
from actum.policy.rules import DEFAULT
from actum.protocols.mcp.tool import tool_of

pytestmark = pytest.mark.row("C3")

SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize(
    ("annotations", "believed", "doubted", "verdicts"),
    [
        ({"readOnlyHint": True}, {"read"}, None, "allow ask"),
        ({"readOnlyHint": True, "destructiveHint": True}, {"read"}, {"destroy"}, "allow ask"),
        ({"readOnlyHint": False}, {"write", "destroy"}, None, "ask ask"),
        ({"readOnlyHint": False, "destructiveHint": False}, {"write"}, None, "ask ask"),
        ({"destructiveHint": True}, {"write", "destroy"}, {"destroy"}, "ask ask"),
        ({"readOnlyHint": "true"}, {"write", "destroy"}, None, "ask ask"),
        ({"title": "Remove"}, None, None, "ask ask"),
        (None, None, None, "ask ask"),
    ],
)
def test_annotations_are_effects_and_of_an_untrusted_server_they_only_tighten(
    annotations: JsonObject | None, believed: set[str] | None, doubted: set[str] | None, verdicts: str
) -> None:
    definition: JsonObject = {
        "name": "rm",
        "description": "Removes.",
        "inputSchema": SCHEMA,
        "annotations": annotations,
    }
    trusted, untrusted = tool_of(definition, trusted=True), tool_of(definition)
    assert (trusted.effects, untrusted.effects) == (believed, doubted)
    assert trusted.foreign
    assert untrusted.foreign
    call = ToolCall("1", "rm", {"path": "x"})
    assert " ".join(DEFAULT.decide(tool, call, Facts()).verdict for tool in (trusted, untrusted)) == verdicts


def test_names_and_schemas_are_taken_over() -> None:
    tool = tool_of({"name": "put", "title": "Put", "inputSchema": SCHEMA, "outputSchema": {"type": "object"}})
    assert (tool.name, tool.title, tool.parameters, tool.result) == ("put", "Put", SCHEMA, {"type": "object"})


def test_that_a_call_can_be_repeated_is_believed_of_a_trusted_server_only() -> None:
    definition: JsonObject = {
        "name": "put",
        "inputSchema": SCHEMA,
        "annotations": {"readOnlyHint": False, "idempotentHint": True},
    }
    assert tool_of(definition, trusted=True).repeatable
    assert not tool_of(definition).repeatable
    assert not tool_of(definition, trusted=True).reads_only


def test_words_are_cleaned_of_what_no_person_sees() -> None:
    tool = tool_of({"name": "a", "title": "A\u202e", "description": "Adds.\U000e0041\u200b", "inputSchema": SCHEMA})
    assert (tool.title, tool.description) == ("A", "Adds.")


@pytest.mark.parametrize(
    "hiding",
    [
        {"inputSchema": {"properties": {"a": {"description": "One\u200b."}}}},
        {"inputSchema": {"properties": {"a\u200b": {}}}},
        {"inputSchema": {"enum": [["\u202e"]]}},
        {"inputSchema": {}, "outputSchema": {"title": "\U000e0041"}},
    ],
)
def test_a_schema_that_hides_something_refuses_its_tool(hiding: JsonObject) -> None:
    with pytest.raises(BadTool, match="hidden characters"):
        tool_of({"name": "a", **hiding})


NO_TOOLS: list[JsonObject] = [
    {},
    {"name": "x"},
    {"name": 3, "inputSchema": SCHEMA},
    {"name": "a b", "inputSchema": SCHEMA},
    {"name": "a", "inputSchema": SCHEMA, "outputSchema": [1]},
    {"name": "a", "inputSchema": {"type": "string"}},
]


@pytest.mark.parametrize("definition", NO_TOOLS)
def test_what_is_no_tool_is_refused(definition: JsonObject) -> None:
    with pytest.raises(BadTool):
        tool_of(definition)
