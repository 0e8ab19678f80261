"""How large values are, and how much work an expression in CEL would be. Pure.

A value of a workflow stands in the memory of the process and on record, so it is bounded: a variable that is doubled in
a loop would fill the memory otherwise. The CEL library can not be interrupted, no other thread runs while it works, and
it copies: `filter` and `map` copy what they have found so far for each item. So the work is estimated before the
library is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec import Struct

VALUES_MAX = 1_000_000
CHARS_MAX = 20_000_000
DEPTH_MAX = 200
"""A value of a node holds at most so many values, so many characters, and values so deep in each other."""

WORK_MAX = 4_000_000
"""The most values that an expression may copy: that takes 0.1 to 0.2 s. 500 characters count as a value, and each pair
that a loop inside of a loop looks at counts as ten."""
GIVEN_MAX = (1_000_000, 100_000, 2_000)
"""An expression is given at most so many values, by the number of its loops: two loops go through all pairs."""
_CHARS_OF_A_VALUE = 500
_VALUES_OF_A_PAIR = 10

_MACRO = re.compile(r"\.\s*(all|exists_one|exists|map|filter)\s*\(")
_STRING = re.compile(r"(?:\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')")


class TooLarge(Exception):
    """A value, or the work to make it, is too large; the message says why."""


class ValueSize(Struct, frozen=True):
    """How large a value is.

    Attributes:
        values: how many values it holds, itself counted.
        chars: how many characters its texts and names have.
        longest: how many items its longest list has.
    """

    values: int
    chars: int
    longest: int

    @property
    def weight(self) -> int:
        """How many values it counts as where it is copied."""
        return self.values + self.chars // _CHARS_OF_A_VALUE


def size_of(value: object, values_max: int = VALUES_MAX, chars_max: int = CHARS_MAX) -> ValueSize:
    """How large a value is.

    Args:
        value: the value.
        values_max, chars_max: how large it may be.

    Raises:
        TooLarge: it is larger, or too deep. At most about `values_max` values are looked at.
    """
    level: list[object] = [value]
    values = chars = longest = depth = 0
    while level:
        depth += 1
        values += len(level)
        if depth > DEPTH_MAX:
            raise TooLarge(f"a value is more than {DEPTH_MAX} deep")
        inner: list[object] = []
        for each in level:
            if isinstance(each, str):
                chars += len(each)
            elif isinstance(each, list):
                longest = max(longest, len(each))
                inner += each
            elif isinstance(each, dict):
                chars += sum(map(len, each))
                inner += each.values()
            if values + len(inner) > values_max:
                raise TooLarge(f"more than {values_max} values")
        if chars > chars_max:
            raise TooLarge(f"more than {chars_max} characters")
        level = inner
    return ValueSize(values, chars, longest)


def bare_of(source: str) -> str:
    """An expression with spaces in the place of its literal texts."""
    return _STRING.sub(lambda found: '"' + " " * (len(found[0]) - 2) + '"', source)


class ExpressionWork:
    """How much work an expression in CEL is.

    Args:
        source: the expression.

    Attributes:
        bodies: the texts of what its `map` macros make of each item.
        multiplies: it goes through lists or adds, so that its work may be many times the values it is given.
    """

    def __init__(self, source: str) -> None:
        bare = bare_of(source)
        self._additions = bare.count("+")
        found = [(each[1], each.end(), closing(bare, each.end())) for each in _MACRO.finditer(bare)]
        self._loops = len(found)
        self.multiplies = bool(found) or self._additions > 0
        self._collects = [name for name, _, _ in found if name in ("map", "filter")]
        self._is_nested = any(one[1] < other[1] < one[2] for one in found for other in found)
        self.bodies = [source[start:end] for name, start, end in found if name == "map"]

    def in_bodies(self, names: Iterable[str]) -> list[str]:
        """Those of the names that stand in `bodies`."""
        bare = bare_of(" ".join(self.bodies))
        return [name for name in names if re.search(rf"(?<![\w.]){name}\b", bare)]

    def check(self, given: Mapping[str, object], in_bodies: Mapping[str, object]) -> None:
        """Estimate the work.

        Args:
            given: the values that the expression is given.
            in_bodies: those of them that stand in `bodies`: they are copied for each item.

        Raises:
            TooLarge: the work would be too much.
        """
        most = GIVEN_MAX[min(self._loops, 2)]
        try:
            whole = size_of(given, most)
        except TooLarge as large:
            raise TooLarge(f"an expression is given {large}") from None
        work = self._additions**2 * whole.weight
        if self._is_nested:
            work += _VALUES_OF_A_PAIR * whole.longest**2
        if self._collects:
            times = whole.longest**2 if self._is_nested and len(self._collects) > 1 else whole.longest
            work += (self._additions + 1) * times * whole.weight
            if in_bodies:
                work += (self._additions + 1) * times * whole.longest * size_of(in_bodies).weight
        if work > WORK_MAX:
            told = "filter and map are for short lists, a list node takes long ones" if self._collects else "it adds"
            raise TooLarge(f"an expression would copy more than {WORK_MAX} values ({told})")


def closing(bare: str, start: int) -> int:
    """Where the bracket that was opened before `start` is closed."""
    depth = 1
    for at in range(start, len(bare)):
        if bare[at] in "([{":
            depth += 1
        elif bare[at] in ")]}":
            depth -= 1
            if not depth:
                return at
    return len(bare)
