"""`days_between`, `add_days`, `weekday`: the calendar, Gregorian, from year 1 to 9999."""

from __future__ import annotations

from datetime import date, timedelta
from typing import TypedDict

from ...core.errors import ToolError

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


class DaySpan(TypedDict):
    """How far two days are apart; `days` is negative when `end` comes before `start`."""

    start: str
    end: str
    days: int


class Shifted(TypedDict):
    """A day some days from another."""

    start: str
    days: int
    date: str
    weekday: str


class Day(TypedDict):
    """A day of the week."""

    date: str
    weekday: str


def days_between(start: str, end: str) -> DaySpan:
    """Count the days from one date until another.

    Args:
        start: The first date, YYYY-MM-DD.
        end: The last date, YYYY-MM-DD.
    """
    first, last = read_date(start), read_date(end)
    return {"start": first.isoformat(), "end": last.isoformat(), "days": (last - first).days}


def add_days(date: str, days: int) -> Shifted:
    """Tell which date it is a number of days after a date, or before it when the number is negative.

    Args:
        date: The date to start from, YYYY-MM-DD.
        days: How many days later; negative for earlier.
    """
    first = read_date(date)
    try:
        last = first + timedelta(days=days)
    except OverflowError:
        raise ToolError("That date is outside of the years 1 to 9999.") from None
    return {"start": first.isoformat(), "days": days, "date": last.isoformat(), "weekday": WEEKDAYS[last.weekday()]}


def weekday(date: str) -> Day:
    """Tell which day of the week a date is.

    Args:
        date: The date, YYYY-MM-DD.
    """
    day = read_date(date)
    return {"date": day.isoformat(), "weekday": WEEKDAYS[day.weekday()]}


def read_date(text: str) -> date:
    """A date written as YYYY-MM-DD.

    Raises:
        ToolError: it is not, or there is no such day.
    """
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError("{text!r} is no date. Write it as YYYY-MM-DD, such as 2026-02-28.", text=text[:40]) from None
