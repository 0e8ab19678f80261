"""The numbers, dates and percentages of a text, each in one spelling. Pure.

>>> sorted(numbers_in("On March 30, 2022 it cost 1,234 euros, 50 percent of 2.5 million"))
['1234', '2022-03-30', '2500000', '50%']
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal

_MONTHS = "january february march april may june july august september october november december".split()  # noqa: SIM905
_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" if len(name) > 3 else name for name in _MONTHS) + "|sept"
_NUMBER = r"\d{1,3}(?:[, ']\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_DATES = (
    re.compile(r"(?<![\d.])(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?![\d.-])"),
    re.compile(r"(?:(?P<y>\d{4})\s*年\s*)?(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]"),
    re.compile(r"(?P<y>\d{4})\s*年\s*(?P<m>\d{1,2})\s*月(?P<d>)"),
    re.compile(rf"\b(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<y>\d{{4}})\b)?", re.IGNORECASE),
    re.compile(
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?\.?(?: of)? (?P<n>{_MONTH})\b\.?(?:,? (?P<y>\d{{4}})\b)?", re.IGNORECASE
    ),
    re.compile(rf"\b(?P<n>{_MONTH})\.?,? (?P<y>\d{{4}})\b(?P<d>)", re.IGNORECASE),
)
"""The year or the day may be missing."""
_SCALES = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
    "k": 1_000, "m": 10**6, "bn": 10**9, "百": 100, "千": 1_000, "万": 10**4, "亿": 10**8,
}  # fmt: skip
_SCALE = "hundred|thousand|million|billion|trillion|百|千|万|亿"
_LETTER = "[^\\W\\d_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""A letter of a script that puts blanks between words."""
_TOKEN = re.compile(
    rf"(?P<word>{_LETTER}+\d+(?:\.\d+)*(?:{_LETTER}|\d)*)|(?P<version>\d+(?:\.\d+){{2,}})|"
    rf"(?P<minus>(?<![^\s(])[-\u2212](?=\d))?(?P<number>{_NUMBER})\s*"
    rf"(?P<scale>(?:{_SCALE})(?:万|亿)?)?\s*(?P<percent>%|percent\b|per cent\b)?",
    re.IGNORECASE,
)
_PERCENT_ZH = re.compile(rf"百分之\s*({_NUMBER}|[零〇一二两三四五六七八九十百千]+)")
_SMALL = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60,
    "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_WORD_RUN = re.compile(
    rf"\b(?:(?:{'|'.join(_SMALL)}|hundred|thousand|million|billion)(?:(?:[ -]and)?[ -]|\b))+"
    r"(?P<p>percent\b|per cent\b)?",
    re.IGNORECASE,
)
_HAN_RUN = re.compile("[零〇一二两三四五六七八九十百千万亿]+")
_DIGITS = {sign: number for number, sign in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}


def numbers_in(text: str, *, words: bool = False) -> set[str]:
    """The numbers of a text: as decimals, percentages as `50%`, dates as `2022-03-30`, `03-30` and `2022-03`.

    Args:
        text: the text.
        words: numbers in words count, too: `three`, `一百二十`; and so do the parts of a date, and a number without its
            sign. It is for the text that backs another one.
    """
    text = unicodedata.normalize("NFKC", text)
    found: set[str] = set()
    for date in _DATES:
        text = date.sub(lambda match: _take_date(match, found, parts=words), text)
    for match in _PERCENT_ZH.finditer(text):
        said = match[1]
        found.add(f"{_plain(said) if said[0].isdigit() else _of_han(said)}%")
    text = _PERCENT_ZH.sub(" ", text)
    for match in _TOKEN.finditer(text):
        if match["number"] is None:
            found.add((match["word"] or match["version"]).casefold().removeprefix("v"))
            continue
        value = _plain(match["number"], match["scale"] or "") + ("%" if match["percent"] else "")
        found.add(f"-{value}" if match["minus"] else value)
        if words:
            found.add(value)
    if words:
        text = _TOKEN.sub(" ", text)
        for match in _WORD_RUN.finditer(text):
            value = str(_of_words(match[0]))
            found.update({value, f"{value}%"} if match["p"] else {value})
        found.update(str(_of_han(match[0])) for match in _HAN_RUN.finditer(text))
    return found


def _take_date(match: re.Match[str], found: set[str], *, parts: bool) -> str:
    said = match.groupdict()
    name = (said.get("n") or "").casefold()
    month = next((number for number, each in enumerate(_MONTHS, 1) if name and each[:3] == name[:3]), None)
    month = month or int(said.get("m") or 0)
    year, day = int(said["y"] or 0), int(said["d"] or 0)
    is_verb = not year and name and not match["n"][0].isupper()  # "30 may enter"
    if is_verb or not 1 <= month <= 12 or day > 31 or (said["d"] and not day):
        return match[0]
    of_year, of_day = f"{year:04}-{month:02}", f"{month:02}-{day:02}"
    found.add(f"{year:04}-{of_day}" if year and day else of_day if day else of_year)
    if parts:
        found.update(({of_year, str(year)} if year else set()) | ({of_day} if day else set()))
    return " "


def _plain(number: str, scale: str = "") -> str:
    value = Decimal(re.sub(r"[, ']", "", number))
    for each in re.findall(_SCALE, scale.casefold()):
        value *= _SCALES[each]
    told = f"{value:f}"
    return told.rstrip("0").rstrip(".") if "." in told else told


def _of_words(text: str) -> int:
    whole = part = 0
    for word in re.findall(r"[a-z]+", text.casefold()):
        if word in _SMALL:
            part += _SMALL[word]
        elif word == "hundred":
            part = max(part, 1) * 100
        elif word in _SCALES:
            whole, part = whole + max(part, 1) * _SCALES[word], 0
    return whole + part


def _of_han(text: str) -> int:
    if all(sign in _DIGITS for sign in text):
        return int("".join(str(_DIGITS[sign]) for sign in text))
    whole = part = digit = 0
    for sign in text:
        if sign in _DIGITS:
            digit = _DIGITS[sign]
        elif sign in "十百千":
            part, digit = part + (digit or 1) * {"十": 10, "百": 100, "千": 1_000}[sign], 0
        else:
            whole, part, digit = (whole + part + digit or 1) * _SCALES[sign], 0, 0
    return whole + part + digit
