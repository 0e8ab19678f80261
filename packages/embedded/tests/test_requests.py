"""Plain requests for several things at once, of several tools: what one tester or student writes in a breath."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from packages.embedded.tests.harness import model

pytestmark = pytest.mark.row("L5")


def tool(name: str, description: str, needed: dict[str, Json], optional: dict[str, Json] | None = None) -> Tool:
    parameters: JsonObject = {
        "type": "object",
        "properties": needed | (optional or {}),
        "required": [*needed],
    }
    return Tool(name=name, description=description, parameters=parameters)


def text(description: str = "") -> JsonObject:
    return {"type": "string", "description": description}


def whole(description: str = "") -> JsonObject:
    return {"type": "integer", "description": description}


ENERGY = tool(
    "kinetic_energy",
    "Kinetic energy in joules of a moving body.",
    {"mass_kg": whole("Mass in kilograms."), "velocity_ms": whole("Speed in metres per second.")},
)
FALL = tool("free_fall_time", "Time that a body takes to fall.", {"height_meters": whole("Height in meters.")})
TABLE = tool("league_table", "Standings of a league.", {"league": text("Name."), "season": text("Season.")})
PLAYER = tool("player_statistics", "Statistics of a player.", {"player": text("Name of the player.")})
FLIGHTS = tool(
    "find_flights",
    "Find flights.",
    {"origin": text("City of departure."), "destination": text("City of arrival.")},
)
HOTELS = tool("find_hotels", "Find hotels in a city.", {"city": text("City.")})
YIELD = tool(
    "rental_yield", "Rental yield of a property.", {"price": whole("Purchase price."), "monthly_rent": whole("Rent.")}
)
HOMES = tool(
    "home_search",
    "Search homes.",
    {"city": text("City."), "listing": {"type": "string", "enum": ["sale", "rent"]}},
)
PRICES = tool(
    "price_compare",
    "Compare the price of a product.",
    {"product": text("Product."), "stores": {"type": "array", "items": {"type": "string"}}},
)
SHOP = tool("shop_products", "Buy products in a shop.", {"query": text("What to look for.")})
QUOTE = tool("latest_share_price", "Latest price of a share.", {"ticker": text("Ticker symbol.")})
AVERAGE = tool(
    "moving_average",
    "Simple moving average of a share.",
    {"ticker": text("Ticker symbol."), "window_days": whole("Length of the window in days.")},
)
RULER = tool("ruler_of", "Who ruled a land.", {"country": text("Country."), "year": whole("The year.")})
DIVISOR = tool(
    "gcd_lcm",
    "Greatest common divisor or least common multiple.",
    {
        "first": whole("First number."),
        "second": whole("Second number."),
        "operation": {"type": "string", "enum": ["gcd", "lcm"]},
    },
)


@pytest.mark.parametrize(
    ("question", "offered", "calls"),
    [
        (
            "Get me the kinetic energy of a 1,200 kg car going 25 m/s, as well as the time to fall 80 meters",
            [ENERGY, FALL],
            [("kinetic_energy", {"mass_kg": 1200, "velocity_ms": 25}), ("free_fall_time", {"height_meters": 80})],
        ),
        (
            "Find flights from Madrid to Lisbon and hotels there.",
            [FLIGHTS, HOTELS],
            [("find_flights", {"origin": "Madrid", "destination": "Lisbon"}), ("find_hotels", {"city": "Lisbon"})],
        ),
        (
            "Work out the rental yield of a home bought for 320,000 and rented at 1,900 a month",
            [YIELD, HOMES],
            [("rental_yield", {"price": 320000, "monthly_rent": 1900})],
        ),
        (
            "Compare the price of the Garmin Fenix 7 at Amazon, REI and Best Buy.",
            [PRICES, SHOP],
            [("price_compare", {"product": "Garmin Fenix 7", "stores": ["Amazon", "REI", "Best Buy"]})],
        ),
        (
            "a moving average over 30 days for NVDA.",
            [QUOTE, AVERAGE],
            [("moving_average", {"ticker": "NVDA", "window_days": 30})],
        ),
        (
            "What is the time to fall 80 meters, and who was king of Sweden in 1632?",
            [FALL, RULER],
            [("free_fall_time", {"height_meters": 80}), ("ruler_of", {"country": "Sweden", "year": 1632})],
        ),
        (
            "Find the greatest common divisor of 84 and 126 and the least common multiple of 15 and 40",
            [DIVISOR],
            [
                ("gcd_lcm", {"first": 84, "second": 126, "operation": "gcd"}),
                ("gcd_lcm", {"first": 15, "second": 40, "operation": "lcm"}),
            ],
        ),
    ],
)
async def test_each_thing_that_is_asked_for_is_a_call(
    question: str, offered: list[Tool], calls: list[tuple[str, JsonObject]]
) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=tuple(offered)))
    assert [(call.name, call.arguments) for call in reply.calls] == calls


async def test_the_same_again_ends_where_the_next_thing_begins() -> None:
    question = "Give me the La Liga table of 2015-16, plus the same for Serie A, and Lionel Messi's statistics."
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(TABLE, PLAYER)))
    assert [(call.name, call.arguments) for call in reply.calls] == [
        ("league_table", {"league": "La Liga", "season": "2015-16"}),
        ("league_table", {"league": "Serie A", "season": "2015-16"}),
        ("player_statistics", {"player": "Lionel Messi"}),
    ]


@pytest.mark.parametrize(
    "question", ["I'm in the mood for Sweden since 1632. Time to fall 80 meters?", "Time to fall 80 meters on my trip"]
)
async def test_what_only_tells_something_asks_for_no_tool_that_nothing_names(question: str) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(FALL, RULER)))
    assert [call.name for call in reply.calls] == ["free_fall_time"]
