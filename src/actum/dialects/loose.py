"""`Loose`: what a model is not held to, where it is held to the schemas of its tools. Pure."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Strength = Literal["exact", "lenient", "object"]
"""How much of a schema is held: all, all but what can not be said, or only that there is an object."""


class Loose(Struct, frozen=True):
    """A tool whose arguments a model is held to less than its schema says. Validation follows in any case.

    Attributes:
        tool: its name; empty for the answer itself.
        kept: how much of the schema is held; `none` where an API is not asked for anything.
        why: what could not be said.
    """

    tool: str
    kept: Strength | Literal["none"]
    why: str
