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
    from ..core.identity import Identity
    from .access import Access
    from .issuer import Issuer, SignedTokens
    from .keys import make_key, revoke_key
    from .mcp.gateway.gateway import McpGateway
    from .mcp.prompts import Prompt, prompt
    from .mcp.resources import Folder, Resource, own_runs
    from .mcp.service import McpService
    from .stored_keys import StoredKeys
    from .verifier import Authenticator, SharedKey

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
    "StoredKeys",
    "make_key",
    "own_runs",
    "prompt",
    "revoke_key",
]

_PLACES = {
    "Access": "access",
    "Authenticator": "verifier",
    "Folder": "mcp.resources",
    "Identity": ".core.identity",
    "Issuer": "issuer",
    "McpGateway": "mcp.gateway.gateway",
    "McpService": "mcp.service",
    "Prompt": "mcp.prompts",
    "Resource": "mcp.resources",
    "SharedKey": "verifier",
    "SignedTokens": "issuer",
    "StoredKeys": "stored_keys",
    "make_key": "keys",
    "revoke_key": "keys",
    "own_runs": "mcp.resources",
    "prompt": "mcp.prompts",
}

_MCP = "MCP needs a package that is not installed: pip install 'actum[mcp]'"
_NEEDED = {
    "mcp": _MCP,
    "mcp_types": _MCP,
    "jwt": "tokens of an issuer need a package that is not installed: pip install 'pyjwt[crypto]'",
}
"""What is said when a package is missing."""


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(f".{_PLACES[name]}", __name__), name)
    except ModuleNotFoundError as missing:
        needed = (missing.name or "").partition(".")[0]
        if needed not in _NEEDED:
            raise
        raise UsageError(_NEEDED[needed]) from None
