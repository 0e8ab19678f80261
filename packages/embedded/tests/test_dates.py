"""Days that are named in a text, on Friday, 20 November 2026."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum_embedded.text.clauses import read
from actum_embedded.text.dates import (
    find_dates,
    find_months,
    said_today,
    stated_today,
)
from packages.embedded.tests.harness import TODAY


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2026-01-05, 2026/1/6, 7/4/2026", ["2026-01-05", "2026-01-06", "2026-07-04"]),
        ("July 20, 1969 or 1 May 2027 or March 3rd", ["1969-07-20", "2027-05-01", "2026-03-03"]),
        ("2024年1月1日到3月1日", ["2024-01-01", "2024-03-01"]),
        ("五月一日，十二月二十五日", ["2026-05-01", "2026-12-25"]),
        ("today, tomorrow, the day after tomorrow", ["2026-11-20", "2026-11-21", "2026-11-22"]),
        ("昨天今天明天大后天", ["2026-11-19", "2026-11-20", "2026-11-21", "2026-11-23"]),
        ("Friday, next Friday, last Friday", ["2026-11-20", "2026-11-27", "2026-11-13"]),
        ("this Monday", ["2026-11-23"]),
        ("周五，下周一，上周三，这周日", ["2026-11-20", "2026-11-23", "2026-11-11", "2026-11-22"]),
        ("in 3 days, two weeks ago, a week from now", ["2026-11-23", "2026-11-06", "2026-11-27"]),
        ("3天后，两周前", ["2026-11-23", "2026-11-06"]),
        ("Christmas and New Year", ["2026-12-25", "2027-01-01"]),
        ("国庆节，2027年元旦，圣诞节", ["2027-10-01", "2027-01-01", "2026-12-25"]),
        ("查一下下周三，下下周五", ["2026-11-25", "2026-12-04"]),
        (
            "12月1号到3号，本月25号，下个月3号，30号之前",
            ["2026-12-01", "2026-12-03", "2026-11-25", "2026-12-03", "2026-11-30"],
        ),
        ("下个月最后一天，这个月最后一天", ["2026-12-31", "2026-11-30"]),
        ("下周四和周五，上周三到周一", ["2026-11-26", "2026-11-27", "2026-11-11", "2026-11-16"]),
        ("24号入住，26号退房", ["2026-11-24", "2026-11-26"]),
        ("3月24号入住，26号退房，1月30号走，29号回", ["2026-03-24", "2026-03-26", "2026-01-30", "2026-11-29"]),
        ("月底，12月底，下个月底", ["2026-11-30", "2026-12-31", "2026-12-31"]),
        ("昨晚，明儿，今晨，前晚", ["2026-11-19", "2026-11-21", "2026-11-20", "2026-11-18"]),
        ("年底，明年年底，十二月底，12月初", ["2026-12-31", "2027-12-31", "2026-12-31", "2026-12-01"]),
        ("去年国庆，明年春节", ["2025-10-01", "2027-02-06"]),
        ("明年3月5号，去年十二月一日", ["2027-03-05", "2025-12-01"]),
        ("春节，2025年中秋节, Thanksgiving", ["2027-02-06", "2025-10-06", "2026-11-26"]),
        ("张江路18号，5号线，3号楼", []),
        ("the 4th of December. 2 nights, Dec. 5", ["2026-12-04", "2026-12-05"]),
        ("2024-02-30, 2026年13月1日", []),
        ("in 99999999999999999999 days, 百天后", []),
        ("Sun is a star, may I sit down, 45 days after", []),
        ("2025年3月3日之后45天", ["2025-03-03"]),
    ],
)
def test_days_are_found(text: str, days: list[str]) -> None:
    assert [day.iso for day in find_dates(text, TODAY)] == days


@given(st.dates(date(1000, 1, 1)))
def test_a_full_date_is_read_in_every_form(day: date) -> None:
    forms = [
        day.isoformat(),
        f"{day.year}年{day.month}月{day.day}日",
        f"{day:%B} {day.day}, {day.year}",
        f"{day.day} {day:%b} {day.year}",
    ]
    for form in forms:
        assert [found.iso for found in find_dates(form, TODAY)] == [day.isoformat()], form


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("Today is 2026-03-02.", date(2026, 3, 2)),
        ("You are kind. Current date: Monday, March 2, 2026.", date(2026, 3, 2)),
        ("今天是2026年3月2日，星期一", date(2026, 3, 2)),
        ("当前时间：2026-03-02 10:00", date(2026, 3, 2)),
        ("Today is a good day.", None),
        ("", None),
    ],
)
def test_instructions_may_state_the_day(text: str, day: date | None) -> None:
    assert stated_today(text) == day


def test_a_day_is_of_the_only_year_that_is_said() -> None:
    assert [day.iso for day in find_dates("from March 9 to March 10, 2023", TODAY)] == ["2023-03-09", "2023-03-10"]
    assert [day.iso for day in find_dates("on March 9. This year is 2023", TODAY)] == ["2023-03-09"]


def test_a_question_may_state_the_present_day() -> None:
    clause = read("the weather tomorrow, today is Monday, 2023-10-02", TODAY)
    assert [span.value for span in clause.spans if span.kind == "date"] == ["2023-10-03"]
    assert said_today("a table for today") is None


@pytest.mark.parametrize(
    ("text", "months"),
    [
        ("十月份的工资条，上个月，去年12月", ["2026-10", "2026-10", "2025-12"]),
        ("2026年3月, March 2027", ["2026-03", "2027-03"]),
        ("12月5号，三个月，13月，12月底，本月15号", []),
        ("concerts in 2027-07, the season 2011-12, pages 2020-2021, on 2027-07-01", ["2027-07"]),
    ],
)
def test_months_are_found_where_no_day_is_said(text: str, months: list[str]) -> None:
    assert [month.iso for month in find_months(text, TODAY)] == months
