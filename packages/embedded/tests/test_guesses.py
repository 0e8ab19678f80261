"""Values that nobody named but that the words lean to."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Effects, Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY


def filled(
    name: str, schema: JsonObject, said: str, *, required: bool = True, effects: Effects | None = None
) -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": {name: schema}, "required": [name] if required else []}
    tool = Tool(
        name="find",
        description="Finds what is wanted.",
        parameters=parameters,
        effects=frozenset({effects}) if effects else None,
    )
    return as_object(fill(index(tool), read(said, TODAY)).arguments)


@pytest.mark.row("L5")
@pytest.mark.parametrize(
    ("name", "values", "said", "meant"),
    [
        ("sex", ["male", "female"], "for a 29-year-old woman", "female"),
        ("attribute", ["length", "depth", "area"], "How large is Loch Ness?", "area"),
        ("size", ["small", "medium", "large"], "a tiny box", "small"),
        ("性别", ["男", "女"], "我妈妈今年60岁", "女"),
    ],
)
def test_a_value_that_is_not_named_is_found_by_what_the_words_mean(
    name: str, values: list[Json], said: str, meant: str
) -> None:
    assert filled(name, {"type": "string", "enum": values}, said) == {name: meant}


def test_where_nothing_leans_to_a_value_none_is_taken() -> None:
    for said in ("the news", "Berlin", "新闻"):
        assert filled("size", {"type": "string", "enum": ["small", "medium", "large"]}, said) == {}


def test_an_optional_value_wants_more_than_a_leaning() -> None:
    schema: JsonObject = {"type": "string", "enum": ["length", "depth", "area"]}
    assert filled("attribute", schema, "Loch Ness", required=False) == {}


def test_a_value_that_is_named_is_never_guessed_away() -> None:
    schema: JsonObject = {"type": "string", "enum": ["small", "medium", "large"]}
    assert filled("size", schema, "a tiny box, but make it large") == {"size": "large"}


def test_a_tool_that_changes_things_gets_nothing_that_was_guessed() -> None:
    schema: JsonObject = {"type": "string", "enum": ["small", "medium", "large"]}
    assert filled("size", schema, "a tiny box", effects="read") == {"size": "small"}
    assert filled("size", schema, "a tiny box", effects="write") == {}
    assert filled("size", schema, "a small box", effects="write") == {"size": "small"}
