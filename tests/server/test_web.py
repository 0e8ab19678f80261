"""A client that does not send its headers in time is cut; one that does is left in peace."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from functools import partial
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from actum.server.web import ConnectionLimits, Connections, PatientProtocol
from tests.patience import HANGS_S
from tests.web import serving

GET = b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"


HEADERS_S = 1.0


def hasty() -> Callable[..., asyncio.Protocol]:
    """A connection with little time for headers."""
    return partial(PatientProtocol, counted=Connections(ConnectionLimits(headers_s=HEADERS_S)))


async def slow(_: Request) -> Response:
    await asyncio.sleep(2 * HEADERS_S)
    return PlainTextResponse("done")


APP = Starlette(routes=[Route("/", slow)])


async def connected(origin: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    place = urlsplit(origin)
    return await asyncio.open_connection(place.hostname, place.port)


async def dribble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send a byte of a header now and then, until the server hangs up."""

    async def drip() -> None:
        writer.write(b"GET / HTTP/1.1\r\nx-long: ")
        while not writer.is_closing():
            writer.write(b"x")
            await asyncio.sleep(0.02)

    dripping = asyncio.create_task(drip())
    try:
        async with asyncio.timeout(HANGS_S):
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
    finally:
        dripping.cancel()
        writer.transport.abort()


async def test_a_client_that_dribbles_its_headers_is_cut() -> None:
    async with serving(APP, http=hasty()) as origin:
        await dribble(*await connected(origin))


async def test_a_client_that_says_nothing_is_cut() -> None:
    async with serving(APP, http=hasty()) as origin, asyncio.timeout(HANGS_S):
        reader, writer = await connected(origin)
        assert await reader.read() == b""
        writer.close()


async def test_a_slow_answer_is_waited_for_and_a_second_request_is_limited_again() -> None:
    async with serving(APP, http=hasty()) as origin, asyncio.timeout(HANGS_S):
        reader, writer = await connected(origin)
        writer.write(GET)
        assert b"200 OK" in await reader.readuntil(b"done")
        await dribble(reader, writer)


async def test_a_client_that_does_not_read_its_answer_is_cut_and_holds_nothing_for_ever() -> None:
    sent, over = asyncio.Event(), asyncio.Event()

    async def endless(_: Request) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            try:
                while True:
                    yield b"x" * 65_536
                    sent.set()
                    await asyncio.sleep(0)  # when the client has gone, nothing else lets others have their turn
            finally:
                over.set()

        return StreamingResponse(parts())

    http = partial(PatientProtocol, counted=Connections(ConnectionLimits(send_s=0.2)))
    async with serving(Starlette(routes=[Route("/", endless)]), http=http) as origin, asyncio.timeout(HANGS_S):
        place = urlsplit(origin)
        with socket.create_connection((place.hostname, place.port)) as idle:
            idle.sendall(GET)
            await sent.wait()
            await over.wait()


async def test_a_head_goes_out_with_its_body_and_alone_where_the_body_is_late_or_long_or_none() -> None:
    written: list[bytes] = []
    more = asyncio.Event()

    class Written:
        """A transport that notes what is written at once."""

        def __init__(self, transport: asyncio.Transport) -> None:
            self._transport = transport

        def write(self, data: bytes) -> None:
            written.append(data)
            self._transport.write(data)

        def __getattr__(self, name: str) -> object:
            return getattr(self._transport, name)

    class Noted(PatientProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(Written(transport))  # type: ignore[arg-type]  # as good as one

    async def answer(request: Request) -> Response:
        async def parts() -> AsyncIterator[bytes]:
            await more.wait()
            yield b"late"

        match request.query_params["is"]:
            case "short":
                return PlainTextResponse("short")
            case "long":
                return PlainTextResponse("x" * 200_000)
            case _:
                return StreamingResponse(parts())

    app = Starlette(routes=[Route("/", answer, methods=["GET", "HEAD"])])
    async with serving(app, http=partial(Noted, counted=Connections())) as origin, asyncio.timeout(HANGS_S):
        reader, writer = await connected(origin)

        async def asked(what: str, method: str = "GET") -> bytes:
            written.clear()
            writer.write(f"{method} /?is={what} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            return await reader.readuntil(b"\r\n\r\n")

        await asked("short")
        assert await reader.readexactly(5) == b"short"
        assert len(written) == 1
        await asked("long")
        assert await reader.readexactly(200_000) == b"x" * 200_000
        assert [len(each) > 100_000 for each in written] == [False, True]
        await asked("short", "HEAD")
        assert len(written) == 1
        await asked("late")
        assert len(written) == 1, "the client has the head while nothing of the body is there"
        more.set()
        assert await reader.readuntil(b"0\r\n\r\n") == b"4\r\nlate\r\n0\r\n\r\n"
        writer.close()
