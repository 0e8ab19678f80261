"""A pattern for any of many words, built as a tree of what they begin with: where a word begins, one way down is tried
and not each of the words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .lexicon import is_han

Tree = dict[str, "Tree"]
"""What may follow; an empty piece where a word may end."""


def any_of(words: Iterable[str]) -> str:
    """A pattern that matches the longest of some words; one in letters stands by itself, one in Chinese anywhere.

    Args:
        words: the words; a space in one is any white space.
    """
    han: list[str] = []
    lettered: list[str] = []
    other: list[str] = []
    for word in words:
        plain = word[0].isascii() and word[-1].isalnum() and not is_han(word)
        (lettered if plain else han if is_han(word[0]) else other).append(word)
    alone = rf"(?<![^\W_])(?={_firsts(lettered)}){_pattern(_tree(lettered))}(?![^\W_])" if lettered else ""
    rest = [rf"(?={_firsts(each)}){_pattern(_tree(each))}" for each in (han, other) if each]
    return "|".join(filter(None, [alone, *rest]))


def _firsts(words: Iterable[str]) -> str:
    return f"[{''.join(sorted({re.escape(word[0]) for word in words}))}]"


def _tree(words: Iterable[str]) -> Tree:
    root: Tree = {}
    for word in words:
        place = root
        for piece in word:
            place = place.setdefault(r"\s+" if piece == " " else re.escape(piece), {})
        place[""] = {}
    return root


def _pattern(tree: Tree) -> str:
    ways = [f"{piece}{_pattern(rest)}" for piece, rest in sorted(tree.items()) if piece]
    if not ways:
        return ""
    if len(ways) == 1 and "" not in tree:
        return ways[0]
    return f"(?:{'|'.join(ways)}){'?' if '' in tree else ''}"
