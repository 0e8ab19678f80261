"""How an MCP server is reached: a local process by its pipes, an address by Streamable HTTP or the older SSE.

Each way is a context that yields the SDK's pair of streams. It must be entered and left by one and the same task.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ..core.errors import UsageError
from ..protocols.mcp_config import McpServer, McpTransport
from .mcp_http import ProtocolClient

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

log = logging.getLogger("actum.mcp")

STDERR_LINES = 200
"""So many of the last lines that a local server wrote beside the protocol are kept."""

_PASSED_ON = ("LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "SYSTEMROOT")
"""What a local server finds of our environment, beside HOME, LOGNAME, PATH, SHELL, TERM and USER from the SDK."""

_SECRET = re.compile(r"\$\{secret:([^}]+)\}")


@asynccontextmanager
async def opened(
    server: McpServer,
    transport: McpTransport,
    stderr: deque[str],
    auth: httpx2.Auth | None,
    secrets: Mapping[str, str],
    heard: Callable[[int], None],
) -> AsyncIterator[TransportStreams]:
    """The streams of a server.

    Args:
        transport: which way.
        stderr: takes the last lines that a local one writes beside the protocol.
        auth: logs in at a remote one.
        secrets: for `${secret:NAME}` in headers and environment.
        heard: is told the status of each HTTP answer.

    Raises:
        OSError: it could not be started.
        UsageError: a secret is not there.
    """
    if transport == "stdio":
        async with _process(server, stderr, secrets) as streams:
            yield streams
        return
    import httpx2  # noqa: PLC0415 - heavy, and only remote servers need it

    headers = {name: filled(value, secrets) for name, value in server.headers.items()}
    if transport == "sse":
        async with sse_client(
            server.url, headers, timeout=server.timeout, sse_read_timeout=server.max_timeout, auth=auth
        ) as streams:
            yield streams
        return

    async def note(response: httpx2.Response) -> None:
        heard(response.status_code)

    timeout = httpx2.Timeout(server.timeout, read=server.max_timeout)
    async with (
        ProtocolClient(headers=headers, auth=auth, timeout=timeout, event_hooks={"response": [note]}) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _process(
    server: McpServer, stderr: deque[str], secrets: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env |= {name: filled(value, secrets) for name, value in server.env.items()}
    parameters = StdioServerParameters(
        command=server.command,
        args=list(server.args),
        env=env,
        cwd=server.cwd or None,
        encoding_error_handler="replace",
    )
    reader, writer = os.pipe()
    try:
        with os.fdopen(writer, "w") as errors:
            async with _listening(reader, server.name, stderr), stdio_client(parameters, errors) as streams:
                errors.close()  # the child holds the other end: ours would keep the pipe open
                yield streams
    finally:
        with suppress(OSError):
            os.close(reader)


@asynccontextmanager
async def _listening(reader: int, name: str, stderr: deque[str]) -> AsyncIterator[None]:
    """Read what a process writes beside the protocol, line by line."""
    loop = asyncio.get_running_loop()
    rest = b""

    def read() -> None:
        nonlocal rest
        data = os.read(reader, 65_536)
        if not data:
            loop.remove_reader(reader)
        *lines, rest = (rest + data).split(b"\n")
        for line in [*lines, *([rest] if rest and not data else [])]:
            text = line.decode("utf-8", "replace")[:2_000]
            stderr.append(text)
            log.debug("%s: %s", name, text)
        rest = rest[-65_536:]

    loop.add_reader(reader, read)
    try:
        yield
    finally:
        loop.remove_reader(reader)


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
