"""Doors: what is built here, served to others by their protocols.

    from actum.server import McpService

    def add(a: int, b: int) -> int:
        '''Add two numbers.'''
        return a + b

    asyncio.run(McpService([add]).run_stdio())

Each is loaded when it is asked for: a protocol's packages take a second or two, and memory.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from ..core.errors import UsageError

if TYPE_CHECKING:
    from .mcp import McpService
    from .mcp_auth import Doorkeeper, Issuer, SignedTokens
    from .mcp_calls import Who
    from .mcp_gateway import McpGateway
    from .mcp_http import Access, SharedKey
    from .mcp_prompts import Prompt, prompt
    from .mcp_resources import Folder, Resource, own_runs

__all__ = [
    "Access",
    "Doorkeeper",
    "Folder",
    "Issuer",
    "McpGateway",
    "McpService",
    "Prompt",
    "Resource",
    "SharedKey",
    "SignedTokens",
    "Who",
    "own_runs",
    "prompt",
]

_PLACES = {
    "Access": "mcp_http",
    "Doorkeeper": "mcp_auth",
    "Folder": "mcp_resources",
    "Issuer": "mcp_auth",
    "McpGateway": "mcp_gateway",
    "McpService": "mcp",
    "Prompt": "mcp_prompts",
    "Resource": "mcp_resources",
    "SharedKey": "mcp_http",
    "SignedTokens": "mcp_auth",
    "Who": "mcp_calls",
    "own_runs": "mcp_resources",
    "prompt": "mcp_prompts",
}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UsageError("MCP needs a package that is not installed: pip install 'actum[mcp]'") from None
