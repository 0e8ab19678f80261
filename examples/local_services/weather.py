"""Weather of a few cities, today and on days of long ago. All of it is made up."""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from starlette.applications import Starlette

from actum.core.json import Json, JsonObject

from .serving import lookup_service

TODAY = {
    "北京": ("晴", 26),
    "上海": ("小雨", 23),
    "台北": ("多云", 28),
    "深圳": ("雷阵雨", 30),
    "Beijing": ("sunny", 26),
    "Shanghai": ("light rain", 23),
    "Boston": ("cloudy", 12),
    "Fuzhou": ("thunderstorms", 29),
}
LONG_AGO = {
    ("台北", "1979-01-18"): ("阴", 16),
    ("台北", "1953-01-29"): ("小雨", 14),
    ("北京", "1969-08-08"): ("晴", 31),
}


def weather_service() -> Starlette:
    """`/weather?city=...&date=...`: today where no date (as YYYY-MM-DD) is given; temperatures in °C."""
    return lookup_service(weather=_weather)


def _weather(query: Mapping[str, str]) -> Json:
    city, date = query.get("city", ""), query.get("date", "")
    today = datetime.datetime.now().astimezone().date().isoformat()
    found = TODAY.get(city) if date in ("", today) else LONG_AGO.get((city, date))
    if found is None:
        raise LookupError(f"no weather is known for {city!r}" + f" on {date}" * bool(date))
    weather, temperature = found
    asked: JsonObject = {"city": city, "date": date} if date else {"city": city}
    return asked | {"weather": weather, "temperature": temperature}
