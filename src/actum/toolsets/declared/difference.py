"""How two declarations of a tool differ, and what of that breaks those who call the tool. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from msgspec import structs

from ...core.definition import DefinitionChange, fields_differ
from ...core.json import Json, JsonObject
from .declaration import ToolDeclaration, read_declaration
from .places import effects_of

_NARROWER = ("maximum", "maxLength", "maxItems", "exclusiveMaximum")
"""A smaller number takes less,"""
_WIDER = ("minimum", "minLength", "minItems", "exclusiveMinimum")
"""and of these a larger one."""
_SET = ("pattern", "format", "multipleOf", "const", "uniqueItems")
"""Words of a schema that take less where they are new, or are others."""
_INSIDE = ("items", "properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "$ref", "not")


def difference(old: str, new: str) -> Sequence[DefinitionChange]:
    """How two texts differ.

    Args:
        old, new: texts of declarations.

    Raises:
        BadText: one of them is no declaration.

    >>> made = "name: a\\nagent: desk\\nparameters: {x: string%s}\\n"
    >>> [(each.place, each.breaks) for each in difference(made % "", made % ", y: string")]
    [('y', 'callers have to give it now')]
    """
    before, after = read_declaration(old), read_declaration(new)
    return [*_fields(before, after), *_effects(before, after), *_parameters(before, after)]


def _fields(before: ToolDeclaration, after: ToolDeclaration) -> Iterator[DefinitionChange]:
    for change in fields_differ(_plain(before), _plain(after)):
        yield structs.replace(change, breaks=_breaks_field(change.place, before, after))


def _plain(declaration: ToolDeclaration) -> JsonObject:
    found: JsonObject = msgspec.to_builtins(declaration, order="sorted")
    return {name: value for name, value in found.items() if name not in ("parameters", "effects")}


def _breaks_field(name: str, before: ToolDeclaration, after: ToolDeclaration) -> str:
    if name == "name":
        return "callers know it by the old name"
    if name in ("users", "roles") and (after.users or after.roles):
        lost = {*before.users, *before.roles} - {*after.users, *after.roles}
        if lost or not (before.users or before.roles):
            return "some who called it may not any more"
    if name == "approval" and after.approval:
        return "each call waits for a person now"
    return ""


def _effects(before: ToolDeclaration, after: ToolDeclaration) -> Iterator[DefinitionChange]:
    did, does = effects_of(before), effects_of(after)
    if did == does or (before.effects is None and after.effects is None and None in (did, does)):
        return  # another place is told as such; what it does, only the server knows
    was, now = sorted(did or ()), sorted(does or ())
    more = sorted(set(now) - set(was) - {"read"})
    told = f"its effects grew: {', '.join(more)}" if more else ""
    yield DefinitionChange(kind="changed", what="field", place="effects", old=[*was], new=[*now], breaks=told)


def _parameters(before: ToolDeclaration, after: ToolDeclaration) -> Iterator[DefinitionChange]:
    was, now = _properties(before.parameters), _properties(after.parameters)
    needed_before, needed = _required(before.parameters), _required(after.parameters)
    for name in [*was, *(each for each in now if each not in was)]:
        if name not in now:
            told = "callers may give it still" if after.parameters.get("additionalProperties") is False else ""
            yield DefinitionChange(kind="removed", what="parameter", place=name, old=was[name], breaks=told)
        elif name not in was:
            told = "callers have to give it now" if name in needed else ""
            yield DefinitionChange(kind="added", what="parameter", place=name, new=now[name], breaks=told)
        elif was[name] != now[name] or (name in needed) != (name in needed_before):
            told = "callers have to give it now" if name in needed - needed_before else _narrowed(was[name], now[name])
            yield DefinitionChange(
                kind="changed",
                what="parameter",
                place=name,
                old=_told(was[name], name in needed_before),
                new=_told(now[name], name in needed),
                breaks=told,
            )
    inside = ("properties", "required")
    rest = [{key: value for key, value in each.parameters.items() if key not in inside} for each in (before, after)]
    if rest[0] != rest[1]:
        closed = rest[1].get("additionalProperties") is False and rest[0].get("additionalProperties") is not False
        told = "arguments that have no parameter are refused now" if closed else ""
        yield DefinitionChange(kind="changed", what="field", place="parameters", old=rest[0], new=rest[1], breaks=told)


def _told(schema: Json, needed: bool) -> Json:
    return {**schema, "required": needed} if isinstance(schema, dict) else schema


def _properties(parameters: JsonObject) -> JsonObject:
    found = parameters.get("properties")
    return found if isinstance(found, dict) else {}


def _required(parameters: JsonObject) -> set[str]:
    found = parameters.get("required")
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _narrowed(was: Json, now: Json) -> str:
    """Why values that fitted before may not fit any more; empty where no reason is seen."""
    if not isinstance(was, dict) or not isinstance(now, dict):
        return "" if was == now or now is True else "it takes less"
    if _types(now) is not None and not _fit_in(_types(was), _types(now)):
        return f"its type takes less: {_said(_types(was))} before, {_said(_types(now))} now"
    choices, before = now.get("enum"), was.get("enum")
    if isinstance(choices, list) and not (isinstance(before, list) and all(each in choices for each in before)):
        return "some of its values are refused now"
    for name in _NARROWER + _WIDER:
        limit, old = now.get(name), was.get(name)
        if isinstance(limit, int | float) and not (isinstance(old, int | float) and _as_wide(name, old, limit)):
            return f"its {name} takes less"
    if any(name in now and now[name] != was.get(name) for name in _SET):
        return "it takes less"
    return "what is in it may take less" if any(now.get(name) != was.get(name) for name in _INSIDE) else ""


def _as_wide(name: str, old: float, limit: float) -> bool:
    return old <= limit if name in _NARROWER else old >= limit


def _types(schema: JsonObject) -> set[str] | None:
    """The types that a schema takes; None for all."""
    found = schema.get("type")
    if isinstance(found, str):
        return {found}
    return {str(each) for each in found} if isinstance(found, list) else None


def _fit_in(was: set[str] | None, now: set[str] | None) -> bool:
    if now is None:
        return True
    return was is not None and all(each in now or (each == "integer" and "number" in now) for each in was)


def _said(types: set[str] | None) -> str:
    return " or ".join(sorted(types)) if types is not None else "anything"
