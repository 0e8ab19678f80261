"""Connections over HTTP: Streamable HTTP in both eras, and the SSE before it. Real servers, some of odd manners."""

from __future__ import annotations

import asyncio
import json
import random
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest

from actum.core.errors import CallError, CallTimeout, InvalidResult, PermissionDenied, RateLimited, Unavailable
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpServer
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import HEADER_MISMATCH, McpError
from actum.toolsets.mcp.http import McpHttpClient, Mended
from actum.toolsets.mcp.toolset import McpToolset
from actum.transport.egress import Egress, EgressRules
from actum.transport.guard import Guard
from tests.effort import turns_counted
from tests.patience import HANGS_S
from tests.server_process import running
from tests.transport.wire_servers import length_of, listening
from tests.transport.wire_servers import said as wire

from .test_connection import Somebody
from .test_stdio import called, notification, said, until


@pytest.fixture(scope="module")
def odd() -> Iterator[str]:
    with running("tests.mcp_servers.odd_http", path="") as url:
        yield url


@pytest.fixture(scope="module")
def desk() -> Iterator[str]:
    with running("tests.mcp_servers.desk", "http") as url:
        yield url


@pytest.fixture(scope="module")
def old_desk() -> Iterator[str]:
    with running("tests.mcp_servers.desk", "sse", path="/sse") as url:
        yield url


def at(url: str, **settings: Any) -> McpServer:  # noqa: ANN401 - of whatever field
    return McpServer(name="there", url=url, **settings)


async def seen(odd: str) -> list[dict[str, Any]]:
    async with httpx2.AsyncClient(verify=False, timeout=HANGS_S) as client:
        return list((await client.get(f"{odd}/seen")).json())


# A server of others ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["auto", "legacy", "modern"])
async def test_a_server_of_the_sdk_is_spoken_to_over_http(desk: str, era: Any) -> None:  # noqa: ANN401
    ada = Somebody()
    async with McpConnection(at(desk, era=era)) as connection:
        facts = await connection.facts()
        tools = await connection.list_all("tools/list")
        await connection.request("tools/call", {"name": "slow", "arguments": {"seconds": 0, "steps": 2}}, caller=ada)
        total = await called(connection, "add", a=2, b=3)
        read = await connection.request("resources/read", {"uri": "memo://today"})

    assert facts.era == ("legacy" if era == "legacy" else "modern")
    assert "add" in [tool["name"] for tool in tools]
    assert said(total) == "5"
    assert "Nothing." in json.dumps(read)
    assert [step for _, step in ada.heard] == [1, 2]


@pytest.mark.parametrize("transport", ["", "sse"])
async def test_a_bare_address_of_a_server_before_streamable_http_is_found_out(old_desk: str, transport: Any) -> None:  # noqa: ANN401
    async with McpConnection(at(old_desk, transport=transport)) as connection:
        facts = await connection.facts()
        greeting = await connection.request("tools/call", {"name": "greet", "arguments": {}}, caller=Somebody())

    assert facts.era == "legacy"
    assert said(greeting) == "Hello Ada"


async def test_a_pinned_transport_is_not_replaced_by_another(old_desk: str) -> None:
    async with McpConnection(at(old_desk, transport="http")) as connection:
        with pytest.raises(Unavailable, match="HTTP 405"):
            await connection.facts()


async def test_a_pushed_question_goes_to_its_caller_over_http(desk: str) -> None:
    callers = [Somebody("Ada"), Somebody("Bob"), Somebody("Cem")]
    async with McpConnection(at(desk, era="legacy")) as connection:
        greetings = await asyncio.gather(
            *(connection.request("tools/call", {"name": "greet", "arguments": {}}, caller=each) for each in callers)
        )

    assert [said(each) for each in greetings] == ["Hello Ada", "Hello Bob", "Hello Cem"]


async def test_a_server_that_dies_is_lost_in_a_call_and_not_there_in_the_next() -> None:
    with running("tests.mcp_servers.desk", "http") as url:
        async with McpConnection(at(url)) as connection:
            with pytest.raises(CallTimeout, match="lost") as lost:
                await called(connection, "die")
            with pytest.raises(Unavailable, match="Nobody listens there") as gone:
                await called(connection, "add", a=1, b=1)

            assert (lost.value.effect, gone.value.effect) == ("unknown", "none")
            assert connection.health.state == "resting"


# What is sent ---------------------------------------------------------------------------------------------------------


async def test_a_request_without_a_handshake_says_in_headers_what_it_is(odd: str) -> None:
    schema: JsonObject = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "left_out": {"type": "string", "x-mcp-header": "Left"},
            "plain": {"type": "string"},
        },
    }
    params: JsonObject = {"name": "headers", "arguments": {"region": "K\u00f6ln", "plain": "p"}}
    async with McpConnection(at(f"{odd}/modern")) as connection:
        headers = json.loads(said(await connection.request("tools/call", params, header_schema=schema)))

    assert headers["mcp-protocol-version"] == "2026-07-28"
    assert (headers["mcp-method"], headers["mcp-name"]) == ("tools/call", "headers")
    assert headers["mcp-param-region"].startswith("=?base64?")
    assert "mcp-param-left" not in headers
    assert "mcp-session-id" not in headers


async def test_a_header_that_does_not_fit_is_told_as_it_is(odd: str) -> None:
    async with McpConnection(at(f"{odd}/modern")) as connection:
        with pytest.raises(McpError) as refused:
            await called(connection, "mismatch")

    assert (refused.value.rpc_code, refused.value.effect) == (HEADER_MISMATCH, "none")


async def test_the_rules_of_the_operator_hold_for_an_mcp_server(desk: str) -> None:
    """A server that a person set up is reached by plain http, and not where the operator closed that."""
    server = at(desk)
    async with McpToolset(server, guard=Guard(server.url)) as tools:
        assert await tools.list_tools()
    egress = Egress(EgressRules(deny=("127.0.0.1",)))
    async with McpToolset(server, guard=Guard(server.url, egress=egress)) as tools:
        with pytest.raises(Unavailable, match=r"is denied by \[egress\]"):
            await tools.survey()
    assert {refusal.where for refusal in egress.refused} == {desk.removesuffix("/mcp")}


async def test_secrets_are_filled_in_when_they_are_sent(odd: str) -> None:
    server = at(f"{odd}/modern", headers={"Authorization": "Bearer ${secret:token}"})
    async with McpConnection(server, secrets={"token": "t0ken"}) as connection:
        headers = json.loads(said(await called(connection, "headers")))

    assert headers["authorization"] == "Bearer t0ken"


async def test_a_name_and_password_in_an_address_are_sent_as_such(odd: str) -> None:
    url = f"{odd.replace('://', '://user:p%40ss@')}/modern"
    async with McpConnection(at(url)) as connection:
        headers = json.loads(said(await called(connection, "headers")))

    assert headers["authorization"] == f"Basic {b64encode(b'user:p@ss').decode()}"


@pytest.mark.parametrize("name", ["cut", "list", "page", "huge"])
async def test_what_goes_wrong_is_no_error_of_the_log(odd: str, name: str, caplog: pytest.LogCaptureFixture) -> None:
    url = f"{odd.replace('://', '://user:passw0rd@')}/modern"
    caplog.set_level("INFO")
    async with McpConnection(at(url)) as connection:
        with pytest.raises(CallError):
            await called(connection, name)

    assert "passw0rd" not in caplog.text
    assert [record for record in caplog.records if record.levelname not in ("INFO", "DEBUG")] == []


async def test_no_query_of_an_address_stands_in_the_log(odd: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with McpConnection(at(f"{odd}/modern?key=hunter2")) as connection:
        await called(connection, "headers")
    assert "HTTP Request: POST" in caplog.text
    assert "hunter2" not in caplog.text


async def test_no_secret_stands_in_what_is_told(odd: str) -> None:
    url = f"{odd.replace('://', '://user:passw0rd@')}/status/401"
    server = at(url, headers={"X-Key": "${secret:key}"})
    async with McpConnection(server, secrets={"key": "k3y"}) as connection:
        with pytest.raises(Unavailable, match="login") as failed:
            await connection.facts()

    for text in (str(failed.value), connection.health.problem):
        assert "passw0rd" not in text
        assert "k3y" not in text
        assert "secret words" not in text


# What comes back ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["half", "half in a stream", "no UTF-8"])
async def test_a_result_that_holds_what_no_text_can_hold_is_not_lost(odd: str, name: str) -> None:
    async with McpConnection(at(f"{odd}/modern")) as connection:
        assert said(await called(connection, name)) == ("a \ufffd b" if "UTF" in name else "a \ufffd b \U0001f600 c")


async def test_what_no_text_can_hold_is_replaced_wherever_a_body_is_cut() -> None:
    wire = (
        rb"\ud800 \uDFFF \ud83d\ude00 \\ud800 \\\ud800 \ud83d\ud83d\ude00 \n \udc00\ud800 "
        + "é中".encode()
        + b"\xff\xed\xa0\x80"
    )
    told = r"\ufffd \ufffd \ud83d\ude00 \\ud800 \\\ufffd \ufffd\ud83d\ude00 \n \ufffd\ufffd é中" + "\ufffd" * 4
    for cut in range(len(wire) + 1):
        for step in (1, len(wire)):
            pieces = [wire[:cut], *(wire[at : at + step] for at in range(cut, len(wire), step))]
            assert b"".join([piece async for piece in Mended(Pieces(pieces))]).decode() == told, (cut, step)


class Pieces(httpx2.AsyncByteStream):
    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece


@pytest.mark.parametrize(
    ("status", "kind", "effect"),
    [
        (401, PermissionDenied, "none"),
        (403, PermissionDenied, "none"),
        (418, McpError, "none"),
        (429, RateLimited, "none"),
        (500, McpError, "unknown"),
        (502, CallTimeout, "unknown"),
        (503, Unavailable, "none"),
        (504, CallTimeout, "unknown"),
    ],
)
async def test_a_bare_status_is_the_error_it_means(odd: str, status: int, kind: type[CallError], effect: str) -> None:
    async with McpConnection(at(f"{odd}/modern")) as connection:
        with pytest.raises(kind) as failed:
            await called(connection, "status", status=status)

        assert failed.value.effect == effect
        assert failed.value.retry_after == (7.0 if status in (429, 503) else None)
        assert "secret words" not in str(failed.value)
        assert said(await called(connection, "headers"))


async def test_an_address_at_which_no_server_is_is_told_as_such(odd: str) -> None:
    async with McpConnection(at(f"{odd}/status/404")) as connection:
        with pytest.raises(CallError, match="HTTP 404: there is no MCP server at this address"):
            await called(connection, "headers")


@pytest.mark.parametrize(
    ("name", "kind", "told"),
    [
        ("list", InvalidResult, "malformed"),
        ("huge", InvalidResult, "too long"),
        ("page", InvalidResult, "no message of MCP: Unexpected content type: text/html"),
        ("packed", InvalidResult, "malformed"),
        ("cut", CallTimeout, "was lost"),
        ("of nobody", InvalidResult, "it answers another request"),
        ("cut short", InvalidResult, "malformed"),
        ("nothing", InvalidResult, "malformed"),
        ("accepted", InvalidResult, "no message of MCP: server answered a request with 202"),
        ("elsewhere", McpError, "Redirect to http://169.254.169.254/ not followed"),
        ("end of a stream", CallTimeout, "was lost"),
        ("gone", McpError, "Not Found"),
        ("not acceptable", McpError, "HTTP 406"),
    ],
)
async def test_an_answer_that_is_none_is_told_at_once(odd: str, name: str, kind: type[CallError], told: str) -> None:
    async with McpConnection(at(f"{odd}/modern")) as connection:
        with pytest.raises(kind) as failed:
            await called(connection, name)

        assert told in str(failed.value)
        assert len(str(failed.value)) < 200
        assert said(await called(connection, "headers"))
        assert connection.health.restarts == 0


async def test_an_error_of_the_network_is_of_one_request_alone(odd: str) -> None:
    async with McpConnection(at(f"{odd}/modern")) as connection:
        waiting = asyncio.create_task(called(connection, "wait"))
        with pytest.raises(CallTimeout):
            await called(connection, "cut")
        await called(connection, "go")

        assert said(await waiting) == "went on"


async def test_silence_over_http_says_nothing_of_the_era(odd: str) -> None:
    clock = FakeClock()
    await seen(odd)
    connection = McpConnection(at(f"{odd}/mute"), clock=clock)
    asking = asyncio.create_task(connection.facts())
    while not await seen(odd):  # noqa: ASYNC110 - it is another process that sees it
        await asyncio.sleep(0)
    clock.advance(61)

    with pytest.raises(Unavailable, match="does not answer server/discover"):
        await asking
    assert [each["body"]["method"] for each in await seen(odd) if each.get("body")] == []
    await connection.close()


class Slow(httpx2.Auth):
    """A login that takes as long as a person does."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        self.clock.advance(300)
        request.headers["Authorization"] = "Bearer at-last"
        yield request


async def test_a_slow_login_does_not_choose_the_wrong_era(odd: str) -> None:
    clock = FakeClock()
    async with McpConnection(at(f"{odd}/modern"), clock=clock, auth=Slow(clock)) as connection:
        assert (await connection.facts()).era == "modern"


async def test_a_request_that_an_old_server_does_not_take_is_told_at_once(odd: str) -> None:
    async with McpConnection(at(f"{odd}/old", transport="sse")) as connection:
        assert (await connection.facts()).version == "2024-11-05"

        with pytest.raises(CallTimeout, match="lost"):
            await called(connection, "headers")


# Cancelling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ["modern", "legacy"])
async def test_cancelling_is_said_as_the_era_has_it(odd: str, era: str) -> None:
    await seen(odd)
    ada = Somebody()
    async with McpConnection(at(f"{odd}/{era}", era=era)) as connection:
        waiting = asyncio.create_task(connection.request("tools/call", {"name": "silence"}, caller=ada))
        await until(lambda: bool(ada.heard))
        waiting.cancel()
        await asyncio.wait([waiting])
        record: list[dict[str, Any]] = []
        wanted = "GONE" if era == "modern" else "notifications/cancelled"
        while wanted not in json.dumps(record):
            record += await seen(odd)

        assert ("notifications/cancelled" in json.dumps(record)) == (era == "legacy")
        assert said(await called(connection, "headers"))


# Sessions of old ------------------------------------------------------------------------------------------------------


async def test_a_session_is_kept_and_ended(odd: str) -> None:
    await seen(odd)
    async with McpConnection(at(f"{odd}/legacy", era="legacy")) as connection:
        headers = json.loads(said(await called(connection, "headers")))
    (last,) = [each for each in await seen(odd) if each["verb"] == "DELETE"]

    assert headers["mcp-session-id"].startswith("session-")
    assert headers["mcp-protocol-version"] == "2025-11-25"
    assert last["headers"]["mcp-session-id"] == headers["mcp-session-id"]
    assert last["headers"]["mcp-protocol-version"] == "2025-11-25"


async def test_a_session_that_the_server_forgot_is_begun_anew_once(odd: str) -> None:
    async with McpConnection(at(f"{odd}/legacy", era="legacy")) as connection:
        first = json.loads(said(await called(connection, "headers")))["mcp-session-id"]
        await called(connection, "forget")
        second = json.loads(said(await called(connection, "headers")))["mcp-session-id"]

    assert first != second


async def test_an_answer_that_breaks_off_is_taken_up_where_it_stopped(odd: str) -> None:
    async with McpConnection(at(f"{odd}/legacy", era="legacy")) as connection:
        result = await called(connection, "resume")

    assert said(result) == "resumed"


async def test_what_belongs_to_no_request_reaches_whoever_listens(odd: str) -> None:
    heard: list[str] = []
    async with McpConnection(
        at(f"{odd}/legacy", era="legacy"), changed=lambda method, _: heard.append(method)
    ) as connection:
        await connection.facts()
        await until(lambda: bool(heard))

    assert heard == ["notifications/tools/list_changed"]


class Streaming(httpx2.AsyncBaseTransport):
    """Answers the request for a stream once a notification has come, or never; keeps what came and what it answered."""

    def __init__(self, *, is_silent: bool) -> None:
        self.is_silent = is_silent
        self.noted, self.asked = asyncio.Event(), asyncio.Event()
        self.seen: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            self.seen.append(json.loads(request.content)["method"])
            self.noted.set()
            return httpx2.Response(202)
        self.asked.set()
        await (asyncio.Event() if self.is_silent else self.noted).wait()
        self.seen.append("the stream")
        return httpx2.Response(200, headers={"content-type": "text/event-stream"}, stream=Pieces([]))


@pytest.mark.parametrize("is_silent", [False, True])
async def test_no_request_is_sent_before_the_stream_is_there_unless_the_server_never_answers(is_silent: bool) -> None:
    server = Streaming(is_silent=is_silent)
    call, begun = {"id": 1, "method": "tools/call"}, {"method": "notifications/initialized"}
    async with McpHttpClient(lambda status: None, transport=server, base_url="http://there") as client:
        stream = asyncio.create_task(client.get("/"))
        await server.asked.wait()
        await asyncio.gather(client.post("/", json=call), client.post("/", json=begun))
        stream.cancel()
    first, last = "notifications/initialized", "tools/call"
    assert server.seen == ([first, last] if is_silent else [first, "the stream", last])


async def test_an_old_session_is_found_where_the_new_era_is_refused(odd: str) -> None:
    async with McpConnection(at(f"{odd}/legacy")) as connection:
        assert (await connection.facts()).era == "legacy"


async def test_connections_over_http_open_and_close_in_any_order_and_nothing_is_left(odd: str) -> None:
    dice = random.Random(7)
    before = asyncio.all_tasks()

    async def one(number: int) -> None:
        era = dice.choice(["modern", "legacy"])
        connection = McpConnection(at(f"{odd}/{era}"))
        use = asyncio.create_task(called(connection, "headers"))
        if number % 2:
            await use
        else:
            for _ in range(dice.randrange(40)):
                await asyncio.sleep(0)
            use.cancel()
        await asyncio.create_task(connection.close())
        await asyncio.wait([use])

    await asyncio.gather(*(one(number) for number in range(60)))

    assert asyncio.all_tasks() == before


# Floods ---------------------------------------------------------------------------------------------------------------


def event(message: bytes) -> bytes:
    return b"data: " + message + b"\n\n"


def logged(data: bytes) -> bytes:
    return event(notification("message", b'{"level":"info","data":"' + data + b'"}'))


def request(method: bytes) -> bytes:
    return event(b'{"jsonrpc":"2.0","id":7,"method":"%s","params":{"message":"x","requestedSchema":{}}}' % method)


GOOD = event(b'{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"good"}]}}')
FLOODS: dict[str, bytes] = {
    "first": b"",
    "empty lines": b"\n" * 16_000,
    "other ends of lines": b"\r" * 16_000,
    "comments": b":\n" * 10_000,
    "a comment without an end": b":" + b"x" * 300_000,
    "an event of many lines": b"data:\n" * 5_000,
    "empty events": b"data:\n\n" * 2_000,
    "names of events": b"id:1\n\n" * 2_500,
    "unknown events": b"event:x\ndata:\n\n" * 700,
    "no messages": b"data:x\n\n" * 4_000,
    "an event without an end": b"data: " + b"x" * 300_000,
    "halves of pairs": logged(rb"\ud83d" * 10_000),
    "backslashes": logged(b"\\\\" * 50_000 + rb"\ud83d"),
    "logged": logged(b"x") * 150,
    "progress": event(notification("progress", b'{"progressToken":ID,"progress":1,"message":"x"}')) * 150,
    "changed": event(notification("tools/list_changed")) * 150,
    "pings": request(b"ping") * 120,
    "questions": request(b"elicitation/create") * 120,
}
FACTS: dict[str, JsonObject] = {
    "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {}},
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}},
}
EVENTS = "content-type: text/event-stream"
JSON = "content-type: application/json"


def answered(head: bytes, body: bytes) -> bytes:
    """What a server that floods says; at `/deaf`, nothing to an answer."""
    message = json.loads(body or b"{}")
    number, method = json.dumps(message.get("id")).encode(), message.get("method")
    if not body:
        return wire(b"", "405 Method Not Allowed")
    if method is None:
        return b"" if b"/deaf" in head else wire(b"", "202 Accepted")
    if method == "tools/call":
        name = message["params"]["name"]
        flood = FLOODS[name] if name in FLOODS else request(name.encode()) * 3_000
        return wire((flood + GOOD).replace(b"ID", number), "200 OK", EVENTS)
    if method in FACTS:
        return wire(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": FACTS[method]}).encode(), "200 OK", JSON
        )
    return wire(b"", "202 Accepted")


async def flooding(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        writer.write(answered(head, await reader.readexactly(length_of(head))))
        await writer.drain()


async def test_whatever_a_server_sends_as_events_leaves_the_loop_to_others() -> None:
    held: dict[str, int] = {}
    async with listening(flooding) as port, McpConnection(at(f"http://127.0.0.1:{port}"), clock=FakeClock()) as there:
        for name in FLOODS:
            async with turns_counted() as turns:
                with suppress(CallError):
                    await called(there, name)
            held[name] = turns.held
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}


@pytest.mark.parametrize("method", ["ping", "elicitation/create"])
async def test_a_server_that_asks_on_and_reads_no_answer_is_left(method: str) -> None:
    async with listening(flooding) as port, McpConnection(at(f"http://127.0.0.1:{port}/deaf", era="legacy")) as there:
        with pytest.raises(CallTimeout, match="lost"):
            await called(there, method)
        assert there.health.state == "resting"
