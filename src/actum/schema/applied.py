"""How many schemas of a document hold for one value: the validator looks at each of them.

A schema of 2 KB can name another one twice, that one a third one twice, and so on, until nobody lives to see the end of
a check. One that names itself twice does so by the depth of the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.json import DEPTH_MAX, Json, JsonObject
from .coercion import node_at

APPLIED_MAX = 10_000
"""At most this many schemas may hold for one value."""
STEPS_MAX = 500_000
"""At most this many schemas are looked at to find how deep a value may be."""
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")
_OF_OTHER_NAMES = ("additionalProperties", "unevaluatedProperties", "patternProperties")


class _Parts:
    """The schemas of a document, and what their references name.

    Args:
        document: the whole schema.

    Attributes:
        all: the schemas.
        refers: there is a reference.
        steps: how many schemas were looked at to find how deep a value may be.
    """

    def __init__(self, document: JsonObject) -> None:
        self.document = document
        self.all = list(_nodes(document))
        self.steps = 0
        self.refers = any(isinstance(node.get(key), str) for node in self.all for key in _REFERENCES)
        self._named: dict[str, JsonObject] = {"#": document}
        for node in self.all if self.refers else ():
            for key, mark in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                if isinstance(name := node.get(key), str):
                    self._named.setdefault(mark + name, node)

    def leads_back(self) -> bool:
        """Whether a reference leads to a schema around itself."""
        done: set[int] = set()
        on_the_way: set[int] = set()
        waiting: list[tuple[Json, bool]] = [(self.document, False)]
        while waiting:
            node, is_over = waiting.pop()
            if isinstance(node, list):
                waiting += [(each, False) for each in node]
            elif is_over:
                on_the_way.discard(id(node))
                done.add(id(node))
            elif isinstance(node, dict) and id(node) in on_the_way:
                return True
            elif isinstance(node, dict) and id(node) not in done:
                on_the_way.add(id(node))
                named = [self._target(name) for key in _REFERENCES if isinstance(name := node.get(key), str)]
                waiting += [(node, True), *((each, False) for each in (*node.values(), *named))]
        return False

    def beside(self, node: JsonObject) -> list[Json]:
        """The schemas that hold for the same value as one does."""
        dependent = node.get("dependentSchemas")
        return [
            *(node.get(key) for key in _IN_PLACE),
            *(dependent.values() if isinstance(dependent, dict) else ()),
            *(self._target(name) for key in _REFERENCES if isinstance(name := node.get(key), str)),
        ]

    def _target(self, reference: str) -> JsonObject:
        """What a reference names; the whole document, where that is not plain to see."""
        if not reference.startswith("#/"):
            return self._named.get(reference, self.document)
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")]
        return node_at(self.document, steps) or self.document


def applied(document: JsonObject) -> int:
    """The most schemas of a document that hold for one value, as far as they hold for no value around it; what leads
    back to itself counts once."""
    parts = _Parts(document)
    known: dict[int, int] = {}

    def count(node: Json) -> int:
        if isinstance(node, list):
            return sum(map(count, node))
        if not isinstance(node, dict):
            return 0
        if id(node) not in known:
            known[id(node)] = 1  # a circle ends here
            known[id(node)] = min(1 + sum(map(count, parts.beside(node))), APPLIED_MAX + 1)
        return known[id(node)]

    return max(map(count, parts.all))


def depth_of(document: JsonObject) -> int | None:
    """How deep a value may be so that no more than `APPLIED_MAX` schemas hold for a value in it; None for any depth."""
    parts = _Parts(document)
    if not parts.refers or not parts.leads_back():
        return None
    level, seen = [_held({id(document): (document, 1)}, parts)], set[frozenset[tuple[int, int]]]()
    for depth in range(DEPTH_MAX):
        if parts.steps > STEPS_MAX or max(map(_total, level)) > APPLIED_MAX:
            return depth
        fresh: list[_Held] = []
        for held in level:
            for below in _below(held, parts):
                shape = frozenset([(each, count) for each, (_, count) in below.items()])
                if shape not in seen:
                    seen.add(shape)
                    fresh.append(below)
        if not fresh:
            return None
        level = fresh
    return None


_Held = dict[int, tuple[JsonObject, int]]
"""The schemas that hold for a value by their ids, each with how often it is named."""


def _total(held: _Held) -> int:
    return sum(count for _, count in held.values())


def _add(held: _Held, schema: JsonObject, count: int) -> None:
    _, before = held.get(id(schema), (schema, 0))
    held[id(schema)] = schema, before + count


def _held(named: _Held, parts: _Parts) -> _Held:
    """The schemas that hold for a value, where some are named for the value: those that they name for it, too."""
    held: _Held = {}
    total = 0
    for schema, count in named.values():
        on_the_way: set[int] = set()
        waiting: list[tuple[Json, bool]] = [(schema, False)]
        while waiting and total <= APPLIED_MAX and parts.steps <= STEPS_MAX:
            each, is_over = waiting.pop()
            if is_over:
                on_the_way.discard(id(each))
            elif isinstance(each, list):
                waiting += [(one, False) for one in each]
            elif isinstance(each, dict) and id(each) not in on_the_way:
                _add(held, each, count)
                total += count
                parts.steps += 1
                on_the_way.add(id(each))
                waiting += [(each, True), *((one, False) for one in parts.beside(each))]
    return held


def _below(held: _Held, parts: _Parts) -> Iterator[_Held]:
    """The schemas that hold for a value inside: for an item of a list, for a value of each name that is told, and for a
    value of any other name. A value is one of these, so the counts of two are never added."""
    items: _Held = {}
    others: _Held = {}
    named: dict[str, list[tuple[JsonObject, int]]] = {}
    for node, count in held.values():
        for schema in _values(node, _OF_ITEMS):
            _add(items, schema, count)
        for schema in _values(node, _OF_OTHER_NAMES):
            _add(others, schema, count)
        properties = node.get("properties")
        for name in properties if isinstance(properties, dict) else ():
            named.setdefault(name, []).append((node, count))
    yield _held(items, parts)
    yield _held(others, parts)
    for name, tellers in named.items():
        if parts.steps > STEPS_MAX:
            return
        parts.steps += len(others)
        one = dict(others)
        for node, count in tellers:
            if isinstance(rest := node.get("additionalProperties"), dict):
                _add(one, rest, -count)
            _add(one, node_at(node, ["properties", name]) or {}, count)
        yield _held({key: each for key, each in one.items() if each[1]}, parts)


def _values(node: JsonObject, keys: tuple[str, ...]) -> Iterator[JsonObject]:
    """The schemas that stand in a schema under these keys."""
    for key in keys:
        value = node.get(key)
        inner = list(value.values()) if key == "patternProperties" and isinstance(value, dict) else value
        yield from (each for each in (inner if isinstance(inner, list) else [inner]) if isinstance(each, dict))


def _nodes(document: JsonObject) -> Iterator[JsonObject]:
    waiting: list[Json] = [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node
