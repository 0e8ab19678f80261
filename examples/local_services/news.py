"""Headlines about a few cities. All of them are made up."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json

from .serving import lookup_service

HEADLINES = (
    "A new subway line opens in {city}",
    "{city} plants ten thousand trees",
    "The library of {city} is open at night",
    "{city} tests electric ferries",
    "A school in {city} wins the robot cup",
    "{city} repairs its oldest bridge",
    "The marathon of {city} has a new course",
)
CITIES = ("Beijing", "Shanghai")


def news_service() -> Starlette:
    """`/news?city=...&count=...`."""
    return lookup_service(news=_news)


def _news(query: Mapping[str, str]) -> Json:
    city = query.get("city", "")
    if city not in CITIES:
        raise LookupError(f"no news from {city!r}")
    return [headline.format(city=city) for headline in HEADLINES[: int(query.get("count", "1"))]]
