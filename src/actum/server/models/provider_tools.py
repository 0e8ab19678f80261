"""Tools that a client asks its provider to run, such as `web_search`. They mean nothing to any other API. Pure."""

from __future__ import annotations

from ...core.json import Json, JsonObject
from .surface import Vendor

_OWN: dict[str, frozenset[str]] = {
    "chat": frozenset({"function", "custom"}),
    "responses": frozenset({"function", "custom"}),
    "messages": frozenset({"", "custom"}),
}
"""By the name of a surface: the types of tools that the client runs itself."""
_OF_CLIENT = frozenset({"functionDeclarations", "function_declarations"})


def provider_tools(surface: str, vendor: Vendor, fields: JsonObject) -> list[str]:
    """The names of the tools in a request that the provider of the API is asked to run.

    Args:
        surface: the name of the surface.
        vendor: whose API it is.
        fields: the body of the request.
    """
    tools = fields.get("tools")
    listed: list[Json] = tools if isinstance(tools, list) else []
    found: list[str] = []
    for tool in listed:
        if not isinstance(tool, dict):
            continue
        if vendor == "gemini":
            found += [name for name in tool if name not in _OF_CLIENT]
        elif (kind := str(tool.get("type") or "")) not in _OWN.get(surface, frozenset({"function"})):
            found.append(kind or "a tool without a type")
    return found + [name for name in ("web_search_options", "mcp_servers") if fields.get(name) not in (None, [])]
