"""Bytes that come in tiny pieces hold up nobody: headers, requests one behind another, pieces of a body.

Work on the loop is counted, as in `test_large_bodies.py`.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from actum.server.web import ConnectionLimits, Connections, PatientProtocol
from tests.effort import turns_counted
from tests.transport.wire_servers import certificate
from tests.web import serving

HELD_MAX = 30_000
SIZE = 300_000
HEAD = b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n"
LAST = HEAD + b"content-length: 0\r\n\r\n"


def filled(unit: bytes) -> bytes:
    return unit * (SIZE // len(unit))


SENT: dict[str, bytes] = {
    "headers": HEAD + filled(b"a:b\r\n") + b"\r\n",
    "headers without an end": HEAD + filled(b"a:b\r\n"),
    "empty lines": filled(b"\r\n") + LAST,
    "requests": filled(b"GET / HTTP/1.1\r\nhost:a\r\n\r\n") + LAST,
    "pieces of a body": HEAD + b"transfer-encoding: chunked\r\n\r\n" + filled(b"1\r\nx\r\n") + b"0\r\n\r\n",
    "lengths of pieces": HEAD + b"transfer-encoding: chunked\r\n\r\n" + filled(b"1;a=b\r\nx\r\n") + b"0\r\n\r\n",
    "parts of a query": b"GET /?" + filled(b"a=1&") + b" HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n",
}


async def length(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
async def test_tiny_pieces_that_a_client_sends_leave_the_loop_to_others(tmp_path: Path, *, tls: bool) -> None:
    server, client = certificate(tmp_path, "127.0.0.1") if tls else (None, None)
    app = Starlette(routes=[Route("/", length, methods=["GET", "POST"])])
    counted = Connections(ConnectionLimits())
    held: dict[str, int] = {}
    async with serving(app, http=partial(PatientProtocol, counted=counted), context=server) as origin:
        place = urlsplit(origin)
        for name, sent in {"first": LAST, **SENT}.items():
            reader, writer = await asyncio.open_connection(place.hostname, place.port, ssl=client)
            async with turns_counted() as turns:
                writer.write(sent)
                with suppress(ConnectionError):  # the server hangs up on what it need not read
                    await reader.read()
            held[name] = turns.held
            writer.close()
    assert {name: calls for name, calls in held.items() if calls >= HELD_MAX} == {}
