"""How much work a regular expression is for the CEL library. Pure.

The library compiles a pattern each time that it looks for it: `\\w` takes 0.6 ms. A pattern with many parts, such as
`a.{1,500}c`, is looked for in as many ways at once as it has parts: in a text of 4 MB that takes a minute.
"""

from __future__ import annotations

import re

from msgspec import Struct

_ESCAPED = re.compile(r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))|\\([0-3][0-7]{2})")
_REPEATED = re.compile(r"\{\s*(\d{1,6})\s*(?:,\s*(\d{0,6})\s*)?\}")
_TOKEN = re.compile(
    rf"{_REPEATED.pattern}|\(\?|\\+[pP]\{{[^}}]*\}}|\\+.|\[\^?\]?(?:\\+.|\[:\^?\w+:\]|[^\]\\])*+\]|.", re.DOTALL
)
_STEPS = {**dict.fromkeys("wWpP", 12_000), **dict.fromkeys("dD", 4_000), **dict.fromkeys("sSbB", 1_000)}
_IN_CLASS = re.compile(r"\\+([wWpPdDsS])")
_IGNORES_CASE = re.compile(r"\(\?[a-zA-Z]*i")
_STEPS_OF_A_PART, _STEPS_OF_EITHER_CASE, _STEPS_OF_ANY = 20, 300, 500
_DETERMINED = 25
"""A pattern of at most this many parts is looked for in one way at a time."""
_PARTS_OF_A_STEP = 2
_MOST = 1_000_000_000


class PatternWork(Struct, frozen=True):
    """What a regular expression costs, in steps of 50 ns.

    Attributes:
        parts: how many characters and classes it has when each repetition is written out.
        compiling: the steps to compile it.
    """

    parts: int = 0
    compiling: int = 0

    def __add__(self, other: PatternWork) -> PatternWork:
        return PatternWork(min(self.parts + other.parts, _MOST), min(self.compiling + other.compiling, _MOST))

    def times(self, count: int) -> PatternWork:
        """What it costs when it is repeated."""
        return PatternWork(min(self.parts * count, _MOST), min(self.compiling * count, _MOST))

    def looking(self, chars: int) -> int:
        """The steps to look for it in a text of this many characters."""
        return chars * (self.parts if self.parts > _DETERMINED else 1) // _PARTS_OF_A_STEP


def pattern_work(literal: str) -> PatternWork:
    """What a regular expression costs, from the literal text of CEL that says it.

    >>> pattern_work("[a-z]{3}(x|y){2,5}").parts
    18
    """
    text = _ESCAPED.sub(_unescaped, literal)
    of_a_part = _STEPS_OF_EITHER_CASE if _IGNORES_CASE.search(text) else _STEPS_OF_A_PART
    outside: list[PatternWork] = []
    whole, last = PatternWork(), PatternWork()
    for token in _TOKEN.finditer(text):
        if token[1]:
            more = last.times(max(int(token[1]), int(token[2] or 0)) - 1)
            whole, last = whole + more, last + more
        elif token[0] in ("(", "(?"):
            outside.append(whole)
            whole = PatternWork()
        elif token[0] == ")" and outside:
            whole, last = outside.pop() + whole, whole
        else:
            last = PatternWork(1, of_a_part + _steps_of_class(token[0]))
            whole += last
    return sum(outside, whole)


def _unescaped(found: re.Match[str]) -> str:
    number = int(found[1] or found[2] or found[3] or "0", 16) or int(found[4] or "0", 8)
    return chr(min(number, 0x10FFFF))


def _steps_of_class(token: str) -> int:
    if token == ".":
        return _STEPS_OF_ANY
    if token[0] == "[":
        inside = sum(_STEPS[each] for each in _IN_CLASS.findall(token))
        return inside + len(token) * _STEPS_OF_A_PART + (_STEPS_OF_ANY if token[1:2] == "^" else 0)
    return _STEPS.get(token.lstrip("\\")[:1], 0) if token[0] == "\\" else 0
