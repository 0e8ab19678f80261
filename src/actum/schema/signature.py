"""What a model is told of a Python function, and how its arguments become the function's.

`describe` reads the signature, the annotations and the docstring (Google, NumPy or Sphinx style); `shape` knows what a
type looks like in JSON. It knows nothing of running: `function.function` does that.
"""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from ..core.attachment import HANDLE
from ..core.errors import BadTool
from ..core.interfaces import Context
from ..core.json import Json, JsonObject
from .shape import Reader, Shape, default_of, plain_shape, pydantic_shapes, result_schema, tidy, with_definitions

_SECTION = re.compile(
    r"^\s*(:\w+[^:\n]*:|@\w+|(Args|Arguments|Params|Parameters|Keyword Args|Other Parameters|Returns?|Yields?|Raises)"
    r"\s*(:|\n\s*-{3,}))",
    re.MULTILINE,
)
_WORD = re.compile(r"\w+")
_WORDS_MIN = 3
_SIGN = re.compile(r"[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\U00020000-\U000323af]")
_SIGNS_MIN = 4
"""This many signs of a script without spaces between its words, such as Chinese or Thai, are a description."""


class ToolWarning(UserWarning):
    """A tool works, but a model is told too little of it. The message says what to write."""


class Signature(Struct, frozen=True, kw_only=True):
    """A function as a model sees it. Made by `describe`.

    Attributes:
        name: what a model calls it.
        description: what it does, for the model.
        parameters: JSON Schema of the arguments.
        result: JSON Schema of what it returns, where that is a structured value.
        warnings: what a model is not told and should be, each with what to write.
        untyped: those of the warnings that are about a missing type.
        readers: what makes the Python value of a parameter, for those whose JSON value will not do.
        rest: what makes it for each of `**kwargs`.
        context: the parameter that gets the `Context`; empty when there is none.
    """

    name: str
    description: str
    parameters: JsonObject
    result: JsonObject | None
    warnings: tuple[str, ...]
    untyped: tuple[str, ...]
    readers: tuple[tuple[str, Reader], ...]
    rest: Reader | None
    context: str

    def bind(self, arguments: JsonObject, context: Context) -> Mapping[str, object]:
        """The keyword arguments for the function: Python values, and the context where it asks for it.

        Args:
            arguments: they fit `parameters`; never changed. Defaults are left to the function.
            context: of the call.

        Raises:
            InvalidArguments: a value that the schema allows and the type does not, or no attachment has this handle.
        """
        changed: dict[str, object] = {self.context: context} if self.context else {}
        for name, read in self.readers:
            if name in arguments:
                value = read(arguments[name], context.attachments)
                if value is not arguments[name]:
                    changed[name] = value
        if self.rest is not None:
            known = _properties(self.parameters)
            changed |= {k: self.rest(v, context.attachments) for k, v in arguments.items() if k not in known}
        return {**arguments, **changed} if changed else arguments


def describe(
    function: Callable[..., object], *, name: str | None = None, description: str | None = None, receiver: bool = False
) -> Signature:
    """Read what a model has to know of a function.

    Args:
        function: any callable with a signature. A parameter annotated `Context` is filled in and not shown to a model.
        name: what a model calls it; the function's own name when it is not said.
        description: what it does; the docstring's words when it is not said.
        receiver: the first parameter is `self` or `cls` and will be bound.

    Raises:
        BadTool: parameters that can't be given by name, or types that can't be said in JSON.
    """
    name = name or _name_of(function)
    where = f"tool {name!r}"
    parameters = _parameters(function, where)[1 if receiver else 0 :]
    hints = _hints(function, where)
    told = _read_docstring(function)
    context = next((p.name for p in parameters if _is_context(hints.get(p.name))), "")
    shown = [p for p in parameters if p.name != context]
    shapes, definitions = _shapes({p.name: hints.get(p.name, p.empty) for p in shown}, where)
    rest = next((shapes[p.name] for p in shown if p.kind is p.VAR_KEYWORD), None)
    named = [p for p in shown if p.kind is not p.VAR_KEYWORD]
    schema = _schema({p.name: _property(p, shapes[p.name], _words(p.name, hints, told)) for p in named}, named, rest)
    words = told.text if description is None else description
    untyped = tuple(_untyped(where, (p.name for p in shown if p.name not in hints)))
    return Signature(
        name=name,
        description=words,
        parameters=with_definitions(schema, definitions),
        result=None if _yields(function) else result_schema(hints.get("return", object)),
        warnings=(*_undescribed(where, words, schema), *untyped, *_unknown(where, told, parameters)),
        untyped=untyped,
        readers=tuple((p.name, read) for p in named if (read := shapes[p.name].read) is not None),
        rest=rest.read if rest is not None else None,
        context=context,
    )


def _name_of(function: Callable[..., object]) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


def _parameters(function: Callable[..., object], where: str) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        raise BadTool(
            "{where}: Python knows no signature of it: wrap it in a function of your own", where=where
        ) from None
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise BadTool(
                "{where}: *{parameter} has no name for a value: write `{parameter}: list[...]`",
                where=where,
                parameter=parameter.name,
            )
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise BadTool(
                "{where}: {parameter!r} can't be given by name: leave out the `/`",
                where=where,
                parameter=parameter.name,
            )
        if type(parameter.default).__module__.startswith("pydantic.fields"):
            raise BadTool(
                "{where}: {parameter!r} has Field(...) for its default: write `{parameter}: "
                "Annotated[type, Field(...)]`, and the default after it",
                where=where,
                parameter=parameter.name,
            )
    return parameters


def _source(function: Callable[..., object]) -> Callable[..., object]:
    """The function in which annotations and docstring were written."""
    while isinstance(function, functools.partial):
        function = function.func
    if isinstance(function, type):
        return typing.cast("Callable[..., object]", function.__init__)  # type: ignore[misc]  # it is only read
    return typing.cast(
        "Callable[..., object]", inspect.unwrap(function if inspect.isroutine(function) else type(function).__call__)
    )


def _hints(function: Callable[..., object], where: str) -> dict[str, object]:
    """The annotations by name, those written as text evaluated."""
    try:
        return typing.get_type_hints(_source(function), include_extras=True)
    except NameError as error:
        raise BadTool(
            "{where}: the annotation {why!r} is not known at run time: define it at the top of the "
            "module, and import it outside of `if TYPE_CHECKING`",
            where=where,
            why=error.name,
        ) from None
    except (TypeError, SyntaxError, AttributeError) as error:
        raise BadTool("{where}: an annotation can't be read ({why})", where=where, why=str(error)[:100]) from None


def _yields(function: Callable[..., object]) -> bool:
    return inspect.isgeneratorfunction(_source(function)) or inspect.isasyncgenfunction(_source(function))


def _is_context(annotation: object) -> bool:
    kind = typing.get_origin(annotation) or annotation  # of `Context[Deps]`, the class
    if isinstance(kind, type) and issubclass(kind, Context):
        return True
    is_union = kind in (typing.Union, types.UnionType, typing.Annotated)
    return is_union and any(map(_is_context, typing.get_args(annotation)))


def _shapes(annotations: Mapping[str, object], where: str) -> tuple[dict[str, Shape], dict[str, JsonObject]]:
    """The shape of each parameter, and the definitions they share. Pydantic is asked where the table has no row."""
    missing = inspect.Parameter.empty
    plain = {name: Shape({}) if a is missing else plain_shape(a, name) for name, a in annotations.items()}
    others = {name: annotations[name] for name, shape in plain.items() if shape is None}
    shapes, definitions = pydantic_shapes(others, where) if others else ({}, {})
    return {name: shapes[name] if shape is None else shape for name, shape in plain.items()}, definitions


def _schema(properties: JsonObject, named: Sequence[inspect.Parameter], rest: Shape | None) -> JsonObject:
    """The schema of all parameters."""
    schema: JsonObject = {"type": "object", "properties": properties}
    required: list[Json] = [p.name for p in named if p.default is p.empty]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False if rest is None else (rest.schema or True)
    return schema


def _property(parameter: inspect.Parameter, shape: Shape, words: str) -> JsonObject:
    """The schema of one parameter."""
    schema = dict(shape.schema)
    if shape.media is not None:
        words = f"{words} {HANDLE}".lstrip()
    if words:
        schema["description"] = words
    if parameter.default is not parameter.empty and (parameter.default is not None or _takes_null(shape.schema)):
        for default in default_of(parameter.default, shape):
            schema["default"] = default
    return tidy(schema)


def _properties(schema: JsonObject) -> JsonObject:
    found = schema["properties"]
    assert isinstance(found, dict)
    return found


def _takes_null(schema: Json) -> bool:
    """Whether null is a value of this type; `x: int = None` is common and does not make it one."""
    if not isinstance(schema, dict) or not schema:
        return True
    enum, union = schema.get("enum"), schema.get("anyOf")
    return (
        schema.get("type") == "null"
        or (isinstance(enum, list) and None in enum)
        or (isinstance(union, list) and any(_takes_null(member) for member in union))
    )


def _words(name: str, hints: Mapping[str, object], told: _Docstring) -> str:
    """What a parameter is: the words in its annotation, else those of the docstring."""
    annotation = hints.get(name)
    notes: tuple[object, ...] = getattr(annotation, "__metadata__", ())  # of `Annotated`
    for note in notes:
        said = note if isinstance(note, str) else getattr(note, "description", getattr(note, "documentation", ""))
        if said:
            return str(said)
    return told.parameters.get(name, "")


# The docstring. -------------------------------------------------------------------------------------------------------


class _Docstring(NamedTuple):
    text: str
    parameters: dict[str, str]


def _read_docstring(function: Callable[..., object]) -> _Docstring:
    """What the docstring says of the function and of each parameter."""
    source = function if isinstance(function, type) else _source(function)
    text = inspect.getdoc(source) or ""
    if not _SECTION.search(text):
        return _Docstring(text.strip(), {})
    import docstring_parser  # noqa: PLC0415  # 0.015 s to load, and most docstrings have a summary only

    try:
        found = docstring_parser.parse("\n" + text)  # without the line before it, a first section is not seen
    except docstring_parser.ParseError:
        return _Docstring(text.strip(), {})
    # A summary over two lines comes as a short and a long description, and is one paragraph all the same.
    between = "\n\n" if found.blank_after_short_description else "\n"
    words = between.join(filter(None, [found.short_description, found.long_description]))
    return _Docstring(words, {p.arg_name.lstrip("*"): " ".join((p.description or "").split()) for p in found.params})


# What a model is not told. --------------------------------------------------------------------------------------------


def _undescribed(where: str, description: str, schema: JsonObject) -> Iterable[str]:
    if not description.strip():
        yield f"{where} has no description: write a docstring that says what it does and when to use it"
    elif _says_too_little(description):
        yield (
            f"the description of {where} says too little, {description.strip()!r}: write a sentence that says what it "
            "does and when to use it"
        )
    for name, part in _properties(schema).items():
        if isinstance(part, dict) and not str(part.get("description", "")).removesuffix(HANDLE):
            yield (
                f"parameter {name!r} of {where} has no description: write `Args:` and a line `{name}: what it is` in "
                f'the docstring, or `{name}: Annotated[..., "what it is"]`'
            )


def _says_too_little(description: str) -> bool:
    """Whether a description has fewer words than a sentence. Some scripts put no space between words."""
    words = _WORD.findall(description)
    return len(words) < _WORDS_MIN and len(_SIGN.findall(description)) < _SIGNS_MIN


def _untyped(where: str, names: Iterable[str]) -> Iterable[str]:
    for name in names:
        yield f"parameter {name!r} of {where} has no type: write `{name}: str`, or what else it is"


def _unknown(where: str, told: _Docstring, parameters: Iterable[inspect.Parameter]) -> Iterable[str]:
    names = {parameter.name for parameter in parameters}
    for name in told.parameters:
        if name not in names:
            yield f"the docstring of {where} tells of {name!r}, which is no parameter: mend the name"
