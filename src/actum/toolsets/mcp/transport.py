"""How an MCP server is reached: a local process by its pipes, an address by Streamable HTTP or the older SSE.

Each way is a context that yields the SDK's pair of streams. It must be entered and left by one and the same task.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from ...core.errors import ActumError, UsageError
from ...protocols.bound_text.header import filled_header
from ...protocols.bound_text.part import NoPlace
from ...protocols.mcp.config import McpServer, McpTransport
from ...protocols.plain_text import plain
from ...transport.egress import Egress
from ...transport.guard import Guard
from ...transport.httpx2_transport import GuardedTransport
from ..login import LoginFailed, LoginNeeded
from .http import BODY_BYTES_MAX, McpHttpClient
from .jail import OpenedOutside
from .stdio import process

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

STDERR_LINES = 200
"""How many of the last lines that a local server wrote beside the protocol are kept."""

SILENCE_S = 86_400.0
"""Seconds in which a stream that is open may say nothing: what a request may take is a matter of its own limit."""
SECRET_CHARS_MIN = 4
"""What is shorter can not be told from other words."""

log = logging.getLogger("actum.mcp")

_TALKATIVE = ("mcp.client.streamable_http", "mcp.client.sse")
_WORDS = {
    "ConnectError": "Nobody listens there",
    "ConnectTimeout": "Nobody answers there",
    "ConnectionResetError": "The connection broke",
}
_SECRET = re.compile(r"\$\{secret:([^}]+)\}")


def guard_of(server: McpServer, egress: Egress | None) -> Guard:
    """The guard for the requests to a server that a person set up, or of a local one to the hosts of its jail.

    Args:
        server: as it is configured.
        egress: the operator's rules for outgoing calls.
    """
    return Guard(server.url, egress=egress)


@asynccontextmanager
async def opened(
    server: McpServer,
    transport: McpTransport,
    stderr: deque[str],
    auth: httpx2.Auth | None,
    secrets: Mapping[str, str],
    heard: Callable[[int], None],
    guard: Guard | None = None,
    outside: OpenedOutside | None = None,
) -> AsyncIterator[TransportStreams]:
    """The streams of a server.

    Args:
        transport: which way.
        stderr: takes the last lines that a local one writes beside the protocol.
        auth: logs in at a remote one.
        secrets: for `${secret:NAME}` in headers and environment.
        heard: is told the HTTP status of each answer to a message; 0 where there is none.
        guard: decides where requests may go; one that lets a person's own server through, by default.
        outside: is told what a local one tries to open outside its jail.

    Raises:
        OSError: it could not be started.
        UsageError: a secret is not there.
    """
    if transport == "stdio":
        env = {name: filled(value, secrets) for name, value in server.env.items()}
        used = {secrets[name] for value in server.env.values() for name in _SECRET.findall(value)}
        egress = guard.egress if guard is not None else None
        async with process(server, env, _noting(server.name, stderr, used), egress=egress, outside=outside) as streams:
            yield streams
        return
    for logger in _TALKATIVE:
        logging.getLogger(logger).addFilter(_hushed)  # no more than once
    logging.getLogger("httpx2").addFilter(_discreet)
    url, headers = _bare(httpx2.URL(server.url))
    headers |= {name: _header(name, value, secrets) for name, value in server.headers.items()}

    def client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> McpHttpClient:
        transport = GuardedTransport(guard or Guard(server.url))
        return McpHttpClient(heard, headers=headers, timeout=timeout, auth=auth, transport=transport)

    if transport == "sse":
        async with sse_client(
            url,
            headers,
            timeout=server.timeout,
            sse_read_timeout=SILENCE_S,
            httpx_client_factory=client,
            auth=auth,
        ) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(server.timeout, read=SILENCE_S)
    async with (
        client(headers=headers, auth=auth, timeout=timeout) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=BODY_BYTES_MAX) as streams,
    ):
        yield streams


def reason(error: BaseException, server: McpServer, status: int) -> str:
    """Why a server can not be reached, for people, without what may be secret.

    Args:
        status: the last that it answered over HTTP, 0 for none.
    """
    if isinstance(error, httpx2.HTTPStatusError):
        status = error.response.status_code
    if isinstance(error, LoginNeeded | LoginFailed):
        return str(error)
    if status in (401, 403):
        return f"It answered HTTP {status}: it wants a login, or another one."
    if status == 404:
        return "It answered HTTP 404: there is no MCP server at this address."
    match error:
        case FileNotFoundError():
            what = "directory" if error.filename == server.cwd else "program"
            return f"There is no {what} {error.filename!r}."
        case PermissionError():
            return f"{error.filename!r} may not be run."
        case ActumError():
            return str(error)
        case httpx2.HTTPStatusError():
            return f"It answered HTTP {status}."
        case _:
            return f"{_WORDS.get(type(error).__name__, type(error).__name__)}."


def _noting(name: str, stderr: deque[str], secrets: Iterable[str]) -> Callable[[str], None]:
    """Keeps what a local server writes beside the protocol, without what nobody sees and without the secrets that it
    was given.
    """
    hidden = [value for value in secrets if len(value) >= SECRET_CHARS_MIN]

    def note(line: str) -> None:
        for value in hidden:
            line = line.replace(value, "[secret]")
        stderr.append(plain(line))
        log.debug("%s: %s", name, stderr[-1])

    return note


def _bare(url: httpx2.URL) -> tuple[str, dict[str, str]]:
    """An address without the name and password in it, which would stand in logs, and the header that says them."""
    if not url.userinfo:
        return str(url), {}
    who = f"{url.username}:{url.password}"
    return str(url.copy_with(userinfo=b"")), {"Authorization": f"Basic {b64encode(who.encode()).decode()}"}


def _hushed(record: logging.LogRecord) -> bool:
    """The SDK logs what goes wrong with a server as errors, with addresses and what it sent. That is told as the error
    of a call; the log has its first line, for those who look for it.
    """
    if record.levelno > logging.DEBUG:
        record.levelno, record.levelname = logging.DEBUG, "DEBUG"
        record.exc_info = record.exc_text = None
    return logging.getLogger(record.name).isEnabledFor(record.levelno)


def _discreet(record: logging.LogRecord) -> bool:
    """The HTTP client logs each address in full, and some have a key in their query."""
    if isinstance(record.args, tuple):
        record.args = tuple(
            each.copy_with(query=None, userinfo=b"") if isinstance(each, httpx2.URL) else each for each in record.args
        )
    return True


def filled(value: str, secrets: Mapping[str, str]) -> str:
    """A configured value with its secrets.

    Raises:
        UsageError: one is not there.
    """
    return _SECRET.sub(lambda found: _named(found[1], secrets), value)


def _header(name: str, value: str, secrets: Mapping[str, str]) -> str:
    """A configured header with its secrets.

    Raises:
        UsageError: one is not there, or can not stand in the header. The message does not show the secret.
    """
    try:
        return filled_header(name, value, _SECRET, lambda secret: _named(secret, secrets))
    except NoPlace as problem:
        raise UsageError("a secret can not be sent in the header {name!r}: {why}", name=name, why=problem) from None


def _named(name: str, secrets: Mapping[str, str]) -> str:
    if name not in secrets:
        raise UsageError("there is no secret called {name!r}, which a server's configuration names", name=name)
    return secrets[name]
