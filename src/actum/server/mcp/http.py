"""An MCP server over HTTP: Streamable HTTP in both eras at one path, and HTTP+SSE for clients that know no other.

This is a door: the application looks at who may come in, at `Host` and `Origin`, sizes and time limits
(`server/web_application.py`).

Limits: an SSE session takes its messages from any request that knows its id and shows the credential that opened it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from mcp.server.lowlevel.server import Server
from mcp.server.sse import SseServerTransport
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ErrorData
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Message, Receive, Scope, Send

from ..refusal import HttpRefusal, busy
from ..route_group import REQUEST_ID, Worded
from .auth import AsSdkUser
from .endpoint import McpEndpoint
from .exchange import refusal as told
from .sessions import SESSIONS_MAX

_NO_LIMIT = 2**40
"""The application limits the size of a body; the SDK wants a limit of its own, which is never reached."""


class McpRoutes:
    """MCP at one path of a server.

    Args:
        server: what is served.
        path: where.
        hang_up: ends the streams of those who listen without a handshake.
        sse: also the old way, at `/sse` and `/messages/`.
        scopes: that each request needs, where the server wants keys.
    """

    def __init__(
        self,
        server: Server[Any],
        hang_up: Callable[[], None],
        *,
        path: str = "/mcp",
        sse: bool = False,
        scopes: Sequence[str] = (),
    ) -> None:
        self._endpoint = McpEndpoint(server, hang_up)
        self._sse = _Sse(server) if sse else None
        self._scopes = tuple(scopes)
        self._routes: list[BaseRoute] = [Route(path, endpoint=AsSdkUser(self._endpoint))]
        if self._sse is not None:
            self._routes += [
                Route("/sse", endpoint=AsSdkUser(self._sse), methods=["GET"]),
                Mount("/messages/", app=AsSdkUser(self._sse.transport.handle_post_message)),
            ]

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What MCP answers to."""
        return self._routes

    @property
    def scopes(self) -> Sequence[str]:
        """The scopes that each request needs, where the server wants keys."""
        return self._scopes

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """While the server is open."""
        async with self._endpoint.run():
            yield

    async def end_streams(self) -> None:
        """End the streams of those who listen."""
        self._endpoint.end_streams()
        if self._sse is not None:
            self._sse.end_streams()

    def word(self, refusal: HttpRefusal, scope: Scope) -> Worded:
        """Tell a refusal as an error of JSON-RPC, which clients of MCP can show."""
        code = INTERNAL_ERROR if refusal.status >= 500 else INVALID_REQUEST  # as HTTP divides them
        error = ErrorData(code=code, message=refusal.detail, data={"requestId": scope[REQUEST_ID]})
        return Worded(b"application/json", msgspec.json.encode(told(None, error)))


class _Whole:
    """Sends a response and can end its body, since the SDK leaves a stream without its last piece when the server ends.

    Args:
        send: to the web server.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_open = False

    async def __call__(self, message: Message) -> None:
        self._is_open = message["type"] == "http.response.start" or message.get("more_body", False)
        await self._send(message)

    async def end(self) -> None:
        """Send the last piece where none was sent, or the client would read a stream that was cut."""
        if self._is_open:
            await self({"type": "http.response.body", "body": b"", "more_body": False})


class _Sse:
    """The streams of clients of the old kind; each client is served for as long as its stream is open."""

    def __init__(self, server: Server[Any]) -> None:
        self.transport = SseServerTransport("/messages/", None, _NO_LIMIT)
        self._server = server
        self._open: set[asyncio.Task[None]] = set()

    def end_streams(self) -> None:
        """End all streams."""
        for serving in self._open:
            serving.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if len(self._open) >= SESSIONS_MAX:
            raise busy(503, "The server has too many open sessions.")
        whole = _Whole(send)
        try:
            await self._serve(scope, receive, whole)
        finally:
            await whole.end()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self.transport.connect_sse(scope, receive, send) as (read, write):
            options = self._server.create_initialization_options()
            serving = asyncio.create_task(self._server.run(read, write, options))
            self._open.add(serving)
            try:
                await asyncio.wait([serving])
                if not serving.cancelled():
                    serving.result()
            finally:
                self._open.discard(serving)
                serving.cancel()
                await write.aclose()
                await read.aclose()
