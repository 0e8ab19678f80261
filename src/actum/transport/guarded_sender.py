"""What the transports for httpx and httpx2 share: requests that go through the guard, and answers that are bounded.

This file knows neither package: each transport hands its requests here and translates the failures.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterable, AsyncIterator, Mapping

from .body import bounded
from .connection import Timeouts
from .connection_pool import ConnectionPool, WireAnswer
from .guard import Guard

KINDS = (
    "ConnectError",
    "ConnectTimeout",
    "LocalProtocolError",
    "PoolTimeout",
    "ProxyError",
    "ReadError",
    "ReadTimeout",
    "RemoteProtocolError",
    "WriteError",
    "WriteTimeout",
)
"""The kinds of failures, by the name of their class in both packages."""
_OF_PACKING = frozenset({b"content-encoding", b"content-length"})


class GuardedSender:
    """Sends requests where a guard lets it, over a connection to the address that the guard looked at.

    Args:
        guard: who decides.
        context: which certificates are trusted; those of the system by default.
        bytes_max: the longest body of an answer, which is then unpacked here; None leaves both to the client.
    """

    def __init__(self, guard: Guard, *, context: ssl.SSLContext | None = None, bytes_max: int | None = None) -> None:
        self._pool = ConnectionPool(guard, context=context)
        self._bytes_max = bytes_max

    async def send(
        self,
        method: str,
        url: str,
        headers: list[tuple[bytes, bytes]],
        body: bytes | AsyncIterable[bytes],
        *,
        target: bytes,
        extensions: Mapping[str, object],
    ) -> WireAnswer:
        """Look at the address, then send.

        Args:
            method, url, headers, body: of the request.
            target: the path and query, as they are sent.
            extensions: of the request, which say how long it may take.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: the name is not known.
            WireFailure: no answer came.
        """
        timeouts = Timeouts.of(extensions)
        return await self._pool.send(method, url, headers, body, target=target, timeouts=timeouts)

    def headers(self, answer: WireAnswer) -> list[tuple[bytes, bytes]]:
        """The headers of an answer, as the client is to read them."""
        if self._bytes_max is None:
            return answer.headers
        return [(name, value) for name, value in answer.headers if name.lower() not in _OF_PACKING]

    def chunks(self, answer: WireAnswer) -> AsyncIterator[bytes]:
        """The body of an answer as it comes.

        Raises:
            HttpFailure: the body is too long, or can not be unpacked.
            WireFailure: the connection broke.
        """
        pieces = answer.chunks()
        if self._bytes_max is None:
            return pieces
        encoding = next((v for name, v in answer.headers if name.lower() == b"content-encoding"), b"")
        return bounded(pieces, encoding.decode("latin-1"), self._bytes_max)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._pool.aclose()
