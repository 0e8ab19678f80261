"""What a tool's parameters want."""

from __future__ import annotations

import pytest

from actum.core.tool import Tool
from actum_embedded.tools.slots import slots_of
from packages.embedded.tests.harness import named, tools


def kinds(tool: Tool) -> dict[str, str]:
    return {".".join(slot.path): slot.kind for slot in slots_of(tool)}


@pytest.mark.parametrize(
    ("group", "name", "wanted"),
    [
        ("desk", "weather", {"city": "city", "date": "date"}),
        ("desk", "route", {"origin": "place", "dest": "place"}),
        ("desk", "drone_data_query", {"drone_id": "id"}),
        ("zh", "singer_birthday", {"name": "person"}),
        ("office", "send_email", {"to": "email", "subject": "title", "body": "text"}),
        ("office", "set_light", {"room": "enum", "state": "enum"}),
        ("office", "average", {"numbers": "number"}),
        ("everyday", "country_facts", {"name": "country", "field": "enum"}),
        ("everyday", "find_files", {"pattern": "file", "folder": "folder"}),
        ("everyday", "query_data", {"sql": "sql"}),
        ("mixed", "订单查询", {"订单号": "id"}),
        (
            "mixed",
            "hotel_search",
            {"city": "city", "check_in": "date", "nights": "number", "stars": "number", "breakfast": "boolean"},
        ),
    ],
)
def test_the_kind_is_read_off_names_and_descriptions(group: str, name: str, wanted: dict[str, str]) -> None:
    (tool,) = named(group, name)
    assert kinds(tool) == wanted


def test_the_schema_says_more_than_words() -> None:
    tool = Tool(
        name="t",
        parameters={
            "type": "object",
            "properties": {
                "city": {"type": "integer"},
                "x": {"type": "string", "format": "date"},
                "y": {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "null"}]},
                "z": {"type": ["null", "number"]},
                "deep": {"type": "object", "properties": {"when": {"$ref": "#/$defs/Day"}}, "required": ["when"]},
                "many": {"type": "array", "items": {"type": "string", "format": "email"}},
                "broken": {"$ref": "#/nowhere"},
                "circle": {"$ref": "#/$defs/Circle"},
            },
            "required": ["deep"],
            "$defs": {"Day": {"type": "string", "format": "date"}, "Circle": {"$ref": "#/$defs/Circle"}},
        },
    )
    assert kinds(tool) == {
        "city": "number",
        "x": "date",
        "y": "enum",
        "z": "number",
        "deep.when": "date",
        "many": "email",
        "broken": "string",
        "circle": "string",
    }
    assert [".".join(slot.path) for slot in slots_of(tool) if slot.required] == ["deep.when"]
    assert [slot.name for slot in slots_of(tool) if slot.many] == ["many"]


def test_roles_tell_two_of_a_kind_apart() -> None:
    (route,) = named("desk", "route")
    assert [slot.roles for slot in slots_of(route)] == [("source",), ("target",)]


def test_a_tool_without_parameters_has_no_slots() -> None:
    assert slots_of(Tool(name="now")) == ()
    assert all(slots_of(tool) is not None for tool in tools("all"))
