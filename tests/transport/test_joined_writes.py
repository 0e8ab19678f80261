"""The head of a request leaves with its body, whatever the body is; nothing is held back that is waited for."""

from __future__ import annotations

import asyncio

from actum.transport.hop import Hop, HopTarget
from actum.transport.joined_writes import JOINED_MAX

ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Pieces(asyncio.Protocol):
    """A server that notes what came at once, and answers when a request is whole."""

    def __init__(self, came: list[bytes]) -> None:
        self.came, self.whole = came, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.came.append(data)
        self.whole += data
        head, end, body = self.whole.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]):
            self.whole = b""
            self.transport.write(ANSWER)


async def test_the_head_of_a_request_leaves_with_its_body() -> None:
    came: list[bytes] = []
    server = await asyncio.get_running_loop().create_server(lambda: Pieces(came), "127.0.0.1", 0)
    target = HopTarget(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    async with server, Hop() as hop:
        for body in (b"{}", b"", b"POST / HTTP/1.1\r\n\r\n", b"x" * (2 * JOINED_MAX), b"{}"):
            came.clear()
            answer = await hop.send(target, [], body, 5.0)
            assert (answer.status, await answer.read()) == (200, b"{}"), body[:20]
            await answer.close()
            sent = b"".join(came)
            assert sent.startswith(b"POST /v1 HTTP/1.1\r\n")
            assert sent.endswith(b"\r\n\r\n" + body)
            assert len(came) == 1 or len(body) > JOINED_MAX, body[:20]
