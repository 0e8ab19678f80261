"""Typed answers: the agent's `output_type` as a schema for the model, and the reading of its answer.

`str` needs nothing of this. Every other type is read by pydantic, which is loaded only then.

The schema is that of an object, since most APIs take no other schema for an answer. Where the type itself is not an
object (a list, a number, a union), the answer is in the field `answer`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from ..core.errors import UsageError
from ..core.json import Json, JsonObject, JsonProblem, dumps, parse, same
from ..schema.schema import compile_schema
from .gates import ReadAnswer

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from typing_extensions import TypeForm

FIELD = "answer"
"""The field in which the answer stands where the type is not that of an object."""

VALUES_MAX = 64
"""The most places of an answer that are searched for a JSON value, in fences and then in sentences."""

_FENCE_BEGINS = re.compile(r"^[ \t]*+```[\w-]*+[ \t]*+\n", re.MULTILINE)
_FENCE_ENDS = re.compile(r"```[ \t]*+$", re.MULTILINE)
_OPENING = re.compile(r"[{\[]")


def as_json(value: object) -> Json:
    """An answer of any output type as JSON.

    Raises:
        UsageError: the type can not be said in JSON.
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python  # noqa: PLC0415  # as in `typed`

    try:
        found: Json = to_jsonable_python(value)
    except PydanticSerializationError as error:
        raise UsageError("an answer can not be said in JSON: {why}", why=error) from None
    return found


def fitting(schema: JsonObject) -> ReadAnswer:
    """The check that reads an answer as a JSON value of a schema: alone, in a code fence, or in a sentence.

    Args:
        schema: JSON Schema of an object, from a client of a server.

    Raises:
        BadTool: the schema can not be used.
    """
    compiled = compile_schema(schema, where="the schema of the answer", foreign=True)

    def validated(value: Json) -> object:
        if problems := compiled.problems(value):
            wrong = [f"{problem.path or FIELD}: {problem.expected} expected" for problem in problems[:8]]
            raise ValueError("; ".join(wrong))
        return value

    return _Reader(validated, wrapped=False).check


def typed(output_type: TypeForm[object]) -> tuple[JsonObject, ReadAnswer]:
    """The JSON Schema of a type, and the check that reads an answer as that type.

    Args:
        output_type: anything that a pydantic `TypeAdapter` takes: a model, a dataclass, `list[int]`, ...

    Returns:
        The schema of an object, and the check. The check reads the text alone, in a code fence, or in a sentence.

    Raises:
        UsageError: pydantic can not read the type, or can not say it as JSON Schema.
    """
    from pydantic import (  # noqa: PLC0415  # 0.1 s to load; most answer in text
        PydanticUndefinedAnnotation,
        PydanticUserError,
        TypeAdapter,
    )

    if isinstance(output_type, dict):  # pydantic would take it for a schema of its own
        raise UsageError("output_type=: give a type, such as a dataclass or list[int], and not a JSON Schema")
    try:
        adapter: TypeAdapter[object] = TypeAdapter(output_type)
        schema: JsonObject = adapter.json_schema()
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise UsageError(_refusal(output_type, error)) from None

    def validated(value: Json) -> object:
        return adapter.validate_json(dumps(value))

    if schema.get("type") == "object":
        return schema, _Reader(validated, wrapped=False).check
    return _in_object(schema), _Reader(validated, wrapped=True).check


def _refusal(output_type: object, error: Exception) -> str:
    name = getattr(output_type, "__name__", repr(output_type))
    if getattr(error, "code", "") == "typed-dict-version":
        return (
            f"output_type={name}: before Python 3.12, import TypedDict from typing_extensions, not from typing: "
            "pydantic can not read the other"
        )
    return f"output_type={name}: pydantic can not make a JSON Schema of it: {str(error).splitlines()[0]}"


def _in_object(schema: JsonObject) -> JsonObject:
    """The schema of an object that holds the answer in one field. References lead to definitions at the root."""
    definitions: JsonObject = {name: value for name, value in schema.items() if name == "$defs"}
    inner: JsonObject = {name: value for name, value in schema.items() if name != "$defs"}
    return {
        "type": "object",
        "properties": {FIELD: inner},
        "required": [FIELD],
        "additionalProperties": False,
        **definitions,
    }


class _Reader(Struct, frozen=True):
    """Reads an answer as a type.

    Attributes:
        read: reads a JSON value as the type; raises ValueError where the value does not fit.
        wrapped: whether the answer is in the field `answer`; the answer alone is read as well.
    """

    read: Callable[[Json], object]
    wrapped: bool

    def check(self, text: str) -> tuple[object, str]:
        """The value of an answer, and what is wrong with the answer; see `gates.ReadAnswer`.

        Text around a value is passed over. If several different values fit, none is taken: nobody knows which is meant.
        """
        try:
            return self._read(text), ""
        except JsonProblem as problem:
            wrong = str(problem)
        except ValueError as problem:  # pydantic's ValidationError, and what a validator of the program raises
            return None, _told(problem)
        for candidates in (_fenced(text), _spoken(text)):
            fitting: dict[str, object] = {}
            for candidate in candidates:
                try:
                    fitting[candidate] = self._read(candidate)
                except JsonProblem:
                    continue
                except ValueError as problem:
                    wrong = _told(problem)
            if fitting and _all_same(list(fitting)):
                return next(iter(fitting.values())), ""
            if fitting:
                return None, f"the answer holds {len(fitting)} different JSON values that fit: give one of them alone"
        return None, wrong

    def _read(self, text: str) -> object:
        """The JSON value that is the whole text.

        Raises:
            JsonProblem: the text is not JSON.
            ValueError: the value does not fit the type.
        """
        value, _ = parse(text)
        if not self.wrapped:
            return self._validated(value)
        if isinstance(value, dict) and value.keys() == {FIELD}:
            try:
                return self._validated(value[FIELD])
            except ValueError as problem:
                failure = problem
            try:
                return self._validated(value)  # a type that has such a field itself
            except ValueError:
                raise failure from None
        return self._validated(value)

    def _validated(self, value: Json) -> object:
        """A null that does not fit counts as left out: APIs that want every field make models write one."""
        try:
            return self.read(value)
        except ValueError as problem:
            without = _without_nulls(value)
            if same(without, value):
                raise
            try:
                return self.read(without)
            except ValueError:
                raise problem from None


def _fenced(text: str) -> Iterator[str]:
    """The contents of the code fences, one after another."""
    at = 0
    for _ in range(VALUES_MAX):
        begins = _FENCE_BEGINS.search(text, at)
        ends = begins and _FENCE_ENDS.search(text, begins.end())
        if not begins or not ends:
            return
        yield text[begins.end() : ends.start()]
        at = ends.end()


def _spoken(text: str) -> Iterator[str]:
    """The JSON objects and lists in a text, the outermost of each.

    Left out are empty brackets, and numbers in brackets that nothing introduces, such as the reference `[1]`.
    """
    at = 0
    for _ in range(VALUES_MAX):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        at = opening.start()
        try:
            value, end = _scan(text, at)
        except (ValueError, RecursionError):  # no JSON begins here
            at += 1
            continue
        is_reference = isinstance(value, list) and all(isinstance(item, int) for item in value)
        if value and (not is_reference or _is_introduced(text, at)):
            yield text[at:end]
        at = end


def _is_introduced(text: str, at: int) -> bool:
    """Whether a place is at the beginning of the text or of a line, or behind a colon; blanks do not count."""
    before = text[:at].rstrip(" \t\n")
    return not before or before[-1] in ":：" or "\n" in text[len(before) : at]


_scan = json.JSONDecoder().raw_decode


def _all_same(texts: list[str]) -> bool:
    first, _ = parse(texts[0])
    return all(same(first, parse(text)[0]) for text in texts[1:])


def _without_nulls(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _without_nulls(item) for name, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def _told(problem: ValueError) -> str:
    """What is wrong, for the model: of pydantic's problems the first eight."""
    from pydantic import ValidationError  # noqa: PLC0415  # loaded with the agent's type

    if not isinstance(problem, ValidationError):
        return str(problem)
    return "; ".join(f"{_path(item['loc'])}: {item['msg']}" for item in problem.errors()[:8])


def _path(place: tuple[int | str, ...]) -> str:
    return ".".join(map(str, place)) or FIELD
