"""Which borders a route crosses, and what a country wants to see at its border."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json

from .serving import lookup_service

COUNTRIES = {"东京": "日本", "大阪": "日本", "首尔": "韩国", "釜山": "韩国", "北京": "中国"}
ENTRY = {
    "日本": {"document": "护照", "visa": "多数国家的旅客短期停留免签，中国旅客需要签证"},
    "韩国": {"document": "护照", "visa": "日本旅客停留 90 天以内免签"},
    "中国": {"document": "护照", "visa": "视国籍而定"},
}


def travel_service() -> Starlette:
    """`/route?origin=...&dest=...` and `/entry?country=...`."""
    return lookup_service(route=_route, entry=_entry)


def _route(query: Mapping[str, str]) -> Json:
    ends = [query.get("origin", ""), query.get("dest", "")]
    for city in ends:
        if city not in COUNTRIES:
            raise LookupError(f"没有城市 {city!r} 的资料")
    origin, dest = [COUNTRIES[city] for city in ends]
    return {"origin_country": origin, "dest_country": dest, "international": origin != dest}


def _entry(query: Mapping[str, str]) -> Json:
    country = query.get("country", "")
    if country not in ENTRY:
        raise LookupError(f"没有 {country!r} 的入境规定")
    return {"country": country, **ENTRY[country]}
