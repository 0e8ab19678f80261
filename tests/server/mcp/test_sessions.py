"""Sessions of clients with a handshake."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp.server.lowlevel import Server
from mcp.server.subscriptions import PromptsListChanged

from actum import Context, tool
from actum.core.json import JsonObject, dumps
from actum.server import Access, Authenticator, Identity, McpService, Resource, SharedKey
from actum.server.mcp.exchange import decode
from actum.server.mcp.sessions import CHANGES_MAX, HELLO_BYTES_MAX, SESSIONS_MAX, Sessions
from tests.mcp_service import served
from tests.patience import HANGS_S

from .test_answer import Line

ACCEPT = {"accept": "application/json, text/event-stream"}
NAME: JsonObject = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ANYBODY = Identity()
ADA, BOB = "0123456789abcdef-ada", "0123456789abcdef-bob"


def request(number: int, method: str, **params: object) -> JsonObject:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}  # type: ignore[dict-item]


def told(method: str, **params: object) -> JsonObject:
    return {"jsonrpc": "2.0", "method": method, "params": params}  # type: ignore[dict-item]


def call(number: int, name: str) -> JsonObject:
    return request(number, "tools/call", name=name, arguments={})


HELLO = request(
    0,
    "initialize",
    protocolVersion="2025-11-25",
    capabilities={"elicitation": {}},
    clientInfo={"name": "t", "version": "1"},
)


class Way:
    """A client's session, as raw requests."""

    def __init__(self, client: httpx2.AsyncClient, url: str, headers: dict[str, str]) -> None:
        self.client, self.url, self.headers = client, url, headers

    async def post(self, message: JsonObject, **headers: str) -> httpx2.Response:
        return await self.client.post(self.url, json=message, headers={**self.headers, **headers})

    async def delete(self) -> int:
        return (await self.client.delete(self.url, headers=self.headers)).status_code

    @asynccontextmanager
    async def stream(self, message: JsonObject | None = None) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        """What comes on a stream, message by message: that of a request, or the one of its own."""
        how = "POST" if message is not None else "GET"
        async with self.client.stream(how, self.url, json=message, headers=self.headers) as answer:
            assert answer.status_code == 200
            yield (json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: "))


@asynccontextmanager
async def session(service: McpService, access: Access | None = None, key: str = "") -> AsyncIterator[Way]:
    """A session that is open."""
    headers = {**ACCEPT, "authorization": f"Bearer {key}"} if key else ACCEPT
    async with (
        served(service, access or Access()) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        opened = await client.post(url, json=HELLO, headers=headers)
        way = Way(client, url, {**headers, "mcp-session-id": opened.headers["mcp-session-id"]})
        assert (await way.post(told("notifications/initialized"))).status_code == 202
        yield way


class Slow:
    """A tool that begins and does not end."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.was_cancelled = asyncio.Event()
        begun, was_cancelled = self.begun, self.was_cancelled

        @tool
        async def wait() -> str:
            """Wait."""
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                was_cancelled.set()
            return ""

        self.service = McpService([wait])


@tool
async def greet(ctx: Context) -> str:
    """Greet by name."""
    given = await ctx.elicit("Your name?", NAME)
    return f"Hello {given.content.get('name', 'stranger')}"


async def test_a_session_that_was_ended_is_not_known_any_more() -> None:
    async with session(McpService([greet])) as way:
        assert (await way.post(request(1, "tools/list"))).status_code == 200
        assert await way.delete() == 200
        assert (await way.post(request(2, "tools/list"))).status_code == 404
        assert await way.delete() == 404


async def test_a_session_is_of_whoever_opened_it() -> None:
    access = Access(verifier=Authenticator([SharedKey(ADA, "ada"), SharedKey(BOB, "bob")]))
    async with session(McpService([greet]), access, ADA) as way:
        assert (await way.post(request(1, "tools/list"), authorization=f"Bearer {BOB}")).status_code == 404
        assert (await way.post(request(2, "tools/list"))).status_code == 200


async def test_a_request_that_is_taken_back_is_broken_off_and_said_so() -> None:
    slow = Slow()
    async with session(slow.service) as way:
        waiting = asyncio.create_task(way.post(call(7, "wait")))
        await slow.begun.wait()
        await way.post(told("notifications/cancelled", requestId=7))
        assert (await waiting).json()["error"]["code"] == -32800
        assert slow.was_cancelled.is_set()


async def test_the_end_of_a_session_breaks_off_what_is_under_way() -> None:
    slow = Slow()
    async with session(slow.service) as way:
        waiting = asyncio.create_task(way.post(call(7, "wait")))
        await slow.begun.wait()
        assert await way.delete() == 200
        assert (await waiting).json()["error"]["code"] == -32000
        assert slow.was_cancelled.is_set()


async def test_to_hang_up_takes_no_request_back() -> None:
    slow = Slow()
    async with session(slow.service) as way:
        waiting = asyncio.create_task(way.post(call(7, "wait")))
        await slow.begun.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        assert (await way.post(request(8, "tools/list"))).status_code == 200
        assert not slow.was_cancelled.is_set()
        await way.delete()
        await slow.was_cancelled.wait()


async def test_a_question_goes_on_the_stream_of_its_request_and_its_answer_comes_by_another() -> None:
    async with session(McpService([greet])) as way, way.stream(call(7, "greet")) as messages:
        asked = await anext(messages)
        assert asked["method"] == "elicitation/create"
        answer: JsonObject = {
            "jsonrpc": "2.0",
            "id": asked["id"],
            "result": {"action": "accept", "content": {"name": "Ada"}},
        }
        assert (await way.post(answer)).status_code == 202
        assert (await anext(messages))["result"]["content"][0]["text"] == "Hello Ada"


async def test_a_client_that_refuses_a_question_is_no_failure_of_the_server() -> None:
    async with session(McpService([greet])) as way, way.stream(call(7, "greet")) as messages:
        asked = await anext(messages)
        await way.post({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -1, "message": "No."}})
        result = (await anext(messages))["result"]
        assert result["isError"]
        assert "No." in result["content"][0]["text"]


async def test_an_answer_to_no_question_is_dropped() -> None:
    async with session(McpService([greet])) as way:
        assert (await way.post({"jsonrpc": "2.0", "id": 99, "result": {}})).status_code == 202


async def test_what_belongs_to_no_request_goes_on_the_one_stream_of_the_session() -> None:
    service = McpService([greet], resources=[Resource("note:1", lambda: "a", name="note")])
    async with session(service) as way, way.stream() as messages:
        second = await way.client.get(way.url, headers=way.headers)
        assert second.status_code == 409
        await way.post(request(1, "resources/subscribe", uri="note:1"))
        await service.resource_updated("note:1")
        assert (await anext(messages))["method"] == "notifications/resources/updated"
        await way.delete()
        assert [message async for message in messages] == []


async def test_a_change_before_the_stream_is_open_is_told_once_when_it_opens() -> None:
    service = McpService([greet], resources=[Resource(f"note:{n}", lambda: "a", name=f"n{n}") for n in range(3)])
    async with session(service) as way:
        for number in range(2):
            await way.post(request(number, "resources/subscribe", uri=f"note:{number}"))
        for uri in ("note:0", "note:1", "note:2", "note:0"):
            await service.resource_updated(uri)
        await service.changes.publish(PromptsListChanged())
        async with way.stream() as messages:
            heard = [await anext(messages) for _ in range(3)]
            await service.resource_updated("note:1")
            heard.append(await anext(messages))
    assert [(each["method"].removeprefix("notifications/"), each.get("params", {}).get("uri")) for each in heard] == [
        ("resources/updated", "note:0"),
        ("resources/updated", "note:1"),
        ("prompts/list_changed", None),
        ("resources/updated", "note:1"),
    ]


async def test_no_client_that_does_not_listen_makes_a_server_keep_more_and_more() -> None:
    opened = Sessions(Server("t")).open({}, ANYBODY)
    assert opened is not None
    for number in range(CHANGES_MAX + 5):
        await opened.notify("notifications/resources/updated", {"uri": f"note:{number}"})
        await opened.notify("notifications/message", {"data": number})
    line = Line()
    listening = asyncio.create_task(opened.listen(line.answer()))
    line.hung_up.set()
    await listening
    assert line.body.count(b"data: ") == CHANGES_MAX
    assert b'"note:4"' not in line.body


async def test_a_session_that_nobody_uses_ends() -> None:
    sessions, ended = Sessions(Server("t"), idle_s=0.01), asyncio.Event()
    opened = sessions.open({}, ANYBODY)
    assert opened is not None
    opened.connection.exit_stack.callback(ended.set)
    await ended.wait()
    assert sessions.find(opened.id, ANYBODY) is None


async def test_a_session_whose_client_hung_up_in_a_call_ends_too() -> None:
    slow, line = Slow(), Line()
    sessions = Sessions(slow.service.server, idle_s=0.01)
    opened = sessions.open({}, ANYBODY)
    assert opened is not None
    await opened.request(decode(dumps(HELLO)), {}, Line().answer())
    calling = asyncio.create_task(opened.request(decode(dumps(call(7, "wait"))), {}, line.answer()))
    await slow.begun.wait()
    line.hung_up.set()
    await slow.was_cancelled.wait()
    await calling
    assert sessions.find(opened.id, ANYBODY) is None


async def test_a_second_request_of_an_id_is_refused_while_the_first_is_under_way() -> None:
    slow = Slow()
    async with session(slow.service) as way:
        waiting = asyncio.create_task(way.post(call(7, "wait")))
        await slow.begun.wait()
        refused = await way.post(call(7, "wait"))
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, -32600)
        await way.post(told("notifications/cancelled", requestId=7))
        assert (await waiting).json()["error"]["code"] == -32800
        assert (await way.post(request(7, "tools/list"))).status_code == 200


async def test_a_request_that_arrives_after_the_end_of_its_session_is_not_served() -> None:
    async with session(McpService([greet])) as way:
        body, begun = dumps(request(7, "tools/list")).encode(), asyncio.Event()
        ended = asyncio.Event()

        async def slowly() -> AsyncIterator[bytes]:
            yield body[:9]
            begun.set()
            await ended.wait()
            yield body[9:]

        headers = {**way.headers, "content-type": "application/json"}
        late = asyncio.create_task(way.client.post(way.url, content=slowly(), headers=headers))
        await begun.wait()
        assert await way.delete() == 200
        ended.set()
        assert (await late).status_code == 404


CROWDS: dict[str, tuple[Callable[[int], Identity], Identity]] = {
    "one user": (lambda number: Identity(principal="ada"), Identity(principal="bob")),
    "one user with many keys": (
        lambda number: Identity(principal="ada", key_id=f"k{number}"),
        Identity(principal="bob"),
    ),
    "one tenant with many users": (
        lambda number: Identity(tenant="north", principal=f"u{number}"),
        Identity(tenant="south", principal="bob"),
    ),
}


@pytest.mark.parametrize("crowd", CROWDS)
async def test_where_there_are_too_many_sessions_one_gives_way_of_whoever_has_most(crowd: str) -> None:
    many, bob = CROWDS[crowd]
    sessions = Sessions(Server("t"))
    bobs = [sessions.open({}, bob) for _ in range(2)]
    others = [sessions.open({}, many(number)) for number in range(SESSIONS_MAX - 2)]
    assert others[0] is not None
    assert others[1] is not None
    others[0].touch()
    assert sessions.open({}, bob) is not None
    assert sessions.find(others[1].id, many(1)) is None, "it was not used for longest"
    assert sessions.find(others[0].id, many(0)) is others[0]
    assert all(each is not None and sessions.find(each.id, bob) is each for each in bobs)
    await sessions.close()


@pytest.mark.parametrize("field", ["clientInfo", "capabilities"])
async def test_a_client_that_says_megabytes_of_itself_gets_no_session(field: str) -> None:
    params = HELLO["params"]
    assert isinstance(params, dict)
    said = params[field]
    assert isinstance(said, dict)
    long: JsonObject = {**said, "experimental": {"x": "y" * HELLO_BYTES_MAX}}
    async with session(McpService([greet])) as way:
        refused = await way.client.post(
            way.url, json=request(0, "initialize", **{**params, field: long}), headers=ACCEPT
        )
    assert (refused.status_code, refused.json()["error"]["code"]) == (413, -32600)
    assert "bytes long at most" in refused.json()["error"]["message"]


async def test_no_session_gives_way_that_is_used() -> None:
    sessions = Sessions(Server("t"))
    opened = [sessions.open({}, ANYBODY) for _ in range(SESSIONS_MAX)]
    listening = [asyncio.create_task(each.listen(Line().answer())) for each in opened if each is not None]
    await asyncio.wait(listening, timeout=0)
    assert sessions.open({}, ANYBODY) is None
    await sessions.close()
    await asyncio.wait(listening)
    assert sessions.open({}, ANYBODY) is not None
    await sessions.close()
