"""Which piece goes where, and how sure that is: the seam for a learned ranker."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import (
    OPTIONAL_MIN,
    REQUIRED_MIN,
    as_object,
    fill,
)
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from actum_embedded.weighing.ranker import rank
from packages.embedded.tests.harness import TODAY, named


def filled(group: str, name: str, text: str) -> tuple[dict[str, Json], list[str]]:
    (tool,) = named(group, name)
    result = fill(index(tool), read(text, TODAY))
    return as_object(result.arguments), [slot.name for slot in result.missing]


@pytest.mark.parametrize(
    ("name", "text", "arguments", "missing"),
    [
        ("search_flights", "from Oslo to Rome", {"origin": "Oslo", "destination": "Rome"}, ["date"]),
        ("search_flights", "to Rome from Oslo", {"origin": "Oslo", "destination": "Rome"}, ["date"]),
        ("search_flights", "去罗马，从奥斯陆出发", {"origin": "奥斯陆", "destination": "罗马"}, ["date"]),
        ("search_flights", "flights without stops, not direct", {"direct": False}, ["origin", "destination", "date"]),
        (
            "search_flights",
            "tomorrow, at most 300",
            {"date": "2026-11-21", "max_price": 300},
            ["origin", "destination"],
        ),
        ("set_light", "开灯，浴室", {"room": "bathroom", "state": "on"}, []),
        ("average", "3, 5, -2.5", {"numbers": [3, 5, -2.5]}, []),
        ("convert_currency", "€20 in dollars", {"amount": 20, "from_currency": "EUR", "to_currency": "USD"}, []),
        ("send_email", "to a@b.org, subject 'Hi': see you", {"to": "a@b.org", "body": "see you", "subject": "Hi"}, []),
        ("get_order", "my order", {}, ["order_id"]),
    ],
)
def test_slots_are_filled(name: str, text: str, arguments: dict[str, Json], missing: list[str]) -> None:
    assert filled("office", name, text) == (arguments, missing)


def test_what_nobody_said_stays_out() -> None:
    assert filled("desk", "news", "news from Berlin about 300 workers")[0] == {"city": "Berlin"}
    assert filled("desk", "weather", "weather in Oslo")[0] == {"city": "Oslo"}


def test_every_argument_tells_where_it_comes_from_and_how_sure_it_is() -> None:
    (tool,) = named("office", "search_flights")
    clause = read("a flight from Oslo to Rome tomorrow under 300", TODAY)
    for argument in fill(index(tool), clause).arguments:
        assert argument.span.text in clause.text
        assert clause.text[argument.span.start : argument.span.end] == argument.span.text
        assert (REQUIRED_MIN if argument.slot.required else OPTIONAL_MIN) <= argument.confidence <= 1.0


def test_a_word_that_goes_with_the_slot_makes_it_surer_and_a_contrary_one_less_sure() -> None:
    (tool,) = named("office", "search_flights")
    indexed = index(tool)
    origin = indexed.slots[0]

    def likely(text: str) -> float:
        ranking = rank(origin, indexed, read(text, TODAY))
        return next(each.likely for each in ranking.ranked if each.candidate.value == "Oslo")

    assert likely("from Oslo") > likely("to Oslo")


def test_a_slot_of_a_certain_kind_takes_nothing_of_another() -> None:
    (tool,) = named("office", "send_email")
    indexed = index(tool)
    (to,) = (slot for slot in indexed.slots if slot.kind == "email")
    assert rank(to, indexed, read("tomorrow", TODAY)).ranked == ()


def test_words_that_another_tool_took_are_not_taken_again() -> None:
    (weather,) = named("desk", "weather")
    clause = read("weather in Oslo", TODAY)
    first = fill(index(weather), clause)
    again = fill(index(weather), clause, avoid=[argument.span for argument in first.arguments])
    assert [slot.name for slot in again.missing] == ["city"]


def of_text(said: str, **properties: str) -> JsonObject:
    """What slots for text with these descriptions are filled with."""
    texts: JsonObject = {name: {"type": "string", "description": told} for name, told in properties.items()}
    parameters: JsonObject = {"type": "object", "properties": texts, "required": list(texts)}
    tool = Tool(name="place_order", description="Places an order.", parameters=parameters)
    return as_object(fill(index(tool), read(said, TODAY)).arguments)


def test_a_key_of_a_service_is_no_word_that_was_said_by_the_way() -> None:
    told = {"api_key": "The key of the service.", "city": "The city."}
    assert of_text("an order in Oslo", **told) == {"city": "Oslo"}
    assert of_text("an order in Oslo with 'k-1-x'", **told) == {"city": "Oslo", "api_key": "k-1-x"}


def test_a_day_is_no_part_of_a_number_of_an_order() -> None:
    assert "April" not in str(of_text("my order of April 10th with the doctor", order_id="Id of the order"))
    said = "my order of April 10th, its number is AB-17"
    assert of_text(said, order_id="Id of the order") == {"order_id": "AB-17"}


def test_a_telephone_number_is_how_to_reach_somebody() -> None:
    told = {"brand": "The brand.", "contact_information": "Contact information, such as a phone number."}
    said = "The brand is Haier, my number is 13800138000"
    assert of_text(said, **told) == {"brand": "Haier", "contact_information": "13800138000"}


def test_a_choice_that_is_said_word_by_word_is_not_taken_twice() -> None:
    properties: JsonObject = {
        "from_place": {"type": "string", "description": "The place to start from."},
        "type": {"type": "string", "enum": ["Plus", "Comfort"]},
    }
    parameters: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    tool = Tool(name="ride", description="Orders a ride.", parameters=parameters)
    said = read("I need a 'Plus' ride from 12 Elm Street, Berkeley", TODAY)
    assert as_object(fill(index(tool), said).arguments) == {"type": "Plus", "from_place": "12 Elm Street, Berkeley"}
