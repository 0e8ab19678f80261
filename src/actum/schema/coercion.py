"""Safe coercion: arguments that nearly fit a schema, mended by what the schema asks for.

It goes by the validator's errors: a value is touched only where it was refused, and only when it can be read *exactly*
as what was expected there (`"5"` as the integer 5, a single value as an array of it, JSON text as the object in it).
What a value looks like decides nothing: `"02134"` stays as it is where a string is asked for. The caller's object is
never changed; what is mended is copied first. What this can not mend, it leaves; `schema` tells of it.

A `null`, or a blank text, where neither is a value is what a model writes that has none: it counts as not given. Text
of a declared kind is brought into its one form; that is no coercion, and is done where coercion is switched off too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from jsonschema_rs import ValidationError, ValidationErrorKind

from ..core.json import (
    Json,
    JsonObject,
    JsonProblem,
    dumps,
    kind_of,
    parse,
)
from .kinds import KEYWORD, OTHERWISE, read_kind

Path = tuple[str | int, ...]
Boxed = tuple[Json]
"""A value that was found, boxed because `null` is a value too."""
Changes = list[tuple[Path, Boxed | None]]
"""What is to stand where; None: nothing, it counts as not given."""

NOT_BLANK = r"(?:\S)"
"""The pattern by which `schema` forbids blank text, written as nobody else would write it."""

_INTEGER = re.compile(r"([+-]?[0-9]{1,300})(\.0+)?")
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_NAME = re.compile(r"(?:[^\W\d]|\$)[\w$-]*")
_SHOWN = 40

REPAIRS_MAX = 20
"""The most repairs that are written down; the rest is counted."""
SAMPLE_ITEMS = 16
"""How many items of a long list are looked at; what mends the last of these mends the items behind it, too."""
ALIKE_MAX = 10_000
"""The most values behind a sample that are mended."""
RENAMED_MAX = 100
"""In an object with more names than this, or where more names are missing, no misspelt name is looked for."""
COMPARED_MAX = 2_000
"""At most this many options of all enumerations are compared with what came,"""
BRANCHES_MAX = 100
"""and this many branches of all unions are looked at."""


class Mending:
    """The arguments of one call while they are mended.

    Args:
        document: the schema that they are to fit.
        value: the arguments as they came; they are not changed.

    Attributes:
        value: the arguments as they are now; the same object as long as nothing had to be mended.
        repairs: what was mended first, each a phrase for the record.
        count: how much was mended in all.
    """

    def __init__(self, document: JsonObject, value: JsonObject) -> None:
        self.value = value
        self.repairs: list[str] = []
        self.count = 0
        self._document = document
        self._coerce = True
        self._alike_left = ALIKE_MAX
        self._compared_left, self._branches_left = COMPARED_MAX, BRANCHES_MAX
        self._copies: dict[int, Json] = {}  # our own containers by id, held so that no id is used twice

    def go_over(
        self, errors: Iterable[ValidationError], *, coerce: bool = True, extra: Literal["refuse", "drop"] = "refuse"
    ) -> bool:
        """Mend what these errors tell of, as far as it can be.

        Returns:
            Whether anything changed, so that the value should be validated again.
        """
        before = self.count
        self._coerce = coerce
        for path, group in _by_path(errors).items():
            if coerce:
                self._rename(path, group)
            if extra == "drop":
                self._drop(path, group)
            for place, value in self._plan(path, group) or ():
                self._change(place, value)
        return self.count > before

    def _is_noted(self) -> bool:
        """Count a repair; whether it is to be written down, too."""
        self.count += 1
        return self.count <= REPAIRS_MAX

    def _plan(self, path: Path, group: Sequence[ValidationError], *, text: bool = True) -> Changes | None:
        """The changes by which the value at a path fits; None if there are none. `text`: a number may become text."""
        found = self._at(path)
        if found is None:
            return None
        fitting = self._fit(found[0], group, text=text)
        if fitting is not None:
            return [(path, fitting), *self._plan_alike(path, group, text=text)]
        for error in group:
            if isinstance(error.kind, ValidationErrorKind.AnyOf | ValidationErrorKind.OneOfNotValid):
                changes = self._plan_union(path, error.kind.context)
                if changes:
                    return changes
        return [(path, None)] if self._coerce and _says_nothing(found[0], path, group) else None

    def _plan_alike(self, path: Path, group: Sequence[ValidationError], *, text: bool) -> Changes:
        """The same change for the items behind a sample of a long list, where all items have one schema."""
        changes: Changes = []
        for at, step in enumerate(path):
            items = self._at(path[:at]) if step == SAMPLE_ITEMS - 1 else None
            if items is None or not isinstance(items[0], list) or not self._is_of_all_items(group, path):
                continue
            for number in range(SAMPLE_ITEMS, min(len(items[0]), SAMPLE_ITEMS + self._alike_left)):
                place = (*path[:at], number, *path[at + 1 :])
                found = self._at(place)
                fitting = None if found is None else self._fit(found[0], group, text=text)
                if fitting is not None:
                    changes.append((place, fitting))
            self._alike_left -= len(changes)
        return changes

    def _is_of_all_items(self, group: Sequence[ValidationError], path: Path) -> bool:
        """Whether errors come from a schema that all items of a list have in the same place."""
        node = _on_the_way(self._document, path)
        return node is not None and all(node_at(self._document, error.schema_path[:-1]) is node for error in group)

    def _plan_union(self, path: Path, branches: Sequence[Sequence[ValidationError]]) -> Changes | None:
        """The changes by which the first branch fits that can be made to; those of the right kind come first."""
        branches = branches[: self._branches_left]
        self._branches_left -= len(branches)
        asked = [{kind for error in branch for kind in _asked_at(error, path)} for branch in branches]
        text = all(kinds and kinds <= {"string", "null"} for kinds in asked)
        for _, branch in sorted(zip(asked, branches, strict=True), key=lambda pair: _rank(pair[0])):
            changes: Changes = []
            for place, group in _by_path(branch).items():
                more = self._plan(place, group, text=text or place != path)
                if more is None or (path, None) in more:  # whether there is a value is not for one branch to say
                    break
                changes += more
            else:
                return changes
        return None

    def _fit(self, value: Json, group: Sequence[ValidationError], *, text: bool) -> Boxed | None:
        for error in group:
            if isinstance(error.kind, ValidationErrorKind.Custom):  # the form of a kind, which no schema else asks for
                return self._written(value, error)
        for error in group if self._coerce else ():
            if isinstance(error.kind, ValidationErrorKind.Enum):
                return self._as_option(value, error.kind.options)  # type: ignore[arg-type]  # it may hold a Decimal
            if isinstance(error.kind, ValidationErrorKind.Constant):
                return self._as_option(value, [error.kind.expected_value])  # type: ignore[list-item]  # likewise
        for error in group if self._coerce else ():
            if isinstance(error.kind, ValidationErrorKind.Type):
                node = node_at(self._document, error.schema_path[:-1])
                text = text and set(error.kind.types) <= {"string", "null"}
                return _as_type(value, error.kind.types, node, text=text)
        return None

    def _as_option(self, value: Json, options: Sequence[Json]) -> Boxed | None:
        """The one option that is the same text when case and white space are ignored."""
        if len(options) > self._compared_left:
            return None
        self._compared_left -= len(options)
        came = _plain_text(value)
        same = [option for option in options if _plain_text(option) == came]
        return (same[0],) if len(same) == 1 else None

    def _written(self, value: Json, error: ValidationError) -> Boxed | None:
        """Text of a kind in its one form, where only that is missing."""
        assert isinstance(error.kind, ValidationErrorKind.Custom)
        node = node_at(self._document, error.schema_path[:-1])
        if not error.kind.message.startswith(OTHERWISE) or KEYWORD not in node:
            return None
        return (read_kind(node[KEYWORD]).written(str(value)),)

    def _rename(self, path: Path, group: Sequence[ValidationError]) -> None:
        """Give a missing parameter the one unexpected argument that can only be meant for it."""
        missing, known = _missing(group, self._document)
        found = self._at(path)
        if not missing or found is None or not isinstance(found[0], dict):
            return
        if max(len(found[0]), len(missing)) > RENAMED_MAX:
            return
        closed = unexpected(group)
        names = closed or [name for name in found[0] if name not in known]
        meant = {name: [target for target in missing if _alike(name, target)] for name in names}
        for target in missing:
            sources = [name for name, targets in meant.items() if target in targets]
            if len(sources) == 1 and len(meant[sources[0]]) == 1:
                owner = self._own(path)
                entries = [(target if key == sources[0] else key, value) for key, value in owner.items()]
                owner.clear()
                owner.update(entries)  # in the order in which they came
                if self._is_noted():
                    self.repairs.append(f"{tell_path((*path, sources[0]))} taken as {target}")

    def _drop(self, path: Path, group: Sequence[ValidationError]) -> None:
        names, found = unexpected(group), self._at(path)
        if not names or found is None or not isinstance(found[0], dict):
            return
        owner = self._own(path)
        for name in names:
            if name in owner:
                del owner[name]
                if self._is_noted():
                    self.repairs.append(f"{tell_path((*path, name))}: not a parameter, dropped")

    def _change(self, path: Path, value: Boxed | None) -> None:
        found = self._at(path)
        if found is None or not path:  # the arguments as a whole are an object, and stay one
            return
        owner = self._own(path[:-1])
        is_noted = self._is_noted()
        if value is None:
            del owner[path[-1]]
        else:
            owner[path[-1]] = value[0]
        if is_noted:
            self.repairs.append(f"{tell_path(path)}: {_told_change(found[0], value)}")

    def _at(self, path: Path) -> Boxed | None:
        value: Json = self.value
        for step in path:
            inside = step in value if isinstance(value, dict) else isinstance(step, int) and step < _length(value)
            if not inside:
                return None
            value = value[step]  # type: ignore[index]
        return (value,)

    def _own(self, path: Path) -> Any:  # noqa: ANN401  # the caller knows which kind of container it has seen there
        """The container at a path that `_at` has found, copied with those around it unless that was done before."""
        self.value = self._mine(self.value)
        owner: Json = self.value
        for step in path:
            owner[step] = inner = self._mine(owner[step])  # type: ignore[index]
            owner = inner
        return owner

    def _mine(self, container: Any) -> Any:  # noqa: ANN401  # the same kind of container
        if id(container) in self._copies:
            return container
        copy = dict(container) if isinstance(container, dict) else list(container)
        self._copies[id(copy)] = copy
        return copy


def sample(value: Json, values_max: int) -> tuple[Json, int] | None:
    """A value with the first items of each of its lists, and how many values are inside of it; None where even these
    are more than `values_max`.
    """
    if not isinstance(value, dict | list | tuple):
        return value, 0
    kept = list(value.values()) if isinstance(value, dict) else value[:SAMPLE_ITEMS]
    inside = len(kept)
    items: list[Json] = []
    for item in kept if inside <= values_max else ():
        inner = sample(item, values_max - inside)
        if inner is None:
            return None
        items.append(inner[0])
        inside += inner[1]
    if inside > values_max:
        return None
    return (dict(zip(value, items, strict=True)) if isinstance(value, dict) else items), inside


def _on_the_way(document: JsonObject, path: Path) -> JsonObject | None:
    """The one schema that holds for the value at a path, by `properties` and `items` alone; None where a union, or one
    schema for each place in a list, leaves open which one that is.
    """
    node = _opened(document, document)
    for step in path:
        options = [node]
        if isinstance(step, int):  # a list, or null
            unions = [node.get(key) for key in ("anyOf", "oneOf")]
            options += [_opened(document, each) for union in unions if isinstance(union, list) for each in union]
            found = [each["items"] for each in options if "items" in each and "prefixItems" not in each]
        else:
            properties = node.get("properties")
            found = [properties[step]] if isinstance(properties, dict) and step in properties else []
        if len(found) != 1:
            return None
        node = _opened(document, found[0])
    return node


def _opened(document: JsonObject, node: Json) -> JsonObject:
    """A schema, or the one that it refers to."""
    reference = node.get("$ref") if isinstance(node, dict) else None
    if isinstance(reference, str) and reference.startswith("#/"):
        return node_at(document, [step.replace("~1", "/").replace("~0", "~") for step in reference[2:].split("/")])
    return node if isinstance(node, dict) else {}


def _told_change(before: Json, value: Boxed | None) -> str:
    """What became of a value, for the record."""
    if value is None:
        return f"{show(before)} taken as not given"
    if kind_of(before) == kind_of(value[0]):
        return f"{shorten(before)} read as {shorten(value[0])}"
    return f"{show(before)} read as {show(value[0])}"


def node_at(document: JsonObject, path: Sequence[str | int]) -> JsonObject:
    """The part of a schema at a path of keys and indices; empty when there is none."""
    node: Json = document
    for step in path:
        if isinstance(node, dict) and isinstance(step, str):
            node = node.get(step)
        elif isinstance(node, list) and isinstance(step, int) and step < len(node):
            node = node[step]
        else:
            return {}
    return node if isinstance(node, dict) else {}


def unexpected(group: Iterable[ValidationError]) -> list[str]:
    """The names that these errors call unexpected."""
    kinds = (ValidationErrorKind.AdditionalProperties, ValidationErrorKind.UnevaluatedProperties)
    return [name for error in group if isinstance(error.kind, kinds) for name in error.kind.unexpected]


def _says_nothing(value: Json, path: Path, group: Sequence[ValidationError]) -> bool:
    """Whether a value that was refused is what a model writes that has none: `null` or a blank, for a parameter that is
    declared by name. A blank required text is told of as it is."""
    if (value is not None and (not isinstance(value, str) or value.strip())) or not path:
        return False
    by_name = isinstance(path[-1], str) and not any(_FREE & set(error.schema_path) for error in group)
    patterns = (error.kind.pattern for error in group if isinstance(error.kind, ValidationErrorKind.Pattern))
    return by_name and NOT_BLANK not in patterns


_FREE = {"additionalProperties", "patternProperties", "unevaluatedProperties"}


def _missing(group: Iterable[ValidationError], document: JsonObject) -> tuple[list[str], JsonObject]:
    """The names that these errors say are missing, and the properties among which they are described."""
    names: list[str] = []
    known: JsonObject = {}
    before: JsonObject = {}
    for error in group:
        if isinstance(error.kind, ValidationErrorKind.Required) and error.schema_path[-1] == "required":
            names.append(error.kind.property)
            if (properties := node_at(document, [*error.schema_path[:-1], "properties"])) is not before:
                known, before = known | properties, properties
    return names, known


def tell_path(path: Iterable[str | int]) -> str:
    """A path as a person writes it.

    >>> tell_path(["filters", 0, "age"])
    'filters[0].age'
    """
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif _NAME.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shorten(step)}]"
    return text


def show(value: Json) -> str:
    """A value as a model is told of it, shortened, with its JSON type: `"5" (string)`."""
    return "null" if value is None else f"{shorten(value)} ({kind_of(value)})"


def shorten(value: Json) -> str:
    """A value as JSON text of at most about 40 characters."""
    text = dumps(value[: _SHOWN + 1] if isinstance(value, str) else value)
    if isinstance(value, str):
        return text if len(text) <= _SHOWN + 2 else f'{text[:_SHOWN]}…"'
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _length(value: Json) -> int:
    return len(value) if isinstance(value, list | tuple) else 0


def _by_path(errors: Iterable[ValidationError]) -> dict[Path, list[ValidationError]]:
    groups: dict[Path, list[ValidationError]] = {}
    for error in errors:
        groups.setdefault(tuple(error.instance_path), []).append(error)
    return groups


def _asked_at(error: ValidationError, path: Path) -> list[str]:
    """The types that this error asks for at exactly this path."""
    if isinstance(error.kind, ValidationErrorKind.Type) and tuple(error.instance_path) == path:
        return error.kind.types
    return []


def _rank(kinds: set[str]) -> int:
    """A branch that asks for no other type comes first, then by the order of the readers."""
    return min((_ORDER.index(kind) for kind in kinds if kind in _ORDER), default=-1)


def _alike(name: str, target: str) -> bool:
    """The same when case, `_` and `-` are ignored, or one begins with the other."""
    left, right = (re.sub(r"[_\-\s]", "", text).casefold() for text in (name, target))
    return left == right or (min(len(left), len(right)) >= 3 and (left.startswith(right) or right.startswith(left)))


def _plain_text(value: Json) -> str:
    return " ".join((value if isinstance(value, str) else dumps(value)).split()).casefold()


def _as_type(value: Json, kinds: Sequence[str], node: JsonObject, *, text: bool) -> Boxed | None:
    for kind in _ORDER:
        if kind in kinds and (kind != "string" or text):
            found = _READERS[kind](value)
            if found is None and kind == "array" and _is_item(value, node):
                found = ([value],)
            if found is not None:
                return found
    return None


def _is_item(value: Json, node: JsonObject) -> bool:
    """Whether an array with this single value may be meant: it is, or can be read as, what the items are said to be."""
    if value is None or isinstance(value, list | tuple) or (isinstance(value, str) and not value.strip()):
        return False
    items = node.get("items")
    if not isinstance(items, dict) or "type" not in items:
        return True
    said = items["type"]
    kinds = [str(kind) for kind in said] if isinstance(said, list) else [str(said)]
    kind = kind_of(value)
    if kind in kinds or (kind == "integer" and "number" in kinds):
        return True
    return _as_type(value, kinds, items, text=set(kinds) <= {"string", "null"}) is not None


def _as_null(value: Json) -> Boxed | None:
    return (None,) if isinstance(value, str) and value.strip() in {"", "null", "None"} else None


def _as_integer(value: Json) -> Boxed | None:
    found = _INTEGER.fullmatch(value.strip()) if isinstance(value, str) else None
    return (int(found[1]),) if found else None


def _as_number(value: Json) -> Boxed | None:
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return None
    whole = _as_integer(value) if "." not in value else None
    number = float(value)
    return whole or ((number,) if math.isfinite(number) else None)


def _as_boolean(value: Json) -> Boxed | None:
    truth = {"true": True, "false": False}.get(value.strip().lower()) if isinstance(value, str) else None
    return None if truth is None else (truth,)


def _as_object(value: Json) -> Boxed | None:
    return _from_text(value, dict)


def _as_array(value: Json) -> Boxed | None:
    return _from_text(value, list)


def _as_string(value: Json) -> Boxed | None:
    written = isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value))
    return (dumps(value),) if written else None


def _from_text(value: Json, kind: type) -> Boxed | None:
    if not isinstance(value, str) or value.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        found, _ = parse(value)
    except JsonProblem:
        return None
    return (found,) if isinstance(found, kind) else None


_READERS: dict[str, Callable[[Json], Boxed | None]] = {
    "null": _as_null,
    "integer": _as_integer,
    "number": _as_number,
    "boolean": _as_boolean,
    "object": _as_object,
    "array": _as_array,
    "string": _as_string,
}
_ORDER = tuple(_READERS)
