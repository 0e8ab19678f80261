"""MCP servers as toolsets: `McpToolset` for one, `McpHost` for several.

    agent = Agent("openai:gpt-5", tools=[McpToolset(McpServer(name="files", command="mcp-files"))])

Importing this loads the SDK of the protocol (the extra `[mcp]`).
"""

from __future__ import annotations

from ..protocols.mcp_config import McpServer
from .mcp_auth import oauth_of
from .mcp_finder import McpFinder
from .mcp_host import McpHost
from .mcp_toolset import McpToolset

__all__ = ["McpFinder", "McpHost", "McpServer", "McpToolset", "oauth_of"]
