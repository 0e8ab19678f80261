"""One connection: its bytes, which asyncio brings, and the protocol on them, which is h11's.

This file knows nothing of addresses and of who may connect where: `transport.connection_pool` hands it a socket that
stands. A connection carries one request at a time, and says afterwards whether it is fit for another, and whether bytes
came that nobody had asked for: after the end of an answer, or before a request was wholly sent.
"""

from __future__ import annotations

import asyncio
import select
import ssl
import sys
from collections.abc import AsyncIterable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple, cast

import h11

from .http import CONNECT_S_MAX, MALFORMED, NOT_HTTP, UNASKED, WireFailure

HEAD_BYTES_MAX = 64 * 1024
"""The longest head of an answer, and the longest line between the chunks of a body."""
HEAD_LINES_MAX = 1_000
"""The most lines of a head. Each line is some work."""
PORTION_BYTES = 8 * 1024
"""The bytes of a body after which other tasks have a turn. No piece of a body is longer, since a piece is processed in
one go."""
_PIECE_LEAST = 128
"""The bytes that a shorter piece counts for: some servers send a body in pieces of one byte."""
_LINE_BYTES = 64
"""An end of a line counts for at least this many bytes: each line may be an event of a stream."""
_LINES_PORTION_BYTES = 512
"""The most bytes that are handed on at once of a body that has many ends of lines."""
INTERIM_MAX = 16
"""The most answers of status 1xx that may come before the answer."""
_PIECE_BYTES = 256 * 1024
"""The number of unread bytes at which the sender is made to wait."""


_JOINED_BYTES_MAX = 64 * 1024
"""A request with a longer body is written in two pieces: to join head and body would copy the body."""
_LOOKS_MAX = 4
"""How many turns the event loop gets to read what the system holds, before a connection is used again."""

Headers = Sequence[tuple[bytes, bytes]]


class Timeouts(NamedTuple):
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
    def of(cls, extensions: Mapping[str, object]) -> Timeouts:
        """As a request of httpx or httpx2 says it in its extensions."""
        said = extensions.get("timeout")
        known = said if isinstance(said, dict) else {}
        return cls(known.get("connect"), known.get("write"), known.get("read"), known.get("pool"))


class WireBytes(asyncio.Protocol):
    """The bytes of one connection.

    Attributes:
        received: what came and was not read yet.
        has_ended: nothing more comes.
        came_early: bytes came before the request was wholly sent.
        unasked: is called when bytes come; set while nobody uses the connection.
    """

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.has_ended = False
        self._error: Exception | None = None
        self._reads: asyncio.Future[None] | None = None
        self._writes: asyncio.Future[None] | None = None
        self._is_paused = False
        self.came_early = False
        self.unasked: Callable[[], None] | None = None
        self._request: Literal["", "written", "flushed"] = ""

    @property
    def is_quiet(self) -> bool:
        """Nothing came that nobody asked for, and the connection stands."""
        return not (self.received or self.has_ended or self.transport is None or self.transport.is_closing())

    @property
    def has_unread(self) -> bool:
        """The system holds bytes, or the end, that the event loop did not hand on yet. Only of a quiet connection."""
        made = self.transport.get_extra_info("socket") if self.transport is not None else None
        if made is None:
            return False
        if sys.platform == "win32":
            return bool(select.select([made], [], [], 0)[0])
        looking = select.poll()  # select.select takes no file with a number above 1024
        looking.register(made.fileno(), select.POLLIN)
        return bool(looking.poll(0))

    def begin_request(self) -> None:
        """A request is being written."""
        self.came_early, self._request = False, "written"

    def end_request(self) -> None:
        """The request was written to its end; the system may not have taken all of it yet."""
        self._request = "flushed" if self._request else ""

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
        return self.taken()

    def taken(self) -> bytes:
        """What has come, without waiting."""
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
        if self._request and self.transport is not None:
            if self._request == "written" or self.transport.get_write_buffer_size():
                self.came_early = True
                self.resume_writing()  # the other side may not take the rest
            self._request = ""
        if self.unasked is not None:
            self.unasked()
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


class AnswerHead(NamedTuple):
    """Status, the words beside the status, and the headers of an answer as they came."""

    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]


def first_portion(data: memoryview) -> tuple[bytes, memoryview]:
    """The part of a body that is handed on at once, and the rest."""
    portion = bytes(data[:PORTION_BYTES])
    if weight(portion) > PORTION_BYTES:
        portion = portion[:_LINES_PORTION_BYTES]
    return portion, data[len(portion) :]


def weight(portion: bytes) -> int:
    """For how many bytes a portion counts, by the work that it may be for its reader."""
    return max(len(portion), _PIECE_LEAST, _LINE_BYTES * (portion.count(b"\n") + portion.count(b"\r")))


class WireConnection:
    """One connection, at one request at a time.

    Attributes:
        wire: its bytes.
        address: the IP address at its other end.
        born, idle_since: monotonic seconds.
        is_kept: it has carried a request before this one.
        has_answered: something came since the request began.
    """

    def __init__(self, wire: WireBytes, address: str, born: float) -> None:
        self.wire = wire
        self.address = address
        self.born = born
        self.idle_since = born
        self.is_kept = False
        self.has_answered = False
        self._may_be_kept = True
        self._rest = memoryview(b"")
        self._since_turn = 0
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=HEAD_BYTES_MAX)

    @property
    def is_done(self) -> bool:
        """Whether the next request may be sent: both sides are done, and nothing is left over."""
        both = self._http.our_state is h11.DONE and self._http.their_state is h11.DONE
        return both and self._may_be_kept and not self._http.trailing_data[0] and self.wire.is_quiet

    @property
    def has_leftover(self) -> bool:
        """Bytes came after the end of the answer, or before there was any request."""
        is_over = self._http.their_state in (h11.IDLE, h11.DONE, h11.MUST_CLOSE, h11.CLOSED)
        return is_over and bool(self._http.trailing_data[0] or self.wire.received)

    async def is_settled(self) -> bool:
        """Whether the connection stands and nothing came. What the system holds is read first: a part of TLS, such as
        a ticket for the next connection, says nothing to us.
        """
        for _ in range(_LOOKS_MAX):
            if not self.wire.is_quiet:
                return False
            if not self.wire.has_unread:
                return True
            await asyncio.sleep(0)
        return False

    def begin_anew(self) -> None:
        """Make ready for the next request of a connection that is done."""
        self._http.start_next_cycle()
        self._rest = memoryview(b"")
        self.has_answered = False
        self.is_kept = True

    def keep_never(self) -> None:
        """Close the connection after this request."""
        self._may_be_kept = False

    async def send(
        self, method: bytes, target: bytes, headers: Headers, body: bytes | AsyncIterable[bytes], timeouts: Timeouts
    ) -> None:
        """Send a request.

        Raises:
            WireFailure: the request is not one that HTTP can carry, or the connection broke.
        """
        self.wire.begin_request()
        try:
            head = self._http.send(h11.Request(method=method, target=target, headers=list(headers))) or b""
            if isinstance(body, bytes):
                rest = (self._http.send(h11.Data(data=body)) or b"") if body else b""
                rest += self._http.send(h11.EndOfMessage()) or b""
                if len(rest) > _JOINED_BYTES_MAX:
                    await self._write(head, timeouts)
                    await self._write(rest, timeouts)
                else:
                    await self._write(head + rest, timeouts)
            else:
                await self._write(head, timeouts)
                async for piece in body:
                    if self.wire.came_early:
                        return  # whatever came, the other side did not wait for the rest
                    await self._write(self._http.send(h11.Data(data=piece)) or b"", timeouts)
                await self._write(self._http.send(h11.EndOfMessage()) or b"", timeouts)
        except h11.LocalProtocolError:
            raise WireFailure("LocalProtocolError", "the request is not one that HTTP can carry") from None
        self.wire.end_request()

    async def head(self, timeouts: Timeouts) -> AnswerHead:
        """The head of the answer, all of which has to come in the time for reading.

        Raises:
            WireFailure: no head came.
        """
        try:
            async with asyncio.timeout(timeouts.read):
                for _ in range(INTERIM_MAX + 1):
                    while (event := self._event()) is h11.NEED_DATA:
                        await self._receive()
                        self._check_is_asked_for()
                        self._check_lines()
                    if isinstance(event, h11.Response):
                        return self._head(event)
                    if not isinstance(event, h11.InformationalResponse) or event.status_code == 101:
                        break
        except TimeoutError:
            raise WireFailure("ReadTimeout", "it did not answer in time") from None
        raise WireFailure("RemoteProtocolError", MALFORMED)

    async def piece(self, timeouts: Timeouts) -> bytes:
        """The next piece of the body; empty at its end, and not to be asked for again after that.

        Raises:
            WireFailure: the body broke off, or stalled.
        """
        while True:
            if self._since_turn >= PORTION_BYTES:
                self._since_turn = 0
                await asyncio.sleep(0)
            if self._rest:
                portion, self._rest = first_portion(self._rest)
                self._since_turn += weight(portion)
                return portion
            event = self._event()
            if isinstance(event, h11.Data):
                self._rest = memoryview(event.data)
            elif event is not h11.NEED_DATA:
                return b""
            elif self.wire.received:
                await self._receive()
            else:
                try:
                    async with asyncio.timeout(timeouts.read):
                        await self._receive()
                except TimeoutError:
                    raise WireFailure("ReadTimeout", "it did not answer in time") from None

    def skip(self) -> None:
        """Read past what is here of the answer, without waiting; of many pieces, the first."""
        with suppress(WireFailure):
            for _ in range(PORTION_BYTES // _PIECE_LEAST):
                event = self._event()
                if event is h11.NEED_DATA and self.wire.received:
                    self._http.receive_data(self.wire.taken())
                elif not isinstance(event, h11.Data):
                    break

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

    def _head(self, response: h11.Response) -> AnswerHead:
        names = {name for name, _ in response.headers}
        if b"transfer-encoding" in names and b"content-length" in names:
            self._may_be_kept = False  # two readers could find two ends (RFC 9112 section 6.3)
        return AnswerHead(response.status_code, bytes(response.reason), list(response.headers.raw_items()))

    def _check_is_asked_for(self) -> None:
        """On a kept connection, what comes before a request was wholly sent is no answer to the request.

        Raises:
            WireFailure: such bytes came.
        """
        if self.is_kept and self.wire.came_early:
            raise WireFailure("RemoteProtocolError", UNASKED)

    def _check_lines(self) -> None:
        """Raises:
        WireFailure: the head has too many lines.
        """
        head = self._http.trailing_data[0].partition(b"\r\n\r\n")[0]
        if head.count(b"\n") > HEAD_LINES_MAX:
            raise WireFailure("RemoteProtocolError", MALFORMED)

    def _event(self) -> type[h11.NEED_DATA | h11.PAUSED] | h11.Event:
        try:
            return self._http.next_event()
        except h11.RemoteProtocolError as error:
            is_foreign = "illegal" in str(error)  # a first line that is none of HTTP
            broke_off = self._http.trailing_data[1]
            told = "it broke off" if broke_off else UNASKED if self.is_kept else NOT_HTTP if is_foreign else MALFORMED
            raise WireFailure("RemoteProtocolError", told) from None

    async def _receive(self) -> None:
        try:
            data = await self.wire.read()
        except OSError as error:
            raise WireFailure("ReadError", "the connection was lost") from error
        self.has_answered = self.has_answered or bool(data)
        self._http.receive_data(data)

    async def _write(self, data: bytes, timeouts: Timeouts) -> None:
        try:
            async with asyncio.timeout(timeouts.write):
                await self.wire.write(data)
        except TimeoutError:
            raise WireFailure("WriteTimeout", "it did not take the request in time") from None
        except OSError as error:
            raise WireFailure("WriteError", "the connection was lost") from error
