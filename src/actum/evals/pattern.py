"""Values in which something is left open: `{"$any": [...]}`, `{"$matches": "..."}`, `{"$anything": true}`. Pure.

Patterns are matched by an engine that is linear and has no look-around, so that no pattern keeps a program busy.
"""

from __future__ import annotations

from functools import lru_cache

import jsonschema_rs

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..core.tool import Tool

_OPEN = ("$any", "$matches", "$anything")
MISSING: JsonObject = {"$missing": True}
"""Stands for an argument that is not there."""


@lru_cache(4096)
def _validator(pattern: str) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator({"pattern": pattern}, pattern_options=jsonschema_rs.RegexOptions())


def check_pattern(pattern: str, where: str) -> None:
    """Refuse a pattern that can not be matched.

    Raises:
        UsageError: it is none; the sentence begins with the place.
    """
    try:
        _validator(pattern)
    except (ValueError, TypeError):
        raise UsageError(
            "{where}: {pattern!r:.80} is no pattern here: a pattern looks neither ahead nor back",
            where=where,
            pattern=pattern,
        ) from None


def matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    return _validator(pattern).is_valid(text)


def check_patterns(value: Json, where: str) -> None:
    """Refuse an open value that is none.

    Raises:
        UsageError: it is none; the sentence begins with the place.
    """
    if isinstance(value, list):
        for each in value:
            check_patterns(each, where)
    if not isinstance(value, dict):
        return
    opened = [name for name in value if name in _OPEN]
    if opened and len(value) > 1:
        raise UsageError("{where}: {name} stands alone in its object", where=where, name=opened[0])
    if "$matches" in value:
        pattern = value["$matches"]
        if not isinstance(pattern, str):
            raise UsageError("{where}: $matches takes a text", where=where)
        check_pattern(pattern, where)
    elif "$any" in value and not isinstance(value["$any"], list):
        raise UsageError("{where}: $any takes a list", where=where)
    else:
        for each in value.values():
            check_patterns(each, where)


def fits(expected: Json, value: Json) -> bool:
    """Whether a value is the one that is expected. Numbers are equal by value, so that 2 is 2.0.

    >>> fits({"to": {"$any": ["Ann", "ann"]}, "n": 2}, {"to": "ann", "n": 2.0})
    True
    """
    match expected:
        case {"$anything": True}:
            return value is not MISSING
        case {"$any": list(choices)}:
            return any(fits(each, value) for each in choices)
        case {"$matches": str(pattern)}:
            return isinstance(value, str) and matches(pattern, value)
        case dict():
            return (
                isinstance(value, dict)
                and expected.keys() == value.keys()
                and all(fits(each, value[name]) for name, each in expected.items())
            )
        case list():
            return (
                isinstance(value, list)
                and len(expected) == len(value)
                and all(fits(one, other) for one, other in zip(expected, value, strict=True))
            )
        case bool() | None | str():
            return type(expected) is type(value) and expected == value
        case _:
            return isinstance(value, int | float) and not isinstance(value, bool) and expected == value


def fits_arguments(expected: JsonObject, given: JsonObject, tool: Tool | None) -> bool:
    """Whether the arguments of a call are the expected ones. What has a default in the schema may be left out, on
    either side.

    Args:
        expected: with open values.
        given: what the model said.
        tool: the definition of the tool; None where nobody has it.
    """
    schemas = tool.property_schemas() if tool is not None else {}
    defaults = {name: schema["default"] for name, schema in schemas.items() if "default" in schema}
    for name in expected.keys() | given.keys():
        default = defaults.get(name, MISSING)
        wanted, value = expected.get(name, default), given.get(name, default)
        if wanted is MISSING or value is MISSING or not fits(wanted, value):
            return False
    return True
