"""A dialect with options, as settings name it."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class DialectTable(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A `dialect` that is more than a name: `dialect = {name = "react", template = "react.txt"}`.

    Attributes:
        name: of the dialect; `actum dialects` lists them.
        language, plan, thinking: as for `actum.dialects.dialect`.
        template: the file of a prompt that replaces ours, from the folder of the settings; see `docs/dialects.md`.
    """

    name: str
    language: Literal["", "auto", "en", "zh"] = ""
    plan: bool = False
    thinking: bool = False
    template: str = ""
