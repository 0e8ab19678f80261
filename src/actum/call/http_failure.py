"""What a failure of an ordinary HTTP client means: the client that a tool's own code uses to reach its service.

The classes of `requests`, `urllib3`, `httpx`, `httpx2`, `aiohttp` and of Python's own `urllib` and `http` are told by
their names, so that none of these packages has to be installed, or imported to look.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from email.message import Message

from ..core.errors import CallError, CallTimeout, RateLimited, Unavailable

CLIENTS = frozenset({"requests", "urllib3", "httpx", "httpx2", "aiohttp", "urllib", "http"})

NOT_REACHED = frozenset(
    {
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx, httpx2, requests
        *("NewConnectionError", "NameResolutionError", "ConnectTimeoutError"),  # urllib3
        *("ClientConnectorError", "ClientConnectorDNSError", "ConnectionTimeoutError"),  # aiohttp
    }
)
"""No connection came about, so this request did not reach the service."""

TIMED_OUT = frozenset({"Timeout", "TimeoutException", "TimeoutError", "ReadTimeoutError", "ServerTimeoutError"})
LOST = frozenset(
    {
        *("ConnectionError", "TransportError", "HTTPError", "ClientConnectionError", "ClientPayloadError"),
        *("ChunkedEncodingError", "ContentDecodingError"),  # requests
        *("URLError", "RemoteDisconnected", "BadStatusLine", "IncompleteRead"),  # urllib, http
    }
)
"""The connection broke, or what came back was no answer. `HTTPError` is here for `urllib3` alone."""

NO_ANSWER = "The tool's service gave no answer in time; it may have happened all the same."
RETRY_AFTER_MAX_S = 86_400.0


def http_failure(bug: BaseException, reference: str) -> CallError | None:
    """What an exception of an HTTP client means to us; None where it is no such exception, or a status that only the
    tool's author can understand (404, say).

    Args:
        bug: what the tool raised.
        reference: of the failure in the log.
    """
    names = _names(bug)
    if not names:
        return None
    status = _status(bug)
    if status is not None:
        return _of_status(status, _retry_after(bug), reference)
    inner = list(_causes(bug))
    causes = {name for cause in inner for name in _names(cause)}
    refused = any(isinstance(cause, ConnectionRefusedError | socket.gaierror) for cause in inner)
    if (names | causes) & NOT_REACHED or (refused and "URLError" in names):
        return Unavailable("The tool's service can not be reached.", reference=reference, effect="unknown")
    if names & TIMED_OUT or ("URLError" in names and any(isinstance(cause, TimeoutError) for cause in inner)):
        return CallTimeout(
            "The tool's service gave no answer in time; it may have happened all the same.", reference=reference
        )
    if names & LOST:
        return CallTimeout("The connection was lost; it may have happened all the same.", reference=reference)
    return None


def _of_status(status: int, retry_after: float | None, reference: str) -> CallError | None:
    if status == 429:
        text = "The tool's service takes no more requests for now."
        return RateLimited(text, reference=reference, effect="unknown", retry_after=retry_after)
    if status in (408, 504):
        return CallTimeout(NO_ANSWER, reference=reference, retry_after=retry_after)
    if 500 <= status <= 599:
        text = f"The tool's service failed (HTTP {status}); it may have happened all the same."
        return Unavailable(text, reference=reference, effect="unknown", retry_after=retry_after)
    return None


def _names(error: BaseException) -> set[str]:
    """The names of the error's classes that an HTTP client defines."""
    classes = type(error).__mro__
    return {each.__name__ for each in classes if each.__module__.partition(".")[0] in CLIENTS}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The errors inside of this one: `requests` hides why a connection failed in the arguments of its error."""
    seen: list[BaseException] = [error]
    for each in seen:
        inner = [each.__cause__, each.__context__, getattr(each, "reason", None), *each.args]
        seen += [one for one in inner if isinstance(one, BaseException) and one not in seen and len(seen) < 10]
    yield from seen[1:]


def _status(error: BaseException) -> int | None:
    """The HTTP status that an error tells of, if it does."""
    response = getattr(error, "response", None)
    for holder, name in ((response, "status_code"), (error, "status"), (response, "status")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and not isinstance(status, bool) and status:
            return status
    return None


def _retry_after(error: BaseException) -> float | None:
    """The seconds that the service wants us to wait, where it says so as a number."""
    for holder in (getattr(error, "response", None), error):
        headers = getattr(holder, "headers", None)
        if isinstance(headers, Mapping | Message):
            value = next((str(value) for name, value in headers.items() if str(name).lower() == "retry-after"), "")
            if value.strip().isdecimal():
                return min(float(value), RETRY_AFTER_MAX_S)
    return None
