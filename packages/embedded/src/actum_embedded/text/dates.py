"""Days that are named in a text, resolved against a given today: `next Monday`, `in 3 days`, `5月1日`, `下周一`.

Each form is a row of a table: a pattern, and how a match becomes a date. Earlier rows win where matches overlap. A
week begins on Monday; `Monday` may be today, `next Monday` comes after today, `下周一` is the Monday of the week after
this one.
Limits: one calendar, no ranges ("next week" is no date), `5/1/2024` is read the American way, if it can be.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

from .lexicon import Name, lexicon
from .numerals import find_numbers


class FoundDate(NamedTuple):
    """A day, as ISO text, and where it stands."""

    start: int
    end: int
    iso: str


MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_MONTH = (
    r"(january|february|march|april|may|june|july|august|september|october|november|december"
    r"|(?:jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)(?:\.|\b|(?=\d)))"
)
_YEAR = r"(?:(?:\s*[,?]\s*|\s+(?:of\s+)?)(\d{4})\b(?![-/.:]\d))?"
_DAY = r"(mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
_DAY_LONG = r"(monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_NUMBER = r"(\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|thirty)"
_HAN_NUMBER = r"(\d+|[一二两三四五六七八九十百]+)"
_HAN_DAY = "一二三四五六日天"
_SPANS = {"day": 1, "week": 7, "fortnight": 14, "天": 1, "日": 1, "周": 7, "星期": 7, "礼拜": 7}
_RELATIVE = {
    "day after tomorrow": 2,
    "day before yesterday": -2,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "yesterday": -1,
    "大后天": 3,
    "大前天": -3,
    "后天": 2,
    "前天": -2,
    "明天": 1,
    "明日": 1,
    "明早": 1,
    "明晚": 1,
    "昨天": -1,
    "昨日": -1,
    "今天": 0,
    "今日": 0,
    "今晚": 0,
    "今早": 0,
    "昨晚": -1,
    "昨夜": -1,
    "前晚": -2,
    "今夜": 0,
    "今晨": 0,
    "明晨": 1,
    "后儿": 2,
    "明儿": 1,
    "今儿": 0,
    "昨儿": -1,
}
_TODAY_WORDS = "|".join(re.escape(word) if not word.isascii() else rf"\b(?:the\s+)?{word}\b" for word in _RELATIVE)

Reader = Callable[[re.Match[str], date], date | None]


def find_dates(text: str, today: date) -> list[FoundDate]:
    """The days that are named in a text, in their order."""
    found: list[FoundDate] = []
    taken: list[tuple[int, int]] = []
    said = text.casefold().replace("’", "'")
    for word, pattern, read in _forms():
        for match in pattern.finditer(text) if word in said else ():
            if any(match.start() < end and start < match.end() for start, end in taken):
                continue
            try:
                day = read(match, today)
            except (ValueError, OverflowError, LookupError):  # no such day, or no such number
                continue
            if day is not None:
                found.append(FoundDate(match.start(), match.end(), day.isoformat()))
                taken.append(match.span())
    return _of_one_year(text, sorted([*_of_one_month(text, _of_one_week(text, found)), *_until(text, found)]))


def find_months(text: str, today: date) -> list[FoundDate]:
    """The months that are named without a day, as YYYY-MM: 十月份, 上个月, 2026年3月, `March 2026`."""
    found: list[FoundDate] = []
    for match in _MONTHS_SAID.finditer(text):
        first: date | None
        if match["iso"]:
            year, number = int(match["iso"][:4]), int(match["iso"][5:])
            first = None if number == year % 100 + 1 else date(year, number, 1)  # a season: 2011-12
        elif match["which"]:
            first = _of_month(today, match["which"], 1)
        elif match["name"]:
            first = date(int(match["of"]), MONTHS.index(match["name"][:3].lower()) + 1, 1)
        else:
            first = _first_of(_year(today, match["year"] or "") or today.year, _int(match["number"]))
        if first is None:
            continue
        found.append(FoundDate(match.start(), match.end(), first.isoformat()[:7]))
    return found


def _until(text: str, found: Sequence[FoundDate]) -> list[FoundDate]:
    """The last day of a span of days that is told by its number alone: 12月1号到3号."""
    ends: list[FoundDate] = []
    for day in found:
        match = _UNTIL.match(text, day.end)
        first = date.fromisoformat(day.iso)
        if match is not None and all(other.start != match.start(1) for other in found):
            number = _int(match[1])
            if first.day < number <= _last_of(first.replace(day=1)).day:
                ends.append(FoundDate(match.start(1), match.end(), first.replace(day=number).isoformat()))
    return ends


def _of_one_week(text: str, found: Sequence[FoundDate]) -> list[FoundDate]:
    """The days, each that is joined to one of another week in that week: 下周四和周五."""
    days = sorted(found)
    for at, (day, then) in enumerate(pairwise(days)):
        said, after = text[day.start : day.end], text[then.start : then.end]
        joined = _JOINED.fullmatch(text[day.end : then.start])
        if joined and said[:1] in "上下" and _WEEKDAY.fullmatch(after):
            first, last = date.fromisoformat(day.iso), date.fromisoformat(then.iso)
            days[at + 1] = then._replace(iso=(first + timedelta(days=(last - first).days % 7)).isoformat())
    return days


def _of_one_month(text: str, days: Sequence[FoundDate]) -> list[FoundDate]:
    """The days, each that is told by its number alone in the month of the one before it: 3月24号入住，26号退房."""
    told: list[FoundDate] = []
    for day in sorted(days):
        alone = _DAY_ALONE.fullmatch(text[day.start : day.end])
        iso = day.iso
        if told and alone and _MONTH_NUMBER.search(text, told[-1].start, told[-1].end):
            first, number = date.fromisoformat(told[-1].iso), _int(alone[1])
            if first.day < number <= _last_of(first.replace(day=1)).day:
                iso = first.replace(day=number).isoformat()
        told.append(day._replace(iso=iso))
    return told


_DAY_ALONE = re.compile(r"(\d{1,2}|[一二三四五六七八九十]{1,3})号")
_MONTH_NUMBER = re.compile("[\\d一二三四五六七八九十]月")
_JOINED = re.compile("[、，,到至和与-]|以及")
_WEEKDAY = re.compile(f"(?:周|星期|礼拜)[{_HAN_DAY}]")
_UNTIL = re.compile(r"\s*(?:到|至|[-—–~～]+)\s*(\d{1,2}|[一二三四五六七八九十]{1,3})[日号]")


def _of_one_year(text: str, found: list[FoundDate]) -> list[FoundDate]:
    """Days of a month in the only year that is said, with another of them or by itself: `March 9 to March 10, 2023`."""
    years = {day.iso[:4] for day in found if day.iso[:4] in text[day.start : day.end]}
    years |= {match[1] for match in _THIS_YEAR.finditer(text)}
    if len(years) != 1:
        return found
    year = years.pop()
    return [
        day._replace(iso=year + day.iso[4:])
        if _OF_A_MONTH.search(text, day.start, day.end) and not re.search(r"\d{4}", text[day.start : day.end])
        else day
        for day in found
    ]


_OF_A_MONTH = re.compile(rf"\b{_MONTH}|月", re.IGNORECASE)
_THIS_YEAR = re.compile(
    r"\b(?:(?:this|current)\s+year(?:\s+is|:)?|current(?:ly)?,?\s+(?:it(?:['’]?s|\s+is)|is))\s+(\d{4})\b", re.IGNORECASE
)


class Stated(NamedTuple):
    """The present day as the question itself states it, and where."""

    start: int
    end: int
    day: date


def said_today(text: str) -> Stated | None:
    """What a question says that today is: `... next Monday. Today is 2023-10-01`."""
    match = _TODAY_IS.search(text)
    if match is None:
        return None
    near = [day for day in find_dates(text[match.end() : match.end() + 30], date(2000, 1, 1)) if day.start <= SAID_NEAR]
    near = [day for day in near if not day.iso.startswith("2000")]
    return Stated(match.start(), match.end() + near[0].end, date.fromisoformat(near[0].iso)) if near else None


_TODAY_IS = re.compile(r"\btoday(?:['’]s date)?(?:\s+is|:)\s+|今天(?:的日期)?是", re.IGNORECASE)
SAID_NEAR = 12
"""So far behind `today is` a date stands that is meant: `Today is Monday, 2023-10-02`."""


def stated_today(text: str) -> date | None:
    """The date that instructions give as the present one: `Today is 2026-11-20`, `当前日期：2026年11月20日`."""
    for match in _STATED.finditer(text):
        for day in find_dates(text[match.end() : match.end() + 40], date(2000, 1, 1)):
            if not day.iso.startswith("2000"):
                return date.fromisoformat(day.iso)
    return None


_STATED = re.compile(
    r"\btoday(?:'s date)?(?: is|:)|\bcurrent date(?: and time)?(?: is|:)?|\bdate:"
    r"|今天(?:的日期)?[是：:]|(?:当前|今天的?|现在的?)(?:日期|时间)[是为：:]*",
    re.IGNORECASE,
)


def _month_day(today: date, month: str, day: str, year: str | None) -> date:
    number = MONTHS.index(month[:3].lower()) + 1
    return _full(today, number, int(day), int(year) if year else None)


def _full(today: date, month: int, day: int, year: int | None) -> date:
    """A day of the year; without a year the one that is nearest, today's year."""
    return date(year or today.year, month, day)


def _weekday(today: date, name: str, which: str) -> date:
    """`next Monday` comes after today, `last Monday` before it; `Monday` and `this Monday` may be today."""
    ahead = (_DAYS.index(name[:3].lower()) - today.weekday()) % 7
    if which == "last":
        return today - timedelta(days=(7 - ahead) % 7 or 7)
    return today + timedelta(days=ahead or 7 if which in ("next", "coming") else ahead)


def _han_weekday(today: date, which: str, name: str) -> date:
    number = min(_HAN_DAY.index(name), 6)
    monday = today - timedelta(days=today.weekday())
    weeks = which.count("下") - which.count("上")
    day = monday + timedelta(days=number + 7 * weeks)
    return day + timedelta(days=7) if not which and day < today else day


def _shift(today: date, number: str, unit: str, sign: int) -> date:
    count = 1 if number in ("a", "an") else int(find_numbers(number)[0].value)
    return today + timedelta(days=sign * count * _SPANS[unit.lower()])


def _holiday(month: int, day: int, match: re.Match[str], today: date) -> date:
    """The holiday of the year that is said, else the next one."""
    if match[1]:
        return date(_year(today, match[1]) or today.year, month, day)
    this_year = date(today.year, month, day)
    return this_year if this_year >= today else date(today.year + 1, month, day)


def _feast(days: Sequence[str], match: re.Match[str], today: date) -> date | None:
    """The feast of the year that is said, else the next one; None beyond the years that are known."""
    known = [date.fromisoformat(day) for day in days]
    year = _year(today, match[1] or "")
    return next((day for day in known if (day.year == year if year else day >= today)), None)


def _year(today: date, said: str) -> int | None:
    """The year that 明年, 2027年 or 2027 means; None where none is said."""
    if said[:4].isdigit():
        return int(said[:4])
    return today.year + {"去": -1, "今": 0, "明": 1, "后": 2}[said[0]] if said else None


def _of_month(today: date, which: str, day: int) -> date:
    """A day of this month, or of the next where it is over; of the month that is said."""
    months = which.count("下") - which.count("上") or int(not which and day < today.day)
    year, month = divmod(today.year * 12 + today.month - 1 + months, 12)
    return date(year, month + 1, day)


def _last_of(first: date) -> date:
    """The last day of a month, by its first."""
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


_HAN_MONTH = r"(\d{1,2}|[一二三四五六七八九]|十[一二]?)"
_HAN_DAY_NUMBER = r"(\d{1,2}|[一二三四五六七八九十]{1,3})"
_NUMBERED = "路街巷弄道栋楼层座区室幢"
"""After these 15号 is a house and no day."""

_AFTER_DAY = (
    r"[上下中]午|[早晚]|[之以]?[前后]|[到至走去飞回的]|出发|入住|退房|离店|离开|那天|当天|这天|开始"
    r"|\s*[,，。.?？！!]|\s*$"
)
_MONTH_SAID = r"(本月|这个?月|当月|下个?月|上个?月)"


def _first_of(year: int, month: int) -> date | None:
    return date(year, month, 1) if month in range(1, 13) else None


def _american(month: int, day: int, year: int) -> date:
    """The day of `5/1/2024`, the month first, unless there is no such month."""
    return date(year, day, month) if month > 12 else date(year, month, day)


def _int(said: str) -> int:
    return int(find_numbers(said + "个")[0].value)


_MONTHS_SAID = re.compile(
    rf"(?P<which>{_MONTH_SAID[1:-1]})份?(?![初底末的]?{_HAN_DAY_NUMBER}[日号]|[初底末]|的?最后一天)"
    rf"|(?P<year>(?:\d{{4}}|[去今明后])年的?)?(?<![\d一二三四五六七八九十个])"
    rf"{_HAN_MONTH.replace('(', '(?P<number>', 1)}月份?"
    rf"(?!份?\s*{_HAN_DAY_NUMBER}|[初底末])"
    rf"|\b(?P<name>{'|'.join(MONTHS)})[a-z]*\.?\s+(?P<of>\d{{4}})\b"
    r"|(?<![\d.-])(?P<iso>(?:19|20)\d\d-(?:0[1-9]|1[0-2]))(?![\d-])",
    re.IGNORECASE,
)


_FORMS: list[tuple[str, Reader]] = [
    (r"(?<!\d)(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)", lambda m, t: date(int(m[1]), int(m[2]), int(m[3]))),
    (r"(?<!\d)(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]?", lambda m, t: date(int(m[1]), int(m[2]), int(m[3]))),
    (r"(?<!\d)(\d{1,2})/(\d{1,2})/(\d{4})(?!\d)", lambda m, t: _american(int(m[1]), int(m[2]), int(m[3]))),
    (r"(?<![\w-])(\d{1,2})-(\d{1,2})-(\d{4})(?![\w-])", lambda m, t: _american(int(m[1]), int(m[2]), int(m[3]))),
    (r"(?<![\w.])(\d{1,2})\.(\d{1,2})\.(\d{4})(?![\d])", lambda m, t: date(int(m[3]), int(m[2]), int(m[1]))),
    (rf"\b{_MONTH}(?:\.(?=\d)|\s*)(\d{{1,2}})(?:st|nd|rd|th)?\b{_YEAR}", lambda m, t: _month_day(t, m[1], m[2], m[3])),
    (
        rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?:this\s+)?{_MONTH}\b{_YEAR}",
        lambda m, t: _month_day(t, m[2], m[1], m[3]),
    ),
    (
        r"([去今明后]年的?)?(?<!\d)(\d{1,2})\s*月\s*(\d{1,2})\s*[日号]",
        lambda m, t: _full(t, int(m[2]), int(m[3]), _year(t, m[1] or "")),
    ),
    (
        r"([去今明后]年的?)?([一二三四五六七八九十]{1,2})月([一二三四五六七八九十]{1,3})[日号]",
        lambda m, t: _full(t, _int(m[2]), _int(m[3]), _year(t, m[1] or "")),
    ),
    (rf"{_MONTH_SAID}的?{_HAN_DAY_NUMBER}[日号]", lambda m, t: _of_month(t, m[1], _int(m[2]))),
    (rf"(?<!\d){_HAN_MONTH}月[底末]", lambda m, t: _last_of(date(t.year, _int(m[1]), 1))),
    (rf"(?<!\d){_HAN_MONTH}月初(?!\d|[一二三四五六七八九十])", lambda m, t: date(t.year, _int(m[1]), 1)),
    (r"(?<!\d)(本|这个?|当|下个?|上个?)月初(?!\d|[一二三四五六七八九十])", lambda m, t: _of_month(t, m[1], 1)),
    (r"(?:([去今明后])年)?年?(?<=年)[底末]", lambda m, t: date(_year(t, m[1] or "") or t.year, 12, 31)),
    (
        r"(?<!\d)(本|这个?|当|下个?|上个?)?月(?:的?最后一天|[底末])",
        lambda m, t: _last_of(_of_month(t, m[1] or "本", 1)),
    ),
    (
        rf"(?<![\d一二三四五六七八九十第月{_NUMBERED}]){_HAN_DAY_NUMBER}号(?={_AFTER_DAY})",
        lambda m, t: _of_month(t, "", _int(m[1])),
    ),
    (rf"\bin\s+{_NUMBER}\s+(day|week|fortnight)s?\b", lambda m, t: _shift(t, m[1], m[2], 1)),
    (rf"\b{_NUMBER}\s+(day|week|fortnight)s?\s+from\s+(?:now|today)\b", lambda m, t: _shift(t, m[1], m[2], 1)),
    (rf"\b{_NUMBER}\s+(day|week|fortnight)s?\s+ago\b", lambda m, t: _shift(t, m[1], m[2], -1)),
    (
        rf"(?<![后前日号\d]){_HAN_NUMBER}个?(天|周|星期|礼拜)(?:之后|以后|后)(?!是)",
        lambda m, t: _shift(t, m[1], m[2], 1),
    ),
    (
        rf"(?<![后前日号\d]){_HAN_NUMBER}个?(天|周|星期|礼拜)(?:之前|以前|前)(?!是)",
        lambda m, t: _shift(t, m[1], m[2], -1),
    ),
    (_TODAY_WORDS, lambda m, t: t + timedelta(days=_RELATIVE[re.sub(r"^the\s+", "", m[0].lower())])),
    (rf"\b(next|this|last|coming)\s+{_DAY}\b", lambda m, t: _weekday(t, m[2], m[1].lower())),
    (rf"\b{_DAY_LONG}\b", lambda m, t: _weekday(t, m[1], "")),
    (
        rf"(这|本|(?<!一)下下|下|(?<!一)上上|上)?个?(?:周|星期|礼拜)([{_HAN_DAY}])",
        lambda m, t: _han_weekday(t, m[1] or "", m[2]),
    ),
]


@cache
def _forms() -> list[tuple[str, re.Pattern[str], Reader]]:
    """The forms of days, each with a word that has to be there; most texts name no holiday."""
    named = _holidays() + [("", pattern, read) for pattern, read in _FORMS]
    return [(word, re.compile(pattern, re.IGNORECASE), read) for word, pattern, read in named]


def _reader(name: Name) -> Reader:
    """How a holiday or a feast becomes a day."""
    if name.kind == "feast":
        return partial(_feast, name.extra.split("|"))
    month, day = map(int, name.extra.split("-"))
    return partial(_holiday, month, day)


def _holidays() -> list[tuple[str, str, Reader]]:
    """A form a holiday, with its name: `2027年元旦` and `Christmas 2027` among them."""
    forms: list[tuple[str, str, Reader]] = []
    for word, names in lexicon().names.items():
        for name in names:
            if name.kind in ("holiday", "feast"):
                read = _reader(name)
                text = re.escape(word).replace("'", "['’]")
                pattern = (
                    rf"\b{text}(?:\s+day)?\b(?:\s*,?\s*(\d{{4}})\b)?"
                    if word.isascii()
                    else rf"(?:(\d{{4}}|[去今明后])年)?的?{text}"
                )
                forms.append((word.casefold(), pattern, read))
    return sorted(forms, key=lambda form: -len(form[1]))
