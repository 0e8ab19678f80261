"""The spans of time that a question names, in English and Chinese: `yesterday`, `last week`, `in May`, `三天前`.

Pure. What was said in such a span is found earlier, and nothing is excluded, so a span that is read wrongly costs
little. A question about memories asks of the past: `May` is the latest May, `Monday` the latest Monday.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from math import inf

from msgspec import Struct

Days = tuple[date, date]
"""The first day, and the first day behind the last one."""


class TimeSpan(Struct, frozen=True):
    """A span of time, in seconds since 1970. The end is not part of the span."""

    since: float = -inf
    until: float = inf

    def holds(self, at: float) -> bool:
        """Whether a moment, in seconds since 1970, is in the span."""
        return self.since <= at < self.until


EVER = TimeSpan()


def spans_of(question: str, now: datetime) -> list[TimeSpan]:
    """The spans of time that a question names. What a span is read from is not read again as another.

    Args:
        question: what was asked. Only the first `QUESTION_CHARS_MAX` signs are read.
        now: when it was asked, with the time zone of the person who asked.

    >>> from datetime import UTC
    >>> spans = spans_of("What did I say yesterday?", datetime(2026, 11, 27, 9, tzinfo=UTC))
    >>> [datetime.fromtimestamp(span.since, UTC).day for span in spans]
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
            found.append(TimeSpan(*(datetime.combine(day, time.min, now.tzinfo).timestamp() for day in days)))
        rest = pattern.sub(" ", rest)
    return found


QUESTION_CHARS_MAX = 2_000
_Reads = Callable[[re.Match[str], date], Days]
_DAY = timedelta(days=1)
_MONTH = "january|february|march|april|may|june|july|august|september|october|november|december"
_WEEKDAY = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_SMALL = "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_MONTHS, _WEEKDAYS = _MONTH.split("|"), _WEEKDAY.split("|")
_NUMBERS = {word: number for number, word in enumerate(_SMALL.split("|"))}
_NUMBERS |= {"a": 1, "an": 1, "couple": 2, "couple of": 2, "few": 3, "several": 4}
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


def _weekday(match: re.Match[str], today: date) -> Days:
    """The latest day of this name before today."""
    day = today - timedelta(days=(today.weekday() - _place_in_week(match) - 1) % 7 + 1)
    return day, day + _DAY


def _weekday_of_last_week(match: re.Match[str], today: date) -> Days:
    day = _week(today, 1)[0] + timedelta(days=_place_in_week(match))
    return day, day + _DAY


def _place_in_week(match: re.Match[str]) -> int:
    name = match["weekday"].casefold()
    return _WEEKDAYS.index(name) if name in _WEEKDAYS else "一二三四五六日".index(name.replace("天", "日"))


def _weekend(match: re.Match[str], today: date) -> Days:
    """The latest weekend that has begun before today."""
    saturday = today - timedelta(days=(today.weekday() - 6) % 7 + 1)
    return saturday - _DAY, saturday + 2 * _DAY


def _month_named(name: str) -> int:
    return _MONTHS.index(name.casefold()) + 1 if name.casefold() in _MONTHS else _number(name)


def _in_month(match: re.Match[str], today: date) -> Days:
    """The month that was meant: of the year that is named, else the latest."""
    month, said = _month_named(match["month"]), match.groupdict()
    if said.get("ago"):
        return _month(today.year - "今去前".index(match["ago"]), month)
    return _month(int(said["year"]) if said["year"] else today.year - (month > today.month), month)


def _on_day(match: re.Match[str], today: date) -> Days:
    """The day that was meant: of the year that is named, else the latest."""
    month, day, year = _month_named(match["month"]), _number(match["day"]), match["year"]
    found = date(int(year) if year else today.year, month, day)
    if not year and found > today:
        found = date(today.year - 1, month, day)
    return found, found + _DAY


def _number_ago(match: re.Match[str], today: date) -> Days:
    return _ago(_number(match["number"]), match["unit"].lower(), today)


def _year(match: re.Match[str], today: date) -> Days:
    return _month(int(match["year"]), 1, 12)


def _lately(match: re.Match[str], today: date) -> Days:
    return today - 14 * _DAY, today + _DAY


def _fixed(number: int, unit: str = "") -> _Reads:
    """Reads words that say by themselves how long ago; the unit is in the match where none is given."""
    return lambda match, today: _ago(number, unit or match["unit"].lower(), today)


_COUNTED = "|".join(sorted(_NUMBERS, key=len, reverse=True))
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_OF_YEAR = rf"(?:,?\s*{_YEAR})"
_HAN = "[0-9零一二三四五六七八九十两几]{1,3}"
_HAN_WEEK = "(?:周|星期|礼拜)"
_HAN_WEEKDAY = "(?P<weekday>[一二三四五六日天])"
_TABLE: tuple[tuple[str, _Reads], ...] = (
    (r"(?P<year>\d{4})-(?P<month>\d\d?)-(?P<day>\d\d?)", _on_day),
    (rf"(?P<day>\d\d?)(?:st|nd|rd|th)?(?: of)? (?P<month>{_MONTH}){_OF_YEAR}?", _on_day),
    (rf"(?P<month>{_MONTH}) (?P<day>\d\d?)(?:st|nd|rd|th)?{_OF_YEAR}?", _on_day),
    (rf"(?:in|during|since|last|this|early|late|of|by) (?P<month>{_MONTH}){_OF_YEAR}?", _in_month),
    (rf"(?P<month>{_MONTH}){_OF_YEAR}", _in_month),
    (rf"in {_YEAR}", _year),
    (rf"(?P<number>(?:a )?(?:\d{{1,3}}|{_COUNTED})) (?P<unit>day|week|month|year)s? (?:ago|back)", _number_ago),
    (r"(?:the )?day before yesterday", _fixed(2, "day")),
    (r"yesterday|last night", _fixed(1, "day")),
    (r"today|tonight|this (?:morning|afternoon|evening)|earlier today", _fixed(0, "day")),
    (rf"(?:on|last|this past|the) (?P<weekday>{_WEEKDAY})", _weekday),
    (r"(?:last|this past|over the|at the|this) weekend", _weekend),
    (r"(?:last|past|previous) (?P<unit>week|month|year)", _fixed(1)),
    (r"this (?P<unit>week|month|year)", _fixed(0)),
    (r"recently|lately|the other day|these days", _lately),
    (rf"(?:{_YEAR}年)?(?P<month>{_HAN})月(?P<day>{_HAN})[日号]", _on_day),
    (rf"(?P<number>{_HAN})个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:以前|之前|前)", _number_ago),
    (rf"(?:{_YEAR}年|(?P<ago>去|今|前)年)?(?P<month>{_HAN})月(?:份)?", _in_month),
    (rf"{_YEAR}年", _year),
    ("大前天", _fixed(3, "day")),
    ("前天", _fixed(2, "day")),
    ("昨天|昨晚|昨日|昨夜", _fixed(1, "day")),
    ("今天|今早|今晚|今日", _fixed(0, "day")),
    ("(?:上个?)?周末", _weekend),
    (f"上上个?{_HAN_WEEK}", _fixed(2, "week")),
    (f"上个?{_HAN_WEEK}{_HAN_WEEKDAY}", _weekday_of_last_week),
    (f"上个?{_HAN_WEEK}", _fixed(1, "week")),
    (f"(?:这个?|本){_HAN_WEEK}", _fixed(0, "week")),
    (f"{_HAN_WEEK}{_HAN_WEEKDAY}", _weekday),
    ("上个?月", _fixed(1, "month")),
    ("(?:这个?|本)月", _fixed(0, "month")),
    ("今年", _fixed(0, "year")),
    ("去年", _fixed(1, "year")),
    ("前年", _fixed(2, "year")),
    ("最近|近来|前几天|前些天", _lately),
)
"""What names a span, and how the span is read; what is said more exactly stands first."""
_RULES = tuple(
    (re.compile(rf"\b(?:{words})\b", re.IGNORECASE | re.ASCII) if words.isascii() else re.compile(words), reads)
    for words, reads in _TABLE
)
