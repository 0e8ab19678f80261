"""Points in time by cron, in time zones whose clocks are put forward and back."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actum.core.errors import UsageError
from actum.triggers.schedule import Schedule
from tests.effort import effort
from tests.endurance import share

pytestmark = pytest.mark.row("A6")


def at(text: str, zone: str = "Europe/Berlin") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()


def told(moments: list[float], zone: str = "Europe/Berlin") -> list[str]:
    return [datetime.fromtimestamp(each, ZoneInfo(zone)).isoformat(timespec="minutes") for each in moments]


def test_an_hour_that_does_not_exist_or_comes_twice_follows_the_written_rule() -> None:
    spring, autumn = (at("2026-03-28T12:00"), at("2026-03-30T12:00")), (at("2026-10-24T12:00"), at("2026-10-26T12:00"))
    fixed, hourly = Schedule("30 2 * * *", "Europe/Berlin"), Schedule("30 * * * *", "Europe/Berlin")
    # At 2 o'clock it becomes 3: what was to be at 2:30 comes at 3:00, once.
    assert told(fixed.between(*spring, most=9)) == ["2026-03-29T03:00+02:00", "2026-03-30T02:30+02:00"]
    # At 3 o'clock it becomes 2: 2:30 comes twice, and the schedule once.
    assert told(fixed.between(*autumn, most=9)) == ["2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"]
    # Every hour is every hour that really passes: 48 each time, though the clock shows 49 or 47 of them.
    assert [len(hourly.between(*both, most=99)) for both in (spring, autumn)] == [47, 49]


def test_several_times_in_a_missing_hour_are_one_and_a_step_follows_the_time_that_passes() -> None:
    spring, autumn = (at("2026-03-29T00:30"), at("2026-03-29T05:00")), (at("2026-10-25T00:30"), at("2026-10-25T04:00"))
    for expression, in_spring, in_autumn in (
        ("0,30 2 * * *", ["03:00+02:00"], ["02:00+02:00", "02:30+02:00"]),
        ("30 2,3 * * *", ["03:00+02:00", "03:30+02:00"], ["02:30+02:00", "03:30+01:00"]),
        ("*/30 2 * * *", [], ["02:00+02:00", "02:30+02:00", "02:00+01:00", "02:30+01:00"]),
        ("30 */2 * * *", ["04:30+02:00"], ["02:30+02:00", "02:30+01:00"]),
    ):
        schedule = Schedule(expression, "Europe/Berlin")
        found = [told(schedule.between(*both, most=9)) for both in (spring, autumn)]
        assert [[each[11:] for each in moments] for moments in found] == [in_spring, in_autumn], expression
    # Lord Howe Island puts its clocks by half an hour: from 2:00 to 2:30, and from 2:00 back to 1:30.
    zone, half = "Australia/Lord_Howe", Schedule("15 2 * * *", "Australia/Lord_Howe")
    assert told(half.between(at("2026-10-04T00:00", zone), at("2026-10-05T00:00", zone), most=9), zone) == [
        "2026-10-04T02:30+11:00"
    ]
    twice = Schedule("45 1 * * *", zone)
    assert len(twice.between(at("2026-04-05T00:00", zone), at("2026-04-06T00:00", zone), most=9)) == 1


@settings(max_examples=share(40, 10), deadline=None)
@given(
    st.sampled_from(["*/7 * * * *", "0 7 * * MON-FRI", "30 2 1 * *", "15 */3 * * *", "30 2 * * *"]),
    st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"]),
    st.integers(at("2026-01-01T00:00", "UTC").__int__(), at("2026-12-31T00:00", "UTC").__int__()),
)
def test_what_is_between_two_moments_is_what_comes_after_the_first_one_by_one(
    expression: str, zone: str, begins: int
) -> None:
    schedule, moment, found = Schedule(expression, zone), float(begins), []
    for _ in range(5):
        later = schedule.after(moment)
        assert later > moment
        found.append(moment := later)
    assert schedule.between(begins, found[-1], most=100) == found
    assert schedule.between(begins, found[-1], most=2) == found[-2:]
    assert schedule.between(found[-1], found[-1], most=9) == []


def test_what_can_not_be_a_schedule_is_refused_with_what_to_write() -> None:
    for expression, zone, word in (
        ("* * * *", "UTC", "five fields"),
        ("* * * * * *", "UTC", "five fields"),
        ("61 * * * *", "UTC", "minute"),
        ("0 0 30 2 *", "UTC", "day"),
        ("0 7 * * *", "Mars/Olympus", "Europe/Berlin"),
        ("0 7 * * *", "../../etc/passwd", "time zone"),
        ("", "UTC", "five fields"),
        (f"{','.join(['*/1'] * 20_000)} * * * *", "UTC", "at most 1000 characters"),
        ("1" * 5_000 + " * * * *", "UTC", "at most 1000 characters"),
    ):
        with pytest.raises(UsageError, match=word):
            Schedule(expression, zone)


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
@pytest.mark.parametrize(
    "expression", ["0 0 29 2 MON#5", "0 0 */31 2 SUN", "59 23 31 12 *", "0 0 L 2 MON", "0 0 29 2 *"]
)
def test_times_that_come_once_in_years_are_found_with_little_work(expression: str, zone: str) -> None:
    with effort() as spent:
        schedule = Schedule(expression, zone)
        schedule.between(0.0, 1_700_000_000.0, most=100)
    assert spent.calls < 30_000
