"""What goes wrong with an MCP server, as errors of a call. Nothing of a stranger's exception reaches a model."""

from __future__ import annotations

from ..core.call import Effect
from ..core.errors import CallError, CallTimeout, ToolError, Unavailable
from ..core.json import Json
from ..protocols.plain_text import plain

CONNECTION_CLOSED = -32000
REQUEST_TIMEOUT = -32001
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

_NOTHING_HAPPENED = frozenset(
    {INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION}
)
WORDS_MAX = 500


class McpError(ToolError):
    """The server answered with an error of the protocol.

    Args:
        rpc_code: JSON-RPC's code.
        words: the server's own.
        data: what it sent with it.
    """

    def __init__(self, rpc_code: int, words: str, data: Json = None) -> None:
        effect: Effect = "none" if rpc_code in _NOTHING_HAPPENED else "unknown"
        super().__init__(f"The server refused ({rpc_code}): {plain(words)[:WORDS_MAX]}", effect=effect)
        self.rpc_code = rpc_code
        self.words = words
        self.data = data


def lost(method: str) -> CallError:
    """The connection went away after a request was sent."""
    return CallTimeout(f"The connection to the server was lost during {method}; it may have happened all the same.")


def unreached(server: str, why: str) -> CallError:
    """The server could not be reached; nothing was sent."""
    return Unavailable(f"The MCP server {server!r} can not be reached: {why}")
