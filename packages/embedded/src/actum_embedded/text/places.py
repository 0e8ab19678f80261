"""Places that are told in several parts: `Riga, Latvia`, `Healdsburg, CA`, `221B Baker Street, Berkeley, CA, USA`, and
streets with a number.

One place, and not two: what follows the comma is a region or a country, or has two capital letters as the short name of
one has. Knows the names of `regions.csv` and the countries; of another one it takes it to be a region where `in` or a
word like it stands before and nothing else is listed after. Limits: names in Latin letters, written in capitals.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from .lexicon import is_han, lexicon, table


class FoundPlace(NamedTuple):
    """A place of several parts, and where it stands."""

    start: int
    end: int


_WORD = r"[A-ZÀ-ÖØ-Þ][\w.'’-]*"
_STREET = re.compile(rf"(?<!\w)\d+[A-Za-z]?(?:\s{_WORD})+,\s*$")
_ADDRESS = re.compile(
    rf"(?<![\w.-])(?:No\.\s?)?\d+[A-Za-z]?(?:,?\s{_WORD}){{1,4}}?"
    r"\s(?:Street|Avenue|Road|Boulevard|Lane|Drive|Way|Court|Square|Parkway|Highway|(?:St|Ave|Rd|Blvd|Ln|Dr|Ct|Sq|Hwy)\b\.?)"
    rf"(?!\w)(?:,\s?(?!I\b)(?:{_WORD}|#?\d\w*)(?:\s(?:{_WORD}|\d\w*)){{0,3}}(?=[,.;!?\"')]|\s*$|\s[a-z]))*"
)
"""A street with its number, and what follows it in capitals: `123 Main St, Springfield, IL 62701`."""

_SENTENCE_END = re.compile(r"(?<=[a-z]{4})\.\s")
"""No short word such as `St.` stands before it."""

_OTHER = re.compile(rf",\s((?!I\b){_WORD}(?:\s{_WORD})?)(?=[.?!]*\s*$|[.?!]\s|\s(?!and\b|or\b)[a-z])")
_AT = re.compile(r"\b(?:in|at|near|from)\s$", re.IGNORECASE)


def find_places(text: str, names: Sequence[tuple[int, int]], cities: Sequence[tuple[int, int]]) -> Iterator[FoundPlace]:
    """The addresses, and the places of several parts that begin with one of the names or cities.

    Args:
        text: the text.
        names: where runs of capitals stand.
        cities: where the names of cities stand that are known.
    """
    ends: list[int] = []
    for address in _ADDRESS.finditer(text):
        ends.append(address.start() + len(_SENTENCE_END.split(address[0], maxsplit=1)[0].rstrip(".")))
        yield FoundPlace(address.start(), ends[-1])
    for start, end in sorted({*names, *cities}):
        if any(start < other for other in ends) or is_han(text[start:end]):
            continue
        last = _end_of_regions(text, end)
        if last == end and _AT.search(text[:start]) and text[start:end].casefold() not in _known():
            other = _OTHER.match(text, end)
            last = other.end() if other and not any(s == other.start(1) for s, _ in cities) else end
        street = _STREET.search(text[:start])
        if street is not None or last > end:
            ends.append(last)
            yield FoundPlace(street.start() if street else start, last)


def _end_of_regions(text: str, end: int) -> int:
    """Where the regions end that follow a name; a region that is the name of a city as well ends it."""
    while (match := _region().match(text, end)) is not None:
        end = match.end()
    return end


def region_named(name: str) -> tuple[str, str] | None:
    """The short name of a region and its country, by one of its names; None when it is none."""
    return _regions().get(name.casefold())


@cache
def _regions() -> dict[str, tuple[str, str]]:
    rows = table("regions")
    return {name.casefold(): (row["region"], row["country"]) for row in rows for name in row["names"].split("|")}


@cache
def _known() -> frozenset[str]:
    countries = {word for word, names in lexicon().names.items() if any(name.kind == "country" for name in names)}
    return frozenset({*countries, *_regions()})


@cache
def _region() -> re.Pattern[str]:
    cities = {word for word, names in lexicon().names.items() if any(name.kind == "city" for name in names)}
    states = set(_regions())
    plain = sorted((word for word in (_known() - cities) | states if word.isascii() and len(word) > 3), key=len)
    named = "|".join(re.escape(word).replace(r"\ ", r"\s") for word in plain[::-1])
    codes = {row["code"] for row in table("country_codes")} | {code for code, _ in _regions().values() if code} | {"UK"}
    short = "|".join(sorted(codes, key=len, reverse=True))
    return re.compile(rf",\s?(?:(?:{short})(?![\w'’])|U\.?S\.?A\b\.?|UAE\b|U\.K\.|D\.C\.|(?i:{named})(?![\w'’]))")
