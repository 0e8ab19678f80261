"""The calendar."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.core.errors import ToolError
from actum.toolsets.everyday.dates import add_days, days_between, weekday


def test_days_are_counted_over_a_leap_day() -> None:
    assert days_between("2024-02-01", "2024-03-01") == {"start": "2024-02-01", "end": "2024-03-01", "days": 29}


def test_a_date_before_gives_a_negative_count() -> None:
    assert days_between("2024-03-01", "2024-02-28")["days"] == -2


def test_a_day_is_found_and_named() -> None:
    assert add_days("2025-03-03", 45) == {
        "start": "2025-03-03",
        "days": 45,
        "date": "2025-04-17",
        "weekday": "Thursday",
    }
    assert weekday("1969-07-20") == {"date": "1969-07-20", "weekday": "Sunday"}


@given(st.dates(date(1, 1, 2), date(9998, 12, 31)), st.integers(-400, 400))
def test_going_there_and_back_is_where_it_began(day: date, days: int) -> None:
    try:
        there = day + timedelta(days=days)
    except OverflowError:
        return
    assert add_days(day.isoformat(), days)["date"] == there.isoformat()
    assert days_between(day.isoformat(), there.isoformat())["days"] == days


@pytest.mark.parametrize("text", ["", "tomorrow", "2024-02-30", "2024-13-01", "24-1-1", "\x00" * 50])
def test_what_is_no_date_is_refused_with_how_to_write_one(text: str) -> None:
    with pytest.raises(ToolError, match="YYYY-MM-DD"):
        weekday(text)


def test_the_calendar_has_an_end() -> None:
    with pytest.raises(ToolError, match="9999"):
        add_days("9999-12-31", 1)
    with pytest.raises(ToolError, match="9999"):
        add_days("2026-01-01", 10**12)
