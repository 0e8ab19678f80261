"""A web server for one application: uvicorn, which cuts clients that are too slow, too many or too talkative.

uvicorn waits for the end of the headers for as long as a client wants, and takes as many connections as come. Here the
headers of each request have some seconds to arrive and a size, and connections are counted, in all and by address. The
time for the body is the application's affair.

Told to end by a signal, the server takes no new requests, tells those who listen, and gives what is under way some
seconds. A second signal ends the process at once; the journal is made for that. A hang-up signal reads the settings
anew.

Limits: while a TLS handshake is under way, its connection is not counted yet; asyncio gives a handshake a minute.

This file loads a web server: import it only where one is to run.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from msgspec import Struct
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from ..core.interfaces import Clock
from ..features.refusal import phrase
from .access import LOCAL, accepted, fits, is_loopback
from .access_log import UNKNOWN_ROUTE, AccessLine, AccessLog, moment
from .metrics import Metrics
from .places import Places
from .proxies import Proxies
from .web_application import HEADER_BYTES_MAX, WebApplication

HEADERS_S = 15.0
"""Seconds in which the headers of a request have to arrive, from the first byte on, or from the connection on."""
SEND_S = 30.0
"""Seconds without reading its answer after which a client is cut off."""
CONNECTIONS_MAX = 2_000
CONNECTIONS_PER_ADDRESS_MAX = 200
IDLE_S = 75
"""Seconds without a request after which a connection is closed. Longer than proxies and clients keep idle connections
(nginx 60 s, most client libraries 5 to 30 s): otherwise a request could be under way to a connection that is closed in
the same moment, and nobody knows whether the request was taken."""
END_S = 20
"""Seconds after the server was told to end at which requests that are still under way are broken off."""
READ_BYTES_MAX = 32 * 1024
"""The most bytes of a client that are read between two turns of the event loop: the parser makes some calls for each
header, for each piece of a body and for each of several requests, and the shortest has a few bytes."""
_TOGETHER_BYTES_MAX = 64 * 1024
"""A longer part of a body is written by itself: to copy it takes longer than another visit to the system."""
_PARSED_BYTES_MAX = 1024 * 1024
"""What uvicorn may keep of unfinished headers: more than the limits here allow, which are told better."""


class ConnectionLimits(Struct, frozen=True, kw_only=True):
    """What clients may ask of connections.

    Attributes:
        connections_max: the most connections that may be open.
        connections_per_address_max: the most from one address; a proxy that is believed may have all of them.
        headers_s: seconds in which headers have to arrive.
        header_bytes_max: the most bytes of the headers.
        send_s: seconds for which a client may read nothing of what waits for it.
    """

    connections_max: int = CONNECTIONS_MAX
    connections_per_address_max: int = CONNECTIONS_PER_ADDRESS_MAX
    headers_s: float = HEADERS_S
    header_bytes_max: int = HEADER_BYTES_MAX
    send_s: float = SEND_S


class RefusedRequests:
    """Counts requests that are refused before they reach the application, such as one that is no HTTP, and writes their
    lines.

    Args:
        metrics: counts; None for no counts.
        access_log: writes the lines; None for no log.
        clock: the time.
    """

    def __init__(self, metrics: Metrics | None, access_log: AccessLog | None, clock: Clock) -> None:
        self._metrics = metrics
        self._access_log = access_log
        self._clock = clock

    def tell(self, status: int, address: str) -> None:
        """Count a request, and write its line.

        Args:
            status: of the answer.
            address: of the client.
        """
        if self._metrics is not None:
            self._metrics.request(UNKNOWN_ROUTE, "other", status, 0.0)
        if self._access_log is not None:
            self._access_log.write(
                AccessLine(
                    time=moment(self._clock.now()),
                    request_id=os.urandom(16).hex(),
                    method="other",
                    route=UNKNOWN_ROUTE,
                    status=status,
                    seconds=0.0,
                    bytes=0,
                    client=address,
                )
            )


class Connections:
    """The connections of a server.

    Attributes:
        limits: what holds now; can be replaced.
        proxies: those that are believed; can be replaced.
        refused: is told of each request that does not reach the application; None for nobody.
    """

    def __init__(
        self,
        limits: ConnectionLimits | None = None,
        proxies: Proxies | None = None,
        refused: RefusedRequests | None = None,
    ) -> None:
        self.limits = limits or ConnectionLimits()
        self.proxies = proxies or Proxies(())
        self.refused = refused
        self._places = Places()

    def take(self, address: str) -> int:
        """Count a new connection.

        Returns:
            0, or the status with which it is refused.
        """
        limits = self.limits
        each_max = limits.connections_max if self.proxies.believes(address) else limits.connections_per_address_max
        full = self._places.take(address, each_max, limits.connections_max)
        return {"": 0, "caller": 429, "all": 503}[full]

    def leave(self, address: str) -> None:
        """A connection that was counted is over."""
        self._places.leave(address)


def _read_little(transport: asyncio.BaseTransport) -> None:
    """Have a transport of asyncio read no more than `READ_BYTES_MAX` at once: by itself it reads up to 256 KB, and
    with TLS it keeps a place of that size for each connection. There is no public way to say so.
    """
    tls = getattr(transport, "_ssl_protocol", None)
    read: Any = transport if tls is None else tls
    if hasattr(read, "max_size"):
        read.max_size = READ_BYTES_MAX
    if hasattr(tls, "_ssl_buffer_view"):
        read._ssl_buffer = bytearray(READ_BYTES_MAX)
        read._ssl_buffer_view = memoryview(read._ssl_buffer)


class _HeadWithBody:
    """A transport that writes the head of an answer together with the part of the body that follows in the same turn
    of the event loop: one visit to the system instead of two, which costs more than to parse the request.

    Args:
        transport: the connection with the client.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._head = b""

    def write(self, data: bytes) -> None:
        """Write bytes, and before them a head that waits."""
        if self._head:
            head, self._head = self._head, b""
            if len(data) <= _TOGETHER_BYTES_MAX:
                data = head + data
            else:
                self._transport.write(head)
        elif data.startswith(b"HTTP/1.1 "):
            self._head = data
            self._loop.call_soon(self._flush)
            return
        self._transport.write(data)

    def close(self) -> None:
        """Close the connection when all is written."""
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        if self._head:
            self.write(b"")

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)


class PatientProtocol(AutoHTTPProtocol):  # type: ignore[misc,valid-type]  # uvicorn chooses it when it is loaded
    """uvicorn's connection with a client, with limits.

    Args:
        connections: those of the server; none of their limits is shared where they are left out.
        more: what uvicorn gives its own class.
    """

    def __init__(self, *, counted: Connections | None = None, **more: object) -> None:
        super().__init__(**more)
        self._counted = counted or Connections()
        self._limits = self._counted.limits
        self._address: str | None = None
        self._head_bytes = 0
        self._limit: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(_HeadWithBody(transport))
        _read_little(transport)
        address = self.client[0] if self.client else ""
        refused = self._counted.take(address)
        if refused:
            self._hang_up_with(refused)
            return
        self._address = address
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        is_answering = self._is_answering()
        if not is_answering:
            if not self._is_refused():
                self._head_bytes += len(data)
            if self._limit is None:
                self._wait_for_headers()
        super().data_received(data)
        if self._is_answering():
            self._stop_waiting()
            self._head_bytes = 0
        elif self._head_bytes > self._limits.header_bytes_max and not self.transport.is_closing():
            self._stop_waiting()
            self._hang_up_with(431)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = asyncio.get_running_loop().call_later(self._limits.send_s, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_reading()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_reading()
        if self._address is not None:
            self._counted.leave(self._address)
            self._address = None
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        """The headers of a request have arrived, and its answer is not over."""
        return self.cycle is not None and not self.cycle.response_complete

    def _is_refused(self) -> bool:
        """A request was answered before its body was read. The rest is dropped for a while: a client that sends on
        would not see the answer if the connection was closed."""
        return self.cycle is not None and self.cycle.response_complete and self.cycle.more_body

    def _wait_for_headers(self) -> None:
        self._limit = asyncio.get_running_loop().call_later(self._limits.headers_s, self._cut)

    def _stop_waiting(self) -> None:
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None

    def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _cut(self) -> None:
        self._limit = None
        if not self._is_answering():
            self.transport.abort()

    def _hang_up_with(self, status: int) -> None:
        """Say why, and hang up: there is no whole request that an application could answer."""
        again = "retry-after: 1\r\n" if status in (429, 503) else ""
        head = f"HTTP/1.1 {status} {phrase(status)}\r\n{again}content-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(head.encode())
        self.transport.close()
        self._tell_of(status)

    def send_400_response(self, msg: str) -> None:
        """What uvicorn answers to a request that can not be read."""
        super().send_400_response(msg)
        self._tell_of(400)

    def _tell_of(self, status: int) -> None:
        if self._counted.refused is not None:
            self._counted.refused.tell(status, self.client[0] if self.client else "")


class _Server(uvicorn.Server):
    """uvicorn's, which drains the application before it waits for what is under way."""

    def __init__(
        self, config: uvicorn.Config, drain: Callable[[], Awaitable[None]], reload: Callable[[], None] | None
    ) -> None:
        super().__init__(config)
        self._drain = drain
        self._reload = reload
        self.ended_by = 0

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._drain()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal ends the server in good order, the second one at once."""
        if self.should_exit:
            signal.signal(sig, signal.SIG_DFL)
            os.kill(os.getpid(), sig)
        self.should_exit, self.ended_by = True, sig

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        # Not by the loop: its handlers wait for a tool that keeps the loop busy, and a second signal is to end that.
        taken: dict[int, object] = {
            each: signal.signal(each, self.handle_exit) for each in (signal.SIGTERM, signal.SIGINT)
        }
        hang_up = getattr(signal, "SIGHUP", None)  # not on every system
        if hang_up is not None and self._reload is not None:
            asyncio.get_running_loop().add_signal_handler(hang_up, self._reload)
        try:
            yield
        finally:
            if hang_up is not None and self._reload is not None:
                asyncio.get_running_loop().remove_signal_handler(hang_up)
            for each, handler in taken.items():
                signal.signal(each, handler)  # type: ignore[arg-type]  # as it was


def tls(certificate: str, key: str) -> ssl.SSLContext:
    """What a server needs for TLS.

    Args:
        certificate: the file with the certificate, and those between it and the root.
        key: the file with the private key; empty where the same file holds it.

    Raises:
        OSError, ssl.SSLError: the files can not be read, or do not belong together.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key or None)
    return context


class Beside(NamedTuple):
    """Another app, served as long as the application is.

    Attributes:
        app: what answers.
        listener: where; it listens already.
    """

    app: ASGIApp
    listener: socket.socket


class _BesideServer(uvicorn.Server):
    """uvicorn's, which leaves the signals to the server of the application."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def metrics_app(metrics: Metrics, host: str) -> ASGIApp:
    """The counts alone, at an address of their own.

    Args:
        metrics: the counts.
        host: the address at which the app is going to listen; where only this machine reaches it, only its own names
            may be used, as everywhere.
    """

    async def count(request: Request) -> Response:
        hosts = request.headers.getlist("host")
        if is_loopback(host) and not (len(hosts) == 1 and fits(hosts[0], accepted(host, LOCAL).hosts)):
            return Response(status_code=421)
        return await metrics.answer(request)

    return Starlette(routes=[Route("/metrics", count)])


@asynccontextmanager
async def served_beside(beside: Sequence[Beside], end_s: int = END_S) -> AsyncIterator[None]:
    """A block within which other apps are served.

    Args:
        beside: the apps.
        end_s: seconds after which requests that are still under way are broken off.
    """
    others = [_BesideServer(_config(each.app, Connections(), None, end_s)) for each in beside]
    serving = [asyncio.create_task(other.serve([each.listener])) for other, each in zip(others, beside, strict=True)]
    try:
        yield
    finally:
        for other in others:
            other.should_exit = True
        if serving:
            await asyncio.wait(serving)


async def serve(
    application: WebApplication,
    listener: socket.socket,
    *,
    connections: Connections | None = None,
    context: ssl.SSLContext | None = None,
    end_s: int = END_S,
    reload: Callable[[], None] | None = None,
    beside: Sequence[Beside] = (),
) -> int:
    """Serve an application until the process is told to end.

    Args:
        application: the application that answers.
        listener: the socket, which listens already.
        connections: their limits.
        context: for TLS; None for plain HTTP.
        end_s: seconds after which requests that are still under way are broken off.
        reload: called when the process is told to read its settings anew.
        beside: other apps.

    Returns:
        The number of the signal that ended it.
    """
    server = _Server(_config(application.app, connections or Connections(), context, end_s), application.drain, reload)
    # Not by uvicorn, which ends the process with a status of its own where a door can not be opened.
    async with served_beside(beside, end_s), application.app.router.lifespan_context(application.app):
        await server.serve([listener])
    return server.ended_by


def _config(app: ASGIApp, connections: Connections, context: ssl.SSLContext | None, end_s: int) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        http=partial(PatientProtocol, counted=connections),  # type: ignore[arg-type]  # it is called, no more
        ws="none",
        lifespan="off",
        log_level="error",  # a warning for each request that is no HTTP would let anybody fill the log
        access_log=False,
        proxy_headers=False,  # uvicorn would believe them from this machine without a word of the operator
        server_header=False,
        h11_max_incomplete_event_size=_PARSED_BYTES_MAX,
        timeout_graceful_shutdown=end_s,
        timeout_keep_alive=IDLE_S,
    )
    config.load()
    config.ssl = context
    return config
