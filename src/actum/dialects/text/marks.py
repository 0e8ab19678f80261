"""What an engine looks for in text that comes in pieces: fixed marks, and the heads that a call begins with.

Both can say that a text is not one *yet*, so that a reader holds back as much as may still become one, and no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

HEAD_MAX = 320
"""Characters in which a head must be complete."""


class NeedsMore:
    """More text may decide."""


WAIT: Final = NeedsMore()


class Marks:
    """Fixed strings, found in one pass."""

    def __init__(self, marks: Iterable[str]) -> None:
        self.all = tuple(sorted({mark for mark in marks if mark}, key=len, reverse=True))
        self.pattern = re.compile("|".join(map(re.escape, self.all)) or r"(?!)")
        self._beginnings = {mark[:end] for mark in self.all for end in range(1, len(mark))}
        self._longest = max(map(len, self.all), default=0)
        firsts = "".join(sorted({mark[0] for mark in self.all}))
        self._first = re.compile(f"[{re.escape(firsts)}]" if firsts else r"(?!)")

    def may_begin(self, text: str, at: int) -> bool:
        """All the text from a place on is the beginning of a mark."""
        return len(text) - at < self._longest and text[at:] in self._beginnings

    def hold(self, text: str, at: int, end: int) -> int:
        """Where in `text[at:end]` the longest suffix begins that may become a mark; `end` where there is none."""
        for found in self._first.finditer(text, max(at, end - self._longest + 1), end):
            if text[found.start() : end] in self._beginnings:
                return found.start()
        return end


class CallHead(Struct, frozen=True):
    """How a call begins.

    Attributes:
        match: what it looks like. It must end in something that more text does not change.
        refuse: what shows that it is none, whatever follows.
        may: instead of `refuse`: what it looks like when it is cut off anywhere.
    """

    match: re.Pattern[str]
    refuse: re.Pattern[str] | None = None
    may: re.Pattern[str] | None = None

    def sees(self, text: str, at: int, *, closing: bool) -> re.Match[str] | NeedsMore | None:
        """The head at a place, None if there is none. The match is of the text from that place on."""
        window = text[at : at + HEAD_MAX]
        found = self.match.match(window)
        if found is not None:
            return found
        if closing or len(window) == HEAD_MAX:
            return None
        if self.may is not None:
            return WAIT if self.may.match(window) else None
        return None if self.refuse is not None and self.refuse.match(window) else WAIT


class KnownHead(CallHead, frozen=True):
    """A head that counts only behind one of some names, and that those may be many of.

    Attributes:
        names: the names.
        beginnings: each of them, cut off anywhere.
        word: the characters of a name, as many as there are.
    """

    names: frozenset[str] = frozenset()
    beginnings: frozenset[str] = frozenset()
    word: re.Pattern[str] = re.compile(r"\w+")

    def sees(self, text: str, at: int, *, closing: bool) -> re.Match[str] | NeedsMore | None:
        """As `CallHead.sees`."""
        word = self.word.match(text, at, at + HEAD_MAX)
        if word is None:
            return None
        if word.end() == len(text) and not closing:
            return WAIT if word[0] in self.beginnings else None
        return CallHead.sees(self, text, at, closing=closing) if word[0] in self.names else None


def begun(*parts: str | re.Pattern[str]) -> str:
    """A pattern of a text that is cut off anywhere inside these parts, or right behind the last: `CallHead.may`.

    Args:
        parts: the parts one behind the other: fixed text, or a pattern of any characters, such as a name.

    >>> [bool(re.match(begun("to=", re.compile("[a-z]{1,8}"), ">"), text)) for text in ("t", "to=a", "to=a>", "two")]
    [True, True, True, False]
    """
    pattern = r"\Z"
    for part in reversed(parts):
        steps = [part.pattern] if isinstance(part, re.Pattern) else list(map(re.escape, part))
        for step in reversed(steps):
            pattern = rf"(?:\Z|{step}{pattern})"
    return pattern


def unlike(*beginnings: str) -> str:
    """A pattern of a text that begins with none of these, nor can become one that does."""
    found: set[str] = set()
    for text in beginnings:
        for end in range(len(text)):
            start = text[:end]
            if any(start.startswith(other) for other in beginnings):
                break
            following = {other[end] for other in beginnings if len(other) > end and other.startswith(start)}
            found.add(re.escape(start) + "[^" + "".join(map(re.escape, sorted(following))) + "]")
    return "(?:" + "|".join(sorted(found)) + ")"


def follows(beginnings: Marks, text: str, at: int, *, closing: bool) -> bool | NeedsMore:
    """Whether white space and one of the marks stand here, or nothing more at all.

    Only the next `HEAD_MAX` characters are looked at, so that endless white space costs nothing.
    """
    window = text[at : at + HEAD_MAX]
    rest = window.lstrip()
    if not rest:
        return True if closing or len(window) == HEAD_MAX else WAIT
    if beginnings.pattern.match(rest):
        return True
    return WAIT if not closing and len(window) < HEAD_MAX and beginnings.may_begin(rest, 0) else False
