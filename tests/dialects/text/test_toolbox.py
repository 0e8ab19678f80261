from __future__ import annotations

import pytest

from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum.dialects.text.toolbox import Toolbox, read_input, read_signature

TEXT: JsonObject = {"type": "string"}


def tool(name: str, *parameters: str, required: int = 1) -> Tool:
    names = list(parameters)
    schema: JsonObject = {
        "type": "object",
        "properties": dict.fromkeys(names, TEXT),
        "required": [*names[:required]],
    }
    return Tool(name=name, parameters=schema)


BOX = Toolbox(
    [
        tool("weather", "city", "days"),
        tool("route", "origin", "dest", required=2),
        tool("web_search", "query"),
        tool("search", "query"),
        tool("now"),
        tool("get-it"),
        tool("get_it"),
    ]
)


@pytest.mark.parametrize(
    "said", ["web_search", " `web_search` ", "Web Search", "functions.web_search", "web-search.", "“web_search”"]
)
def test_a_tool_is_found_by_other_spellings_of_its_name(said: str) -> None:
    found = BOX.find(said)
    assert found is not None
    assert found[0] == "web_search"


@pytest.mark.parametrize("said", ["", "pizza", "Get It", "search the web"])
def test_no_tool_is_found_where_none_or_two_are_meant(said: str) -> None:
    assert BOX.find(said) is None


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("I will use web_search for this", "web_search"),
        ("use the weather tool", "weather"),
        ("使用weather工具", "weather"),
        ("weather or route?", None),
        ("searching for researchers", None),
    ],
)
def test_a_sentence_means_the_only_tool_that_it_names(sentence: str, name: str | None) -> None:
    found = BOX.find_in(sentence)
    assert (found and found[0]) == name
    assert found is None or found[1]


@pytest.mark.parametrize(
    ("name", "source", "arguments"),
    [
        ("weather", '{"city": "Oslo"}', {"city": "Oslo"}),
        ("weather", '```json\n{"city": "Oslo"}\n```', {"city": "Oslo"}),
        ("weather", "Oslo, Norway", {"city": "Oslo, Norway"}),
        ("weather", '"Oslo"', {"city": "Oslo"}),
        ("weather", "city: Oslo, Norway", {"city": "Oslo, Norway"}),
        ("weather", 'city="Oslo"\ndays=3', {"city": "Oslo", "days": "3"}),
        ("weather", 'city = "Oslo; R&D", days = None', {"city": "Oslo; R&D", "days": None}),
        ("weather", "", {}),
        ("weather", "无", {}),
        ("now", "please", {}),
        ("weather", "city=a, city=a", {"city": "a"}),
        ("weather", 'city=["a"], days=1', {"city": ["a"], "days": "1"}),
        ("weather", "city=", {"city": ""}),
        ("weather", '"Oslo', {"city": '"Oslo'}),
        ("web_search", '["a", "b"]', {"query": ["a", "b"]}),
        ("web_search", "[draft] notes", {"query": "[draft] notes"}),
        ("web_search", "what is 2=2?", {"query": "what is 2=2?"}),
        ("web_search", "3", {"query": "3"}),
        ("unknown", "Oslo", {"input": "Oslo"}),
    ],
)
def test_an_input_becomes_arguments_whichever_way_it_is_written(name: str, source: str, arguments: JsonObject) -> None:
    said = read_input(name, source, BOX)
    assert (said.arguments, said.complete) == (arguments, True)


@pytest.mark.parametrize(
    ("name", "source"),
    [("route", "Tokyo to Seoul"), ("weather", '{"city": "Os'), ("weather", '{"a" 1}')],
)
def test_an_input_that_fits_no_parameter_leaves_the_call_incomplete_with_its_text(name: str, source: str) -> None:
    said = read_input(name, source, BOX)
    assert (said.arguments, said.complete, said.raw) == ({}, False, source)


@pytest.mark.parametrize(
    ("name", "source", "arguments"),
    [
        ("route", '"Tokyo", "Seoul"', {"origin": "Tokyo", "dest": "Seoul"}),
        ("route", "Tokyo, Seoul", {"origin": "Tokyo", "dest": "Seoul"}),
        ("route", "'Tokyo', dest='Seoul'", {"origin": "Tokyo", "dest": "Seoul"}),
        ("weather", '"Oslo", 3', {"city": "Oslo", "days": "3"}),
        ("weather", "Oslo, Norway", {"city": "Oslo, Norway"}),
        ("web_search", 'cats, "dogs"', {"query": 'cats, "dogs"'}),
        ("now", "", {}),
    ],
)
def test_values_in_brackets_go_by_name_or_by_order(name: str, source: str, arguments: JsonObject) -> None:
    said = read_signature(name, source, BOX)
    assert (said.arguments, said.complete) == (arguments, True)


@pytest.mark.parametrize(
    "said",
    [
        '"city": "Oslo", "days": "3"}',
        '"city":"Oslo"}',
        '"days": "3"}',
        '"nothing of ours": {"city": "Oslo"}}',
        '"city" : "a \\" b"\n}',
        '```json\n"city": "Oslo"}\n```',
    ],
)
def test_an_object_without_its_opening_brace_is_no_value(said: str) -> None:
    for name in ("weather", "search"):
        read = read_input(name, said, BOX)
        assert (read.complete, read.arguments) == (False, {}), read
