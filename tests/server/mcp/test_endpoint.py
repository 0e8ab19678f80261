"""What is refused before anything is done, in either era."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette

from actum import tool
from actum.core.json import JsonObject, dumps
from actum.server import McpService
from tests.effort import effort

NEW, OLD = "2026-07-28", "2025-11-25"
ACCEPT = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
AT = "io.modelcontextprotocol/"
META: JsonObject = {f"{AT}protocolVersion": NEW, f"{AT}clientCapabilities": {}}
CALL: JsonObject = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "add", "arguments": {"a": 2, "b": 3}, "_meta": META},
}
HEADERS = {**ACCEPT, "mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "add"}
HELLO: JsonObject = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@asynccontextmanager
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    """Speaks to the service over HTTP, without a network."""
    app = McpService([add]).app()
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as way,
    ):
        yield way


def without(*names: str, **more: str) -> dict[str, str]:
    """The headers of a call without some of them, and with others."""
    return {name: value for name, value in HEADERS.items() if name not in names} | more


@pytest.mark.parametrize(
    ("headers", "body", "status", "code"),
    [
        (HEADERS, "{", 400, -32700),
        (HEADERS, '{"n": "\\ud800"}', 400, -32700),
        (HEADERS, '{"params": {"a": ' + "[" * 5_000, 400, -32700),
        (HEADERS, "[]", 400, -32600),
        (HEADERS, dumps(CALL).encode().replace(b'"params"', b'"p\xe8rams"'), 400, -32700),
        (ACCEPT, dumps({"jsonrpc": "2.0", "id": 1}), 400, -32600),
        (ACCEPT, dumps({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {}}), 400, -32600),
        (ACCEPT, dumps({"jsonrpc": "2.0", "result": {}}), 400, -32600),
        (HEADERS, dumps({**CALL, "jsonrpc": "1.0"}), 400, -32600),
        (HEADERS, dumps({**CALL, "id": True}), 400, -32600),
        (HEADERS, dumps({**CALL, "id": None}), 400, -32600),
        (HEADERS, dumps({"jsonrpc": "2.0", "id": 1, "result": {}}), 400, -32600),
        (HEADERS, dumps({**CALL, "params": {"name": "add"}}), 400, -32602),
        (without(accept="application/json"), dumps(CALL), 406, -32600),
        (without(**{"mcp-method": "tools/list"}), dumps(CALL), 400, -32020),
        (without("mcp-name"), dumps(CALL), 400, -32020),
        (without(**{"mcp-protocol-version": "2099-01-01"}), dumps(CALL), 400, -32020),
        (HEADERS | {"mcp-method": "no/such"}, dumps({**CALL, "method": "no/such"}), 404, -32601),
        (ACCEPT, dumps(CALL), 400, -32600),
        (ACCEPT | {"mcp-session-id": "made up"}, dumps(CALL), 404, -32600),
        (ACCEPT, dumps({**HELLO, "params": {}}), 200, -32602),
    ],
)
async def test_a_request_that_is_not_served_is_told_why(
    headers: Mapping[str, str], body: str | bytes, status: int, code: int
) -> None:
    async with client() as way:
        answer = await way.post("/mcp", content=body, headers=dict(headers))
    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)


async def test_a_header_that_stands_there_twice_decides_nothing() -> None:
    async with client() as way:
        answer = await way.post("/mcp", content=dumps(CALL), headers=[*HEADERS.items(), ("mcp-name", "other")])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize(
    ("method", "headers", "status", "allowed"),
    [
        ("GET", {"mcp-protocol-version": NEW}, 405, "POST"),
        ("PUT", {}, 405, "GET, POST, DELETE"),
        ("GET", {}, 400, None),
        ("DELETE", {}, 400, None),
        ("DELETE", {"mcp-session-id": "made up"}, 404, None),
    ],
)
async def test_other_methods_are_for_sessions(
    method: str, headers: dict[str, str], status: int, allowed: str | None
) -> None:
    async with client() as way:
        answer = await way.request(method, "/mcp", headers={**ACCEPT, **headers})
    assert (answer.status_code, answer.headers.get("allow")) == (status, allowed)


@pytest.mark.parametrize(("version", "status"), [(NEW, 202), ("2099-01-01", 400)])
async def test_a_notification_without_a_session_is_taken_and_dropped(version: str, status: int) -> None:
    told = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    async with client() as way:
        answer = await way.post("/mcp", json=told, headers={**ACCEPT, "mcp-protocol-version": version})
    assert answer.status_code == status


async def test_a_number_of_any_length_arrives_as_it_is() -> None:
    large = 10**40
    call: JsonObject = {**CALL, "params": {"name": "add", "arguments": {"a": large, "b": 1}, "_meta": META}}
    async with client() as way:
        answer = await way.post("/mcp", content=dumps(call), headers=HEADERS)
    assert answer.json()["result"]["structuredContent"] == large + 1


async def called(app: Starlette, *more: MutableMapping[str, Any]) -> list[MutableMapping[str, Any]]:
    """Makes the call with nothing of a client between, of which more comes than its body."""
    sent: list[MutableMapping[str, Any]] = []
    coming = [{"type": "http.request", "body": dumps(CALL).encode(), "more_body": bool(more)}, *more]

    async def receive() -> MutableMapping[str, Any]:
        return coming.pop(0)

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, "host": "localhost"}.items()]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "root_path": "", "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    return sent


async def test_a_request_that_was_cut_off_is_not_carried_out_though_all_of_it_could_be_read() -> None:
    ran: list[int] = []

    @tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        ran.append(a)
        return a + b

    app = McpService([add]).app()
    async with app.router.lifespan_context(app):
        assert (await called(app, {"type": "http.disconnect"}))[0]["status"] == 400
        assert ran == []
        assert (await called(app, {"type": "http.request"}))[0]["status"] == 200
        assert ran == [2]


async def test_a_call_takes_little_work_and_leaves_none_to_the_garbage_collector() -> None:
    app = McpService([add]).app()
    async with app.router.lifespan_context(app):
        for _ in range(3):  # what is compiled only once
            assert (await called(app))[0]["status"] == 200
        spent = []
        for _ in range(3):  # what other tests left behind may be cleared away meanwhile
            with effort() as once:
                await called(app)
            spent.append(once.calls)
        gc.collect()
        gc.set_debug(gc.DEBUG_SAVEALL)
        try:
            await called(app)
            gc.collect()
            left = [type(each) for each in gc.garbage if type(each).__module__.startswith("actum.")]
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
    assert left == []
    assert min(spent) < 1_560  # 1,519; 1,840 behind the HTTP layer of the SDK


async def test_a_stream_that_broke_off_is_not_taken_up_by_one_that_says_nothing() -> None:
    listing: JsonObject = {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"_meta": []}}
    async with client() as way:
        opened = await way.post("/mcp", content=dumps(HELLO), headers=ACCEPT)
        session = {**ACCEPT, "mcp-session-id": opened.headers["mcp-session-id"]}
        await way.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=session)
        refused = await way.get("/mcp", headers={**session, "last-event-id": "7"})
        wrong = await way.post("/mcp", json=listing, headers=session)
    assert (refused.status_code, "can be sent again" in refused.json()["error"]["message"]) == (400, True)
    assert wrong.json()["error"]["code"] == -32602
