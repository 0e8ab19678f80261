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
from itertools import islice
from typing import Literal

import jsonschema_rs
import msgspec
from jsonschema_rs import ValidationError, ValidationErrorKind
from msgspec import Struct

from ..core.call import Problem
from ..core.errors import BadTool, UsageError
from ..core.json import Json, JsonObject, dumps, is_too_deep
from .applied import APPLIED_MAX, applied, depth_of, told_apart
from .canonical import Unclear
from .coercion import NOT_BLANK, Mending, node_at, sample, shorten, show, tell_path, unexpected
from .kinds import KEYWORD, OTHERWISE, Kind, read_kind
from .patterns import PATTERNS, held_to_patterns

ROUNDS_MAX = 5
"""How often arguments are mended and looked at again: JSON text in JSON text in a single value is three."""

PROBLEMS_MAX = 8
"""The most problems that are told at once; the rest is counted."""
TOLD_MAX = 32
"""At most this many errors of the validator are put into words, from which the problems that are told are chosen,"""
ERRORS_MAX = 1_000
"""and this many are looked for."""
UNION_TOLD_MAX = 32
"""Of a union this many alternatives are told of."""

VALUES_MAX = 500
CHARACTERS_MAX = 20_000_000
"""All errors are looked for at once only where arguments have no more values, and no more characters times values: the
validator builds each error with the value that it is about. Of larger arguments a sample is looked at.
"""

FOREIGN_BYTES_MAX = 512 * 1024
"""A schema of another party may be so large as JSON."""


class CheckedArguments(Struct, frozen=True):
    """The result of checking arguments.

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

    __slots__ = (
        "_all_errors",
        "_depth",
        "_document",
        "_has_unions",
        "_is_valid",
        "_is_valid_at_once",
        "_stop_at_first",
    )

    def __init__(self, document: JsonObject, validator: jsonschema_rs.Validator, depth: int | None) -> None:
        self._document = document
        self._depth = depth
        self._is_valid_at_once = validator.is_valid
        self._is_valid: Callable[[Json], bool] = validator.is_valid if depth is None else self._is_valid_in_depth
        self._stop_at_first = validator.validate
        self._all_errors = validator.iter_errors
        self._has_unions: bool | None = None

    def _is_too_deep(self, value: Json) -> bool:
        return self._depth is not None and is_too_deep(value, self._depth)

    def _is_valid_in_depth(self, value: Json) -> bool:
        return not self._is_too_deep(value) and self._is_valid_at_once(value)

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
        if (is_large or self._depth is not None) and not self._is_valid(mending.value):
            return CheckedArguments(arguments, problems=(_TOO_LARGE,))
        return CheckedArguments(mending.value, _counted(mending))

    def _errors(self, value: Json, *, is_large: bool) -> list[ValidationError]:
        """All that is wrong with a value. Of a large value, what is wrong with the first items of its lists, or its
        first error; and none where even that is too much: an error of a union holds all errors of all its branches.
        """
        if self._is_too_deep(value):
            return []
        if not is_large:
            return list(islice(self._all_errors(value), ERRORS_MAX))
        part = sample(value, VALUES_MAX)
        if part is not None and not _is_large(part[0]):
            found = islice(self._all_errors(part[0]), ERRORS_MAX)
            errors = [error for error in found if not isinstance(error.kind, _OF_WHOLE_LISTS)]
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
        if applied(schema) > APPLIED_MAX:
            raise BadTool("{where}: more than {most} schemas hold for one value", where=where, most=APPLIED_MAX)
        document = schema if blanks else _refusing_blanks(schema, _Texts(schema))
        document = held_to_patterns(document, foreign=foreign)
        validator = _validator(document, None if blanks else kinds)
    except ValidationError as error:
        raise BadTool("{where}: {detail}", where=where, detail=_tell_bad_schema(error, schema)) from None
    except BadTool:
        raise
    except RecursionError:
        raise BadTool("{where}: the schema is nested too deep", where=where) from None
    except (ValueError, TypeError) as error:
        raise BadTool("{where}: the schema is not JSON ({detail})", where=where, detail=str(error)[:100]) from None
    if kinds.bad:
        raise BadTool("{where}: {detail}", where=where, detail=kinds.bad[0])
    depth = depth_of(schema)
    if depth is not None and (deeper := depth_of(schema, apart=True)) != depth:
        document, depth = told_apart(document), deeper
        validator = _validator(document, None if blanks else kinds)
    return Schema(document, validator, depth)


def _validator(document: JsonObject, kinds: _Kinds | None) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(
        document,
        validate_formats=True,
        formats=_WIDER_FORMATS,
        pattern_options=PATTERNS,
        keywords=None if kinds is None else {KEYWORD: kinds},  # type: ignore[dict-item]  # it is only called
        offline=True,
    )


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
            if "type" in node and _Texts(node).is_text({"type": node["type"]}) is False:
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


def _refusing_blanks(schema: JsonObject, texts: _Texts) -> JsonObject:
    """The same schema, every path in it the same, that also refuses blank text where text is required."""
    changed = dict(schema)
    for key, value in schema.items():
        if isinstance(value, dict) and key in _MAPS:
            changed[key] = {name: _refusing_blanks(v, texts) if isinstance(v, dict) else v for name, v in value.items()}
        elif isinstance(value, dict) and key in _SCHEMAS:
            changed[key] = _refusing_blanks(value, texts)
        elif isinstance(value, list) and key in _LISTS:
            changed[key] = [_refusing_blanks(v, texts) if isinstance(v, dict) else v for v in value]
    required, properties = schema.get("required"), schema.get("properties")
    if isinstance(required, list) and isinstance(properties, dict):
        blank = [n for n in required if isinstance(n, str) and texts.is_text(properties.get(n)) is True]
        if blank and isinstance(schema.get("allOf", []), list):
            rule: JsonObject = {"properties": {name: {"pattern": NOT_BLANK} for name in blank}}
            changed["allOf"] = [*_list(changed.get("allOf")), rule]
    return changed


class _Texts:
    """Tells which values of a schema may be text. Each part of the schema is looked at once, however often it is named.

    Args:
        root: the whole schema.
    """

    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._known: dict[tuple[int, int], bool | None] = {}

    def is_text(self, schema: Json, depth: int = 8) -> bool | None:
        """Whether a value may be text that must say something: None when it may be text and may be blank."""
        if not isinstance(schema, dict) or depth == 0:
            return False
        key = id(schema), depth
        if key not in self._known:
            self._known[key] = self._look(schema, depth)
        return self._known[key]

    def _look(self, schema: JsonObject, depth: int) -> bool | None:
        options = [*_list(schema.get("enum")), schema.get("const"), schema.get("default")]
        if "" in [option for option in options if isinstance(option, str)] or schema.get("minLength") == 0:
            return None
        inner = [self.is_text(part, depth - 1) for part in _parts(schema, self._root)]
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


# What is wrong, in words for a model. ---------------------------------------------------------------------------------

_NAME_MAX = 200
_COMPARED_MAX = 60
"""How many names of the schema an unexpected name is compared with."""

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
    first = sorted(errors, key=_is_no_gap)[:TOLD_MAX]
    found = {(p.path, p.rule, p.expected): p for error in first for p in _tell(error, document)}
    untold = sum(max(0, len(unexpected([error])) - PROBLEMS_MAX) for error in errors)
    missing = {problem.path for problem in found.values() if problem.rule == "required"}
    held = {problem.path for problem in found.values() if problem.rule == "kind"}
    told = [p for p in found.values() if p.path not in missing or p.rule == "required"]
    told = [p for p in told if p.rule != "format" or p.path not in held]  # a kind says the same, and more
    told = [p for p in told if p.rule != "kind" or not p.expected.startswith(OTHERWISE)] or told  # mended with the rest
    told.sort(key=lambda problem: problem.rule != "required")
    more = max(0, len(told) - PROBLEMS_MAX) + untold + len(errors) - len(first)
    if more:
        return (*told[:PROBLEMS_MAX], Problem("", "more", f"{more} further problems mended too"))
    return tuple(told)


def _is_no_gap(error: ValidationError) -> bool:
    """It tells of something else than what is missing."""
    kind = error.kind
    is_blank = isinstance(kind, ValidationErrorKind.Pattern) and kind.pattern == NOT_BLANK
    return not (is_blank or isinstance(kind, ValidationErrorKind.Required))


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
    path, branches = error.instance_path, branches[:UNION_TOLD_MAX]
    nearest = [b for b in branches if b and not any(e.instance_path == path and _is_of_kind(e) for e in b)]
    if nearest:  # a branch whose tag does not fit is told of by an `else`, of `told_apart`
        chosen = min(nearest, key=lambda b: (b[0].schema_path.count("else"), len(b)))
        return [problem for inner in chosen for problem in _tell(inner, document)]
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


PARTS_TOLD_MAX = 4


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
        parts = islice(_parts(schema, document), PARTS_TOLD_MAX) if depth else ()
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
