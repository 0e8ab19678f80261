"""Numbers, days and times as people say them, each with the value that is meant."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta

from actum.core.json import Json

TODAY = date(2026, 11, 20)
"""The day on which the questions are asked."""

Made = tuple[str, Json]


def _int(chance: random.Random) -> Made:
    value = chance.choice((chance.randint(1, 20), chance.randint(2, 100), chance.randint(10, 999)))
    return str(value), value


def _small(chance: random.Random) -> Made:
    value = chance.randint(1, 12)
    word = _WORDS[value - 1] if chance.random() < 0.25 else str(value)
    return word, value


_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]


def _money(chance: random.Random) -> Made:
    value = chance.choice((chance.randint(1, 50) * 10, chance.randint(1, 99) * 100, chance.randint(1, 900) * 1000))
    return chance.choice((str(value), f"{value:,}")), value


def _float(chance: random.Random) -> Made:
    value = round(chance.uniform(0.1, 60), chance.choice((1, 1, 2)))
    return str(value), value


def _neg(chance: random.Random) -> Made:
    value = chance.randint(-9, 20)
    return str(value), value


def _pct(chance: random.Random) -> Made:
    value = chance.choice((chance.randint(1, 20), round(chance.uniform(0.5, 9), 1)))
    if chance.random() < 0.2:
        return str(round(value / 100, 4)), round(value / 100, 4)
    return chance.choice((f"{value}%", f"{value}%", f"{value} percent")), round(value / 100, 12)


def _pctwhole(chance: random.Random) -> Made:
    value = chance.choice((10, 15, 18, 20, 25, 12))
    return chance.choice((f"{value}%", f"{value} percent")), value


def _ranged(least: int, most: int, step: int = 1) -> Callable[[random.Random], Made]:
    def make(chance: random.Random) -> Made:
        value = chance.randrange(least, most, step)
        return str(value), value

    return make


def _minutes(chance: random.Random) -> Made:
    return chance.choice(
        (
            ("half an hour", 30),
            ("2 hours", 120),
            ("an hour", 60),
            ("45 minutes", 45),
            ("20 minutes", 20),
            ("three hours", 180),
        )
    )


def _minutes_zh(chance: random.Random) -> Made:
    return chance.choice(
        (
            ("半小时", 30),
            ("两个小时", 120),
            ("一小时", 60),
            ("45分钟", 45),
            ("二十分钟", 20),
            ("一个半小时", 90),
            ("半个小时", 30),
        )
    )


_MONEY_ZH: tuple[Made, ...] = (
    *(("五十", 50), ("一百五十", 150), ("两百", 200), ("三百六", 360), ("五百", 500), ("八百八", 880)),
    *(("一千二", 1200), ("两千", 2000), ("三千五", 3500), ("一万", 10_000), ("两万五", 25_000), ("3万", 30_000)),
)

NUMBERS: dict[str, Callable[[random.Random], Made]] = {
    "minutes": _minutes,
    "minutes_zh": _minutes_zh,
    "int": _int,
    "small": _small,
    "small_zh": lambda chance: (
        lambda value: (str(value) if chance.random() < 0.6 else "一两三四五六七八九十"[value - 1], value)
    )(chance.randint(1, 10)),
    "money": _money,
    "money_zh": lambda chance: (
        chance.choice(_MONEY_ZH)
        if chance.random() < 0.3
        else (lambda value: (str(value), value))(
            chance.choice((chance.randint(1, 99) * 10, chance.randint(1, 90) * 1000))
        )
    ),
    "float": _float,
    "neg": _neg,
    "pct": _pct,
    "pct_zh": lambda chance: (lambda value: (chance.choice((f"{value}%", f"百分之{value}")), round(value / 100, 12)))(
        chance.randint(2, 9)
    ),
    "pctwhole": _pctwhole,
    "prob": lambda chance: (lambda value: (str(value), value))(round(chance.uniform(0.05, 0.95), 2)),
    "rating": lambda chance: (lambda value: (str(value), value))(chance.choice((3, 3.5, 4, 4.5, 7, 8))),
    "year": _ranged(1800, 2027),
    "kg": _ranged(45, 110),
    "cm": _ranged(150, 200),
    "age": _ranged(18, 80),
    "temp": _ranged(16, 30),
    "uid": _ranged(1000, 99999),
}


def _date(chance: random.Random) -> Made:
    day = date(2018, 1, 1) + timedelta(days=chance.randrange(4000))
    month = day.strftime("%B")
    nth = f"{day.day}{'th' if 10 <= day.day <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day.day % 10, 'th')}"
    forms = [
        day.isoformat(),
        day.isoformat(),
        f"{month} {day.day}, {day.year}",
        f"{month} {nth}, {day.year}",
        f"{day.day} {month} {day.year}",
        f"{day.month}/{day.day}/{day.year}",
        f"the {nth} of {month} {day.year}",
    ]
    if chance.random() < 0.2:
        ahead = chance.choice((("tomorrow", 1), ("today", 0), ("yesterday", -1)))
        return ahead[0], (TODAY + timedelta(days=ahead[1])).isoformat()
    return chance.choice(forms), day.isoformat()


def _date_zh(chance: random.Random) -> Made:
    roll = chance.random()
    if roll < 0.4:
        said, days = chance.choice(
            (("明天", 1), ("后天", 2), ("今天", 0), ("下周一", 3), ("下周五", 7), ("周日", 2), ("大后天", 3))
        )
        return said, (TODAY + timedelta(days=days)).isoformat()
    day = date(2026, 1, 1) + timedelta(days=chance.randrange(365))
    forms = [
        f"{day.month}月{day.day}日",
        f"{day.month}月{day.day}号",
        f"{day.year}年{day.month}月{day.day}日",
        day.isoformat(),
    ]
    return chance.choice(forms), day.isoformat()


def _time(chance: random.Random) -> Made:
    hour, minute = chance.randint(1, 11), chance.choice((0, 0, 0, 30, 15))
    late = chance.random() < 0.6
    value = f"{hour + 12 * late:02d}:{minute:02d}"
    half = "PM" if late else "AM"
    forms = [
        value,
        f"{hour}:{minute:02d} {half}",
        f"{hour} {half.lower()}" if not minute else f"{hour}:{minute:02d}{half.lower()}",
    ]
    return chance.choice(forms), value


def _time_zh(chance: random.Random) -> Made:
    hour, half = chance.randint(1, 11), chance.random() < 0.25
    late = chance.random() < 0.6
    head = chance.choice(("下午", "晚上") if hour > 5 else ("下午",)) if late else chance.choice(("早上", "上午"))
    number = (
        str(hour)
        if chance.random() < 0.5
        else ("一", "两", "三", "四", "五", "六", "七", "八", "九", "十", "十一")[hour - 1]
    )
    return f"{head}{number}点{'半' if half else ''}", f"{hour + 12 * late:02d}:{'30' if half else '00'}"


def _datetime(chance: random.Random) -> Made:
    (day, iso), (time, clock) = _date(chance), _time(chance)
    return chance.choice((f"{day} at {time}", f"{day}, {time}", f"{day} {time}")), f"{iso}T{clock}:00"


def _datetime_zh(chance: random.Random) -> Made:
    (day, iso), (time, clock) = _date_zh(chance), _time_zh(chance)
    return f"{day}{time}", f"{iso}T{clock}:00"


def _uidtext(chance: random.Random) -> Made:
    value = str(chance.randrange(10000, 9999999))
    return value, value


MADE: dict[str, Callable[[random.Random], Made]] = {
    "datetime": _datetime,
    "datetime_zh": _datetime_zh,
    "date": _date,
    "date_zh": _date_zh,
    "time": _time,
    "time_zh": _time_zh,
    "uidtext": _uidtext,
}
