"""Where a value came from: the ground on which a defence against injected instructions can stand."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Source = Literal["user", "developer", "tool", "agent", "memory", "model", "client", "event"]
"""Who brought a value into the run: the user's words, the instructions, a tool's result, the agent that handed this
task on, a summary of what was said before, or the model itself. `client` is a program that asked for the call through a
server, with a model of its own perhaps; `event` is a schedule or a message from outside that started the call."""


class Origin(Struct, frozen=True, omit_defaults=True):
    """One place from which a value may have come.

    Attributes:
        source: who brought it.
        tool: for a tool's result, the tool.
        field: for a tool's result, the path of the field in it; empty for its text.
        trusted: the tool is declared to be trusted with this field or text.
        part: only a part of the value came from there. A value of several parts has the origins of all of them, and
            says nothing of the value as a whole.
        unsearched: the value was not looked for everywhere, since the call holds too much: it may have come from
            anywhere. A condition that reads `origins` has no value then, so its rule denies.
    """

    source: Source
    tool: str = ""
    field: str = ""
    trusted: bool = False
    part: bool = False
    unsearched: bool = False

    def __str__(self) -> str:
        where = self.tool + (f".{self.field}" if self.field else "")
        notes = (" (trusted)" if self.trusted else "") + (" (in part)" if self.part else "")
        notes += " (not looked for everywhere)" if self.unsearched else ""
        return f"{self.source} {where}".rstrip() + notes


Origins = dict[str, tuple[Origin, ...]]
"""The origins of a call's arguments, by their path: `to`, `items[0].name`."""
