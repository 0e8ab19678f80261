"""All text dialects, each a row: the rows of `formats`, and the dialects that have code of their own.

The catalog imports this file when it is asked about text dialects. The modules of the dialects with code of their own
are imported when such a dialect is opened.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from ..base import TextDialect
from ..listing import TextListing, sign
from .formats.rows import FORMATS
from .tagged.dialect import Format, TaggedText


class TextRow(Struct, frozen=True):
    """A text dialect in the catalog.

    Attributes:
        listing: how the dialect is listed.
        load: returns what makes the dialect out of its options. Where the dialect has a module of its own, the module
            is imported by this call.
    """

    listing: TextListing
    load: Callable[[], Callable[..., TextDialect]]


# Doors: each imports one dialect's module when that dialect is opened, so that a list of names imports none of them.


def _prompt_json() -> Callable[..., TextDialect]:
    from .prompt_json import PromptJson  # noqa: PLC0415

    return PromptJson


def _react() -> Callable[..., TextDialect]:
    from .react.dialect import React  # noqa: PLC0415

    return React


def _harmony() -> Callable[..., TextDialect]:
    from .harmony import Harmony  # noqa: PLC0415

    return Harmony


_OWN_CODE = (
    TextRow(
        TextListing(
            "prompt_json",
            'in the prompt: the model writes {"tool": ..., "params": {...}}',
            options=("language", "template", "thinking"),
        ),
        _prompt_json,
    ),
    TextRow(
        TextListing(
            "react",
            "in the prompt: Thought, Action, Action Input, Observation, Answer",
            options=("language", "plan", "template", "thinking"),
        ),
        _react,
    ),
    TextRow(
        TextListing(
            "harmony",
            "as gpt-oss writes it: channels, and a call addressed to functions.name",
            "raw code for a built-in tool becomes a call that is not complete; no plain completions",
            options=(),
            models=("gpt-oss", "gpt_oss"),
            signs=(sign("<|channel|>", "<|message|>"),),
        ),
        _harmony,
    ),
)


def _row_of(form: Format) -> TextRow:
    return TextRow(form.listing, lambda: partial(TaggedText, form))


ROWS: dict[str, TextRow] = {row.listing.name: row for row in (*map(_row_of, FORMATS.values()), *_OWN_CODE)}
"""All text dialects by name."""
