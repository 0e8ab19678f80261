"""The way of one user to one server behind a gateway: the server hangs, lies or floods, and users are two."""

from __future__ import annotations

import asyncio
import hashlib
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from actum.core.call import ToolCall
from actum.core.errors import PermissionDenied, Unavailable, UsageError
from actum.core.identity import Identity
from actum.core.interfaces import Context
from actum.core.json import Json, JsonObject
from actum.core.user import User
from actum.policy.rules import Rules
from actum.protocols.mcp.address import ServerAddresses
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import Access
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.gateway.relay import RawRelay
from actum.server.mcp.gateway.upstream import UpstreamToolset
from actum.storage.pins import PinStore
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import McpError
from actum.toolsets.mcp.toolset import McpToolset
from tests.conformance.gateway import Names
from tests.effort import turns_counted
from tests.patience import HANGS_S
from tests.toolsets.mcp.test_stdio import children, odd, until
from tests.toolsets.shifty_server import ADD, Shifty
from tests.web import serving

from ...gateways import Somebody, call, client, said

ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")


def liar(era: McpEra, **settings: object) -> McpServer:
    words = ("legacy",) if era == "legacy" else ()
    args = ("-m", "tests.mcp_servers.liar", *words)
    return McpServer(name="liar", command=sys.executable, args=args, **settings)  # type: ignore[arg-type]


@asynccontextmanager
async def front(server: McpServer, era: McpEra, *more: McpServer) -> AsyncIterator[tuple[McpConnection, list[str]]]:
    """A client of a gateway to one server, or to more, and the notifications that the client hears."""
    heard: list[str] = []
    app = McpGateway([server, *more], policy=Rules(default="allow")).app()
    async with (
        asyncio.timeout(HANGS_S),
        serving(app) as origin,
        client(f"{origin}/mcp", era, changed=lambda method, params: heard.append(method)) as one,
    ):
        yield one, heard


def test_a_gateway_wraps_what_other_rooms_have_and_inherits_none_of_it() -> None:
    for wrapping in (McpGateway, UpstreamToolset, RawRelay):
        rooms = {base.__module__ for base in wrapping.__mro__}
        assert rooms == {wrapping.__module__, "builtins"}, wrapping.__name__


# Hangs ----------------------------------------------------------------------------------------------------------------


async def test_a_server_that_hangs_is_waited_for_once_and_no_longer_than_was_said() -> None:
    clock = FakeClock()
    hung = UpstreamToolset(odd("mute"), addresses=ServerAddresses(""), clock=clock, wait_s=3.0)
    try:
        hung.begin()
        assert (hung.is_awaited, hung.is_troubled, hung.own_tools) == (True, False, ())
        meeting = asyncio.create_task(hung.meet())
        await asyncio.sleep(0)
        clock.advance(2.9)
        await asyncio.sleep(0)
        assert not meeting.done()
        clock.advance(0.2)
        await meeting

        assert hung.is_troubled
        assert hung.known is None
        again = asyncio.create_task(hung.meet())
        await asyncio.sleep(0)
        clock.advance(0.0)
        await again  # no second time: the time is over
        hung.check()  # it has not failed: it may still come
        assert hung.state.problem
    finally:
        await hung.close()
    assert children() == []


# Lies and floods ------------------------------------------------------------------------------------------------------


async def test_what_a_server_tells_with_parameters_of_wrong_kinds_harms_no_call_and_nobody_hears_of_it() -> None:
    for before, behind in ((before, behind) for before in ERAS for behind in ERAS):
        async with front(liar(behind), before) as (one, heard):
            for _ in range(2):
                result = await one.request("tools/call", call("lie"), caller=Somebody())
                assert said(result) == "after the lie", (before, behind)
            assert "notifications/elicitation/complete" not in heard, (before, behind)
            assert "notifications/tasks" not in heard, (before, behind)


async def test_a_server_that_floods_with_changes_keeps_no_call_from_its_answer() -> None:
    for behind in ERAS:
        async with front(liar(behind), "legacy") as (one, heard):
            await one.list_all("tools/list")
            result = await one.request("tools/call", call("flood"), caller=Somebody())
            assert said(result) == "after the flood", behind
            assert said(await one.request("tools/call", call("lie"), caller=Somebody())) == "after the lie", behind
            assert "notifications/resources/updated" not in heard, "nobody listens to any of them"


# Users ----------------------------------------------------------------------------------------------------------------


async def test_each_user_reaches_the_server_by_their_own_secret_and_process() -> None:
    server = liar("legacy", env={"KEY": "${secret:KEY}"})

    def secrets(user: User) -> Mapping[str, str]:
        return {"KEY": f"key-of-{user.principal}"}

    gateway = McpGateway([server], policy=Rules(default="allow"), secrets=secrets)
    async with asyncio.timeout(HANGS_S), serving(gateway.app(access=Access(verifier=Names()))) as origin:
        answers: dict[str, set[str]] = {}
        for user in ("ada", "bob", "ada", "bob"):
            async with client(f"{origin}/mcp", "legacy", token=user * 3) as one:
                key, process = said(await one.request("tools/call", call("key"), caller=Somebody())).split()
                assert key == hashlib.sha256(f"key-of-{user}".encode()).hexdigest()
                answers.setdefault(user, set()).add(process)
    assert not answers["ada"] & answers["bob"]


class TenantsOfAnn:
    """Whoever shows the name of a tenant is its `ann`, by the same program."""

    async def verify_token(self, token: str) -> Identity | None:
        return Identity(principal="ann", tenant=token, key_id="app")


async def test_two_tenants_users_of_one_name_have_their_own_secret_process_and_approvals(tmp_path: Path) -> None:
    server = liar("legacy", env={"KEY": "${secret:KEY}"})

    def secrets(user: User) -> Mapping[str, str]:
        return {"KEY": f"key-of-{user.tenant}-{user.principal}"}

    pins = PinStore(tmp_path / "pins.json")
    for tenant in ("north", "south"):
        of_tenant = pins.of_tenant(tenant)
        async with McpToolset(server, pins=of_tenant, secrets={"KEY": "op"}) as toolset:
            await toolset.survey()
            of_tenant.approve(server.identity, by="op")
            await toolset.approve(by="op")
    gateway = McpGateway([server], policy=Rules(default="allow"), secrets=secrets, pins=pins)
    async with asyncio.timeout(HANGS_S), serving(gateway.app(access=Access(verifier=TenantsOfAnn()))) as origin:
        processes: dict[str, set[str]] = {}
        for tenant in ("north", "south", "north", "south"):
            async with client(f"{origin}/mcp", "legacy", token=tenant) as one:
                key, process = said(await one.request("tools/call", call("key"), caller=Somebody())).split()
                assert key == hashlib.sha256(f"key-of-{tenant}-ann".encode()).hexdigest()
                processes.setdefault(tenant, set()).add(process)
        async with client(f"{origin}/mcp", "legacy", token="west") as other:  # for whom nobody approved anything
            with pytest.raises(Unavailable, match="was not approved"):
                await other.list_all("tools/list")
    assert not processes["north"] & processes["south"]


async def test_a_server_that_nobody_approved_is_asked_nothing_by_any_way(tmp_path: Path) -> None:
    pins = PinStore(tmp_path / "pins.json")
    upstream = UpstreamToolset(liar("modern"), addresses=ServerAddresses(""), pins=pins)
    with pytest.raises(PermissionDenied):
        await upstream.list_own()
    assert upstream.own_tools == ()
    upstream.begin()
    await until(lambda: not upstream.is_awaited)
    assert children() == []
    await upstream.close()


async def test_a_call_that_comes_from_no_client_of_the_gateway_is_not_made() -> None:
    upstream = UpstreamToolset(liar("modern"), addresses=ServerAddresses(""))
    context = Context(
        run_id="r", call=ToolCall("1", "lie", {}), key="k", attempt=1, principal="", deps=None, attachments={}
    )
    with pytest.raises(UsageError, match="by its clients alone"):
        await upstream.execute(context.call, context)
    assert children() == []
    await upstream.close()


KEY = "sk-ant-api03-" + "a1B2c3D4" * 6
WORDS: list[Json] = [{"type": "text", "text": "Hi"}] * 1_500
LARGE_ANSWERS: dict[str, JsonObject] = {
    "first": {"content": []},
    "text": {"content": [{"type": "text", "text": f"{KEY} " + "x" * 400_000}]},
    "wide": {"content": [*WORDS, {"type": "text", "text": KEY}]},
    "structured": {"content": [], "structuredContent": {"key": KEY, "a": [{"b": n} for n in range(6_000)]}},
    "failure": {"content": [*WORDS, {"type": "text", "text": KEY}], "isError": True},
    "refusal": {"error": {"code": -32000, "message": "x" * 100_000, "data": [{"b": 1}] * 6_000}},
}


async def test_no_answer_of_a_server_behind_holds_the_loop_of_the_gateway(tmp_path: Path) -> None:
    shifty = Shifty(tmp_path)
    shifty.tell(tools=[{**ADD, "name": name} for name in LARGE_ANSWERS], answers={**LARGE_ANSWERS})
    held: dict[str, int] = {}
    told: dict[str, Json] = {}
    async with front(shifty.server(trusted=True), "modern") as (one, _):
        for name in LARGE_ANSWERS:
            async with turns_counted() as turns:
                try:
                    told[name] = await one.request("tools/call", call(name))
                except McpError as error:
                    told[name] = error.words
            held[name] = turns.held
    assert KEY not in str(told)
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}


NOTE: JsonObject = {"uri": "note:1", "name": "x", "text": "x"}
ASKED: JsonObject = {"role": "user", "content": {"type": "resource_link", "uri": "note:1", "name": "x"}}
LINKS: JsonObject = {"content": [{"type": "resource_link", **NOTE}] * 1_000}
LARGE_PAGES: dict[str, JsonObject] = {
    "prompts/list": {"prompts": [{"name": "x"}] * 3_000},
    "resources/list": {"resources": [NOTE] * 2_000},
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "note:{a}", "name": "x"}] * 2_000},
    "resources/read": {"contents": [NOTE] * 2_000},
    "prompts/get": {"messages": [ASKED] * 2_000},
    "completion/complete": {"completion": {"values": ["x"] * 10_000}},
}
OF_METHODS: dict[str, JsonObject] = {
    "resources/read": {"uri": "actum+shifty:note:1"},
    "prompts/get": {"name": "shifty_x"},
    "completion/complete": {"ref": {"type": "ref/prompt", "name": "shifty_x"}, "argument": {"name": "a", "value": "b"}},
}
LARGE_QUESTIONS: dict[str, Json] = {
    "sampling": {"q": {"method": "sampling/createMessage", "params": {"maxTokens": 9, "messages": [ASKED] * 2_000}}},
    "form": {"q": {"method": "elicitation/create", "params": {"message": "?" * 200_000, "requestedSchema": {
        "type": "object", "properties": {}}}}},
    "page": {"q": {"method": "elicitation/create", "params": {"message": "?", "mode": "url", "elicitationId":
        "x" * 200_000, "url": "https://a.example/" + "%41" * 60_000}}},
}  # fmt: skip


@pytest.mark.parametrize("era", ERAS)
async def test_nothing_of_one_of_several_servers_behind_holds_the_loop_of_the_gateway(
    tmp_path: Path, era: McpEra
) -> None:
    (tmp_path / "other").mkdir()
    other, shifty = Shifty(tmp_path / "other"), Shifty(tmp_path)
    pages: JsonObject = {method: {"first": {"result": page}} for method, page in LARGE_PAGES.items()}
    shifty.tell(
        era=era,
        tools=[{**ADD, "name": name} for name in ("links", *LARGE_QUESTIONS)],
        answers={"links": LINKS},
        asks={name: [asked] for name, asked in LARGE_QUESTIONS.items()},
        resources=[],
        prompts=True,
        lists=pages,
    )
    held: dict[str, int] = {}
    come: dict[str, JsonObject] = {}
    behind = replace(other.server(trusted=True), name="other")
    async with front(shifty.server(trusted=True), "modern", behind) as (one, _):
        await one.list_all("tools/list")
        for name in (*LARGE_PAGES, "links", *LARGE_QUESTIONS):
            is_call = name not in LARGE_PAGES
            method, params = ("tools/call", call(f"shifty_{name}")) if is_call else (name, OF_METHODS.get(name, {}))
            async with turns_counted() as turns:
                come[name] = await one.request(method, params, caller=Somebody())
            held[name] = turns.held
    assert "actum+shifty:note:1" in str(come["prompts/get"])
    assert {name: calls for name, calls in held.items() if calls >= 30_000} == {}
