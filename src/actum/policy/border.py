"""Where a value ends inside a text: whether `ada` in a text stands for itself, or is a piece of `ada@example.com`.

A text has no marks around its addresses, links, numbers, names and ids. What surrounds a value decides: blanks,
brackets, quotation marks and commas end a value; a letter, a digit, or a connecting character (`.`, `-`, `@`, `/`, ...)
with a letter or digit behind it shows that the value is only a piece of something longer. A character that is not
known to end a value counts as a connecting one, invisible characters and accents among them.

Limits: Chinese and Japanese are written without blanks, so that a piece of a Chinese name can't be told from a whole
one. A name of several words, or a number written in groups (`DE77 1203`), has borders inside of it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

_Class = Literal["break", "connector", "letter", "han", "hiragana", "katakana"]
_BREAKS = frozenset('"`*|,;<>—–…•、。，；！？：')
_BREAK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Ps", "Pe", "Pi", "Pf", "Sc", "So"})
_JOINING_CATEGORIES = frozenset({"Mn", "Mc", "Me", "Cf"})
_APOSTROPHES = "'’"
_PART_WHEN_BEFORE = frozenset("/\\._%")
"""Directly before a value, these make it a piece of a path or a name, even with a blank before them: `/srv`, `.env`."""
_PART_WHEN_BEFORE_NUMBER = frozenset("+-−")
_SOFT = frozenset(":!?'’#=")
"""Connecting characters that end a value where a Chinese or Japanese character is behind them: `收款人:ada`."""

_EMAIL = re.compile(r"[^\s@]+@[^\s@][^\s@.]*+\.[^\s@]+")
_KEY = re.compile(r"(?:\A|[\s\"'(\[{])[A-Za-z][\w-]{0,63}\Z")
_KEY_LENGTH_MAX = 66
"""More than the pattern can fill, so that no piece of a longer word passes for a key."""
_LINK_TAIL = re.compile("[^\\s\"'`<>，。；！？、）】」》\u3400-\u9fff]*")
_NEXT_LINK = re.compile(r"[,;][a-z][a-z0-9+.-]*://", re.IGNORECASE)
_LINK_TAIL_ENDS = ".,:;!?)]}*/"


def stands_whole(text: str, start: int, end: int) -> bool:
    """Whether `text[start:end]` is no piece of a longer address, link, number, name or id.

    >>> text = "Write to ada@example.com, not 1200."
    >>> stands_whole(text, 9, 24), stands_whole(text, 9, 12), stands_whole(text, 30, 32)
    (True, False, False)
    """
    value = text[start:end]
    is_email = _EMAIL.fullmatch(value) is not None
    if not _is_border(text, start - 1, -1, value[0], is_email=is_email):
        return False
    if "://" in value:
        return _ends_link(text, end)
    return _is_border(text, end, 1, value[-1], is_email=is_email)


def _is_border(text: str, at: int, step: Literal[-1, 1], inner: str, *, is_email: bool) -> bool:
    """Whether a value whose outermost character is `inner` ends before the character at `at`."""
    outer = _class(text, at)
    mine = _class_of(inner)
    if mine == "break" or outer == "break":
        return not (text[at : at + 1] == "," and inner.isdecimal() and _is_digit(text, at + step))
    if mine != "connector" and outer != "connector":
        return outer == "han" or mine == "han" or outer != mine
    if outer != "connector":  # the value itself ends with a connecting character: `Wait.` before `什么`
        return outer != "letter" and inner in _SOFT | {"."}
    far = at
    while _class(text, far) == "connector":
        far += step
    beyond = _class(text, far)
    if step < 0 and (text[at] in _PART_WHEN_BEFORE or (inner.isdecimal() and text[at] in _PART_WHEN_BEFORE_NUMBER)):
        return False
    if beyond == "break":
        return True
    if beyond != "letter":
        return all(char in _SOFT for char in text[min(at, far + 1) : max(at + 1, far)])
    if step < 0:
        is_alone = far == at - 1
        return is_alone and (
            (text[at] == ":" and is_email)
            or (text[at] == "=" and _KEY.search(text[max(0, at - _KEY_LENGTH_MAX) : at]) is not None)
        )
    return _is_possessive(text, at)


def _is_possessive(text: str, at: int) -> bool:
    """Whether `'s` and the end of a word stand here: `Ada's`."""
    return text[at] in _APOSTROPHES and text[at + 1 : at + 2] in ("s", "S") and _class(text, at + 2) == "break"


def _ends_link(text: str, end: int) -> bool:
    """Whether a link ends here: a comma, a bracket or a semicolon may belong to a link."""
    tail = _LINK_TAIL.match(text, end)
    assert tail is not None
    return not tail[0].strip(_LINK_TAIL_ENDS) or _NEXT_LINK.match(tail[0]) is not None


def _is_digit(text: str, at: int) -> bool:
    return 0 <= at < len(text) and text[at].isdecimal()


def _class(text: str, at: int) -> _Class:
    return _class_of(text[at]) if 0 <= at < len(text) else "break"


@lru_cache(4096)
def _class_of(char: str) -> _Class:
    if (
        "\u3400" <= char <= "\u9fff"
        or char in "々〇"
        or "\U00020000" <= char <= "\U0003ffff"
        or "豈" <= char <= "\ufaff"
    ):
        return "han"
    if "\u3040" <= char <= "\u309f":
        return "hiragana"
    if "\u30a0" <= char <= "\u30ff":
        return "katakana"
    category = unicodedata.category(char)
    if char in _BREAKS or char.isspace() or (category in _BREAK_CATEGORIES and char != "’"):
        return "break"
    return "letter" if char.isalnum() or category in _JOINING_CATEGORIES else "connector"


class _Lower(dict[int, int]):
    """Lower case of one character, for `str.translate`: only where upper case leads back to the same character.

    `str.lower` makes the Kelvin sign a `k`, and `str.casefold` makes `ß` the same as `ss`: two names would be one.
    """

    def __missing__(self, code: int) -> int:
        char = chr(code)
        lower = char.lower()
        if len(lower) != 1 or lower == char or lower.upper() != char:
            raise LookupError
        self[code] = ord(lower)
        return self[code]


_LOWER = _Lower()


_ACCENTED = re.compile("[^\u0300-\u036f][\u0300-\u036f]+")


def spaced(text: str) -> str:
    """A text with one blank for each run of blanks, and with a letter and its accents as one character."""
    if not text.isascii() and not unicodedata.is_normalized("NFC", text):
        text = _ACCENTED.sub(_composed, text)
    return " ".join(text.split())


def _composed(found: re.Match[str]) -> str:
    """A letter and its accents as one character.

    Unicode's form NFC does more: it makes the Kelvin sign a `K`, so that two different addresses would be one.
    """
    letter = found[0][0]
    return found[0] if unicodedata.normalize("NFC", letter) != letter else unicodedata.normalize("NFC", found[0])


def lower(text: str) -> str:
    """A text in lower case, of the same length, so that places in one are places in the other."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def same_but_for_case(value: str, found: str) -> bool:
    """Whether two texts that are equal in lower case mean the same.

    Names and e-mail addresses do, in any case. The path of a link, a path of files, and an id with digits in which
    both cases occur (`https://short.example/aB3`) do only where the cases are equal.

    >>> same_but_for_case("ada", "Ada"), same_but_for_case("DE77", "de77"), same_but_for_case("x/aB3", "x/ab3")
    (True, True, False)
    """
    if value == found or "@" in value:
        return True
    if "://" in value:
        path = value.find("/", value.index("://") + 3)
        return path < 0 or value[path:] == found[path:]
    if "/" in value or "\\" in value:
        return False
    return not any(map(str.isdecimal, value)) or not (_has_both_cases(value) or _has_both_cases(found))


def _has_both_cases(text: str) -> bool:
    return text != text.lower() and text != text.upper()
