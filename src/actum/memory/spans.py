"""The spans of time that a question names, in English and Chinese: `yesterday`, `last week`, `in May`, `三天前`.

Pure. What was said in such a span is found earlier, and nothing is excluded, so a span that is read wrongly costs
little. A question about memories asks of the past: `May` is the latest May, `Monday` the latest Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta

from msgspec import Struct

Days = tuple[date, date]
"""The first day, and the first day behind the last one."""


class TimeSpan(Struct, frozen=True):
    """A span of time.

    Attributes:
        begin, end: in seconds since 1970; the end is not part of the span.
    """

    begin: float
    end: float

    def holds(self, at: float) -> bool:
        """Whether a moment, in seconds since 1970, is in the span."""
        return self.begin <= at < self.end


def spans_of(question: str, now: datetime) -> list[TimeSpan]:
    """The spans of time that a question names. What a span is read from is not read again as another.

    Args:
        question: what was asked. Only the first `QUESTION_CHARS_MAX` signs are read.
        now: when it was asked, with the time zone of the person who asked.

    >>> from datetime import UTC
    >>> spans = spans_of("What did I say yesterday?", datetime(2026, 11, 27, 9, tzinfo=UTC))
    >>> [datetime.fromtimestamp(span.begin, UTC).day for span in spans]
    [26]
    """
    found: list[TimeSpan] = []
    rest = question[:QUESTION_CHARS_MAX]
    for pattern, reads in _RULES:
        for match in pattern.finditer(rest):
            try:
                days = reads(match, now.date())
            except (ValueError, OverflowError):  # 31 February, or a million years ago
                continue
            begin, end = (datetime.combine(day, time.min, now.tzinfo).timestamp() for day in days)
            found.append(TimeSpan(begin, end))
        rest = pattern.sub(" ", rest)
    return found


QUESTION_CHARS_MAX = 2_000
_Reads = Callable[[re.Match[str], date], Days]
_DAY = timedelta(days=1)
_MONTHS = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
_WEEKDAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_SMALL = {
    word: number
    for number, word in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}
_NUMBERS = _SMALL | {"a": 1, "an": 1, "eleven": 11, "twelve": 12, "couple": 2, "couple of": 2, "few": 3, "several": 4}
_HAN_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"两": 2, "几": 3}


def _number(text: str) -> int:
    """A number in digits or in words, up to 99.

    Raises:
        ValueError: it is none.
    """
    text = text.strip().casefold()
    if text.isdecimal():
        return int(text)
    if text in _NUMBERS or text.removeprefix("a ") in _NUMBERS:
        return _NUMBERS.get(text) or _NUMBERS[text.removeprefix("a ")]
    tens, has_tens, ones = text.rpartition("十")
    if any(sign not in _HAN_DIGITS for sign in tens[-1:] + ones[-1:]):
        raise ValueError(text)
    return (_HAN_DIGITS.get(tens[-1:], 1) * 10 if has_tens else 0) + _HAN_DIGITS.get(ones[-1:], 0)


def _month(year: int, month: int, months: int = 1) -> Days:
    """A month, or several from one on; months before January are of the year before."""
    first, last = year * 12 + month - 1, year * 12 + month - 1 + months
    return date(first // 12, first % 12 + 1, 1), date(last // 12, last % 12 + 1, 1)


def _week(day: date, weeks: int = 0) -> Days:
    begin = day - timedelta(days=day.weekday() + 7 * weeks)
    return begin, begin + timedelta(days=7)


def _ago(number: int, unit: str, today: date) -> Days:
    """Some days, weeks, months or years ago: the longer ago, the less exact."""
    if unit in ("day", "天", "日"):
        spread = timedelta(days=number // 5)
        day = today - timedelta(days=number)
        return day - spread, day + spread + _DAY
    if unit in ("week", "周", "星期", "礼拜"):
        begin, end = _week(today, number)
        return (begin, end) if number <= 1 else (begin - timedelta(days=3), end + timedelta(days=3))
    if unit in ("month", "月"):
        return _month(today.year, today.month - number)
    return _month(today.year - number, 1, 12)


def _weekday(name: str, today: date, *, weeks: int | None = None) -> Days:
    """The latest day of this name before today, or that of a number of weeks ago."""
    place = (
        _WEEKDAYS.index(name.casefold())
        if name.casefold() in _WEEKDAYS
        else "一二三四五六日".index(name.replace("天", "日"))
    )
    if weeks is not None:
        day = _week(today, weeks)[0] + timedelta(days=place)
    else:
        day = today - timedelta(days=(today.weekday() - place - 1) % 7 + 1)
    return day, day + _DAY


def _weekend(today: date) -> Days:
    """The latest weekend that has begun before today."""
    saturday = today - timedelta(days=(today.weekday() - 6) % 7 + 1)
    return saturday - _DAY, saturday + 2 * _DAY


def _in_month(month: int, year: str | None, today: date) -> Days:
    if year:
        return _month(int(year), month)
    return _month(today.year - (month > today.month), month)


def _on_day(month: int, day: int, year: str | None, today: date) -> Days:
    found = date(int(year) if year else today.year, month, day)
    if not year and found > today:
        found = date(today.year - 1, month, day)
    return found, found + _DAY


def _rules() -> Iterator[tuple[re.Pattern[str], _Reads]]:
    """What names a span, and what the span is; what is said more exactly stands first."""
    number = (
        rf"\d{{1,3}}|{'|'.join(sorted((each for each in _NUMBERS if each != 'couple'), key=len, reverse=True))}|couple"
    )
    month, weekday = "|".join(_MONTHS), "|".join(_WEEKDAYS)
    year = r"(?:,?\s*(?P<year>(?:19|20)\d\d))"
    han = "[0-9零一二三四五六七八九十两几]{1,3}"
    week = "(?:周|星期|礼拜)"

    def english(pattern: str, reads: _Reads) -> tuple[re.Pattern[str], _Reads]:
        return re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE | re.ASCII), reads

    def chinese(pattern: str, reads: _Reads) -> tuple[re.Pattern[str], _Reads]:
        return re.compile(pattern), reads

    yield english(r"(\d{4})-(\d\d?)-(\d\d?)", lambda m, today: _on_day(int(m[2]), int(m[3]), m[1], today))
    yield english(
        rf"(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month>{month}){year}?",
        lambda m, today: _on_day(_MONTHS.index(m["month"].lower()) + 1, int(m["day"]), m["year"], today),
    )
    yield english(
        rf"(?P<month>{month}) (?P<day>\d\d?)(?:st|nd|rd|th)?{year}?",
        lambda m, today: _on_day(_MONTHS.index(m["month"].lower()) + 1, int(m["day"]), m["year"], today),
    )
    yield english(
        rf"(?:in|during|since|last|this|early|late|of|by) (?P<month>{month}){year}?",
        lambda m, today: _in_month(_MONTHS.index(m["month"].lower()) + 1, m["year"], today),
    )
    yield english(
        rf"(?P<month>{month}){year}", lambda m, today: _month(int(m["year"]), _MONTHS.index(m["month"].lower()) + 1)
    )
    yield english(r"in ((?:19|20)\d\d)", lambda m, today: _month(int(m[1]), 1, 12))
    yield english(
        rf"(?P<number>(?:a )?(?:{number})) (?P<unit>day|week|month|year)s? (?:ago|back)",
        lambda m, today: _ago(_number(m["number"]), m["unit"].lower(), today),
    )
    yield english(r"(?:the )?day before yesterday", lambda m, today: _ago(2, "day", today))
    yield english(r"yesterday|last night", lambda m, today: _ago(1, "day", today))
    yield english(
        r"today|tonight|this (?:morning|afternoon|evening)|earlier today", lambda m, today: (today, today + _DAY)
    )
    yield english(rf"(?:on|last|this past|the) (?P<weekday>{weekday})", lambda m, today: _weekday(m["weekday"], today))
    yield english(r"(?:last|this past|over the|at the|this) weekend", lambda m, today: _weekend(today))
    yield english(r"(?:last|past|previous) (week|month|year)", lambda m, today: _ago(1, m[1].lower(), today))
    yield english(r"this (week|month|year)", lambda m, today: _ago(0, m[1].lower(), today))
    yield english(r"recently|lately|the other day|these days", lambda m, today: (today - 14 * _DAY, today + _DAY))

    yield chinese(
        rf"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>{han})月(?P<day>{han})[日号]",
        lambda m, today: _on_day(_number(m["month"]), _number(m["day"]), m["year"], today),
    )
    yield chinese(
        rf"(?P<number>{han})个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:以前|之前|前)",
        lambda m, today: _ago(_number(m["number"]), m["unit"], today),
    )
    yield chinese(
        rf"(?:(?P<year>(?:19|20)\d\d)年|(?P<ago>去|今|前)年)?(?P<month>{han})月(?:份)?",
        lambda m, today: _in_month(
            _number(m["month"]), str(today.year - "今去前".index(m["ago"])) if m["ago"] else m["year"], today
        ),
    )
    yield chinese(r"((?:19|20)\d\d)年", lambda m, today: _month(int(m[1]), 1, 12))
    yield chinese(r"大前天", lambda m, today: _ago(3, "day", today))
    yield chinese(r"前天", lambda m, today: _ago(2, "day", today))
    yield chinese(r"昨天|昨晚|昨日|昨夜", lambda m, today: _ago(1, "day", today))
    yield chinese(r"今天|今早|今晚|今日", lambda m, today: (today, today + _DAY))
    yield chinese(r"(?:上个?)?周末", lambda m, today: _weekend(today))
    yield chinese(rf"上上个?{week}", lambda m, today: _ago(2, "week", today))
    yield chinese(rf"上个?{week}([一二三四五六日天])", lambda m, today: _weekday(m[1], today, weeks=1))
    yield chinese(rf"上个?{week}", lambda m, today: _ago(1, "week", today))
    yield chinese(rf"(?:这个?|本){week}", lambda m, today: _ago(0, "week", today))
    yield chinese(rf"{week}([一二三四五六日天])", lambda m, today: _weekday(m[1], today))
    yield chinese(r"上个?月", lambda m, today: _ago(1, "month", today))
    yield chinese(r"(?:这个?|本)月", lambda m, today: _ago(0, "month", today))
    yield chinese(r"(今|去|前)年", lambda m, today: _ago("今去前".index(m[1]), "year", today))
    yield chinese(r"最近|近来|前几天|前些天", lambda m, today: (today - 14 * _DAY, today + _DAY))


_RULES = tuple(_rules())
