"""Places that are told in several parts."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.tool import Tool
from actum_embedded.calls.arguments import as_object, fill
from actum_embedded.text.clauses import read
from actum_embedded.text.places import region_named
from actum_embedded.text.spans import PARTS
from actum_embedded.tools.selection import index
from packages.embedded.tests.harness import TODAY

pytestmark = pytest.mark.row("L5")


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("the weather in Riga, Latvia, please", ["Riga, Latvia"]),
        ("a show in Healdsburg, CA.", ["Healdsburg, CA"]),
        ("from 221B Baker Street, Berkeley, CA, USA, and quickly", ["221B Baker Street, Berkeley, CA, USA"]),
        ("from San Jose, California to Reno, Nevada", ["San Jose, California", "Reno, Nevada"]),
        ("in El Gastor, Andalusia?", ["El Gastor, Andalusia"]),
        ("in Oslo, Sorland now", ["Oslo, Sorland"]),
        ("to 123 Main St, Springfield, IL 62701 by noon", ["123 Main St, Springfield, IL 62701"]),
        ("from 789 Oak Lane to No. 18 Elm Road, Hill Valley.", ["789 Oak Lane", "No. 18 Elm Road, Hill Valley"]),
        ("to 66 Garden Street, Springfield. Please hurry.", ["66 Garden Street, Springfield"]),
        ("to 66 St. James Road, Springfield. I wait", ["66 St. James Road, Springfield"]),
        ("play 3 Doors Down", []),
        ("in Paris, London and Rome", []),
        ("in Shanghai, Paris", []),
        ("In New York City, I need a cab", []),
        ("for Mary, Bob wrote it", []),
    ],
)
def test_a_place_of_several_parts_is_one_piece(text: str, places: list[str]) -> None:
    assert [span.text for span in read(text, TODAY).spans if span.detail == PARTS] == places


def found(properties: dict[str, Json], said: str) -> JsonObject:
    parameters: JsonObject = {"type": "object", "properties": properties, "required": list(properties)}
    tool = Tool(name="forecast", description="Tells the forecast of a place.", parameters=parameters)
    return as_object(fill(index(tool), read(said, TODAY)).arguments)


def test_a_tool_that_takes_the_parts_gets_the_parts() -> None:
    text: JsonObject = {"type": "string"}
    said = "the forecast for Riga, Latvia"
    assert found({"location": text}, said) == {"location": "Riga, Latvia"}
    assert found({"city": text, "country": text}, said) == {"city": "Riga", "country": "Latvia"}


@pytest.mark.parametrize(
    ("description", "said", "place"),
    [
        ("The city and state, such as San Francisco, CA.", "Austin, Texas", "Austin, TX"),
        ("The city and state, such as San Francisco, CA.", "LA", "Los Angeles, CA"),
        ("City and country, e.g. Paris, France.", "London", "London, UK"),
        ("City and country, e.g. Paris, France.", "London, United Kingdom", "London, United Kingdom"),
    ],
)
def test_a_region_is_written_as_the_description_shows_it(description: str, said: str, place: str) -> None:
    shown: JsonObject = {"type": "string", "description": description}
    assert found({"location": shown}, f"the forecast for {said}") == {"location": place}


def test_a_country_is_given_by_its_code_and_follows_from_the_city() -> None:
    properties: dict[str, Json] = {
        "city": {"type": "string", "description": "Name of the city."},
        "country": {"type": "string", "description": "The country, as an ISO 3166-1 alpha-2 code."},
    }
    assert found(properties, "the forecast for London in the UK") == {"city": "London", "country": "GB"}
    assert found(properties, "the forecast for Oslo") == {"city": "Oslo", "country": "NO"}


def test_a_region_has_a_short_name_and_a_country() -> None:
    assert region_named("california") == ("CA", "United States")
    assert region_named("Tamil Nadu") == ("", "India")
    assert region_named("Atlantis") is None
