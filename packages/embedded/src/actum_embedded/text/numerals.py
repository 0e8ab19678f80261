"""Numbers in a text, in digits or in words: `1,000`, `3.5`, `twenty-three`, `二十三`, `两百`, `一万五`, `3.5亿`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from .lexicon import HAN, is_han
from .words import LETTER

Number = int | float


class FoundNumber(NamedTuple):
    """A number and where it stands."""

    start: int
    end: int
    value: Number
    words: bool


_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve",
    "thirteen fourteen fifteen sixteen seventeen eighteen nineteen",
)
_SMALL = {word: value for value, word in enumerate(" ".join(_UP_TO_NINETEEN).split())}
_TENS = {word: 10 * value for value, word in enumerate(("twenty", "thirty", "forty", "fifty"), 2)}
_TENS |= {word: 10 * value for value, word in enumerate(("sixty", "seventy", "eighty", "ninety"), 6)}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000, "dozen": 12}
_WORD = "|".join(sorted([*_SMALL, *_TENS, *_SCALES], key=len, reverse=True))
_AND = r"(?:(?<=hundred|housand|million|billion)\s+and\s+|[\s-]+)"
_ENGLISH = re.compile(
    rf"\b(?:a\s+(?=hundred|thousand|million|billion|dozen))?(?:{_WORD})(?:{_AND}(?:{_WORD}))*\b", re.IGNORECASE
)
_PRONOUN = re.compile(r"\b(?:which|this|that|the|no|any|every|some|each|another)\s+$", re.IGNORECASE)

_DIGITS = {sign: value for value, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "俩": 2, "仨": 3}
_UNITS = {"十": 10, "百": 100, "千": 1_000}
_MYRIADS = {"万": 10_000, "亿": 100_000_000}
_CHINESE = re.compile(r"[俩仨]|[零〇一二两三四五六七八九十百千万亿]+(?:点[零〇一二三四五六七八九]+)?")
NUMERALS = frozenset(_DIGITS) | frozenset("十百千万亿半几")
MEASURES = frozenset(
    "个只条件份张台本家次位名杯瓶袋块元天年月日号周点分秒里米克斤吨度公千英海小星倍折楼岁人座层种类页行晚夜部首集顿碗束双副支"
    "篇句针格宿级室注遍亩寸茶汤盎字"
    "颗粒棵匹头期节步轮盒箱桶包串盘片道幅辆架艘床间套组班股趟场局盏把根章朵枝株罐卷堂封"
)
"""Chinese words of one character that stand between a number and what it counts."""

_OPERATOR = "加减乘除"

_UNSIGNED = rf"(?<!{LETTER})(?<!\.)(?<!\d[{HAN}])"
"""Before a sign that belongs to a number: 加速度-6, but not 5月-6月."""

_ARABIC = re.compile(
    rf"(?<!{LETTER})(?<![.^])[-−]?\d+(?:\.\d+)?[eE][-+]?\d+(?!{LETTER})"
    rf"|{_UNSIGNED}[-−]?\d+(?:,\d{{3}})+(?:\.\d+)?(?!\d|,\d)"
    rf"|(?<!{LETTER})(?<!\.)\d+(?:,\d{{3}})+(?:\.\d+)?(?!\d|,\d)"
    rf"|{_UNSIGNED}[-−]\d+(?:\.\d+)?|\d+(?:\.\d+)?(?![\d])"
)
_MULTIPLE = re.compile(
    rf"\s*(万亿|万|亿|千|百|million|billion|thousand|bn)(?![A-Za-z])|(?<!\d{{4}})([kK])(?!{LETTER}|[/Ω℃°])"
)
"""`10 million`; of a letter only what touches the number, since `298 K` and `5 k` are measured."""

_MULTIPLES = {
    "万": 10_000,
    "亿": 10**8,
    "万亿": 10**12,
    "千": 1_000,
    "百": 100,
    "million": 10**6,
    "billion": 10**9,
    "thousand": 1_000,
}
_MULTIPLES |= {"bn": 10**9, "k": 1_000, "K": 1_000}


def find_numbers(text: str) -> list[FoundNumber]:
    """The numbers of a text in their order."""
    found = [*_halves(text), *_spoken(text), *_arabic(text), *_english(text), *_chinese(text)]
    found.sort(key=lambda number: (number.start, -number.end))
    kept: list[FoundNumber] = []
    for number in found:
        if is_quantity(number.value) and (not kept or number.start >= kept[-1].end):
            kept.append(number)
    return kept


def is_quantity(value: Number) -> bool:
    """Nobody counts that far: it is an identifier, or `hundred hundred hundred ...`."""
    return abs(value) < 10**DIGITS_MAX if isinstance(value, int) else math.isfinite(value)


DIGITS_MAX = 18
"""A whole number has so many digits at most."""


def tidy(value: Number) -> Number:
    """A float that is whole as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def _arabic(text: str) -> list[FoundNumber]:
    found = []
    listed = [match.span() for match in _BRACKETED.finditer(text)]
    markers = _markers(text)
    for match in _ARABIC.finditer(text):
        if match.start() in markers:
            continue
        if any(start <= match.start() < end for start, end in listed) and "," in match[0]:
            found += [
                FoundNumber(match.start() + each.start(), match.start() + each.end(), _plain(each[0]), False)
                for each in re.finditer(r"-?[\d.]+", match[0])
            ]
            continue
        digits = match[0].replace(",", "").replace("−", "-")
        if len(digits) > DIGITS_MAX:
            continue  # an identifier, not a quantity
        value = _plain(digits)
        end = match.end()
        if multiple := _MULTIPLE.match(text, end):
            value, end = tidy(round(value * _MULTIPLES[multiple[1] or multiple[2]], 6)), multiple.end()
        found.append(FoundNumber(match.start(), end, value, False))
    return found


def _markers(text: str) -> set[int]:
    """Where the numbers of a numbered list stand, which count nothing: `1. The first. 2. The second.`"""
    found = {match.start(1): int(match[1]) for match in _MARKER.finditer(text)}
    return set(found) if sorted(found.values()) == list(range(1, len(found) + 1)) and len(found) > 1 else set()


_MARKER = re.compile(r"(?:^|[\n.?!:;。？！：；])\s*[(（]?(\d{1,2})(?:[.)）]\s+(?=[A-Z])|、)")

_SHORT_OF = re.compile(
    rf"(?<!\d)([1-9]\d?)([百千万])([1-9])(?:([百千])|(?![\d.%％{''.join(sorted(MEASURES - set('块元')))}十百千万亿]))"
)
"""2万5, 3千5百: as it is said, often with the last scale left out."""

_BRACKETED = re.compile(r"\[[-\d.,\s]*\]")
"""A list in brackets, where a comma groups no digits: `[200,300]`."""


def _plain(digits: str) -> Number:
    return float(digits) if re.search("[.eE]", digits) else int(digits)


_HALF = re.compile(
    r"(\d+|[一两二三四五六七八九十]+)(?:(?=个半(?:小时|钟头|月|星期)|年半|天半)(?:个?半|[年天]半)"
    r"|(?=(?:公里|公斤|千克|斤|米|块|度|分钟?)半(?![径天夜年月价个])))"
    r"|半(?=个?(?:小时|钟头|天|年|月|斤|公斤|公里|片|份|碗|杯|盒|瓶|粒|勺|升|吨|米))"
    rf"|\b(?P<english>an?|\d+|{_WORD})(?:(?=\s+[a-z]+\s+and\s+a\s+half\b)|\s+and\s+a\s+half\b)"
    r"|\bhalf\s+(?:an?|of\s+an?)(?=\s+(?:hour|day|month|year|mile|kilo|lit(?:re|er)|pound|cup|tea|table|tablet|pill))"
    r"|\b(?:an?)(?=\s+(?:hour|minute|day|week|month|year)\b(?!['’]s))",
    re.IGNORECASE,
)


def _halves(text: str) -> Iterator[FoundNumber]:
    """`half an hour`, 半小时, 两个半小时; and the one of `an hour`."""
    for match in _HALF.finditer(text):
        said = match[0].lower()
        if match[1] or match["english"]:
            yield FoundNumber(match.start(), match.end(), _whole(match[1] or match["english"].lower()) + 0.5, True)
        else:
            yield FoundNumber(match.start(), match.end(), 0.5 if said[0] in "半h" else 1, True)


def _whole(said: str) -> Number:
    if said.isdigit() or not said.isascii():
        return int(said) if said.isdigit() else _read_chinese(said)
    return 1 if said in ("a", "an") else _read_english(said)


_PHRASES = [
    (re.compile(r"\bhalf\s+a\s+dozen\b", re.IGNORECASE), 6),
    (re.compile(r"\ba\s+pair\b|\btwice\b", re.IGNORECASE), 2),
    (re.compile("一个(?=小时|钟头|月(?!半)|星期|礼拜)"), 1),
    (re.compile("一刻钟"), 15),
    (re.compile("三刻钟"), 45),
]
_TENTHS = re.compile(r"([一二两三四五六七八九])成(?![功为员本立绩交年熟长套份了])")
_ORDINALS = {word: value for value, word in enumerate(("first", "second", "third", "fourth", "fifth", "sixth"), 1)}
_ORDINALS |= {
    word: value for value, word in enumerate(("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"), 7)
}
_ORDINAL = re.compile(
    rf"\b({'|'.join(_ORDINALS)})(?=\s+(?:season|episode|chapter|verse|volume|part|quarter|quartile|order|harmonic|grade"
    r"|floor|root|derivative|power|dose|shot|jab|act|scene|round|level|row|semester|term|edition|anniversary|birthday)\b)",
    re.IGNORECASE,
)


_COINS = re.compile(
    r"(\d+|[零一二两三四五六七八九十百千]+)(?:块|元(?=.角))([1-9一二两三四五六七八九])(?:毛钱?|角)?(?![\d个只条张位杯份瓶盒袋斤本件天月年号点一二三四五六七八九十百千万])"
    r"|(\d|[一二两三四五六七八九])(?:毛钱?|角钱)(?![毯巾衣绒笔])"
)


def _coins(text: str) -> Iterator[FoundNumber]:
    """86块5, 三块五毛 and 八毛钱; what counts them is a part of it but for the yuan."""
    for match in _COINS.finditer(text):
        whole = _whole(match[1]) if match[1] else 0
        tenths = _whole(match[2] or match[3])
        yield FoundNumber(match.start(), match.end(), round(whole + tenths / 10, 1), True)


def _shortened(text: str) -> Iterator[FoundNumber]:
    for match in _SHORT_OF.finditer(text):
        scale = _UNITS.get(match[2], 0) or _MYRIADS[match[2]]
        rest = _UNITS[match[4]] if match[4] else scale // 10
        yield FoundNumber(match.start(), match.end(), int(match[1]) * scale + int(match[3]) * rest, True)


def _spoken(text: str) -> Iterator[FoundNumber]:
    """`half a dozen`, `twice`, 三成 (thirty percent), `the second season`."""
    yield from _coins(text)
    yield from _shortened(text)
    for pattern, value in _PHRASES:
        yield from (FoundNumber(match.start(), match.end(), value, True) for match in pattern.finditer(text))
    for match in _TENTHS.finditer(text):
        yield FoundNumber(match.start(), match.end(), 10 * _DIGITS[match[1]], True)
    for match in _ORDINAL.finditer(text):
        yield FoundNumber(match.start(), match.end(), _ORDINALS[match[1].lower()], True)


def _english(text: str) -> list[FoundNumber]:
    found = []
    for match in _ENGLISH.finditer(text):
        said = match[0].lower()
        if said == "one" and _PRONOUN.search(text[: match.start()]):
            continue
        found.append(FoundNumber(match.start(), match.end(), _read_english(said), True))
    return found


def _read_english(said: str) -> int:
    total = part = 0
    for word in re.findall(r"[a-z]+", said):
        if word in _SMALL or word in _TENS:
            part += _SMALL.get(word, 0) + _TENS.get(word, 0)
        elif word in ("hundred", "dozen"):
            part = max(part, 1) * _SCALES[word]
        elif word in _SCALES:
            total, part = total + max(part, 1) * _SCALES[word], 0
    return total + part


def _chinese(text: str) -> list[FoundNumber]:
    return [
        FoundNumber(match.start(), match.end(), _read_chinese(match[0]), True)
        for match in _CHINESE.finditer(text)
        if match[0][0] not in "百千万亿"
        and not _ROUGHLY.fullmatch(match[0])
        and (len(match[0]) > 1 or _stands_alone(text, match.start(), match.end()))
    ]


_ROUGHLY = re.compile("一两|两三|三四|三五|四五|五六|六七|七八|八九")
"""Two numbers side by side that are none: 两三天."""


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether one numeral is a number and not part of a word or a name: 三斤, but not 张三."""
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    if text[start] in "俩仨" or text[:start].endswith("百分之"):
        return True
    if text[start] == "两" and after in tuple("大小"):
        return True  # 两大一小
    if (after and (after in MEASURES or after in _OPERATOR)) or (before and before in _OPERATOR + "以上去第"):
        return True
    return not is_han(before) and (not is_han(after) or after == "的")


def _read_chinese(said: str) -> Number:
    whole, _, fraction = said.partition("点")
    if len(whole) > 1 and not set(whole) & (_UNITS.keys() | _MYRIADS.keys()):
        value: Number = int("".join(str(_DIGITS[sign]) for sign in whole))  # 二〇二四
    else:
        value = _read_whole(whole)
    if fraction:
        value = float(f"{value}.{''.join(str(_DIGITS[sign]) for sign in fraction)}")
    return value


def _read_whole(said: str) -> int:
    total = section = digit = 0
    scale = 1
    for sign in said:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
            scale = 1 if sign in "零〇" else scale
        elif sign in _UNITS:
            section += (digit or 1) * _UNITS[sign]
            digit, scale = 0, _UNITS[sign] // 10
        else:
            total = (total + section + digit) * _MYRIADS[sign]
            section, digit, scale = 0, 0, _MYRIADS[sign] // 10
    return total + section + digit * max(scale, 1)
