"""`trusted(to)` and `from_user(to)` in a condition: tests of where an argument came from.

CEL hands a function the value of what stands in its brackets. These two need its *name*, and no value of a call may
choose the name. So each such test is taken out of the text before CEL compiles it, and a variable that is true or false
takes its place: `trusted(to) && args.amount < 10` becomes `trusted_1 && args.amount < 10`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

from msgspec import Struct

from ..core.errors import UsageError

Function = Literal["trusted", "from_user"]
FUNCTIONS: tuple[str, ...] = get_args(Function)

TESTS_MAX = 8
"""The most such tests of one condition."""

_TOKEN = re.compile(
    r"""
    (?P<text>[bBrR]{0,2}(?:\"\"\".*?\"\"\"|'''.*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))
    | (?P<blank>\s+|//[^\n]*)
    | (?P<name>[A-Za-z_]\w*)
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)
_PLAIN_TEXT = re.compile(r"""(["'])([^"'\\]+)\1""")


class OriginTest(Struct, frozen=True):
    """A test of where an argument came from.

    Attributes:
        function: `trusted` for user, developer and trusted fields, `from_user` for the user alone.
        names: the argument's name, and the names of the fields that lead to a part of it.
    """

    function: Function
    names: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.function}({'.'.join(self.names)})"


class _Token(Struct, frozen=True):
    kind: str
    text: str


def taken_out(source: str) -> tuple[str, dict[str, OriginTest]]:
    """The condition with a variable in the place of each test, and the tests by their variables.

    >>> taken_out("!trusted(to)")
    ('!trusted_1', {'trusted_1': OriginTest(function='trusted', names=('to',))})

    Raises:
        UsageError: a test does not name an argument.
    """
    tokens = [_Token(str(found.lastgroup), found[0]) for found in _TOKEN.finditer(source)]
    tests: dict[str, OriginTest] = {}
    pieces: list[str] = []
    at, before = 0, ""
    while at < len(tokens):
        token = tokens[at]
        end = _end_of_call(tokens, at) if token.text in FUNCTIONS and before != "." else 0
        if end:
            function = next(each for each in get_args(Function) if each == token.text)
            variable = f"{function}_{len(tests) + 1}"
            inside = [each for each in tokens[at + 1 : end] if each.kind != "blank"]
            tests[variable] = OriginTest(function, _names(inside[1:], function))
            pieces.append(variable)
            at, before = end + 1, ")"
            continue
        pieces.append(token.text)
        if token.kind != "blank":
            before = token.text
        at += 1
    if len(tests) > TESTS_MAX:
        raise UsageError(
            "{source!r} looks up origins {count} times; {most} times are allowed",
            source=source,
            count=len(tests),
            most=TESTS_MAX,
        )
    taken = tests.keys() & {token.text for token in tokens}
    if taken:
        raise UsageError("there is no variable {taken!r}", taken=min(taken))
    return "".join(pieces), tests


def _end_of_call(tokens: list[_Token], at: int) -> int:
    """The place of the bracket that closes the call of the function at a place; 0 where it is not called."""
    depth = 0
    for place in range(at + 1, len(tokens)):
        token = tokens[place]
        if token.kind == "blank":
            continue
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.kind == "other" else 0
        if depth == 0:
            return place if token.text == ")" else 0
    return 0


def _names(inside: list[_Token], function: str) -> tuple[str, ...]:
    """The names between the brackets of a test.

    Raises:
        UsageError: something else stands there.
    """
    if len(inside) == 1 and (quoted := _PLAIN_TEXT.fullmatch(inside[0].text)) is not None:
        return (quoted[2],)
    names = tuple(_every_second_name(inside))
    if not names or len(inside) != 2 * len(names) - 1:
        raise UsageError(_hint(function, "".join(token.text for token in inside)))
    if names[0] == "args" and len(names) > 1:
        raise UsageError(_hint(function, ".".join(names), ".".join(names[1:])))
    return names


def _every_second_name(inside: list[_Token]) -> Iterator[str]:
    """The names of `a.b.c`, up to the first token that does not belong there."""
    for place, token in enumerate(inside):
        if place % 2 == 0 and token.kind == "name":
            yield token.text
        elif place % 2 == 0 or token.text != ".":
            return


def _hint(function: str, said: str, right: str = "to") -> str:
    return (
        f"{function}({said}): write the name of an argument, such as {function}({right}), "
        f'or {function}("to-whom") where the name is none in CEL'
    )
