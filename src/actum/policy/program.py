"""A compiled program in CEL (Common Expression Language), for conditions of policies and for workflows.

The library is asked for as little as can be: it compiles, and it executes with the values and functions that the caller
names. Which variables and functions a program may use is the caller's matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

from ..core.errors import UsageError
from ..core.language.sentence import Sentence
from ..schema.canonical import Unclear
from .expression_work import MACRO, bare_of, closing

BUILT_IN = frozenset(
    {  # a mistyped name is found when the program is compiled
        *("contains", "endsWith", "matches", "size", "startsWith"),
        *("bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"),
        *("getDate", "getDayOfMonth", "getDayOfWeek", "getDayOfYear", "getFullYear", "getMonth"),
        *("getHours", "getMilliseconds", "getMinutes", "getSeconds"),
    }
)
"""The functions of the library itself."""

LOOPS_MAX = 2
"""The most macros of a program that go through a list."""

_ORDERED, _PUT, _TAKEN = "_ordered", "_put", "_taken"
_OWN = re.compile(rf"(?<!\w)({_ORDERED}|{_PUT}|{_TAKEN})\s*\(")
_TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "string", "uint"})
_LOOP = re.compile(r"\.\s*(?:all|exists|exists_one|map|filter)\s*\(\s*(\w*)")
_NAMED = re.compile(r"[A-Za-z]\w*")
_MATCHES = re.compile(r"\bmatches\s*\(")
_LITERAL_LAST = re.compile(r"(?:^|,)\s*[rR]?(?:\" *\")+\s*\Z")


class ProgramFailed(Exception):
    """A program has no value; the message says why."""


class CelProgram:
    """A program in CEL, compiled once.

    Args:
        text: its text.
        shown: the text as messages show it, where the program was changed before it is compiled.
        unwanted: names that are no variables, though the library finds them in the text.

    Attributes:
        variables: the names of the variables that the program reads.
        functions: the names of the functions that the program calls.
        bound: the variables of the macros that go through lists.

    Raises:
        UsageError: the text is no CEL, goes through lists too often, or the library is not installed.
    """

    def __init__(self, text: str, shown: str = "", *, unwanted: Collection[str] = ()) -> None:
        try:
            import cel  # it takes 0.3 s to load, and most programs have no condition
        except ImportError:
            raise UsageError("conditions need CEL: pip install 'actum[policy]'") from None
        shown = shown or text
        try:
            self._program = cel.compile(_collecting(_ordering(text)))
        except ValueError as error:
            raise UsageError("{shown!r} is no CEL: {first_line}", shown=shown, first_line=first_line(error)) from None
        if _takes_patterns_of_values(text):
            raise UsageError(
                "{shown!r}: matches() takes its pattern as a text in quotes, not out of a value", shown=shown
            )
        self.bound = _LOOP.findall(shown)
        if len(self.bound) > LOOPS_MAX:
            raise UsageError(
                "{shown!r} goes through lists {count} times; {most} times are allowed",
                shown=shown,
                count=len(self.bound),
                most=LOOPS_MAX,
            )
        self.variables = frozenset(self._program.variables()) - set(self.bound) - _TYPES - set(unwanted)
        own = _OWN.findall(bare_of(text))  # nobody else calls them
        self.functions = frozenset([*own, *(each for each in self._program.functions() if _NAMED.fullmatch(each))])
        self._context = cel.Context

    def value(self, variables: Mapping[str, object], functions: Mapping[str, Callable[..., object]]) -> object:
        """What the program comes to.

        Args:
            variables: by name.
            functions: the functions that the program calls, beside those of the library.

        Raises:
            ProgramFailed: it has no value.
        """
        failures: list[str] = []
        collected: list[list[object]] = [[] for _ in range(LOOPS_MAX)]

        def put(number: int, is_kept: object, item: object) -> bool:
            if not isinstance(is_kept, bool):
                raise Unclear("true or false")
            collected[number] += [item] if is_kept else []
            return False

        def taken(_: object, number: int) -> list[object]:
            return collected[number]

        own: dict[str, Callable[..., object]] = {_ORDERED: _ordered, _PUT: put, _TAKEN: taken}
        noting = {name: _noting(name, function, failures) for name, function in own.items()}
        noting |= {name: _noting(name, _given_in_order(function), failures) for name, function in functions.items()}
        try:
            value: object = self._program.execute(self._context(dict(variables), noting))
        except Exception as error:  # noqa: BLE001  # the library raises a dozen kinds: all of them mean that there is no value
            raise ProgramFailed(failures[0] if failures else first_line(error)) from None
        if failures:
            raise ProgramFailed(failures[0])
        return _in_order(value)


def _ordering(text: str) -> str:
    """A program whose macros go through the keys of a map in their order.

    The library keeps maps in another order in each process, so a run that is resumed would see other lists, and
    `exists` another failure.

    >>> _ordering("a.filter(x, x > 1)")
    'a._ordered().filter(x, x > 1)'
    """
    pieces: list[str] = []
    at = 0
    for macro in MACRO.finditer(bare_of(text)):
        pieces += (text[at : macro.start()], f".{_ORDERED}()")
        at = macro.start()
    return "".join([*pieces, text[at:]])


def _ordered(value: object) -> object:
    """The keys of a map in their order; another value as it is."""
    return sorted(value, key=_rank) if isinstance(value, dict) else value


def _rank(key: object) -> tuple[str, str | int]:
    return type(key).__name__, key if isinstance(key, int) else str(key)


def _in_order(value: object) -> object:
    """A value of the library, its maps in the order of their keys."""
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value, key=_rank)}
    return [_in_order(item) for item in value] if isinstance(value, list | tuple) else value


def _given_in_order(function: Callable[..., object]) -> Callable[..., object]:
    return lambda *given: function(*map(_in_order, given))


def _collecting(text: str) -> str:
    """A program in which the lists of `map` and `filter` are collected by functions of ours.

    The library copies what was found so far for each item, so that long lists take hours. `exists` goes through a list
    as `map` does, as long as nothing is true, and fails where `map` fails. A macro inside of another is left as it is,
    since its items would have to be told apart from those of the run before.

    >>> _collecting("a.filter(x, x > 1).size()")
    'a.exists(x, _put(0, x > 1, x))._taken(0).size()'
    """
    bare = bare_of(text)
    pieces: list[str] = []
    at = number = 0
    for macro in MACRO.finditer(bare):
        end = closing(bare, macro.end())
        if macro.start() < at:
            continue
        pieces.append(text[at : macro.start()])
        at = macro.start()
        name, *rest = _arguments(text, bare, macro.end(), end)
        if macro[1] in ("map", "filter") and 1 <= len(rest) <= 1 + (macro[1] == "map"):
            kept, item = (rest[0], name) if macro[1] == "filter" else (rest[0] if rest[1:] else "true", rest[-1])
            pieces.append(f".exists({name}, {_PUT}({number}, {kept}, {item})).{_TAKEN}({number})")
            at, number = end + 1, number + 1
        else:
            pieces.append(text[at:end])
            at = end
    return "".join([*pieces, text[at:]])


def _arguments(text: str, bare: str, start: int, end: int) -> list[str]:
    """The arguments of a macro, the texts between commas that stand in no bracket."""
    found: list[str] = []
    depth, begin = 0, start
    for at in range(start, end):
        depth += (bare[at] in "([{") - (bare[at] in ")]}")
        if bare[at] == "," and not depth:
            found.append(text[begin:at].strip())
            begin = at + 1
    return [*found, text[begin:end].strip()]


def _takes_patterns_of_values(text: str) -> bool:
    """Whether a pattern comes out of values: one of 25 characters can keep the library busy for 20 s."""
    bare = bare_of(text)
    patterns = (bare[found.end() : closing(bare, found.end())] for found in _MATCHES.finditer(bare))
    return not all(map(_LITERAL_LAST.search, patterns))


def check_names(what: str, used: Collection[str], known: Collection[str]) -> None:
    """Refuse names that there are not.

    Raises:
        UsageError: one of the names is not known.
    """
    unknown = sorted(set(used) - set(known))
    if unknown:
        raise UsageError(
            "there is no {what} {unknown!r}; there are: {known}",
            what=Sentence(what),
            unknown=unknown[0],
            known=", ".join(known),
        )


def first_line(error: BaseException) -> str:
    """An error of the library on one line."""
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}"


def _noting(name: str, function: Callable[..., object], failures: list[str]) -> Callable[..., object]:
    """A function of ours that raises nothing: the library would print it."""

    def call(*given: object) -> object:
        try:
            return function(*given)
        except Unclear as error:
            failures.append(f"{name}(): expected {error}")
        except TypeError:  # another number of values
            failures.append(f"{name}(): another number of values")
        except (ValueError, ArithmeticError, LookupError, AttributeError, RecursionError) as error:
            failures.append(f"{name}(): {first_line(error)}")
        return None

    return call
