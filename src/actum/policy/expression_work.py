"""How large values are, and how much work an expression in CEL would be. Pure.

A value of a workflow stands in the memory of the process and on record, so it is bounded: a variable that is doubled in
a loop would fill the memory otherwise. The CEL library can not be interrupted, and no other thread runs while it works.
So the work is estimated before the library is asked, and what would take too long is refused.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from msgspec import Struct, field

from .pattern_work import PatternWork, pattern_work

VALUES_MAX = 1_000_000
CHARS_MAX = 20_000_000
DEPTH_MAX = 200
"""The limits of a value of a node: how many values and characters it holds, and how deep values stand in each other."""

WORK_MAX = 1_500_000
"""An expression may take this many steps of 50 ns: 75 ms, in which a body of a few megabytes is read as JSON."""
_CHARS_OF_A_VALUE = 100
_GIVEN, _COLLECTED, _COPIED, _CALLED, _NAMED = 20, 200, 5, 40, 3
"""The steps for a value that the library is given, that `map` or `filter` find, that the library copies, that a
function of ours is called with, and that is named for each item of a list."""

MACRO = re.compile(r"\.\s*(all|exists_one|exists|map|filter)\s*\(")
_MACRO_VARIABLE = re.compile(r"\s*(\w+)")
_CALL = re.compile(r"\b([A-Za-z]\w*)\s*\(")
_PATH = r"(?:(?<![\w.])([A-Za-z_]\w*(?:\s*\.\s*[A-Za-z_]\w*)*?)\s*)?"
_LOOP = re.compile(_PATH + MACRO.pattern)
_MATCHES = re.compile(_PATH + r"(?:\.\s*)?\b(matches)\s*\(")
_QUOTES = ('"""', "'''", '"', "'")
_RAW = "|".join(rf"(?<!\w)(?:[rR][bB]?|[bB][rR]){quote}(?:(?!{quote})[\s\S])*{quote}" for quote in _QUOTES)
_PLAIN = "|".join(rf"{quote}(?:\\[\s\S]|(?!{quote})[^\\])*{quote}" for quote in _QUOTES)
_TEXT = re.compile(rf"{_RAW}|{_PLAIN}|(//)[^\n]*")
MADE_MAX = (100_000, 1_000, 300)
"""A list that a function makes has at most this many items, by the number of loops in the expression."""


class TooLarge(Exception):
    """A value, or the work to make it, is too large; the message says why."""


class ValueSize(Struct, frozen=True):
    """How large a value is.

    Attributes:
        values: how many values it holds, itself counted.
        chars: how many characters its texts and names have.
        longest: how many items its longest list or object has.
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
                longest = max(longest, len(each))
                chars += sum(map(len, each))
                inner += each.values()
            if values + len(inner) > values_max:
                raise TooLarge(f"more than {values_max} values")
        if chars > chars_max:
            raise TooLarge(f"more than {chars_max} characters")
        level = inner
    return ValueSize(values, chars, longest)


def bare_of(source: str) -> str:
    """An expression with spaces in the place of its literal texts and comments."""
    return _TEXT.sub(lambda found: " " * len(found[0]) if found[1] else f'"{" " * (len(found[0]) - 2)}"', source)


class _Level(Struct):
    """What an expression does outside of its loops, in a loop, or in a loop inside of a loop.

    Attributes:
        text: the expression, with spaces in the place of what stands on other levels.
        loops: the paths of the lists that loops on this level go through, empty where there is no path.
        collects: how many of them collect a list: `map` and `filter`.
        calls: how often functions of ours are called.
        items: how many items of lists and objects are written out.
        patterns: the patterns that are looked for, with the path of the text where there is one.
    """

    text: str
    loops: list[str] = field(default_factory=list)
    collects: int = 0
    calls: int = 0
    items: int = 0
    patterns: list[tuple[str, PatternWork]] = field(default_factory=list)

    @property
    def chars(self) -> int:
        """How many characters stand here."""
        return len(self.text) - self.text.count(" ")

    def names(self, name: str) -> int:
        """How often a name stands here."""
        return len(re.findall(rf"(?<![\w.]){name}\b", self.text))


class ExpressionWork:
    """How much work an expression in CEL is.

    Args:
        source: the expression, which may have two loops.
        functions: the functions of ours that it calls.

    Attributes:
        bodies: what is done with the items of lists, with spaces in the place of literal texts and of all else.
        multiplies: the work may be many times the values that the expression is given.
        made_max: how many items a list may have that a function makes.
    """

    def __init__(self, source: str, functions: Collection[str] = ()) -> None:
        bare = bare_of(source)
        loops = list(_LOOP.finditer(bare))
        spans = [(found.end(), closing(bare, found.end())) for found in loops]
        bound = {name[1] for start, _ in spans if (name := _MACRO_VARIABLE.match(bare, start))}
        depth = [min(sum(start <= at < end for start, end in spans), 2) for at in range(len(bare) + 1)]
        self._levels = [
            _Level("".join(sign if depth[at] == each else " " for at, sign in enumerate(bare))) for each in range(3)
        ]
        for found in loops:
            level = self._levels[depth[found.start(2)]]
            level.loops.append(_path(bare, found, bound))
            level.collects += found[2] in ("map", "filter")
        for found in _CALL.finditer(bare):
            self._levels[depth[found.start()]].calls += found[1] in functions
        for found in _MATCHES.finditer(bare):
            pattern = pattern_work(source[found.end() : closing(bare, found.end())])
            self._levels[depth[found.start(2)]].patterns.append((_path(bare, found, bound), pattern))
        for at in _written_items(bare):
            self._levels[depth[at]].items += 1
        self.bodies = " ".join(each.text for each in self._levels[1:]) if loops else ""
        self.made_max = MADE_MAX[min(len(loops), 2)]
        self.multiplies = bool(loops) or "+" in bare or any(each.calls or each.patterns for each in self._levels)

    def in_bodies(self, names: Iterable[str]) -> list[str]:
        """Those of the names that stand in `bodies`."""
        return [name for name in names if any(each.names(name) for each in self._levels[1:])]

    def check(self, given: Mapping[str, object], in_bodies: Mapping[str, object]) -> None:
        """Estimate the work.

        Args:
            given: the values that the expression is given.
            in_bodies: those of them that stand in `bodies`: they are looked at for each item.

        Raises:
            TooLarge: the work would be too much.
        """
        try:
            whole = size_of(given, WORK_MAX // _GIVEN)
        except TooLarge as large:
            raise TooLarge(f"an expression is given {large}") from None
        weights = {name: size_of(value).weight for name, value in in_bodies.items()}
        made = self.made_max if self._levels[0].loops and any(each.calls for each in self._levels) else 0
        longest = max(whole.longest, made, *(each.items + 1 for each in self._levels))
        work = _GIVEN * whole.values
        runs = before = 1
        for at, level in enumerate(self._levels):
            inside = runs * max((_length_at(given, path, longest) for path in level.loops), default=0)
            work += self._steps(at, runs, inside, before * whole.weight, weights)
            for path, pattern in level.patterns:
                text = _at(given, path)
                chars = runs * len(text) if isinstance(text, str) else before * whole.chars
                work += runs * pattern.compiling + pattern.looking(chars)
            runs, before = inside, runs
        if work > WORK_MAX:
            collects = any(each.collects for each in self._levels)
            told = "filter and map are for short lists, a list node takes long ones" if collects else "it does too much"
            raise TooLarge(f"an expression would take more than {WORK_MAX} steps ({told})")

    def _steps(self, at: int, runs: int, inside: int, items: int, weights: Mapping[str, int]) -> int:
        """The steps on one level. Of the items of a list each is looked at once, of other values all in each run."""
        level = self._levels[at]
        additions, named = level.text.count("+"), self._named(at, weights)
        work = _COPIED * additions**2 * (items + runs * named) + _CALLED * level.calls * (items + runs * (1 + named))
        if at:
            work += runs * (level.chars + _NAMED * named)
        if level.collects and at < 2:
            below = self._levels[at + 1]
            made = (1 + below.text.count("+") + below.items) * items * runs
            made += inside * (1 + self._named(at + 1, weights))
            work += level.collects * made * (_COPIED * inside // max(2 * runs, 1) if at else _COLLECTED)
        return work

    def _named(self, at: int, weights: Mapping[str, int]) -> int:
        return sum(weight * self._levels[at].names(name) for name, weight in weights.items()) if at else 0


def _path(bare: str, found: re.Match[str], bound: Collection[str]) -> str:
    """The path of the value that a macro or function follows, where the path is all that leads to the value."""
    path = "".join((found[1] or "").split())
    is_item = path.partition(".")[0] in bound or bare[: found.start()].rstrip().endswith(".")
    return "" if is_item else path


def _written_items(bare: str) -> Iterator[int]:
    """Where the commas of lists and objects are that are written out."""
    open_: list[str] = []
    for at, sign in enumerate(bare):
        if sign in "([{":
            open_.append(sign)
        elif sign in ")]}" and open_:
            open_.pop()
        elif sign == "," and open_ and open_[-1] != "(":
            yield at


def _at(given: Mapping[str, object], path: str) -> object:
    """The value at a path; None where there is none."""
    value: object = given
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _length_at(given: Mapping[str, object], path: str, most: int) -> int:
    value = _at(given, path)
    return len(value) if isinstance(value, list | dict) else most


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
