"""What goes wrong with a remote agent, as errors of a call. Its words are cleaned and short."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Never

from ...core.call import Effect
from ...core.errors import (
    CallError,
    CallTimeout,
    InvalidResult,
    PermissionDenied,
    RateLimited,
    ResourceLimit,
    ToolError,
    Unavailable,
)
from ...core.json import Json
from ...protocols.plain_text import plain
from ...transport.guard import AddressRefused
from ...transport.http import HttpFailure

INVALID_REQUEST = -32600
UNKNOWN_METHOD = -32601
INVALID_PARAMS = -32602
UNKNOWN_TASK = -32001
UNSUPPORTED = -32004
WORDS_MAX = 500
_NOTHING_HAPPENED = frozenset(
    {-32700, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS, UNKNOWN_TASK, -32002, -32003, UNSUPPORTED, -32005}
    | {-32007, -32008, -32009}
)
_BY_REASON: Mapping[str, int] = {
    "TASK_NOT_FOUND": UNKNOWN_TASK,
    "TASK_NOT_CANCELABLE": -32002,
    "PUSH_NOTIFICATION_NOT_SUPPORTED": -32003,
    "UNSUPPORTED_OPERATION": UNSUPPORTED,
    "CONTENT_TYPE_NOT_SUPPORTED": -32005,
    "VERSION_NOT_SUPPORTED": -32009,
}


class RemoteAgentError(ToolError):
    """The agent answered with an error of the protocol.

    Args:
        rpc_code: that of JSON-RPC, or 0.
        words: the agent's own.
    """

    def __init__(self, rpc_code: int, words: str) -> None:
        effect: Effect = "none" if rpc_code in _NOTHING_HAPPENED else "unknown"
        said = " ".join(plain(words[: 4 * WORDS_MAX]).split())[:WORDS_MAX]
        super().__init__("The agent refused ({rpc_code}): {said}", effect=effect, rpc_code=rpc_code, said=said)
        self.rpc_code = rpc_code


def not_sent_or_lost(failure: HttpFailure) -> CallError:
    """The error of a call whose request got no whole answer."""
    if isinstance(failure, AddressRefused):
        return PermissionDenied("The agent's address can not be called: {why}.", why=failure)
    if not failure.sent:
        if failure.lasting:
            return ToolError("The request can not be sent: {why}.", why=failure)
        return Unavailable("The agent can not be reached: {why}.", why=failure)
    words = f"The agent gave no whole answer: {failure}; the work may be under way all the same."
    return ResourceLimit(words) if failure.lasting else CallTimeout(words)


def malformed(why: object) -> InvalidResult:
    """The error of a call that was answered with something else than A2A."""
    return InvalidResult("The agent's answer can not be read: {why}.", effect="unknown", why=why)


def raise_error(error: Json) -> Never:
    """Raise what an answer of JSON-RPC or of HTTP+JSON says went wrong."""
    found = error if isinstance(error, dict) else {}
    code, words = found.get("code"), found.get("message")
    details = found.get("details")
    reasons = [each.get("reason") for each in details if isinstance(each, dict)] if isinstance(details, list) else []
    known = next((_BY_REASON[each] for each in reasons if isinstance(each, str) and each in _BY_REASON), None)
    number = known or (code if isinstance(code, int) and not isinstance(code, bool) else 0)
    raise RemoteAgentError(number, words if isinstance(words, str) else "")


def raise_status(status: int, retry_after: float | None, error: Json) -> Never:
    """Raise what an HTTP status that is no success means.

    Args:
        status: of the answer.
        retry_after: seconds, where the answer says so.
        error: the error in its body; None where there is none.
    """
    match status:
        case 401 | 403:
            raise PermissionDenied(
                "The agent wants a credential, or another one (HTTP {number}). A person sets it up: "
                "headers of the agent in the settings.",
                number=status,
            )
        case 429:
            raise RateLimited("The agent takes no more requests for now (HTTP 429).", retry_after=retry_after)
        case _ if error is not None:
            raise_error(error)
        case 404 | 405 | 501:
            raise RemoteAgentError(UNKNOWN_METHOD, f"HTTP {status}")
        case _ if 300 <= status < 400:
            raise ToolError(
                "The agent redirects (HTTP {number}), which is not followed.", effect="unknown", number=status
            )
        case _ if status >= 500:
            raise Unavailable(
                "The agent failed (HTTP {number}); the work may be under way all the same.",
                effect="unknown",
                retry_after=retry_after,
                number=status,
            )
        case _:
            raise RemoteAgentError(INVALID_REQUEST, f"HTTP {status}")
