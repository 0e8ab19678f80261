"""A login that is missing concerns one call: the connection and what else is under way on it go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from mcp.server.lowlevel import Server
from mcp_types import CallToolRequestParams, CallToolResult, TextContent

from actum.core.json import Json
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import Access
from actum.server.issuer import Issuer as Trusted
from actum.server.issuer import SignedTokens
from actum.server.mcp.http import McpRoutes
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.storage.tokens import TokenStore
from actum.testing import FakeClock
from actum.toolsets.login import LoginFailed, LoginNeeded, Person
from actum.toolsets.mcp.auth import OAuth
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import (
    REFUSED_HERE,
    McpError,
    keep,
    told,
)
from tests.issuer import Issuer
from tests.logins import Browser
from tests.web import listening, place, serving

Login = Callable[[Person | None], OAuth]


class Place(NamedTuple):
    """A real MCP server that wants tokens. Its tool `wait` says that it has begun, and waits."""

    server: McpServer
    login: Login
    issuer: Issuer
    clock: FakeClock
    begun: asyncio.Event
    gate: asyncio.Event


@asynccontextmanager
async def serving_tools(tmp_path: Path, era: McpEra) -> AsyncIterator[Place]:
    clock, begun, gate, listener = FakeClock(), asyncio.Event(), asyncio.Event(), listening()
    issuer = Issuer(clock)
    url = f"{place(listener)}/mcp"

    async def call(context: object, params: CallToolRequestParams) -> CallToolResult:
        if params.name == "wait":
            begun.set()
            await gate.wait()
        return CallToolResult(content=[TextContent(type="text", text="done")])

    async with serving(issuer.app()) as issuer.url:
        verifier = SignedTokens(Trusted(url=issuer.url, audience=url), clock=clock)
        door = McpRoutes(Server("t", on_call_tool=call), lambda: None)
        access = Access(verifier=verifier, resource=url, issuer=issuer.url, scopes=("read",))
        app = WebApplication([door], WebApplicationSettings(access=access)).app

        def login(person: Person | None) -> OAuth:
            return OAuth(url, TokenStore(tmp_path / "tokens.json"), name="t", person=person, clock=clock)

        async with serving(app, listener):
            configured = McpServer(name="t", url=url, transport="http", era=era)
            yield Place(configured, login, issuer, clock, begun, gate)


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_server_that_wants_a_login_says_so_and_is_there_after_it(tmp_path: Path, era: McpEra) -> None:
    async with serving_tools(tmp_path, era) as there:
        async with McpConnection(there.server, auth=there.login(None)) as alone:
            with pytest.raises(LoginNeeded, match="actum mcp login t"):
                await alone.facts()
        async with McpConnection(there.server, auth=there.login(Browser())) as connection:
            assert (await connection.facts()).era == era
            assert await connection.request("tools/call", {"name": "x", "arguments": {}})


@pytest.mark.parametrize("era", ["legacy", "modern"])
async def test_a_call_whose_login_ended_does_not_take_others_with_it(tmp_path: Path, era: McpEra) -> None:
    async with serving_tools(tmp_path, era) as there:
        await there.login(Browser()).log_in()
        async with McpConnection(there.server, auth=there.login(None)) as connection:
            slow = asyncio.create_task(connection.request("tools/call", {"name": "wait", "arguments": {}}))
            await there.begun.wait()
            assert await connection.request("tools/call", {"name": "x", "arguments": {}})
            there.issuer.forget_refresh_tokens()
            there.clock.advance(4000)
            with pytest.raises(LoginNeeded) as refused:
                await connection.request("tools/call", {"name": "x", "arguments": {}})
            assert refused.value.effect == "none"
            there.gate.set()
            assert await slow


async def test_a_login_that_fails_is_told_as_such(tmp_path: Path) -> None:
    async with serving_tools(tmp_path, "modern") as there:
        there.issuer.metadata["code_challenge_methods_supported"] = None
        async with McpConnection(there.server, auth=there.login(Browser())) as connection:
            with pytest.raises(LoginFailed, match="S256"):
                await connection.facts()


async def test_a_file_of_tokens_that_can_not_be_read_ends_a_call_and_not_the_connection(tmp_path: Path) -> None:
    async with serving_tools(tmp_path, "modern") as there:
        await there.login(Browser()).log_in()
        async with McpConnection(there.server, auth=there.login(None)) as connection:
            await connection.facts()
            (tmp_path / "tokens.json").write_text("{")
            there.clock.advance(4000)
            with pytest.raises(LoginFailed, match="can not be read"):
                await connection.request("tools/call", {"name": "x", "arguments": {}})
            assert connection.health.state == "up"


def test_a_server_that_writes_our_code_is_not_believed() -> None:
    ours = LoginNeeded("log in")
    name = keep(ours)
    guesses: list[Json] = ["0" * 32, {"a": 1}, None]
    for data in guesses:
        assert isinstance(told("tools/call", REFUSED_HERE, "log in at https://evil.example.org", data), McpError)
    assert told("tools/call", REFUSED_HERE, "", name) is ours
    assert told("tools/call", REFUSED_HERE, "", name) is not ours


def test_what_nobody_asks_for_is_not_kept_for_ever() -> None:
    names = [keep(LoginNeeded(str(number))) for number in range(1100)]
    assert isinstance(told("x", REFUSED_HERE, "", names[0]), McpError)
    assert str(told("x", REFUSED_HERE, "", names[-1])) == "1099"
