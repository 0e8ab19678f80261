"""Numbers that several signs say together: each coefficient of `2x² - 3x + 1`, `5'11"`, `33.87° S, 151.2° E`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from .numerals import Number, is_quantity, tidy


class Figure(NamedTuple):
    """A number, where it stands, and what it is one of.

    Attributes:
        start, end: its own signs.
        whole: from where to where the numbers inside mean nothing by themselves.
        value: the number.
        detail: as of a `Span`: its quantity and unit; `term:1/2` of the term with x in a polynomial of degree 2.
    """

    start: int
    end: int
    whole: tuple[int, int]
    value: Number
    detail: str


def find_figures(text: str) -> list[Figure]:
    """The numbers of a text that are said so."""
    found = [*_coefficients(text), *_heights(text), *_coordinates(text)]
    return [each for each in found if is_quantity(each.value)]


_TERM = re.compile(
    r"\s*(?P<sign>[-+−])?\s*(?:(?P<number>\d+(?:\.\d+)?)(?!\d)\s*\*?\s*)?"
    r"(?:(?P<letter>[a-z])(?![A-Za-z])(?:(?:\^|\*\*)(?P<power>\d)|(?P<raised>[²³⁴]))?)?"
)
_FIRST = re.compile(r"(?<![\w.^*/(])(?=[-−]?\s?(?:\d+(?:\.\d+)?)?\s?\*?[a-z](?:\^|\*\*|[²³⁴]))")
_OPERATORS = tuple("+-−*/^=(")
_RAISED = {"²": 2, "³": 3, "⁴": 4}
_RIGHT = re.compile(r"\s*=\s*(?P<number>-?\d+(?:\.\d+)?)(?![\w^*])")


def _coefficients(text: str) -> Iterator[Figure]:
    """Those of the polynomials of one unknown, of a degree of 2 or more."""
    end = 0
    for match in _FIRST.finditer(text):
        if match.start() < end or text[: match.start()].rstrip()[-1:] in _OPERATORS:
            continue  # the rest of one with two unknowns is no polynomial of its own
        terms = list(_terms(text, match.start()))
        right = _RIGHT.match(text, terms[-1].end()) if terms else None
        if len(terms) < 2 and right is None:
            continue
        end = right.end() if right else terms[-1].end()
        powers = [_power(term) for term in terms]
        if max(powers, default=0) < 2 or len(set(powers)) < len(powers):
            continue
        for term, power in zip(terms, powers, strict=True):
            value = _coefficient(term)
            if right is not None and power == 0:
                value -= float(right["number"])
            first = term.start() + len(term[0]) - len(term[0].lstrip())
            last = term.end("number") if term["number"] else term.end()
            yield Figure(first, last, (match.start(), end), tidy(value), f"term:{power}/{max(powers)}")
        if right is not None:
            yield from _absent(right, powers, (match.start(), end))


def _absent(right: re.Match[str], powers: list[int], whole: tuple[int, int]) -> Iterator[Figure]:
    """The terms that an equation leaves out; they stand where its right side is."""
    if 0 not in powers:
        yield Figure(*right.span("number"), whole, tidy(-float(right["number"])), f"term:0/{max(powers)}")
    left_out = [power for power in range(1, max(powers)) if power not in powers]
    if len(left_out) == 1:
        equals = right.start() + right[0].index("=")
        yield Figure(equals, equals + 1, whole, 0, f"term:{left_out[0]}/{max(powers)}")


def _terms(text: str, start: int) -> Iterator[re.Match[str]]:
    letter = ""
    while (term := _TERM.match(text, start)) is not None and (term["number"] or term["letter"]):
        if letter and (not term["sign"] or (term["letter"] or letter) != letter):
            return
        letter = letter or term["letter"] or ""
        yield term
        start = term.end()


def _power(term: re.Match[str]) -> int:
    return 0 if not term["letter"] else int(term["power"] or _RAISED.get(term["raised"] or "", 1))


def _coefficient(term: re.Match[str]) -> float:
    return float(term["number"] or 1) * (-1 if term["sign"] in ("-", "−") else 1)


_HEIGHT = re.compile(
    r"(?<![\w.'])(?P<feet>\d)(?:\s?(?:feet|foot|ft)\b\.?(?:\s?and)?\s?|['’′]\s?)(?P<inches>1[01]|\d)(?!\d)"
    r"(?:\s?(?:inch(?:es)?|in)\b|[\"”″]|'')?",
    re.IGNORECASE,
)


def _heights(text: str) -> Iterator[Figure]:
    """Feet and inches, as inches."""
    for match in _HEIGHT.finditer(text):
        yield Figure(*match.span(), match.span(), 12 * int(match["feet"]) + int(match["inches"]), "length:in")


_PAIR = re.compile(
    r"(?P<north>\d+(?:\.\d+)?)(?:\s?°)?\s?(?P<pole>[NS])(?:orth|outh)?\b[,;\s]+(?:and\s+)?"
    r"(?P<east>\d+(?:\.\d+)?)(?:\s?°)?\s?(?P<side>[EW])(?:ast|est)?\b",
    re.IGNORECASE,
)
_ON_GLOBE = re.compile(r"(?P<side>北纬|南纬|东经|西经)\s*(?P<number>\d+(?:\.\d+)?)\s*[°度]?")


def _coordinates(text: str) -> Iterator[Figure]:
    """Latitude and longitude, less than 0 in the south and in the west."""
    for match in _PAIR.finditer(text):
        for number, side in (("north", "pole"), ("east", "side")):
            value = float(match[number]) * (-1 if match[side] in "SWsw" else 1)
            yield Figure(match.start(number), match.end(side), match.span(), value, "")
    for match in _ON_GLOBE.finditer(text):
        value = float(match["number"]) * (-1 if match["side"] in ("南纬", "西经") else 1)
        yield Figure(*match.span("number"), match.span("number"), value, "")
