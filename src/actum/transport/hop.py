"""The way of a request that is passed on: an HTTP request out of finished bytes, over httpcore2's pool of connections.

`transport.http` speaks for models that run here, by httpx2. A gateway does little else than to pass requests on, and
four fifths of its time would be spent in httpx2, so this file uses the pool below it. Certificates are the system's,
proxies those of the environment. Redirects are not followed.

This file knows nothing of models. To import it takes as long as `transport.http`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpcore2
import httpx2

from .http import ANSWER_BYTES_MAX, CONNECT_S_MAX, HttpFailure, certificates, translated
from .joined_writes import JoinedBackend

CONNECTIONS_MAX = 2_000
IDLE_MAX = 256
IDLE_S = 30.0

Headers = Sequence[tuple[bytes, bytes]]


class HopTarget:
    """An address, read once.

    Args:
        url: `http` or `https`.

    Raises:
        ValueError: it is no address.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        _ = parts.port  # raises for a port that can not be
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise ValueError("no address")
        self.url = httpcore2.URL(url)
        self.host = parts.netloc.rpartition("@")[2].encode()
        self.proxy = _proxy_for(parts.scheme, parts.hostname, parts.netloc)


class HopAnswer:
    """The head of an answer. Its body is still to be read, once; `close` gives the connection back, or ends it.

    Attributes:
        status: the HTTP status.
        headers: as they came; names in small letters.
    """

    def __init__(self, response: httpcore2.Response) -> None:
        self.status = response.status
        self.headers = [(name.lower(), value) for name, value in response.headers]
        self._response = response
        self._pieces: AsyncIterator[bytes] | None = None

    def header(self, name: bytes) -> bytes:
        """The value of a header; empty where there is none."""
        return next((value for each, value in self.headers if each == name), b"")

    async def piece(self) -> bytes:
        """The next piece of the body; empty at its end.

        Raises:
            HttpFailure: it broke off, or stalled.
        """
        if self._pieces is None:
            self._pieces = aiter(self._response.stream)  # type: ignore[arg-type]  # of a pool it is an async one
        try:
            async for found in self._pieces:
                if found:
                    return found
        except _FOREIGN as error:
            raise _translated(error) from None
        return b""

    async def read(self, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        """The whole body.

        Raises:
            HttpFailure: it broke off, stalled, or is too long.
        """
        pieces, size = [], 0
        while piece := await self.piece():
            size += len(piece)
            if size > bytes_max:
                raise HttpFailure(f"its answer is longer than {bytes_max} bytes", sent=True, lasting=True)
            pieces.append(piece)
        return b"".join(pieces)

    async def close(self) -> None:
        """Give the connection back. A body that was not read to its end ends the connection."""
        with suppress(*_FOREIGN):
            await self._response.aclose()


class Hop:
    """Connections to the servers that requests are passed on to. To be used in one event loop."""

    def __init__(self) -> None:
        self._pools: dict[str, httpcore2.AsyncConnectionPool] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            await pool.aclose()

    async def send(self, to: HopTarget, headers: Headers, body: bytes, timeout_s: float) -> HopAnswer:
        """Send a POST request and wait for the head of the answer, whose `close` has to be called.

        Where the other side hangs up without a word, the request is sent once more over another connection: a
        connection that was kept may be closed by the other side at any time.

        Args:
            to: where to.
            headers: all but `Host` and `Content-Length`.
            body: what to send.
            timeout_s: the longest silence in seconds: before the answer begins, and in the middle of it.

        Raises:
            HttpFailure: no answer came.
        """
        silence = {"connect": min(CONNECT_S_MAX, timeout_s), "read": timeout_s, "write": timeout_s, "pool": timeout_s}
        dressed = [(b"host", to.host), (b"content-length", b"%d" % len(body)), *headers]
        for attempt in (1, 2):
            request = httpcore2.Request(b"POST", to.url, headers=dressed, content=body, extensions={"timeout": silence})
            try:
                return HopAnswer(await self._pool(to.proxy).handle_async_request(request))
            except _HUNG_UP as error:
                # A connection that was kept may have been closed by the other side at this moment.
                if attempt == 2 or (isinstance(error, httpcore2.RemoteProtocolError) and _NO_WORD not in str(error)):
                    raise _translated(error) from None
            except _FOREIGN as error:
                raise _translated(error) from None
        raise AssertionError("unreachable")

    def _pool(self, proxy: str) -> httpcore2.AsyncConnectionPool:
        pool = self._pools.get(proxy)
        if pool is None:
            pool = self._pools[proxy] = httpcore2.AsyncConnectionPool(
                ssl_context=certificates(),
                proxy=_proxy_of(proxy) if proxy else None,
                max_connections=CONNECTIONS_MAX,
                max_keepalive_connections=IDLE_MAX,
                keepalive_expiry=IDLE_S,
                network_backend=JoinedBackend(),
            )
        return pool


def _proxy_of(address: str) -> httpcore2.Proxy:
    parts = urlsplit(address)
    auth = (parts.username or "", parts.password or "") if parts.username else None
    return httpcore2.Proxy(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", auth=auth)


def _proxy_for(scheme: str, host: str, netloc: str) -> str:
    """The proxy that the environment names for a host; empty for this machine, which no proxy can reach."""
    if host in ("localhost", "127.0.0.1", "::1") or proxy_bypass(netloc.rpartition("@")[2]):
        return ""
    found = getproxies()
    address = found.get(scheme) or found.get("all") or ""
    return address if "://" in address or not address else f"http://{address}"


_FOREIGN = (
    httpcore2.TimeoutException,
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.ProxyError,
    httpcore2.UnsupportedProtocol,
    OSError,
)

_HUNG_UP = (httpcore2.RemoteProtocolError, httpcore2.ReadError, httpcore2.WriteError)
_NO_WORD = "disconnected without sending"


def _translated(error: Exception) -> HttpFailure:
    """A foreign error in words of ours: httpx2 has an error of the same name, and a table of them stands in `http`."""
    kind = getattr(httpx2, type(error).__name__, None)
    known = kind(str(error)) if isinstance(kind, type) and issubclass(kind, httpx2.HTTPError) else error
    if known is not error:
        known.__cause__ = error.__cause__ or error.__context__ or error
    return translated(known)
