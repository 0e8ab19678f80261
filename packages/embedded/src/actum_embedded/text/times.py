"""Times of day in a text, as HH:MM: `3 pm`, `15:30`, `noon`, `下午三点半`, `三点一刻`."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from .numerals import find_numbers


class FoundTime(NamedTuple):
    """A time of day and where it stands."""

    start: int
    end: int
    text: str


def find_times(text: str) -> list[FoundTime]:
    """The times of day that are named in a text, as HH:MM, in their order."""
    found: list[FoundTime] = []
    for pattern, read in _TIMES:
        for match in pattern.finditer(text):
            try:
                minutes = read(match)
            except LookupError:  # no such number
                continue
            if minutes is not None and not any(
                match.start() < other.end and other.start < match.end() for other in found
            ):
                found.append(FoundTime(match.start(), match.end(), f"{minutes // 60:02d}:{minutes % 60:02d}"))
    return _continued(text, sorted(found))


_UNTIL = re.compile(r"\s*(?:到|至|[-—–~～]+)\s*")


def _continued(text: str, found: list[FoundTime]) -> list[FoundTime]:
    """The end of a span of time is in the half of the day where it began: 下午两点到四点半."""
    kept: list[FoundTime] = []
    for time in found:
        hour = int(time.text[:2])
        goes_on = bool(kept) and _UNTIL.fullmatch(text[kept[-1].end : time.start]) is not None
        if goes_on and hour < 12 and kept[-1].text >= "12:00" and f"{hour + 12:02d}{time.text[2:]}" > kept[-1].text:
            kept.append(time._replace(text=f"{hour + 12:02d}{time.text[2:]}"))
        else:
            kept.append(time)
    return kept


def _clock(hour: str, minute: str | None, half: str) -> int | None:
    """Minutes since midnight."""
    hours, minutes = int(hour), int(minute or 0)
    if half == "pm" and hours < 12:
        hours += 12
    if half == "am" and hours == 12:
        hours = 0
    return hours * 60 + minutes if hours < 24 and minutes < 60 else None


_HALVES = {
    "上午": "am", "早上": "am", "早晨": "am", "清晨": "am", "凌晨": "am", "早": "am", "晨": "am",
    "下午": "pm", "晚上": "pm", "傍晚": "pm", "中午": "pm", "晚": "pm", "夜里": "pm", "夜": "pm",
}  # fmt: skip


def _han_clock(match: re.Match[str]) -> int | None:
    half = _HALVES.get(match[1] or "", "")
    hour = str(find_numbers(match[2] + "点")[0].value)
    if half == "pm" and match[1] == "中午" and int(hour) in (11, 12):
        half = ""
    if _NIGHT.match(match[1] or "") and (int(hour) == 12 or (int(hour) < 6 and match[1][0] == "夜")):
        half = "am"  # 晚上十二点 is midnight
    minute = match[3] or ""
    minutes = {"半": "30", "一刻": "15", "三刻": "45"}.get(minute) or (
        str(find_numbers(minute + "分")[0].value) if minute else "0"
    )
    return _clock(hour, minutes, half)


_NIGHT = re.compile("[晚夜]")
_HAN_HOUR = r"(\d{1,2}|[零一二两三四五六七八九十]{1,3})"
_HAN_MINUTE = (
    r"(半|一刻|三刻|[0-5]\d|[零一二两三四五六七八九十]{1,3}(?=分)"
    "|零[一二三四五六七八九]|[二三四五]?十[一二三四五六七八九]?)?"
)
_NO_FRACTION = r"(?:(?<=\d[点時时])|(?![零一二三四五六七八九](?![十分刻零一二三四五六七八九])))"
"""六点五 is a number; 六点五分, 六点五十 and 六点一刻 are times."""

_HAN_HALF = "(上午|早上|早晨|清晨|凌晨|下午|晚上|傍晚|中午|夜里|夜|早|晨|晚)?"
_HOURS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_PART_OF_DAY = r"(?:\s+in\s+the\s+(morning|afternoon|evening)\b)?"


def _told(part: str, side: str, hour: str, half: str) -> int | None:
    """`half past 11`, `quarter to nine in the evening`."""
    minutes = _clock(str(find_numbers(hour)[0].value), None, {"": "", "morning": "am"}.get(half, "pm"))
    away = 30 if part == "half" else 15
    return None if minutes is None else (minutes + (away if side == "past" else -away)) % (24 * 60)


_DAY = r"(?:today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_NO_MORE = r"\b(?![:.,/%°]?\d|%|°|\s*(?:percent|degrees|people|guests|yuan|dollars|euros|\w*\s*(?:street|avenue|road)))"
_AFTER_A_DAY = "|".join(
    rf"(?<=\b{day} at )"
    for day in (
        "today",
        "tomorrow",
        "tonight",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
    )
)
_BY_A_DAY = (
    rf"(?<=\bat )(\d{{1,2}})(?=\s+(?:on\s+)?(?:next\s+|this\s+)?{_DAY}\b)|(?:{_AFTER_A_DAY})(\d{{1,2}}){_NO_MORE}"
)
"""A bare hour beside a day: `tomorrow at 9`, `at 9 on Monday`."""

_TIMES: list[tuple[re.Pattern[str], Callable[[re.Match[str]], int | None]]] = [
    (
        re.compile(rf"\b(half|quarter)\s+(past|to)\s+(\d{{1,2}}|{_HOURS})\b{_PART_OF_DAY}", re.IGNORECASE),
        lambda m: _told(m[1].lower(), m[2].lower(), m[3], (m[4] or "").lower()),
    ),
    (
        re.compile(r"(?<![\d:.])(\d{1,2})(?:[:.](\d{2}))?\s*([ap])\.?\s?m\b\.?", re.IGNORECASE),
        lambda m: _clock(m[1], m[2], m[3].lower() + "m"),
    ),
    (
        re.compile(
            r"(?<![\d:./-])(\d{1,2})(?::([0-5]\d))?\s+(?:in\s+the\s+(morning|afternoon|evening)|at\s+night)\b",
            re.IGNORECASE,
        ),
        lambda m: _clock(m[1], m[2], "am" if (m[3] or "").lower() == "morning" else "pm"),
    ),
    (
        re.compile(rf"{_HAN_HALF}(?<![\d:])([01]?\d|2[0-3])[:：]([0-5]\d)(?::[0-5]\d)?(?![\d:])"),
        lambda m: _clock(m[2], m[3], _HALVES.get(m[1] or "", "")),
    ),
    (
        re.compile(rf"{_HAN_HALF}{_HAN_HOUR}[点時时](?!间|候|钟?后){_NO_FRACTION}{_HAN_MINUTE}[钟分整]?"),
        _han_clock,
    ),
    (
        re.compile(r"\b(\d{1,2})\s*o['’]?clock\b(?:\s+in\s+the\s+(?:morning|(afternoon|evening)))?", re.IGNORECASE),
        lambda m: _clock(m[1], None, "pm" if m[2] else ""),
    ),
    (re.compile(_BY_A_DAY, re.IGNORECASE), lambda m: _clock(m[1] or m[2], None, "")),
    (re.compile(r"\bnoon\b|正午", re.IGNORECASE), lambda m: 720),
    (re.compile(r"\bmidnight\b|午夜", re.IGNORECASE), lambda m: 0),
]
