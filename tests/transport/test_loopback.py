"""The listener for a browser that comes back: it takes the one answer that is waited for."""

from __future__ import annotations

import asyncio

import pytest

from actum.core.errors import UsageError
from actum.transport.loopback import Loopback


async def sent(loopback: Loopback, head: str) -> str:
    port = int(loopback.redirect_uri.split(":")[2].split("/")[0])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head.replace("PORT", str(port)).encode())
    writer.write_eof()
    answer = (await reader.read()).decode()
    writer.close()
    return answer


def get(target: str, host: str = "127.0.0.1:PORT", method: str = "GET") -> str:
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"


async def test_the_address_that_a_browser_came_to_is_handed_on() -> None:
    async with Loopback() as loopback:
        loopback.expect("s1")
        answer = await sent(loopback, get("/callback?code=c%20d&state=s1&iss=i"))
        assert await loopback.arrived() == f"{loopback.redirect_uri}?code=c%20d&state=s1&iss=i"
    assert answer.startswith("HTTP/1.1 200 ")
    assert "close this window" in answer
    assert "code" not in answer.partition("\r\n\r\n")[2]


@pytest.mark.parametrize(
    "head",
    [
        get("/favicon.ico"),
        get("/callback?code=c&state=guessed"),
        get("/callback?code=c"),
        get("/callback?code=c&state=s1&state=s1"),
        get("/callback?code=c&state=s1", host="evil.example.org"),
        get("/callback?code=c&state=s1", method="POST"),
        "nonsense\r\n\r\n",
        "GET /callback?code=c&state=s1",
        "GET /" + "x" * 100_000,
        "",
    ],
)
async def test_what_is_not_the_answer_is_waited_past(head: str) -> None:
    async with Loopback() as loopback:
        loopback.expect("s1")
        assert "200 OK" not in await sent(loopback, head)
        await sent(loopback, get("/callback?code=mine&state=s1"))
        assert "code=mine" in await loopback.arrived()


async def test_the_answer_is_taken_once_and_only_when_it_is_waited_for() -> None:
    async with Loopback() as loopback:
        assert "400" in await sent(loopback, get("/callback?code=c&state="))
        loopback.expect("s1")
        assert "200" in await sent(loopback, get("/callback?code=one&state=s1"))
        assert "400" in await sent(loopback, get("/callback?code=two&state=s1"))
        assert "code=one" in await loopback.arrived()


async def test_a_port_that_is_taken_is_told() -> None:
    async with Loopback() as first:
        port = int(first.redirect_uri.split(":")[2].split("/")[0])
        with pytest.raises(UsageError, match=f"port {port}"):
            async with Loopback(port):
                pass
    async with Loopback(port):
        pass
