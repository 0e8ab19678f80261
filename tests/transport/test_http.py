"""HTTP over real connections: limits, what is told of a failure, and that nothing is left open."""

from __future__ import annotations

import asyncio
import gc
import gzip
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from actum.transport.http import HttpFailure, retry_after
from actum.transport.upstream_client import UpstreamAnswer, post
from tests.chat_server import ChatServer, Raw
from tests.patience import HANGS_S

SECRET = "Bearer sk-0123456789abcdef"


@asynccontextmanager
async def posted(url: str, **more: float) -> AsyncIterator[UpstreamAnswer]:
    headers = {"authorization": SECRET}
    async with post(
        f"{url}/chat/completions", headers=headers, body=b"{}", timeout_s=more.get("timeout_s", HANGS_S)
    ) as answer:
        yield answer


async def failure(url: str, **more: float) -> HttpFailure:
    with pytest.raises(HttpFailure) as raised:
        async with posted(url, **more) as answer:
            await answer.read(int(more.get("bytes_max", 1_000_000)))
    return raised.value


async def test_an_answer_is_read_in_pieces_or_whole() -> None:
    raw = Raw((b"one ", b"two"), status=418, headers={"x-a": "b"})
    with ChatServer([raw, raw]) as server:
        async with posted(server.url) as answer:
            assert (answer.status, answer.headers["x-a"]) == (418, "b")
            assert b"".join([chunk async for chunk in answer.chunks()]) == b"one two"
        async with posted(server.url) as answer:
            assert await answer.read() == b"one two"
    assert server.requests[0].headers["authorization"] == SECRET


async def test_a_block_that_does_not_read_the_answer_leaves_nothing_open() -> None:
    with ChatServer([Raw((b"x",) * 1000), "next"]) as server:
        async with posted(server.url):
            pass
        async with posted(server.url) as answer:
            assert answer.status == 200


async def test_a_packed_answer_is_unpacked() -> None:
    packed = {"content-encoding": "gzip"}
    with ChatServer([Raw((gzip.compress(b"hello"),), headers=packed), Raw((b"no gzip",), headers=packed)]) as server:
        async with posted(server.url) as answer:
            assert await answer.read() == b"hello"
        failed = await failure(server.url)
    assert failed.lasting


async def test_a_refused_connection_is_told_as_not_sent() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        failed = await failure(f"http://127.0.0.1:{nobody.getsockname()[1]}")
    assert str(failed).startswith("it can not be reached: nothing listens at this port")
    assert (failed.sent, failed.lasting) == (False, False)


def answering(raw: bytes) -> socket.socket:
    """A server that says this to whoever comes, and hangs up."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with server, server.accept()[0] as came:
            came.recv(4096)
            came.sendall(raw)

    threading.Thread(target=serve, daemon=True).start()
    return server


@pytest.mark.parametrize(
    ("scheme", "raw", "told"),
    [
        ("https", b"HTTP/1.1 400 Bad Request\r\n\r\n", "it does not speak TLS: is its address http://"),
        ("http", b"\x15\x03\x01\x00\x02\x02\x46", "its answer is not HTTP: is its address https://"),
    ],
)
async def test_tls_where_there_is_none_and_none_where_there_is_are_told_apart(
    scheme: str, raw: bytes, told: str
) -> None:
    failed = await failure(f"{scheme}://127.0.0.1:{answering(raw).getsockname()[1]}")
    assert str(failed).startswith(told)
    assert failed.lasting


async def test_a_name_that_is_not_known_is_told() -> None:
    assert str(await failure("http://no-such-host.invalid")).startswith("its name is not known")


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "http://", "http://127.0.0.1:99999", "http://[::1", "nonsense"])
async def test_what_is_no_address_can_not_be_reached_later_either(url: str) -> None:
    failed = await failure(url)
    assert (failed.sent, failed.lasting) == (False, True)


async def test_silence_ends_after_the_time_that_was_given() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        failed = await failure(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.05)
    assert (str(failed), failed.sent) == ("it did not answer in time", True)


async def test_an_answer_that_breaks_off_is_told() -> None:
    with ChatServer([Raw((b"half",), cut=True)]) as server:
        failed = await failure(server.url)
    assert (str(failed), failed.sent, failed.lasting) == ("the connection was lost", True, False)


async def test_an_answer_that_is_too_long_is_not_read_to_its_end() -> None:
    with ChatServer([Raw((b"x" * 1000,) * 100)]) as server:
        failed = await failure(server.url, bytes_max=5000)
    assert (str(failed), failed.lasting) == ("its answer is longer than 5000 bytes", True)


async def test_a_redirect_is_handed_back_and_the_key_stays_here() -> None:
    with ChatServer(["never"]) as other:
        with ChatServer([Raw((), status=307, headers={"location": f"{other.url}/chat/completions"})]) as server:
            async with posted(server.url) as answer:
                assert answer.status == 307
        assert other.requests == []


@pytest.mark.parametrize("value", ["sk-secret\n", "sk-secret\x00", "sk-秘密"])
async def test_a_header_that_can_not_be_sent_is_told_without_it(value: str) -> None:
    with ChatServer([]) as server, pytest.raises(HttpFailure) as raised:
        async with post(server.url, headers={"authorization": value}, body=b"", timeout_s=HANGS_S):
            pass
    assert raised.value.lasting
    assert "sk-" not in str(raised.value)


def test_each_event_loop_has_connections_of_its_own_and_closes_them() -> None:
    async def twice(url: str) -> bytes:
        async with posted(url) as answer:
            await answer.read()
        async with posted(url) as answer:
            return await answer.read()

    with ChatServer([Raw((b"a",))] * 4) as server:
        for _ in range(2):
            assert asyncio.run(twice(server.url)) == b"a"
            gc.collect()  # a socket left open is a warning now, and a warning is an error


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:16:50 GMT"}, 10.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "x"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after-ms": "inf"}, None),
        ({"retry-after-ms": "nan"}, None),
        ({"retry-after": "Mon, 01 Jan 2026 00:00:00 99999999999999999999"}, None),
        ({"retry-after": "Mon, 01 Jan 2026 00:00:99999999999999999999 GMT"}, None),
        ({"retry-after": "Mon, 99999999999 Jan 2026 00:00:00 GMT"}, None),
    ],
)
def test_when_to_come_back_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=1000.0) == seconds
