"""The time elsewhere."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from importlib.resources import files
from zoneinfo import ZoneInfo

import pytest

from actum.core.errors import ToolError
from actum.toolsets.everyday.zones import WorldClock, find_zone

NOON = datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
CLOCK = WorldClock(now=NOON.astimezone)
ROWS = list(csv.DictReader((files("actum") / "data" / "cities.csv").read_text("utf-8").splitlines()))


def test_the_time_of_a_city_is_told_with_its_day_and_offset() -> None:
    assert CLOCK.time_in("东京") == {
        "place": "东京",
        "zone": "Asia/Tokyo",
        "date": "2026-07-01",
        "time": "21:00",
        "weekday": "Wednesday",
        "utc_offset": "+09:00",
    }


@pytest.mark.parametrize(
    ("place", "zone"),
    [
        ("new york", "America/New_York"),
        ("NYC", "America/New_York"),
        ("Europe/Paris", "Europe/Paris"),
        ("utc", "UTC"),
        ("Japan", "Asia/Tokyo"),
        ("日本", "Asia/Tokyo"),
        ("北京市", "Asia/Shanghai"),
        ("Singapore", "Asia/Singapore"),
    ],
)
def test_a_place_is_found_by_any_of_its_names(place: str, zone: str) -> None:
    assert find_zone(place).key.upper() == zone.upper()


def test_a_country_with_several_zones_is_asked_for_a_city() -> None:
    with pytest.raises(ToolError, match=r"several time zones: .*America/New_York"):
        CLOCK.time_in("United States")


@pytest.mark.parametrize("place", ["", "Mars", "火星", "../../etc/passwd", "Europe/../../etc/localtime", "x" * 500])
def test_what_is_no_place_is_refused(place: str) -> None:
    with pytest.raises(ToolError, match="No time zone is known"):
        CLOCK.time_in(place)


def test_a_time_is_converted_over_midnight() -> None:
    assert CLOCK.convert_time("8 pm", "London", "Tokyo", date="2026-01-31") == {
        "from_place": "London",
        "from_time": "2026-01-31 20:00",
        "to_place": "Tokyo",
        "to_time": "2026-02-01 05:00",
        "difference_hours": 9.0,
    }


def test_summer_time_counts_on_the_day_that_is_meant() -> None:
    winter = CLOCK.convert_time("12:00", "London", "New York", date="2026-01-15")
    between = CLOCK.convert_time("12:00", "London", "New York", date="2026-03-15")  # the US has changed, Britain not
    assert (winter["difference_hours"], between["difference_hours"]) == (-5, -4)


def test_without_a_day_it_is_the_present_one_there() -> None:
    assert CLOCK.convert_time("00:30", "Tokyo", "London")["from_time"] == "2026-07-01 00:30"


@pytest.mark.parametrize("time", ["", "25:00", "12:60", "noonish", "13:00 o'clock"])
def test_what_is_no_time_is_refused(time: str) -> None:
    with pytest.raises(ToolError, match="HH:MM"):
        CLOCK.convert_time(time, "London", "Tokyo")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_every_city_has_its_zone_under_all_of_its_names(row: dict[str, str]) -> None:
    for name in filter(None, (row["name"], row["name_zh"], *row["aliases"].split("|"))):
        assert find_zone(name) == ZoneInfo(row["zone"])
