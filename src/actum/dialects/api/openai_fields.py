"""The fields that OpenAI's APIs share, read from what the other side sends: tools, tool choice, plain values. Pure.

Whatever is wrong with a request is a `UsageError` that names the place (`tools[2].name: ...`).
"""

from __future__ import annotations

import re
from typing import Literal, TypeVar

from ...core.errors import BadTool, UsageError
from ...core.json import (
    Json,
    JsonObject,
    JsonProblem,
    kind_of,
)
from ...core.model import Request
from ...core.tool import AllowedTools, NamedTool, Tool, ToolChoice, named_tools
from .model_errors import read_json

_SNAKE = re.compile(r"_([a-z])")
T = TypeVar("T", str, bool, int, list[Json], dict[str, Json])

_WORDS: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "none": "none",
    "required": "required",
    "any": "required",
}


def read_body(wire: bytes) -> JsonObject:
    """The body of a request.

    Raises:
        UsageError: it is no JSON object.
    """
    try:
        body = read_json(wire)
    except JsonProblem as problem:
        raise UsageError("the body is no JSON: {why}", why=problem) from None
    return as_(dict, body, "the body")


def camel(item: JsonObject) -> JsonObject:
    """The same object with its own names as Google's APIs usually write them; they take `snake_case` too."""
    return {_SNAKE.sub(lambda match: match[1].upper(), name): value for name, value in item.items()}


def as_(kind: type[T], value: Json, place: str) -> T:
    """The value, if it is of this kind.

    Raises:
        UsageError: it is not; the message says what came.
    """
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        example: Json = kind()
        raise UsageError(
            "{place}: {kind} was expected, {value_kind} came",
            place=place,
            kind=kind_of(example),
            value_kind=kind_of(value),
        )
    return value


def maybe(kind: type[T], body: JsonObject, name: str) -> T | None:
    """A field of this kind; None where it is missing or null."""
    value = body.get(name)
    return None if value is None else as_(kind, value, name)


def maybe_number(body: JsonObject, name: str, within: str = "") -> float | None:
    """A field that holds any number; None where it is missing or null."""
    value = body.get(name)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    raise UsageError("{within}{name}: number was expected, {kind} came", within=within, name=name, kind=kind_of(value))


def tools_at(body: JsonObject, name: str) -> list[Tool]:
    """The tools in a field: flat, inside a `function`, or bare functions as in 2023."""
    read = _function if name == "functions" else _tool
    return [read(item, f"{name}[{number}]") for number, item in enumerate(maybe(list, body, name) or [])]


def _tool(item: Json, place: str) -> Tool:
    item = as_(dict, item, place)
    if item.get("type", "function") != "function":
        raise UsageError(
            "{place}.type: only 'function' is known here, not {type!r}", place=place, type=str(item["type"])[:40]
        )
    nested = item.get("function")
    return _function(item if nested is None else nested, place if nested is None else f"{place}.function")


def _function(item: Json, place: str) -> Tool:
    item = as_(dict, item, place)
    return declared(item, "parameters", place)


def declared(item: JsonObject, schema_field: str, place: str) -> Tool:
    """A tool as a client declares it, with its schema in this field."""
    name = as_(str, item.get("name"), f"{place}.name")
    description = item.get("description") or ""
    parameters = item.get(schema_field) or {"type": "object", "properties": {}}
    try:
        return Tool(
            name=name,
            description=as_(str, description, f"{place}.description"),
            parameters=as_(dict, parameters, f"{place}.{schema_field}"),
            strict=item.get("strict") is True,
        )
    except BadTool as error:
        raise UsageError("{place}: {why}", place=place, why=error) from None


def tool_choice(body: JsonObject) -> ToolChoice:
    """Whether and what the model must call, in every form of either API and of 2023. The tools that it names may be
    others than those of the request; see `check_choice`.
    """
    place = "function_call" if body.get("tool_choice") is None else "tool_choice"
    match body.get(place):
        case None:
            return "auto"
        case str(word) if word in _WORDS:
            return _WORDS[word]
        case dict() as choice if choice.get("type") == "allowed_tools":
            return _allowed_tools(choice, place)
        case {"type": str(word)} if word in _WORDS:
            return _WORDS[word]
        case {"function": {"name": str(name)}} | {"name": str(name)} | str(name):
            return NamedTool(name)
        case other:
            raise UsageError(
                "{place}: a word, or an object with a name, was expected, {kind} came", place=place, kind=kind_of(other)
            )


def _allowed_tools(choice: JsonObject, place: str) -> AllowedTools:
    allowed = as_(dict, choice.get("allowed_tools", choice), f"{place}.allowed_tools")
    mode = allowed.get("mode", "auto")
    if mode not in ("auto", "required"):
        raise UsageError("{place}.allowed_tools.mode: 'auto' or 'required' was expected", place=place)
    chosen = []
    for number, item in enumerate(as_(list, allowed.get("tools"), f"{place}.allowed_tools.tools")):
        match item:
            case {"function": {"name": str(name)}} | {"name": str(name)} | str(name):
                chosen.append(name)
            case _:
                raise UsageError(
                    "{place}.allowed_tools.tools[{number}]: the name of a tool was expected", place=place, number=number
                )
    return AllowedTools(tuple(chosen), "required" if mode == "required" else "auto")


def check_choice(request: Request) -> None:
    """The tools that a request's tool choice names are tools of the request. An agent has others beside them.

    Raises:
        UsageError: they are not.
    """
    others = request.extras.get("tools")  # those that the API itself carries out
    known = {tool.name for tool in request.tools} | {
        str(tool.get("name")) for tool in (others if isinstance(others, list) else []) if isinstance(tool, dict)
    }
    for name in named_tools(request.tool_choice):
        if name not in known:
            raise UsageError(
                "tool_choice: {name!r} is neither a known word nor one of the tools of this request: {among}",
                name=name[:80],
                among=", ".join(sorted(known)) or "none",
            )
