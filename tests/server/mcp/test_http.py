"""Who may come in over HTTP."""

from __future__ import annotations

import httpx2
import msgspec
import pytest

from actum import Context, Tool, ToolCall, ToolResult, tool
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server import Access, Authenticator, Identity, McpService, SharedKey
from actum.toolsets.mcp.connection import McpConnection
from tests.mcp_service import served
from tests.patience import HANGS_S

KEY = "0123456789abcdef0123456789abcdef"
LIST: JsonObject = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/list",
    "params": {
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        }
    },
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/list",
}


@tool
async def whoami(ctx: Context) -> str:
    """Tell who asks."""
    return f"{ctx.principal} by {ctx.key_id}"


async def asked(service: McpService, access: Access, at: str = "127.0.0.1", **headers: str) -> httpx2.Response:
    """What the service answers to a request for its tools."""
    app = service.app(host=at, access=access)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):
        return await client.post("/mcp", json=LIST, headers={**HEADERS, **headers})


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "evil.example.com"}, 421),
        ({"origin": "http://127.0.0.1:8000"}, 200),
        ({"origin": "http://localhost:3000"}, 403),  # a page of another port is a page of another program
        ({"origin": "https://evil.example.com"}, 403),
        ({"origin": "http://localhost.evil.example.com"}, 403),
        ({"host": "127.0.0.1:3001"}, 200),
        ({"host": "127.0.0.1:3001.evil.example.com"}, 421),
        ({"host": "127.0.0.1:"}, 421),
        ({"host": "127.0.0.1:*"}, 421),
        ({"host": "localhost:80@evil.example.com"}, 421),
        ({"origin": "http://localhost:3000.evil.example.com"}, 403),
        ({"origin": "http://localhost:3000/evil"}, 403),
    ],
)
async def test_a_page_in_a_browser_can_not_speak_to_this_machine(headers: dict[str, str], status: int) -> None:
    assert (await asked(McpService([whoami]), Access(), **headers)).status_code == status


async def test_names_and_origins_are_let_through_when_they_are_named() -> None:
    access = Access(names=("tools.example.org",), origins=("https://chat.example.org",), insecure=True)
    for more in ({}, {"origin": "https://chat.example.org"}):
        headers = {"host": "tools.example.org", **more}
        assert (await asked(McpService([whoami]), access, "0.0.0.0", **headers)).status_code == 200
    assert (await asked(McpService([whoami]), access, "0.0.0.0", host="127.0.0.1")).status_code == 421


def test_what_others_can_reach_wants_a_token_or_a_word() -> None:
    service = McpService([whoami])
    with pytest.raises(UsageError, match="others than this machine"):
        service.app(host="192.168.1.5")
    with pytest.raises(UsageError, match="under which names"):
        service.app(host="0.0.0.0", access=Access(insecure=True))
    service.app(host="192.168.1.5", access=Access(insecure=True))
    service.app(host="192.168.1.5", access=Access(verifier=SharedKey(KEY, "ada")))


async def test_without_its_key_nobody_comes_in() -> None:
    access = Access(verifier=Authenticator([SharedKey(KEY, "ada")]), scopes=())
    for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": f"Basic {KEY}"}):
        refused = await asked(McpService([whoami]), access, **headers)
        assert refused.status_code == 401
        assert refused.headers["www-authenticate"].startswith("Bearer ")
    assert (await asked(McpService([whoami]), access, authorization=f"Bearer {KEY}")).status_code == 200


async def test_a_missing_scope_is_told() -> None:
    access = Access(verifier=SharedKey(KEY, "ada"), scopes=("tools",))
    refused = await asked(McpService([whoami]), access, authorization=f"Bearer {KEY}")
    assert refused.status_code == 403
    assert 'scope="tools"' in refused.headers["www-authenticate"]


async def test_whoever_shows_a_token_is_who_calls() -> None:
    access = Access(verifier=SharedKey(KEY, "ada"))
    async with served(McpService([whoami]), access) as url:
        server = McpServer(name="x", url=url, transport="http", headers={"Authorization": f"Bearer {KEY}"})
        eras: tuple[McpEra, ...] = ("modern", "legacy")
        for era in eras:
            async with McpConnection(server, era=era) as way:
                result = await way.request("tools/call", {"name": "whoami", "arguments": {}})
                assert result["content"] == [{"type": "text", "text": "ada by shared"}]


async def test_old_clients_are_served_by_sse() -> None:
    async with served(McpService([whoami]), Access(), sse=True) as url:
        server = McpServer(name="x", url=url.replace("/mcp", "/sse"), transport="sse")
        async with McpConnection(server) as way:
            assert [each["name"] for each in await way.list_all("tools/list")] == ["whoami"]
            assert (await way.facts()).era == "legacy"


async def test_by_sse_too_nobody_comes_in_without_a_key_or_from_elsewhere() -> None:
    access = Access(verifier=SharedKey(KEY, "ada"))
    async with served(McpService([whoami]), access, sse=True) as url, httpx2.AsyncClient(timeout=HANGS_S) as client:
        address = url.replace("/mcp", "/sse")
        assert (await client.get(address)).status_code == 401
        signed = {"authorization": f"Bearer {KEY}"}
        assert (await client.get(address, headers={**signed, "host": "evil.example.com"})).status_code == 421
        assert (await client.post(address, headers=signed, json={})).status_code == 405


JSON = {"content-type": "application/json"}
UNREADABLE = (
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\\ud83d"}}',  # half of a sign
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "\xff"}}',
    b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []}',
    b'{"id": 7, "method": "tools/list"}',
)
WITHOUT_ID = (
    b"{",
    b"[]",
    b'{"jsonrpc": "2.0", "id": true, "method": 5}',
    b'{"jsonrpc": "2.0", "method": "notifications/x", "params": []}',
    b'{"jsonrpc": "2.0", "id": 7, "result": []}',  # an answer, which nobody answers
)


async def test_by_sse_a_request_that_can_not_be_read_is_answered_on_the_stream() -> None:
    access = Access(verifier=Authenticator([SharedKey(KEY, "ada"), SharedKey(KEY[::-1], "eve")]), scopes=())
    async with (
        served(McpService([whoami]), access, sse=True) as url,
        httpx2.AsyncClient(timeout=HANGS_S, headers={"authorization": f"Bearer {KEY}"}) as client,
        client.stream("GET", url.replace("/mcp", "/sse")) as stream,
    ):
        lines = stream.aiter_lines()

        async def told() -> str:
            return await anext(line[6:] async for line in lines if line.startswith("data: "))

        posts = url.replace("/mcp", await told())
        for unreadable in UNREADABLE:
            stranger = {"authorization": f"Bearer {KEY[::-1]}"}
            assert (await client.post(posts, content=unreadable, headers={**JSON, **stranger})).status_code == 404
            assert (await client.post(posts, content=unreadable, headers=stranger)).status_code == 400
            assert (await client.post(posts, content=unreadable, headers=JSON)).status_code == 202
            answer = msgspec.json.decode(await told())
            assert (answer["id"], answer["error"]["code"]) == (7, -32600)
        for unreadable in WITHOUT_ID:
            assert (await client.post(posts, content=unreadable, headers=JSON)).status_code == 400
        assert (await client.post(f"{posts}0", content=UNREADABLE[0], headers=JSON)).status_code == 400
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 8, "method": "initialize", "params": params}
        assert (await client.post(posts, json=hello)).status_code == 202
        assert msgspec.json.decode(await told())["id"] == 8  # the session has gone on, and nothing came between


async def test_a_body_that_is_too_large_is_not_read() -> None:
    service = McpService([whoami])
    app = service.app()
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):
        answer = await client.post("/mcp", content=b" " * (5 * 1024 * 1024), headers=HEADERS)
    assert answer.status_code == 413


class Regions:
    """A tool whose argument also stands in a header."""

    generation = 0

    async def list_tools(self) -> tuple[Tool, ...]:
        region: JsonObject = {"type": "string", "x-mcp-header": "Region"}
        return (Tool(name="ship", parameters={"type": "object", "properties": {"region": region}}),)

    async def execute(self, call: ToolCall, context: Context) -> ToolResult:
        return ToolResult(call.id, structured=call.arguments["region"])


async def test_a_header_that_contradicts_tells_nothing_of_a_tool_that_a_key_may_not_use() -> None:
    app = McpService([Regions()], who=Identity(tools=("crm_*",))).app()
    answers = []
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):
        for name in ("ship", "none"):
            params: JsonObject = {**LIST["params"], "name": name, "arguments": {"region": "north"}}  # type: ignore[dict-item]
            call: JsonObject = {**LIST, "method": "tools/call", "params": params}
            headers = {**HEADERS, "mcp-method": "tools/call", "mcp-name": name, "mcp-param-region": "south"}
            answer = await client.post("/mcp", json=call, headers=headers)
            answers.append((answer.status_code, answer.text.replace(name, "NAME")))
    assert answers[0] == answers[1]
    assert "Unknown tool: NAME" in answers[0][1]


async def test_headers_that_repeat_an_argument_must_agree_with_it() -> None:
    app = McpService([Regions()]).app()
    params: JsonObject = {**LIST["params"], "name": "ship", "arguments": {"region": "north"}}  # type: ignore[dict-item]
    call: JsonObject = {**LIST, "method": "tools/call", "params": params}
    headers = {**HEADERS, "mcp-method": "tools/call", "mcp-name": "ship"}
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://127.0.0.1:8000") as client,
    ):
        for region, status in (("north", 200), ("south", 400)):
            answer = await client.post("/mcp", json=call, headers={**headers, "mcp-param-region": region})
            assert answer.status_code == status


async def test_a_session_of_one_tenant_is_not_there_for_a_user_of_the_same_name_in_another() -> None:
    class Tenants:
        async def verify_token(self, token: str) -> Identity | None:
            return Identity(principal="ann", key_id="k", tenant=token)

    hello: JsonObject = {
        "jsonrpc": "2.0",
        "id": 0,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
    ping: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    accept = {"accept": "application/json, text/event-stream"}
    async with (
        served(McpService([whoami]), Access(verifier=Tenants())) as url,
        httpx2.AsyncClient(timeout=HANGS_S) as client,
    ):
        opened = await client.post(url, json=hello, headers={**accept, "authorization": "Bearer north"})
        session = {**accept, "mcp-session-id": opened.headers["mcp-session-id"]}
        for tenant, status in (("north", 200), ("south", 404)):
            answer = await client.post(url, json=ping, headers={**session, "authorization": f"Bearer {tenant}"})
            assert answer.status_code == status, tenant
