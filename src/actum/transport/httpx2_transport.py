"""A transport for httpx2: its requests go through the guard of `transport.guard`.

client = httpx2.AsyncClient(transport=GuardedTransport(guard))
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Mapping

import httpx2

from .connection_pool import WireAnswer
from .guard import Guard
from .guarded_sender import KINDS, GuardedSender
from .http import HttpFailure, WireFailure


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Sends only where a guard lets it, over a connection to the address that the guard looked at.

    The client may follow redirects; each is judged like a first request. Which headers go along to another origin is
    the client's choice: `transport.fetcher` chooses more carefully.

    Args:
        guard: who decides.
        context: which certificates are trusted; those of the system by default.
        bytes_max: the longest body of an answer, which is then unpacked here; None leaves both to the client.
    """

    def __init__(self, guard: Guard, *, context: ssl.SSLContext | None = None, bytes_max: int | None = None) -> None:
        self._sender = GuardedSender(guard, context=context, bytes_max=bytes_max)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Look at the address, then send.

        Raises:
            AddressRefused: the address may not be reached.
            HttpFailure: the name is not known.
            httpx2.TransportError: no answer came.
        """
        try:
            body: object = request.content
        except httpx2.RequestNotRead:
            body = request.stream
        assert isinstance(body, bytes | httpx2.AsyncByteStream)
        try:
            answer = await self._sender.send(
                request.method,
                str(request.url),
                request.headers.raw,
                body,
                target=request.url.raw_path,
                extensions=request.extensions,
            )
        except WireFailure as failure:
            raise _raised(failure, request) from failure.__cause__
        return httpx2.Response(
            answer.status,
            headers=self._sender.headers(answer),
            stream=_Body(answer, request, self._sender),
            extensions={"http_version": b"HTTP/1.1", "reason_phrase": answer.reason},
        )

    async def aclose(self) -> None:
        await self._sender.aclose()


_FAILURES: Mapping[str, type[httpx2.TransportError]] = {kind: getattr(httpx2, kind) for kind in KINDS}


class _Body(httpx2.AsyncByteStream):
    def __init__(self, answer: WireAnswer, request: httpx2.Request, sender: GuardedSender) -> None:
        self._answer = answer
        self._request = request
        self._sender = sender

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for piece in self._sender.chunks(self._answer):
                yield piece
        except WireFailure as failure:
            raise _raised(failure, self._request) from failure.__cause__
        except HttpFailure as failure:
            raise httpx2.DecodingError(str(failure), request=self._request) from None

    async def aclose(self) -> None:
        await self._answer.aclose()


def _raised(failure: WireFailure, request: httpx2.Request) -> httpx2.TransportError:
    return _FAILURES[failure.kind](str(failure), request=request)
