"""The guard on addresses that a server names, over real connections; only the looking up of names is made up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actum.schema.canonical import is_public
from actum.transport.fetcher import Fetcher
from actum.transport.guard import AddressRefused, Guard, check_link
from actum.transport.http import HttpFailure
from actum.transport.httpx2_transport import GuardedTransport
from tests.patience import HANGS_S

Answer = Callable[[str], bytes]


@contextlib.asynccontextmanager
async def serving(answer: Answer) -> AsyncIterator[tuple[int, list[str]]]:
    """A server on this machine that answers by the head of each request; its port, and the heads it saw."""
    heads: list[str] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
            writer.write(answer(heads[-1]))
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1], heads
    finally:
        server.close()
        await server.wait_closed()


def said(body: bytes, status: str = "200 OK", *more: str) -> bytes:
    head = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *more, "", ""]
    return "\r\n".join(head).encode() + body


def leads_to(*addresses: str) -> Callable[[str, int], Awaitable[list[str]]]:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/",
        "ftp://example.org/",
        "file:///etc/passwd",
        "https://user:secret@example.org/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::ffff:10.0.0.1]/",
        "https://0x7f.1/",
        "https://2130706433/",
        "https://localhost/",
        "https://printer.local/",
        "https://metadata.google.internal/",
        "http://127.0.0.1:8000/",
    ],
)
async def test_an_address_that_is_not_of_the_open_internet_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        await Guard("https://mcp.example.com/mcp", resolve=leads_to("93.184.216.34")).check(url)


@pytest.mark.parametrize(
    "address",
    ["10.0.0.1", "127.0.0.1", "169.254.169.254", "::1", "fe80::1", "ff02::1", "0.0.0.0", "100.64.0.1", "224.0.0.1"],
)
async def test_a_name_that_leads_indoors_is_refused_even_beside_a_public_address(address: str) -> None:
    with pytest.raises(AddressRefused):
        await Guard(resolve=leads_to("93.184.216.34", address)).check("https://example.org/")


async def test_what_a_person_named_may_be_private_but_never_link_local_nor_this_machine() -> None:
    own = "https://mcp.corp.example/mcp"
    assert await Guard(own, resolve=leads_to("10.1.2.3")).check("https://mcp.corp.example/.well-known/x") == [
        "10.1.2.3"
    ]
    for address in ("169.254.169.254", "::ffff:169.254.169.254", "127.0.0.1", "224.0.0.1"):
        with pytest.raises(AddressRefused):
            await Guard(own, resolve=leads_to(address)).check(own)
    with pytest.raises(AddressRefused):
        await Guard(own, resolve=leads_to("10.1.2.3")).check("https://other.corp.example/")
    named = Guard(own, named=["https://login.corp.example"], resolve=leads_to("10.1.2.3"))
    assert await named.check("https://login.corp.example/token") == ["10.1.2.3"]


async def test_plain_http_is_let_through_on_this_machine_when_the_server_runs_here() -> None:
    here = Guard("http://localhost:8000/mcp")
    assert "127.0.0.1" in await here.check("http://localhost:9000/token")
    with pytest.raises(AddressRefused):
        await here.check("http://example.org/")
    with pytest.raises(AddressRefused):
        await Guard("http://localhost:8000", resolve=leads_to("10.0.0.1")).check("http://localhost:9000/")


async def test_the_connection_goes_to_the_address_that_was_looked_at() -> None:
    looked_up: list[str] = []

    async def changing(host: str, port: int) -> list[str]:
        looked_up.append(host)
        return ["127.0.0.1"] if len(looked_up) == 1 else ["10.0.0.1"]

    async with serving(lambda head: said(b"here")) as (port, heads):
        fetched = await Fetcher(Guard("http://localhost", resolve=changing)).get(f"http://localhost:{port}/x")
    assert (fetched.body, looked_up) == (b"here", ["localhost"])
    assert f"host: localhost:{port}" in heads[0].lower()


async def test_a_second_address_is_tried_when_the_first_does_not_answer() -> None:
    async with serving(lambda head: said(b"here")) as (port, _):
        guard = Guard("http://localhost", resolve=leads_to("::1", "127.0.0.1"))
        assert (await Fetcher(guard).get(f"http://localhost:{port}/")).body == b"here"


async def test_a_redirect_is_followed_inside_of_its_origin_only() -> None:
    def answer(head: str) -> bytes:
        if " /inside" in head:
            return said(b"", "302 Found", "location: /end")
        if " /outside" in head:
            return said(b"", "302 Found", "location: http://169.254.169.254/latest")
        if " /round" in head:
            return said(b"", "302 Found", "location: /round")
        return said(b"end")

    async with serving(answer) as (port, heads):
        fetch, base = Fetcher(Guard("http://localhost")), f"http://localhost:{port}"
        assert (await fetch.get(f"{base}/inside")).body == b"end"
        assert (await fetch.get(f"{base}/outside")).status == 302
        with pytest.raises(HttpFailure, match="again and again"):
            await fetch.get(f"{base}/round")
        posted = await fetch.post(f"{base}/outside", {}, b"secret=1")
    assert posted.status == 302
    assert not any("169.254" in head for head in heads)


async def test_a_client_that_follows_redirects_itself_is_stopped_at_the_guard() -> None:
    async with serving(lambda head: said(b"", "302 Found", "location: http://169.254.169.254/")) as (port, _):
        transport = GuardedTransport(Guard("http://localhost"))
        async with httpx2.AsyncClient(transport=transport, follow_redirects=True, timeout=HANGS_S) as client:
            with pytest.raises(AddressRefused):
                await client.get(f"http://localhost:{port}/")


async def test_an_answer_that_is_too_long_or_too_slow_is_broken_off() -> None:
    async with serving(lambda head: said(b"x" * 5000)) as (port, _):
        with pytest.raises(HttpFailure, match="longer than 1000 bytes"):
            await Fetcher(Guard("http://localhost"), bytes_max=1000).get(f"http://localhost:{port}/")
    async with serving(lambda head: b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf") as (port, _):
        with pytest.raises(HttpFailure):
            await Fetcher(Guard("http://localhost"), seconds_max=0.2).get(f"http://localhost:{port}/")


async def test_a_name_that_nobody_knows_is_told_as_such() -> None:
    async def unknown(host: str, port: int) -> list[str]:
        return []

    with pytest.raises(HttpFailure, match="not known"):
        await Guard(resolve=unknown).check("https://example.org/")


@given(st.ip_addresses())
def test_no_address_that_is_not_public_passes_for_a_stranger(address: object) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [str(address)]

    async def passes() -> bool:
        with contextlib.suppress(AddressRefused):
            return bool(await Guard(resolve=resolve).check("https://example.org/"))
        return False

    assert asyncio.run(passes()) == is_public(str(address))


def test_a_link_is_told_in_full_with_its_host() -> None:
    link = check_link("https://Example.ORG/a?b=c")
    assert (link.url, link.host) == ("https://example.org/a?b=c", "example.org")
    assert link.words == ("https://example.org/a?b=c", "The site is example.org.")


def test_a_link_in_letters_of_another_alphabet_is_told_in_both_ways() -> None:
    link = check_link("https://аррӏе.com/login")
    assert link.host == "xn--80ak6aa92e.com"
    assert "аррӏе.com" in link.words[1]


@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "http://example.org", "https://a@b.com", "https://10.0.0.1", "https://a b.com", "x", ""],
)
def test_a_link_that_nobody_should_open_is_refused(url: str) -> None:
    with pytest.raises(AddressRefused):
        check_link(url)


def test_a_link_to_this_machine_is_only_for_a_server_of_this_machine() -> None:
    assert check_link("http://localhost:9/x", local=True).host == "localhost"
    with pytest.raises(AddressRefused):
        check_link("http://localhost:9/x")
