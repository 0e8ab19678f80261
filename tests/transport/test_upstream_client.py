"""Requests to what the operator named: how they leave, what is sent again, which proxies they take."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actum.core.errors import UsageError
from actum.models.endpoint import Endpoint
from actum.transport.http import HttpFailure
from actum.transport.open_route import check_proxy, destination_of
from actum.transport.upstream_client import UpstreamClient, UpstreamTarget, post
from tests.patience import HANGS_S
from tests.transport.wire_servers import listening, proxy, said, wire_server

ANSWER = said(b"{}")
LONG = b"x" * 128 * 1024


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
    target = UpstreamTarget(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    async with server, UpstreamClient() as client:
        for body in (b"{}", b"", b"POST / HTTP/1.1\r\n\r\n", LONG, b"{}"):
            came.clear()
            answer = await client.send(target, [], body, 5.0)
            assert (answer.status, await answer.read()) == (200, b"{}"), body[:20]
            await answer.close()
            sent = b"".join(came)
            assert sent.startswith(b"POST /v1 HTTP/1.1\r\n")
            assert sent.endswith(b"\r\n\r\n" + body)
            assert len(came) == 1 or body == LONG, body[:20]


@asynccontextmanager
async def hanging_up(answers: int) -> AsyncIterator[tuple[UpstreamTarget, list[int]]]:
    """A server that closes each connection on which so many requests were answered, when it has read the next."""
    requests: list[int] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(0)
        mine = len(requests) - 1
        while requests[mine] < answers:
            await reader.readuntil(b"\r\n\r\n")
            requests[mine] += 1
            writer.write(ANSWER)
        await reader.readuntil(b"\r\n\r\n")
        requests[mine] += 1

    async with listening(handle) as port:
        yield UpstreamTarget(f"http://127.0.0.1:{port}/"), requests


async def test_a_request_is_sent_again_only_where_a_kept_connection_was_closed_without_a_word() -> None:
    async with UpstreamClient() as client:
        async with hanging_up(1) as (target, requests):
            for _ in range(3):
                answer = await client.send(target, [], b"", 5.0)
                assert await answer.read() == b"{}"
            assert requests == [2, 2, 1]
        async with hanging_up(0) as (target, requests):
            with pytest.raises(HttpFailure) as raised:
                await client.send(target, [], b"", 5.0)
            assert (requests, raised.value.sent, raised.value.lasting) == ([1], True, False)


PATHS = {
    "/v1/chat?alt=sse": "/v1/chat?alt=sse",
    "/v1/a%20b:generate": "/v1/a%20b:generate",
    "/v1/ein modell": "/v1/ein%20modell",
    "/v1/模型?q=ü#part": "/v1/%E6%A8%A1%E5%9E%8B?q=%C3%BC",
    "": "/",
    "?x=1": "/?x=1",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_sent_as_it_is_written_but_for_what_http_can_not_carry(path: str) -> None:
    assert UpstreamTarget(f"https://example.com:8443{path}").target.decode() == PATHS[path]


ADDRESSES = {
    "http://EXAMPLE.com": ("http", "example.com", 80),
    "https://[::1]:8443/v1": ("https", "::1", 8443),
    "http://my_model:8000/v1": ("http", "my_model", 8000),
    "https://bücher.example/": ("https", "xn--bcher-kva.example", 443),
    "http://10.0.0.7/": ("http", "10.0.0.7", 80),
}


@pytest.mark.parametrize("url", ADDRESSES)
def test_an_address_that_the_operator_named_is_taken_as_it_is(url: str) -> None:
    assert destination_of(url) == ADDRESSES[url]


async def test_the_proxy_of_the_environment_is_taken_but_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with (
        wire_server(lambda head, body: said(b"there")) as there,
        proxy({"model.example:80": ("127.0.0.1", there.port)}, "Basic YW5uOmh1bnRlcjI=") as via,
    ):
        monkeypatch.setenv("HTTP_PROXY", f"http://ann:hunter2@127.0.0.1:{via.port}")
        monkeypatch.setenv("NO_PROXY", "inside.invalid")
        async with post("http://model.example/v1", headers={}, body=b"", timeout_s=HANGS_S) as answer:
            assert await answer.read() == b"there"
        async with post(f"http://127.0.0.1:{there.port}/v1", headers={}, body=b"", timeout_s=HANGS_S) as answer:
            assert await answer.read() == b"there"
        with pytest.raises(HttpFailure, match="name is not known"):
            async with post("http://a.inside.invalid/v1", headers={}, body=b"", timeout_s=HANGS_S):
                pass
    assert len(via.heads) == 1
    assert "hunter2" not in "".join(there.heads)


@pytest.mark.parametrize(
    ("variable", "value", "word"),
    [
        ("HTTPS_PROXY", "socks5://ann:hunter2@p.corp:1080", "HTTPS_PROXY for https://api.example: socks5:// was named"),
        ("ALL_PROXY", "socks5h://p.corp", "ALL_PROXY for https://api.example: socks5h:// was named"),
        ("https_proxy", "https://p.corp:3129", "https:// was named, and a proxy is spoken to by plain http:// alone"),
        ("https_proxy", "ftp://p.corp", "such as http://proxy.corp:3128 was expected"),
    ],
)
async def test_a_proxy_of_another_kind_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, word: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(UsageError) as raised:
        check_proxy("https://api.example/v1")
    assert word in str(raised.value)
    assert "hunter2" not in str(raised.value)
    with pytest.raises(UsageError):
        Endpoint("https://api.example/v1", "m")
    Endpoint("http://localhost:8000/v1", "m")
    with pytest.raises(HttpFailure) as failed:
        async with post("https://api.example/v1", headers={}, body=b"", timeout_s=HANGS_S):
            pass
    assert (failed.value.sent, failed.value.lasting) == (False, True)
