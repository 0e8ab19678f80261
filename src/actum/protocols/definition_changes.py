"""What is different between a definition that a person approved and the one that there is now, in lines for a person.

Pure. Knows nothing of whose definition it is: of a tool, or of an agent.
"""

from __future__ import annotations

from collections.abc import Iterator

from ..core.json import Json, JsonObject, dumps, same
from .plain_text import shown

QUOTED_CHARS = 400
CHANGES_MAX = 20


def differences(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """What changed, a line each (`description: was "Adds.", is "Adds and sends."`), hidden characters made visible."""
    lines = list(_differences("", before, after))
    more = len(lines) - CHANGES_MAX
    return (*lines[:CHANGES_MAX], f"and {more} more") if more > 0 else tuple(lines)


def _differences(path: str, before: Json, after: Json) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in (*before, *(key for key in after if key not in before)):
            place = f"{path}.{shown(key)}" if path else shown(key)
            if key not in after:
                yield f"{place}: was {_quoted(before[key])}, is gone"
            elif key not in before:
                yield f"{place}: is new: {_quoted(after[key])}"
            else:
                yield from _differences(place, before[key], after[key])
    elif not same(before, after):
        yield f"{path}: was {_quoted(before)}, is {_quoted(after)}"


def _quoted(value: Json) -> str:
    text = shown(dumps(value))
    return text if len(text) <= QUOTED_CHARS else f"{text[:QUOTED_CHARS]}… ({len(text)} characters)"
