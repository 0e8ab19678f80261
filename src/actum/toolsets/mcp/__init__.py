"""MCP servers as toolsets: `McpToolset` for one, `McpHost` for several.

    agent = Agent("openai:gpt-5", tools=[McpToolset(McpServer(name="files", command="mcp-files"))])

The names of this package are loaded when they are used, since they load the SDK of the protocol (the extra `[mcp]`).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ...core.errors import UsageError

if TYPE_CHECKING:
    from ...protocols.mcp.config import McpJail, McpServer
    from .auth import oauth_of
    from .finder import McpFinder
    from .host import McpHost
    from .toolset import McpToolset
    from .transport import guard_of

__all__ = ["McpFinder", "McpHost", "McpJail", "McpServer", "McpToolset", "guard_of", "oauth_of"]

_PLACES = {
    "McpFinder": ".finder",
    "McpHost": ".host",
    "McpJail": "...protocols.mcp.config",
    "McpServer": "...protocols.mcp.config",
    "McpToolset": ".toolset",
    "guard_of": ".transport",
    "oauth_of": ".auth",
}
_OF_THE_EXTRA = frozenset({"cryptography", "httpx2", "jwt", "mcp", "mcp_types"})


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_PLACES[name], __name__), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in _OF_THE_EXTRA:
            raise
        raise UsageError("MCP servers need a package that is not installed: pip install 'actum[mcp]'") from None
