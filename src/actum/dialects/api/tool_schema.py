"""Shapes the schema of a tool's parameters so that no API refuses the whole request because of it. Pure.

OpenAI, Anthropic and Gemini refuse `anyOf`, `oneOf` and `allOf` at the root. OpenAI refuses an array without `items`,
and an object must say that it is one. Anthropic and Gemini take only some keys: other keys go out under stand-ins, as
names of tools do, and come back as they were (`with_own_keys`).

Only what the model is told is shaped. A call is checked by the tool's true schema. What can not be said is told to the
model in words, and to the tool's author by `actum tools lint` (`unsaid`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct, structs

from ...core.call import ToolCall
from ...core.json import Json, JsonObject, dumps
from ...core.tool import Tool
from ..base import ApiDecoder
from ..tool_names import stand_in
from ..tools_once import OncePerTools
from .changed_calls import ChangedCalls
from .schema_subset import resolved

ANTHROPIC_KEY = "[a-zA-Z0-9_.-]{1,64}"
GEMINI_KEY = "[a-zA-Z_][a-zA-Z0-9_]{0,63}"

WORDS_CHARS_MAX = 2_000
"""The most characters of words for the model, about rules that the root of a schema can not say."""
_ALTERNATIVES = ("anyOf", "oneOf")
_NOT_AT_ROOT = frozenset({"anyOf", "oneOf", "allOf", "enum", "not"})
_OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")


class _ShapedTool(Struct, frozen=True):
    """Attributes:
    schema: as an API takes it.
    keys: by its stand-in, each key that the API does not take.
    """

    schema: JsonObject
    keys: dict[str, str] = {}


_Tools = tuple[Tool, ...]


def _shape_all(tools: _Tools, pattern: str) -> dict[str, _ShapedTool]:
    return {tool.name: _shape(tool.parameters, pattern) for tool in tools}


_shaped = OncePerTools[str, dict[str, _ShapedTool]](_shape_all)


def shaped(tool: Tool, key_pattern: str = "") -> Tool:
    """The tool with a schema that an API takes; the same tool where the API takes its own.

    Args:
        tool: the tool.
        key_pattern: regular expression that a key has to fit; empty where the API takes any.

    >>> tag = Tool(name="tag", parameters={"anyOf": [{"properties": {"a": {"type": "array"}}}]})
    >>> shaped(tag).parameters["properties"]
    {'a': {'type': 'array', 'items': {}}}
    """
    schema = _shape(tool.parameters, key_pattern).schema
    return tool if schema == tool.parameters else structs.replace(tool, parameters=schema)


def unsaid(schema: JsonObject) -> list[str]:
    """What of a tool's parameters some APIs can not be told, each in a few words."""
    root = resolved(schema)
    return [f"`{name}` at the root of its parameters" for name in ("anyOf", "oneOf", "enum", "not") if name in root]


def _shape(schema: JsonObject, key_pattern: str) -> _ShapedTool:
    root = _flat(schema) if _NOT_AT_ROOT & schema.keys() or "$ref" in schema else schema
    wires: dict[str, str] = {}
    if key_pattern:
        taken = set(_keys(root))
        for key in _strange_keys(root, key_pattern):
            attempt = 0
            while (wire := stand_in(key, attempt)) in taken:
                attempt += 1
            taken.add(wire)
            wires[key] = wire
    whole = _filled(root, wires)
    if whole.get("type") != "object":
        whole = {**whole, "type": "object"}
    if "properties" not in whole:
        whole = {**whole, "properties": {}}
    return _ShapedTool(whole, {wire: key for key, wire in wires.items()})


def _flat(schema: JsonObject) -> JsonObject:
    """The root without alternatives: all their properties side by side, and required what each of them requires."""
    root = resolved(schema)
    flat: JsonObject = {name: value for name, value in root.items() if name not in _NOT_AT_ROOT and name != "$ref"}
    for name in ("$defs", "definitions"):
        if name in schema:
            flat[name] = schema[name]
    own = root.get("properties")
    properties: JsonObject = dict(own) if isinstance(own, dict) else {}
    required = _names(root.get("required"))
    for name in _ALTERNATIVES:
        given = root.get(name)
        branches = (
            [resolved(each, root=schema) for each in given if isinstance(each, dict)] if isinstance(given, list) else []
        )
        if not branches:
            continue
        said: dict[str, list[Json]] = {}
        for branch in branches:
            parts = branch.get("properties")
            for key, value in parts.items() if isinstance(parts, dict) else ():
                if value not in said.setdefault(key, []):
                    said[key].append(value)
        for key, values in said.items():
            properties.setdefault(key, values[0] if len(values) == 1 else {"anyOf": values})
        of_all = set.intersection(*[set(_names(branch.get("required"))) for branch in branches])
        required += [key for key in _names(branches[0].get("required")) if key in of_all and key not in required]
    words = ", ".join(f"{name}: {dumps(root[name])}" for name in sorted(_NOT_AT_ROOT & root.keys()))
    told = root.get("description")
    if words:
        flat["description"] = " ".join(
            filter(None, [told if isinstance(told, str) else "", f"({words[:WORDS_CHARS_MAX]})"])
        )
    return {**flat, "properties": properties, **({"required": list(required)} if required else {})}


def _names(value: Json) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


def _parts(schema: JsonObject) -> Iterator[JsonObject]:
    """The schemas right inside a schema."""
    for name in _OF_SCHEMAS:
        held = schema.get(name)
        yield from [each for each in held.values() if isinstance(each, dict)] if isinstance(held, dict) else ()
    for name in (*_LISTS, *_ONE):
        held = schema.get(name)
        yield from [each for each in (held if isinstance(held, list) else [held]) if isinstance(each, dict)]


def _keys(schema: JsonObject) -> Iterator[str]:
    """Every key that is named in a schema."""
    waiting = [schema]
    while waiting:
        one = waiting.pop()
        properties = one.get("properties")
        yield from properties if isinstance(properties, dict) else ()
        waiting += _parts(one)


def _strange_keys(schema: JsonObject, pattern: str) -> list[str]:
    fits = re.compile(pattern).fullmatch
    return sorted({key for key in _keys(schema) if not fits(key)})


def _filled(schema: JsonObject, wires: dict[str, str]) -> JsonObject:
    """The schema with what is missing in it, and with stand-ins for keys; the same where nothing has to be changed."""
    changed: JsonObject = {}
    for name in (*_OF_SCHEMAS, *_LISTS, *_ONE):
        held = schema.get(name)
        now: Json = held
        if isinstance(held, dict) and name in _OF_SCHEMAS:
            now = {
                wires.get(key, key) if name == "properties" else key: _told(
                    key, each, wires if name == "properties" else {}, wires
                )
                for key, each in held.items()
            }
        elif isinstance(held, dict):
            now = _filled(held, wires)
        elif isinstance(held, list):
            now = [_filled(each, wires) if isinstance(each, dict) else each for each in held]
            if name == "items":  # of drafts before 2020
                now = {"anyOf": now} if now else {}
        if now != held:
            changed[name] = now
    required = _names(schema.get("required"))
    if wires and any(key in wires for key in required):
        changed["required"] = [wires.get(key, key) for key in required]
    kind = schema.get("type")
    if "properties" in schema and kind is None and "$ref" not in schema:
        changed["type"] = "object"
    is_array = kind == "array" or (isinstance(kind, list) and "array" in kind)
    if is_array and "items" not in schema:
        changed["items"] = {}
    return {**schema, **changed} if changed else schema


def _told(key: str, schema: Json, renamed: dict[str, str], wires: dict[str, str]) -> Json:
    """The schema of a property; beside a stand-in the model can read the key."""
    if not isinstance(schema, dict):
        return schema
    filled = _filled(schema, wires)
    if key not in renamed:
        return filled
    words = schema.get("description")
    return {**filled, "description": f"{key}: {words}" if isinstance(words, str) and words else key}


# The way back.


def with_own_keys(decoder: ApiDecoder, tools: Sequence[Tool], key_pattern: str) -> ApiDecoder:
    """A reader of an answer whose calls have the keys of the tools' true schemas. The arguments of a call with
    stand-ins are told at once, when the call is whole.
    """
    found = _shaped(tuple(tools), key_pattern) if key_pattern else {}
    keys = {name: tool.keys for name, tool in found.items() if tool.keys}
    return ChangedCalls(decoder, lambda call: _in_own_keys(call, keys.get(call.name)), keys) if keys else decoder


def _in_own_keys(call: ToolCall, keys: dict[str, str] | None) -> ToolCall:
    if not keys:
        return call
    arguments = {keys.get(name, name): _renamed(value, keys) for name, value in call.arguments.items()}
    if arguments == call.arguments:
        return call
    return structs.replace(call, arguments=arguments, raw=dumps(arguments) if call.raw and call.complete else call.raw)


def _renamed(value: Json, keys: dict[str, str]) -> Json:
    if isinstance(value, list):
        return [_renamed(item, keys) for item in value]
    if isinstance(value, dict):
        return {keys.get(name, name): _renamed(item, keys) for name, item in value.items()}
    return value
