"""The tool by which a model finds further tools, and what its result says. `runs.tool_search` carries it out."""

from __future__ import annotations

from typing import Literal

from .call import ToolResult

SEARCH = "search_tools"
"""The name of the tool by which a model finds others."""

SearchWay = Literal["native", "plain"]
"""How a model is told of tools that it found: by what its API has for that, or in the list of tools, which grows."""


def names_found(result: ToolResult) -> tuple[str, ...]:
    """The names of the tools that a call of `search_tools` found."""
    found = result.structured.get("tools") if isinstance(result.structured, dict) else None
    return tuple([name for name in found if isinstance(name, str)]) if isinstance(found, list) else ()
