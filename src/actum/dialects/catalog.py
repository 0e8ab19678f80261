"""Every dialect by its name, derived from the rows of the dialects: `api/rows.py` and `text/rows.py`.

The module of an API dialect is imported when the dialect is opened, and the rows of the text dialects when the catalog
is first asked about text dialects.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, overload

from ..core.errors import UnknownName, UsageError
from .api.rows import APIS
from .base import ApiDialect, TextDialect
from .listing import DialectListing, TextListing

if TYPE_CHECKING:
    from .text.rows import TextRow

ApiName = Literal[
    "anthropic_messages",
    "gemini_content",
    "ollama_generate",
    "openai_chat",
    "openai_completions",
    "openai_functions",
    "openai_responses",
]
"""The names of `api/rows.py`, for the type checker: the dialect of such a name is an `ApiDialect`."""

_TEMPLATE_TEXTS = ("{%", "{{", "\n")


@overload
def dialect(name: ApiName) -> ApiDialect: ...
@overload
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect: ...
def dialect(name: str, **options: str | bool) -> ApiDialect | TextDialect:
    """The dialect of a name.

    Args:
        name: one of `names()`.
        options: what the dialect can be told: `language` ("en", "zh", "auto") and `template` (a prompt of your own) of
            `prompt_json` and `react`, `plan` of `react`, `thinking` of every text dialect but `harmony`: the prompt
            ends with the mark that opens reasoning.

    Raises:
        UnknownName: no dialect has this name; the message lists the names.
        UsageError: the dialect does not take these options, or not these values.

    >>> dialect("react", language="zh").name
    'react'
    """
    if name not in APIS:
        return text_dialect(name, **options)
    _refuse_unknown(options, APIS[name])
    return APIS[name].load()


def text_dialect(name: str, **options: str | bool) -> TextDialect:
    """The text dialect of a name.

    Args:
        name: the name of a text dialect.
        options: as in `dialect`.

    Raises:
        UnknownName: no text dialect has this name; the message lists the names of all dialects.
        UsageError: the dialect does not take these options, or not these values.

    >>> text_dialect("hermes").decode('<tool_call>{"name": "now", "arguments": {}}</tool_call>').calls[0].name
    'now'
    """
    row = _text_rows().get(name)
    if row is None and name not in APIS and (brought := _brought(name, options)) is not None:
        return brought
    if row is None:
        raise _unknown(name, "text dialect" if name in APIS else "dialect")
    _refuse_unknown(options, row.listing)
    return row.load()(**options)


def for_model(name_or_template: str) -> str | None:
    """The text dialect that a model writes calls in.

    Args:
        name_or_template: the model's name, as a hub, a server or its file has it, or its chat template.

    Returns:
        The dialect's name; None where nothing tells.

    >>> for_model("Qwen/Qwen2.5-7B-Instruct"), for_model("gpt-oss:20b"), for_model("phi-1")
    ('hermes', 'harmony', None)
    """
    if any(text in name_or_template for text in _TEMPLATE_TEXTS):
        return _of_template(name_or_template)
    model = _model_name(name_or_template)
    found = [
        (model.find(piece), -len(piece), listing.name)
        for listing in _text_listings()
        for piece in listing.models
        if piece in model
    ]
    # The piece that stands first counts, of two the longer: a model that was made out of another model is called by its
    # own name first.
    return min(found)[2] if found else None


def _of_template(template: str) -> str | None:
    found = [
        (each.shared, -len("".join(each.marks)), listing.name)
        for listing in _text_listings()
        for each in listing.signs
        if all(mark in template for mark in each.marks)
    ]
    return min(found)[2] if found else None


def opens_thought(model: str) -> bool:
    """Whether the chat template of a model opens a thought, so that its output begins inside of the thought.

    Args:
        model: the model's name, as a hub, a server or its file has it.

    >>> opens_thought("deepseek-r1:8b"), opens_thought("Qwen/Qwen3-4B-Thinking-2507"), opens_thought("Qwen/Qwen3-4B")
    (True, True, False)
    """
    name = _model_name(model)
    return any(
        all(piece in name for piece in pieces) for listing in _text_listings() for pieces in listing.opens_thought
    )


def listing_of(name: str) -> DialectListing:
    """How a dialect is listed; of a text dialect a `TextListing`, which tells its models as well.

    Raises:
        UnknownName: no dialect has this name.
    """
    if name in APIS:
        return APIS[name]
    row = _text_rows().get(name)
    if row is None:
        raise _unknown(name)
    return row.listing


def names() -> tuple[str, ...]:
    """The names of all dialects that say calls, sorted."""
    return tuple(sorted((*(name for name, api in APIS.items() if api.says_calls), *_text_rows())))


def _text_rows() -> Mapping[str, TextRow]:
    # A door: the rows bring the engine that reads text, which a program that translates between APIs has no need of.
    from .text.rows import ROWS  # noqa: PLC0415

    return ROWS


def _text_listings() -> Iterator[TextListing]:
    return (row.listing for row in _text_rows().values())


def _model_name(model: str) -> str:
    return model.lower().rsplit("/", 1)[-1]


def _brought(name: str, options: Mapping[str, str | bool]) -> TextDialect | None:
    """The text dialect that an installed package brings by an entry point of the group `actum.dialects`: the object
    behind the entry point, called with the options. None where no package does.

    Raises:
        UsageError: two packages bring one of this name, or it can not be made.
    """
    from ..core.process.installed import installed_one  # noqa: PLC0415  # a search that our own dialects need not wait for

    brought = installed_one("actum.dialects", name)
    if brought is None:
        return None
    make = brought.load()
    try:
        made: object = make(**options) if callable(make) else make
    except TypeError as error:
        raise UsageError(
            "the dialect {name!r} of {origin} can not be made: {why}", name=name, origin=brought.origin, why=error
        ) from None
    if not isinstance(made, TextDialect):
        raise UsageError("the dialect {name!r} of {origin} is no TextDialect", name=name, origin=brought.origin)
    return made


def _unknown(name: str, kind: str = "dialect") -> UnknownName:
    return UnknownName(
        "there is no {kind} called {name!r}: use one of {names}", kind=kind, name=name, names=", ".join(names())
    )


def _refuse_unknown(options: Collection[str], listing: DialectListing) -> None:
    unknown = sorted(set(options) - set(listing.options))
    if unknown:
        raise UsageError(
            "dialect {listing!r} takes no option {unknown}", listing=listing.name, unknown=", ".join(unknown)
        )
