"""What differs between two definitions: nodes, edges and fields. Pure.

Blind to everything that changes nothing: the positions in `view`, comments, YAML or JSON, the order of nodes, edges and
fields, the spelling of an edge, and a field that is given its default. Texts that do not pass `check` yet can be
compared, too: a draft may be half finished.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Literal, cast

import msgspec
from msgspec import NODEFAULT, Struct, structs

from ...core.definition import DefinitionChange, TextProblem
from ...core.json import Json, JsonObject
from ...core.language.sentence import Sentence
from .nodes import NODE_TYPES
from .settings import WorkflowText
from .text import BadWorkflow, read_text

_GAPS = re.compile(r"\s+")
_CONTENTS = ("nodes", "edges")
_Kind = Literal["added", "removed", "changed"]
_NOTHING: JsonObject = {}


def difference(old: str | bytes, new: str | bytes) -> list[DefinitionChange]:
    """What changed between two texts of a definition: fields of the definition first, then nodes, then edges.

    Args:
        old: the text before.
        new: the text now.

    Raises:
        BadWorkflow: one of the texts can not be read, or is no object.

    >>> [each.place for each in difference('{"name": "a", "view": {"x": 1}}', "name: b")]
    ['name']
    """
    before, after = _value(old), _value(new)
    own = [
        DefinitionChange(kind=each.kind, what="field", place=each.place, old=each.old, new=each.new)
        for each in _fields(_head(before), _head(after), "")
    ]
    found = list(_of_graph(before, after, ""))
    return [*own, *(each for each in found if each.what != "edge"), *(each for each in found if each.what == "edge")]


def _value(text: str | bytes) -> JsonObject:
    value = read_text(text).value
    if not isinstance(value, dict):
        raise BadWorkflow(
            [
                TextProblem(
                    Sentence("a definition is an object"), hint=Sentence("begin with the line 'actum: workflow/1'")
                )
            ]
        )
    return value


def _head(value: JsonObject) -> JsonObject:
    """The fields of a definition that are no nodes, edges or positions, with the defaults of those that are missing."""
    found: JsonObject = {}
    for field in structs.fields(WorkflowText):
        if field.name not in (*_CONTENTS, "view"):
            factory = field.default_factory
            missing = field.default if factory is NODEFAULT else factory()
            given = value.get(field.name, missing)
            with contextlib.suppress(msgspec.ValidationError):  # what does not fit is compared as it is written
                given = msgspec.convert(given, field.type)
            if given is not NODEFAULT:
                found[field.name] = msgspec.to_builtins(given)
    known = {field.name for field in structs.fields(WorkflowText)}
    return found | {name: each for name, each in value.items() if name not in known}


def _of_graph(before: JsonObject, after: JsonObject, prefix: str) -> Iterator[DefinitionChange]:
    """The differences between the nodes and the edges of two graphs: of two definitions, or of two containers."""
    nodes, nodes_now = _object(before.get("nodes")), _object(after.get("nodes"))
    for name in sorted(nodes.keys() | nodes_now.keys()):
        yield from _of_node(prefix + name, nodes.get(name), nodes_now.get(name), name in nodes, name in nodes_now)
    edges, edges_now = _edges(before.get("edges"), prefix), _edges(after.get("edges"), prefix)
    for edge in sorted(edges - edges_now):
        yield DefinitionChange(kind="removed", what="edge", place=edge)
    for edge in sorted(edges_now - edges):
        yield DefinitionChange(kind="added", what="edge", place=edge)


def _of_node(path: str, old: Json, new: Json, was: bool, now: bool) -> Iterator[DefinitionChange]:
    before, after = _object(old), _object(new)
    if not was or not now:
        types = (before.get("type"), after.get("type"))
        yield DefinitionChange(kind=_kind(was, now), what="node", place=path, node=path, old=types[0], new=types[1])
    else:
        plain, plain_now = _settings(before), _settings(after)
        if plain is None or plain_now is None:  # at least one of them is not finished
            plain, plain_now = _without_contents(before), _without_contents(after)
        for each in _fields(plain, plain_now, path):
            kind, place = each.kind, each.place
            yield DefinitionChange(kind=kind, what="field", place=place, node=path, old=each.old, new=each.new)
    yield from _of_graph(before, after, path + "/")


def _settings(node: JsonObject) -> JsonObject | None:
    """The fields of a node without those that have their default; None where the node is not finished."""
    kind = node.get("type")
    row = NODE_TYPES.get(kind) if isinstance(kind, str) else None
    if row is None:
        return None
    try:
        plain = cast(JsonObject, msgspec.to_builtins(msgspec.convert(node, row.settings)))
    except (msgspec.ValidationError, RecursionError):
        return None
    return _without_contents(plain)


def _without_contents(node: JsonObject) -> JsonObject:
    return {name: value for name, value in node.items() if name not in _CONTENTS}


class _Changed(Struct, frozen=True):
    """A place inside of a value at which it changed."""

    kind: _Kind
    place: str
    old: Json
    new: Json


def _fields(old: Json, new: Json, place: str) -> Iterator[_Changed]:
    """Each place at which two values differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in sorted(old.keys() | new.keys()):
            at = f"{place}.{name}" if place else name
            if name in old and name in new:
                yield from _fields(old[name], new[name], at)
            else:
                yield _Changed(_kind(name in old, name in new), at, old.get(name), new.get(name))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (one, other) in enumerate(zip(old, new, strict=True)):
            yield from _fields(one, other, f"{place}[{index}]")
    elif type(old) is not type(new) or old != new:
        yield _Changed("changed", place, old, new)


def _edges(edges: Json, prefix: str) -> set[str]:
    """Edges in one spelling."""
    found = set()
    for edge in edges if isinstance(edges, list) else []:
        source, arrow, target = _GAPS.sub("", str(edge)).partition(">")
        found.add(f"{prefix}{source.removesuffix('.out')} {arrow} {prefix}{target}".strip())
    return found


def _object(value: Json) -> JsonObject:
    return value if isinstance(value, dict) else _NOTHING


def _kind(was: bool, now: bool) -> _Kind:
    return "changed" if was and now else "added" if now else "removed"
