"""A tool's definition as an MCP server tells it, and the `Tool` that it is to us. Pure.

Its annotations are hints of another party: they say what effects it declares, and what it does not say is taken as the
protocol's own defaults have it, which are the worst. Whether its word is trusted is the policy's affair.

Source: Model Context Protocol, 2025-11-25, Tools and `ToolAnnotations`.
"""

from __future__ import annotations

from ..core.errors import BadTool
from ..core.json import JsonObject
from ..core.tool import Effects, Tool


def tool_of(definition: JsonObject) -> Tool:
    """The tool that a server's `tools/list` tells of.

    Args:
        definition: one element of its `tools`.

    Raises:
        BadTool: it has no name, or its `inputSchema` is not that of an object.

    >>> tool_of({"name": "ls", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}).reads_only
    True
    """
    name, schema, result = definition.get("name"), definition.get("inputSchema"), definition.get("outputSchema")
    hints, title = definition.get("annotations"), definition.get("title")
    if not isinstance(name, str) or not isinstance(schema, dict):
        raise BadTool(f"an MCP tool needs a name and an inputSchema; this one has {', '.join(definition) or 'nothing'}")
    declared = hints if isinstance(hints, dict) else {}
    return Tool(
        name=name,
        title=str(title or declared.get("title") or ""),
        description=str(definition.get("description") or ""),
        parameters=schema,
        result=result if isinstance(result, dict) else None,
        effects=effects_of(declared),
        idempotent=declared.get("idempotentHint") is True,
        foreign=True,
    )


def effects_of(annotations: JsonObject) -> frozenset[Effects] | None:
    """What a tool declares to do by its annotations; None where they say nothing of it, which means: anything."""
    read_only, destructive = annotations.get("readOnlyHint"), annotations.get("destructiveHint")
    if read_only is True:
        return frozenset({"read"})
    if read_only is None and destructive is None:
        return None
    return frozenset({"write"}) if destructive is False else frozenset({"write", "destroy"})
