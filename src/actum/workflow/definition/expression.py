"""Expressions of a workflow: `${node.output.name}`, texts with such references inside, and `{cel: ...}`.

An expression is compiled once. It is given only the values that it names: of `find.output.total` only `total`, since
the CEL library converts every value that it is given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime, timedelta
from typing import Protocol

from msgspec import Struct

from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...policy.expression_work import CHARS_MAX, ExpressionWork, TooLarge, bare_of, size_of
from ...policy.lineage import DEVELOPER, PATH, Built, Lineage, Mixed, Steps, part_of, path_of, steps_of
from ...policy.program import BUILT_IN, CelProgram, ProgramFailed, check_names
from ...protocols.bound_text.part import Encoded, Given, Later, Part
from ...schema.canonical import Unclear
from .functions import FUNCTIONS, NUMBER_MAX, told

ROOTS = ("inputs", "vars", "env", "run", "item", "index", "error")
"""What an expression may speak of beside nodes."""

SOURCE_MAX = 4_000
"""The most characters of a CEL expression."""
PATH_SHOWN_MAX = 200
MADE_MAX = 4_000_000
ITEM_CHARS = 40
"""The functions of an expression make at most `MADE_MAX` characters together, and an item counts as `ITEM_CHARS`.
`MADE_MAX` also bounds a text with references."""

_REFERENCE = re.compile(r"\$\{([^{}]*)\}")
_PATH = re.compile(rf"\s*([A-Za-z_]\w*)({PATH})\s*+(\?)?\s*+(?:\|\s*([a-z]\w*)\s*)?")
_SECRET = re.compile(r"\s*secret:([A-Za-z_][\w.-]{0,127})\s*")
SECRET = re.compile(rf"\$\{{{_SECRET.pattern}\}}")
"""A reference to a secret."""
_WRITERS = frozenset({"text", "loose_text", "loose_markdown", "coze_text"})
"""Functions that say how a value is written in a text."""
_DECLARED: dict[str, Encoded] = {"raw": "raw", "query_string": "query_string"}
"""Words behind `|` by which an author declares that a value is encoded."""


class NoValue(Exception):
    """An expression has no value.

    Args:
        message: why.
        skipped: the expression speaks of a node that was skipped or has failed.
    """

    def __init__(self, message: str, *, skipped: bool = False) -> None:
        super().__init__(message)
        self.skipped = skipped


class ScopeValues(Protocol):
    """What an expression speaks of: the values of one place in a running workflow."""

    def value(self, root: str) -> Json:
        """The value of a root.

        Raises:
            NoValue: there is none.
        """

    def lineage(self, root: str) -> Lineage:
        """Where the value of a root came from."""


class Named(Struct, frozen=True):
    """A value that an expression names: `find.output.total`.

    Attributes:
        root: the name of a node, or one of `ROOTS`.
        steps: what leads from there to the value.
        optional: the expression says what it wants where there is no value.
    """

    root: str
    steps: Steps = ()
    optional: bool = False

    @property
    def path(self) -> str:
        """As it is written."""
        return path_of((self.root, *self.steps))

    @property
    def shown(self) -> str:
        """As messages show it: the beginning of a long one."""
        path = path_of((self.root, *self.steps[:20]))
        return path if len(path) <= PATH_SHOWN_MAX and len(self.steps) <= 20 else path[:PATH_SHOWN_MAX] + "..."


class Literal(Struct, frozen=True):
    """A value that the definition itself holds."""

    constant: Json

    def value(self, values: ScopeValues) -> Json:
        return self.constant

    def lineage(self, values: ScopeValues) -> Lineage:
        return DEVELOPER

    def named(self) -> Iterator[Named]:
        yield from ()


class Reference(Struct, frozen=True):
    """`${a.b[0]}`: the value itself.

    Attributes:
        name: what names the value.
        encoded: `${a.b|raw}` and `${a.b|query_string}`: the author says that the value is encoded for its place.
    """

    name: Named
    encoded: Encoded = ""

    def value(self, values: ScopeValues) -> Json:
        name = self.name
        try:
            value = values.value(name.root)
        except NoValue:
            if name.optional:
                return None
            raise
        for step in name.steps:
            try:
                value = value[step]  # type: ignore[index]  # what can not be asked so raises TypeError
            except (KeyError, IndexError, TypeError):
                if name.optional:
                    return None
                skipped = step == name.steps[0] and isinstance(value, dict) and "error" in value
                raise NoValue(f"${{{name.path}}} has no value: there is no {step!r}", skipped=skipped) from None
        return value

    def given(self, values: ScopeValues) -> Given:
        """The value, to be put into a text."""
        value = self.value(values)
        return Given(value, _shown(value), self.encoded)

    def lineage(self, values: ScopeValues) -> Lineage:
        return part_of(values.lineage(self.name.root), self.name.steps)

    def named(self) -> Iterator[Named]:
        yield self.name


class Piped(Struct, frozen=True):
    """`${a.b|lower}`: what a function makes of a value."""

    of: Reference
    function: str

    def value(self, values: ScopeValues) -> Json:
        value = self.of.value(values)
        try:
            return as_json(FUNCTIONS[self.function](value))
        except Unclear as error:
            raise NoValue(f"{self.function}({self.of.name.path}): expected {error}") from None
        except (TypeError, ValueError, ArithmeticError, LookupError, RecursionError) as error:
            raise NoValue(f"{self.function}({self.of.name.path}): {type(error).__name__}: {error}"[:300]) from None

    def given(self, values: ScopeValues) -> Given:
        """The value, to be put into a text. A function that says how a value is written in a text leaves the value its
        type, for places that have types."""
        value = self.value(values)
        encoded: Encoded = "form" if self.function == "loose_form" else ""
        return Given(self.of.value(values) if self.function in _WRITERS else value, _shown(value), encoded)

    def lineage(self, values: ScopeValues) -> Lineage:
        return Mixed((self.of.lineage(values),))

    def named(self) -> Iterator[Named]:
        yield self.of.name


class TextOf(Struct, frozen=True):
    """A text with references inside."""

    parts: tuple[Literal | Reference | Piped, ...]

    def value(self, values: ScopeValues) -> Json:
        return "".join(part if isinstance(part, str) else part.text for part in self.given(values))

    def given(self, values: ScopeValues) -> list[Part]:
        """The words of the text and the values in it, for a text that has a grammar.

        Raises:
            NoValue: one has no value, or all together are too long.
        """
        parts: list[Part] = []
        left = MADE_MAX
        for part in self.parts:
            if isinstance(part, Literal):
                words = str(part.constant)
                found: Part = Later(words) if SECRET.fullmatch(words) else words
            else:
                found = part.given(values)
            left -= len(found if isinstance(found, str) else found.text)
            if left < 0:
                raise NoValue(f"a text would have more than {MADE_MAX} characters")
            parts.append(found)
        return parts

    def sketched(self) -> list[Part]:
        """The words of the text, with numbers in the places of the values."""
        parts: list[Part] = []
        for at, part in enumerate(self.parts):
            if isinstance(part, Literal):
                words = str(part.constant)
                parts.append(Later(words) if SECRET.fullmatch(words) else words)
            else:
                encoded = part.encoded if isinstance(part, Reference) else ""
                parts.append(Given.of(at, "" if encoded == "raw" else encoded))
        return parts

    def lineage(self, values: ScopeValues) -> Lineage:
        return Mixed(tuple(part.lineage(values) for part in self.parts))

    def named(self) -> Iterator[Named]:
        for part in self.parts:
            yield from part.named()


class Computed:
    """`{cel: ...}`: what a CEL expression comes to.

    Args:
        source: the expression.

    Raises:
        UsageError: the expression is no CEL, too long, or calls a function that there is not.
    """

    def __init__(self, source: str) -> None:
        if len(source) > SOURCE_MAX:
            raise UsageError(
                "an expression has at most {most} characters, this one has {count}", most=SOURCE_MAX, count=len(source)
            )
        self.source = source
        self._program = CelProgram(source)
        check_names("function", self._program.functions, sorted(BUILT_IN | FUNCTIONS.keys()))
        self._functions = {name: FUNCTIONS[name] for name in self._program.functions & FUNCTIONS.keys()}
        self._paths = {root: _paths(source, root) for root in sorted(self._program.variables)}
        self._work = ExpressionWork(source, self._functions)
        self._in_bodies = {root: _paths(self._work.bodies, root) for root in self._work.in_bodies(self._paths)}

    def value(self, values: ScopeValues) -> Json:
        given: dict[str, object] = {root: _pruned(values, root, paths) for root, paths in self._paths.items()}
        try:
            self._work.check(given, {root: _pruned(values, root, paths) for root, paths in self._in_bodies.items()})
        except TooLarge as large:
            raise NoValue(f"{self.source[:100]!r}: {large}") from None
        try:
            return as_json(self._program.value(given, _bounded(self._functions, self._work.made_max)))
        except ProgramFailed as failed:
            raise NoValue(f"{self.source!r} has no value: {failed}") from None

    def lineage(self, values: ScopeValues) -> Lineage:
        if not self._paths:
            return DEVELOPER
        return Mixed(tuple(part_of(values.lineage(name.root), name.steps) for name in self.named()))

    def named(self) -> Iterator[Named]:
        for root, paths in self._paths.items():
            for path in paths:
                yield Named(root, path, optional=True)


class ObjectOf(Struct, frozen=True):
    """An object with expressions inside."""

    fields: dict[str, Expression]

    def value(self, values: ScopeValues) -> Json:
        return {name: field.value(values) for name, field in self.fields.items()}

    def lineage(self, values: ScopeValues) -> Lineage:
        return Built({name: field.lineage(values) for name, field in self.fields.items()}, DEVELOPER)

    def named(self) -> Iterator[Named]:
        for field in self.fields.values():
            yield from field.named()


class ListOf(Struct, frozen=True):
    """A list with expressions inside."""

    items: tuple[Expression, ...]

    def value(self, values: ScopeValues) -> Json:
        return [item.value(values) for item in self.items]

    def lineage(self, values: ScopeValues) -> Lineage:
        return Built({index: item.lineage(values) for index, item in enumerate(self.items)}, DEVELOPER)

    def named(self) -> Iterator[Named]:
        for item in self.items:
            yield from item.named()


Expression = Literal | Reference | Piped | TextOf | Computed | ObjectOf | ListOf


def compile_value(value: Json, *, secrets: bool = False) -> Expression:
    """Compile a value of a definition, in which expressions may stand.

    Args:
        value: the value.
        secrets: `${secret:NAME}` may stand in the value; such a reference stays as it is written.

    Raises:
        UsageError: an expression is none.
    """
    if isinstance(value, str):
        return _compile_text(value, secrets=secrets)
    if isinstance(value, list):
        items = tuple(compile_value(item, secrets=secrets) for item in value)
        return Literal(value) if all(isinstance(item, Literal) for item in items) else ListOf(items)
    if isinstance(value, dict):
        if is_computed(value):
            return Computed(str(value["cel"]))
        fields = {name: compile_value(item, secrets=secrets) for name, item in value.items()}
        return Literal(value) if all(isinstance(field, Literal) for field in fields.values()) else ObjectOf(fields)
    return Literal(value)


def is_computed(value: JsonObject) -> bool:
    """Whether an object is `{cel: ...}`."""
    return len(value) == 1 and isinstance(value.get("cel"), str)


def _compile_text(text: str, *, secrets: bool) -> Expression:
    if "${" not in text:
        return Literal(text)
    parts: list[Literal | Reference | Piped] = []
    at = 0
    for found in _REFERENCE.finditer(text):
        if found.start() > at:
            parts.append(Literal(text[at : found.start()]))
        at = found.end()
        if _SECRET.fullmatch(found[1]):
            if not secrets:
                raise UsageError("{found}: a secret can only stand in what an http node sends", found=found[0])
            parts.append(Literal(found[0]))
        else:
            parts.append(read_reference(found[1]))
    if "${" in text[at:]:
        raise UsageError("{text!r}: '${{' has no '}}'", text=text[at:][:40])
    if at < len(text):
        parts.append(Literal(text[at:]))
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, Literal) for part in parts):
        return Literal(text)
    return TextOf(tuple(parts))


def read_reference(text: str) -> Reference | Piped:
    """Read the text between `${` and `}`.

    Raises:
        UsageError: that is no reference, or the function behind `|` is not there.
    """
    found = _PATH.fullmatch(text)
    if found is None:
        raise UsageError(
            "${{{text}}} is no reference: write ${{node.output.name}}, or {{cel: ...}} to compute", text=text
        )
    reference = Reference(Named(found[1], steps_of(found[2]), optional=bool(found[3])))
    if not found[4]:
        return reference
    if found[4] in _DECLARED:
        return Reference(reference.name, _DECLARED[found[4]])
    check_names("function", [found[4]], sorted([*FUNCTIONS, *_DECLARED]))
    return Piped(reference, found[4])


def _bounded(functions: Mapping[str, Callable[..., object]], items_max: int) -> Mapping[str, Callable[..., object]]:
    """The functions of one evaluation, which together make a bounded amount, and lists of this many items at most."""
    left = MADE_MAX

    def bounded(function: Callable[..., object]) -> Callable[..., object]:
        def call(*given: object) -> object:
            nonlocal left
            value = function(*given)
            left -= len(value) if isinstance(value, str) else len(value) * ITEM_CHARS if isinstance(value, list) else 0
            if isinstance(value, list) and len(value) > items_max:
                raise Unclear(f"at most {items_max} items in a list, where an expression goes through lists")
            if left < 0:
                raise Unclear(f"at most {MADE_MAX} characters and items from all functions together")
            return value

        return call

    return {name: bounded(function) for name, function in functions.items()} if functions else functions


def check_size(value: object, chars_max: int = CHARS_MAX) -> None:
    """Bound a value.

    Raises:
        NoValue: the value is too large, or too deep.
    """
    try:
        size_of(value, chars_max=chars_max)
    except TooLarge as large:
        raise NoValue(str(large)) from None


def as_json(value: object) -> Json:
    """What CEL came to, as JSON.

    Raises:
        NoValue: the value is none that JSON has.
    """
    match value:
        case None | bool() | str():
            return value
        case int() | float():
            if not -NUMBER_MAX <= value <= NUMBER_MAX:
                raise NoValue("a number that is too large, or none")
            return value
        case list() | tuple():
            return [as_json(item) for item in value]
        case dict():
            return {name if isinstance(name, str) else told(name): as_json(item) for name, item in value.items()}
        case datetime():
            return value.isoformat().replace("+00:00", "Z")
        case date():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case _:
            raise NoValue(f"a value of CEL that JSON has not: {type(value).__name__}")


def _shown(value: Json) -> str:
    """A value as a part of a text.

    Raises:
        NoValue: the text would be too long.
    """
    if isinstance(value, list | dict):
        check_size(value, MADE_MAX)
    return "" if value is None else told(value)


def _paths(source: str, root: str) -> tuple[Steps, ...]:
    """Which parts of a root an expression names; the empty path where it names the whole."""
    bare = bare_of(source)
    paths: dict[Steps, None] = {}
    pattern = re.compile(rf"(?<![\w.]){root}\b((?:\s*\.\s*[A-Za-z_]\w*(?!\w|\s*\())*)")
    for found in pattern.finditer(bare):
        paths[tuple(re.findall(r"\w+", found[1]))] = None
    shortest = [path for path in paths if not any(path[:length] in paths for length in range(len(path)))]
    return tuple(shortest) or ((),)


def _pruned(values: ScopeValues, root: str, paths: tuple[Steps, ...]) -> Json:
    """A value with nothing in it but the parts that are named."""
    try:
        whole = values.value(root)
    except NoValue as none:
        if none.skipped:
            return {}  # `has(node.output)` is false
        raise
    if paths == ((),):
        return whole
    kept: JsonObject = {}
    for path in paths:
        _keep(whole, kept, path)
    return kept


def _keep(whole: Json, kept: JsonObject, path: Steps) -> None:
    for at, step in enumerate(path):
        if not isinstance(whole, dict) or step not in whole:
            return
        name, whole = str(step), whole[step]
        if at == len(path) - 1 or not isinstance(whole, dict):
            kept[name] = whole
            return
        inner = kept.setdefault(name, {})
        assert isinstance(inner, dict)
        kept = inner
