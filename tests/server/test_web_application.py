"""The application: what is looked at before any door hears of a request, over real sockets."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from urllib.parse import urlsplit

import httpx2
import msgspec
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import Scope

from actum.core.errors import UsageError
from actum.core.identity import Identity
from actum.core.stored.key import new_key
from actum.server.access import Access
from actum.server.metrics import Metrics
from actum.server.refusal import HttpRefusal, MissingScope
from actum.server.route_group import Worded, identity_of
from actum.server.verifier import Keys
from actum.server.web import ConnectionLimits, Connections, PatientProtocol
from actum.server.web_application import LARGE_BODIES_MAX, WebApplication, WebApplicationSettings
from actum.testing import FakeClock
from tests.patience import HANGS_S
from tests.web import serving

LIMITS = WebApplicationSettings(body_bytes_max=1_000, body_s=1.0, header_bytes_max=2_000)
HOST = b"host: 127.0.0.1\r\n"


class Echo:
    """A door that answers, waits, streams and fails."""

    def __init__(self, *, scopes: Sequence[str] = (), word: bool = False) -> None:
        self.scopes = scopes
        self.open_paths = ("/echo/open",)
        self.gate, self.entered, self.told = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.finished = 0

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return [
            Route("/echo", self._echo, methods=["GET", "POST"]),
            Route("/echo/open", self._echo),
            Route("/echo/wait", self._wait),
            Route("/echo/stream", self._stream),
            Route("/echo/fail", self._fail),
            Route("/echo/scope", self._scope),
        ]

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        yield

    async def end_streams(self) -> None:
        self.told.set()

    async def recognize(self, scope: Scope) -> Identity | None:
        return Identity(principal="cookie") if (b"cookie", b"session=1") in scope["headers"] else None

    async def _echo(self, request: Request) -> Response:
        body = await request.body()
        who, client = identity_of(request.scope), request.client
        return PlainTextResponse(f"{len(body)} {who.principal} {client.host if client else ''} {request.url.scheme}")

    async def _wait(self, request: Request) -> Response:
        self.entered.set()
        await self.gate.wait()
        self.finished += 1
        return PlainTextResponse("done")

    async def _stream(self, request: Request) -> Response:
        async def parts() -> AsyncIterator[str]:
            yield "begun\n"
            self.entered.set()
            await self.told.wait()
            yield "the server stops\n"

        return StreamingResponse(parts())

    async def _fail(self, request: Request) -> Response:
        raise RuntimeError("SELECT secret FROM /etc/passwd")

    async def _scope(self, request: Request) -> Response:
        raise MissingScope("special")


class Polite(Echo):
    """A door with words of its own."""

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/polite", self._echo, methods=["POST"])]

    def word(self, refusal: HttpRefusal, scope: Scope) -> Worded:
        return Worded(b"text/sorry", f"sorry: {refusal.status}".encode())


@asynccontextmanager
async def opened(
    application: WebApplication, limits: ConnectionLimits | None = None
) -> AsyncIterator[tuple[str, httpx2.AsyncClient]]:
    """An application that is served, and a client."""
    http = partial(PatientProtocol, counted=Connections(limits or ConnectionLimits(header_bytes_max=2_000)))
    async with (
        serving(application.app, http=http) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        yield origin, client


async def raw(origin: str, *parts: bytes) -> bytes:
    """What a server answers to these bytes, until it hangs up or the client has said all and the answer is there."""
    place = urlsplit(origin)
    reader, writer = await asyncio.open_connection(place.hostname, place.port)
    async with asyncio.timeout(HANGS_S):
        try:
            for part in parts:
                writer.write(part)
                await writer.drain()
            return await reader.read()
        except ConnectionError:
            return b""
        finally:
            writer.transport.abort()


def told(answer: bytes) -> tuple[int, dict[str, object]]:
    """The status of an answer, and its body where that is JSON."""
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, json.loads(body) if body.startswith(b"{") else {}


CHUNK = b"40\r\n" + b"x" * 64 + b"\r\n"
POST = b"POST /echo HTTP/1.1\r\n" + HOST + b"connection: close\r\n"
BAD: dict[str, tuple[int, tuple[bytes, ...]]] = {
    "no Host": (400, (b"GET /echo HTTP/1.1\r\n\r\n",)),
    "no Host in HTTP/1.0": (400, (b"GET /echo HTTP/1.0\r\n\r\n",)),
    "two Hosts": (400, (b"GET /echo HTTP/1.1\r\n" + HOST + b"host: evil\r\n\r\n",)),
    "another Host": (421, (b"GET /echo HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",)),
    "a Host with a user": (421, (b"GET /echo HTTP/1.1\r\nhost: localhost:1@evil\r\nconnection: close\r\n\r\n",)),
    "Origin null": (403, (b"GET /echo HTTP/1.1\r\n" + HOST + b"connection: close\r\norigin: null\r\n\r\n",)),
    "another Origin": (403, (b"GET /echo HTTP/1.1\r\n" + HOST + b"connection: close\r\norigin: http://e\r\n\r\n",)),
    "two Origins, one of another": (
        403,
        (
            b"GET /echo HTTP/1.1\r\n"
            + HOST
            + b"connection: close\r\norigin: http://localhost\r\norigin: http://e\r\n\r\n",
        ),
    ),
    "headers that are too long": (
        431,
        (b"GET /echo HTTP/1.1\r\n" + HOST + b"connection: close\r\nx: " + b"y" * 3_000 + b"\r\n\r\n",),
    ),
    "headers that never end": (431, (b"GET /echo HTTP/1.1\r\n" + HOST, *[b"x: " + b"y" * 500 + b"\r\n"] * 9)),
    "a path that is too long": (
        431,
        (b"GET /echo?" + b"a" * 1_999 + b" HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",),
    ),
    "a body that says to be too long": (413, (POST + b"content-length: 1001\r\n\r\n",)),
    "a length of many digits": (413, (POST + b"content-length: 999999999999999999\r\n\r\n",)),
    "a flood of chunks": (413, (POST + b"transfer-encoding: chunked\r\n\r\n", *[CHUNK] * 20)),
    "a chunk that is none": (400, (POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n",)),
    "a negative length": (400, (POST + b"content-length: -1\r\n\r\n",)),
    "two lengths": (400, (POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nx",)),
    "a length beside chunks": (400, (POST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",)),
    "a body that does not come": (408, (POST + b"content-length: 9\r\n\r\nabc",)),
    "chunks that stop": (408, (POST + b"transfer-encoding: chunked\r\n\r\n" + CHUNK,)),
    "no HTTP": (400, (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",)),
    "an unknown path": (404, (b"GET /nothing HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",)),
    "a path below a door": (404, (b"GET /echo/nothing HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",)),
    "a wrong method": (405, (b"DELETE /echo HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",)),
    "a door that fails": (500, (b"GET /echo/fail HTTP/1.1\r\n" + HOST + b"connection: close\r\n\r\n",)),
}


async def test_each_bad_request_is_told_what_is_wrong_and_nothing_else() -> None:
    async with opened(WebApplication([Echo()], LIMITS)) as (origin, client):
        for name, (status, parts) in BAD.items():
            answer = await raw(origin, *parts)
            found, problem = told(answer)
            assert found == status, (name, answer[:200])
            for secret in (b"Traceback", b"SELECT", b"/etc", b".py"):
                assert secret not in answer, name
            if problem:
                assert (problem["status"], problem["type"]) == (status, "about:blank"), name
                assert b"application/problem+json" in answer, name
                assert str(problem["reference"]).encode() in answer.partition(b"\r\n\r\n")[0], name
        assert (await client.post("/echo", content=b"x" * 1_000)).text.startswith("1000"), "it still answers"


async def test_a_body_that_dribbles_is_cut_although_each_byte_comes_soon() -> None:
    async with opened(WebApplication([Echo()], LIMITS)) as (origin, _):
        place = urlsplit(origin)
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(POST + b"content-length: 900\r\n\r\n")
        async with asyncio.timeout(HANGS_S):
            answer = asyncio.create_task(reader.readline())
            while not answer.done():
                writer.write(b"x")
                await asyncio.wait([answer], timeout=0.02)
        assert told(answer.result())[0] == 408
        writer.transport.abort()


async def test_requests_that_come_at_once_on_one_connection_are_answered_in_order() -> None:
    async with opened(WebApplication([Echo()], LIMITS)) as (origin, _):
        first = b"POST /echo HTTP/1.1\r\n" + HOST + b"content-length: 3\r\n\r\nabc"
        second = b"GET /nothing HTTP/1.1\r\n" + HOST + b"\r\n"
        answer = await raw(origin, first + second + POST + b"content-length: 1\r\n\r\nx")
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) == [b"200", b"404", b"200"]


async def test_a_client_that_sends_too_much_still_reads_why() -> None:
    async with opened(WebApplication([Echo()], LIMITS)) as (_, client):
        assert (await client.post("/echo", content=b"x" * 300_000)).status_code == 413
        assert (await client.post("/echo", content=b"x")).status_code == 200


def keyed(clock: FakeClock, **scopes: Sequence[str]) -> tuple[dict[str, str], Keys]:
    """Keys with these scopes, each as the value of `Authorization`."""
    made = {name: new_key(name, scopes=several) for name, several in scopes.items()}
    return {name: f"Bearer {text}" for name, (text, _) in made.items()}, Keys(
        [k for _, k in made.values()], clock=clock
    )


async def test_without_a_key_a_stranger_is_told_how_to_come_in_and_a_weak_key_which_scope_it_lacks() -> None:
    keys, verifier = keyed(FakeClock(), good=["tools"], weak=[], chief=["admin"], scraper=["metrics"])
    application = WebApplication(
        [Echo(scopes=("tools",))], WebApplicationSettings(access=Access(verifier=verifier)), metrics=Metrics()
    )
    cases: list[tuple[str, dict[str, str], int, str]] = [
        ("/echo", {}, 401, 'Bearer realm="actum", scope="tools"'),
        ("/echo", {"authorization": "Bearer wrong"}, 401, 'error="invalid_token"'),
        ("/echo", {"authorization": "Basic abc"}, 401, "Bearer"),
        ("/echo", {"authorization": "Bearer"}, 401, "Bearer"),
        ("/echo", {"authorization": keys["weak"]}, 403, 'error="insufficient_scope", scope="tools"'),
        ("/echo", {"authorization": keys["good"]}, 200, ""),
        ("/echo", {"authorization": keys["good"].replace("Bearer", "bearer")}, 200, ""),
        ("/echo", {"authorization": keys["chief"]}, 200, ""),
        ("/echo", {"cookie": "session=1"}, 403, "tools"),
        ("/echo/scope", {"authorization": keys["good"]}, 403, 'scope="special"'),
        ("/echo/open", {}, 200, ""),
        ("/echo/open", {"authorization": "Bearer wrong"}, 401, ""),
        ("/metrics", {}, 401, 'scope="metrics"'),
        ("/metrics", {"authorization": keys["good"]}, 403, 'scope="metrics"'),
        ("/metrics", {"authorization": keys["scraper"]}, 200, ""),
        ("/nothing", {}, 404, ""),
        ("/healthz", {}, 200, ""),
        ("/readyz", {}, 200, ""),
    ]
    async with opened(application) as (_, client):
        for path, headers, status, challenge in cases:
            answer = await client.get(path, headers=headers)
            assert answer.status_code == status, (path, headers, answer.text)
            assert challenge in answer.headers.get("www-authenticate", ""), (path, headers)
        twice = [("authorization", keys["good"]), ("authorization", keys["chief"])]
        assert (await client.get("/echo", headers=twice)).status_code == 401


async def test_a_refusal_is_told_in_the_words_of_its_door() -> None:
    async with opened(WebApplication([Echo(), Polite()], LIMITS)) as (_, client):
        answer = await client.post("/polite", content=b"x" * 2_000)
        assert (answer.status_code, answer.headers["content-type"], answer.text) == (413, "text/sorry", "sorry: 413")
        assert (await client.post("/echo", content=b"x" * 2_000)).headers["content-type"] == "application/problem+json"


async def test_a_request_keeps_its_id_where_that_is_well_formed_and_the_log_has_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with opened(WebApplication([Echo()])) as (_, client):
        for given, kept in (("abc-1.2_3", True), ("a b", False), ("x" * 65, False), ('"><script>', False), ("", False)):
            answer = await client.get("/echo", headers={"x-request-id": given})
            assert (answer.headers["x-request-id"] == given) == kept, given
            assert len(answer.headers["x-request-id"]) <= 64
        await client.get("/echo/fail", headers={"x-request-id": "find-me", "authorization": "Bearer secret-text"})
    assert "find-me" in caplog.text
    assert "secret-text" not in caplog.text


async def test_proxies_are_believed_only_where_they_are_named() -> None:
    told_by = {"x-forwarded-for": "198.51.100.7", "x-forwarded-proto": "https", "forwarded": "for=203.0.113.9"}
    for settings, seen in (
        (WebApplicationSettings(), "127.0.0.1 http"),
        (WebApplicationSettings(proxies=("10.0.0.0/8",)), "127.0.0.1 http"),
        (WebApplicationSettings(proxies=("127.0.0.1",)), "198.51.100.7 https"),
        (WebApplicationSettings(proxies=("127.0.0.1",), proxy_header="forwarded"), "203.0.113.9 http"),
    ):
        async with opened(WebApplication([Echo()], settings)) as (_, client):
            assert (await client.get("/echo", headers=told_by)).text.split(" ", 2)[2] == seen, settings
            evil = {"x-forwarded-host": "evil.example"}
            assert (await client.get("/echo", headers=evil)).status_code == 200, "it is not read"


async def test_a_page_reads_answers_only_where_its_origin_was_named() -> None:
    def cors(answer: httpx2.Response) -> list[str]:
        return sorted(name for name in answer.headers if name.startswith("access-control"))

    asks = {"access-control-request-method": "POST", "access-control-request-headers": "authorization, x-a"}
    async with opened(WebApplication([Echo()])) as (_, client):
        for origin in ({"origin": "http://localhost:3000"}, {}):
            assert cors(await client.get("/echo", headers=origin)) == []
        assert (await client.options("/echo", headers={"origin": "http://localhost", **asks})).status_code == 405
    named = WebApplicationSettings(access=Access(verifier=keyed(FakeClock())[1], origins=("https://app.example",)))
    async with opened(WebApplication([Echo()], named)) as (_, client):
        refused = await client.get("/echo", headers={"origin": "https://app.example"})
        assert (refused.status_code, refused.headers["access-control-allow-origin"]) == (401, "https://app.example")
        assert cors(await client.get("/echo", headers={"origin": "http://localhost"})) == []
        asked = await client.options("/echo", headers={"origin": "https://app.example", **asks})
        assert (asked.status_code, asked.headers["access-control-allow-headers"]) == (204, "authorization, x-a")
        assert (await client.options("/echo", headers={"origin": "https://evil", **asks})).status_code == 403


async def test_who_has_too_much_under_way_is_told_so_and_everybody_where_all_places_are_taken() -> None:
    for settings, status in (
        (WebApplicationSettings(requests_per_caller_max=2), 429),
        (WebApplicationSettings(requests_max=2), 503),
    ):
        door = Echo()
        async with opened(WebApplication([door], settings)) as (_, client), asyncio.TaskGroup() as group:
            waiting = [group.create_task(client.get("/echo/wait")) for _ in range(2)]
            refused = await client.get("/echo")
            while refused.status_code == 200:  # until both have arrived
                refused = await client.get("/echo")
            assert (refused.status_code, refused.headers["retry-after"]) == (status, "1")
            assert (await client.get("/healthz")).status_code == 200, "a probe needs no place"
            door.gate.set()
        assert [each.result().status_code for each in waiting] == [200, 200]
        async with opened(WebApplication([door], settings)) as (_, client):
            assert [(await client.get("/echo")).status_code for _ in range(5)] == [200] * 5, "places are given back"


async def test_two_users_at_one_address_have_places_of_their_own() -> None:
    keys, verifier = keyed(FakeClock(), ann=[], bob=[])
    door = Echo()
    settings = WebApplicationSettings(access=Access(verifier=verifier), requests_per_caller_max=1)
    async with opened(WebApplication([door], settings)) as (_, client):
        first = asyncio.create_task(client.get("/echo/wait", headers={"authorization": keys["ann"]}))
        await door.entered.wait()
        assert (await client.get("/echo", headers={"authorization": keys["ann"]})).status_code == 429
        assert (await client.get("/echo", headers={"authorization": keys["bob"]})).status_code == 200
        assert (await client.get("/echo")).status_code == 401
        door.gate.set()
        await first


async def test_connections_are_counted_by_address_and_in_all() -> None:
    for limits, status in (
        (ConnectionLimits(connections_per_address_max=2), 429),
        (ConnectionLimits(connections_max=2), 503),
    ):
        async with opened(WebApplication([Echo()]), limits) as (origin, client):
            place = urlsplit(origin)
            idle = [await asyncio.open_connection(place.hostname, place.port) for _ in range(2)]
            answer = await raw(origin)
            assert told(answer)[0] == status
            assert b"retry-after: 1" in answer
            for _, writer in idle:
                writer.close()
                await writer.wait_closed()
            assert await until(lambda: client.get("/echo")) == 200, "they are given back"


async def until(ask: Callable[[], object]) -> int:
    """The status when the server answers again."""
    async with asyncio.timeout(HANGS_S):
        while True:
            answer = await ask()  # type: ignore[misc]
            if answer.status_code == 200:
                return 200


async def test_a_client_that_hangs_up_ends_nothing() -> None:
    door = Echo()
    async with opened(WebApplication([door])) as (origin, client):
        place = urlsplit(origin)
        _, writer = await asyncio.open_connection(place.hostname, place.port)
        writer.write(b"GET /echo/wait HTTP/1.1\r\n" + HOST + b"\r\n")
        await door.entered.wait()
        writer.transport.abort()
        await client.get("/echo")
        door.gate.set()
        await client.get("/echo")
        assert door.finished == 1


async def test_a_house_that_drains_takes_nothing_new_tells_streams_and_lets_the_rest_finish() -> None:
    door = Echo()
    application = WebApplication([door])
    async with opened(application) as (_, client):
        waiting = asyncio.create_task(client.get("/echo/wait"))
        await door.entered.wait()
        async with client.stream("GET", "/echo/stream") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "begun"
            await application.drain()
            assert await anext(lines) == "the server stops"
        refused = await client.get("/echo")
        assert (refused.status_code, refused.headers["connection"]) == (503, "close")
        assert "retry-after" in refused.headers
        assert (await client.get("/readyz")).status_code == 503
        assert (await client.get("/healthz")).status_code == 200
        door.gate.set()
        assert (await waiting).text == "done"


async def test_a_door_that_does_not_end_its_streams_keeps_nobody_waiting() -> None:
    class Stubborn(Echo):
        async def end_streams(self) -> None:
            self.entered.set()
            await asyncio.Event().wait()

    class Broken(Echo):
        async def end_streams(self) -> None:
            raise RuntimeError("no")

    clock, stubborn, polite = FakeClock(), Stubborn(), Echo()
    application = WebApplication([stubborn, Broken(), polite], clock=clock)
    draining = asyncio.create_task(application.drain())
    await stubborn.entered.wait()
    clock.advance(5.0)
    async with asyncio.timeout(HANGS_S):
        await draining
    assert polite.told.is_set()


async def test_new_settings_hold_from_the_next_request_on_and_broken_ones_change_nothing() -> None:
    application = WebApplication([Echo()], LIMITS)
    async with opened(application) as (_, client):
        assert (await client.post("/echo", content=b"x" * 2_000)).status_code == 413
        application.change(msgspec.structs.replace(LIMITS, body_bytes_max=5_000))
        assert (await client.post("/echo", content=b"x" * 2_000)).status_code == 200
        for broken in (
            WebApplicationSettings(host="0.0.0.0"),
            WebApplicationSettings(proxies=("nowhere",)),
            WebApplicationSettings(public="tools.example.org"),
            WebApplicationSettings(access=Access(issuer="https://login.example")),
        ):
            with pytest.raises(UsageError):
                application.change(broken)
        assert (await client.post("/echo", content=b"x" * 2_000)).status_code == 200


class WithFiles(Echo):
    """A door of which one path takes files of 3,000 bytes, 4,000 in Base64."""

    @property
    def file_bytes(self) -> dict[str, int]:
        return {"/files": 3_000}

    @property
    def routes(self) -> Sequence[BaseRoute]:
        return [Route("/echo", self._echo, methods=["POST"]), Route("/files", self._files, methods=["POST"])]

    async def _files(self, request: Request) -> Response:
        body = await request.body()
        self.finished += 1
        if self.finished == LARGE_BODIES_MAX:
            self.entered.set()
        await self.gate.wait()
        return PlainTextResponse(f"{len(body)}")


async def test_a_path_that_takes_files_has_longer_bodies_and_few_of_these_are_read_at_once() -> None:
    door = WithFiles()
    async with opened(WebApplication([door], LIMITS)) as (_, client), asyncio.timeout(HANGS_S):
        for path, size, status in (("/echo", 1_001, 413), ("/files", 5_001, 413)):
            assert (await client.post(path, content=b"x" * size)).status_code == status
        asked = [asyncio.create_task(client.post("/files", content=b"x" * 5_000)) for _ in range(LARGE_BODIES_MAX)]
        await door.entered.wait()
        late = await client.post("/files", content=b"x" * 5_000)
        assert (late.status_code, late.headers["retry-after"]) == (503, "1")
        small = asyncio.create_task(client.post("/files", content=b"x" * 1_000))
        door.gate.set()
        assert [(await each).text for each in (*asked, small)] == ["5000"] * LARGE_BODIES_MAX + ["1000"]
        assert (await client.post("/files", content=b"x" * 5_000)).status_code == 200


async def test_readiness_is_looked_at_once_a_second_and_a_journal_that_fails_or_hangs_means_no() -> None:
    clock, looks = FakeClock(), 0
    outcome: Exception | None = None

    async def look() -> list[str]:
        nonlocal looks
        looks += 1
        if outcome is not None:
            raise outcome
        return []

    async with opened(WebApplication([], ready=look, clock=clock)) as (_, client):
        assert {(await client.get("/readyz")).text for _ in range(20)} == {"yes\n"}
        assert looks == 1
        outcome = RuntimeError("password=secret")
        clock.advance(1.0)
        answer = await client.get("/readyz", headers={"host": "10.1.2.3"})
        assert (answer.status_code, answer.text, looks) == (503, "no\n", 2)


async def test_the_public_address_is_where_tokens_are_for_and_a_name_of_the_server() -> None:
    access = Access(verifier=keyed(FakeClock())[1], issuer="https://login.example")
    application = WebApplication([Echo()], WebApplicationSettings(access=access, public="https://tools.example.org"))
    async with opened(application) as (_, client):
        refused = await client.get("/echo", headers={"host": "tools.example.org"})
        metadata = "https://tools.example.org/.well-known/oauth-protected-resource"
        assert f'resource_metadata="{metadata}"' in refused.headers["www-authenticate"]
        found = (await client.get("/.well-known/oauth-protected-resource")).json()
        assert (found["resource"], found["authorization_servers"]) == (
            "https://tools.example.org",
            ["https://login.example"],
        )
        assert (await client.get("/.well-known/oauth-protected-resource/x")).status_code == 404


async def test_what_is_no_request_over_http_is_hung_up_on(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "actum")
    sent: list[object] = []

    async def send(message: object) -> None:
        sent.append(message)

    async def receive() -> dict[str, object]:
        return {"type": "websocket.connect"}

    await WebApplication([Echo()]).app({"type": "websocket", "path": "/echo", "headers": []}, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]
