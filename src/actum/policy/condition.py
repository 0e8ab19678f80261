"""A condition of a policy, in CEL (Common Expression Language): compiled once, never true by accident.

CEL is not total: a missing name, mixed types or a division by zero have no value. Then `ConditionFailed` is raised, and
the policy denies. `a || b` has one as soon as either side is true, whatever the other does; a function of ours that can
not read what it is given makes the whole condition fail.

Limits: `size(text)` counts the bytes of UTF-8. Whole numbers above 64 bits are compared as floating point.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from ..core.errors import UsageError
from ..core.json import Json
from ..schema import canonical
from . import origin_condition
from .origin_condition import taken_out

VARIABLES = ("args", "user", "roles", "agent", "key", "tool", "effects", "now", "origins")
"""What a condition may speak of."""

SOURCE_MAX = 4_000
"""A condition may have so many characters,"""
LOOPS_MAX = 2
"""so many macros that go through a list,"""
VALUES_MAX = 1_000
"""and look at arguments that hold so many values,"""
DEPTH_MAX = 32
"""so deep in each other: a condition ends in some 0.2 s whatever a model says."""

_LOCAL: dict[str, Callable[..., object]] = {
    "under": canonical.under,
    "host": canonical.host,
    "domain": canonical.domain,
}
_FOREIGN = {**_LOCAL, "under": lambda text, folder: canonical.under(text, folder, local=False)}

_BUILT_IN = frozenset(
    {  # a mistyped name is found when the policy is loaded
        *("contains", "endsWith", "matches", "size", "startsWith"),
        *("bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"),
        *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getMonth"),
        *("getHours", "getMilliseconds", "getMinutes", "getSeconds"),
    }
)
_FUNCTIONS = tuple(sorted(_BUILT_IN | _LOCAL.keys()))
FUNCTIONS = tuple(sorted([*_FUNCTIONS, *origin_condition.FUNCTIONS]))
_TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "string", "uint"})
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w*)")
_NAMED = re.compile(r"[A-Za-z]\w*")


class ConditionFailed(Exception):
    """A condition has no value; the message says why, for the record and not for a model."""


class Condition:
    """A CEL expression.

    Args:
        source: its text.
        known: the variables it may speak of.

    Attributes:
        source: its text.
        names: the variables it speaks of.
        tests: the tests of origins in it, such as `trusted(to)`, by the variables that tell what came of them.

    Raises:
        UsageError: it is no CEL, too long, or speaks of what there is not; or the library is not installed.
    """

    def __init__(self, source: str, known: Collection[str] = VARIABLES) -> None:
        if len(source) > SOURCE_MAX:
            raise UsageError(f"a condition has at most {SOURCE_MAX} characters, this one has {len(source)}")
        try:
            import cel  # it takes 0.3 s to load, and most programs have no condition
        except ImportError:
            raise UsageError("conditions need CEL: pip install 'actum[policy]'") from None
        text, self.tests = taken_out(source)
        try:
            self._program = cel.compile(text)
        except ValueError as error:
            raise UsageError(f"{source!r} is no CEL: {_first_line(error)}") from None
        bound = _LOOP.findall(source)
        if len(bound) > LOOPS_MAX:
            raise UsageError(f"{source!r} goes through lists {len(bound)} times; {LOOPS_MAX} times are allowed")
        self.source = source
        for test in self.tests.values():
            if test.names[0] in bound:
                raise UsageError(f"{test}: {test.names[0]!r} is a variable of a macro, and no argument")
        self.names = frozenset(self._program.variables()) - set(bound) - _TYPES - self.tests.keys()
        functions = {name for name in self._program.functions() if _NAMED.fullmatch(name)}
        _check_names("variable", self.names, known)
        _check_names("function", functions, _FUNCTIONS)
        self._functions = functions & _LOCAL.keys()
        self._context = cel.Context

    def value(self, variables: Mapping[str, object], *, local: bool = True) -> object:
        """What it comes to.

        Args:
            variables: by name; all of them, and those of its tests of origins.
            local: paths in them are of this machine.

        Raises:
            ConditionFailed: it has no value.
        """
        failures: list[str] = []
        table = _LOCAL if local else _FOREIGN
        functions = {name: _noting(name, table[name], failures) for name in self._functions}
        given = {name: variables[name] for name in (*self.names, *self.tests)}
        check_bounds(given)
        try:
            value: object = self._program.execute(self._context(given, functions))
        except Exception as error:  # noqa: BLE001  # the library raises a dozen kinds: all of them mean that there is no value
            raise ConditionFailed(failures[0] if failures else _first_line(error)) from None
        if failures:
            raise ConditionFailed(failures[0])
        return value

    def holds(self, variables: Mapping[str, object], *, local: bool = True) -> bool:
        """Whether it is true.

        Raises:
            ConditionFailed: it is neither true nor false.
        """
        value = self.value(variables, local=local)
        if not isinstance(value, bool):
            raise ConditionFailed(f"it comes to a {type(value).__name__}, not to true or false")
        return value


def _noting(name: str, function: Callable[..., object], failures: list[str]) -> Callable[..., object]:
    """A function of ours that raises nothing: the library would print it."""

    def call(*given: object) -> object:
        try:
            return function(*given)
        except (canonical.Unclear, TypeError) as error:  # TypeError: another number of values
            expected = f"expected {error}" if isinstance(error, canonical.Unclear) else "another number of values"
            failures.append(f"{name}(): {expected}")
            return None

    return call


def _check_names(what: str, used: Collection[str], known: Collection[str]) -> None:
    unknown = sorted(set(used) - set(known))
    if unknown and unknown[0] in origin_condition.FUNCTIONS:
        raise UsageError(f"{unknown[0]} is used with the name of an argument, as in {unknown[0]}(to)")
    if unknown:
        raise UsageError(f"there is no {what} {unknown[0]!r}; there are: {', '.join(known)}")


def check_bounds(values: Mapping[str, object]) -> None:
    """Bound what a condition goes through.

    Raises:
        ConditionFailed: the values hold too many others, or too deep.
    """
    if not _is_bounded(values):
        raise ConditionFailed(f"the arguments hold more than {VALUES_MAX} values, or more than {DEPTH_MAX} deep")


def _is_bounded(values: Mapping[str, object]) -> bool:
    """The library goes down into a value by recursion, and a list in a list by both."""
    level: list[Json | object] = list(values.values())
    count = 0
    for _ in range(DEPTH_MAX + 2):
        count += len(level)
        if count > VALUES_MAX:
            return False
        if not level:
            return True
        level = [
            item
            for value in level
            if isinstance(value, dict | list | tuple)
            for item in (value.values() if isinstance(value, dict) else value)
        ]
    return False


def _first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"
