"""Which values belong to one call, where a question says several for a slot."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.calls.grouping import readings
from actum_embedded.calls.sharing import spread
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY
from tests.endurance import share

pytestmark = pytest.mark.row("L5")

TEXT: dict[str, Json] = {"type": "string"}
WHOLE: dict[str, Json] = {"type": "integer"}


def tool(name: str, description: str, optional: dict[str, dict[str, Json]] | None = None, **properties: Json) -> Tool:
    """A tool that requires all of its parameters but the optional ones."""
    parameters: JsonObject = {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": [*properties],
    }
    return Tool(name=name, description=description, parameters=parameters)


def calls(question: str, offered: Tool) -> list[dict[str, Json]]:
    clause = read(question, TODAY)
    return [as_object(call) for call in spread(fill(index(offered), clause), clause)]


AREA = tool("triangle_area", "Area of a triangle.", base=WHOLE, height=WHOLE)
DIVISOR = tool("greatest_common_divisor", "Greatest common divisor of two numbers.", num1=WHOLE, num2=WHOLE)
WEATHER = tool("get_weather", "The weather of a city.", city={"type": "string", "description": "The city."})
ROUTE = tool("plan_route", "Plan a route between two cities.", start_city=TEXT, end_city=TEXT)
SAVINGS = tool("compound_interest", "Interest on savings.", principal=WHOLE, rate={"type": "number"}, years=WHOLE)
CONCERT = tool("find_concerts", "Find concerts.", city=TEXT, genre={"type": "string", "description": "Music genre."})


@pytest.mark.parametrize(
    ("question", "offered", "expected"),
    [
        (
            "The area of two triangles. One has a base of 12 and a height of 15, the other a base of 18 and height 24",
            AREA,
            [{"base": 12, "height": 15}, {"base": 18, "height": 24}],
        ),
        (
            "The greatest common divisor of 36 and 48, and then of 60 and 96",
            DIVISOR,
            [{"num1": 36, "num2": 48}, {"num1": 60, "num2": 96}],
        ),
        (
            "Plan a route from Oslo to Rome, and then from Rome to Madrid",
            ROUTE,
            [{"start_city": "Oslo", "end_city": "Rome"}, {"start_city": "Rome", "end_city": "Madrid"}],
        ),
    ],
)
def test_what_is_told_one_after_the_other_makes_a_call_each(
    question: str, offered: Tool, expected: list[dict[str, Json]]
) -> None:
    assert calls(question, offered) == expected


def test_a_value_said_once_is_for_all_calls() -> None:
    question = "Interest on savings with a principal of 1000 and a rate of 5% for 2, 5 and 10 years"
    assert calls(question, SAVINGS) == [{"principal": 1000, "rate": 0.05, "years": years} for years in (2, 5, 10)]


def test_a_number_that_tells_how_many_there_are_is_no_value() -> None:
    question = (
        "I have two triangles, one with a base of 3 and a height of 4, the other with a base of 6 and a height of 8"
    )
    assert calls(question, AREA) == [{"base": 3, "height": 4}, {"base": 6, "height": 8}]


@pytest.mark.parametrize(
    "question",
    ["The weather in Oslo", "The greatest common divisor of two numbers, say 36 and 48", "area: base 3, height 4"],
)
def test_what_asks_for_one_call_makes_one(question: str) -> None:
    offered = next(each for each in (WEATHER, DIVISOR, AREA) if each.description.split()[0].lower() in question.lower())
    assert len(calls(question, offered)) == 1


def test_the_reading_as_one_call_is_always_among_them() -> None:
    clause = read("The weather in Oslo, Rome and Paris", TODAY)
    filled = fill(index(WEATHER), clause)
    found = readings(filled, clause)
    assert len(found[0].calls) == 3
    assert [each.calls for each in found if len(each.calls) == 1] == [(filled.arguments,)]


WORDS = st.lists(
    st.sampled_from(["the", "weather", "in", "Oslo", "Rome", ",", "and", ".", "then", "of", "base", "36", "48", "two"]),
    max_size=24,
)


@given(WORDS, st.sampled_from([AREA, DIVISOR, WEATHER, ROUTE, SAVINGS, CONCERT]))
@settings(max_examples=share(150, 20), deadline=None)
def test_no_reading_takes_words_twice_and_each_call_has_a_slot_once(words: list[str], offered: Tool) -> None:
    clause = read(" ".join(words), TODAY)
    for reading in readings(fill(index(offered), clause), clause):
        if len(reading.calls) > 1:
            ends = [each.last for each in reading.mentions]
            assert all(end <= each.first for end, each in zip(ends, reading.mentions[1:], strict=False))
        for call in reading.calls:
            paths = [each.slot.path for each in call]
            assert len(paths) == len(set(paths))


def test_two_numbers_that_are_told_of_are_those_of_a_row_of_slots() -> None:
    assert calls("the greatest common divisor of two given numbers, for example 12 and 15", DIVISOR) == [
        {"num1": 12, "num2": 15}
    ]


def test_what_is_turned_into_what_is_one_call() -> None:
    money: dict[str, Json] = {"type": "string", "description": "Currency code, such as USD."}
    exchange = tool("exchange", "Exchanges money.", amount=WHOLE, from_currency=money, to_currency=money)
    assert calls("欧元兑英镑，金额860", exchange) == [{"amount": 860, "from_currency": "EUR", "to_currency": "GBP"}]


@pytest.mark.parametrize("said", ["24号入住26号退房，杭州", "在杭州订酒店，11月24号入住，26号退房"])
def test_two_days_are_one_stay_of_so_many_nights(said: str) -> None:
    day: dict[str, Json] = {"type": "string", "description": "入住日期 YYYY-MM-DD"}
    city: dict[str, Json] = {"type": "string", "description": "城市"}
    hotel = tool(
        "book_hotel", "预订酒店。", city=city, check_in=day, nights={"type": "integer", "description": "住几晚"}
    )
    assert calls(said, hotel) == [{"city": "杭州", "check_in": "2026-11-24", "nights": 2}]
