"""How a Python type looks in JSON, and how a JSON value becomes it again.

Two ways, one outcome. What JSON itself has (numbers, texts, lists, literals, unions of these) is described by a small
table here; everything else (models, dataclasses, dates, paths, constraints) by pydantic, which is loaded only then. A
test holds the table equal to pydantic. Neither way knows of functions or tools; that is the business of `signature`.
"""

from __future__ import annotations

import functools
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NotRequired, Required, Union

import msgspec
import typing_extensions

from ..core.attachment import File
from ..core.call import (
    MediaPart,
    Problem,
    TextPart,
    ToolResult,
)
from ..core.errors import BadTool, InvalidArguments
from ..core.json import Json, JsonObject, kind_of
from .coercion import show, tell_path
from .kinds import Kind

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

Reader = Callable[[Json, Mapping[str, MediaPart]], object]
"""Makes the Python value out of a JSON value that fits the schema, given the attachments of the run by handle."""


class Shape(NamedTuple):
    """A Python type as JSON has it.

    Attributes:
        schema: its JSON Schema.
        read: makes the Python value; None when the JSON value is the Python value.
        media: the kind of attachment in it, if any.
        dump: makes the JSON value of a default; None when msgspec can.
    """

    schema: JsonObject
    read: Reader | None = None
    media: type[File] | None = None
    dump: Callable[[object], Json] | None = None


def plain_shape(annotation: object, name: str) -> Shape | None:
    """The shape of a type that JSON itself has, or of an attachment; None for every other type.

    Args:
        annotation: the type.
        name: the parameter's name, for errors.
    """
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is None or annotation is Any:
        return Shape({"type": "null"} if annotation is None else {})
    if origin is None and isinstance(annotation, type):
        return _plain_class(annotation, name)
    if origin is Annotated:
        return _annotated(plain_shape(args[0], name), args[1:])
    if origin is Literal:
        return _literal(args)
    if origin in (Union, UnionType):
        return _union([plain_shape(member, name) for member in args])
    if origin is list:
        return _array(plain_shape(args[0] if args else Any, name))
    if origin is dict and (not args or args[0] is str):
        return _mapping(plain_shape(args[1] if args else Any, name))
    return None


def pydantic_shapes(annotations: Mapping[str, object], where: str) -> tuple[dict[str, Shape], dict[str, JsonObject]]:
    """The shapes of types that need pydantic, by name, and the definitions that their schemas refer to.

    Raises:
        BadTool: a type that can't be said in JSON.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415  # 0.1 s to load, and most tools take plain JSON types

    adapters: dict[str, TypeAdapter[object]] = {}
    for name, annotation in annotations.items():
        try:
            adapters[name] = TypeAdapter(_acceptable(annotation))
            adapters[name].json_schema()  # so that an error is told with the name
        except (RuntimeError, TypeError, NameError) as error:  # pydantic's own errors are RuntimeErrors and NameErrors
            raise BadTool(f"{where}: {name}: {_tell_bad_type(annotation, error)}") from None
    schemas, rest = TypeAdapter.json_schemas([(name, "validation", adapter) for name, adapter in adapters.items()])
    shapes = {
        name: Shape(
            tidied(schemas[name, "validation"]),
            functools.partial(_read_by_pydantic, name, adapter),
            dump=functools.partial(adapter.dump_python, mode="json", warnings="none"),
        )
        for name, adapter in adapters.items()
    }
    return shapes, {name: tidied(schema) for name, schema in rest.get("$defs", {}).items()}


_UNSTRUCTURED: tuple[object, ...] = (str, Any, object, None, NoneType, ToolResult, TextPart, MediaPart)


def result_schema(annotation: object) -> JsonObject | None:
    """The schema of what a function returns, where that is a structured value; None for text, media and the unknown."""
    members = typing.get_args(annotation) if typing.get_origin(annotation) in (Union, UnionType) else (annotation,)
    if any(member in _UNSTRUCTURED or (isinstance(member, type) and issubclass(member, File)) for member in members):
        return None
    plain = plain_shape(annotation, "result")
    if plain is not None:
        return None if plain.media else plain.schema
    from pydantic import TypeAdapter  # noqa: PLC0415  # as above

    try:
        schema = TypeAdapter(_acceptable(annotation)).json_schema(mode="serialization")
    except (RuntimeError, TypeError, NameError):
        return None
    definitions = {name: tidied(part) for name, part in schema.pop("$defs", {}).items()}
    return with_definitions(tidied(schema), definitions)


# The table of plain types. --------------------------------------------------------------------------------------------


def _whole(value: Json, _: Mapping[str, MediaPart]) -> Json:
    """`5.0` fits the schema of an integer, and a function that takes an `int` wants `5`."""
    return int(value) if type(value) is float else value


_CLASSES: dict[type, Shape] = {
    NoneType: Shape({"type": "null"}),
    bool: Shape({"type": "boolean"}),
    int: Shape({"type": "integer"}, _whole),
    float: Shape({"type": "number"}),
    str: Shape({"type": "string"}),
    list: Shape({"type": "array"}),
    dict: Shape({"type": "object"}),
    object: Shape({}),
}


def _plain_class(annotation: type, name: str) -> Shape | None:
    if issubclass(annotation, File):
        return Shape({"type": "string"}, functools.partial(_attached, name, annotation), media=annotation)
    return _CLASSES.get(annotation)


def _annotated(inner: Shape | None, notes: Sequence[object]) -> Shape | None:
    """Words are a description, a `Kind` is one; anything else may be a constraint, which pydantic understands."""
    words = [note for note in notes if isinstance(note, str)]
    kinds = [note for note in notes if isinstance(note, Kind)]
    if inner is None or (len(words) + len(kinds) < len(notes) and not inner.media):
        return None
    said: JsonObject = {"description": " ".join(words)} if words else {}
    for kind in kinds:
        said |= kind.schema()
    return inner._replace(schema=tidy({**inner.schema, **said})) if said else inner


def _literal(values: Sequence[Json]) -> Shape | None:
    if not all(type(value) in (str, int, bool, NoneType) for value in values):
        return None  # an Enum's member; pydantic knows what to make of it
    kinds = {kind_of(value) for value in values}
    schema: JsonObject = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return Shape({"type": kinds.pop(), **schema} if len(kinds) == 1 else schema)


def _union(members: Sequence[Shape | None]) -> Shape | None:
    known = [member for member in members if member is not None]
    if len(known) < len(members):
        return None
    readers = [member.read for member in known if member.read is not None]
    if any(member.schema.get("type") in ("number", None) for member in known):
        readers = [read for read in readers if read is not _whole]  # a float may be meant

    def read(value: Json, attachments: Mapping[str, MediaPart]) -> object:
        found: Any = value
        for reader in readers:  # each leaves alone what is not its own
            found = reader(found, attachments)
        return found

    media = next((member.media for member in known if member.media), None)
    return Shape({"anyOf": [member.schema for member in known]}, read if readers else None, media)


def _array(item: Shape | None) -> Shape | None:
    if item is None:
        return None
    schema: JsonObject = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
    inner = item.read

    def read(value: Json, attachments: Mapping[str, MediaPart]) -> object:
        return [inner(element, attachments) for element in value] if inner and isinstance(value, list) else value

    return Shape(schema, read if inner else None, item.media)


def _mapping(entry: Shape | None) -> Shape | None:
    if entry is None:
        return None
    schema: JsonObject = {"type": "object"}
    if entry.schema:
        schema["additionalProperties"] = entry.schema
    inner = entry.read

    def read(value: Json, attachments: Mapping[str, MediaPart]) -> object:
        if not inner or not isinstance(value, dict):
            return value
        return {key: inner(element, attachments) for key, element in value.items()}

    return Shape(schema, read if inner else None, entry.media)


def _attached(name: str, kind: type[File], value: Json, attachments: Mapping[str, MediaPart]) -> object:
    """The attachment of this handle."""
    if not isinstance(value, str):
        return value
    part = attachments.get(value)
    if part is None or not kind.fits(part):
        fitting = ", ".join(handle for handle, other in attachments.items() if kind.fits(other))
        expected = f"the handle of an attached {kind.kind}: {fitting or 'there is none'}"
        raise InvalidArguments([Problem(name, "attachment", expected, show(value))])
    return kind.of(part)


# What pydantic needs and gives. ---------------------------------------------------------------------------------------


def _read_by_pydantic(name: str, adapter: TypeAdapter[object], value: Json, _: Mapping[str, MediaPart]) -> object:
    from pydantic import ValidationError  # noqa: PLC0415  # loaded by now, since the adapter is here

    try:
        return adapter.validate_json(msgspec.json.encode(value))  # as JSON, so that strict models take dates as text
    except ValidationError as error:
        raise InvalidArguments(_problems(name, value, error)) from None


def _problems(name: str, value: Json, error: ValidationError) -> list[Problem]:
    """What pydantic refused. Its own words are fit for a model; those of a validator in the tool's code need not be."""
    problems = []
    for item in error.errors(include_url=False, include_context=False, include_input=False)[:8]:
        path, came = [name], value
        for step in item["loc"]:  # which also names branches of unions
            if (isinstance(came, dict) and step in came) or (isinstance(came, list) and isinstance(step, int)):
                path, came = [*path, step], came[step]  # type: ignore[list-item,index]
        said = item["msg"].removeprefix("Input should be ")
        own = item["type"] in ("value_error", "assertion_error")
        problems.append(
            Problem(tell_path(path), item["type"], "a value that the tool accepts" if own else said, show(came))
        )
    return problems


def _acceptable(annotation: Any) -> Any:  # noqa: ANN401  # a type, which has no better type
    """The same type, each `TypedDict` made one of `typing_extensions`: before Python 3.12 pydantic takes no other."""
    if typing.is_typeddict(annotation) and type(annotation).__module__ == "typing":
        fields: dict[str, Any] = {}
        for key, hint in typing.get_type_hints(annotation, include_extras=True).items():
            inner = typing.get_args(hint)[0] if typing.get_origin(hint) in (Required, NotRequired) else hint
            qualifier = Required if key in annotation.__required_keys__ else NotRequired
            fields[key] = qualifier[_acceptable(inner)]
        made: Any = typing_extensions.TypedDict(annotation.__name__, fields)  # type: ignore[misc]  # made at run time
        made.__doc__, made.__module__ = annotation.__doc__, annotation.__module__
        return made
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        return Annotated[(_acceptable(args[0]), *args[1:])]
    if origin in (Union, UnionType):
        return Union[tuple(_acceptable(member) for member in args)]  # noqa: UP007  # as many as there are
    if origin in (list, dict, tuple, set, frozenset):
        return origin[tuple(_acceptable(member) for member in args)]
    return annotation


def _tell_bad_type(annotation: object, error: Exception) -> str:
    if getattr(error, "code", "") == "typed-dict-version":
        return "inside of another class, write `typing_extensions.TypedDict` for `typing.TypedDict`"
    if isinstance(error, NameError):
        return f"its type refers to {error.name!r}, which is not known at run time"
    name = annotation.__name__ if isinstance(annotation, type) else str(annotation)
    return f"the type {name} can't be said in JSON: take a JSON type, a dataclass, a TypedDict or a pydantic model"


# The schema as a careful person writes it. ----------------------------------------------------------------------------

_MAPS = ("properties", "patternProperties", "$defs", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLE = ("items", "additionalProperties", "contains", "propertyNames", "not", "if", "then", "else")
_NOISE: dict[str, Callable[[Json], bool]] = {
    "title": lambda value: isinstance(value, str),
    "discriminator": lambda value: True,  # OpenAPI's; its paths are wrong once definitions are inlined
    "additionalProperties": lambda value: value is True,
    "items": lambda value: value == {},
}
_PLACES = {"type": 0, "description": 1, "default": 3}


def tidy(node: JsonObject) -> JsonObject:
    """One node without what says nothing: its type and description first, its default last."""
    kept = {key: value for key, value in node.items() if key not in _NOISE or not _NOISE[key](value)}
    return dict(sorted(kept.items(), key=lambda entry: _PLACES.get(entry[0], 2)))


def tidied(schema: JsonObject) -> JsonObject:
    """A schema with every node of it tidy."""
    return _rebuilt(schema, tidy)


def with_definitions(schema: JsonObject, definitions: Mapping[str, JsonObject]) -> JsonObject:
    """A schema with the definitions it refers to: in place where used once, else under `$defs`."""
    left = dict(definitions)
    while True:
        used = [name for part in (schema, *left.values()) for name in _references(part)]
        left = {name: part for name, part in left.items() if name in used}
        once = next((n for n, part in left.items() if used.count(n) == 1 and n not in _references(part)), None)
        if once is None:
            return {**schema, "$defs": {**left}} if left else schema
        put_in = functools.partial(_put_in, once, left.pop(once))
        schema = _rebuilt(schema, put_in)
        left = {name: _rebuilt(part, put_in) for name, part in left.items()}


def _put_in(name: str, definition: JsonObject, node: JsonObject) -> JsonObject:
    if node.get("$ref") != f"#/$defs/{name}":
        return node
    return tidy(definition | {key: value for key, value in node.items() if key != "$ref"})


def _references(schema: JsonObject) -> list[str]:
    found: list[str] = []

    def note(node: JsonObject) -> JsonObject:
        found.append(str(node.get("$ref", "")).removeprefix("#/$defs/"))
        return node

    _rebuilt(schema, note)
    return found


def _rebuilt(schema: JsonObject, change: Callable[[JsonObject], JsonObject]) -> JsonObject:
    """A copy of a schema with each schema in it changed, the inner ones first. Data (defaults, enums) is left alone."""
    made = dict(schema)
    for key, value in schema.items():
        if key in _MAPS and isinstance(value, dict):
            made[key] = {name: _rebuilt(v, change) if isinstance(v, dict) else v for name, v in value.items()}
        elif key in _LISTS and isinstance(value, list):
            made[key] = [_rebuilt(v, change) if isinstance(v, dict) else v for v in value]
        elif key in _SINGLE and isinstance(value, dict):
            made[key] = _rebuilt(value, change)
    return change(made)


def default_of(value: object, shape: Shape) -> tuple[Json, ...]:
    """The JSON value of a parameter's default; empty when JSON can't say it."""
    try:
        found = shape.dump(value) if shape.dump else msgspec.to_builtins(value, str_keys=True)
        return (json.loads(json.dumps(found, allow_nan=False)),)
    except (TypeError, ValueError, RecursionError):
        return ()
