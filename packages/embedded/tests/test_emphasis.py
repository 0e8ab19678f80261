"""What is said so plainly that no weight is asked."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")
TEXT: JsonObject = {"type": "string"}


def found(properties: dict[str, Json], said: str, description: str = "Looks it up.") -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    return as_object(
        fill(index(Tool(name="look_up", parameters=parameters, description=description)), read(said, TODAY)).arguments
    )


def test_a_quote_is_taken_whole() -> None:
    assert found({"name": TEXT}, "details of the board game 'Ticket to Ride'") == {"name": "Ticket to Ride"}
    assert found({"url": TEXT}, "read 'https://example.com/data' now") == {"url": "https://example.com/data"}


def test_a_quote_goes_where_its_name_stands() -> None:
    said = "The host should be 'db.example.com', the username is 'admin' and the password 'x*y1'"
    assert found({"password": TEXT, "username": TEXT, "host": TEXT}, said) == {
        "password": "x*y1",
        "username": "admin",
        "host": "db.example.com",
    }


def test_a_list_in_brackets_is_taken_whole() -> None:
    texts: JsonObject = {"type": "array", "items": {"type": "string"}}
    assert found({"categories": texts}, "encode the categories ['red', 'blue', 'green'] for me") == {
        "categories": ["red", "blue", "green"]
    }


def test_two_ends_are_the_list_for_an_interval() -> None:
    ends: JsonObject = {"type": "array", "items": {"type": "number"}, "description": "The interval, start and end."}
    assert found({"interval": ends}, "the area from x=1 to x=3") == {"interval": [1.0, 3.0]}


def test_a_name_is_taken_without_the_words_around_it() -> None:
    assert found({"artist": TEXT}, "tickets for the upcoming Eminem concert") == {"artist": "Eminem"}


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("a film directed by Ann Hui", {"directed_by": "Ann Hui"}),
        ("a film featuring Maggie Cheung", {"cast": "Maggie Cheung"}),
        (
            "a film with Maggie Cheung in it by the director Ann Hui",
            {"directed_by": "Ann Hui", "cast": "Maggie Cheung"},
        ),
    ],
)
def test_the_words_around_a_name_tell_whose_it_is(said: str, arguments: dict[str, Json]) -> None:
    properties: dict[str, Json] = {
        "directed_by": {"type": "string", "description": "Name of the director of the film."},
        "cast": {"type": "string", "description": "Names of actors in the film."},
    }
    parameters: JsonObject = {"type": "object", "properties": properties}
    tool = Tool(name="find_films", parameters=parameters, description="Finds films by director and cast.")
    assert as_object(fill(index(tool), read(said, TODAY)).arguments) == arguments


def test_values_come_in_the_order_in_which_their_names_are_listed() -> None:
    height: JsonObject = {"type": "integer", "description": "The height of the triangle."}
    base: JsonObject = {"type": "integer", "description": "The base of the triangle."}
    said = "the area of a triangle with base and height as 6cm and 10cm"
    assert found({"height": height, "base": base}, said) == {"base": 6, "height": 10}


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("耳机，500以内", {"max_price": 500}),
        ("耳机，不超过500块", {"max_price": 500}),
        ("headphones for at most $500", {"max_price": 500}),
        ("耳机，至少500", {"min_price": 500}),
        ("headphones for no less than $500", {"min_price": 500}),
    ],
)
def test_what_is_said_to_be_the_most_or_the_least_goes_there(said: str, made: JsonObject) -> None:
    price: JsonObject = {"type": "integer"}
    parameters: JsonObject = {
        "type": "object",
        "properties": {"min_price": price, "max_price": price, "keyword": TEXT},
        "required": ["keyword"],
    }
    tool = Tool(name="search_products", parameters=parameters, description="Searches products.")
    arguments = as_object(fill(index(tool), read(said, TODAY)).arguments)
    assert {name: value for name, value in arguments.items() if name != "keyword"} == made


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("下午四点前到浦东机场", {"arrive_by": "16:00"}),
        ("to the airport after 4 pm", {"depart_after": "16:00"}),
        ("to the airport by 4 pm", {"arrive_by": "16:00"}),
    ],
)
def test_a_time_goes_where_it_is_the_latest_or_the_earliest(said: str, made: JsonObject) -> None:
    time: JsonObject = {"type": "string", "format": "time"}
    properties: JsonObject = {"depart_after": time, "arrive_by": time}
    tool = Tool(name="plan_route", parameters={"type": "object", "properties": properties}, description="A route.")
    assert as_object(fill(index(tool), read(said, TODAY)).arguments) == made


def test_a_text_after_a_colon_is_taken_whole() -> None:
    assert found({"text": TEXT}, "翻成日语：我对花生过敏，请不要放", "Translates a text.") == {
        "text": "我对花生过敏，请不要放"
    }


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("the odds of a 20 with 4 ten-sided dice", {"dice": 4, "faces": 10, "target": 20}),
        ("the chance of 12 with 3 dice of 8 faces each", {"dice": 3, "faces": 8, "target": 12}),
    ],
)
def test_a_number_counts_what_stands_behind_it(said: str, arguments: JsonObject) -> None:
    dice: dict[str, Json] = {
        "dice": {"type": "integer", "description": "How many dice."},
        "faces": {"type": "integer", "description": "Faces on each die."},
        "target": {"type": "integer", "description": "The sum wanted."},
    }
    assert found(dice, said, "Odds of a sum with several dice.") == arguments


def test_the_slots_own_word_behind_a_number_is_what_it_counts() -> None:
    tickets: dict[str, Json] = {
        "adults": {"type": "integer", "description": "Adult tickets"},
        "children": {"type": "integer", "description": "Child tickets"},
    }
    assert found(tickets, "buy 2 adult and 3 child tickets") == {"adults": 2, "children": 3}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("details on the Battle of Gaugamela", "Battle of Gaugamela"),
        ("what did the Treaty of Utrecht say", "Treaty of Utrecht"),
    ],
)
def test_a_name_is_not_cut_behind_its_of(said: str, name: str) -> None:
    assert found({"name": {"type": "string", "description": "Name."}}, said) == {"name": name}


def test_whose_citizen_somebody_is_is_no_place_to_go() -> None:
    countries: dict[str, Json] = {
        "nationality": {"type": "string", "description": "Country of the passport."},
        "destination": {"type": "string", "description": "Country to visit."},
    }
    assert found(countries, "Do Indian citizens need a visa for Thailand?", "Whether a visa is needed.") == {
        "nationality": "Indian",
        "destination": "Thailand",
    }
