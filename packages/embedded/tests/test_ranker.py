"""What could go into a slot, and how likely each is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from actum_embedded.weighing.ranker import rank
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


def tool(**properties: dict[str, Json]) -> Tool:
    """A tool that requires all of its parameters."""
    schema: JsonObject = {"type": "object", "properties": {**properties}, "required": [*properties]}
    return Tool(name="report", description="Make a report.", parameters=schema)


def given_by(question: str, offered: Tool) -> dict[str, Json]:
    return as_object(fill(index(offered), read(question, TODAY)).arguments)


TEXT: dict[str, Json] = {"type": "string"}
NUMBER: dict[str, Json] = {"type": "number"}
WHOLE: dict[str, Json] = {"type": "integer"}


@pytest.mark.parametrize(
    ("question", "parameters", "arguments"),
    [
        (
            "Find the area with a width of 4 and a height of 7",
            {"height": WHOLE, "width": WHOLE},
            {"height": 7, "width": 4},
        ),
        ("a trip from Sydney to Melbourne", {"start": TEXT, "end": TEXT}, {"start": "Sydney", "end": "Melbourne"}),
        ("5000 dollars at a rate of 5% for 3 years", {"rate": NUMBER, "years": WHOLE}, {"rate": 0.05, "years": 3}),
        ("it weighs 70kg", {"weight": NUMBER}, {"weight": 70}),
    ],
)
def test_words_beside_a_value_tell_where_it_goes(
    question: str, parameters: dict[str, dict[str, Json]], arguments: dict[str, Json]
) -> None:
    assert given_by(question, tool(**parameters)) == arguments


def test_a_list_in_brackets_is_one_value() -> None:
    numbers: dict[str, Json] = {"type": "array", "items": {"type": "number"}, "description": "Numbers to sort."}
    assert given_by("Sort the list [5,300,4] please", tool(numbers=numbers)) == {"numbers": [5, 300, 4]}


def test_two_hours_are_120_minutes_where_minutes_are_asked_for() -> None:
    minutes: dict[str, Json] = {"type": "integer", "description": "How long, in minutes."}
    assert given_by("a timer for 2 hours", tool(duration=minutes)) == {"duration": 120}


def test_what_an_exponent_says_is_no_value() -> None:
    assert given_by("an acceleration of 9.8 m/s^2", tool(acceleration=NUMBER)) == {"acceleration": 9.8}


def test_tools_with_a_list_of_objects_or_numbers_beside_others_are_read() -> None:
    offered = tool(
        flows={"type": "array", "items": {"type": "object"}}, rates={"type": "array", "items": NUMBER}, n=WHOLE
    )
    assert given_by("make a report of 3", offered)["n"] == 3


@given(st.text(max_size=80))
def test_likelihoods_add_up_to_one_whatever_is_said(question: str) -> None:
    indexed = index(tool(city=TEXT, count=WHOLE, names={"type": "array", "items": TEXT}))
    for slot in indexed.slots:
        ranking = rank(slot, indexed, read(question, TODAY))
        assert math.isclose(ranking.none + sum(each.likely for each in ranking.ranked), 1.0, abs_tol=1e-6)
