"""A source that is neither the service nor the gateway, served to clients of both eras."""

from __future__ import annotations

from collections.abc import Mapping

import mcp_types as types
from mcp.client.client import Client

from actum.core.identity import Identity
from actum.core.json import JsonObject
from actum.core.tool import Tool
from actum.policy.rules import Rule, Rules
from actum.protocols.mcp.config import McpEra
from actum.server.access import LOCAL
from actum.server.mcp.source import Context, Handler, SourceServer, Visibility
from actum.testing import FakeClock
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.error import METHOD_NOT_FOUND, McpError
from tests.web import serving

from ..gateways import client

ERAS: tuple[McpEra, McpEra] = ("legacy", "modern")


class Echo:
    """A source that answers each request with its parameters, and counts its beginnings and ends."""

    def __init__(self) -> None:
        self.starts = self.stops = 0

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return dict.fromkeys(("tools/list", "resources/subscribe", "tasks/get"), self._echo)

    async def _echo(self, ctx: Context, params: JsonObject) -> JsonObject:
        return {"tools": [], "asked": ctx.method}

    def capabilities(self, *, modern: bool) -> types.ServerCapabilities:
        return types.ServerCapabilities(tools=types.ToolsCapability())

    async def introduce(self, ctx: Context, introduction: JsonObject) -> JsonObject:
        return {**introduction, "instructions": f"Asked by {ctx.method}."}

    def schema_of(self, name: str) -> None:
        return None

    async def join(self, ctx: Context) -> None:
        return

    async def start(self) -> None:
        self.starts += 1

    async def stop(self) -> None:
        self.stops += 1

    def hang_up(self) -> None:
        return


async def asked(connection: McpConnection, method: str) -> str:
    """What became of a request: the method that the source was asked, or the code of the error."""
    try:
        return str((await connection.request(method, {"uri": "memo:1", "taskId": "t"}))["asked"])
    except McpError as error:
        return str(error.rpc_code)


async def test_each_era_is_served_its_own_methods_of_a_source_and_told_the_sources_introduction() -> None:
    server = SourceServer(Echo(), name="echo")
    found = {}
    async with serving(server.app("/mcp", host="127.0.0.1", access=LOCAL)) as origin:
        for era in ERAS:
            async with client(f"{origin}/mcp", era) as one:
                words = (await one.facts()).instructions
                methods = ("tools/list", "resources/subscribe", "tasks/get")
                found[era] = [words, *[await asked(one, method) for method in methods]]
    assert found == {
        "legacy": ["Asked by initialize.", "tools/list", "resources/subscribe", str(METHOD_NOT_FOUND)],
        "modern": ["Asked by server/discover.", "tools/list", str(METHOD_NOT_FOUND), "tasks/get"],
    }


async def test_a_source_is_stopped_once_and_only_after_its_last_transport() -> None:
    source = Echo()
    server = SourceServer(source, name="echo").server
    async with Client(server, mode="2026-07-28"):
        async with Client(server, mode="2026-07-28"):
            assert (source.starts, source.stops) == (2, 0)
        assert source.stops == 0
    assert (source.starts, source.stops) == (2, 1)


async def test_a_tool_is_shown_to_whom_both_the_operator_and_the_policy_show_it() -> None:
    tools = [Tool(name=name, description="", parameters={"type": "object"}) for name in ("open", "barred", "hidden")]
    policy = Rules(Rule("deny", tools="barred"), default="allow")
    visibility = Visibility(lambda tool, who: tool.name != "hidden" or who.principal == "ada", policy, "x", FakeClock())
    for user, shown in (("ada", ["open", "hidden"]), ("bob", ["open"])):
        who = Identity(principal=user)
        may_see = await visibility.shown_to(who)
        assert [tool.name for tool in tools if may_see(tool)] == shown, user
        assert visibility.may_call(tools[1], who), "what the policy denies is denied by the call path, and on record"
