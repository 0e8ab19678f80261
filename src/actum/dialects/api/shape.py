"""Which fields of a body a dialect reads, as data. `leftovers` finds all other fields of a body. Pure.

Each API has a module `shape` with the shape of its requests, its answers and the events of its streams. A field that no
shape names is left over, so a field that an API adds next year is found without a change here.

A shape is one of these:

- a function, which is asked about a whole value: does it say nothing beyond what the dialect reads?
- `Fields`: an object and the shapes of its fields;
- `Kinds`: an object whose fields depend on its kind;
- `Words`: a text, or in its place an object or a list of objects;
- `Choices`: a list whose first item alone is read.

A list has the shape of its items. A value that says nothing (null, an empty text, list or object) is never left over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias, Union

from msgspec import Struct

from ...core.json import Json, JsonObject

ANY_OTHER = "*"
"""In `Fields`, stands for all names that are not listed."""

Says: TypeAlias = Callable[[Json, JsonObject], bool]
"""Takes a value and the object that holds it; returns whether nothing of the value is left over."""


class Fields(Struct, frozen=True):
    """An object.

    Attributes:
        names: the shape of each field that is read.
    """

    names: Mapping[str, Shape]


class Kinds(Struct, frozen=True):
    """An object of one of several kinds; an object of any other kind is left over as a whole.

    Attributes:
        kind: tells the kind of an object.
        shapes: by kind.
    """

    kind: Callable[[JsonObject], str]
    shapes: Mapping[str, Shape]


class Words(Struct, frozen=True):
    """A text, which is read, or parts in its place.

    Attributes:
        parts: the shape of a part.
    """

    parts: Shape


class Choices(Struct, frozen=True):
    """A list of answers to one question. The one with the index 0 is read, all others are left over as a whole.

    Attributes:
        first: the shape of the one that is read.
    """

    first: Shape


Shape: TypeAlias = Union[Says, Fields, Kinds, Words, Choices]  # noqa: UP007 (a name in it is not defined yet above)


class Leftover(NamedTuple):
    """A value that nobody reads, and its place in the body (`messages[2].content[0].cache_control`)."""

    path: str
    value: Json


def whole(value: Json, item: JsonObject) -> bool:
    """The shape of a value that is read as it is, or that only serves the wire."""
    return True


def only(*words: Json) -> Says:
    """The shape of a value that says nothing if it is one of these words."""
    return lambda value, _: any(type(value) is type(word) and value == word for word in words)


def by_field(name: str, default: str = "") -> Callable[[JsonObject], str]:
    """Tells the kind of an object by this field."""

    def kind(item: JsonObject) -> str:
        found = item.get(name)
        return default if found is None else str(found)

    return kind


def as_is(item: JsonObject) -> JsonObject:
    """The object under its own names."""
    return item


ERROR = Words(Fields(dict.fromkeys(("message", "type", "code", "status"), whole)))
"""What is read of an error, whichever API tells of it."""


def leftovers(
    value: Json,
    shape: Shape,
    path: str = "",
    *,
    item: JsonObject | None = None,
    named: Callable[[JsonObject], JsonObject] = as_is,
) -> Iterator[Leftover]:
    """The parts of a value that its shape does not name, in order.

    Args:
        value: anything.
        shape: of the value, or of each of its items where it is a list.
        path: of the value.
        item: the object that holds the value.
        named: the same object with the names that the shape has, where an API takes two spellings.
    """
    if value in (None, "", [], {}) and not isinstance(value, bool):
        return
    if callable(shape):
        if not shape(value, item or {}):
            yield Leftover(path, value)
    elif isinstance(shape, Words) and isinstance(value, str):
        return
    elif isinstance(shape, Words):
        yield from leftovers(value, shape.parts, path, item=item, named=named)
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            place = f"{path}[{_number_of(inner, number, shape)}]"
            yield from leftovers(inner, shape, place, item=item, named=named)
    elif not isinstance(value, dict):
        if not (isinstance(value, str) and isinstance(shape, Kinds) and "" in shape.shapes):
            yield Leftover(path, value)
    else:
        yield from _of_object(named(value), shape, path, named)


def _number_of(item: Json, number: int, shape: Shape) -> int:
    """A choice is called by its index: a stream tells each of them in a list of its own."""
    index = item.get("index") if isinstance(shape, Choices) and isinstance(item, dict) else None
    return index if isinstance(index, int) else number


def _of_object(
    value: JsonObject, shape: Fields | Kinds | Choices, path: str, named: Callable[[JsonObject], JsonObject]
) -> Iterator[Leftover]:
    if isinstance(shape, Choices):
        if value.get("index"):
            yield Leftover(path, value)
        else:
            yield from leftovers(value, shape.first, path, named=named)
    elif isinstance(shape, Kinds):
        found = shape.shapes.get(shape.kind(value))
        if found is None:
            yield Leftover(path, value)
        else:
            yield from leftovers(value, found, path, named=named)
    else:
        rest = shape.names.get(ANY_OTHER)
        for name, inner in value.items():
            place = f"{path}.{name}" if path else name
            known = shape.names.get(name, rest)
            if known is not None:
                yield from leftovers(inner, known, place, item=value, named=named)
            elif inner not in (None, "", [], {}) or isinstance(inner, bool):
                yield Leftover(place, inner)
