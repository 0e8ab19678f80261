"""The typed pieces of a question that can become an argument: numbers, dates, places, quotes, names, ... each with
where it stands.

Spans of different kinds may overlap: `1001` is a number and may be somebody's id. Which one an argument takes, and
that no two arguments take the same words, is decided in `arguments`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from actum.core.json import Json

from .alternatives import any_of
from .dates import FoundDate, find_dates, find_months
from .expressions import find_expressions
from .figures import find_figures
from .lexicon import HAN, fold, is_han, lexicon, wordset
from .numerals import FoundNumber, find_numbers
from .places import find_places
from .times import FoundTime, find_times
from .words import LETTER, Term, Token, tokenize


class Span(NamedTuple):
    """A piece of the question and what it may mean.

    Attributes:
        kind: `number`, `unit`, `currency`, `expression`, `date`, `time`, `month`, `city`, `country`, `language`,
            `email`, `url`, `file`,
            `code`, `quoted`, `sql`, `name` (capitalised words), `chunk` (Chinese that no lexicon knows), `phrase`
            (English likewise), `word` (one that the lexicon knows), `attachment`.
        start, end: where it stands; equal when it is implied and not said.
        text: the words.
        value: what an argument gets.
        detail: of a number the unit that it counts, of a unit its quantity, of a name of a closed class its key.
        operands, operators: of an expression.
    """

    kind: str
    start: int
    end: int
    text: str
    value: Json
    detail: str = ""
    operands: tuple[int | float, ...] = ()
    operators: tuple[str, ...] = ()

    def overlaps(self, other: Span) -> bool:
        """They share a character."""
        return self.start < other.end and other.start < self.end


_EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
_URL = re.compile(
    rf"(?:https?|ftp|file)://[^\s{HAN}，。；！？“”‘’《》「」]+|(?<!{LETTER})www\.[^\s{HAN}，。]+|(?<!{LETTER})[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|io|cn|dev|edu|gov)(?!{LETTER})(?:/[^\s{HAN}，。]*)?",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"“([^”]+)”|„([^“”]+)[“”]|\"([^\"]+)\"|「([^」]+)」|『([^』]+)』|《([^》]+)》|`([^`]+)`|‘([^’]+)’(?!\w)|(?<!\w)'([^']+(?:'\w[^']*)*)'(?!\w)"
)
_SQL = re.compile(r"\b(?:select\s.+?\sfrom\s|with\s+\w+\s+as\s*\(\s*select\b).*", re.IGNORECASE | re.DOTALL)
_FILE = re.compile(
    rf"(?<!{LETTER})[A-Za-z]:[\\/](?:[\w./\\-]*?\.[A-Za-z][A-Za-z0-9]{{0,7}}(?![A-Za-z0-9./\\-])|[\w./\\-]+)"
    rf"|(?<!{LETTER})(?<![@/.])~?/(?=[A-Za-z_.])[A-Za-z0-9_.*-]+(?:/[A-Za-z0-9_.*-]+)+/?"
    r"|~(?:/[A-Za-z0-9_.*-]+)+/?|(?<![^\s的到在从取])/[A-Za-z][A-Za-z0-9_.*-]*"
    rf"|(?<![\w@/.])(?!{LETTER}*[{HAN}]+~?/[A-Za-z])(?:[\w.*?\[\]-]+/)*(?:[\w*?\[\]-]+\.)+(?:[A-Za-z][A-Za-z0-9]{{0,7}}|\*)(?!{LETTER}|[/@])"
    rf"|(?<![\w@/])(?![{HAN}]*\d+(?:\.\d+)?[A-Za-zµ{HAN}]+/)(?=[\d/]*[A-Za-z_.])(?:[\w.-]+/)+[\w.*-]*"
    r"|(?<![\w)])\*[\w*-]*\.[\w.*-]+|(?<![\w.])\.[a-z]{2,5}\b"
)
_DIALLED = (
    rf"(?<!{LETTER})(?<![.-])(?:\+\d{{8,15}}|"
    rf"\+\d{{1,3}}(?:[ -]\d{{2,4}}){{2,4}}|1[3-9]\d[ -]\d{{4}}[ -]\d{{4}}"
    rf"|\d{{3}}-\d{{3,4}}-\d{{4}}|0\d{{2,3}}-\d{{7,8}}"
    r"|\d{1,3}-\d+-\d+-[\dX]|\d{5,}-\d\d-0\d+|(?!(?:19|20)\d\d-)\d{4,}-0\d+)"
    rf"(?!{LETTER}|[-.]\d)"
)
"""Digits that count nothing: telephone numbers, ISBNs, references."""

_NETWORK = re.compile(rf"(?<!{LETTER})(?<![.-])\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d\d?)?(?!{LETTER}|\.\d)")

_CODE = re.compile(
    r"[京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼][A-Z][A-Z0-9]{5,6}(?![A-Za-z0-9])"
    rf"|(?<!{LETTER})(?<![.@/-])#?(?!\d{{4}}-\d\d?-\d)(?=[A-Za-z0-9_-]*\d)(?=[A-Za-z0-9_-]*[A-Za-z])"
    rf"[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?!{LETTER}|[/@年]|\.\d)"
    rf"|(?<=[{HAN}])[A-Za-z]+(?:_[A-Za-z0-9]+)+(?!{LETTER}|[/@(])"
    rf"|(?<!{LETTER})(?<![.@/-])[A-Za-z]+(?:_[A-Za-z0-9]+)+(?=[{HAN}])"
    rf"|(?<![\w-])#\d+|(?<!{LETTER})(?<![.-])[A-Z]{{2,6}}(?!{LETTER}|[.-])"
    rf"|{_DIALLED}"
)
_TERM = (
    r"(?>(?:\d+(?:\.\d+)?\s?\*?\s?)?(?:(?:sin|cos|tan|log|ln|exp|sqrt)\s?\([^()]*\)|\([^()]*[+*/^-][^()]*\)|[A-Za-z](?![A-Za-z'’]))"
    r"|\d+(?:\.\d+)?)(?>\s?(?:\^|\*\*)\s?\(?-?\w+\)?)?+"
)
_ROW = rf"{_TERM}(?:\s*(?:[-+*/]\s*)?{_TERM})*+"
"""Terms one after the other. What was taken is never given back (`(?>`, `*+`): else there are as many ways to read
`2x 2x 2x ...` as it has subsets, and one message takes an hour.
"""

_FORMULA = re.compile(rf"(?<!{LETTER})(?<![\d.^])-?{_TERM}(?:\s*[-+*/]\s*{_TERM})*+(?!{LETTER})")
_EQUATION = re.compile(rf"(?<!{LETTER})(?<![\d.^])-?{_ROW}(?:\s*=\s*-?{_ROW})++(?!{LETTER})")
_MEASURED = re.compile(r"\d+[A-Za-z]{1,3}|\d+(?:-[a-z]{2,})+|\d+[eE]\d+|\d+[xX]\d+|(?:sin|cos|tan|log|ln)\d+")
"""`70kg`, `298K`, `4-day`, `2e30`, `5x10`, `cos60`: a number with its neighbours, more likely than a code."""

_NUMBERED = re.compile(r"[A-Z]{2,3}\d{3,}")
"""`ISO3200`: beside Chinese perhaps a word and its number."""

_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)", re.IGNORECASE)


def plain_spans(text: str, today: date) -> list[Span]:
    """The pieces that can be told before the text is cut into words: addresses, quotes, codes, dates, times."""
    return [*_plain(text), *_dated(text, today)]


def find_spans(text: str, fixed: Sequence[Span], tokens: Sequence[Token], terms: Sequence[Term]) -> list[Span]:
    """All typed pieces of a text, in the order of their places.

    Args:
        text: the text.
        fixed: its plain spans.
        tokens: its words.
        terms: what it may be found by.
    """
    masked = [
        (span.start, span.end) for span in fixed if span.kind not in ("quoted", "month") and not _numbered(text, span)
    ]
    figures = find_figures(text)
    replaced = [*masked, *(each.whole for each in figures)]
    numbers = [
        number
        for number in find_numbers(text)
        if not _inside(number.start, number.end, replaced) and not (number.words and _part_of_word(number, tokens))
    ]
    formulas = list(_formulas(text))
    spans = [*fixed, *_named(text), *formulas, *_unknowns(text, formulas)]
    spans += _measures(text, numbers)
    spans += [
        Span("number", each.start, each.end, text[each.start : each.end], each.value, each.detail) for each in figures
    ]
    for found in find_expressions(text, numbers, masked):
        spans.append(
            Span(
                "expression",
                found.start,
                found.end,
                text[found.start : found.end],
                found.text,
                "",
                found.operands,
                found.operators,
            )
        )
    masked += [(span.start, span.end) for span in spans if span.kind in _CLOSED]
    spans += _proper_names(text, tokens, masked)
    whole = list(_places_of_parts(text, spans))
    spans += whole
    masked += [(span.start, span.end) for span in whole]
    spans += _unknown_words(text, tokens, terms, masked)
    spans += _known_words(tokens, terms, masked)
    return sorted(set(spans), key=lambda span: (span.start, -span.end, span.kind))


_CLOSED = ("city", "country", "language", "expression", "unit", "currency")


def _numbered(text: str, span: Span) -> bool:
    """It may be a word and its number as well as a code, beside Chinese: `ISO3200`."""
    return span.kind == "code" and bool(_NUMBERED.fullmatch(span.text)) and _beside_han(text, span.start, span.end)


def _inside(start: int, end: int, places: Sequence[tuple[int, int]]) -> bool:
    return any(start < other_end and other_start < end for other_start, other_end in places)


def _part_of_word(number: FoundNumber, tokens: Sequence[Token]) -> bool:
    """一 in 哪一天."""
    return any(
        token.kind == "known"
        and token.start <= number.start
        and number.end <= token.end
        and len(token.text) > number.end - number.start
        for token in tokens
    )


def _plain(text: str) -> Iterator[Span]:
    """What its signs alone give away."""
    taken: list[tuple[int, int]] = []
    for kind, pattern in (
        ("sql", _SQL),
        ("email", _EMAIL),
        ("url", _URL),
        ("code", _NETWORK),
        ("file", _FILE),
        ("code", _CODE),
    ):
        for match in pattern.finditer(text):
            whole = match[0].rstrip(_NO_END[kind]) if kind in _NO_END else match[0]
            counted = bool(_ORDINAL.fullmatch(whole) or (kind == "code" and _MEASURED.fullmatch(whole)))
            if not whole or counted or _inside(match.start(), match.start() + len(whole), taken):
                continue
            for start, said in _files(whole) if kind == "file" and is_han(whole) else ((0, whole),):
                taken.append((match.start() + start, match.start() + start + len(said)))
                yield Span(kind, *taken[-1], said, said.lstrip("#"))
    for match in _KIND_OF_FILE.finditer(text):
        if not _inside(*match.span(), taken):
            yield Span("file", match.start(), match.end(), match[0], f"*.{match[0].lower()}")
    for match in _QUOTED.finditer(text):
        inner = next(group for group in match.groups() if group is not None)
        yield Span("quoted", match.start(), match.end(), match[0], inner.strip())


def _files(said: str) -> Iterator[tuple[int, str]]:
    """The names of files in signs that touch, and where each begins: both of 把草稿.docx改名叫终稿.docx."""
    cuts = [match.end() for match in _ENDING.finditer(said)]
    for start, end in pairwise([0, *cuts, len(said)]):
        name = said[start:end]
        small = [token.end for token in tokenize(name) if token.text in wordset("before files zh")]
        first = max((each for each in small if each < name.find(".")), default=0)
        if "." in name or "/" in name:
            yield start + first, name[first:]


_ENDING = re.compile(rf"\.[A-Za-z][A-Za-z0-9]{{0,7}}(?=[{HAN}])")
_NO_END = {"url": ".,;:!?。'\"`>", "sql": ".,;:!?。", "file": ".,;:!?。"}
"""Signs with which one of the kind does not end."""


_KIND_OF_FILE = re.compile(
    rf"(?<!{LETTER})(?<![./*])(?:py|md|txt|csv|pdf|docx?|xlsx?|pptx?|json|ya?ml|toml|html|log|png|jpe?g|zip|sql)"
    r"(?=\s?(?:文件|文档|格式|图片|照片|图|表格|表|幻灯片|脚本|压缩包|files?\b))",
    re.IGNORECASE,
)
"""What files of a kind end by, where they are spoken of: 所有的py文件, `all csv files`."""


def _beside_han(text: str, start: int, end: int) -> bool:
    return is_han(text[max(start - 1, 0) : start]) or is_han(text[end : end + 1])


def _formulas(text: str) -> Iterator[Span]:
    """Formulas with a letter in them: `3x^2 + 2x - 1`, `e^x`."""
    for match in _FORMULA.finditer(text):
        said = match[0].strip()
        if re.search(r"[A-Za-z]", said) and re.search(r"\^|\*\*|[\dA-Za-z)]\s*[+*/]\s*[\dA-Za-z(]|\s-\s|\w\(", said):
            yield Span("formula", match.start(), match.start() + len(said), said, said)
            if re.fullmatch(r"\([^()]*\)", said):
                yield Span("formula", match.start() + 1, match.start() + len(said) - 1, said[1:-1], said[1:-1])
    for match in _EQUATION.finditer(text):
        if re.search(r"[A-Za-z]", match[0]):
            yield Span("equation", match.start(), match.end(), match[0], match[0])


def _unknowns(text: str, formulas: Sequence[Span]) -> Iterator[Span]:
    """The letters of the formulas where they stand alone: `... for t`."""
    letters = set(re.findall(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])", " ".join(each.text for each in formulas)))
    places = [(each.start, each.end) for each in formulas]
    for match in _LETTER_ALONE.finditer(text) if letters else ():
        if match[0] in letters and not _inside(*match.span(), places):
            yield Span("formula", match.start(), match.end(), match[0], match[0])


_LETTER_ALONE = re.compile(rf"(?<!{LETTER})(?<!['’])(?:[B-HJ-Zb-z]|a(?!\s+\w))(?!{LETTER}|['’])")


def _dated(text: str, today: date) -> Iterator[Span]:
    days, times = find_dates(text, today), find_times(text)
    days = sorted([*days, *_same_days(text, days, today)])
    for day in days:
        yield Span("date", day.start, day.end, text[day.start : day.end], day.iso)
    for month in find_months(text, today):
        yield Span("month", month.start, month.end, text[month.start : month.end], month.iso)
    for time in _apart(times, days):
        yield Span("time", time.start, time.end, text[time.start : time.end], time.text)
        near = [day for day in days if _TOGETHER.fullmatch(_between(text, day, time))]
        if near:
            start, end = min(near[0].start, time.start), max(near[0].end, time.end)
            yield Span("datetime", start, end, text[start:end], f"{near[0].iso}T{time.text}:00")


def _same_days(text: str, days: Sequence[FoundDate], today: date) -> Iterator[FoundDate]:
    """`That day` where a day was said before: 离那天还有几天."""
    for match in _THAT_DAY.finditer(text):
        before = [day for day in days if day.end <= match.start() and day.iso != today.isoformat()]
        if before and not any(day.start < match.end() and match.start() < day.end for day in days):
            yield FoundDate(match.start(), match.end(), before[-1].iso)


_THAT_DAY = re.compile(r"那一?天|当天|当日|同一天|\b(?:that|the same) day\b", re.IGNORECASE)


def _apart(times: Sequence[FoundTime], days: Sequence[FoundDate]) -> Iterator[FoundTime]:
    """The times without what belongs to a day: of 今晚七点 the evening does."""
    for time in times:
        yield time._replace(start=max([time.start, *(day.end for day in days if day.start < time.start < day.end)]))


def _between(text: str, day: FoundDate, time: FoundTime) -> str:
    return text[min(day.end, time.end) : max(day.start, time.start)]


_TOGETHER = re.compile(r"\s*(?:at|on|,|的|T|around|about)?\s*", re.IGNORECASE)


_OTHER_NAMES = ("city", "country", "language")


@cache
def _name_patterns() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Places and languages; units and currencies after a number; those of them that may stand alone."""
    names = lexicon().names
    others = [word for word, kinds in names.items() if any(name.kind in _OTHER_NAMES for name in kinds)]
    measures = [word for word, kinds in names.items() if any(name.kind in ("unit", "currency") for name in kinds)]
    counted = "|".join(_counting(word) for word in sorted(measures, key=len, reverse=True))
    alone = (
        word for word in measures if len(word) > (1 if is_han(word) else 2) and word not in wordset("never units alone")
    )
    return (
        re.compile(any_of(word for word in others if len(word) > 1), re.IGNORECASE),
        re.compile(rf"(?:\s*|-)(?:{counted})", re.IGNORECASE),
        re.compile(any_of(alone), re.IGNORECASE),
    )


def _counting(word: str) -> str:
    """A unit where it may follow a number: `17GB是多少`."""
    pattern = re.escape(word).replace(r"\ ", r"\s+")
    return rf"{pattern}(?!{LETTER})" if word[-1].isascii() and word[-1].isalnum() else pattern


def _named(text: str) -> Iterator[Span]:
    for match in _name_patterns()[0].finditer(text):
        said = match[0]
        kinds = [name for name in lexicon().names[fold(said)] if name.kind in _OTHER_NAMES]
        too_short = (
            len(said) <= 3 and said.isascii() and not said.isupper()
        )  # `us` and `uk` are words unless written US
        if (said.isascii() and said.islower() and said in wordset("places that are words")) or too_short:
            continue
        article = len(said) - len(re.sub(r"^the\s+", "", said))
        start, said = match.start() + article, said[article:]
        yield from (Span(name.kind, start, match.end(), said, said, name.key) for name in kinds)


"""Units and currencies that are more often other words."""


def _measures(text: str, numbers: Sequence[FoundNumber]) -> Iterator[Span]:
    """Numbers with the units that they count, and the units that stand alone."""
    _, counted, alone = _name_patterns()
    attached: list[tuple[int, int]] = []
    for number in numbers:
        unit = _unit_after(text, number.end, counted) or _sign_before(text, number.start)
        if unit is not None:
            attached.append((unit.start, unit.end))
            yield unit
        said = text[number.start : number.end]
        value = _in_kelvin(text, said, number.value)
        if re.search(r"[A-Za-z)](?:\^|\*\*)$", text[: number.start]):
            continue  # the 2 of m/s^2 is no value
        yield Span("number", number.start, number.end, said, value, unit.detail if unit else "")
    for match in alone.finditer(text):
        if not _inside(match.start(), match.end(), attached):
            yield from _measure_spans(match.start(), match.end(), match[0], free=True)
    for match in _ASKED_UNIT.finditer(text):
        names = lexicon().names.get(fold(match[1]), ())
        if any(name.kind == "unit" for name in names) and not _inside(*match.span(1), attached):
            yield from _measure_spans(match.start(1), match.end(1), match[1], free=True)


def _in_kelvin(text: str, said: str, value: float) -> float:
    """298K is no thousands where temperatures are spoken of."""
    if re.fullmatch(r"\d+(?:\.\d+)?\s?K", said) and re.search(
        r"temperature|kelvin|\btemp\b|温度|开尔文", text, re.IGNORECASE
    ):
        return round(value / 1000, 6) if value % 1000 else value // 1000
    return value


_ASKED_UNIT = re.compile(
    rf"(?:\b(?:to|into|in|as|many|from)\s+|多少个?|几个?|换?成|为)(°?[A-Za-z²³/]{{1,4}}|[{HAN}])(?![A-Za-z0-9])"
)


def _unit_after(text: str, end: int, counted: re.Pattern[str]) -> Span | None:
    match = counted.match(text, end)
    if match is None:
        return None
    said = match[0].strip(" \t\n-")
    start = match.end() - len(said)
    if start == end and len(said) == 1 and said in "DGHSMTsd":
        return None  # 3D, 5G, the 80s
    letters = said.isascii() and said.isalpha() and len(said) <= 2
    if said.lower() == "in" and re.match(r"\s+(?!to\b|into\b|as\b)\w", text[match.end() :]):
        return None  # `3 in Berlin`
    if letters and said.lower() in ("st", "t", "d", "b", "f", "c", "h") and said.islower() and start > end:
        return None
    return next(_measure_spans(start, match.end(), said, free=False), None)


def _sign_before(text: str, start: int) -> Span | None:
    match = re.search(r"(US\$|HK\$|A\$|C\$|S\$|R\$|[$€£¥￥₹₩₽])\s*$", text[:start])
    return next(_measure_spans(match.start(1), match.end(1), match[1], free=False), None) if match else None


def _measure_spans(start: int, end: int, said: str, *, free: bool) -> Iterator[Span]:
    for name in lexicon().names.get(fold(said), ()):
        if name.kind == "unit":
            yield Span("unit", start, end, said, said, f"{name.extra}:{name.key}" + ":free" * free)
        elif name.kind == "currency":
            yield Span("currency", start, end, said, said, f"{name.key}" + ":free" * free)


def _proper_names(text: str, tokens: Sequence[Token], masked: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Runs of capitalised words: Ada Lovelace, Team Lunch, Turing Award."""
    run: list[Token] = []
    for index, token in enumerate([*tokens, Token("", len(text), len(text), "sign")]):
        capital = token.kind == "word" and token.text[0].isupper() and not _inside(token.start, token.end, masked)
        joined = not run or text[run[-1].end : token.start] in (" ", "-", "’", "'", ". ", ".")
        if capital and joined and not (token.functional and not run):
            run.append(token)
            if token.text.endswith(("'s", "’s")):
                yield from _name_of(text, run, tokens)
                run = []
            continue
        if run and token.text == "." and run[-1].end == token.start and run[-1].text.lower() in wordset("titles"):
            continue  # `Mr. John Doe`
        particle = run and token.text.lower() in wordset("name particles") and joined and index + 1 < len(tokens)
        if particle and tokens[index + 1].text[:1].isupper() and tokens[index + 1].kind == "word":
            run.append(token)
            continue
        yield from _name_of(text, run, tokens)
        run = [token] if capital and not token.functional else []


def _name_of(text: str, run: list[Token], tokens: Sequence[Token]) -> Iterator[Span]:
    words = list(run)
    while words and words[0] == tokens[0] and (words[0].functional or _is_concept(words[0].text)):
        words = words[1:]
    after = next((token for token in tokens if words and token.start >= words[-1].end), None)
    if len(words) == 1 and words[0] == tokens[0] and after is not None and after.functional and after.kind != "sign":
        return  # `Set the light`, `Play some jazz`
    while words and words[-1].text.lower() in wordset("name particles"):
        words = words[:-1]
    if words and words[0].text != "I":
        said = with_its_dot(text, words[0].start, words[-1].end)
        after = next((token for token in tokens if token.start >= words[-1].end), None)
        if after is not None and not after.functional:
            said = re.sub(r"['’]s$", "", said)  # of `Ada's birthday`; `a pizza from Luigi's` owns nothing
        yield Span("name", words[0].start, words[0].start + len(said), said, said)


def with_its_dot(text: str, start: int, end: int) -> str:
    """A piece with the dot behind it where that is a part of a short word: `Liverpool F.C.`, `Tesla Inc.`"""
    dotted = text[end : end + 1] == "." and _SHORT_WORD.search(text, start, end) is not None
    return text[start : end + dotted]


_SHORT_WORD = re.compile(r"\b(?:(?:[A-Z]\.)+[A-Z]|Inc|Ltd|Corp|Jr|Sr)$")


def _places_of_parts(text: str, spans: Sequence[Span]) -> Iterator[Span]:
    """`Riga, Latvia` beside `Riga` and `Latvia`."""
    names, cities = ([(span.start, span.end) for span in spans if span.kind == kind] for kind in ("name", "city"))
    for found in find_places(text, names, cities):
        said = text[found.start : found.end]
        yield Span("city", found.start, found.end, said, said, PARTS)


PARTS = "parts"
"""The detail of a place of several parts."""


def _is_concept(word: str) -> bool:
    return word.lower() in lexicon().phrase_starts or fold(word) in lexicon().names


def _known_words(tokens: Sequence[Token], terms: Sequence[Term], masked: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """Words that mean something to the lexicon; one that names no tool may be a value: the bedroom, 客厅."""
    meant = {(term.start, term.end) for term in terms if term.key[0] == "#" and term.weight == 1.0}
    for token in tokens:
        if (token.start, token.end) in meant and not token.functional and not _inside(token.start, token.end, masked):
            yield Span("word", token.start, token.end, token.text, token.text)


def _unknown_words(
    text: str, tokens: Sequence[Token], terms: Sequence[Term], masked: Sequence[tuple[int, int]]
) -> Iterator[Span]:
    """Runs of words that no lexicon knows: they may be a name in lower case, a topic, a Chinese name."""
    meant = [(term.start, term.end) for term in terms if term.key[0] == "#" and term.weight == 1.0]
    run: list[Token] = []
    for token in [*tokens, Token("", len(text), len(text), "sign")]:
        unknown = (
            token.kind in ("chunk", "word")
            and not token.functional
            and not _inside(token.start, token.end, [*meant, *masked])
        )
        bridge = token.text in ("·", "-", "•") and bool(run) and run[-1].end == token.start
        if (unknown and (not run or text[run[-1].end : token.start] in ("", " "))) or bridge:
            run.append(token)
            if not token.text.endswith(("'s", "’s")):
                continue
            unknown = False
        if run:
            said = re.sub(r"['’]s$|[·•-]$", "", text[run[0].start : run[-1].end])
            if len(said) > 1:
                yield Span("chunk" if is_han(said) else "phrase", run[0].start, run[0].start + len(said), said, said)
        run = [token] if unknown else []
