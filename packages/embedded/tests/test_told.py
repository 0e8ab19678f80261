"""Tasks that are told one after the other, of which some go on with what was said before."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from packages.embedded.tests.harness import model

pytestmark = pytest.mark.row("L5")


def tool(name: str, description: str, *optional: str, **properties: JsonObject) -> Tool:
    schemas: dict[str, Json] = {**properties}
    required: list[Json] = [each for each in properties if each not in optional]
    return Tool(
        name=name,
        description=description,
        parameters={"type": "object", "properties": schemas, "required": required},
    )


def text(description: str) -> JsonObject:
    return {"type": "string", "description": description}


def number(description: str) -> JsonObject:
    return {"type": "number", "description": description}


TRIANGLE = tool("triangle_area", "Area of a triangle.", base=number("The base."), height=number("The height."))
CIRCLE = tool("circle_area", "Area of a circle.", radius=number("The radius."))
SPEED = tool(
    "final_speed",
    "Final speed of a moving body.",
    acceleration=number("Acceleration in m/s^2."),
    time=number("Time in seconds."),
)
WEATHER = tool("current_weather", "The current weather in a city.", city=text("Name of the city."))
DISTANCE = tool(
    "city_distance", "How far apart two cities are.", city_a=text("The first city."), city_b=text("The second city.")
)
RATE = tool(
    "exchange_rate",
    "The exchange rate between two currencies.",
    "date",
    base=text("ISO 4217 code of the base currency."),
    quote=text("ISO 4217 code of the quoted currency."),
    date=text("The day, YYYY-MM-DD; today if left out."),
)
TESTS = tool("run_tests", "Run the tests of a repository.", repo=text("The repository."))
MAIL = tool("send_email", "Send an e-mail.", to=text("E-mail address of the recipient."), body=text("The text."))
FLIGHTS = tool(
    "search_flights",
    "Search flights.",
    "cabin",
    origin=text("City of departure."),
    destination=text("City of arrival."),
    cabin={"type": "string", "enum": ["economy", "first"], "description": "Class of the cabin."},
)


async def calls_for(question: str, *offered: Tool) -> list[tuple[str, JsonObject]]:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=offered))
    return [(call.name, call.arguments) for call in reply.calls]


async def test_what_goes_on_with_a_thing_for_another_tool_is_a_task_of_its_own() -> None:
    question = "Area of a triangle with base 14 cm and height 9 cm, and of a circle with radius 6 cm?"
    assert await calls_for(question, TRIANGLE, CIRCLE) == [
        ("triangle_area", {"base": 14, "height": 9}),
        ("circle_area", {"radius": 6}),
    ]


async def test_values_may_be_told_before_the_task_they_are_for() -> None:
    question = "A sledge accelerates at 3 m/s^2 for 12 seconds on the ice. What is its final speed?"
    assert await calls_for(question, SPEED, CIRCLE) == [("final_speed", {"acceleration": 3, "time": 12})]


async def test_the_same_of_something_else_calls_the_same_tool_with_what_it_had() -> None:
    question = "The exchange rate from USD to CHF, and the same rate as it was on January 2, 2024."
    assert await calls_for(question, RATE, WEATHER) == [
        ("exchange_rate", {"base": "USD", "quote": "CHF"}),
        ("exchange_rate", {"base": "USD", "quote": "CHF", "date": "2024-01-02"}),
    ]


async def test_the_two_cities_are_those_that_were_named() -> None:
    question = "The current weather in Oslo, the current weather in Delhi, and how far apart are the two cities?"
    made = await calls_for(question, WEATHER, DISTANCE)
    assert made[-1] == ("city_distance", {"city_a": "Oslo", "city_b": "Delhi"})


async def test_words_in_quotes_name_no_tool() -> None:
    question = "Send an email to ada@example.com with the text 'The tests are running, results tomorrow'"
    assert await calls_for(question, MAIL, TESTS) == [
        ("send_email", {"to": "ada@example.com", "body": "The tests are running, results tomorrow"})
    ]


async def test_first_as_the_first_word_of_a_task_is_no_value() -> None:
    question = "First, search flights from Manchester to Athens. Second, the current weather in Athens."
    assert await calls_for(question, FLIGHTS, WEATHER) == [
        ("search_flights", {"origin": "Manchester", "destination": "Athens"}),
        ("current_weather", {"city": "Athens"}),
    ]


HOMES = tool(
    "find_homes",
    "Find homes for sale.",
    city=text("City in which to look."),
    budget={
        "type": "object",
        "properties": {"min": number("Lowest price."), "max": number("Highest price.")},
        "description": "What it may cost.",
    },
)
NEARBY = tool(
    "find_restaurants",
    "Find restaurants near a place.",
    "max_distance",
    location=text("City and state, e.g. Seattle, WA."),
    max_distance=number("Largest distance in miles."),
)
FIELD = tool(
    "electric_field", "Electric field of a charge.", charge=number("In coulombs."), distance=number("In meters.")
)
ARTICLE = tool(
    "add_article", "Add an article.", "meta_title", title=text("Title."), meta_title=text("Title for search engines.")
)
SUITS = tool("find_lawsuits", "Find lawsuits against somebody.", entity=text("Against whom."))
PAINTING = tool(
    "create_painting",
    "Create a painting.",
    background=text("Colour of the background."),
    dimensions={"type": "array", "items": {"type": "integer"}, "description": "Width and height in inches."},
)
EVENTS = tool(
    "history_events",
    "Events in the history of a country.",
    country=text("The country."),
    kind=text("Kind of event, e.g. 'war', 'treaty' or 'revolution'."),
)
REVENUE = tool(
    "record_revenue",
    "Record the revenue of a year.",
    year={"type": "integer"},
    year_revenue=number("Revenue in dollars."),
)
TODO = tool("add_todo", "Add a to-do item.", content=text("The content of the item."))


@pytest.mark.parametrize(
    ("question", "offered", "arguments"),
    [
        (
            "Find homes in Boston for $500,000 to $800,000",
            HOMES,
            {"city": "Boston", "budget": {"min": 500_000, "max": 800_000}},
        ),
        (
            "Find restaurants in Austin, TX within a 10-mile radius",
            NEARBY,
            {"location": "Austin, TX", "max_distance": 10},
        ),
        ("What is the electric field at 3m from a point charge of 4C?", FIELD, {"charge": 4, "distance": 3}),
        (
            "Add an article with the title 'Dune' and the meta title 'Dune, a novel'",
            ARTICLE,
            {"title": "Dune", "meta_title": "Dune, a novel"},
        ),
        ("Find lawsuits against Mr. John Doe", SUITS, {"entity": "Mr. John Doe"}),
        (
            "Create a painting of 16x20 inches with a blue background",
            PAINTING,
            {"background": "blue", "dimensions": [16, 20]},
        ),
        ("Which wars were there in the history of England?", EVENTS, {"country": "England", "kind": "war"}),
        ("Record that in 2018 the revenue was $500,000", REVENUE, {"year": 2018, "year_revenue": 500_000}),
        ("add todo with content go to sleep at 9 pm", TODO, {"content": "go to sleep at 9 pm"}),
    ],
)
async def test_what_stands_beside_a_value_tells_whose_it_is(
    question: str, offered: Tool, arguments: JsonObject
) -> None:
    assert await calls_for(question, offered) == [(offered.name, arguments)]
