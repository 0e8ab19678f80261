"""A JSON Schema as an engine is asked for it: narrower than it is where models go astray. Pure.

    objects    that list their properties have these alone, unless the schema says that there may be others
    numbers    without bounds are given some: `1e999` is a number to JSON and none to Python

What fits the narrower schema fits the whole one. Limits: a number beyond 10^18 is only said where the schema has a
bound beyond it. Inside of `allOf` nothing is closed, since each part would then refuse what the others list.
"""

from __future__ import annotations

from ...core.json import Json, JsonObject

NUMBER_MAX = 10**18
_BOUNDS = {("minimum", "exclusiveMinimum"): -NUMBER_MAX, ("maximum", "exclusiveMaximum"): NUMBER_MAX}
_ONE = ("items", "additionalProperties", "contains", "not", "if", "then", "else", "propertyNames")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_JOINED = frozenset({"allOf", "anyOf", "oneOf", "$ref", "patternProperties", "if", "not", "dependentSchemas"})


def bounded(schema: JsonObject) -> JsonObject:
    """The schema with objects closed and numbers bounded.

    >>> bounded({"type": "object", "properties": {"a": {"type": "string"}}})["additionalProperties"]
    False
    """
    return _object(schema, close=not _has_all_of(schema))


def _of(schema: Json, *, close: bool) -> Json:
    if schema is True:
        schema = {}
    return _object(schema, close=close) if isinstance(schema, dict) else schema


def _object(schema: JsonObject, *, close: bool) -> JsonObject:
    out = dict(schema)
    for key, value in schema.items():
        if key in _ONE and value is not True:
            out[key] = _of(value, close=close)
        elif key in _LISTS and isinstance(value, list):
            out[key] = [_of(item, close=close) for item in value]
        elif key in _NAMED and isinstance(value, dict):
            out[key] = {name: _of(item, close=close) for name, item in value.items()}
    kinds = schema.get("type")
    may_be_number = "number" in kinds if isinstance(kinds, str | list) else not _JOINED & out.keys()
    if may_be_number and not out.keys() & {"enum", "const"}:
        for own, bound in _BOUNDS.items():
            if not out.keys() & set(own):
                out[own[0]] = bound
    if close and "properties" in out and not _JOINED & out.keys():
        out.setdefault("additionalProperties", False)
    return out


def _has_all_of(schema: Json) -> bool:
    if isinstance(schema, dict):
        return "allOf" in schema or any(_has_all_of(value) for value in schema.values())
    return isinstance(schema, list) and any(_has_all_of(value) for value in schema)
