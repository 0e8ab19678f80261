"""Which tool a clause asks for."""

from __future__ import annotations

import pytest

from actum.core.tool import Tool
from actum_embedded.text.clauses import Clause, read
from actum_embedded.tools.selection import Shelf, index
from packages.embedded.tests.harness import TODAY, named, tools


def clause(text: str) -> Clause:
    return read(text, TODAY)


def best(text: str, group: str = "all") -> str:
    said = clause(text)
    return Shelf(tools(group)).rank(said.terms, said.spans, text)[0].indexed.tool.name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("will I need an umbrella", "weather"),
        ("要带伞吗", "weather"),
        ("12*12", "calculate"),
        ("https://example.org", "crawl"),
        ("select name from countries", "query_data"),
        ("3 kg to pounds", "convert_units"),
        ("please use drone_data_query", "drone_data_query"),
        ("headlines", "news"),
    ],
)
def test_words_and_pieces_point_to_a_tool(text: str, name: str) -> None:
    assert best(text) == name


def test_a_tool_described_in_the_other_language_is_found() -> None:
    assert best("what is the status of the drone", "zh") == "drone_data_query"
    assert best("厨房的灯", "office") == "set_light"


def test_a_rare_word_says_more_than_a_common_one() -> None:
    offered = [
        Tool(name="list_users", description="List the users of the shop."),
        Tool(name="list_orders", description="List the orders of the shop."),
        Tool(name="list_refunds", description="List the refunds of the shop."),
    ]
    said = clause("refunds of the shop")
    ranked = Shelf(offered).rank(said.terms, said.spans, said.words)
    assert ranked[0].indexed.tool.name == "list_refunds"
    assert ranked[0].score > 1.3 * ranked[1].score


def test_words_that_no_tool_has_count_against_all() -> None:
    shelf = Shelf(named("desk", "weather"))
    scores = [
        shelf.rank(said.terms, said.spans, said.words)[0].score
        for said in map(clause, ("weather", "weather of purple elephants"))
    ]
    assert scores[1] < scores[0]


def test_only_a_search_of_everything_counts_as_a_search() -> None:
    assert [tool.name for tool in (*tools("all"), *tools("office"), *tools("zh")) if index(tool).searches] == [
        "search",
        "search",
    ]


def test_an_index_is_made_once() -> None:
    (weather,) = named("desk", "weather")
    assert index(weather) is index(weather)
