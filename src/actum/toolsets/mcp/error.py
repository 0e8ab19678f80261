"""What goes wrong with an MCP server, as errors of a call. Nothing of a stranger's exception reaches a model."""

from __future__ import annotations

from collections import OrderedDict
from secrets import token_hex

from ...core.call import Effect
from ...core.errors import (
    CallError,
    CallTimeout,
    InvalidResult,
    PermissionDenied,
    RateLimited,
    ToolError,
    Unavailable,
)
from ...core.json import Json
from ...protocols.plain_text import plain

CONNECTION_CLOSED = -32000
PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

REFUSED_BY_USER = -1
"""What the protocol's own example answers a server whose sampling a person refused."""

UNREACHED = -32990
BROKEN = -32991
HTTP_STATUS = -32992
"""What our own HTTP client says in a server's place: not sent, sent and broken off, or answered with a bare status."""
REFUSED_HERE = -32993
"""It says that we refused to send it: a login is missing, or failed."""

_NOTHING_HAPPENED = frozenset(
    {INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION}
)
WORDS_MAX = 500
KEPT_CHARS_MAX = 16 * 1024
"""The most characters of a server's own words that are kept, for the program that passes them on."""


class McpError(ToolError):
    """The server answered with an error of the protocol.

    Args:
        rpc_code: JSON-RPC's code.
        words: the server's own; of long ones the beginning.
        data: what it sent with it.
        effect: where it is known better than the code tells.
    """

    def __init__(self, rpc_code: int, words: str, data: Json = None, effect: Effect | None = None) -> None:
        effect = effect or ("none" if rpc_code in _NOTHING_HAPPENED else "unknown")
        how = "answered with" if rpc_code == HTTP_STATUS else f"refused ({rpc_code}):"
        super().__init__("The server {how} {why}", effect=effect, how=how, why=_shortened(words))
        self.rpc_code = rpc_code
        self.words = words[:KEPT_CHARS_MAX]
        self.data = data


def _shortened(words: str) -> str:
    """The beginning of a server's words, fit for a model. What hides there hides no more than as much again."""
    return plain(words[: 2 * WORDS_MAX])[:WORDS_MAX]


class Lost(CallTimeout):
    """The connection went away after a request was sent."""


def lost(method: str) -> Lost:
    """The connection went away after a request was sent."""
    return Lost(
        "The connection to the server was lost during {method}; it may have happened all the same.", method=method
    )


def unreached(server: str, why: str) -> CallError:
    """The server could not be reached; nothing was sent."""
    return Unavailable("The MCP server {server!r} can not be reached: {why}", server=server, why=plain(why))


def keep(refused: CallError) -> str:
    """Keep a refusal of ours until the caller hears of it.

    Returns:
        The name by which `told` finds it; a server that writes the same code can not guess it.
    """
    name = token_hex(16)
    _kept[name] = refused
    if len(_kept) > _KEPT_MAX:
        _kept.popitem(last=False)
    return name


_KEPT_MAX = 1000
_kept: OrderedDict[str, CallError] = OrderedDict()


def told(method: str, code: int, words: str, data: Json) -> CallError:
    """The error that answers a request, as the error of a call: the server's own, or what the way to it says.

    >>> type(told("tools/call", -32992, "HTTP 429", {"status": 429, "retryAfter": "3"})).__name__
    'RateLimited'
    """
    if code == REFUSED_HERE and isinstance(data, str) and data in _kept:
        return _kept.pop(data)
    if code == UNREACHED:
        return Unavailable("{why}; nothing was sent.", why=_shortened(words))
    if code == BROKEN or (code == CONNECTION_CLOSED and words.startswith(_SDK_LOST)):
        return lost(method)
    if code == HTTP_STATUS and isinstance(data, dict):
        return _refused(method, data.get("status"), data.get("retryAfter"))
    if words.startswith(_NO_MESSAGE.get(code, ())):
        return InvalidResult(
            "The server's answer to {method} is no message of MCP: {why}.",
            effect="unknown",
            method=method,
            why=plain(words)[:WORDS_MAX],
        )
    if words.startswith(_UNREADABLE.get(code, ())):
        return InvalidResult(
            "The server's answer to {method} is malformed, or too long.", effect="unknown", method=method
        )
    return McpError(code, words, data)


_SDK_LOST = ("Connection closed", "SSE stream ended")
"""How the SDK begins to tell that a connection went away; the code alone is also used by servers."""
_UNREADABLE: dict[int, tuple[str, ...]] = {
    PARSE_ERROR: ("Failed to parse", "malformed", "too long"),
    CONNECTION_CLOSED: ("SSE stream failed",),
}
"""How the SDK, and our own reading of lines, begin to tell that an answer is none, by the codes they use for it."""
OF_ANOTHER = "malformed: it answers another request"
_NO_MESSAGE: dict[int, tuple[str, ...]] = {
    PARSE_ERROR: (OF_ANOTHER,),
    INVALID_REQUEST: ("Unexpected content type", "server answered a request with 202"),
}
"""Likewise, where the words say what came instead."""


def _refused(method: str, status: Json, retry_after: Json) -> CallError:
    seconds = float(retry_after) if isinstance(retry_after, str) and retry_after.isdecimal() else None
    match status:
        case 401 | 403:
            return PermissionDenied("The server wants a login, or another one (HTTP {number}).", number=status)
        case 429:
            return RateLimited("The server asks to slow down.", retry_after=seconds)
        case 503:
            return Unavailable("The server is not available now.", retry_after=seconds)
        case 502 | 504:
            return lost(method)
        case int():
            return McpError(HTTP_STATUS, f"HTTP {status}", effect="none" if status < 500 else "unknown")
        case _:
            return McpError(HTTP_STATUS, "HTTP")
