"""Requests to servers that the operator named, such as those of models: `POST`, over connections that are kept.

No guard looks at an address, unless a client is given one; see `transport.open_route`. Redirects are not followed, so
that credentials never travel to another host: an answer with status 3xx is handed back as it is. This file knows
nothing of models and tools.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit

from ..core.interfaces import Clock
from .body import ACCEPTED, bounded
from .connection import Headers, Timeouts
from .connection_pool import ConnectionPool, WireAnswer
from .guard import Guard
from .http import CONNECT_S_MAX, HttpFailure, WireFailure, translated
from .open_route import destination_of

ANSWER_BYTES_MAX = 64 * 1024 * 1024
CONNECTIONS_MAX = 2_000
IDLE_MAX = 256


class UpstreamTarget:
    """An address, read once.

    Args:
        url: `http` or `https`.

    Attributes:
        url: the address.
        target: its path and query, as they are sent.

    Raises:
        HttpFailure: it is no address.
    """

    def __init__(self, url: str) -> None:
        destination_of(url)
        if "@" in urlsplit(url).netloc:
            raise HttpFailure("its address holds a name or password", sent=False, lasting=True)
        self.url = url
        _, _, rest = url.partition("#")[0].partition("://")
        path = rest[len(urlsplit(url).netloc) :]
        self.target = quote(path if path.startswith("/") else f"/{path}", safe="/?%:@!$&'()*+,;=[]~").encode("ascii")


class UpstreamAnswer:
    """The head of an answer. Its body is still to be read, once; `close` gives the connection back, or ends it.

    Attributes:
        status: the HTTP status.
        headers: by name in small letters.
    """

    def __init__(self, answer: WireAnswer) -> None:
        self.status = answer.status
        self._answer = answer

    @functools.cached_property
    def headers(self) -> Mapping[str, str]:
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in self._answer.headers}

    async def piece(self) -> bytes:
        """The next piece of the body as it came, packed or not; empty at its end.

        Raises:
            HttpFailure: it broke off, or stalled.
        """
        try:
            return await self._answer.piece()
        except WireFailure as failure:
            raise translated(failure) from None

    async def chunks(self, bytes_max: int = ANSWER_BYTES_MAX) -> AsyncGenerator[bytes]:
        """The body as it comes, unpacked.

        Args:
            bytes_max: the longest body, packed and unpacked.

        Raises:
            HttpFailure: it broke off, stalled, is too long, or can not be unpacked.
        """
        pieces = bounded(self._answer.chunks(), self.headers.get("content-encoding", ""), bytes_max)
        try:
            async with aclosing(pieces):
                async for piece in pieces:
                    yield piece
        except WireFailure as failure:
            raise translated(failure) from None

    async def read(self, bytes_max: int = ANSWER_BYTES_MAX) -> bytes:
        """The whole body, unpacked.

        Args, Raises: as of `chunks`.
        """
        return b"".join([piece async for piece in self.chunks(bytes_max)])

    async def close(self) -> None:
        """Give the connection back. A body that was not read to its end ends the connection."""
        await self._answer.aclose()


class UpstreamClient:
    """Connections to such servers.

    Args:
        clock: the time, for how long connections are kept.
        guard: decides where requests may go; None where the operator named the addresses.
    """

    def __init__(self, clock: Clock | None = None, *, guard: Guard | None = None) -> None:
        self._pool = ConnectionPool(guard, clock=clock, connections_max=CONNECTIONS_MAX, idle_max=IDLE_MAX)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._pool.aclose()

    async def send(self, to: UpstreamTarget, headers: Headers, body: bytes, timeout_s: float) -> UpstreamAnswer:
        """Send a POST request and wait for the head of the answer, whose `close` has to be called.

        Where the other side closes a kept connection without a word, which it may do at any time, the request is sent
        once more over another.

        Args:
            to: where to.
            headers: all but `Host` and `Content-Length`.
            body: what to send.
            timeout_s: the longest silence in seconds: before the answer begins, and in the middle of it.

        Raises:
            HttpFailure: no answer came.
        """
        dressed = [(b"Content-Length", b"%d" % len(body)), *headers]
        timeouts = Timeouts(min(CONNECT_S_MAX, timeout_s), timeout_s, timeout_s, timeout_s)
        try:
            answer = await self._pool.send(
                "POST", to.url, dressed, body, target=to.target, timeouts=timeouts, may_repeat=True
            )
        except WireFailure as failure:
            raise translated(failure) from None
        return UpstreamAnswer(answer)


_CLIENT = UpstreamClient()


@asynccontextmanager
async def post(
    url: str, *, headers: Mapping[str, str], body: bytes, timeout_s: float, client: UpstreamClient | None = None
) -> AsyncIterator[UpstreamAnswer]:
    """Send a request and wait for the head of the answer. The connection is given back at the end of the block.

    Args:
        url: where to.
        headers: as for `UpstreamClient.send`, by name in small letters.
        body: what to send.
        timeout_s: the longest silence in seconds: before the answer begins, and in the middle of it.
        client: sends the request; None for a client that the whole program shares.

    Raises:
        HttpFailure: no answer came.
    """
    dressed = {"accept-encoding": ACCEPTED, **headers}
    try:
        sent = [(name.encode("ascii"), value.encode("latin-1")) for name, value in dressed.items()]
    except UnicodeError as error:
        raise translated(error) from None
    answer = await (client or _CLIENT).send(_target(url), sent, body, timeout_s)
    try:
        yield answer
    finally:
        await answer.close()


_target = functools.lru_cache(maxsize=256)(UpstreamTarget)
