"""Rows of things with how many of each."""

from __future__ import annotations

import pytest

from actum.core.json import Json, JsonObject
from actum.core.message import Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from packages.embedded.tests.harness import model

pytestmark = pytest.mark.row("L5")

PROPERTIES: JsonObject = {
    "restaurant": {"type": "string", "description": "The restaurant from which to order."},
    "items": {"type": "array", "items": {"type": "string"}, "description": "Names of the food items."},
    "quantities": {"type": "array", "items": {"type": "integer"}, "description": "How many of each item."},
}
ORDER = Tool(
    name="order_food",
    description="Place an order for food delivery.",
    parameters={"type": "object", "properties": PROPERTIES, "required": ["restaurant", "items", "quantities"]},
)


@pytest.mark.parametrize(
    ("question", "restaurant", "items", "quantities"),
    [
        ("Order two Big Macs and one McFlurry from McDonald's", "McDonald's", ["Big Macs", "McFlurry"], [2, 1]),
        ("I want to go to McDonald's and buy a pizza.", "McDonald's", ["pizza"], [1]),
        (
            "order 2 bottles of water, 3 apples and a coke from Safeway",
            "Safeway",
            ["water", "apples", "coke"],
            [2, 3, 1],
        ),
        ("海底捞来两份毛肚、一份虾滑和三瓶可乐", "海底捞", ["毛肚", "虾滑", "可乐"], [2, 1, 3]),
        ("我想在肯德基买10个鸡腿堡，50杯可乐", "肯德基", ["鸡腿堡", "可乐"], [10, 50]),
    ],
)
async def test_things_and_how_many_of_each_go_into_two_lists(
    question: str, restaurant: str, items: list[Json], quantities: list[Json]
) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(ORDER,)))
    (call,) = reply.calls
    assert call.arguments == {"restaurant": restaurant, "items": items, "quantities": quantities}


@pytest.mark.parametrize(
    "question",
    ["order 0 pizzas from Luigi's", "order -2 pizzas from Luigi's", "order two burgers and fries from Luigi's"],
)
async def test_a_row_that_is_no_order_or_has_a_thing_without_a_number_is_not_placed(question: str) -> None:
    reply = await model().reply(Request(messages=Transcript([UserMessage.of(question)]), tools=(ORDER,)))
    assert not reply.calls


async def test_things_without_a_number_are_no_row() -> None:
    request = Request(messages=Transcript([UserMessage.of("order pizza and salad from Luigi's")]), tools=(ORDER,))
    reply = await model().reply(request)
    assert not reply.calls
    assert "How many of each item" in reply.text
