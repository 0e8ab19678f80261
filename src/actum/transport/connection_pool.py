"""Connections for guarded requests: HTTP/1.1 by h11, over sockets that go only where a `Guard` looked.

A connection belongs to one destination (scheme, host and port) and to the IP address that was looked at for it. It is
kept for the next request to the same destination when both sides are done and not one byte is left over: a leftover
could be taken for the answer to somebody else's request. It is not kept where a login belongs to the connection itself
(NTLM, Negotiate). No cookies are kept.

This file knows nothing of httpx and httpx2: `transport.httpx_transport` and `transport.httpx2_transport` hand their
requests here, and `transport.fetcher` sends its own. Failures carry the name that both libraries give them.

Limits: no HTTP/2, no upgrade to another protocol, no TLS between here and a proxy.
"""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import sys
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from types import TracebackType
from typing import Literal, NamedTuple, Self, cast

import h11

from .egress import Destination, Proxy
from .guard import Guard
from .http import CONNECT_S_MAX, certificates

HEAD_BYTES_MAX = 64 * 1024
"""The longest head of an answer, and the longest line between the chunks of a body."""
INTERIM_MAX = 16
"""So many answers of status 1xx may come before the answer."""
CONNECTIONS_MAX = 1_000
IDLE_MAX = 64
IDLE_S_MAX = 30.0
AGE_S_MAX = 600.0
"""A connection is not kept for longer, so that a name that leads elsewhere by now is looked up again."""
_PIECE_BYTES = 256 * 1024
"""When so much has come that nobody read, the sender is made to wait."""

Dial = Callable[[str, int], Awaitable[socket.socket]]
Headers = Sequence[tuple[bytes, bytes]]
Kind = Literal[
    "ConnectError",
    "ConnectTimeout",
    "PoolTimeout",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "WriteError",
    "WriteTimeout",
    "LocalProtocolError",
    "RemoteProtocolError",
]

_OURS = frozenset(
    {b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"upgrade"}
)
"""Headers of a request that only this file sets: they say where a request goes and what becomes of its connection."""


class WireFailure(Exception):
    """There is no answer, or not all of it.

    Args:
        kind: how httpx and httpx2 call this failure.
        message: what happened, in words of ours.
    """

    def __init__(self, kind: Kind, message: str) -> None:
        super().__init__(message)
        self.kind: Kind = kind


class Patience(NamedTuple):
    """Seconds for each step of a request; None for no limit.

    Attributes:
        connect: until there is a connection, TLS with it.
        write: for each piece that is sent.
        read: until the whole head of the answer is there, and for each piece of its body.
        pool: until another request gives its place free.
    """

    connect: float | None = CONNECT_S_MAX
    write: float | None = None
    read: float | None = None
    pool: float | None = None

    @classmethod
    def of(cls, extensions: Mapping[str, object]) -> Patience:
        """As a request of httpx or httpx2 says it in its extensions."""
        said = extensions.get("timeout")
        known = said if isinstance(said, dict) else {}
        return cls(known.get("connect"), known.get("write"), known.get("read"), known.get("pool"))


class _Wire(asyncio.Protocol):
    """The bytes of one connection."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.has_ended = False
        self._error: Exception | None = None
        self._reads: asyncio.Future[None] | None = None
        self._writes: asyncio.Future[None] | None = None
        self._is_paused = False

    @property
    def is_quiet(self) -> bool:
        """Nothing came that nobody asked for, and the connection stands."""
        return not (self.received or self.has_ended or self.transport is None or self.transport.is_closing())

    @property
    def has_unread(self) -> bool:
        """The system holds bytes, or the end, that the event loop did not hand on yet."""
        made = self.transport.get_extra_info("socket") if self.transport is not None else None
        if made is None:
            return False
        if sys.platform == "win32":
            return bool(select.select([made], [], [], 0)[0])
        looking = select.poll()  # select.select takes no file with a number above 1024
        looking.register(made.fileno(), select.POLLIN)
        return bool(looking.poll(0))

    async def read(self) -> bytes:
        """What has come; empty at the end.

        Raises:
            OSError: the connection broke.
        """
        while not self.received:
            if self._error is not None:
                raise self._error
            if self.has_ended:
                return b""
            self._reads = asyncio.get_running_loop().create_future()
            await self._reads
        data = bytes(self.received)
        self.received.clear()
        if self._is_paused and self.transport is not None and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()
        return data

    async def write(self, data: bytes) -> None:
        """Send.

        Raises:
            OSError: the connection broke.
        """
        if self.transport is None or self.transport.is_closing():
            raise self._error or ConnectionResetError("closed")
        self.transport.write(data)
        if self._writes is not None:
            await self._writes

    def close(self) -> None:
        if self.transport is not None:
            self.transport.abort()

    # What asyncio calls. ----------------------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)  # event loops of others have classes of their own

    def data_received(self, data: bytes) -> None:
        self.received += data
        if len(self.received) > _PIECE_BYTES and self.transport is not None and not self._is_paused:
            self._is_paused = True
            self.transport.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self.has_ended = True
        self._wake()
        return False

    def connection_lost(self, error: Exception | None) -> None:
        self.has_ended, self._error = True, error
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._writes = asyncio.get_running_loop().create_future()

    def resume_writing(self) -> None:
        waiting, self._writes = self._writes, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def _wake(self) -> None:
        waiting, self._reads = self._reads, None
        if waiting is not None and not waiting.done():
            waiting.set_result(None)


class _Head(NamedTuple):
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]


class _Connection:
    """One connection, at one request at a time."""

    def __init__(self, wire: _Wire, address: str, born: float) -> None:
        self.wire = wire
        self.address = address
        self.born = born
        self.idle_since = born
        self.has_answered = False
        self._may_be_kept = True
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)

    @property
    def is_done(self) -> bool:
        """Whether the next request may be sent: both sides are done, and nothing is left over."""
        both = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        return both and self._may_be_kept and not self._http.trailing_data[0] and self.wire.is_quiet

    def begin_anew(self) -> None:
        """Make ready for the next request of a connection that is done."""
        self._http.start_next_cycle()
        self.has_answered = False

    def keep_never(self) -> None:
        """Close the connection after this request."""
        self._may_be_kept = False

    async def send(
        self, method: bytes, target: bytes, headers: Headers, body: bytes | AsyncIterable[bytes], patience: Patience
    ) -> None:
        """Send a request.

        Raises:
            WireFailure: the request is not one that HTTP can carry, or the connection broke.
        """
        try:
            said = self._http.send(h11.Request(method=method, target=target, headers=list(headers)))
            if isinstance(body, bytes):
                rest = self._http.send(h11.Data(data=body)) if body else b""
                end = self._http.send(h11.EndOfMessage())
                await self._write((said or b"") + (rest or b"") + (end or b""), patience)
                return
            await self._write(said or b"", patience)
            async for piece in body:
                await self._write(self._http.send(h11.Data(data=piece)) or b"", patience)
            await self._write(self._http.send(h11.EndOfMessage()) or b"", patience)
        except h11.LocalProtocolError:
            raise WireFailure("LocalProtocolError", "the request is not one that HTTP can carry") from None

    async def head(self, patience: Patience) -> _Head:
        """The head of the answer, all of which has to come in the time for reading.

        Raises:
            WireFailure: no head came.
        """
        try:
            async with asyncio.timeout(patience.read):
                for _ in range(INTERIM_MAX + 1):
                    event = await self._next()
                    if isinstance(event, h11.Response):
                        self.has_answered = True
                        return self._head(event)
                    if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                        break
        except TimeoutError:
            raise WireFailure("ReadTimeout", "it did not answer in time") from None
        raise WireFailure("RemoteProtocolError", "its answer is not HTTP")

    async def body(self, patience: Patience) -> AsyncGenerator[bytes]:
        """The pieces of the body.

        Raises:
            WireFailure: the body broke off, or stalled.
        """
        while True:
            try:
                async with asyncio.timeout(patience.read):
                    event = await self._next()
            except TimeoutError:
                raise WireFailure("ReadTimeout", "it did not answer in time") from None
            if not isinstance(event, h11.Data):
                return
            yield bytes(event.data)

    async def secure(self, context: ssl.SSLContext, host: str) -> None:
        """Begin TLS on a connection that a proxy made.

        Raises:
            WireFailure: bytes came before TLS began, which nobody vouches for.
            OSError: no TLS came about.
        """
        transport = self.wire.transport
        if self._http.trailing_data[0] or not self.wire.is_quiet or transport is None:
            raise WireFailure("ProxyError", "the proxy sent more than an answer")
        # asyncio stops reading before this line waits, so that no byte can slip in between.
        self.wire.transport = await asyncio.get_running_loop().start_tls(
            transport, self.wire, context, server_hostname=host
        )
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)

    def _head(self, response: h11.Response) -> _Head:
        names = {name for name, _ in response.headers}
        if b"transfer-encoding" in names and b"content-length" in names:
            self._may_be_kept = False  # two readers could find two ends (RFC 9112 section 6.3)
        return _Head(response.status_code, bytes(response.reason), list(response.headers.raw_items()))

    async def _next(self) -> h11.Event | type[h11.PAUSED]:
        while True:
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError:
                raise WireFailure("RemoteProtocolError", "its answer is not HTTP, or broke off") from None
            if event is not h11.NEED_DATA:
                return event  # type: ignore[return-value] # NEED_DATA is the only other one
            try:
                data = await self.wire.read()
            except OSError as error:
                raise WireFailure("ReadError", "the connection was lost") from error
            self.has_answered = self.has_answered or bool(data)
            self._http.receive_data(data)

    async def _write(self, data: bytes, patience: Patience) -> None:
        try:
            async with asyncio.timeout(patience.write):
                await self.wire.write(data)
        except TimeoutError:
            raise WireFailure("WriteTimeout", "it did not take the request in time") from None
        except OSError as error:
            raise WireFailure("WriteError", "the connection was lost") from error


class WireAnswer:
    """The head of an answer. The body is still to be read, once; then, or at `aclose`, the connection is given back.

    Attributes:
        status: the HTTP status.
        reason: the words beside the status.
        headers: as they came.
        address: the IP address that answered; that of the proxy where a proxy connects.
    """

    def __init__(self, head: _Head, connection: _Connection, patience: Patience, place: _Place) -> None:
        self.status, self.reason, self.headers = head
        self.address = connection.address
        self._connection = connection
        self._patience = patience
        self._place = place

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes.

        Raises:
            WireFailure: the body broke off, or stalled.
        """
        try:
            async with aclosing(self._connection.body(self._patience)) as pieces:
                async for piece in pieces:
                    yield piece
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Give the connection back. A body that was not read to its end costs the connection."""
        self._place.leave(self._connection)


class _Place:
    """The right of one request to hold one connection; given back once."""

    def __init__(self, pool: _LoopPool, to: Destination) -> None:
        self._pool: _LoopPool | None = pool
        self._to = to

    def leave(self, connection: _Connection | None) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.room.release()
        if connection is None:
            return
        if connection.is_done:
            pool.keep(self._to, connection)
        else:
            connection.wire.close()


class _LoopPool:
    """What one event loop keeps: sockets belong to a loop."""

    def __init__(self) -> None:
        self.is_closed = False
        self.room = asyncio.Semaphore(CONNECTIONS_MAX)
        self.closing: AsyncGenerator[None] | None = None
        self._idle: dict[Destination, list[_Connection]] = {}
        self._count = 0
        self._clean_at = 0.0

    def take(self, to: Destination) -> _Connection | None:
        """A kept connection to a destination."""
        now = asyncio.get_running_loop().time()
        kept = self._idle.get(to, [])
        while kept:
            connection = kept.pop()
            self._count -= 1
            if self._is_good(connection, now):
                connection.begin_anew()
                return connection
            connection.wire.close()
        return None

    def keep(self, to: Destination, connection: _Connection) -> None:
        now = connection.idle_since = asyncio.get_running_loop().time()
        if now >= self._clean_at or self._count >= IDLE_MAX:
            self._clean(now)
        if self.is_closed or self._count >= IDLE_MAX:
            connection.wire.close()
            return
        self._idle.setdefault(to, []).append(connection)
        self._count += 1

    def close(self) -> None:
        self.is_closed = True
        for connection in [each for kept in self._idle.values() for each in kept]:
            connection.wire.close()
        self._idle.clear()
        self._count = 0

    def _is_good(self, connection: _Connection, now: float) -> bool:
        is_fresh = now - connection.idle_since < IDLE_S_MAX and now - connection.born < AGE_S_MAX
        return is_fresh and connection.is_done and not connection.wire.has_unread

    def _clean(self, now: float) -> None:
        for to, kept in list(self._idle.items()):
            good = [each for each in kept if self._is_good(each, now)]
            for connection in set(kept) - set(good):
                connection.wire.close()
            self._idle[to] = good
            if not good:
                del self._idle[to]
        self._count = sum(map(len, self._idle.values()))
        self._clean_at = now + IDLE_S_MAX


class ConnectionPool:
    """Sends requests where a guard lets them, over connections that are kept.

    Args:
        guard: decides where.
        context: which certificates are trusted; those of the system by default.
        dial: connects a socket to an IP address and a port.
    """

    def __init__(self, guard: Guard, *, context: ssl.SSLContext | None = None, dial: Dial | None = None) -> None:
        self.guard = guard
        self._dial = dial or _socket
        self._context = context
        self._pools: dict[asyncio.AbstractEventLoop, _LoopPool] = {}

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes | AsyncIterable[bytes] = b"",
        *,
        target: bytes = b"",
        patience: Patience | None = None,
    ) -> WireAnswer:
        """Send a request and wait for the head of the answer. Redirects are not followed.

        Args:
            method: any.
            url: where to.
            headers: without `Host` and those of the connection, which are set here.
            body: in pieces, or whole.
            target: path and query; those of `url` when left out.
            patience: how long each step may take.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: the name is not known.
            WireFailure: no answer came.
        """
        patience = patience or Patience()
        to = self.guard.judge(url)
        proxy = self.guard.proxy(to)
        sent = _Sent(method.encode("ascii", "replace"), target or _target(url), _headers(to, headers), body)
        if proxy is not None and to.scheme == "http":
            line = [(b"Proxy-Authorization", proxy.authorization.encode())] if proxy.authorization else []
            sent = sent._replace(target=str(to).encode() + sent.target, headers=[*sent.headers, *line])
        pool = await self._pool()
        try:
            async with asyncio.timeout(patience.pool):
                await pool.room.acquire()
        except TimeoutError:
            raise WireFailure("PoolTimeout", "no connection was free in time") from None
        place = _Place(pool, to)
        try:
            return await self._exchange(pool, place, to, proxy, sent, patience)
        except BaseException:
            place.leave(None)
            raise

    async def aclose(self) -> None:
        """Close what is kept in the running event loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            pool.close()
            if pool.closing is not None:
                await pool.closing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _exchange(
        self,
        pool: _LoopPool,
        place: _Place,
        to: Destination,
        proxy: Proxy | None,
        sent: _Sent,
        patience: Patience,
    ) -> WireAnswer:
        kept = pool.take(to)
        if kept is not None:
            try:
                return await _ask(kept, place, sent, patience)
            except WireFailure as failure:
                # The other side closed the kept connection just now. A request that only reads is sent again.
                was_closed = not kept.has_answered and failure.kind in (
                    "ReadError",
                    "WriteError",
                    "RemoteProtocolError",
                )
                if not (was_closed and sent.method in (b"GET", b"HEAD") and sent.body == b""):
                    raise
        return await _ask(await self._connect(to, proxy, patience), place, sent, patience)

    async def _connect(self, to: Destination, proxy: Proxy | None, patience: Patience) -> _Connection:
        try:
            async with asyncio.timeout(patience.connect):
                if proxy is not None:
                    return await self._by_proxy(to, proxy, patience)
                context = self._trusted() if to.scheme == "https" else None
                return await self._dialled(await self.guard.look_up(to), to, context, patience.connect)
        except TimeoutError:
            raise WireFailure("ConnectTimeout", "no connection came about in time") from None
        except OSError as error:
            raise WireFailure("ConnectError", "it can not be reached") from error

    async def _by_proxy(self, to: Destination, proxy: Proxy, patience: Patience) -> _Connection:
        try:
            connection = await self._dialled(await self.guard.addresses_of(proxy), proxy.at, None, patience.connect)
        except OSError as error:
            raise WireFailure("ProxyError", "the proxy can not be reached") from error
        if to.scheme == "http":
            return connection
        try:
            host = f"[{to.host}]" if ":" in to.host else to.host
            name = f"{host}:{to.port}".encode()
            line = [(b"Proxy-Authorization", proxy.authorization.encode())] if proxy.authorization else []
            await connection.send(b"CONNECT", name, [(b"Host", name), *line], b"", patience)
            head = await connection.head(patience)
            if head.status == 407:
                raise WireFailure("ProxyError", "the proxy wants a name and password, or others")
            if not 200 <= head.status < 300:
                raise WireFailure("ProxyError", "the proxy does not let this through")
            await connection.secure(self._trusted(), to.host)
        except BaseException:
            connection.wire.close()
            raise
        return connection

    async def _dialled(
        self, addresses: Sequence[str], to: Destination, context: ssl.SSLContext | None, seconds: float | None
    ) -> _Connection:
        """A connection to the first of these IP addresses that answers. Each has its share of the seconds.

        Raises:
            OSError: none answers, or no TLS came about.
        """
        loop = asyncio.get_running_loop()
        failed: OSError | None = None
        for address in addresses:
            share = seconds / len(addresses) if seconds and address != addresses[-1] else None
            try:
                async with asyncio.timeout(share):
                    made = await self._dial(address, to.port)
                    name = to.host if context else None
                    _, wire = await loop.create_connection(_Wire, sock=made, ssl=context, server_hostname=name)
            except ssl.SSLError:
                raise
            except OSError as error:
                failed = error
                continue
            return _Connection(wire, address, loop.time())
        raise failed or OSError("no address")

    def _trusted(self) -> ssl.SSLContext:
        return self._context or certificates()

    async def _pool(self) -> _LoopPool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for other in [each for each in self._pools if each.is_closed()]:
                del self._pools[other]
            pool = self._pools[loop] = _LoopPool()
            pool.closing = _closed_with_loop(pool)
            await anext(pool.closing)
        return pool


class _Sent(NamedTuple):
    """A request."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes | AsyncIterable[bytes]


async def _ask(connection: _Connection, place: _Place, sent: _Sent, patience: Patience) -> WireAnswer:
    """Send a request and read the head of its answer; a connection that fails is closed."""
    try:
        if _is_bound(sent.headers):
            connection.keep_never()
        try:
            await connection.send(*sent, patience)
        except WireFailure as failure:
            if failure.kind != "WriteError":
                raise
            with suppress(WireFailure):  # an answer that came before the whole request was taken
                connection.keep_never()
                return WireAnswer(await connection.head(patience), connection, patience, place)
            raise
        return WireAnswer(await connection.head(patience), connection, patience, place)
    except BaseException:
        connection.wire.close()
        raise


async def _socket(address: str, port: int) -> socket.socket:
    """A socket that is connected.

    Raises:
        OSError: nobody answers.
    """
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, (address, port))
    except BaseException:
        made.close()
        raise
    return made


async def _closed_with_loop(pool: _LoopPool) -> AsyncGenerator[None]:
    """Closes what is kept at the end of the loop: `asyncio.run` then closes every generator that has begun."""
    try:
        yield
    finally:
        pool.close()


def _target(url: str) -> bytes:
    """Path and query of an address."""
    rest = url.partition("#")[0].partition("://")[2]
    at = min((place for place in (rest.find("/"), rest.find("?")) if place >= 0), default=len(rest))
    found = rest[at:]
    return (found if found.startswith("/") else f"/{found}").encode("ascii", "replace")


def _headers(to: Destination, headers: Headers) -> Headers:
    kept = [(name, value) for name, value in headers if name.lower() not in _OURS]
    return [(b"Host", to.authority.encode()), *kept]


def _is_bound(headers: Headers) -> bool:
    """Whether the login that a request brings belongs to the connection, and so would hold for the next request."""
    return any(
        name.lower() == b"authorization" and value[:9].lower().startswith((b"ntlm", b"negotiate"))
        for name, value in headers
    )
