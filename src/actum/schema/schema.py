"""A tool's JSON Schema at work: compiled once, asked at every call.

`compile_schema` refuses a schema that is not one, and never fetches: a `$ref` that leads out of the document is an
error, not a request. `Schema.check` answers what the tool gets, what was mended to get there (`coercion` does that), or
what is wrong, in words that a model can repair from.

Two things differ from the specification. A required string that is empty or white space counts as missing, since that
is what a model writes that does not know the value; a schema allows it by `minLength: 0`, by `""` in its `enum`, or by
a default of `""` (not looked for below `oneOf`, `not` and `if`, where a stricter schema could accept more). And
`date-time` and `time` may come without an offset, as ISO 8601 has it and as people write them.

Limits: patterns are matched in linear time where they are regular, and else given up after a fixed amount of
backtracking, which counts as not matching. Values nested many thousands deep overflow the validator's stack: arguments
come from `json.parse`, which refuses them.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Literal

import jsonschema_rs
import msgspec
from jsonschema_rs import ValidationError, ValidationErrorKind
from msgspec import Struct

from ..core.call import Problem
from ..core.errors import BadTool, UsageError
from ..core.json import Json, JsonObject, dumps
from .canonical import Unclear
from .coercion import NOT_BLANK, Mending, node_at, sample, shorten, show, tell_path, unexpected
from .kinds import KEYWORD, OTHERWISE, Kind, read_kind

ROUNDS_MAX = 5
"""How often arguments are mended and looked at again: JSON text in JSON text in a single value is three."""

PROBLEMS_MAX = 8
"""So many problems are told at once; the rest is counted."""

VALUES_MAX = 500
CHARACTERS_MAX = 20_000_000
"""All errors are looked for at once only in arguments of so many values, and of so many characters times values: the
validator builds each error with the value that it is about. Of larger arguments a sample is looked at.
"""

FOREIGN_BYTES_MAX = 512 * 1024
"""A schema of another party may be so large as JSON."""
APPLIED_MAX = 10_000
"""So many schemas may hold for one value. A schema of 2 KB can name another one twice, that one a third one twice, and
so on, until nobody lives to see the end of a check."""

PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=10_000)
"""Its engine hands a regular pattern to the linear one; only look-around and back-references are ever backtracked."""


class CheckedArguments(Struct, frozen=True):
    """What came of checking arguments.

    Attributes:
        arguments: what the tool gets. The object that was given as long as nothing had to be mended, and when there are
            problems.
        repairs: what was mended, each a phrase for the record (`a: "5" (string) read as 5 (integer)`).
        problems: what is wrong, first what is missing; empty when the arguments fit.
    """

    arguments: JsonObject
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Schema:
    """A compiled JSON Schema. Made by `compile_schema`."""

    __slots__ = ("_all_errors", "_document", "_has_unions", "_is_valid", "_stop_at_first")

    def __init__(self, document: JsonObject, validator: jsonschema_rs.Validator) -> None:
        self._document = document
        self._is_valid = validator.is_valid
        self._stop_at_first = validator.validate
        self._all_errors = validator.iter_errors
        self._has_unions: bool | None = None

    def problems(self, value: Json) -> tuple[Problem, ...]:
        """What is wrong with a value; empty when it fits."""
        if self._is_valid(value):
            return ()
        return _problems(self._errors(value, is_large=_is_large(value)), self._document) or (_TOO_LARGE,)

    def fits(self, value: Json) -> bool:
        """Whether a value fits; quick, however much is wrong with the value."""
        return self._is_valid(value)

    def check(
        self, arguments: JsonObject, *, coerce: bool = True, extra: Literal["refuse", "drop"] = "refuse"
    ) -> CheckedArguments:
        """Check arguments, and mend what can be mended without guessing.

        Args:
            arguments: what a model wrote; never changed.
            coerce: whether values that nearly fit are read as what was asked for, and misspelt names as the parameter
                they can only mean.
            extra: what becomes of arguments that the schema does not allow: a problem, or dropped and recorded.
        """
        try:
            if self._is_valid(arguments):
                return CheckedArguments(arguments)
            dumps(arguments)
            is_large = _is_large(arguments)
            errors = self._errors(arguments, is_large=is_large)
        except (ValueError, TypeError, RecursionError):  # half a surrogate pair, or a Python object: it was never JSON
            return CheckedArguments(arguments, problems=(Problem("", "json", "values that JSON can hold"),))
        mending = Mending(self._document, arguments)
        for _ in range(ROUNDS_MAX):
            if not errors or not mending.go_over(errors, coerce=coerce, extra=extra):
                break
            errors = self._errors(mending.value, is_large=is_large)
        if errors:
            return CheckedArguments(arguments, problems=_problems(errors, self._document))
        if is_large and not self._is_valid(mending.value):
            return CheckedArguments(arguments, problems=(_TOO_LARGE,))
        return CheckedArguments(mending.value, _counted(mending))

    def _errors(self, value: Json, *, is_large: bool) -> list[ValidationError]:
        """All that is wrong with a value. Of a large value, what is wrong with the first items of its lists, or its
        first error; and none where even that is too much: an error of a union holds all errors of all its branches.
        """
        if not is_large:
            return list(self._all_errors(value))
        part = sample(value, VALUES_MAX)
        if part is not None and not _is_large(part[0]):
            errors = [error for error in self._all_errors(part[0]) if not isinstance(error.kind, _OF_WHOLE_LISTS)]
            if errors:
                return errors
        if self._has_unions is None:
            self._has_unions = _has_unions(self._document)
        try:
            if not self._has_unions:
                self._stop_at_first(value)
        except ValidationError as first:
            return [first]
        return []


def compile_schema(schema: JsonObject, *, where: str, blanks: bool = False, foreign: bool = False) -> Schema:
    """Make a JSON Schema ready for use.

    Args:
        schema: of any draft from 4 on, as its `$schema` says; 2020-12 when it says nothing.
        where: whose schema it is, for the error: `tool 'add'`.
        blanks: whether blank text will do where text is required, and text of any kind, as it does for results.
        foreign: another party wrote it: its `x-kind` may be a word of its own, and its paths are those of another
            machine, where no symbolic link is looked up.

    Raises:
        BadTool: it is no JSON Schema, or refers to something outside itself, or to a kind that there is not, or it is
            foreign and too large. One line, with the path of the problem.

    >>> compile_schema({"properties": {"a": {"type": "integer"}}}, where="tool 'add'").check({"a": "5"}).repairs
    ('a: "5" (string) read as 5 (integer)',)
    """
    kinds = _Kinds(foreign=foreign)
    try:
        if foreign and len(msgspec.json.encode(schema)) > FOREIGN_BYTES_MAX:
            raise BadTool(
                "{where}: the schema is larger than {most} KB: make it smaller",
                where=where,
                most=FOREIGN_BYTES_MAX // 1024,
            )
        document = schema if blanks else _refusing_blanks(schema, schema)
        if _applied(schema) > APPLIED_MAX:
            raise BadTool("{where}: more than {most} schemas hold for one value", where=where, most=APPLIED_MAX)
        validator = jsonschema_rs.validator_for(
            document,
            validate_formats=True,
            formats=_WIDER_FORMATS,
            pattern_options=PATTERNS,
            keywords=None if blanks else {KEYWORD: kinds},  # type: ignore[dict-item]  # it is only called
            offline=True,
        )
    except ValidationError as error:
        raise BadTool(
            "{where}: {tell_bad_schema}", where=where, tell_bad_schema=_tell_bad_schema(error, schema)
        ) from None
    except RecursionError:
        raise BadTool("{where}: the schema is nested too deep", where=where) from None
    except (ValueError, TypeError) as error:
        raise BadTool("{where}: the schema is not JSON ({why})", where=where, why=str(error)[:100]) from None
    if kinds.bad:
        raise BadTool("{where}: {bad}", where=where, bad=kinds.bad[0])
    return Schema(document, validator)


# A stricter schema: text of a kind is in its one form. ----------------------------------------------------------------


class _Kinds:
    """The keyword `x-kind` of one schema, for the validator, which makes of it what holds the values of each place.

    Attributes:
        bad: what is wrong with its uses.
    """

    def __init__(self, *, foreign: bool) -> None:
        self.bad: list[str] = []
        self._foreign = foreign

    def __call__(self, node: JsonObject, said: Json, path: Sequence[str | int]) -> _Held:
        try:
            kind = read_kind(said)
            if "type" in node and _is_text({"type": node["type"]}, node) is False:
                raise UsageError("a kind is said of text, and this is {type}", type=dumps(node["type"]))
        except UsageError as error:
            if not self._foreign:
                self.bad.append(f"{tell_path(path)}: {error}")
            return _Held(None)
        return _Held(kind, links=not self._foreign)


class _Held:
    """The values of one place in a schema, held to a kind: they are in its one form. `coercion` brings them there."""

    def __init__(self, kind: Kind | None, *, links: bool = True) -> None:
        self._kind = kind
        self._links = links

    def validate(self, value: Json) -> None:
        """What the validator asks.

        Raises:
            ValueError: it is not so; the message says what was expected.
        """
        if self._kind is None or not isinstance(value, str):
            return
        written = self._kind.written(value)
        if self._links and not self._kind.holds(written):
            raise Unclear("a path that stays inside of its folder")
        if written != value:
            raise Unclear(OTHERWISE + shorten(written))


# A stricter schema: blank text does not count as given. ---------------------------------------------------------------

_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_LISTS = frozenset({"allOf", "anyOf", "prefixItems", "items"})
_SCHEMAS = frozenset({"items", "additionalProperties", "additionalItems", "unevaluatedProperties", "then", "else"})


def _refusing_blanks(schema: JsonObject, root: JsonObject) -> JsonObject:
    """The same schema, every path in it the same, that also refuses blank text where text is required."""
    changed = dict(schema)
    for key, value in schema.items():
        if isinstance(value, dict) and key in _MAPS:
            changed[key] = {name: _refusing_blanks(v, root) if isinstance(v, dict) else v for name, v in value.items()}
        elif isinstance(value, dict) and key in _SCHEMAS:
            changed[key] = _refusing_blanks(value, root)
        elif isinstance(value, list) and key in _LISTS:
            changed[key] = [_refusing_blanks(v, root) if isinstance(v, dict) else v for v in value]
    required, properties = schema.get("required"), schema.get("properties")
    if isinstance(required, list) and isinstance(properties, dict):
        blank = [n for n in required if isinstance(n, str) and _is_text(properties.get(n), root) is True]
        if blank and isinstance(schema.get("allOf", []), list):
            rule: JsonObject = {"properties": {name: {"pattern": NOT_BLANK} for name in blank}}
            changed["allOf"] = [*_list(changed.get("allOf")), rule]
    return changed


def _is_text(schema: Json, root: JsonObject, depth: int = 8) -> bool | None:
    """Whether a value may be text that must say something: None when it may be text and may be blank."""
    if not isinstance(schema, dict) or depth == 0:
        return False
    options = [*_list(schema.get("enum")), schema.get("const"), schema.get("default")]
    if "" in [option for option in options if isinstance(option, str)] or schema.get("minLength") == 0:
        return None
    inner = [_is_text(part, root, depth - 1) for part in _parts(schema, root)]
    if None in inner:
        return None
    return schema.get("type") == "string" or "string" in _list(schema.get("type")) or True in inner


def _parts(schema: JsonObject, root: JsonObject) -> Iterator[Json]:
    """The schemas that one is put together of: those it lists and the one it names."""
    for key in ("anyOf", "oneOf", "allOf"):
        yield from _list(schema.get(key))
    reference = schema.get("$ref")
    if isinstance(reference, str) and reference.startswith("#/"):
        yield node_at(root, [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")])


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _is_date_time(value: object) -> bool:
    return isinstance(value, str) and _reads(_DATE_TIME, datetime.datetime.fromisoformat, value)


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _reads(_TIME, datetime.time.fromisoformat, value)


def _reads(form: re.Pattern[str], read: Callable[[str], object], value: str) -> bool:
    """It has the form, which leaves out the rarer ones of ISO 8601, and is a time that there is."""
    if not form.fullmatch(value):
        return False
    try:
        read(value.upper())
    except ValueError:
        return False
    return True


_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?([Zz]|[+-][0-9]{2}:[0-9]{2})?"
_TIME = re.compile(_CLOCK)
_DATE_TIME = re.compile(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt ]{_CLOCK}")
_WIDER_FORMATS: dict[str, Callable[..., bool]] = {"date-time": _is_date_time, "time": _is_time}


# How much work a check is. --------------------------------------------------------------------------------------------

_TOO_LARGE = Problem("", "large", "arguments that fit the schema; these hold too many values to say where they do not")
_OF_WHOLE_LISTS = (ValidationErrorKind.MinItems, ValidationErrorKind.Contains)
"""What the first items of a list can not be held to."""
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef")


def _is_large(value: Json) -> bool:
    """Whether a value is too large to have all its errors looked for; the look ends where that is clear."""
    values = characters = 0
    waiting: list[Json] = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, dict):
            values += len(item)
            characters += sum(map(len, item)) if values <= VALUES_MAX else 0
            waiting += item.values() if values <= VALUES_MAX else ()
        elif isinstance(item, list | tuple):
            values += len(item)
            waiting += item if values <= VALUES_MAX else ()
        elif isinstance(item, str):
            characters += len(item)
        if values > VALUES_MAX or values * characters > CHARACTERS_MAX:
            return True
    return False


def _has_unions(schema: Json) -> bool:
    waiting: list[Json] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            if "anyOf" in node or "oneOf" in node:
                return True
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return False


def _applied(document: JsonObject) -> int:
    """The most schemas of a document that hold for one value; what leads back to itself counts once."""
    known: dict[int, int] = {}

    def count(node: Json) -> int:
        if isinstance(node, list):
            return sum(map(count, node))
        if not isinstance(node, dict):
            return 0
        if id(node) not in known:
            known[id(node)] = 1  # a circle ends here
            parts: list[Json] = [node.get(key) for key in _IN_PLACE]
            dependent = node.get("dependentSchemas")
            parts += dependent.values() if isinstance(dependent, dict) else ()
            parts += [_target(document, name) for key in _REFERENCES if isinstance(name := node.get(key), str)]
            known[id(node)] = min(1 + sum(map(count, parts)), APPLIED_MAX + 1)
        return known[id(node)]

    waiting: list[Json] = [document]
    most = 0
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            most = max(most, count(node))
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return most


def _target(document: JsonObject, reference: str) -> Json:
    """What a reference names; nothing where it leads out, or by an anchor, of which none leads far."""
    if not reference.startswith("#/"):
        return document if reference == "#" else None
    return node_at(document, [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")])


# What is wrong, in words for a model. ---------------------------------------------------------------------------------

_NAME_MAX = 200
_COMPARED_MAX = 60
"""Of an unexpected name so many characters are compared, with so many names of the schema."""

_FORMATS = {
    "date": "a date (2026-11-20)",
    "date-time": "a date and time (2026-11-20T14:30:00Z)",
    "time": "a time (14:30:00)",
    "duration": "a duration (PT1H30M)",
    "email": "an e-mail address",
    "hostname": "a host name",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "regex": "a regular expression",
    "uri": "a URI (https://example.org/page)",
    "uuid": "a UUID (123e4567-e89b-12d3-a456-426614174000)",
}

_PHRASES = {
    "minimum": "at least {limit}",
    "exclusiveMinimum": "more than {limit}",
    "maximum": "at most {limit}",
    "exclusiveMaximum": "less than {limit}",
    "multipleOf": "a multiple of {multiple_of}",
    "minLength": "at least {limit} characters",
    "maxLength": "at most {limit} characters",
    "minItems": "at least {limit} items",
    "maxItems": "at most {limit} items",
    "minProperties": "at least {limit} entries",
    "maxProperties": "at most {limit} entries",
    "uniqueItems": "items that all differ",
    "contains": "another number of items of the right kind",
    "additionalItems": "at most {limit} items",
    "unevaluatedItems": "fewer items",
    "falseSchema": "nothing here",
    "not": "another value",
    "oneOf": "a value that fits exactly one of the alternatives",
    "anyOf": "a value that fits one of the alternatives",
}


def _problems(errors: Sequence[ValidationError], document: JsonObject) -> tuple[Problem, ...]:
    """The problems in the order in which they should be mended, each once, and not too many."""
    found = {(p.path, p.rule, p.expected): p for error in errors for p in _tell(error, document)}
    untold = sum(max(0, len(unexpected([error])) - PROBLEMS_MAX) for error in errors)
    missing = {problem.path for problem in found.values() if problem.rule == "required"}
    held = {problem.path for problem in found.values() if problem.rule == "kind"}
    told = [p for p in found.values() if p.path not in missing or p.rule == "required"]
    told = [p for p in told if p.rule != "format" or p.path not in held]  # a kind says the same, and more
    told = [p for p in told if p.rule != "kind" or not p.expected.startswith(OTHERWISE)] or told  # mended with the rest
    told.sort(key=lambda problem: problem.rule != "required")
    more = max(0, len(told) - PROBLEMS_MAX) + untold
    if more:
        return (*told[:PROBLEMS_MAX], Problem("", "more", f"{more} further problems mended too"))
    return tuple(told)


def _counted(mending: Mending) -> tuple[str, ...]:
    more = mending.count - len(mending.repairs)
    return (*mending.repairs, f"{more} further repairs of this kind") if more else tuple(mending.repairs)


def _tell(error: ValidationError, document: JsonObject) -> list[Problem]:
    """The problems that one error of the validator means."""
    path = tell_path(error.instance_path)
    match error.kind:
        case ValidationErrorKind.Required(property=name):
            said = node_at(document, [*error.schema_path[:-1], "properties", name])
            return [Problem(tell_path([*error.instance_path, name]), "required", _words(said, document))]
        case ValidationErrorKind.Pattern(pattern=pattern) if pattern == NOT_BLANK:
            owner = error.schema_path[:-5]  # beside the allOf in which we put the rule
            said = node_at(document, [*owner, *error.schema_path[-3:-1]])
            return [Problem(path, "required", _words(said, document), _came(error))]
        case ValidationErrorKind.AdditionalProperties() | ValidationErrorKind.UnevaluatedProperties():
            known = node_at(document, [*error.schema_path[:-1], "properties"])
            return [_tell_unexpected(error, name, known) for name in unexpected([error])[:PROBLEMS_MAX]]
        case ValidationErrorKind.AnyOf(context=branches) | ValidationErrorKind.OneOfNotValid(context=branches):
            return _tell_union(error, branches, document)
        case ValidationErrorKind.Custom(message=expected):
            return [Problem(path, "kind", expected, _came(error))]
        case ValidationErrorKind.PropertyNames(error=inner):
            return [Problem(path, "propertyNames", f"other names: {_expected(inner)}", _came(inner))]
        case _:
            return [Problem(path, error.kind.name, _expected(error), _came(error))]


def _came(error: ValidationError) -> str:
    return show(error.instance)  # type: ignore[arg-type]  # its JSON may hold a Decimal


def _tell_unexpected(error: ValidationError, name: str, known: JsonObject) -> Problem:
    near = get_close_matches(name[:_NAME_MAX], list(known)[:_COMPARED_MAX], n=2, cutoff=0.6)
    near = near or list(known)[:PROBLEMS_MAX]
    names = ", ".join(shorten(other) for other in near)
    path = tell_path([*error.instance_path, name])
    return Problem(path, "additionalProperties", f"only names like {names}" if names else "no arguments")


def _tell_union(
    error: ValidationError, branches: Sequence[Sequence[ValidationError]], document: JsonObject
) -> list[Problem]:
    """One problem that lists the alternatives, or those of the alternative that was nearest to what came."""
    path = error.instance_path
    nearest = [b for b in branches if b and not any(e.instance_path == path and _is_of_kind(e) for e in b)]
    if nearest:
        return [problem for inner in min(nearest, key=len) for problem in _tell(inner, document)]
    here = [_expected(e) for b in branches for e in b if e.instance_path == path and _is_of_kind(e)]
    expected = " or ".join(dict.fromkeys(here)) or _PHRASES["anyOf"]
    return [Problem(tell_path(path), error.kind.name, expected, _came(error))]


def _is_of_kind(error: ValidationError) -> bool:
    """It says that the value as a whole is another one than was asked for."""
    return isinstance(error.kind, ValidationErrorKind.Type | ValidationErrorKind.Enum | ValidationErrorKind.Constant)


def _expected(error: ValidationError) -> str:
    """What would have been right, in a few words."""
    match error.kind:
        case ValidationErrorKind.Type(types=types):
            return " or ".join(sorted(types, key="null".__eq__))
        case ValidationErrorKind.Enum(options=options):
            return _one_of(options)  # type: ignore[arg-type]
        case ValidationErrorKind.Constant(expected_value=value):
            return shorten(value)  # type: ignore[arg-type]
        case ValidationErrorKind.Format(format=name):
            return _FORMATS.get(name, f"the format {name}")
        case ValidationErrorKind.Pattern(pattern=pattern):
            return f"text that matches {pattern[:120]}"
        case ValidationErrorKind.BacktrackLimitExceeded():
            return "text that matches the pattern; this took too long to tell"
        case kind:
            facts = {name: getattr(kind, name) for name in kind.__match_args__}  # type: ignore[attr-defined]
            return _PHRASES.get(kind.name, "what the schema allows").format(**facts)


def _one_of(options: Sequence[Json]) -> str:
    told = ", ".join(shorten(option) for option in options[:12])
    more = f", … ({len(options)} in all)" if len(options) > 12 else ""
    return f"one of {told}{more}"


def _words(schema: JsonObject, document: JsonObject, depth: int = 4) -> str:
    """A schema in a few words: its type, and what its description says."""
    options = schema.get("enum")
    if isinstance(options, list) and options:
        kind = _one_of(options)
    elif isinstance(schema.get("format"), str):
        kind = _FORMATS.get(str(schema["format"]), str(schema.get("type", "a value")))
    elif isinstance(schema.get("type"), str | list):
        kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        kind = " or ".join(str(k) for k in kinds)
    else:
        parts = _parts(schema, document) if depth else ()
        inner = [_words(part, document, depth - 1) for part in parts if isinstance(part, dict)]
        kind = " or ".join(dict.fromkeys(inner)) or "a value"
    description = " ".join(str(schema.get("description", "")).split())
    return f"{kind} ({description[:100]})" if description else kind


def _tell_bad_schema(error: ValidationError, schema: JsonObject) -> str:
    """What is wrong with a schema, in one line."""
    if isinstance(error.kind, ValidationErrorKind.Referencing):
        return _tell_bad_reference(error.message, schema)
    path = tell_path(error.instance_path) or "schema"
    expected = _expected(error)
    if isinstance(error.kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
        expected = _tell_union(error, error.kind.context, {})[0].expected
    return f"{path}: expected {expected}, found {_came(error)}"


def _tell_bad_reference(message: str, schema: JsonObject) -> str:
    if message.startswith("Unknown meta-schema"):
        return f"$schema: {shorten(schema.get('$schema'))} is not a draft that is known here"
    for path, reference in _references(schema, ()):
        if reference.startswith("#") and reference[1:] in message:
            return f"{tell_path(path)}: there is no {shorten(reference)} in this schema"
        if not reference.startswith("#") and reference in message:
            return f"{tell_path(path)}: {shorten(reference)} is outside of this schema, and nothing is fetched"
    return "a $ref in it leads nowhere"


def _references(node: Json, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    steps: Iterable[tuple[str | int, Json]] = ()
    if isinstance(node, dict):
        steps = node.items()
    elif isinstance(node, list):
        steps = enumerate(node)
    for step, value in steps:
        if step in {"$ref", "$dynamicRef", "$recursiveRef"} and isinstance(value, str):
            yield (*path, step), value
        else:
            yield from _references(value, (*path, step))
