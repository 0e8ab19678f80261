"""Keys and passwords that stand in a definition in plain text.

A definition is shared and published, and its texts go to models. The redaction of results hides whatever follows the
word "password"; a definition speaks of passwords without holding one: `def log_in(password: str)`, a form with
`<label>Password:</label>`, a prompt that says "password: eight letters at least". So only what looks like a key counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...core.json import Json
from ...core.secrets.redaction import LOOKING, NAMED, names_secret
from ...protocols.source_text import Place

LENGTH_MIN = 6
_REFERENCE = re.compile(r"\$\{[^{}]*\}")


def plain_keys(value: Json, place: Place = (), name: str = "", *, is_code: bool = False) -> Iterator[Place]:
    """The places of a definition that hold keys in plain text.

    Args:
        value: the definition, or a part of it.
        place: the place of the part.
        name: the name of the field that holds the part.
        is_code: the part is code in a language that puts passwords in quotes: Python or JavaScript, and not the shell.
    """
    if isinstance(value, str):
        if _holds_key(value, is_code=is_code) or (names_secret(name) and looks_like_key(_own(value))):
            yield place
    elif isinstance(value, dict):
        for field, item in value.items():
            if LOOKING.search(field):
                yield (*place, field)
            is_quoting = field == "code" and value.get("language") != "shell"
            yield from plain_keys(item, (*place, field), field, is_code=is_quoting)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from plain_keys(item, (*place, index), name)


def _holds_key(text: str, *, is_code: bool) -> bool:
    own = _REFERENCE.sub("", text)
    if LOOKING.search(own):
        return True
    quotes = "\"'"
    return any(
        looks_like_key(found["value"]) and (not is_code or own[found.start("value") - 1] in quotes)
        for found in NAMED.finditer(own)
    )


def _own(text: str) -> str:
    """The last word of a text without what is filled in: of `Basic dXNlcjpwYXNz` the key."""
    return (_REFERENCE.sub("", text).split() or [""])[-1]


def looks_like_key(text: str) -> bool:
    """Whether a text looks like a key or a password, and not like a word, a number or an expression."""
    return (
        len(text) >= LENGTH_MIN
        and text[0] not in "{[(<$"
        and any(each.isalpha() for each in text)
        and any(each.isdigit() for each in text)
    )
