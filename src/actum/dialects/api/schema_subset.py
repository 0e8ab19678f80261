"""Narrows a JSON Schema to what a provider's API takes. A row of a table says what that is. Pure.

Nothing that a schema says is lost: what the API does not take is said in words, at the end of the description, so that
the model still reads it, and the validation of calls uses the whole schema anyway. Where it can be said in another way,
it is: `const` as a list of one, `oneOf` as `anyOf`, `allOf` as one, a reference by what it refers to.

Limits: a reference inside itself becomes an object of any shape, as does every reference once the schema has grown by
them to `NODES_MAX` parts. References lead only to places in the same schema.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import cast

from msgspec import Struct, structs

from ...core.call import ToolCall
from ...core.json import (
    Json,
    JsonObject,
    dumps,
    kind_of,
)
from ...core.tool import Tool
from ..base import ApiDecoder
from ..loose import Loose
from ..written_values import kinds_at
from .changed_calls import ChangedCalls

NODES_MAX = 5_000
UNITED_LEVELS = 8
"""How deep `allOf` inside `allOf` is followed."""

_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "examples", "title", "readOnly"})
"""Says nothing about values, or nothing that a model needs."""

_STRUCTURE = frozenset(
    {"$ref", "type", "enum", "const", "anyOf", "oneOf", "allOf", "properties", "items", "description", "nullable"}
)


class Subset(Struct, frozen=True, kw_only=True):
    """What an API takes.

    Attributes:
        keywords: taken as they are.
        formats: by type; None: any.
        closed: objects must have `additionalProperties: false`.
        nullable: `null` is said by `nullable: true` and not by a type.
        enum_of_strings: only strings can be listed.
        min_items: the largest `minItems` that is taken; None: any.
        empty_objects: an object without properties is taken.
        bare_arrays: an array that does not say of what is taken.
        all_required: every property must be required: one that is not becomes one that may be null, and a null in its
            place means that it was left out (`without_nulls`).
    """

    keywords: frozenset[str]
    formats: dict[str, frozenset[str]]
    closed: bool = False
    nullable: bool = False
    enum_of_strings: bool = False
    min_items: int | None = None
    empty_objects: bool = True
    bare_arrays: bool = True
    all_required: bool = False


ANTHROPIC_STRICT = Subset(
    keywords=frozenset({"required", "default", "const"}),
    formats={
        "string": frozenset(
            {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
        )
    },
    closed=True,
    min_items=1,
)
"""Structured outputs and strict tools of the Messages API, by what the official SDK's `transform_schema` keeps."""

OPENAI_STRICT = Subset(
    keywords=frozenset(
        {
            *("required", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
            *("minItems", "maxItems"),
        }
    ),
    formats={
        "string": frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
    },
    closed=True,
    bare_arrays=False,
    all_required=True,
)
"""Strict functions of OpenAI's APIs, by their documentation of structured outputs."""

GEMINI = Subset(
    keywords=frozenset(
        {
            *("required", "default", "minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "pattern"),
            *("minProperties", "maxProperties", "propertyOrdering", "example"),
        }
    ),
    formats={
        "string": frozenset({"enum", "date-time"}),
        "number": frozenset({"float", "double"}),
        "integer": frozenset({"int32", "int64"}),
    },
    nullable=True,
    enum_of_strings=True,
    empty_objects=False,
    bare_arrays=False,
)
"""The `Schema` of the Gemini API, which is that of OpenAPI 3.0: by its reference and the official SDK's type."""


def narrowed(schema: JsonObject, subset: Subset) -> JsonObject:
    """The schema as an API takes it.

    >>> narrowed({"type": "integer", "exclusiveMinimum": 0, "description": "How many."}, GEMINI)
    {'type': 'integer', 'description': 'How many. (exclusiveMinimum: 0)'}
    """
    return _Narrowing(schema, subset).of(schema, ())


def loosened(tools: Iterable[Tool], subset: Subset) -> tuple[Loose, ...]:
    """The tools whose arguments an API can not be asked to hold a model to: what it can be told allows too little.

    >>> loosened([Tool(name="tag", parameters={"type": "object", "additionalProperties": True})], OPENAI_STRICT)
    (Loose(tool='tag', kept='none', why='an object that may have any properties'),)
    """
    found = [(tool.name, _reasons(tool.parameters, subset)) for tool in tools]
    return tuple([Loose(name, "none", "; ".join(why)) for name, why in found if why])


def strictly(tool: Tool, subset: Subset) -> JsonObject | None:
    """The schema by which an API can hold a model to a tool's parameters; None where it can not."""
    if _reasons(tool.parameters, subset):
        return None
    return {"type": "object", **narrowed({"properties": {}, **tool.parameters}, subset)}


def held_answer(schema: JsonObject, subset: Subset) -> JsonObject | None:
    """The schema by which an API can hold a model's answer; None where the API can be told too little: it would then
    allow less than the schema does.

    >>> held_answer({"type": "object", "additionalProperties": {"type": "integer"}}, ANTHROPIC_STRICT) is None
    True
    """
    narrowing = _Narrowing(schema, subset)
    held = narrowing.of(schema, ())
    return None if narrowing.lost else held


def openai_answer(schema: JsonObject, *, strict: bool) -> JsonObject:
    """How OpenAI's APIs are asked for an answer that fits a schema.

    Args:
        schema: of the answer.
        strict: the API is to hold the model to the schema, if it can be told all of it.
    """
    held = held_answer(schema, OPENAI_STRICT) if strict else None
    return {"name": "answer", "schema": schema} if held is None else {"name": "answer", "schema": held, "strict": True}


def resolved(schema: JsonObject, root: JsonObject | None = None) -> JsonObject:
    """A schema with its `allOf` and its reference in place.

    Args:
        schema: the schema.
        root: the whole that the schema is a part of; None where it is the whole.
    """
    return _Narrowing(schema if root is None else root, OPENAI_STRICT).resolved(schema)


def _reasons(schema: JsonObject, subset: Subset) -> tuple[str, ...]:
    narrowing = _Narrowing(schema, subset)
    if _alternatives(narrowing.resolved(schema)):
        narrowing.lost.append("alternatives at its root")
    narrowing.of({"properties": {}, **schema}, ())
    return tuple(dict.fromkeys(narrowing.lost))


class _Narrowing:
    def __init__(self, root: JsonObject, subset: Subset) -> None:
        self._root = root
        self._subset = subset
        self._nodes = 0
        self.lost: list[str] = []

    def of(self, schema: Json, within: tuple[str, ...]) -> JsonObject:
        """A schema inside the references that lead to it."""
        if not isinstance(schema, dict):  # true and false: anything, which is as near as it comes
            return {}
        self._nodes += 1
        schema = self._united(schema)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            return self._resolved(reference, schema, within)
        out: JsonObject = {}
        words: list[str] = []
        self._take_type(schema, out, within)
        self._take_values(schema, out, words)
        self._take_parts(schema, out, within)
        for name, value in schema.items():
            if name not in _STRUCTURE and name not in _SILENT and not self._take(name, value, out):
                words.append(f"{name}: {value if isinstance(value, str) else dumps(value)}")
        if self._subset.closed and out.get("type") == "object":
            if _is_open(schema):
                self.lost.append("an object that may have any properties")
            out["additionalProperties"] = False
        if not out and self._subset.all_required:
            self.lost.append("a value of any type")
        if self._subset.all_required and "properties" in out:
            _require_all(out)
        descriptions = (schema.get("description"), out.get("description"))  # the second of an only alternative
        said = [text for text in descriptions if isinstance(text, str) and text]
        if words:
            said.append(f"({', '.join(words)})")
        if said:
            out["description"] = " ".join(said)
        return out

    def _united(self, schema: JsonObject, levels: int = UNITED_LEVELS) -> JsonObject:
        """The schema with its `allOf` in it: properties side by side, of anything else what came first."""
        parts = schema.get("allOf")
        if not isinstance(parts, list) or not levels:
            return schema
        whole: JsonObject = {name: value for name, value in schema.items() if name != "allOf"}
        for part in parts:
            if not isinstance(part, dict):
                continue
            reference = part.get("$ref")
            target = _at(self._root, reference) if isinstance(reference, str) and len(parts) > 1 else None
            for name, value in self._united(part if target is None else target, levels - 1).items():
                known = whole.get(name)
                if name == "properties" and isinstance(known, dict) and isinstance(value, dict):
                    whole[name] = value | known
                elif name == "required" and isinstance(known, list) and isinstance(value, list):
                    whole[name] = [*known, *[item for item in value if item not in known]]
                else:
                    whole.setdefault(name, value)
        return whole

    def resolved(self, schema: Json) -> JsonObject:
        """A schema with its `allOf` and its reference in place; empty where it says nothing."""
        united = self._united(schema) if isinstance(schema, dict) else {}
        for _ in range(UNITED_LEVELS):
            reference = united.get("$ref")
            target = _at(self._root, reference) if isinstance(reference, str) else None
            if target is None:
                break
            united = self._united({**target, **{key: value for key, value in united.items() if key != "$ref"}})
        return united

    def _resolved(self, reference: str, schema: JsonObject, within: tuple[str, ...]) -> JsonObject:
        beside = {name: value for name, value in schema.items() if name not in ("$ref", "$defs", "definitions")}
        target = _at(self._root, reference)
        if target is None or reference in within or self._nodes > NODES_MAX:
            name = reference.rsplit("/", 1)[-1]
            self.lost.append(f"a reference to {name} that can not be put in place")
            stands_for: JsonObject = {"type": "object", "additionalProperties": False}
            stands_for["description"] = f"Another {name}."
            return self.of(stands_for | beside, within)
        return self.of(target | beside, (*within, reference))

    def _take_type(self, schema: JsonObject, out: JsonObject, within: tuple[str, ...]) -> None:
        """Types and alternatives; of these, the null."""
        kinds = schema.get("type")
        listed = [kind for kind in kinds if isinstance(kind, str)] if isinstance(kinds, list) else []
        branches = [self.of(branch, within) for branch in _alternatives(schema)]
        if self._subset.nullable:
            if "null" in listed or any(branch.get("type") == "null" for branch in branches) or schema.get("nullable"):
                out["nullable"] = True
            listed = [kind for kind in listed if kind != "null"]
            branches = [branch for branch in branches if branch.get("type") != "null"]
            if len(branches) == 1:
                out |= branches.pop()
        if isinstance(kinds, str):
            out["type"] = kinds
        elif len(listed) == 1:
            out["type"] = listed[0]
        elif listed and not branches:
            items: JsonObject = {"items": schema["items"]} if "items" in schema else {}
            branches = [
                self.of({"type": kind, **items}, within) if kind == "array" else {"type": kind} for kind in listed
            ]
        if branches:
            out["anyOf"] = list(branches)

    def _take_values(self, schema: JsonObject, out: JsonObject, words: list[str]) -> None:
        """A list of the values that are allowed."""
        values = schema.get("enum")
        if "const" in schema and "const" not in self._subset.keywords:
            values = [schema["const"]]
        elif "const" in schema:
            out["const"] = schema["const"]
        if not isinstance(values, list):
            return
        if self._subset.nullable and None in values:
            values, out["nullable"] = [value for value in values if value is not None], True
        if self._subset.enum_of_strings and not all(isinstance(value, str) for value in values):
            words.append(f"one of: {dumps(values)}")
            kinds = {kind_of(value) for value in values}
            if len(kinds) == 1:
                out.setdefault("type", kinds.pop())
        elif values:
            out["enum"] = list(values)
            if self._subset.enum_of_strings or self._subset.all_required:
                listed: list[Json] = [*sorted({kind_of(value) for value in values})]
                out.setdefault("type", listed[0] if len(listed) == 1 else listed)

    def _take_parts(self, schema: JsonObject, out: JsonObject, within: tuple[str, ...]) -> None:
        properties, items = schema.get("properties"), schema.get("items")
        if isinstance(properties, dict) and (properties or self._subset.empty_objects):
            out["properties"] = {name: self.of(value, within) for name, value in properties.items()}
            out.setdefault("type", "object")
        if isinstance(items, dict) and not ("anyOf" in out and isinstance(schema.get("type"), list)):
            out["items"] = self.of(items, within)
            out.setdefault("type", "array")
        elif out.get("type") == "array" and not self._subset.bare_arrays:
            out["items"] = {"type": "string"}

    def _take(self, name: str, value: Json, out: JsonObject) -> bool:
        """Whether a further keyword could be taken, or says nothing."""
        if name == "additionalProperties":
            return value is False or value is True
        if name == "format":
            taken = isinstance(value, str) and value in self._subset.formats.get(str(out.get("type")), ())
        elif name == "minItems" and self._subset.min_items is not None:
            taken = isinstance(value, int) and value <= self._subset.min_items
        elif name == "required" and not (self._subset.empty_objects or "properties" in out):
            return True
        else:
            taken = name in self._subset.keywords
        if taken:
            out[name] = value
        return taken


def _is_open(schema: JsonObject) -> bool:
    """It may have properties that it does not name, and is meant to."""
    if schema.get("patternProperties"):
        return True
    others = schema.get("additionalProperties", "properties" not in schema)
    return others is not False


def _require_all(out: JsonObject) -> None:
    """Every property required, and null where it was not."""
    properties, required = out["properties"], out.get("required")
    assert isinstance(properties, dict)
    for name, value in properties.items():
        if not (isinstance(required, list) and name in required) and isinstance(value, dict):
            properties[name] = _or_null(value)
    out["required"] = list(properties)


def _or_null(schema: JsonObject) -> JsonObject:
    kind, branches = schema.get("type"), schema.get("anyOf")
    if kind == "null" or (isinstance(branches, list) and {"type": "null"} in branches):
        return schema
    if isinstance(kind, str) and "enum" not in schema:
        return {**schema, "type": [kind, "null"]}
    words: JsonObject = {name: value for name, value in schema.items() if name == "description"}
    rest: JsonObject = {name: value for name, value in schema.items() if name != "description"}
    return {
        "anyOf": [*(branches if isinstance(branches, list) and len(rest) == 1 else [rest]), {"type": "null"}],
        **words,
    }


def with_left_out(decoder: ApiDecoder, tools: Sequence[Tool]) -> ApiDecoder:
    """A reader of an answer of an API that was asked to require every parameter: a null stands for one left out. What a
    call's `raw` and its fragments say stays as it came.
    """
    by_name = {tool.name: tool for tool in tools}

    def change(call: ToolCall) -> ToolCall:
        tool = by_name.get(call.name)
        if tool is None or strictly(tool, OPENAI_STRICT) is None:
            return call
        arguments = without_nulls(call.arguments, tool.parameters, tool.parameters)
        return structs.replace(call, arguments=cast(JsonObject, arguments))

    return ChangedCalls(decoder, change)


def without_nulls(value: Json, schema: Json, root: JsonObject) -> Json:
    """A value as its own schema has it, of one as a narrowed schema asks for it: nulls for what was left out are gone.

    Args:
        value: what came.
        schema: that of the tool, before it was narrowed.
        root: the whole of it, for its references.

    >>> tool = {"type": "object", "properties": {"a": {"type": "string"}}}
    >>> without_nulls({"a": None}, tool, tool)
    {}
    """
    schema = _Narrowing(root, OPENAI_STRICT).resolved(schema)
    if isinstance(value, list):
        return [without_nulls(item, schema.get("items", {}), root) for item in value]
    if not isinstance(value, dict):
        return value
    for branch in map(_Narrowing(root, OPENAI_STRICT).resolved, _alternatives(schema)):
        properties = branch.get("properties")
        if isinstance(properties, dict) and value.keys() <= properties.keys():
            schema = branch
            break
    properties, required = schema.get("properties"), schema.get("required")
    if not isinstance(properties, dict):
        return value
    kept = set(required) if isinstance(required, list) else set()
    return {
        name: without_nulls(item, properties.get(name, {}), root)
        for name, item in value.items()
        if item is not None or name in kept or "null" in (kinds_at(properties.get(name), root) or {"null"})
    }


def _alternatives(schema: JsonObject) -> list[Json]:
    for name in ("anyOf", "oneOf"):
        found = schema.get(name)
        if isinstance(found, list):
            return found
    return []


def _at(root: JsonObject, reference: str) -> JsonObject | None:
    """What a reference leads to, inside the schema."""
    place: Json = root
    if not reference.startswith("#"):
        return None
    for step in filter(None, reference[1:].split("/")):
        place = place.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(place, dict) else None
    return place if isinstance(place, dict) else None
