"""What stands in for the language model: it searches, and books only what is within the budget."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

import msgspec

from actum.core.json import Json
from examples.local_services.flights import today
from examples.local_services.ways import Heard, Step

OTHER_DAYS = (2, 3, 4)


def script(heard: Heard) -> Step:
    """Search for tomorrow; within the budget book, above it look at other days and suggest those that fit."""
    asked = re.search(r"(\w\w)到(\w\w)的机票，预算(\d+)元，乘机人(\w+?)[。，]", heard.question)
    assert asked is not None
    origin, destination, budget, passenger = asked[1], asked[2], int(asked[3]), asked[4]
    searched = [_flight(result.text) for result in heard.results if result.tool == "search_flights"]
    booked = [result for result in heard.results if result.tool == "book_flight"]
    if not searched:
        return Step(calls=(_search(origin, destination, 1),), thought="先查明天的航班。")
    if booked:
        order = booked[0].data.get("order")
        return Step(f"已预订，订单号 {order}。" if order else f"没有预订：{booked[0].text}")
    first = searched[0]
    if int(str(first["price"])) <= budget:
        wanted = {name: first[name] for name in ("flight", "date", "price")} | {"passenger": passenger}
        return Step(calls=(("book_flight", wanted),), thought="在预算之内，可以预订。")
    if len(searched) == 1:
        return Step(
            calls=tuple(_search(origin, destination, days) for days in OTHER_DAYS), thought="超出预算，看看别的日期。"
        )
    fitting = [flight for flight in searched if int(str(flight["price"])) <= budget]
    options = "；".join(f"{flight['date']} {flight['flight']} {flight['price']} 元" for flight in fitting)
    return Step(f"明天的机票 {first['price']} 元，超出预算 {budget} 元，没有预订。可以考虑：{options}。")


def _search(origin: str, destination: str, days: int) -> tuple[str, dict[str, Json]]:
    date = today() + datetime.timedelta(days=days)
    return "search_flights", {"origin": origin, "destination": destination, "date": date.isoformat()}


def _flight(text: str) -> Mapping[str, Json]:
    found: list[dict[str, Json]] = msgspec.json.decode(text)
    return found[0]
