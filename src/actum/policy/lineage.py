"""Where values that pass by reference came from: in a workflow, and between the calls of one reply. A lineage is a
value: it tells the origins of every part of another value.

The origins of such values are known exactly. Only the words of a model are of no known
origin: `MODEL` says so, and the call path then looks them up in what was said before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property

from msgspec import Struct, structs

from ..core.json import Json, JsonObject
from ..core.provenance import Origin, Origins
from .origins import Lookup, is_inside, is_trusted_field, trusted_fields

Steps = tuple[str | int, ...]
"""The names and indices that lead to a part of a value."""

MODEL = Origin("model")


class From(Struct, frozen=True):
    """All of the value has these origins."""

    origins: tuple[Origin, ...]


class OfTool(Struct, frozen=True):
    """The value is the output of a tool.

    Attributes:
        tool: the tool's name.
        trusted: the fields of its results that are declared to be trusted.
        steps: where in the output of the tool the value stands.
    """

    tool: str
    trusted: tuple[str, ...] = ()
    steps: Steps = ()


class Built(Struct, frozen=True):
    """The value is an object or a list that was put together out of others.

    Attributes:
        parts: the lineage of each part, by its name or index.
        rest: the lineage of every other part.
    """

    parts: dict[str | int, Lineage]
    rest: Lineage


class Mixed(Struct, frozen=True, dict=True):
    """The value was computed out of others, or is a text in which they stand."""

    of: tuple[Lineage, ...]

    @cached_property
    def origins(self) -> tuple[Origin, ...]:
        """The origins of the value: looked for once, since later values may be computed out of this one."""
        return _parts(self.of)


Lineage = From | OfTool | Built | Mixed

DEVELOPER = From((Origin("developer"),))
OF_MODEL = From((MODEL,))
OF_ERROR = From((Origin("tool", "failed node"),))
"""The lineage of what is told of a failure: the words may be those of a tool or of a server. No tool has this name."""
FOREIGN = Origin("tool", "imported file")
REMEMBERED = Origin("tool", "earlier run")
"""Of a variable of the conversation that an earlier run has changed: who gave its value is not on record."""
"""The origin of the literals of an imported definition that no person has published. No tool can have this name."""


_STEP = re.compile(r"\.([A-Za-z_][\w-]*)|\[(\d+)\]|\[\"([^\"]*)\"\]")
PATH = r"(?:\.[A-Za-z_][\w-]*|\[\d{1,9}\]|\[\"[^\"\]]{0,200}\"\])*"
"""What leads from a value to a part of it, as references write it: `.total`, `[0]`, `["a b"]`."""


def steps_of(path: str) -> Steps:
    """Read a `PATH`.

    >>> steps_of('.items[0]["a b"]')
    ('items', 0, 'a b')
    """
    return tuple(int(index) if index else name or quoted for name, index, quoted in _STEP.findall(path))


def part_of(lineage: Lineage, steps: Steps) -> Lineage:
    """The lineage of a part of a value."""
    while steps and isinstance(lineage, Built):
        lineage, steps = lineage.parts.get(steps[0], lineage.rest), steps[1:]
    if steps and isinstance(lineage, OfTool):
        return OfTool(lineage.tool, lineage.trusted, (*lineage.steps, *steps))
    return lineage


def origins_of(lineage: Lineage) -> tuple[Origin, ...]:
    """The origins of a whole value."""
    match lineage:
        case From(origins):
            return origins
        case OfTool(tool, trusted, steps):
            names = tuple(step for step in steps if isinstance(step, str))
            return (Origin("tool", tool, path_of(steps), is_trusted_field(names, trusted_fields(trusted))),)
        case Built(parts, rest):
            return _parts(list(parts.values()) or [rest])
        case Mixed():
            return lineage.origins


def _parts(lineages: Sequence[Lineage]) -> tuple[Origin, ...]:
    """The origins of several values together, each of which is only a part."""
    found: dict[Origin, None] = {}
    seen: set[int] = set()
    left = list(reversed(lineages))
    while left:  # a lineage may be thousands deep, and lead back to the same one on many ways
        lineage = left.pop()
        if id(lineage) in seen:
            continue
        seen.add(id(lineage))
        if isinstance(lineage, Built):
            left += reversed(list(lineage.parts.values()) or [lineage.rest])
        elif isinstance(lineage, Mixed) and "origins" not in lineage.__dict__:
            left += reversed(lineage.of)
        else:
            for origin in origins_of(lineage):
                found[Origin(origin.source, origin.tool, origin.field, origin.trusted, part=True)] = None
    return tuple(found)


def is_models(origins: Sequence[Origin]) -> bool:
    """Whether words of a model are among these origins."""
    return any(origin.source == "model" for origin in origins)


def origins_in(arguments: JsonObject, lineage: Lineage) -> Origins:
    """The origins of each plain value in the arguments of a call, by its path."""
    found: Origins = {}
    for steps in _leaves(arguments, ()):
        path, origins = path_of(steps), origins_of(part_of(lineage, steps))
        found[path] = (*found[path], *origins) if path in found else origins
    return found


def as_foreign(origins: Origins) -> Origins:
    """The origins of arguments where the literals of the definition are not the developer's."""
    return {
        path: tuple(
            structs.replace(FOREIGN, part=origin.part) if origin.source == "developer" else origin for origin in each
        )
        for path, each in origins.items()
    }


def _leaves(value: Json, steps: Steps) -> Iterator[Steps]:
    if isinstance(value, dict) and (value or not steps):
        for name, item in value.items():
            yield from _leaves(item, (*steps, name))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from _leaves(item, (*steps, index))
    else:
        yield steps


def path_of(steps: Steps) -> str:
    """A path as text: `items[0].name`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


class KnownOrigins:
    """Tells the origins of the arguments of a call, whose lineage is known. The words of a model, and what a person put
    in the place of an argument, are looked up in what was said.

    Args:
        given: the arguments as they were made.
        lineage: tells where they came from.
        look_up: looks origins up in what was said.
        is_foreign: whether the literals of the definition are a stranger's.
    """

    __slots__ = ("_given", "_is_foreign", "_lineage", "_look_up")

    def __init__(
        self, given: JsonObject, lineage: Callable[[], Lineage], look_up: Lookup, *, is_foreign: bool = False
    ) -> None:
        self._given = given
        self._lineage = lineage
        self._look_up = look_up
        self._is_foreign = is_foreign

    def __call__(self, arguments: JsonObject) -> Origins:
        """The origins of each value of the arguments, as they are now."""
        origins = self._origins(arguments, self._lineage())
        return as_foreign(origins) if self._is_foreign else origins

    def _origins(self, arguments: JsonObject, lineage: Lineage) -> Origins:
        given, before = self._given, origins_in(self._given, lineage)
        name = next(iter(arguments), "")
        if len(arguments) == 1 and is_inside(name) and not _same(given.get(name), arguments[name]):
            return self._inside(before, name, arguments)  # a policy asks for a plain value inside of another
        exact = origins_in(arguments, lineage)
        changed = arguments != given
        unknown = {
            path
            for path, known in exact.items()
            if is_models(known) or path not in before or (changed and _at(arguments, path) != _at(given, path))
        }
        if not unknown:
            return exact
        looked = self._look_up(arguments)
        return {path: looked.get(path, known) if path in unknown else known for path, known in exact.items()}

    def _inside(self, before: Origins, name: str, arguments: JsonObject) -> Origins:
        """The origins of one plain value that stands somewhere inside of the arguments of a call.

        Where it stands is not known: where values that are the same have different origins, each counts as a part.
        """
        known = [each for path, each in before.items() if _same(_at(self._given, path), arguments[name])]
        if not known or any(map(is_models, known)):
            return self._look_up(arguments)
        if all(each == known[0] for each in known):
            return {name: known[0]}
        return {name: tuple(structs.replace(origin, part=True) for each in known for origin in each)}


def _at(arguments: JsonObject, path: str) -> Json:
    """The value under a path such as `items[0].name`; None where there is none."""
    value: Json = arguments
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif isinstance(value, dict):
            value = value.get(name)
        else:
            return None
    return value


def _same(one: Json, other: Json) -> bool:
    """Whether two plain values are the same; 1 and true are not."""
    return type(one) is type(other) and one == other
