"""A tool's definition as data."""

from __future__ import annotations

import pytest

from actum.core.errors import BadTool
from actum.core.tool import Tool

pytestmark = pytest.mark.row("T1")


def test_a_plain_name_description_and_schema_make_a_tool() -> None:
    tool = Tool(
        name="weather",
        description="The weather.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    )
    assert tool.property_schemas() == {"city": {"type": "string"}}
    assert tool.required() == ("city",)
    assert not tool.reads_only


@pytest.mark.parametrize("name", ["", "a b", "a" * 129, "a\n", "a/b", "a\x00"])
def test_a_name_that_no_model_could_say_is_refused(name: str) -> None:
    with pytest.raises(BadTool, match="use 1 to 128 letters"):
        Tool(name=name)


@pytest.mark.parametrize("name", ["a", "get_weather", "天气", "mcp.server-1.list", "a" * 128])
def test_names_of_every_language_are_good(name: str) -> None:
    assert Tool(name=name).name == name


def test_parameters_that_are_no_object_are_refused() -> None:
    with pytest.raises(BadTool, match="JSON Schema of an object"):
        Tool(name="a", parameters={"type": "array"})


def test_the_digest_is_of_the_definition_and_nothing_else() -> None:
    one = Tool(name="a", effects=frozenset({"write", "send", "read"}))
    same = Tool(name="a", effects=frozenset({"read", "send", "write"}))
    assert one.digest == same.digest
    assert one.digest != Tool(name="a", effects=frozenset({"write", "send", "read"}), idempotent=True).digest


def test_only_what_is_declared_to_read_only_reads() -> None:
    assert Tool(name="a", effects=frozenset({"read"})).reads_only
    assert Tool(name="a", effects=frozenset()).reads_only
    assert not Tool(name="a").reads_only
    assert not Tool(name="a", effects=frozenset({"read", "send"})).reads_only
    assert Tool(name="a", idempotent=True).repeatable
