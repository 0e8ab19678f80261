"""How an MCP server is reached: a local process by its pipes, an address by Streamable HTTP or the older SSE.

Each way is a context that yields the SDK's pair of streams. It must be entered and left by one and the same task.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import signal
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from shutil import which
from typing import TYPE_CHECKING

from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from ..core.errors import UsageError
from ..protocols.mcp_config import McpServer, McpTransport

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
        httpx2.AsyncClient(headers=headers, auth=auth, timeout=timeout, event_hooks={"response": [note]}) as client,
        streamable_http_client(server.url, http_client=client) as streams,
    ):
        yield streams


@asynccontextmanager
async def _process(
    server: McpServer, stderr: deque[str], secrets: Mapping[str, str]
) -> AsyncIterator[TransportStreams]:
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    env |= {name: filled(value, secrets) for name, value in server.env.items()}
    if which(server.command, path=env.get("PATH", os.environ.get("PATH"))) is None:
        raise FileNotFoundError(server.command)
    parameters = StdioServerParameters(
        command="/bin/sh",
        args=["-c", _TELL_PID, server.command, *server.args],
        env=env,
        cwd=server.cwd or None,
        encoding_error_handler="replace",
    )
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    heard = _Errors(reader, server.name, stderr)
    try:
        with os.fdopen(writer, "w") as errors:
            async with heard.listening(), stdio_client(parameters, errors) as streams:
                errors.close()  # the child holds the other end: ours would keep the pipe open
                yield streams
    finally:
        heard.read()
        await _end_group(heard.pid)
        os.close(reader)


_PID = b"actum started "
_TELL_PID = f'echo "{_PID.decode()}$$" >&2; exec "$0" "$@"'
"""The SDK ends a server, and does not tell which process it was; what the server had started itself would stay."""

GROUP_S = 2.0
"""Seconds between TERM and KILL for what a server leaves behind."""
_LOOK_S = 0.01


async def _end_group(pid: int) -> None:
    """End what is left of a process group whose leader has ended."""
    if not pid:
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)
        try:
            for _ in range(round(GROUP_S / _LOOK_S)):
                await asyncio.sleep(_LOOK_S)
                os.killpg(pid, 0)  # raises once nobody is left
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


class _Errors:
    """What a process writes beside the protocol, line by line. The first line tells its process id.

    Args:
        reader: the end of the pipe to read from.
        name: of the server.
        tail: takes the lines.
    """

    def __init__(self, reader: int, name: str, tail: deque[str]) -> None:
        self.pid = 0
        self._reader, self._name, self._tail, self._rest = reader, name, tail, b""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[None]:
        """Read within the block."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._reader, self.read)
        try:
            yield
        finally:
            loop.remove_reader(self._reader)

    def read(self) -> None:
        """Take what there is."""
        try:
            data = os.read(self._reader, 65_536)
        except BlockingIOError:
            return
        if not data:
            asyncio.get_running_loop().remove_reader(self._reader)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in [*lines, *([self._rest] if self._rest and not data else [])]:
            if not self.pid and line.startswith(_PID):
                self.pid = int(line.removeprefix(_PID))
                continue
            text = line.decode("utf-8", "replace")[:2_000]
            self._tail.append(text)
            log.debug("%s: %s", self._name, text)
        self._rest = self._rest[-65_536:]


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
