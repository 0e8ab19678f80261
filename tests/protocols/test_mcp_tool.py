"""What an MCP server says of a tool becomes the effects that policies go by."""

from __future__ import annotations

import pytest

from actum.call.authorize import DEFAULT
from actum.core.call import ToolCall
from actum.core.errors import BadTool
from actum.core.interfaces import Facts
from actum.core.json import JsonObject
from actum.protocols.mcp_tool import tool_of

pytestmark = pytest.mark.row("C3")

SCHEMA: JsonObject = {"type": "object", "properties": {"path": {"type": "string"}}}


@pytest.mark.parametrize(
    ("annotations", "effects", "verdict"),
    [
        ({"readOnlyHint": True}, {"read"}, "allow"),
        ({"readOnlyHint": True, "destructiveHint": True}, {"read"}, "allow"),
        ({"readOnlyHint": False}, {"write", "destroy"}, "ask"),
        ({"readOnlyHint": False, "destructiveHint": False}, {"write"}, "ask"),
        ({"destructiveHint": True}, {"write", "destroy"}, "ask"),
        ({"readOnlyHint": "true"}, {"write", "destroy"}, "ask"),
        ({"title": "Remove"}, None, "ask"),
        (None, None, "ask"),
    ],
)
def test_annotations_are_effects_and_what_is_not_said_is_taken_as_able_to_do_harm(
    annotations: JsonObject | None, effects: set[str] | None, verdict: str
) -> None:
    tool = tool_of({"name": "rm", "description": "Removes.", "inputSchema": SCHEMA, "annotations": annotations})
    assert (tool.effects, tool.foreign) == (effects, True)
    assert DEFAULT.decide(tool, ToolCall("1", "rm", {"path": "x"}), Facts()).verdict == verdict


def test_names_schemas_and_the_hint_of_repeating_are_taken_over() -> None:
    tool = tool_of(
        {
            "name": "put",
            "title": "Put",
            "inputSchema": SCHEMA,
            "outputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": False, "idempotentHint": True},
        }
    )
    assert (tool.name, tool.title, tool.parameters, tool.result) == ("put", "Put", SCHEMA, {"type": "object"})
    assert (tool.idempotent, tool.repeatable, tool.reads_only) == (True, True, False)


NO_TOOLS: list[JsonObject] = [
    {},
    {"name": "x"},
    {"name": 3, "inputSchema": SCHEMA},
    {"name": "a b", "inputSchema": SCHEMA},
]


@pytest.mark.parametrize("definition", NO_TOOLS)
def test_what_is_no_tool_is_refused(definition: JsonObject) -> None:
    with pytest.raises(BadTool):
        tool_of(definition)
