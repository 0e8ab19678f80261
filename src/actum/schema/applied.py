"""How many schemas of a document hold for one value: the validator looks at each of them.

A schema of 2 KB can name another one twice, that one a third one twice, and so on, until nobody lives to see the end of
a check. One that names itself twice does so by the depth of the value.

Many real schemas name themselves in each branch of a union, and the branches exclude one another by the text of one
field, the tag: `{"type": "paragraph", "content": [...]}`. `told_apart` has the validator look at the tag first, so that
a value costs one branch and not all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..core.json import DEPTH_MAX, Json, JsonObject
from .coercion import node_at
from .patterns import VALUES, knows_if

APPLIED_MAX = 10_000
"""At most this many schemas may hold for one value."""
STEPS_MAX = 500_000
"""At most this many schemas are looked at to find how deep a value may be."""
_IN_PLACE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_OF_ITEMS = ("items", "prefixItems", "additionalItems", "contains", "unevaluatedItems")
_OF_OTHER_NAMES = ("additionalProperties", "unevaluatedProperties", "patternProperties")
_UNIONS = ("anyOf", "oneOf")
_MAPS = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords that hold schemas by names."""
_HOPS_MAX = 8
"""At most this many references are followed from a branch to its tag."""


class _Parts:
    """The schemas of a document, and what their references name.

    Args:
        document: the whole schema.
        apart: whether branches of unions that exclude one another by a tag are known to.

    Attributes:
        all: the schemas.
        refers: there is a reference.
        steps: how many schemas were looked at to find how deep a value may be.
    """

    def __init__(self, document: JsonObject, *, apart: bool = False) -> None:
        self.document = document
        self.all = list(_nodes(document))
        self.steps = 0
        self.refers = any(isinstance(node.get(key), str) for node in self.all for key in _REFERENCES)
        self._named: dict[str, JsonObject] = {"#": document}
        for node in self.all if self.refers else ():
            for key, mark in (("$anchor", "#"), ("$dynamicAnchor", "#"), ("$id", "")):
                if isinstance(name := node.get(key), str):
                    self._named.setdefault(mark + name, node)
        self._has_tags = apart and knows_if(document) and self._is_plain()
        self._tags: dict[int, _Tags | None] = {}

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

    def tags(self, union: list[Json]) -> _Tags | None:
        """By which tag branches of a union exclude one another; None where no two of them do."""
        if self._has_tags and id(union) not in self._tags:
            self._tags[id(union)] = self._find_tags(union)
        return self._tags.get(id(union))

    def _find_tags(self, union: list[Json]) -> _Tags | None:
        demanded = [self._demanded(branch) for branch in union]
        for name in dict.fromkeys(name for each in demanded for name in each):
            texts = {at: each[name] for at, each in enumerate(demanded) if name in each}
            every = [text for each in texts.values() for text in each]
            if len(texts) > 1 and len(set(every)) == len(every):
                return _Tags(name, texts, {})
        return None

    def _demanded(self, branch: Json) -> dict[str, list[str]]:
        """The fields that hold one of a few texts in a branch that takes objects only."""
        for _ in range(_HOPS_MAX):
            if not isinstance(branch, dict) or not isinstance(branch.get("$ref"), str):
                break
            branch = self._target(str(branch["$ref"]))
        node = branch if isinstance(branch, dict) else {}
        properties, required = node.get("properties"), node.get("required")
        if node.get("type") != "object" or not isinstance(properties, dict) or not isinstance(required, list):
            return {}
        found = {name: _texts(properties.get(name)) for name in required if isinstance(name, str)}
        return {name: texts for name, texts in found.items() if texts}

    def _is_plain(self) -> bool:
        """Whether each reference leads to a place that stays where it is when the branches of unions are moved."""
        references = [node[key] for node in self.all for key in _REFERENCES if key in node]
        return not any(isinstance(node.get("$id"), str) for node in self.all if node is not self.document) and all(
            isinstance(each, str) and self._find(each) and not {*_UNIONS, *VALUES} & {*each.split("/")}
            for each in references
        )

    def _target(self, reference: str) -> JsonObject:
        """What a reference names; the whole document, where that is not plain to see."""
        return self._find(reference) or self.document

    def _find(self, reference: str) -> JsonObject | None:
        if not reference.startswith("#/"):
            return self._named.get(reference)
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")]
        return node_at(self.document, steps)


class _Tags(NamedTuple):
    """The values by which branches of a union exclude one another.

    Attributes:
        name: of the tag.
        texts: those that a branch takes for the tag, by the place of the branch.
        looks: stands for the looks at the tags, where schemas that hold are counted.
    """

    name: str
    texts: dict[int, list[str]]
    looks: JsonObject


def _texts(schema: Json) -> list[str]:
    """The texts that a schema takes; empty where it takes more than a few texts."""
    if not isinstance(schema, dict):
        return []
    told = [schema["const"]] if "const" in schema else schema.get("enum")
    texts = [each for each in told if isinstance(each, str)] if isinstance(told, list) else []
    return texts if isinstance(told, list) and len(texts) == len(told) else []


def told_apart(document: JsonObject) -> JsonObject:
    """A schema that takes the same values, and looks at the tag of a branch before it looks at the branch."""
    parts = _Parts(document, apart=True)

    def changed(node: Json, *, is_map: bool = False) -> Json:
        if isinstance(node, list):
            return [changed(each) for each in node]
        if not isinstance(node, dict):
            return node
        if is_map:
            return {name: changed(each) for name, each in node.items()}
        kept = {key: each if key in VALUES else changed(each, is_map=key in _MAPS) for key, each in node.items()}
        for key in _UNIONS:
            union, branches = node.get(key), kept.get(key)
            if isinstance(union, list) and isinstance(branches, list) and (tags := parts.tags(union)):
                kept[key] = [_behind_tag(each, tags, at) for at, each in enumerate(branches)]
        return kept

    made = changed(document)
    assert isinstance(made, dict)
    return made


def _behind_tag(branch: Json, tags: _Tags, at: int) -> Json:
    if at not in tags.texts:
        return branch
    is_one: JsonObject = {
        "type": "object",
        "required": [tags.name],
        "properties": {tags.name: {"enum": [*tags.texts[at]]}},
    }
    return {"if": is_one, "then": branch, "else": is_one}


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


def depth_of(document: JsonObject, *, apart: bool = False) -> int | None:
    """How deep a value may be so that no more than `APPLIED_MAX` schemas hold for a value in it.

    Args:
        document: the whole schema.
        apart: whether the validator gets what `told_apart` makes of the schema.

    Returns:
        The depth; None for any depth.
    """
    parts = _Parts(document, apart=apart)
    if not parts.refers or not parts.leads_back():
        return None
    level, seen = list(_held({id(document): (document, 1)}, parts)), set[frozenset[tuple[int, int]]]()
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


def _held(named: _Held, parts: _Parts) -> Iterator[_Held]:
    """The schemas that hold for a value, where some are named for the value: those that they name for it, too. Where
    branches exclude one another, they are told once for each branch that may hold."""
    waiting: list[dict[int, Json]] = [{}]
    while waiting:
        chosen = waiting.pop()
        held, union = _held_where(chosen, named, parts)
        tags = None if union is None else parts.tags(union)
        if union is None or tags is None:
            yield held
            continue
        others = [branch for at, branch in enumerate(union) if at not in tags.texts]
        waiting += [{**chosen, id(union): [union[at], *others]} for at in tags.texts]


def _held_where(chosen: dict[int, Json], named: _Held, parts: _Parts) -> tuple[_Held, list[Json] | None]:
    """The schemas that hold for a value where these branches hold, by the ids of their unions. Instead of that, a union
    without a chosen branch."""
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
                for union in (one for key in _UNIONS if isinstance(one := each.get(key), list)):
                    if (tags := parts.tags(union)) is None:
                        continue
                    if id(union) not in chosen:
                        return held, union
                    _add(held, tags.looks, count * len(tags.texts))
                    total += count * len(tags.texts)
                _add(held, each, count)
                total += count
                parts.steps += 1
                on_the_way.add(id(each))
                waiting += [(each, True), *((chosen.get(id(one), one), False) for one in parts.beside(each))]
    return held, None


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
    yield from _held(items, parts)
    yield from _held(others, parts)
    for name, tellers in named.items():
        if parts.steps > STEPS_MAX:
            return
        parts.steps += len(others)
        one = dict(others)
        for node, count in tellers:
            if isinstance(rest := node.get("additionalProperties"), dict):
                _add(one, rest, -count)
            _add(one, node_at(node, ["properties", name]) or {}, count)
        yield from _held({key: each for key, each in one.items() if each[1]}, parts)


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
