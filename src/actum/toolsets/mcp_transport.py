"""How an MCP server is reached: a local process by its pipes, an address by Streamable HTTP or the older SSE.

Each way is a context that yields the SDK's pair of streams. It must be entered and left by one and the same task.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpx2
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from ..core.errors import UsageError
from ..protocols.mcp_config import McpServer, McpTransport
from ..transport.guard import Guard, GuardedTransport
from .mcp_http import BODY_BYTES_MAX, McpHttpClient
from .mcp_stdio import process

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

STDERR_LINES = 200
"""So many of the last lines that a local server wrote beside the protocol are kept."""

_TALKATIVE = ("mcp.client.streamable_http", "mcp.client.sse")
_SECRET = re.compile(r"\$\{secret:([^}]+)\}")


@asynccontextmanager
async def opened(
    server: McpServer,
    transport: McpTransport,
    stderr: deque[str],
    auth: httpx2.Auth | None,
    secrets: Mapping[str, str],
    heard: Callable[[int], None],
    guard: Guard | None = None,
) -> AsyncIterator[TransportStreams]:
    """The streams of a server.

    Args:
        transport: which way.
        stderr: takes the last lines that a local one writes beside the protocol.
        auth: logs in at a remote one.
        secrets: for `${secret:NAME}` in headers and environment.
        heard: is told the HTTP status of each answer to a message; 0 where there is none.
        guard: decides whether a remote one may be reached, where its address is not a person's own.

    Raises:
        OSError: it could not be started.
        UsageError: a secret is not there.
    """
    if transport == "stdio":
        env = {name: filled(value, secrets) for name, value in server.env.items()}
        async with process(server, env, stderr) as streams:
            yield streams
        return
    for logger in _TALKATIVE:
        logging.getLogger(logger).addFilter(_hushed)  # no more than once
    url, headers = _bare(httpx2.URL(server.url))
    headers |= {name: filled(value, secrets) for name, value in server.headers.items()}

    def client(
        headers: dict[str, str] | None = None, timeout: httpx2.Timeout | None = None, auth: httpx2.Auth | None = None
    ) -> McpHttpClient:
        transport = GuardedTransport(guard) if guard is not None else None
        return McpHttpClient(heard, headers=headers, timeout=timeout, auth=auth, transport=transport)

    if transport == "sse":
        async with sse_client(
            url,
            headers,
            timeout=server.timeout,
            sse_read_timeout=server.max_timeout,
            httpx_client_factory=client,
            auth=auth,
        ) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(server.timeout, read=server.max_timeout)
    async with (
        client(headers=headers, auth=auth, timeout=timeout) as http,
        streamable_http_client(url, http_client=http, max_sse_event_size=BODY_BYTES_MAX) as streams,
    ):
        yield streams


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
    return True


def filled(value: str, secrets: Mapping[str, str]) -> str:
    """A configured value with its secrets.

    Raises:
        UsageError: one is not there.
    """

    def secret(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in secrets:
            raise UsageError(f"there is no secret called {name!r}, which a server's configuration names")
        return secrets[name]

    return _SECRET.sub(secret, value)
