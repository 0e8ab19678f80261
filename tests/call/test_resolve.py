"""Finding a tool by the name a model gave."""

from __future__ import annotations

import pytest

from actum.call.resolve import COMPARED_MAX, COMPILED_MAX, Catalog
from actum.core.errors import BadTool, UnknownTool
from actum.core.tool import Tool
from actum.testing import RecordingToolset


async def test_a_name_that_two_toolsets_use_is_refused_when_they_are_put_together() -> None:
    with pytest.raises(BadTool, match="two tools are called 'a'"):
        await Catalog.of([RecordingToolset([Tool(name="a")]), RecordingToolset([Tool(name="a")])])


@pytest.mark.row("C2")
async def test_an_unknown_name_is_answered_with_names_that_may_be_used() -> None:
    catalog = await Catalog.of([RecordingToolset([Tool(name="get_weather"), Tool(name="add")])])
    with pytest.raises(UnknownTool, match="get_weather"):
        catalog.resolve("get_wether")
    with pytest.raises(UnknownTool, match="no tools"):
        (await Catalog.of([])).resolve("x")


async def test_the_digest_changes_with_any_definition() -> None:
    one = await Catalog.of([RecordingToolset([Tool(name="a")])])
    same = await Catalog.of([RecordingToolset([Tool(name="a")])])
    other = await Catalog.of([RecordingToolset([Tool(name="a", description="new")])])
    assert one.digest == same.digest != other.digest


@pytest.mark.row("C1")
async def test_a_bad_schema_refuses_the_tool_and_names_the_place() -> None:
    bad = Tool(name="a", parameters={"type": "object", "properties": {"x": {"type": "sting"}}})
    with pytest.raises(BadTool, match=r"'a'.*x"):
        await Catalog.of([RecordingToolset([bad])])


@pytest.mark.row("C2")
async def test_among_many_names_few_are_compared_and_the_near_one_is_still_found() -> None:
    tools = [Tool(name=f"get_record_{number}") for number in range(2000)]
    tools.insert(1500, Tool(name="get_weather_in_beijing"))
    catalog = await Catalog.of([RecordingToolset(tools)])
    compared = catalog._related("get_wether_in_beijing")
    assert len(compared) <= COMPARED_MAX
    assert "get_weather_in_beijing" in compared
    with pytest.raises(UnknownTool, match="You may use: get_weather_in_beijing"):
        catalog.resolve("get_wether_in_beijing")


async def test_of_very_many_tools_a_schema_is_compiled_at_the_first_call() -> None:
    bad = Tool(name="bad", parameters={"type": "object", "properties": {"a": {"type": "nothing"}}}, foreign=True)
    many = [Tool(name=f"t{number}") for number in range(COMPILED_MAX)]
    catalog = await Catalog.of([RecordingToolset([*many, bad])])
    assert catalog.resolve("t7").schema.check({}).problems == ()
    with pytest.raises(UnknownTool, match="'bad' can not be called"):
        catalog.resolve("bad")
    later = await Catalog.of([RecordingToolset([*many[1:], bad, Tool(name="new")])], known=catalog)
    assert later.resolve("t7").schema is catalog.resolve("t7").schema
