"""Names that come near one that there is not, for the words of a refusal."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from difflib import get_close_matches

COMPARED_MAX = 60
"""The most names that are compared letter by letter: that takes some 60 µs each."""


def near_names(name: str, names: Sequence[str], most: int) -> list[str]:
    """The names that come nearest.

    Args:
        name: the unknown name.
        names: the known names. Of many, only those that begin like the name are compared.
        most: the most names that are returned.

    >>> near_names("pric", ["desk", "price"], 3)
    ['price']
    """
    if len(names) > COMPARED_MAX:
        ordered = sorted(names)
        at = max(0, bisect_left(ordered, name) - COMPARED_MAX // 2)
        names = ordered[at : at + COMPARED_MAX]
    return get_close_matches(name[:200], names, most, 0.5)
