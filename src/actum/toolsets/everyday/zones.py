"""`time_in` and `convert_time`: the time in a city, a country with one time zone, or a zone of the IANA database.

Rules of daylight saving come from the `tzdata` package, cities from the file `cities.csv` that ships with actum.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from datetime import time as time_of_day
from functools import cache
from importlib.resources import files
from typing import TypedDict
from zoneinfo import ZoneInfo, available_timezones

from ...core.errors import ToolError
from .dates import WEEKDAYS, read_date

_TIME = re.compile(r"(\d{1,2})(?::(\d{2}))?\s*([ap])?\.?m?\.?", re.IGNORECASE)


class LocalTime(TypedDict):
    """A moment as the clocks of a place show it."""

    place: str
    zone: str
    date: str
    time: str
    weekday: str
    utc_offset: str


class ConvertedTime(TypedDict):
    """The same moment at two places."""

    from_place: str
    from_time: str
    to_place: str
    to_time: str
    difference_hours: float


class WorldClock:
    """The two tools, around a clock.

    Args:
        now: gives the present moment in a zone; `datetime.now`, or a test's own.
    """

    def __init__(self, now: Callable[[ZoneInfo], datetime] = datetime.now) -> None:
        self._now = now

    def time_in(self, place: str) -> LocalTime:
        """Tell what time it is now in a city or a time zone.

        Args:
            place: City, country or time zone, such as "Tokyo", "东京" or "Europe/Paris".
        """
        zone = find_zone(place)
        moment = self._now(zone)
        offset = f"{moment:%z}"
        return {
            "place": place,
            "zone": zone.key,
            "date": f"{moment:%Y-%m-%d}",
            "time": f"{moment:%H:%M}",
            "weekday": WEEKDAYS[moment.weekday()],
            "utc_offset": f"{offset[:3]}:{offset[3:]}",
        }

    def convert_time(self, time: str, from_place: str, to_place: str, date: str = "") -> ConvertedTime:
        """Convert a time of day from one city or time zone to another: when it is 3 pm here, what time is it there?

        Args:
            time: The time of day at the first place, such as "15:00" or "3 pm".
            from_place: City or time zone where that time holds.
            to_place: City or time zone to convert the time to.
            date: The day at the first place, YYYY-MM-DD; today there if left out.
        """
        here, there = find_zone(from_place), find_zone(to_place)
        day = read_date(date) if date else self._now(here).date()
        start = datetime.combine(day, _read_time(time), here)
        end = start.astimezone(there)
        ahead = (end.utcoffset() or timedelta()) - (start.utcoffset() or timedelta())
        return {
            "from_place": from_place,
            "from_time": f"{start:%Y-%m-%d %H:%M}",
            "to_place": to_place,
            "to_time": f"{end:%Y-%m-%d %H:%M}",
            "difference_hours": ahead.total_seconds() / 3600,
        }


def find_zone(place: str) -> ZoneInfo:
    """The time zone of a place.

    Raises:
        ToolError: the place is not known, or it has more than one zone.
    """
    key = _key(place)
    zones = _places().get(key) or _zones().get(key)
    if zones is None:
        raise ToolError(
            "No time zone is known for {place!r}. Give a large city or a zone such as 'Europe/Paris'.", place=place[:60]
        )
    if len(zones) > 1:
        raise ToolError(
            "{place} has several time zones: {zones}. Name a city.", place=place[:60], zones=", ".join(sorted(zones))
        )
    return ZoneInfo(next(iter(zones)))


@cache
def _places() -> dict[str, set[str]]:
    """Zones by the names of cities and countries; a city hides the country of the same name."""
    cities: dict[str, set[str]] = {}
    countries: dict[str, set[str]] = {}
    zones: dict[str, set[str]] = {}
    data = files("actum") / "data"
    for row in csv.DictReader((data / "cities.csv").read_text("utf-8").splitlines()):
        for name in (row["name"], row["name_zh"], *row["aliases"].split("|")):
            cities[_key(name)] = {row["zone"]}
        zones.setdefault(row["country"], set()).add(row["zone"])
    for row in csv.DictReader((data / "countries.csv").read_text("utf-8").splitlines()):
        for name in (row["name"], row["name_zh"], *row["aliases"].split("|")):
            if row["name"] in zones:
                countries[_key(name)] = zones[row["name"]]
    found = countries | cities
    found.pop("", None)
    return found


@cache
def _zones() -> dict[str, set[str]]:
    return {_key(zone): {zone} for zone in available_timezones()}


def _key(place: str) -> str:
    return re.sub(r"[\s_]+", " ", place.strip().casefold()).removesuffix("市")


def _read_time(text: str) -> time_of_day:
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise ToolError("{text!r} is no time of day. Write it as HH:MM.", text=text[:40])
    hour, minute, half = int(found[1]), int(found[2] or 0), (found[3] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    if hour > 23 or minute > 59:
        raise ToolError("{text!r} is no time of day. Write it as HH:MM.", text=text[:40])
    return time_of_day(hour, minute)
