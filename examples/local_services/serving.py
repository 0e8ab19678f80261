"""Starts a service on a loopback port that the system chooses, and makes one out of plain functions."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from actum.core.json import Json

Lookup = Callable[[Mapping[str, str]], Json]
"""Answers the query of a URL. Raises `LookupError` with words for whoever asked where there is nothing."""
KEEP_S = 75
"""Seconds for which an idle connection is kept. Clients keep one for less, so that none asks just as it is closed."""


class _Server:
    """One application behind a port, in a thread with an event loop of its own, as another program would be."""

    def __init__(self, app: ASGIApp, port: int = 0) -> None:
        listening = socket.create_server(("127.0.0.1", port))  # from here on connections wait in line, none is refused
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # or an answer in pieces waits 40 ms for an ACK
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        config = uvicorn.Config(
            app, log_level="warning", http="h11", ws="none", timeout_graceful_shutdown=2, timeout_keep_alive=KEEP_S
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [listening]}, daemon=True)
        self._thread.start()

    async def stop(self) -> None:
        self._server.should_exit = True
        await asyncio.to_thread(self._thread.join)


@asynccontextmanager
async def serving(*apps: ASGIApp, port: int = 0) -> AsyncIterator[tuple[str, ...]]:
    """Serve applications for as long as the block runs; gives their addresses, such as `http://127.0.0.1:40123`.

    Args:
        port: of the only application, where it has to be a certain one.

    Raises:
        OSError: somebody listens on that port.
    """
    servers = [_Server(app, port) for app in apps]
    try:
        yield tuple(server.url for server in servers)
    finally:
        await asyncio.gather(*(server.stop() for server in servers))


def lookup_service(**lookups: Lookup) -> Starlette:
    """A service that answers `GET /name?...` with JSON, by one function for each name."""
    return Starlette(routes=[Route(f"/{name}", _endpoint(lookup)) for name, lookup in lookups.items()])


def _endpoint(lookup: Lookup) -> Callable[[Request], Awaitable[Response]]:
    async def answer(request: Request) -> Response:
        try:
            return _json(lookup(request.query_params))
        except LookupError as nothing:
            return _json({"error": str(nothing)}, status=404)

    return answer


def _json(value: Json, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")
