"""How a dialect is listed: what the catalog knows of a dialect before the dialect's module is imported. Pure data."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .base import ApiDialect


class DialectListing(Struct, frozen=True):
    """The name of a dialect, and a line about it.

    Attributes:
        name: the dialect's name.
        summary: how a model says a call in this dialect, in one line.
        note: what a user should know before relying on the dialect; may be empty.
        options: the names of the options that `dialect(name, ...)` takes.
    """

    name: str
    summary: str = ""
    note: str = ""
    options: tuple[str, ...] = ()


class ApiListing(DialectListing, frozen=True, kw_only=True):
    """The listing of an API dialect.

    Attributes:
        load: imports the dialect's module and returns the dialect.
        says_calls: the API has a form for calls. False: the API carries the text of a text dialect.
    """

    load: Callable[[], ApiDialect]
    says_calls: bool = True


class TemplateSign(Struct, frozen=True):
    """Marks in a chat template that tell which dialect the model writes.

    Attributes:
        marks: all of these texts stand in the template.
        shared: 0 for marks that only this family has. A higher number is for marks that other families have as well:
            signs are tried from the lowest number up, so a family with marks of its own is found first.
    """

    marks: tuple[str, ...]
    shared: int = 0


def sign(*marks: str, shared: int = 0) -> TemplateSign:
    """A `TemplateSign` of these marks."""
    return TemplateSign(marks, shared)


class TextListing(DialectListing, frozen=True, kw_only=True):
    """The listing of a text dialect: also which models write the dialect.

    Attributes:
        models: pieces of the names of the models that write this dialect, in lower case.
        signs: each of these tells the dialect from a model's chat template.
        opens_thought: models whose chat template ends in the mark that opens a thought: of each the pieces that all
            stand in its name.
    """

    options: tuple[str, ...] = ("thinking",)
    models: tuple[str, ...] = ()
    signs: tuple[TemplateSign, ...] = ()
    opens_thought: tuple[tuple[str, ...], ...] = ()
