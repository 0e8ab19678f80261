"""Whether a small whole number in a text names a thing, or is the number of a list, an amount, a count.

In "1. Show my files. 2. Delete the largest." nobody names the file `2`. So a whole number of up to three digits names a
thing only directly behind a word for that: `id`, `no.`, `number`, `#`, or the name of the parameter that the number is
for.

Limits: of "ids 2, 3 and 4" only the first number is directly behind the word.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ..core.json import Json
from .common_words import is_common

DIGITS_MAX = 3
"""A number of more digits is seldom the number of a list."""
BEFORE_MAX = 64
"""The number of characters before a number that are looked at."""

_WORDS = frozenset({"id", "ids", "nr", "number", "numbers"})
_SIGNS = ("#", "№", "号", "編號", "编号", "号码")
_ABBREVIATIONS = frozenset({"no", "nos", "nr"})
_AROUND = " \t\"'`()[]{}.,:;“”‘’«»「」（）【】。，：；"
_OPENING = " :=\"'`([“‘«「（【："
_LAST_WORD = re.compile(r"([^\W\d_]+(?:[_-][^\W\d_]+)*)(\.?)\Z")
_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[^\W\d_A-Za-z]+")
_MARK = re.compile(r" ?([.):：、．–-])\s?\S")


def naming_words(value: Json, path: str) -> frozenset[str] | None:
    """The words behind which a value of a call names a thing.

    Args:
        value: a plain value.
        path: where the value is in the arguments: `file_id`, `items[0].id`.

    Returns:
        None for all but small whole numbers, and for a number in JSON whose parameter is none for an id: an amount.

    >>> sorted(naming_words("2", "file_id") or ()), naming_words(2, "amount"), naming_words("2500", "file_id")
    (['file', 'file_id', 'id'], None, None)
    """
    digits = value.strip(_AROUND) if isinstance(value, str) else str(value).removesuffix(".0")
    if len(digits) > DIGITS_MAX or not digits.isdecimal():
        return None
    return _words_of(path, is_text=isinstance(value, str))


@lru_cache(4096)
def _words_of(path: str, *, is_text: bool) -> frozenset[str] | None:
    """What `naming_words` returns for the small numbers of a parameter."""
    name = path.rpartition(".")[2].partition("[")[0]
    pieces = [piece.lower() for piece in _PIECE.findall(name)]
    if not is_text and (not pieces or pieces[-1] not in _WORDS | _ABBREVIATIONS):
        return None
    return frozenset({name.lower(), *(piece for piece in pieces if not is_common(piece))})


def names_thing(text: str, start: int, end: int, words: frozenset[str]) -> bool:
    """Whether the number at `text[start:end]` names a thing.

    Args:
        text: in lower case, with single blanks.
        start, end: where the number is.
        words: those behind which a number names a thing, beside those that all parameters share.

    >>> text = "1. open the file 2. delete file 7"
    >>> [names_thing(text, at, at + 1, frozenset({"file"})) for at in (0, 17, 32)]
    [False, False, True]
    """
    before = text[max(0, start - BEFORE_MAX) : start]
    if before.endswith(_SIGNS):
        return True
    if _is_of_list(text, start, end):
        return False
    before = before.rstrip(_OPENING)
    found = _LAST_WORD.search(before)
    if before.endswith(_SIGNS) or found is None:
        return before.endswith(_SIGNS)
    word, dot = found.groups()
    last = re.split("[_-]", word)[-1]
    if dot or last in _ABBREVIATIONS - _WORDS:
        return bool(dot) and last in _ABBREVIATIONS
    return word in words or last in words or last in _WORDS


def _is_of_list(text: str, start: int, end: int) -> bool:
    """Whether the number is the number of a list: a mark and more text is behind, and the neighbour in the list has the
    same mark.
    """
    found = _MARK.match(text, end)
    if found is None:
        return False
    number, mark = int(text[start:end].strip(_AROUND)), found[1]
    before = number > 1 and f"{number - 1}{mark}" in text[:start]
    return before or f"{number + 1}{mark}" in text[end:]
