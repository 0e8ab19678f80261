"""Tools as a table: the name, what using a tool does, and the first paragraph of its description."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tool import Tool
from .terminal import Terminal


def show_tools(terminal: Terminal, tools: Sequence[Tool]) -> None:
    """A table of tools."""
    rows = [(tool.name, effects(tool), _summary(tool)) for tool in tools]
    terminal.table("tool", "effects", "what it does", rows=rows)


def effects(tool: Tool) -> str:
    """What using a tool does, in a word or two."""
    if tool.effects is None:
        return "undeclared"
    return ", ".join(sorted(tool.effects)) or "none"


def _summary(tool: Tool) -> str:
    """The first paragraph of a tool's description, as one line."""
    return " ".join(tool.description.strip().split("\n\n")[0].split())
