"""Where the arguments of a tool hold paths and addresses that are no kind of ours, and writing them out for the rules.

A `format` (`path`, `uri`, ...) says that a text is one, and no more. It is written in the one form of
`schema.canonical` before a rule sees it, symbolic links followed, and the tool gets what the rule saw. What an `x-kind`
declares is held to more than that by the schema itself, and is left alone here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

from ..core.errors import UsageError
from ..core.json import Json, JsonObject
from ..schema.canonical import Unclear, path, url
from ..schema.kinds import KEYWORD, read_kind

Form = Literal["path", "url"]
Spot = tuple[tuple[str, ...], Form]
"""Where in the arguments a path or an address stands: the names that lead there (`*` for every item of a list)."""

FORMATS: dict[str, Form] = {
    **dict.fromkeys(("path", "file-path", "directory-path"), "path"),
    **dict.fromkeys(("uri", "iri", "url"), "url"),
}
"""Which `format` of a JSON Schema declares what."""

DEPTH_MAX = 16
"""So deep in a schema is looked for them."""


def spots(schema: JsonObject) -> tuple[Spot, ...]:
    """Where a schema declares paths and addresses."""
    return tuple(dict.fromkeys(_spots(schema, schema, (), 0)))


def written_out(arguments: JsonObject, where: tuple[Spot, ...], *, local: bool) -> tuple[JsonObject, list[str]]:
    """The arguments with every declared path and address written out; they themselves stay as they are.

    Args:
        local: paths are of this machine.

    Returns:
        The arguments, and the places that are written in another way now.

    Raises:
        Unclear: a value is; the first of its `args` is the place, the second what would do.
    """
    found: Json = arguments
    changed: list[str] = []
    for names, form in where:
        found = _replaced(found, names, "", url if form == "url" else lambda text: path(text, local=local), changed)
    assert isinstance(found, dict)
    return found, changed


def _is_of_kind(schema: JsonObject) -> bool:
    try:
        return KEYWORD in schema and bool(read_kind(schema[KEYWORD]))
    except UsageError:  # another party's own word
        return False


def _replaced(value: Json, names: tuple[str, ...], at: str, write: Callable[[str], str], changed: list[str]) -> Json:
    if not names:
        if not isinstance(value, str):
            return value
        try:
            new = write(value)
        except Unclear as unclear:
            raise Unclear(at, str(unclear)) from None
        if new != value:
            changed.append(at)
        return new
    name, rest = names[0], names[1:]
    if name == "*" and isinstance(value, list):
        return [_replaced(item, rest, f"{at}[{index}]", write, changed) for index, item in enumerate(value)]
    if isinstance(value, dict) and name in value:
        return {**value, name: _replaced(value[name], rest, f"{at}.{name}" if at else name, write, changed)}
    return value


def _spots(schema: Json, document: JsonObject, names: tuple[str, ...], depth: int) -> Iterator[Spot]:
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return
    form = FORMATS.get(str(schema.get("format")))
    if form is not None and not _is_of_kind(schema):
        yield names, form
    reference, definitions = schema.get("$ref"), document.get("$defs")
    if isinstance(reference, str) and isinstance(definitions, dict):
        yield from _spots(definitions.get(reference.removeprefix("#/$defs/")), document, names, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(word)
        for choice in choices if isinstance(choices, list) else ():
            yield from _spots(choice, document, names, depth + 1)
    properties = schema.get("properties")
    for name, inner in properties.items() if isinstance(properties, dict) else ():
        yield from _spots(inner, document, (*names, name), depth + 1)
    yield from _spots(schema.get("items"), document, (*names, "*"), depth + 1)
