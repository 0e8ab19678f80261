"""Patterns of a schema, and texts that would keep the validator busy with them.

A regular pattern is matched in linear time. One that looks around, or back at what it matched, is tried again and
again, and each time the rest of the text may be looked at: therefore long texts are not checked against it.
"""

from __future__ import annotations

import re
from functools import lru_cache

import jsonschema_rs

from ..core.json import Json, JsonObject

PATTERNS = jsonschema_rs.FancyRegexOptions(backtrack_limit=1_000)
"""Its engine hands a regular pattern to the linear one; only others are ever backtracked."""
TEXT_MAX = 20_000
"""No longer text matches a pattern that is not regular."""
FOREIGN_TEXT_MAX = 256
"""A longer text is not held to such a pattern of another party, who looks at the text as well."""

_OLD = ("draft-03", "draft-04", "draft-06")
"""Drafts that know no `if`."""
VALUES = frozenset({"enum", "const", "default", "examples"})
"""Keywords that hold values, and no schemas."""
_REFUSING = ("not", "if", "then", "else")
_TOKEN = re.compile(r"\\.|\(\?<?[=!]|\(|\)|\[\^?\]?(?:\\.|[^\]\\])*+\]", re.DOTALL)


def held_to_patterns(schema: JsonObject, *, foreign: bool) -> JsonObject:
    """The same schema, which does not hold long texts to patterns that are not regular.

    Args:
        schema: any.
        foreign: another party wrote it, and checks what is sent: a longer text fits, and where that can not be said
            in place, the keyword around the pattern is left out. Otherwise a longer text does not fit.
    """
    if not _is_any_irregular(schema):
        return schema
    changed = _Holding(foreign=foreign, knows_if=knows_if(schema)).held(schema)
    assert isinstance(changed, dict)
    return changed


def knows_if(schema: JsonObject) -> bool:
    """Whether the draft of a schema has the keyword `if`."""
    return not any(draft in str(schema.get("$schema")) for draft in _OLD)


class _Holding:
    def __init__(self, *, foreign: bool, knows_if: bool) -> None:
        self._foreign = foreign
        self._knows_if = knows_if

    def held(self, node: Json) -> Json:
        if isinstance(node, list):
            return [self.held(each) for each in node]
        if not isinstance(node, dict):
            return node
        kept = dict(node)
        if self._foreign and any(_is_any_irregular(node.get(key)) for key in _REFUSING):
            for key in _REFUSING:
                kept.pop(key, None)
        named = node.get("patternProperties")
        if self._foreign and isinstance(named, dict) and not all(map(is_regular, named)):
            for key in ("patternProperties", "additionalProperties", "unevaluatedProperties"):
                kept.pop(key, None)
        kept = {key: each if key in VALUES else self.held(each) for key, each in kept.items()}
        pattern = node.get("pattern")
        if isinstance(pattern, str) and not is_regular(pattern) and (self._foreign or self._knows_if):
            del kept["pattern"]
            if rule := self._rule(pattern):
                before = kept.get("allOf")
                kept["allOf"] = [*(before if isinstance(before, list) else ()), rule]
        return kept

    def _rule(self, pattern: str) -> JsonObject:
        if not self._foreign:
            is_short: JsonObject = {"maxLength": TEXT_MAX}
            return {"if": is_short, "then": {"pattern": pattern}, "else": is_short}
        if not self._knows_if or _looks_around_twice(pattern):
            return {}
        return {"if": {"maxLength": FOREIGN_TEXT_MAX}, "then": {"pattern": pattern}}


@lru_cache(4096)
def is_regular(pattern: str) -> bool:
    """Whether a pattern is matched in linear time; one that is none at all counts as such, and is refused later."""
    if not _TOKEN.search(pattern):
        return True
    for options in (jsonschema_rs.RegexOptions(), PATTERNS):
        try:
            jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=options)
        except ValueError:
            continue
        return options is not PATTERNS
    return True


def _is_any_irregular(schema: Json) -> bool:
    waiting: list[Json] = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            pattern, named = node.get("pattern"), node.get("patternProperties")
            if isinstance(pattern, str) and not is_regular(pattern):
                return True
            if isinstance(named, dict) and not all(map(is_regular, named)):
                return True
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
    return False


def _looks_around_twice(pattern: str) -> bool:
    """Whether a pattern looks around while it looks around, which multiplies the work."""
    around: list[bool] = []
    for token in _TOKEN.finditer(pattern):
        if token[0].startswith("(?"):
            if True in around:
                return True
            around.append(True)
        elif token[0] == "(":
            around.append(False)
        elif token[0] == ")" and around:
            around.pop()
    return False
