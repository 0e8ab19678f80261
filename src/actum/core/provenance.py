"""Where a value came from: the ground on which a defence against injected instructions can stand."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Source = Literal["user", "developer", "tool", "agent", "memory", "model"]
"""Who brought a value into the conversation: the user's words, the instructions, a tool's result, the agent that handed
this task on, a summary of what was said before, or the model itself."""


class Origin(Struct, frozen=True, omit_defaults=True):
    """One place from which a value may have come.

    Attributes:
        source: who brought it.
        tool: for a tool's result, the tool.
        field: for a tool's result, the path of the field in it; empty for its text.
        trusted: the tool is declared to be trusted with what stands there.
    """

    source: Source
    tool: str = ""
    field: str = ""
    trusted: bool = False

    def __str__(self) -> str:
        where = self.tool + (f".{self.field}" if self.field else "")
        return f"{self.source} {where}".rstrip() + (" (trusted)" if self.trusted else "")


Origins = dict[str, tuple[Origin, ...]]
"""The origins of a call's arguments, by their path: `to`, `items[0].name`."""
