"""Connections for all outgoing requests: HTTP/1.1 by h11, over sockets that go only where a `Guard` looked, where there
is one.

A connection belongs to one tenant, to one destination (scheme, host and port) and to the IP address that was looked at
for it. It is kept for the next request of the same tenant to the same destination when both sides are done and not one
byte is left over: a leftover could be taken for the answer to somebody else's request. It is not kept where a login
belongs to the connection itself (NTLM, Negotiate). No cookies are kept.

A connection is closed, and nobody gets what came on it, where bytes came while nobody used the connection, stood there
when a request began, came before a request was wholly sent, or came after the end of an answer. The destination is then
used without kept connections for ten minutes; see `transport.distrust`.

This file knows nothing of httpx and httpx2: `transport.httpx_transport` and `transport.httpx2_transport` hand their
requests here; `transport.fetcher` and `transport.upstream_client` send their own. Failures carry the name that both
libraries give them.

Limits: no HTTP/2, no upgrade to another protocol, no TLS between here and a proxy, no SOCKS. Bytes that come while a
request is under way, after it was wholly sent, can not be told from its answer: HTTP/1.1 gives an answer no name. See
`docs/egress.md`.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import NamedTuple, Self

from ..core.clock import SystemClock
from ..core.interfaces import Clock
from ..core.process.tenant import current_tenant
from .connection import AnswerHead, Headers, Timeouts, WireBytes, WireConnection
from .distrust import distrust
from .egress import Destination, Proxy
from .guard import Guard
from .http import UNASKED, WireFailure, certificates
from .open_route import OpenRoute

CONNECTIONS_MAX = 1_000
IDLE_MAX = 64
IDLE_S_MAX = 30.0
AGE_S_MAX = 600.0
"""A connection is not kept for longer, so that a name that leads elsewhere by now is looked up again."""
NEXT_ADDRESS_S = 0.25
"""Seconds without an answer of one address of a host after which the next is tried beside it (RFC 8305)."""
Dial = Callable[[str, int], Awaitable[socket.socket]]
_OURS = frozenset(
    {
        *(b"host", b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"te", b"upgrade"),
        b"expect",  # the body is sent at once, and an answer that comes before its end is not waited for
    }
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

    def __init__(self, head: AnswerHead, connection: WireConnection, timeouts: Timeouts, place: _Place) -> None:
        self.status, self.reason, self.headers = head
        self.address = connection.address
        self._connection = connection
        self._timeouts = timeouts
        self._place = place
        self._is_over = self._is_closed = False

    async def piece(self) -> bytes:
        """The next piece of the body; empty at its end.

        Raises:
            WireFailure: the body broke off, or stalled.
        """
        if self._is_over:
            return b""
        if self._is_closed:  # another request may have the connection now
            raise WireFailure("ReadError", "the answer was closed before it was read")
        try:
            found = await self._connection.piece(self._timeouts)
        except BaseException:
            await self.aclose()
            raise
        if not found:
            self._is_over = True
            self._place.leave(self._connection)
        return found

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body as it comes.

        Raises:
            WireFailure: the body broke off, or stalled.
        """
        try:
            while piece := await self.piece():
                yield piece
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        """Give the connection back. A body that was not read costs the connection, unless all of it is here already."""
        if not self._is_over and not self._is_closed:
            self._connection.skip()
        self._is_closed = True
        self._place.leave(self._connection)


class _Owner(NamedTuple):
    """Whose a connection is: it is kept for no other."""

    tenant: str
    to: Destination
    proxy: Proxy | None


class _Place:
    """The right of one request to hold one connection; given back once."""

    def __init__(self, pool: _LoopPool, owner: _Owner) -> None:
        self._pool: _LoopPool | None = pool
        self._owner = owner

    def leave(self, connection: WireConnection | None) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        pool.room.release()
        if connection is None:
            return
        if connection.has_leftover:
            pool.distrust(self._owner, "it sent more than its answer")
        if connection.is_done:
            pool.keep(self._owner, connection)
        else:
            connection.wire.close()


class _LoopPool:
    """What one event loop keeps: sockets belong to a loop."""

    def __init__(self, connections_max: int, idle_max: int, clock: Clock) -> None:
        self.is_closed = False
        self.room = asyncio.Semaphore(connections_max)
        self.closing: AsyncGenerator[None] | None = None
        self._idle_max = idle_max
        self._clock = clock
        self._distrust = distrust()
        self._idle: dict[_Owner, list[WireConnection]] = {}
        self._count = 0
        self._clean_at = 0.0

    def may_keep(self, owner: _Owner) -> bool:
        """Whether connections of an owner are kept."""
        return not self._distrust.holds(owner.to, self._clock.monotonic(), owner.tenant)

    def distrust(self, owner: _Owner, why: str, *, is_provoked: bool = False) -> None:
        """Keep no connection to a destination for a while."""
        self._distrust.begin(owner.to, why, self._clock.monotonic(), tenant=owner.tenant if is_provoked else None)
        for each in [each for each in self._idle if each.to == owner.to and not self.may_keep(each)]:
            self._drop(each)

    async def take(self, owner: _Owner) -> WireConnection | None:
        """A kept connection, on which nothing came since."""
        if not self.may_keep(owner):
            self._drop(owner)
            return None
        while kept := self._idle.get(owner):
            connection = kept.pop()
            self._count -= 1
            connection.wire.unasked = None
            try:
                is_good = self._is_fresh(connection) and await connection.is_settled()
            except BaseException:
                connection.wire.close()
                raise
            if connection.has_leftover:
                self.distrust(owner, UNASKED)
            if is_good and self.may_keep(owner):
                connection.begin_anew()
                return connection
            connection.wire.close()
        return None

    def keep(self, owner: _Owner, connection: WireConnection) -> None:
        now = connection.idle_since = self._clock.monotonic()
        if now >= self._clean_at or self._count >= self._idle_max:
            self._clean(now)
        if self.is_closed or not self.may_keep(owner):
            connection.wire.close()
            return
        if self._count >= self._idle_max:
            self._close(next(kept for kept in self._idle.values() if kept).pop(0))
        kept = self._idle.pop(owner, [])  # from now on the last of all
        self._idle[owner] = [*kept, connection]
        self._count += 1
        connection.wire.unasked = partial(self._heard, owner, connection)

    def close(self) -> None:
        self.is_closed = True
        for owner in list(self._idle):
            self._drop(owner)

    def _heard(self, owner: _Owner, connection: WireConnection) -> None:
        """Bytes came on a connection that nobody uses."""
        self._idle[owner].remove(connection)
        self._close(connection)
        self.distrust(owner, UNASKED)

    def _drop(self, owner: _Owner) -> None:
        for connection in self._idle.pop(owner, []):
            self._close(connection)

    def _close(self, connection: WireConnection) -> None:
        """Close a connection that was kept."""
        self._count -= 1
        connection.wire.unasked = None
        connection.wire.close()

    def _is_fresh(self, connection: WireConnection) -> bool:
        now = self._clock.monotonic()
        is_young = now - connection.idle_since < IDLE_S_MAX and now - connection.born < AGE_S_MAX
        return is_young and connection.is_done

    def _clean(self, now: float) -> None:
        for owner, kept in list(self._idle.items()):
            self._idle[owner] = [each for each in kept if self._is_fresh(each)]
            for connection in kept:
                if not self._is_fresh(connection):
                    self._close(connection)
            if not self._idle[owner]:
                del self._idle[owner]
        self._clean_at = now + IDLE_S_MAX


class ConnectionPool:
    """Sends requests over connections that are kept: where a guard lets them, or to what the operator named.

    Args:
        guard: decides which addresses are allowed; None where the operator named the address, so that nothing is
            refused and the proxies are those of the environment.
        context: which certificates are trusted; those of the system by default.
        dial: connects a socket to an IP address and a port.
        clock: the time, for how long connections are kept.
        connections_max: the most connections; further requests wait.
        idle_max: the most idle connections that are kept.
    """

    def __init__(
        self,
        guard: Guard | None,
        *,
        context: ssl.SSLContext | None = None,
        dial: Dial | None = None,
        clock: Clock | None = None,
        connections_max: int = CONNECTIONS_MAX,
        idle_max: int = IDLE_MAX,
    ) -> None:
        self._route = guard or OpenRoute()
        self._dial = dial or _socket
        self._context = context
        self._clock = clock or SystemClock()
        self._maxima = (connections_max, idle_max)
        self._pools: dict[asyncio.AbstractEventLoop, _LoopPool] = {}

    async def send(
        self,
        method: str,
        url: str,
        headers: Headers,
        body: bytes | AsyncIterable[bytes] = b"",
        *,
        target: bytes = b"",
        timeouts: Timeouts | None = None,
        may_repeat: bool = False,
    ) -> WireAnswer:
        """Send a request and wait for the head of the answer. Redirects are not followed.

        Args:
            method: any.
            url: where to.
            headers: without `Host` and those of the connection, which are set here.
            body: in pieces, or whole.
            target: path and query; those of `url` when left out.
            timeouts: how long each step may take.
            may_repeat: a request with a whole body is sent once more where a kept connection was lost without an
                answer. Requests that only read are repeated in any case.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: the name is not known.
            WireFailure: no answer came.
        """
        timeouts = timeouts or Timeouts()
        to = self._route.judge(url)
        proxy = self._route.proxy(to)
        pool = await self._pool()
        owner = _Owner(current_tenant(), to, proxy)
        dressed = _headers(to, headers, is_kept=pool.may_keep(owner))
        sent = _Sent(method.encode("ascii", "replace"), target or _target(url), dressed, body)
        if proxy is not None and to.scheme == "http":
            line = [(b"Proxy-Authorization", proxy.authorization.encode())] if proxy.authorization else []
            sent = sent._replace(target=str(to).encode() + sent.target, headers=[*sent.headers, *line])
        if pool.room.locked():
            try:
                async with asyncio.timeout(timeouts.pool):
                    await pool.room.acquire()
            except TimeoutError:
                raise WireFailure("PoolTimeout", "no connection was free in time") from None
        else:
            await pool.room.acquire()  # at once
        exchange = _Exchange(pool, owner, sent, timeouts)
        try:
            kept = await pool.take(owner)
            answer = await exchange.over_kept(kept, may_repeat=may_repeat) if kept is not None else None
            return answer or await exchange.over(await self._connect(to, proxy, timeouts))
        except BaseException:
            exchange.place.leave(None)
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

    async def _connect(self, to: Destination, proxy: Proxy | None, timeouts: Timeouts) -> WireConnection:
        try:
            async with asyncio.timeout(timeouts.connect):
                if proxy is not None:
                    return await self._by_proxy(to, proxy, timeouts)
                context = self._trusted() if to.scheme == "https" else None
                return await self._dialled(await self._route.look_up(to), to, context)
        except TimeoutError:
            raise WireFailure("ConnectTimeout", "no connection came about in time") from None
        except OSError as error:
            raise WireFailure("ConnectError", "it can not be reached") from error

    async def _by_proxy(self, to: Destination, proxy: Proxy, timeouts: Timeouts) -> WireConnection:
        try:
            connection = await self._dialled(await self._route.addresses_of(proxy), proxy.at, None)
        except OSError as error:
            raise WireFailure("ProxyError", "the proxy can not be reached") from error
        if to.scheme == "http":
            return connection
        try:
            host = f"[{to.host}]" if ":" in to.host else to.host
            name = f"{host}:{to.port}".encode()
            line = [(b"Proxy-Authorization", proxy.authorization.encode())] if proxy.authorization else []
            await connection.send(b"CONNECT", name, [(b"Host", name), *line], b"", timeouts)
            head = await connection.head(timeouts)
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
        self, addresses: Sequence[str], to: Destination, context: ssl.SSLContext | None
    ) -> WireConnection:
        """A connection to the first of these IP addresses that answers.

        Raises:
            OSError: none answers, or no TLS came about.
        """
        address, made = await _first(self._dial, addresses, to.port)
        name = to.host if context else None
        loop = asyncio.get_running_loop()
        _, wire = await loop.create_connection(WireBytes, sock=made, ssl=context, server_hostname=name)
        return WireConnection(wire, address, self._clock.monotonic())

    def _trusted(self) -> ssl.SSLContext:
        return self._context or certificates()

    async def _pool(self) -> _LoopPool:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            for other in [each for each in self._pools if each.is_closed()]:
                del self._pools[other]
            pool = self._pools[loop] = _LoopPool(*self._maxima, self._clock)
            pool.closing = _closed_with_loop(pool)
            await anext(pool.closing)
        return pool


class _Sent(NamedTuple):
    """A request."""

    method: bytes
    target: bytes
    headers: Headers
    body: bytes | AsyncIterable[bytes]


class _Exchange:
    """One request on its way to an answer."""

    def __init__(self, pool: _LoopPool, owner: _Owner, sent: _Sent, timeouts: Timeouts) -> None:
        self.place = _Place(pool, owner)
        self._pool = pool
        self._owner = owner
        self._sent = sent
        self._timeouts = timeouts

    async def over_kept(self, kept: WireConnection, *, may_repeat: bool) -> WireAnswer | None:
        """The answer over a kept connection; None where the request may be sent over another, since the other side
        closed this one just now, or sent bytes on it before it had the request.
        """
        try:
            return await self.over(kept)
        except WireFailure as failure:
            is_lost = failure.kind in ("ReadError", "WriteError", "RemoteProtocolError")
            is_unanswered = kept.wire.came_early or not kept.has_answered
            only_reads = self._sent.method in (b"GET", b"HEAD") and self._sent.body == b""
            may_repeat = only_reads or (may_repeat and isinstance(self._sent.body, bytes))
            if is_lost and is_unanswered and may_repeat:
                return None
            raise

    async def over(self, connection: WireConnection) -> WireAnswer:
        """Send the request and read the head of its answer; a connection that fails is closed."""
        try:
            if not connection.is_kept and not await connection.is_settled() and connection.has_leftover:
                raise WireFailure("RemoteProtocolError", UNASKED)
            if _is_bound(self._sent.headers):
                connection.keep_never()
            return WireAnswer(await self._head(connection), connection, self._timeouts, self.place)
        except BaseException as error:
            is_garbled = isinstance(error, WireFailure) and error.kind == "RemoteProtocolError"
            is_unasked = connection.has_leftover or (is_garbled and connection.is_kept and connection.has_answered)
            if is_unasked and not connection.wire.came_early:
                self._pool.distrust(self._owner, UNASKED)
            connection.wire.close()
            raise
        finally:
            if connection.wire.came_early:
                connection.keep_never()
                why = "it answered before it had the whole request"
                self._pool.distrust(self._owner, why, is_provoked=True)

    async def _head(self, connection: WireConnection) -> AnswerHead:
        try:
            await connection.send(*self._sent, self._timeouts)
        except WireFailure as failure:
            if failure.kind != "WriteError":
                raise
            with suppress(WireFailure):  # an answer that came before the whole request was taken
                connection.keep_never()
                return await connection.head(self._timeouts)
            raise
        return await connection.head(self._timeouts)


async def _first(dial: Dial, addresses: Sequence[str], port: int) -> tuple[str, socket.socket]:
    """The first of these IP addresses that answers, and a socket that is connected to it.

    Raises:
        OSError: none answers.
    """
    if len(addresses) == 1:
        return addresses[0], await dial(addresses[0], port)
    left, tries = list(addresses), dict[asyncio.Future[socket.socket], str]()
    failed: BaseException | None = None
    try:
        while left or tries:
            if left:
                address = left.pop(0)
                tries[asyncio.ensure_future(dial(address, port))] = address
            done, _ = await asyncio.wait(
                tries, timeout=NEXT_ADDRESS_S if left else None, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                address = tries.pop(task)
                failed = task.exception()
                if failed is None:
                    return address, task.result()
    finally:
        for task in tries:
            task.add_done_callback(_given_up)
            task.cancel()
    raise failed or OSError("no address")


def _given_up(task: asyncio.Future[socket.socket]) -> None:
    """Close the socket to an address that answered after another."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _socket(address: str, port: int) -> socket.socket:
    """A socket that is connected.

    Raises:
        OSError: nobody answers.
    """
    made = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setblocking(False)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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


def _headers(to: Destination, headers: Headers, *, is_kept: bool) -> Headers:
    own = [(name, value) for name, value in headers if name.lower() not in _OURS]
    ours = [(b"Host", to.authority.encode())]
    return [*ours, *own] if is_kept else [*ours, (b"Connection", b"close"), *own]


def _is_bound(headers: Headers) -> bool:
    """Whether the login that a request brings belongs to the connection, and so would hold for the next request."""
    return any(
        name.lower() == b"authorization" and value[:9].lower().startswith((b"ntlm", b"negotiate"))
        for name, value in headers
    )
