"""What one HTTP request is answered: JSON where a result is all there is to say, else a stream of events.

The stream begins with the first word that is told ahead of the result, or when the client has waited a while: so a
refusal has its status, and silence is not taken for the end. It knows nothing of what it carries. Limits: a stream that
broke off can not be taken up again.

Source: Model Context Protocol 2026-07-28 and 2025-11-25 (basic/transports), HTML (server-sent events).
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from starlette.types import Receive, Send

from ...core.json import JsonObject

MOMENT_S = 0.1
"""After this it is looked whether the client is still there: most answers are given sooner."""
PIECE_BYTES = 64 * 1024
"""A long body is sent in pieces of this size: the next piece is handed over when the client has read of the last."""
SEND_S = 30.0
"""Seconds without taking a piece after which a client is cut off."""
WAITING_BYTES_MAX = 64 * 1024 * 1024
"""The most bytes that may wait for slow clients of one server."""
PING_S = 15.0
"""Seconds that a stream may be silent."""

Headers = Sequence[tuple[bytes, bytes]]

_JSON = ((b"content-type", b"application/json"),)
_STREAM = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
)


class Outbox:
    """The long bodies that wait for clients to read them. The memory that they take together is bounded.

    Args:
        bytes_max: where more waits, the client that has read nothing for the longest time is cut off.
    """

    def __init__(self, bytes_max: int = WAITING_BYTES_MAX) -> None:
        self._bytes_max = bytes_max
        self._waiting: dict[asyncio.Timeout, int] = {}

    @property
    def size(self) -> int:
        """How many bytes wait."""
        return sum(self._waiting.values())

    async def send(self, body: bytes, put: Callable[[bytes, bool], Awaitable[None]]) -> None:
        """Send a body in pieces.

        Args:
            body: what is sent.
            put: sends a piece, and says whether it is the last one of the body.

        Raises:
            TimeoutError: the client does not read.
        """
        async with asyncio.timeout(SEND_S) as limit:
            for at in range(0, len(body), PIECE_BYTES):
                self._waiting.pop(limit, None)
                self._waiting[limit] = len(body)  # at the end: it took something right now
                limit.reschedule(asyncio.get_running_loop().time() + SEND_S)
                self._make_room()
                try:
                    await put(body[at : at + PIECE_BYTES], at + PIECE_BYTES >= len(body))
                finally:
                    self._waiting.pop(limit, None)

    def _make_room(self) -> None:
        while self.size > self._bytes_max and len(self._waiting) > 1:
            slowest = next(iter(self._waiting))
            del self._waiting[slowest]
            slowest.reschedule(0.0)


class HttpAnswer:
    """The answer to one request; several parts of the server may write to it.

    Args:
        receive, send: of the ASGI server.
        headers: of the response, beside its type.
        opens_after_s: a client that has waited this long is given a stream.
        outbox: where a long body waits for its client; shared by all clients of a server.

    Attributes:
        is_over: all was said, or the client has gone: what is told now is dropped.
    """

    def __init__(
        self,
        receive: Receive,
        send: Send,
        *,
        headers: Headers = (),
        opens_after_s: float = PING_S,
        outbox: Outbox | None = None,
    ) -> None:
        self._outbox = outbox or Outbox()
        self._receive = receive
        self._send = send
        self._headers = headers
        self._opens_after_s = opens_after_s
        self._writing = asyncio.Lock()
        self._is_begun = False
        self._attendant: asyncio.TimerHandle | asyncio.Task[None] | None = None
        self.is_over = False

    async def tell(self, message: JsonObject) -> None:
        """Send a message ahead of the result."""
        await self._stream(_event(message))

    async def end(self, message: JsonObject, status: int = 200) -> None:
        """Send the result; its status counts where nothing was told before."""
        async with self._writing:
            body = _event(message) if self._is_begun else _encode(message)
            del message  # while a slow client reads, its bytes are all that is kept
            if self._is_begun:
                await self._put(body)
            else:
                await self._put_whole(status, body, _JSON)

    async def refuse(self, status: int) -> None:
        """Answer with no more than this."""
        async with self._writing:
            await self._put_whole(status)

    async def _stream(self, event: bytes, *, more: bool = True) -> None:
        async with self._writing:
            await self._put(event, more=more)

    async def _put_whole(self, status: int, body: bytes = b"", about: Headers = ()) -> None:
        await self._put(body, status, (*about, (b"content-length", b"%d" % len(body))))

    async def _put(self, body: bytes, status: int = 200, about: Headers = _STREAM, *, more: bool = False) -> None:
        """Send the next part, and the head before the first; the caller has the line."""
        if self.is_over:
            return
        self.is_over = not more
        try:
            if not self._is_begun:
                headers = [*about, *self._headers]
                await self._send({"type": "http.response.start", "status": status, "headers": headers})
                self._is_begun = True  # not before: who waits for a slow reader may be cancelled
            if len(body) <= PIECE_BYTES:
                await self._send({"type": "http.response.body", "body": body, "more_body": more})
                return

            async def put(piece: bytes, is_last: bool) -> None:  # as `Outbox.send` calls it
                await self._send({"type": "http.response.body", "body": piece, "more_body": more or not is_last})

            await self._outbox.send(body, put)
        except OSError:  # some servers say so that the client has gone; a timeout is one, too
            self.is_over = True  # a web server cuts a response that ends in the middle

    # While it takes its time ------------------------------------------------------------------------------------------

    def attend(self, gone: Callable[[], object]) -> None:
        """From a moment on, keep the client at the line; `gone` is called when it hangs up."""
        self._attendant = asyncio.get_running_loop().call_later(MOMENT_S, self._stand_by, gone)

    def leave(self) -> None:
        """Attend it no more."""
        if self._attendant is not None:
            self._attendant.cancel()

    async def stay(self) -> None:
        """Keep a stream for what there will be to tell, until the client hangs up or it is left."""
        await self._stream(_PING)
        attendant = self._attendant = asyncio.create_task(self._attend(lambda: None))
        try:
            await asyncio.wait([attendant])
            await self._stream(b"", more=False)
        finally:
            attendant.cancel()

    def _stand_by(self, gone: Callable[[], object]) -> None:
        self._attendant = asyncio.create_task(self._attend(gone))

    async def _attend(self, gone: Callable[[], object]) -> None:
        leaving = asyncio.create_task(self._until_gone())
        try:
            wait_s = self._opens_after_s
            while not self.is_over and not (await asyncio.wait([leaving], timeout=wait_s))[0]:
                await self._stream(_PING)
                wait_s = PING_S
        finally:
            leaving.cancel()
        self.is_over = True
        gone()

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


def _event(message: JsonObject) -> bytes:
    return b"event: message\r\ndata: %b\r\n\r\n" % _encode(message)


_encode = msgspec.json.Encoder().encode
_PING = b": ping\r\n\r\n"
