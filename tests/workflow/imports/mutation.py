"""Changes a file at any place, for tests in which an import has to survive everything."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial

from actum.core.json import Json

JUNK: list[Json] = [
    None,
    True,
    0,
    -1,
    1e300,
    "",
    "x",
    "${x}",
    "{{#1.s#}}",
    "{{#sys.query#}}",
    [],
    [[]],
    [None],
    {},
    {"cel": "1"},
]


def _put(value: Json, step: str | int, new: Json) -> None:
    match value, step:
        case dict(), str():
            value[step] = deepcopy(new)
        case list(), int():
            value[step] = deepcopy(new)
        case _:
            raise AssertionError(step)


def places(value: Json, found: list[Callable[[Json], None]]) -> list[Callable[[Json], None]]:
    """What puts another value at each place of a value."""
    items: Iterator[tuple[str | int, Json]] = iter(())
    if isinstance(value, dict):
        items = iter(list(value.items()))
    elif isinstance(value, list):
        items = iter(list(enumerate(value)))
    for step, item in items:
        found.append(partial(_put, value, step))
        places(item, found)
    return found


def fields_of(value: Json, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The ways to all fields of a value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield (*path, name)
            yield from fields_of(item, (*path, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from fields_of(item, (*path, index))
