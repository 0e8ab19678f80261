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
    from .mcp.auth import Authenticator, Issuer, SignedTokens
    from .mcp.calls import Identity
    from .mcp.gateway.gateway import McpGateway
    from .mcp.http import Access, SharedKey
    from .mcp.prompts import Prompt, prompt
    from .mcp.resources import Folder, Resource, own_runs
    from .mcp.service import McpService

__all__ = [
    "Access",
    "Authenticator",
    "Folder",
    "Identity",
    "Issuer",
    "McpGateway",
    "McpService",
    "Prompt",
    "Resource",
    "SharedKey",
    "SignedTokens",
    "own_runs",
    "prompt",
]

_PLACES = {
    "Access": "mcp.http",
    "Authenticator": "mcp.auth",
    "Folder": "mcp.resources",
    "Issuer": "mcp.auth",
    "McpGateway": "mcp.gateway.gateway",
    "McpService": "mcp.service",
    "Prompt": "mcp.prompts",
    "Resource": "mcp.resources",
    "SharedKey": "mcp.http",
    "SignedTokens": "mcp.auth",
    "Identity": "mcp.calls",
    "own_runs": "mcp.resources",
    "prompt": "mcp.prompts",
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
