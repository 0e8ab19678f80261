"""Real web servers inside of a test: any ASGI app on a free port of this machine."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator

import uvicorn
from starlette.types import ASGIApp

from .patience import HANGS_S


class _Server(uvicorn.Server):
    """uvicorn's, inside of a running loop: it says when it is up, and takes no signals.

    Of two that took them and end in the order in which they began, the first would stay the process's handler: what
    looks there for whether the web server is to end would take every later one for ending.
    """

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.up = asyncio.Event()
        self.done = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self.up.set()
        await self.done.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        for listener in sockets or []:
            listener.close()
        await self.lifespan.shutdown()


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp,
    listener: socket.socket | None = None,
    http: Callable[..., asyncio.Protocol] | None = None,
    context: ssl.SSLContext | None = None,
) -> AsyncIterator[str]:
    """Serve an app; the origin where it is.

    Args:
        app: what answers.
        listener: where, if that had to be known before.
        http: makes its connections; uvicorn's own by default.
        context: of TLS.
    """
    listener = listener or listening()
    config = uvicorn.Config(
        app,
        http=http or "auto",  # type: ignore[arg-type]  # it is called, no more
        proxy_headers=False,
        log_config=None,
        timeout_graceful_shutdown=1,
        timeout_keep_alive=int(
            HANGS_S
        ),  # of two limits that are alike, a client may send just as its connection is closed
    )
    config.load()
    config.ssl = context
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    up = asyncio.create_task(server.up.wait())
    try:
        await asyncio.wait([task, up], return_when=asyncio.FIRST_COMPLETED)
        yield place(listener)
    finally:
        up.cancel()
        server.done.set()
        await task


def listening() -> socket.socket:
    """A listener on a free port."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as our own server does
    listener.setblocking(False)
    return listener


def place(listener: socket.socket) -> str:
    """The origin of a listener."""
    return f"http://127.0.0.1:{listener.getsockname()[1]}"
