"""Fields that the bodies of several subjects have.

Within `/v1` fields are only added. Bodies that come in refuse fields that they do not know, so that a misspelt field is
never passed over.
"""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

T = TypeVar("T")
NO_CONTROL = r"^[^\u0000-\u001f\u007f]*$"
SessionId = Annotated[str, Meta(max_length=200, pattern=r"^[^\u0000-\u001f\u007f/]*$")]
"""The id of a session, which the caller chooses. The same id of another caller is another session."""
Name = Annotated[str, Meta(max_length=200, pattern=NO_CONTROL)]
Limit = Annotated[int, Meta(ge=1, le=200)]
Moment = Annotated[float, Meta(ge=0.0, le=1e12)]
Cursor = Annotated[str, Meta(max_length=500, pattern="^[A-Za-z0-9_-]*$")]


class ListPart(Struct, Generic[T], frozen=True, kw_only=True):
    """A part of a list.

    Attributes:
        items: the items.
        next: the cursor of the next part; null at the end of the list.
    """

    items: tuple[T, ...]
    next: str | None


class CheckedPart(ListPart[T], frozen=True, kw_only=True):
    """A part of a list of what is on record.

    Attributes:
        problems: what is wrong with the record, as the operator of this machine is told on the command line; empty in
            every other answer.
    """

    problems: tuple[str, ...] = ()
