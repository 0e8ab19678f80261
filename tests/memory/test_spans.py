"""A question names spans of time in English and Chinese, and nothing else is taken for one."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.memory.spans import spans_of

ZONE = timezone(timedelta(hours=8))
NOW = datetime(2026, 11, 27, 9, tzinfo=ZONE)
"""A Friday."""


def days(question: str, now: datetime = NOW) -> list[str]:
    """The first and the last day of each span."""
    return [
        f"{datetime.fromtimestamp(span.since, ZONE):%Y-%m-%d}..{datetime.fromtimestamp(span.until - 1, ZONE):%Y-%m-%d}"
        for span in spans_of(question, now)
    ]


@pytest.mark.parametrize(
    ("questions", "span"),
    [
        (("What did I say yesterday?", "last NIGHT", "我昨天说了什么", "昨晚吃的什么"), "2026-11-26..2026-11-26"),
        (
            ("the day before yesterday", "two days ago", "2 days ago", "a couple of days ago", "前天", "两天前"),
            "2026-11-25..2026-11-25",
        ),
        (("three days ago", "三天前我说过", "3天以前", "大前天"), "2026-11-24..2026-11-24"),
        (("earlier today", "this morning", "今天", "今早"), "2026-11-27..2026-11-27"),
        (
            ("the project I mentioned last week", "a week ago", "我上周提到的项目叫什么", "上个星期", "一周前"),
            "2026-11-16..2026-11-22",
        ),
        (("this week", "这周", "本周"), "2026-11-23..2026-11-29"),
        (("two weeks ago", "两个星期前", "上上周"), "2026-11-06..2026-11-18"),
        (("on Wednesday", "last Wednesday", "周三", "星期三"), "2026-11-25..2026-11-25"),
        (("last Friday", "星期五"), "2026-11-20..2026-11-20"),
        (("上周三", "上个星期三", "上礼拜三"), "2026-11-18..2026-11-18"),
        (("last weekend", "上周末", "周末"), "2026-11-20..2026-11-22"),
        (("last month", "a month ago", "上个月", "一个月前"), "2026-10-01..2026-10-31"),
        (("in May", "during may", "May 2026", "五月", "5月份", "今年五月"), "2026-05-01..2026-05-31"),
        (("last December", "in December 2025", "十二月", "去年12月"), "2025-12-01..2025-12-31"),
        (
            ("on 8 May, 2023", "May 8th, 2023", "the 8th of May 2023", "2023-05-08", "2023年5月8日"),
            "2023-05-08..2023-05-08",
        ),
        (("on 28 November", "11月28号"), "2025-11-28..2025-11-28"),
        (("in 2022", "2022年"), "2022-01-01..2022-12-31"),
        (("last year", "a year ago", "去年", "一年前"), "2025-01-01..2025-12-31"),
        (("twelve months ago", "十二个月前"), "2025-11-01..2025-11-30"),
        (("ten days ago", "十天前"), "2026-11-15..2026-11-19"),
        (("recently", "最近"), "2026-11-13..2026-11-27"),
    ],
)
def test_these_words_name_this_span(questions: tuple[str, ...], span: str) -> None:
    assert {question: days(question) for question in questions} == {question: [span] for question in questions}


@pytest.mark.parametrize(
    "question",
    [
        "where did we go",
        "May I ask something?",
        "March on!",
        "on 31 February",
        "99999 years ago",
        "2026-13-40",
        "the second",
        "周期",
        "月亮",
        "week",
    ],
)
def test_these_words_name_no_span(question: str) -> None:
    assert days(question) == []


def test_several_spans_are_named_side_by_side_and_each_once() -> None:
    assert days("昨天 or last month?") == ["2026-10-01..2026-10-31", "2026-11-26..2026-11-26"]


@given(
    st.lists(
        st.sampled_from(
            ["last", "week", "3", "May", "天前", "三", "月", "31", "2023", "-", " ", "ago", "in", "上", "周", "\ud800"]
        )
    ),
    st.text(max_size=30),
    st.dates(date(1970, 1, 3), date(9000, 1, 1)),
)
def test_no_question_is_an_error_and_every_span_begins_before_it_ends(words: list[str], text: str, day: date) -> None:
    now = datetime(day.year, day.month, day.day, tzinfo=ZONE)
    for question in ("".join(words), " ".join(words) + text):
        assert all(span.since < span.until for span in spans_of(question, now))
