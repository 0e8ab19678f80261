"""Finds values in texts, also where a value is written otherwise than it came. Pure.

Found are other cases (`12 ELM STREET`), other blanks and line ends, signs without a width in between, digits in groups
(`73,250`, `DE77 1203`) or of other scripts, letters with their accents apart, and the forms in which a program writes a
text: JSON (also in ASCII alone, and inside of JSON), HTML, a part of a web address, base64 (both alphabets) and hex.

Of a longer value the beginning is found, too: an error that quotes a value cuts the value.

What is not found: a value in other words, another part of a value, a value that was turned around, reckoned with or
encrypted, and `true`, `false` and `null`, which stand everywhere.
"""

from __future__ import annotations

import json
import re
import unicodedata
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterator
from html import escape
from urllib.parse import quote, quote_plus

from ..core.json import Json, dumps
from .origins import written

INSIDE_MIN = 4
"""A text of fewer characters, as it is compared, is looked for as a whole value, and not inside of other texts."""
PART_MIN = 20
"""A beginning of a value with this number of characters stands for the value."""
BEGINNINGS_MAX = 100
"""Of more beginnings a pattern is slower than a look at each place of a text."""
_GAP = re.compile(r"(?<=[0-9])[\s.,'’_/-](?=[0-9])|(?<=\s)\s+|[\u00ad\u200b-\u200d\u2060\ufeff]+")
"""What is left out where texts are compared: one mark between two digits, all blanks of a row but the first, and signs
without a width."""
_MARKUP = re.compile("[&<>\"']")
_BLANK = re.compile(r"\s")


class ValueTexts:
    """Values, each with what is said in the place of the value.

    >>> values = ValueTexts()
    >>> values.add(73250, "[salary]")
    >>> values.replaced("She earns 73,250.50 EUR: 7 3 2 5 0")
    'She earns [salary].50 EUR: [salary]'
    """

    def __init__(self) -> None:
        self._told: dict[str, str] = {}
        self._added: set[str] = set()
        self._lengths: dict[str, list[int]] = {}  # of the texts that begin with these characters
        self._long: dict[str, list[str]] = {}  # by their beginnings
        self._short: set[str] = set()
        self._pattern: re.Pattern[str] | None = None

    def __bool__(self) -> bool:
        return bool(self._told)

    def add(self, value: Json, told: str) -> None:
        """Take in a value. Of two values that read the same, the first counts."""
        if value is None or isinstance(value, bool):
            return
        text = _written(value)
        if len(compared := _compared(text)[0]) < INSIDE_MIN:
            self._short.add(compared)
            return
        if text in self._added:
            return
        self._added.add(text)
        for form in _forms(text):
            key = _compared(form)[0]
            if key not in self._told:
                self._told[key], self._pattern = told, None
                lengths = self._lengths.setdefault(key[:INSIDE_MIN], [])
                if len(key) not in lengths:
                    lengths.append(len(key))
                    lengths.sort(reverse=True)
                if len(key) > PART_MIN:
                    self._long.setdefault(key[:PART_MIN], []).append(key)

    def told(self, value: Json) -> str:
        """What is said in the place of a whole value; empty where it is none of these values, or a short one."""
        return self._told.get(_compared(_written(value))[0], "") if self._told else ""

    def is_in(self, text: str) -> bool:
        """Whether a text has one of the values in it, or is a short one."""
        compared, _ = _compared(text)
        return compared in self._short or next(self._found(compared), None) is not None

    def replaced(self, text: str, heard: Callable[[str], object] = id) -> str:
        """A text with something else in the place of each value.

        Args:
            text: the text.
            heard: is told what is said in the place of each value that was found.
        """
        if not self._told or len(text) < INSIDE_MIN:
            return text
        compared, left_out = _compared(text)
        parts: list[str] = []
        end, places = 0, _Places(left_out)
        for begin, length, key in self._found(compared):
            told = self._told[key]
            heard(told)
            parts += [text[end : places.at(begin)], told]
            end = places.at(begin + length - 1) + 1
        return "".join([*parts, text[end:]]) if parts else text

    def _found(self, compared: str) -> Iterator[tuple[int, int, str]]:
        """Where values stand in a text, or the beginnings of values, with their lengths: the longest at each place."""
        end = 0
        for at in self._places(compared):
            for length in self._lengths.get(compared[at : at + INSIDE_MIN], ()) if at >= end else ():
                if (key := compared[at : at + length]) in self._told:
                    yield at, length, key
                    end = at + length
                    break
            else:
                if at >= end and (begun := self._long.get(compared[at : at + PART_MIN])):
                    length, key = max([(_shared(each, compared, at), each) for each in begun])
                    yield at, length, key
                    end = at + length

    def _places(self, compared: str) -> Iterator[int]:
        """Where a value may begin."""
        if len(self._lengths) > BEGINNINGS_MAX:
            yield from range(len(compared) - INSIDE_MIN + 1)
        elif self._lengths:
            if self._pattern is None:
                self._pattern = re.compile("|".join(map(re.escape, self._lengths)))
            found = self._pattern.search(compared)
            while found is not None:
                yield found.start()
                found = self._pattern.search(compared, found.start() + 1)


def with_inner(value: Json) -> Iterator[Json]:
    """A value as a whole, and each value in it: by these it is found again."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, dict):
            waiting += item.values()
        elif isinstance(item, list):
            waiting += item


class _Places:
    """Places of a text by the places of the text that is compared. They are asked for from the first to the last.

    Args:
        left_out: what was left out: the begin and the end of each gap.
    """

    def __init__(self, left_out: list[tuple[int, int]]) -> None:
        self._left_out = left_out
        self._next = self._more = 0

    def at(self, place: int) -> int:
        while self._next < len(self._left_out) and self._left_out[self._next][0] <= place + self._more:
            begin, end = self._left_out[self._next]
            self._next, self._more = self._next + 1, self._more + end - begin
        return place + self._more


def as_text(value: Json) -> str:
    """A text as it is, and another value as JSON."""
    return value if isinstance(value, str) else dumps(value)


def _written(value: Json) -> str:
    return written(value) if isinstance(value, float) else as_text(value)


def _shared(key: str, text: str, at: int) -> int:
    """The number of characters that a key and a text have in common, where the first `PART_MIN` are."""
    length, most = PART_MIN, min(len(key), len(text) - at)
    while length < most and key[length] == text[at + length]:
        length += 1
    return length


def _forms(text: str) -> Iterator[str]:
    """The forms in which a program writes a text."""
    whole = text.encode("utf-8", "surrogatepass")
    yield text
    for said in dict.fromkeys([dumps(text)[1:-1], json.dumps(text)[1:-1]]):
        yield said
        yield dumps(said)[1:-1]
    for encode in (b64encode, urlsafe_b64encode):
        yield (base64 := encode(whole).decode())
        yield base64.rstrip("=")
    yield quote(whole, safe="")
    yield quote_plus(whole)
    yield whole.hex()
    if not text.isascii():
        yield unicodedata.normalize("NFC", text)
        yield unicodedata.normalize("NFD", text)
    if _MARKUP.search(text):
        escaped = escape(text, quote=False)
        yield escaped
        for double, single in (("&quot;", "&#x27;"), ("&#34;", "&#39;"), ("&quot;", "&apos;")):
            yield escaped.replace('"', double).replace("'", single)


def _compared(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text as it is compared, and the places of what was left out."""
    folded = text.lower() if text.isascii() else text.translate(_FOLDED)
    folded = _BLANK.sub(" ", folded)
    left_out = [found.span() for found in _GAP.finditer(folded)]
    return (_GAP.sub("", folded) if left_out else folded), left_out


class _Folded(dict[int, str]):
    """The plain form of one character in lower case, for `str.translate`: of the same length, so that places stay."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        plain = unicodedata.normalize("NFKC", char).lower()
        self[code] = found = plain if len(plain) == 1 else char
        if found.isdecimal():
            self[code] = found = str(unicodedata.decimal(found))
        return found


_FOLDED = _Folded()
