"""A web server for one ASGI app: uvicorn, which cuts a client whose request does not arrive in time.

uvicorn waits for the end of the headers for as long as a client wants. Here the headers of each request have some
seconds to arrive; the time for the body is the app's affair.

This file loads a web server: import it only where one is to run.
"""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

HEADERS_S = 15.0
"""Seconds in which the headers of a request have to arrive, from the first byte on, or from the connection on."""


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # uvicorn chooses it when it is loaded
    """uvicorn's connection with a client, with a time limit for headers."""

    headers_s = HEADERS_S
    _limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        if self._limit is None and not self._is_answering():
            self._wait_for_headers()
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        """The headers of a request have arrived, and its answer is not over."""
        return self.cycle is not None and not self.cycle.response_complete

    def _wait_for_headers(self) -> None:
        self._limit = asyncio.get_running_loop().call_later(self.headers_s, self._cut)

    def _stop_waiting(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _cut(self) -> None:
        self._limit = None
        if not self._is_answering():
            self.transport.abort()


async def serve(app: ASGIApp, listener: socket.socket, *, end_s: int) -> None:
    """Serve an app until the process is told to end.

    Args:
        app: what answers.
        listener: where; it listens already.
        end_s: what is still under way after so many seconds is broken off.
    """
    config = uvicorn.Config(
        app, http=PatientProtocol, log_level="warning", access_log=False, timeout_graceful_shutdown=end_s
    )
    await uvicorn.Server(config).serve([listener])
