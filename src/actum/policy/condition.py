"""A condition of a policy, in CEL (Common Expression Language): compiled once, never true by accident.

CEL is not total: a missing name, mixed types or a division by zero have no value. Then `ConditionFailed` is raised, and
the policy denies. `a || b` has one as soon as either side is true, whatever the other does; a function of ours that can
not read what it is given makes the whole condition fail.

Limits: `size(text)` counts the bytes of UTF-8. Whole numbers above 64 bits are compared as floating point.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from ..core.errors import UsageError
from ..core.json import Json
from ..schema import canonical
from . import origin_condition
from .expression_work import ExpressionWork, TooLarge
from .origin_condition import taken_out
from .program import BUILT_IN, CelProgram, ProgramFailed, check_names

VARIABLES = ("args", "user", "roles", "agent", "key", "tool", "effects", "now", "origins", "clean")
"""What a condition may speak of."""

SOURCE_MAX = 4_000
"""The most characters of a condition. It has at most `program.LOOPS_MAX` loops."""
VALUES_MAX = 1_000
"""The most values in the arguments that a condition looks at."""
DEPTH_MAX = 32
"""How deep these values stand in each other at most. With the bounds of `ExpressionWork`, a condition ends in some
75 ms, whatever a model says."""

_LOCAL: dict[str, Callable[..., object]] = {
    "under": canonical.under,
    "host": canonical.host,
    "domain": canonical.domain,
}
_FOREIGN = {**_LOCAL, "under": lambda text, folder: canonical.under(text, folder, local=False)}

_FUNCTIONS = tuple(sorted(BUILT_IN | _LOCAL.keys()))
FUNCTIONS = tuple(sorted([*_FUNCTIONS, *origin_condition.FUNCTIONS]))


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
            raise UsageError(
                "a condition has at most {most} characters, this one has {count}", most=SOURCE_MAX, count=len(source)
            )
        text, self.tests = taken_out(source)
        self._program = CelProgram(text, source, unwanted=self.tests)
        self.source = source
        for test in self.tests.values():
            if test.names[0] in self._program.bound:
                raise UsageError(
                    "{test}: {names!r} is a variable of a macro, and no argument", test=test, names=test.names[0]
                )
        self.names = self._program.variables
        _check_names("variable", self.names, known)
        _check_names("function", self._program.functions, _FUNCTIONS)
        self._functions = self._program.functions & _LOCAL.keys()
        self._work = ExpressionWork(text, self._functions)
        self._in_bodies = self._work.in_bodies(self.names)

    def value(self, variables: Mapping[str, object], *, local: bool = True) -> object:
        """What it comes to.

        Args:
            variables: by name; all of them, and those of its tests of origins.
            local: paths in them are of this machine.

        Raises:
            ConditionFailed: it has no value.
        """
        table = _LOCAL if local else _FOREIGN
        given = {name: variables[name] for name in (*self.names, *self.tests)}
        check_bounds(given)
        try:
            if self._work.multiplies:
                self._work.check(given, {name: given[name] for name in self._in_bodies})
            return self._program.value(given, {name: table[name] for name in self._functions})
        except TooLarge as large:
            raise ConditionFailed(str(large)) from None
        except ProgramFailed as failed:
            raise ConditionFailed(str(failed)) from None

    def holds(self, variables: Mapping[str, object], *, local: bool = True) -> bool:
        """Whether it is true.

        Raises:
            ConditionFailed: it is neither true nor false.
        """
        value = self.value(variables, local=local)
        if not isinstance(value, bool):
            raise ConditionFailed(f"it comes to a {type(value).__name__}, not to true or false")
        return value


def _check_names(what: str, used: Collection[str], known: Collection[str]) -> None:
    wrong = sorted((set(used) - set(known)) & set(origin_condition.FUNCTIONS))
    if wrong:
        raise UsageError("{wrong} is used with the name of an argument, as in {wrong}(to)", wrong=wrong[0])
    check_names(what, used, known)


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
