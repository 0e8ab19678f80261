"""An MCP server over HTTP: Streamable HTTP in both eras at one path, and HTTP+SSE for clients that know no other.

This is a door: the application looks at who may come in, at `Host` and `Origin`, sizes and time limits
(`server/web_application.py`).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec
from mcp.server.lowlevel.server import Server
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, ErrorData
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import Scope

from ..refusal import HttpRefusal
from ..route_group import REQUEST_ID, Worded
from .auth import AsSdkUser
from .endpoint import McpEndpoint
from .exchange import refusal as told
from .sse import SseEndpoint


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
        self._sse = SseEndpoint(server) if sse else None
        self._scopes = tuple(scopes)
        self._routes: list[BaseRoute] = [Route(path, endpoint=AsSdkUser(self._endpoint))]
        if self._sse is not None:
            self._routes += [
                Route("/sse", endpoint=AsSdkUser(self._sse), methods=["GET"]),
                Mount("/messages/", app=AsSdkUser(self._sse.post)),
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
