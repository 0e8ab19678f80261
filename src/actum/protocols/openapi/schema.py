"""Small JSON Schemas (2020-12) out of the schemas of API documents.

Keywords that validate stay, those that only decorate go. A referenced schema that is used once is put in its place; one
that is used more often, or that contains itself, goes to `$defs`. The rest is cut at a depth until it fits.

Limits: `discriminator` is dropped, `oneOf` stays as it is; `$dynamicRef` is read like `$ref`. A pattern that the
validator does not know is dropped, together with the keywords that would refuse good values without it, and this is
reported.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import Literal

import jsonschema_rs
import msgspec

from ...core.attachment import HANDLE
from ...core.json import Json, JsonObject
from ..plain_text import plain
from .references import Documents, Node, escape

Side = Literal["request", "response"]

SCHEMA_BYTES = 12_000
"""A larger schema is cut at a depth; see `bounded`."""

CUT = "see get_schema at "
"""What is said in the place of a part that was cut, before the path to it."""
WORDS_MAX = 240

_ONE = {"items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems"}
_ONE |= {"unevaluatedProperties"}
_MANY = {"allOf", "anyOf", "oneOf", "prefixItems"}
_NAMED = {"properties", "patternProperties", "dependentSchemas"}
_PLAIN: dict[str, tuple[type, ...]] = {
    "format": (str,), "default": (object,), "const": (object,), "required": (list,),
    "minItems": (int,), "maxItems": (int,), "minLength": (int,), "maxLength": (int,), "uniqueItems": (bool,),
    "minProperties": (int,), "maxProperties": (int,), "minContains": (int,), "maxContains": (int,),
    "minimum": (int, float), "maximum": (int, float), "exclusiveMinimum": (int, float),
    "exclusiveMaximum": (int, float), "multipleOf": (int, float), "dependentRequired": (dict,),
}  # fmt: skip
_TYPES = {"string", "number", "integer", "boolean", "array", "object", "null"}
_size = msgspec.json.Encoder()


def words(text: str, limit: int = WORDS_MAX) -> str:
    """The first paragraph without hidden characters, cut at the end of a sentence.

    >>> words("Adds one. Then more.\\n\\nMuch more.", 12)
    'Adds one.'
    """
    paragraph = " ".join(re.split(r"\n\s*\n", plain(text[: limit * 20]).strip(), maxsplit=1)[0].split())
    if len(paragraph) <= limit:
        return paragraph
    ends = [found.end() for found in re.finditer(r"[.!?](?=\s)|[。！？]", paragraph[: limit + 1])]
    return paragraph[: ends[-1]] if ends else paragraph[:limit].rsplit(" ", 1)[0] + " …"


class Schemas:
    """Makes schemas of a document's parts; what several operations use is converted once.

    Args:
        documents: the document and its files.
        version: of the format: before 3.1 `$ref` has no siblings, `nullable` is a keyword and
            `exclusiveMinimum` a flag.

    Attributes:
        unchecked: the patterns that were dropped, by their places.
    """

    def __init__(self, documents: Documents, version: str) -> None:
        self.unchecked: dict[str, str] = {}
        self._dropped = 0
        self._documents = documents
        self._old = version.startswith(("2.", "3.0"))
        self._known: dict[tuple[str, Side], JsonObject] = {}

    def whole(self, node: Node, side: Side) -> JsonObject:
        """The schema with all that it refers to in `$defs`.

        Raises:
            BadDocument: a part of it is no schema or a reference leads nowhere.
        """
        return self.closed(self._convert(node, side), side)

    def converted(self, node: Node, side: Side) -> JsonObject:
        """The schema with its references as they are, for `closed`."""
        return self._convert(node, side)

    def closed(self, root: JsonObject, side: Side) -> JsonObject:
        """A schema out of converted parts, with all that they refer to in `$defs`."""
        uses: Counter[str] = Counter()
        reached: dict[str, JsonObject] = {}
        todo = [root]
        while todo:
            for uri in references_of(todo.pop()):
                uses[uri] += 1
                if uri not in reached:
                    reached[uri] = self._referenced(uri, side)
                    todo.append(reached[uri])
        names = _names([uri for uri in reached if uses[uri] > 1])
        schema = _placed(root, reached, names)
        if names:
            schema = {**schema, "$defs": {name: _placed(reached[uri], reached, names) for uri, name in names.items()}}
        return schema

    def _referenced(self, uri: str, side: Side) -> JsonObject:
        known = self._known.get((uri, side))
        if known is None:
            known = self._known[uri, side] = self._convert(self._documents.at(uri), side)
        return known

    def _convert(self, node: Node, side: Side) -> JsonObject:
        if isinstance(node.value, bool):
            return {} if node.value else {"not": {}}
        given = node.fields
        ref = given.get("$ref") or (None if self._old else given.get("$dynamicRef"))
        found: JsonObject = {}
        if isinstance(ref, str):
            self._documents.resolve(node)  # refuses circles of references alone
            found["$ref"] = self._documents.target(node, ref).uri
            if self._old:
                return found
        self._types(node, given, found)
        self._keywords(node, given, found, side)
        self._required(given, found, side)
        if isinstance(text := given.get("description") or given.get("title"), str) and (said := words(text)):
            found["description"] = said
        if isinstance(pattern := given.get("pattern"), str) and self._is_known(node.child("pattern"), pattern):
            found["pattern"] = pattern
        return found

    def _is_known(self, node: Node, pattern: str) -> bool:
        """Whether the validator knows a pattern; where not, the pattern is told as one that is not checked."""
        if _is_pattern(pattern):
            return True
        self.unchecked[f"#{node.pointer}"] = pattern
        self._dropped += 1
        return False

    def _keywords(self, node: Node, given: JsonObject, found: JsonObject, side: Side) -> None:
        widened: list[str] = []
        for key, value in given.items():
            before = self._dropped
            if key in _PLAIN:
                flag = isinstance(value, bool) and key not in ("default", "const", "uniqueItems")
                if isinstance(value, _PLAIN[key]) and not flag:
                    found[key] = value
            elif key in _ONE and isinstance(value, dict | bool):
                if not (key == "additionalProperties" and value is True):
                    found[key] = self._convert(node.child(key), side)
            elif key in _MANY and isinstance(value, list) and value:
                found[key] = [self._convert(item, side) for item in node.child(key).items()]
            elif key in _NAMED and isinstance(value, dict):
                found[key] = self._members(node.child(key), side, found if key == "properties" else {})
            if self._dropped > before:
                widened.append(key)
        for key in widened:
            _widen(found, key)

    def _types(self, node: Node, given: JsonObject, found: JsonObject) -> None:
        kind = given.get("type")
        kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list) else []
        if kind == "file":
            kinds = ["string"]
        if unknown := [name for name in kinds if not isinstance(name, str) or name not in _TYPES]:
            raise node.child("type").bad(f"{str(unknown[0])[:60]!r} is no type of JSON Schema")
        enum = given.get("enum")
        choices = list(enum) if isinstance(enum, list) and enum else []
        if self._old and given.get("nullable") is True and kinds:
            kinds = [*kinds, "null"]
            if choices and None not in choices:
                choices.append(None)
        if kinds:
            found["type"] = kinds[0] if len(kinds) == 1 else list(kinds)
        if choices:
            found["enum"] = choices
        for flag, bound in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
            if given.get(flag) is True and isinstance(given.get(bound), int | float):
                found[flag] = given[bound]

    def _members(self, node: Node, side: Side, owner: JsonObject) -> JsonObject:
        """The properties of an object, without those that the other side alone sends."""
        dropped = "readOnly" if side == "request" else "writeOnly"
        kept: JsonObject = {}
        gone: list[Json] = []
        for name, child in node.members():
            if node.pointer.endswith("/patternProperties") and not self._is_known(child, name):
                continue
            value = child.value
            if isinstance(value, dict) and isinstance(value.get("$ref"), str) and not value.get(dropped):
                value = self._documents.resolve(child).value
            if isinstance(value, dict) and value.get(dropped) is True:
                gone.append(name)
            else:
                kept[name] = self._convert(child, side)
        if gone:
            owner[_GONE] = gone
        return kept

    def _required(self, given: JsonObject, found: JsonObject, side: Side) -> None:
        gone = found.pop(_GONE, [])
        required = given.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        names = [name for name in dict.fromkeys(names) if not (isinstance(gone, list) and name in gone)]
        found.pop("required", None)
        if names:
            found["required"] = list(names)
        properties = found.get("properties")
        if side == "request" and isinstance(properties, dict):
            properties |= {name: may_be_empty(properties[name]) for name in names if name in properties}


_GONE = "\0gone"
_SAYS_MORE = {"minLength", "pattern", "enum", "const", "format"}


def may_be_empty(schema: Json) -> Json:
    """The schema of a required text that says that the text may be empty, where the document does not say otherwise:
    without that, an empty text counts as missing. A handle of a file is no such text.

    >>> may_be_empty({"type": "string"}), may_be_empty({"type": "string", "format": "date"})
    ({'type': 'string', 'minLength': 0}, {'type': 'string', 'format': 'date'})
    """
    if not isinstance(schema, dict) or _SAYS_MORE & schema.keys() or HANDLE in str(schema.get("description", "")):
        return schema
    kind = schema.get("type")
    return {**schema, "minLength": 0} if kind == "string" or (isinstance(kind, list) and "string" in kind) else schema


def part_of(pool: JsonObject, name: str) -> JsonObject | None:
    """One property of a schema as a schema of its own, with the `$defs` that it needs; None where there is none."""
    properties, defs = pool.get("properties"), pool.get("$defs")
    schema = properties.get(name) if isinstance(properties, dict) else None
    if not isinstance(schema, dict):
        return None
    known = defs if isinstance(defs, dict) else {}
    needed: JsonObject = {}
    todo: list[Json] = [schema]
    while todo:
        for ref in references_of(todo.pop()):
            part = ref.rpartition("/")[2]
            if part not in needed and part in known:
                needed[part] = known[part]
                todo.append(known[part])
    return {**schema, "$defs": needed} if needed else schema


def references_of(schema: Json) -> list[str]:
    """The references in a converted schema, in their order, each as often as it stands there."""
    found: list[str] = []
    todo: list[Json] = [schema]
    while todo:
        part = todo.pop()
        if isinstance(part, dict):
            if isinstance(ref := part.get("$ref"), str):
                found.append(ref)
            todo += _parts(part)
    return found


def _parts(schema: JsonObject) -> list[Json]:
    parts: list[Json] = []
    for key, value in schema.items():
        if key in _ONE:
            parts.append(value)
        elif key in _MANY and isinstance(value, list):
            parts += value
        elif key in _NAMED and isinstance(value, dict):
            parts += value.values()
    return parts


def _names(uris: list[str]) -> dict[str, str]:
    names: dict[str, str] = {}
    taken: set[str] = set()
    for uri in uris:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", uri.rpartition("/")[2]) or "part"
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}_{number}", number + 1
        taken.add(name)
        names[uri] = name
    return names


def _placed(schema: Json, reached: dict[str, JsonObject], names: dict[str, str]) -> JsonObject:
    """A schema whose references lead into `$defs`, or are replaced by the one schema that they mean."""
    if not isinstance(schema, dict):
        return {}
    placed: JsonObject = {}
    for key, value in schema.items():
        if key in _ONE:
            placed[key] = _placed(value, reached, names)
        elif key in _MANY and isinstance(value, list):
            placed[key] = [_placed(item, reached, names) for item in value]
        elif key in _NAMED and isinstance(value, dict):
            placed[key] = {name: _placed(item, reached, names) for name, item in value.items()}
        elif key != "$ref":
            placed[key] = value
    ref = schema.get("$ref")
    if isinstance(ref, str):
        if ref in names:
            return {"$ref": f"#/$defs/{names[ref]}", **placed}
        there = _placed(reached[ref], reached, names)
        if not (there.keys() & placed.keys()) - {"description", "default"}:
            return there | placed
        return {**placed, "allOf": [there, *(placed["allOf"] if isinstance(placed.get("allOf"), list) else [])]}  # type: ignore[misc]
    return placed


def bounded(schema: JsonObject, size: int = SCHEMA_BYTES) -> tuple[JsonObject, bool]:
    """A schema in which deep parts are replaced by a hint at `get_schema`, until it is small enough or nothing is deep.

    Args:
        schema: an object schema with its `$defs`.
        size: in bytes.

    Returns:
        The smaller schema, and whether something was cut.
    """
    if len(_size.encode(schema)) <= size:
        return schema, False
    smaller = schema
    for depth in _DEPTHS:
        smaller = _to_depth(schema, depth)
        if len(_size.encode(smaller)) <= size:
            break
    return smaller, smaller != schema


def part_at(whole: JsonObject, path: str, size: int = SCHEMA_BYTES) -> Json:
    """The part of a schema at a JSON pointer. What is deep in a large part is cut in turn, with the path to it.

    References are followed on the way; in the part they stay, and `#/$defs/Pet` is the part at `/$defs/Pet`.

    Args:
        whole: the schema with its `$defs`.
        path: a JSON pointer; empty for the schema itself.
        size: in bytes.

    Raises:
        KeyError: there is nothing; the first argument is the key that leads nowhere.
    """
    found: Json = whole
    kind: _PartKind = "schema"
    for token in filter(None, path.removeprefix("#").split("/")):
        key = token.replace("~1", "/").replace("~0", "~")
        for _ in range(_REFERENCES_MAX):
            ref = found.get("$ref") if isinstance(found, dict) and kind == "schema" and key not in found else None
            if not isinstance(ref, str):
                break
            found = _of(_of(whole, "$defs"), ref.rpartition("/")[2])
        kind = _kind_below(kind, key)
        found = _of(found, key)
    where = "/" + "/".join(filter(None, path.removeprefix("#").split("/"))) if path.strip("#/") else ""
    if not where:
        return bounded(whole, size)[0]
    smaller = found
    for depth in (99, *_DEPTHS):
        smaller = _Cutting(depth).part(found, kind, where)
        if len(_size.encode(smaller)) <= size:
            break
    return smaller


_PartKind = Literal["schema", "list", "map", "plain"]
_DEPTHS = (10, 8, 6, 5, 4, 3, 2, 1)
_REFERENCES_MAX = 20


def _kind_below(kind: _PartKind, key: str) -> _PartKind:
    """The kind of the value under a key of a part of a schema."""
    if kind in ("list", "map"):
        return "schema"
    if kind == "plain":
        return "plain"
    if key in _ONE:
        return "schema"
    return "list" if key in _MANY else "map" if key in _NAMED or key == "$defs" else "plain"


def _of(value: Json, key: str) -> Json:
    if isinstance(value, dict):
        return value[key]
    if isinstance(value, list) and key.isascii() and key.isdecimal() and int(key[:9]) < len(value):
        return value[int(key[:9])]
    raise KeyError(key)


class _Cutting:
    """Cuts schemas that are deeper than a number of levels.

    Attributes:
        refs: the names of the `$defs` that the kept parts refer to, each with its level, as often as it is used.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self.refs: list[tuple[str, int]] = []

    def part(self, part: Json, kind: _PartKind, path: str, level: int = 0) -> Json:
        if kind == "map" and isinstance(part, dict):
            return {name: self.part(item, "schema", f"{path}/{escape(name)}", level + 1) for name, item in part.items()}
        if kind == "list" and isinstance(part, list):
            return [self.part(item, "schema", f"{path}/{at}", level + 1) for at, item in enumerate(part)]
        return self._schema(part, path, level) if kind == "schema" and isinstance(part, dict) else part

    def _schema(self, schema: JsonObject, path: str, level: int) -> JsonObject:
        ref = schema.get("$ref")
        if level >= self._depth and (isinstance(ref, str) or _parts(schema)):
            kind = schema.get("type")
            stub: JsonObject = {"type": kind} if kind else {}
            return {**stub, "description": f"{kind if isinstance(kind, str) else 'object'}, {CUT}{path}"}
        if isinstance(ref, str):
            self.refs.append((ref.rpartition("/")[2], level))
        return {
            key: self.part(value, _kind_below("schema", key), f"{path}/{escape(key)}", level + (key in _ONE))
            for key, value in schema.items()
            if key != "$defs"
        }


def _to_depth(schema: JsonObject, depth: int) -> JsonObject:
    defs = schema.get("$defs")
    known = defs if isinstance(defs, dict) else {}
    kept: JsonObject = {}
    cutting = _Cutting(depth)
    root = cutting.part(schema, "schema", "")
    for name, level in cutting.refs:  # grows while it is gone through; the nearest use comes first
        if name not in kept:
            kept[name] = {}
            kept[name] = cutting.part(known[name], "schema", f"/$defs/{escape(name)}", level)
    found = root if isinstance(root, dict) else {}
    return {**found, "$defs": kept} if kept else found


def _widen(schema: JsonObject, key: str) -> None:
    """Drop what would refuse good values, since a pattern below this keyword was dropped: a schema that holds for more
    values is a stricter one under `not`, `if`, `oneOf` and `contains`.
    """
    if key == "oneOf":
        branches = schema.pop(key)
        schema.setdefault("anyOf", branches)
    for name in _STRICTER.get(key, ()):
        schema.pop(name, None)
    if key == "patternProperties":
        for name in ("additionalProperties", "unevaluatedProperties"):
            if schema.get(name) == {"not": {}}:
                del schema[name]


_STRICTER = {"not": ("not",), "if": ("if", "then", "else"), "contains": ("contains", "minContains", "maxContains")}


@lru_cache(4096)
def _is_pattern(pattern: str) -> bool:
    """Whether the validator knows a pattern."""
    try:
        jsonschema_rs.validator_for({"pattern": pattern}, pattern_options=jsonschema_rs.FancyRegexOptions())
    except (jsonschema_rs.ValidationError, ValueError):
        return False
    return True
