"""Every dialect by its name. A dialect's module is imported when it is asked for, so that the list costs nothing."""

from __future__ import annotations

from importlib import import_module
from typing import Literal, cast, overload

from msgspec import Struct

from ..core.errors import UnknownName, UsageError
from .base import ApiDialect, TextDialect

ApiName = Literal["anthropic_messages", "gemini_content", "openai_chat", "openai_functions", "openai_responses"]
TextName = Literal["prompt_json", "react"]

_PLACES = {
    "anthropic_messages": "anthropic_messages:ANTHROPIC_MESSAGES",
    "gemini_content": "gemini_content:GEMINI_CONTENT",
    "openai_chat": "openai_chat:OPENAI_CHAT",
    "openai_functions": "openai_chat:OPENAI_FUNCTIONS",
    "openai_responses": "openai_responses:OPENAI_RESPONSES",
    "prompt_json": "prompt_json:PromptJson",
    "react": "react:React",
}
"""Module and attribute: a dialect as it is, or the class of one that takes options."""


@overload
def dialect(name: ApiName) -> ApiDialect: ...
@overload
def dialect(name: TextName, **options: str | bool) -> TextDialect: ...
@overload
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect: ...
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect:
    """The dialect of a name.

    Args:
        name: one of `names()`.
        options: what the dialect can be told: `language` ("en", "zh", "auto") of the text dialects, `plan` of `react`.

    Raises:
        UnknownName: no dialect has this name; the message lists them.
        UsageError: it does not take these options, or not these values.

    >>> dialect("react", language="zh").name
    'react'
    """
    place = _PLACES.get(name)
    if place is None:
        raise UnknownName(f"there is no dialect called {name!r}: use one of {', '.join(names())}")
    module, attribute = place.split(":")
    found: object = getattr(import_module(f"{__package__}.{module}"), attribute)
    if isinstance(found, type) and issubclass(found, Struct):
        unknown = options.keys() - set(found.__struct_fields__)
        if unknown:
            raise UsageError(f"dialect {name!r} takes no option {', '.join(sorted(unknown))}")
        found = found(**options)
    elif options:
        raise UsageError(f"dialect {name!r} takes no options")
    return cast(ApiDialect | TextDialect, found)


def names() -> tuple[str, ...]:
    """The names of all dialects, sorted."""
    return tuple(sorted(_PLACES))
