"""Flights between Beijing and Shanghai, and the desk that books them. All of it is made up."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json

from .serving import lookup_service

PRICES = {0: 2480, 1: 1380, 2: 980, 3: 2150, 4: 890}
"""Price of the cheapest flight so many days from now, in yuan."""


class FlightDesk:
    """`/flights?origin=...&destination=...&date=...` and `/book?flight=...&passenger=...&key=...`.

    A booking is made once a key, however often it is asked for.

    Attributes:
        booked: flight and passenger of every booking, by its key.
    """

    def __init__(self, prices: Mapping[int, int] = PRICES) -> None:
        self.booked: dict[str, tuple[str, str]] = {}
        self._prices = prices

    def service(self) -> Starlette:
        """The service."""
        return lookup_service(flights=self._flights, book=self._book)

    def _flights(self, query: Mapping[str, str]) -> Json:
        ahead = (datetime.date.fromisoformat(query["date"]) - today()).days
        if (query["origin"], query["destination"]) != ("北京", "上海") or ahead not in self._prices:
            raise LookupError(f"no flights are known from {query['origin']} to {query['destination']} then")
        return [{"flight": f"MU51{ahead:02}", "date": query["date"], "departs": "09:00", "price": self._prices[ahead]}]

    def _book(self, query: Mapping[str, str]) -> Json:
        self.booked.setdefault(query["key"], (query["flight"], query["passenger"]))
        return {"flight": query["flight"], "passenger": query["passenger"], "order": f"O{len(self.booked):04}"}


def today() -> datetime.date:
    """The day by this machine's clock."""
    return datetime.datetime.now().astimezone().date()
