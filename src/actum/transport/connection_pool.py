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
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from types import TracebackType
from typing import NamedTuple, Self

from .connection import AnswerHead, Headers, Patience, WireBytes, WireConnection, WireFailure
from .egress import Destination, Proxy
from .guard import Guard
from .http import certificates

CONNECTIONS_MAX = 1_000
IDLE_MAX = 64
IDLE_S_MAX = 30.0
AGE_S_MAX = 600.0
"""A connection is not kept for longer, so that a name that leads elsewhere by now is looked up again."""
Dial = Callable[[str, int], Awaitable[socket.socket]]
_OURS = frozenset(
    {b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"upgrade"}
)
"""Headers of a request that only this file sets: they say where a request goes and what becomes of its connection."""


class WireAnswer:
    """The head of an answer. The body is still to be read, once; then, or at `aclose`, the connection is given back.

    Attributes:
        status: the HTTP status.
        reason: the words beside the status.
        headers: as they came.
        address: the IP address that answered; that of the proxy where a proxy connects.
    """

    def __init__(self, head: AnswerHead, connection: WireConnection, patience: Patience, place: _Place) -> None:
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

    def leave(self, connection: WireConnection | None) -> None:
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
        self._idle: dict[Destination, list[WireConnection]] = {}
        self._count = 0
        self._clean_at = 0.0

    def take(self, to: Destination) -> WireConnection | None:
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

    def keep(self, to: Destination, connection: WireConnection) -> None:
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

    def _is_good(self, connection: WireConnection, now: float) -> bool:
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

    async def _connect(self, to: Destination, proxy: Proxy | None, patience: Patience) -> WireConnection:
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

    async def _by_proxy(self, to: Destination, proxy: Proxy, patience: Patience) -> WireConnection:
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
    ) -> WireConnection:
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
                    _, wire = await loop.create_connection(WireBytes, sock=made, ssl=context, server_hostname=name)
            except ssl.SSLError:
                raise
            except OSError as error:
                failed = error
                continue
            return WireConnection(wire, address, loop.time())
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


async def _ask(connection: WireConnection, place: _Place, sent: _Sent, patience: Patience) -> WireAnswer:
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
