"""Kept connections: whose they are, what ends them, and what a lying server gets out of them."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import re
import socket
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import httpx2
import pytest

from actum.core.process.tenant import acting_for, current_tenant
from actum.testing import FakeClock
from actum.transport.connection import HEAD_BYTES_MAX, Timeouts
from actum.transport.connection_pool import CONNECTIONS_MAX, ConnectionPool
from actum.transport.egress import Egress, EgressRules
from actum.transport.fetcher import Fetcher
from actum.transport.guard import AddressRefused, Guard
from actum.transport.http import HttpFailure, WireFailure
from actum.transport.httpx2_transport import GuardedTransport
from actum.transport.httpx_transport import GuardedHttpxTransport
from tests.effort import turns_counted
from tests.patience import HANGS_S
from tests.transport.wire_servers import always, certificate, first, listening, name_server, proxy, said, wire_server

SHORT = Timeouts(5.0, 5.0, 0.3, 5.0)


def here(*, proxy: str = "", private: tuple[str, ...] = ()) -> Guard:
    return Guard("http://localhost", egress=Egress(EgressRules(private=private, proxy=proxy)))


async def asked(pool: ConnectionPool, url: str, timeouts: Timeouts | None = None, **headers: str) -> tuple[int, bytes]:
    told = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    answer = await pool.send("GET", url, told, timeouts=timeouts)
    try:
        return answer.status, b"".join([piece async for piece in answer.chunks()])
    finally:
        await answer.aclose()


async def test_a_connection_is_kept_for_its_destination_and_its_address_stays() -> None:
    dialled: list[str] = []
    async with (
        wire_server(lambda head, body: said(b"one")) as one,
        wire_server(lambda head, body: said(b"two")) as two,
        name_server("93.184.216.34", "93.184.216.35", "10.0.0.1") as (resolve, questions),
    ):
        ports = {"93.184.216.34": one.port, "93.184.216.35": two.port}

        async def dial(address: str, port: int) -> socket.socket:
            dialled.append(address)
            made = socket.socket()
            made.setblocking(False)
            await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", ports[address]))
            return made

        rules = EgressRules(allow=("http://*", "*"))
        async with ConnectionPool(Guard(resolve=resolve, egress=Egress(rules)), dial=dial) as pool:
            for _ in range(3):
                assert await asked(pool, "http://a.example/") == (200, b"one")
            assert (dialled, questions) == (["93.184.216.34"], ["a.example"])
            # Another name does not get the connection of the first, and is looked up for itself.
            assert await asked(pool, "http://b.example/") == (200, b"two")
            assert (dialled, questions) == (["93.184.216.34", "93.184.216.35"], ["a.example", "b.example"])
            # Rebinding: the next look-up leads indoors, and no connection is made.
            with pytest.raises(AddressRefused):
                await asked(pool, "http://c.example/")
            assert await asked(pool, "http://a.example/") == (200, b"one")
        assert len(dialled) == 2
        assert [len(heads) for heads in one.connections] == [4]


async def test_rebinding_between_two_look_ups_never_reaches_the_second_address() -> None:
    async with (
        wire_server(lambda head, body: said(b"secret")) as inside,
        name_server("93.184.216.34", "127.0.0.1") as (resolve, questions),
    ):
        dialled: list[str] = []

        async def dial(address: str, port: int) -> socket.socket:
            dialled.append(address)
            raise ConnectionRefusedError

        async with ConnectionPool(Guard(resolve=resolve), dial=dial) as pool:
            with pytest.raises(WireFailure):
                await asked(pool, f"https://evil.example:{inside.port}/")
            with pytest.raises(AddressRefused):
                await asked(pool, f"https://evil.example:{inside.port}/")
        assert (dialled, len(questions), inside.connections) == (["93.184.216.34"], 2, [])


async def test_a_leftover_of_one_answer_never_becomes_the_next_answer() -> None:
    forged = said(b"forged")
    endings = {
        "a whole answer behind the answer": said(b"true") + forged,
        "a longer body than its length": said(b"true") + b"more",
        "an answer behind one without a body": b"HTTP/1.1 204 No Content\r\n\r\n" + forged,
        "an answer behind the last chunk": (
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntrue\r\n0\r\n\r\n" + forged
        ),
        "two lengths": (
            b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntrue\r\n0\r\n\r\n"
        ),
    }
    for claim, wire in endings.items():
        async with (
            wire_server(first(wire, said(b"mine"))) as server,
            ConnectionPool(here()) as pool,
        ):
            status, body = await asked(pool, f"http://localhost:{server.port}/first")
            assert (status, body) in ((200, b"true"), (204, b"")), claim
            assert await asked(pool, f"http://localhost:{server.port}/second") == (200, b"mine"), claim
            assert [len(heads) for heads in server.connections] == [1, 1], claim


async def test_bytes_that_come_while_a_connection_is_idle_end_it() -> None:
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        while await reader.readuntil(b"\r\n\r\n"):
            writer.write(said(b"mine"))

    async with listening(handle) as port, ConnectionPool(here()) as pool:
        url = f"http://localhost:{port}/"
        assert await asked(pool, url) == (200, b"mine")
        writers[0].write(said(b"forged"))
        await writers[0].drain()
        for _ in range(5):
            assert await asked(pool, url) == (200, b"mine")
        assert len(writers) == 6, "such a server is used without kept connections"


UNASKED: dict[str, tuple[bytes, bytes]] = {
    # What the server says to the first request, and to the second.
    "one byte": (said(b"true") + b"X", said(b"mine")),
    "a line break": (said(b"true") + b"\r\n", said(b"mine")),
    "a whole answer": (said(b"true") + said(b"forged"), said(b"mine")),
    "an interim answer": (said(b"true") + b"HTTP/1.1 103 Early Hints\r\n\r\n", said(b"mine")),
    "a length that is too short": (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ntrueforged", said(b"mine")),
    "a chunk behind the last": (
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n4\r\ntrue\r\n0\r\n\r\n6\r\nforged\r\n0\r\n\r\n",
        said(b"mine"),
    ),
    "an answer behind one that ends its connection": (
        said(b"true", "200 OK", "connection: close") + said(b"forged"),
        said(b"mine"),
    ),
}


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("case", UNASKED)
async def test_after_bytes_that_nobody_asked_for_no_connection_is_kept_for_ten_minutes(
    tmp_path: Path, case: str, tls: bool
) -> None:
    server_side, client_side = certificate(tmp_path, "localhost") if tls else (None, None)
    true, mine = UNASKED[case]
    clock = FakeClock()
    guard = Guard("http://localhost", egress=Egress(EgressRules(private=("https://localhost:*",))))
    async with (
        wire_server(first(true, mine), server_side) as server,
        ConnectionPool(guard, context=client_side, clock=clock) as pool,
        ConnectionPool(None, context=client_side, clock=clock) as other,
    ):
        url = f"{'https' if tls else 'http'}://localhost:{server.port}"
        assert await asked(other, f"{url}/before") == (200, b"mine")
        assert await asked(pool, f"{url}/first") == (200, b"true")
        for each in (pool, other, pool):
            assert await asked(each, f"{url}/second") == (200, b"mine")
        assert [len(heads) for heads in server.connections] == [1, 1, 1, 1, 1], "in no pool of this event loop"
        assert all("connection: close" in head.lower() for head in server.heads[2:])
        clock.advance(599)
        assert await asked(pool, f"{url}/second") == (200, b"mine")
        clock.advance(1)
        for _ in range(3):
            assert await asked(pool, f"{url}/third") == (200, b"mine")
        assert [len(heads) for heads in server.connections][5:] == [1, 3]


async def test_what_stands_there_before_the_first_request_is_no_answer() -> None:
    came, over = list[bytes](), asyncio.Event()

    async def speaks_first(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(said(b"forged"))
        await writer.drain()
        came.append(await reader.read(1))
        over.set()

    async def dial(address: str, port: int) -> socket.socket:
        made = socket.socket()
        made.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(made, (address, port))
        looking = loop.create_future()
        loop.add_reader(made, looking.set_result, None)
        await looking
        loop.remove_reader(made)
        return made

    async with listening(speaks_first) as port, ConnectionPool(here(), dial=dial) as pool:
        with pytest.raises(WireFailure) as raised:
            await asked(pool, f"http://localhost:{port}/")
        assert raised.value.kind == "RemoteProtocolError"
        await over.wait()
    assert came == [b""], "nothing was sent"


@contextlib.asynccontextmanager
async def hasty() -> AsyncIterator[tuple[str, list[list[bytes]]]]:
    """A server that answers a long request before the request has come; its address, and the heads by connection."""
    heads: list[list[bytes]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        mine: list[bytes] = []
        heads.append(mine)
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            mine.append(head.split(b" ")[1])
            if b"/long" in head:
                writer.write(said(b"early", "413 Content Too Large"))
                await reader.read(1)
                await asyncio.Event().wait()
            writer.write(said(b"mine"))

    async with listening(handle) as port:
        yield f"http://localhost:{port}", heads


LONG = b"x" * 30_000_000
SIZED = [(b"content-length", b"%d" % len(LONG))]


async def test_an_answer_that_comes_before_its_request_was_wholly_sent_ends_the_connection() -> None:
    async with hasty() as (url, heads), ConnectionPool(here(), clock=FakeClock()) as pool:
        # On a fresh connection it can only be an answer to this request: the sender is told, and does not wait.
        with acting_for("north"):
            answer = await pool.send("POST", f"{url}/long", SIZED, LONG)
            assert (answer.status, await answer.piece()) == (413, b"early")
            await answer.aclose()
        for tenant in ("north", "north", "south", "south"):
            with acting_for(tenant):
                assert await asked(pool, f"{url}/whole") == (200, b"mine")
        assert [len(each) for each in heads] == [1, 1, 1, 2], "a request may provoke it: it costs its tenant alone"


@pytest.mark.parametrize("may_repeat", [False, True])
async def test_on_a_kept_connection_an_early_answer_is_nobodys(may_repeat: bool) -> None:
    async with hasty() as (url, heads), ConnectionPool(here(), clock=FakeClock()) as pool:
        assert await asked(pool, f"{url}/whole") == (200, b"mine")
        sending = pool.send("POST", f"{url}/long", SIZED, LONG, may_repeat=may_repeat)
        if may_repeat:
            answer = await sending
            assert (answer.status, heads) == (413, [[b"/whole", b"/long"], [b"/long"]])
            await answer.aclose()
        else:
            with pytest.raises(WireFailure) as raised:
                await sending
            assert raised.value.kind in ("RemoteProtocolError", "WriteError")
        for _ in range(2):
            assert await asked(pool, f"{url}/whole") == (200, b"mine")
        assert [len(each) for each in heads[-2:]] == [1, 1]


async def test_connections_are_not_shared_by_tenants() -> None:
    async with wire_server(lambda head, body: said(b"mine")) as server, ConnectionPool(here()) as pool:
        url = f"http://localhost:{server.port}/"

        async def ask(tenant: str) -> None:
            with acting_for(tenant):
                assert await asked(pool, url, X_Tenant=tenant) == (200, b"mine")

        for tenant in ("north", "south", "", "north", "south", ""):
            await asyncio.create_task(ask(tenant))
        assert current_tenant() == ""
        said_by = [[re.findall("X-Tenant: (.*)\r\n", head) for head in each] for each in server.connections]
        assert said_by == [[["north"]] * 2, [["south"]] * 2, [[""]] * 2]


async def test_the_oldest_kept_connection_makes_room_and_no_tenant_keeps_the_others_from_theirs() -> None:
    async with wire_server(lambda head, body: said(b"mine")) as server, ConnectionPool(here(), idle_max=2) as pool:
        url = f"http://localhost:{server.port}/"
        for tenant in ("a", "b", "c", "c", "b", "a"):
            with acting_for(tenant):
                assert await asked(pool, url) == (200, b"mine")
        assert [len(heads) for heads in server.connections] == [1, 2, 2, 1]


async def test_a_short_body_is_read_where_the_head_is_wanted_and_a_long_one_costs_its_connection() -> None:
    bodies = {"/none": b"", "/short": b"ok" * 100, "/long": b"x" * 5_000_000}

    def answer(head: bytes, body: bytes) -> bytes:
        return said(bodies[head.split(b" ")[1].decode()])

    for path, connections in {"/none": 1, "/short": 1, "/long": 5}.items():
        async with wire_server(answer) as server:
            fetcher = Fetcher(here())
            for _ in range(5):
                fetched = await fetcher.send("POST", f"http://localhost:{server.port}{path}", head_only=True)
                assert (fetched.status, fetched.body) == (200, b"" if path == "/long" else bodies[path])
            await fetcher.aclose()
            assert len(server.connections) == connections, path


async def test_a_host_with_an_address_that_does_not_answer_is_reached_at_the_next() -> None:
    dialled: list[str] = []
    given_up: list[str] = []

    async def dial(address: str, port: int) -> socket.socket:
        dialled.append(address)
        try:
            if address == "93.184.216.34":
                await asyncio.Event().wait()
            if address == "93.184.216.35":
                raise ConnectionRefusedError
        except asyncio.CancelledError:
            given_up.append(address)
            raise
        made = socket.socket()
        made.setblocking(False)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
        return made

    async def resolve(host: str, port: int) -> list[str]:
        return ["93.184.216.34", "93.184.216.35", "93.184.216.36"]

    guard = Guard(resolve=resolve, egress=Egress(EgressRules(allow=("http://a.example:*",))))
    async with wire_server(lambda head, body: said(b"mine")) as server, ConnectionPool(guard, dial=dial) as pool:
        assert await asked(pool, f"http://a.example:{server.port}/") == (200, b"mine")
    assert (dialled, given_up) == (["93.184.216.34", "93.184.216.35", "93.184.216.36"], ["93.184.216.34"])


async def test_a_length_that_lies_breaks_the_answer_off() -> None:
    async with (
        wire_server(
            lambda head, body: b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\nconnection: close\r\n\r\nshort"
        ) as short,
        wire_server(lambda head, body: b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab") as two,
        wire_server(lambda head, body: b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nab") as negative,
        ConnectionPool(here()) as pool,
    ):
        for server in (short, two, negative):
            with pytest.raises(WireFailure) as raised:
                await asked(pool, f"http://localhost:{server.port}/")
            assert raised.value.kind == "RemoteProtocolError"


async def test_a_head_without_an_end_and_a_slow_drip_are_broken_off() -> None:
    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/interim" in head:
            writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1000)
        elif b"/upgrade" in head:
            writer.write(b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\n")
        while not reader.at_eof():
            # A drip: each byte comes in time, the head never does.
            writer.write(b"x-more: " + b"y" * 4000 + b"\r\n" if b"/endless" in head else b"a")
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(0.001 if b"/endless" in head else 0.05):
                    await reader.read(1)

    wanted = {"/endless": "RemoteProtocolError", "/drip": "ReadTimeout", "/interim": "RemoteProtocolError"}
    wanted["/upgrade"] = "RemoteProtocolError"
    async with listening(handle) as port, ConnectionPool(here()) as pool:
        for path, kind in wanted.items():
            with pytest.raises(WireFailure) as raised:
                await asked(pool, f"http://localhost:{port}{path}", SHORT if kind == "ReadTimeout" else None)
            assert raised.value.kind == kind, path
    assert HEAD_BYTES_MAX < 100_000


async def test_a_header_can_not_begin_another_header_or_request() -> None:
    async with wire_server(lambda head, body: said(b"mine")) as server, ConnectionPool(here()) as pool:
        url = f"http://localhost:{server.port}/"
        for name, value in {
            "x": "a\r\nx-evil: 1",
            "x-b": "a\nGET /evil HTTP/1.1",
            "x\r\ny": "a",
            "x y": "a",
            "x-c": "a\0b",
            "": "a",
        }.items():
            with pytest.raises(WireFailure) as raised:
                await pool.send("GET", url, [(name.encode(), value.encode())])
            assert raised.value.kind == "LocalProtocolError", (name, value)
        with pytest.raises(WireFailure):
            await pool.send("GET /evil HTTP/1.1\r\nHost: x\r\n\r\nGET", url, [])
        with pytest.raises(WireFailure):
            await pool.send("GET", url, [], target=b"/ HTTP/1.1\r\nx-evil: 1\r\n\r\nGET /")
        assert server.heads == []
        # Where a request goes is said by its address alone.
        assert await asked(pool, url, Host="evil.example", Proxy_Authorization="x", Upgrade="h2c") == (200, b"mine")
        assert server.heads == [f"GET / HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n"]


async def test_a_kept_connection_of_one_tenant_never_carries_what_another_sent() -> None:
    async with (
        wire_server(lambda head, body: said(b"ok", "200 OK", "set-cookie: session=ann")) as server,
        ConnectionPool(here()) as pool,
    ):
        url = f"http://localhost:{server.port}/"
        await asked(pool, url, Cookie="session=ann", Authorization="Bearer ann")
        await asked(pool, url)
        await asked(pool, url, Authorization="NTLM ann")
        await asked(pool, url)
    assert [len(heads) for heads in server.connections] == [3, 1], "a login of the connection ends with its request"
    for head in (server.heads[1], server.heads[3]):
        assert "ann" not in head
        assert "ookie" not in head


async def test_a_server_that_hangs_up_costs_a_reader_nothing_and_a_writer_is_not_repeated() -> None:
    async with wire_server(lambda head, body: said(b"ok")) as server, ConnectionPool(here()) as pool:
        url = f"http://localhost:{server.port}/"
        assert await asked(pool, url) == (200, b"ok")
    seen: list[bytes] = []

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answers the first request of a connection, and hangs up on the second."""
        seen.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(said(b"ok"))
        seen.append(await reader.readuntil(b"\r\n\r\n"))

    async with listening(once) as port, ConnectionPool(here()) as pool:
        url = f"http://localhost:{port}/"
        assert await asked(pool, url) == (200, b"ok")
        assert await asked(pool, url) == (200, b"ok")
        assert len(seen) == 3
        with pytest.raises(WireFailure):
            await pool.send("POST", url, [(b"content-length", b"0")])
        assert len(seen) == 4


async def test_tls_is_checked_against_the_name_and_is_kept(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "localhost", "api.example")

    async def resolve(host: str, port: int) -> list[str]:
        return ["127.0.0.1"]

    rules = EgressRules(private=("https://localhost:*", "https://*.localhost:*"))
    guard = Guard(resolve=resolve, egress=Egress(rules))
    async with (
        wire_server(lambda head, body: said(b"safe"), server_side) as server,
        ConnectionPool(guard, context=client_side) as pool,
        ConnectionPool(guard) as stranger,
    ):
        for _ in range(3):
            assert await asked(pool, f"https://localhost:{server.port}/") == (200, b"safe")
        assert len(server.connections) == 1
        for each, url in (
            (pool, f"https://other.localhost:{server.port}/"),
            (stranger, f"https://localhost:{server.port}/"),
        ):
            with pytest.raises(WireFailure) as raised:
                await asked(each, url)
            assert raised.value.kind == "ConnectError"
            assert isinstance(raised.value.__cause__, ssl.SSLCertVerificationError)
        with pytest.raises(HttpFailure, match="its certificate is not trusted") as told:
            await Fetcher(guard).get(f"https://localhost:{server.port}/")
        assert told.value.lasting
        assert server.heads == [f"GET / HTTP/1.1\r\nHost: localhost:{server.port}\r\n\r\n"] * 3


async def test_a_proxy_carries_what_goes_out_and_sees_no_secret_of_https(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "api.example")
    async with (
        wire_server(lambda head, body: said(b"safe"), server_side) as safe,
        wire_server(lambda head, body: said(b"plain")) as plain,
        proxy({"api.example:443": ("127.0.0.1", safe.port), "old.example:80": ("127.0.0.1", plain.port)}, PASS) as via,
    ):
        rules = EgressRules(
            allow=("api.example", "http://old.example", "gone.example"),
            private=("http://localhost:*",),
            proxy=f"http://ann:hunter2@localhost:{via.port}",
        )
        asked_names: list[str] = []

        async def resolve(host: str, port: int) -> list[str]:
            asked_names.append(host)
            return ["127.0.0.1"]

        async with ConnectionPool(Guard(resolve=resolve, egress=Egress(rules)), context=client_side) as pool:
            for _ in range(2):
                assert await asked(pool, "https://api.example/x?key=hunter3", Authorization="Bearer hunter4") == (
                    200,
                    b"safe",
                )
            assert await asked(pool, "http://old.example/y") == (200, b"plain")
            with pytest.raises(WireFailure, match="does not let this through"):
                await asked(pool, "https://gone.example/")
            with pytest.raises(AddressRefused):
                await asked(pool, "https://10.0.0.1/")
            assert await asked(pool, f"http://localhost:{plain.port}/z") == (200, b"plain")
        assert set(asked_names) == {"localhost"}, "the proxy looks names up"
        assert [head.split("\r\n")[0] for head in via.heads] == [
            "CONNECT api.example:443 HTTP/1.1",
            "GET http://old.example/y HTTP/1.1",
            "CONNECT gone.example:443 HTTP/1.1",
        ]
        assert "hunter3" not in "".join(via.heads)
        assert "hunter4" not in "".join(via.heads)
        assert "roxy" not in "".join(safe.heads), "the password of the proxy is for the proxy"
        assert len(safe.connections) == 1
        wrong = EgressRules(allow=("api.example",), proxy=f"http://ann:wrong-word@localhost:{via.port}")
        async with ConnectionPool(Guard(resolve=resolve, egress=Egress(wrong)), context=client_side) as pool:
            with pytest.raises(WireFailure, match="wants a name and password") as raised:
                await asked(pool, "https://api.example/")
            assert "wrong-word" not in repr(raised.value)


async def test_what_a_proxy_says_before_tls_is_never_taken_for_the_server(tmp_path: Path) -> None:
    server_side, client_side = certificate(tmp_path, "api.example")
    async with (
        wire_server(lambda head, body: said(b"safe"), server_side) as safe,
        proxy({"api.example:443": ("127.0.0.1", safe.port)}, extra=said(b"forged")) as via,
        ConnectionPool(here(proxy=f"http://127.0.0.1:{via.port}"), context=client_side) as pool,
    ):
        with pytest.raises(WireFailure) as raised:
            await asked(pool, "https://api.example/")
        assert raised.value.kind == "ProxyError"
        assert safe.heads == []


PASS = "Basic YW5uOmh1bnRlcjI="


async def test_httpx_and_httpx2_hand_their_requests_to_the_same_guard(tmp_path: Path) -> None:
    async with wire_server(
        lambda head, body: (
            said(b"", "302 Found", "location: http://169.254.169.254/")
            if b"/away" in head
            else said(body or b"mine", "200 OK", "content-type: text/plain")
        )
    ) as server:
        base = f"http://localhost:{server.port}"

        async def pieces() -> AsyncIterator[bytes]:
            yield b"in "
            yield b"pieces"

        async with httpx.AsyncClient(
            transport=GuardedHttpxTransport(here()), follow_redirects=True, timeout=HANGS_S
        ) as old:
            assert (await old.post(f"{base}/x", content=b"whole")).text == "whole"
            assert (await old.get(f"{base}/x")).text == "mine"
            for url in (f"{base}/away", "https://10.0.0.1/"):
                with pytest.raises(AddressRefused):
                    await old.get(url)
            with pytest.raises(httpx.ConnectError):
                await old.get("http://localhost:1/")
        async with httpx2.AsyncClient(
            transport=GuardedTransport(here()), follow_redirects=True, timeout=HANGS_S
        ) as new:
            assert (await new.post(f"{base}/x", content=b"whole")).text == "whole"
            assert (await new.get(f"{base}/x")).text == "mine"
            for url in (f"{base}/away", "https://10.0.0.1/"):
                with pytest.raises(AddressRefused):
                    await new.get(url)
            with pytest.raises(httpx2.ConnectError):
                await new.get("http://localhost:1/")
        assert len(server.connections) == 2


async def test_a_bomb_for_a_client_of_others_is_broken_off_too() -> None:
    small, bomb = gzip.compress(b"hello"), gzip.compress(bytes(50_000_000))
    async with wire_server(first(packed(small), packed(bomb))) as server:
        base = f"http://localhost:{server.port}"
        async with httpx.AsyncClient(
            transport=GuardedHttpxTransport(here(), bytes_max=100_000), timeout=HANGS_S
        ) as old:
            assert (await old.get(f"{base}/first")).text == "hello"
            with pytest.raises(httpx.DecodingError, match="longer than"):
                await old.get(f"{base}/bomb")
        async with httpx2.AsyncClient(transport=GuardedTransport(here(), bytes_max=100_000), timeout=HANGS_S) as new:
            assert (await new.get(f"{base}/first")).text == "hello"
            with pytest.raises(httpx2.DecodingError, match="longer than"):
                await new.get(f"{base}/bomb")


def packed(body: bytes) -> bytes:
    return said(body, "200 OK", "content-encoding: gzip")


async def test_an_answer_that_outlives_its_pool_leaves_no_connection_behind() -> None:
    async with wire_server(always(said(b"ok"))) as server:
        pool = ConnectionPool(here())
        answer = await pool.send("GET", f"http://localhost:{server.port}/", [])
        await pool.aclose()
        assert [piece async for piece in answer.chunks()] == [b"ok"]
        assert answer._connection.wire.transport is not None
        assert answer._connection.wire.transport.is_closing()


async def test_requests_side_by_side_and_cancelled_ones_never_get_the_answer_of_another() -> None:
    """Every answer names its request; some requests are cancelled at a moment of their own."""
    waiting = asyncio.Event()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            path = (await reader.readuntil(b"\r\n\r\n")).split(b" ")[1]
            if path.startswith(b"/held"):
                await waiting.wait()
            writer.write(said(path * 50))
            await writer.drain()

    async with listening(handle) as port, ConnectionPool(here()) as pool:

        async def one(path: str) -> None:
            assert await asked(pool, f"http://localhost:{port}{path}") == (200, path.encode() * 50), path

        for batch in range(5):
            tasks = [asyncio.create_task(one(f"/{batch}/{number}")) for number in range(10)]
            held = [asyncio.create_task(one(f"/held/{batch}/{number}")) for number in range(5)]
            for turns, task in enumerate(held):
                for _ in range(turns * 3):
                    await asyncio.sleep(0)
                task.cancel()
            await asyncio.gather(*held, return_exceptions=True)
            await asyncio.gather(*tasks)
        waiting.set()
        await asyncio.gather(*(one(f"/held/{number}") for number in range(10)))
        assert (await pool._pool()).room._value == CONNECTIONS_MAX


async def test_places_are_bounded_and_given_back_however_a_request_ends() -> None:
    async with wire_server(lambda head, body: said(b"x" * 1000)) as server, ConnectionPool(here()) as pool:
        url = f"http://localhost:{server.port}/"
        room = (await pool._pool()).room
        before = room._value
        answer = await pool.send("GET", url, [])
        assert room._value == before - 1
        await answer.aclose()
        await answer.aclose()
        with pytest.raises(WireFailure):
            await pool.send("GET", "http://localhost:1/", [])
        with pytest.raises(HttpFailure):
            await pool.send("GET", "http://10.0.0.1/", [])
        waiting = asyncio.create_task(pool.send("GET", url, []))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert room._value == before


TINY = 60_000
OF_CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"


async def test_an_answer_in_tiny_pieces_leaves_the_loop_to_others() -> None:
    answers = {
        "first": said(b"x"),
        "pieces": OF_CHUNKS + b"1\r\nx\r\n" * (TINY // 6) + b"0\r\n\r\n",
        "pieces with more": OF_CHUNKS + b"1;a=b\r\nx\r\n" * (TINY // 10) + b"0\r\n\r\n",
        "pieces and no length": OF_CHUNKS + b"1\r\nx\r\n" * (TINY // 6) + b"z\r\n",
        "headers": b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * (60_000 // 6) + b"content-length: 0\r\n\r\n",
        "answers before the answer": b"HTTP/1.1 100 Continue\r\n\r\n" * (TINY // 25),
        "packed": said(gzip.compress(b"x" * 4_000_000), "200 OK", "content-encoding: gzip"),
    }
    held: dict[str, int] = {}
    for name, wire in answers.items():
        async with wire_server(always(wire)) as server:
            fetcher = Fetcher(here(), bytes_max=8_000_000)
            async with turns_counted() as turns:
                with contextlib.suppress(HttpFailure):
                    await fetcher.get(f"http://localhost:{server.port}/")
            await fetcher.aclose()
        held[name] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}
