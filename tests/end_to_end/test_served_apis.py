"""`actum serve` with the tools of an API: two users with credentials of their own, by REST and by MCP, at once."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import sys
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from actum import Agent
from actum.core.call import ToolCall
from actum.core.json import JsonObject
from actum.policy.rules import Rules
from actum.protocols.mcp.config import McpEra, McpServer
from actum.protocols.openapi.endpoint import EndpointTemplate, setup_of
from actum.server.mcp.gateway.gateway import McpGateway
from actum.testing import ScriptedModel
from actum.toolsets.http.toolset import ApiToolset
from actum.toolsets.mcp.toolset import McpToolset
from tests import warm
from tests.mcp_service import served
from tests.patience import HANGS_S
from tests.toolsets.http.test_toolset import context
from tests.transport.wire_servers import said, wire_server

from .test_serve import Machine

KEYS = {"ann": "key-of-ann-4711", "bob": "key-of-bob-0815"}
SETTINGS = """
[tools]
use = [{from = "openapi:crm", prefix = "crm_", only = ["who_*"]}]
"""


class ApiMachine(Machine):
    """A machine on which an API was added, with a secret of each user."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, str(folder / "journal.db"))
        self._environment["ACTUM_SECRETS_KEY"] = "0123456789abcdef" * 4
        (folder / "actum.toml").write_text(SETTINGS, "utf-8")

    async def keeps(self, name: str, user: str, value: str) -> None:
        """Set a secret of a user."""
        process = await warm.start(
            *(sys.executable, "-m", "actum", "secrets", "set", name, "--user", user),
            cwd=self.folder,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        _, problems = await process.communicate(f"{value}\n".encode())
        assert process.returncode == 0, problems.decode()


def document(server: str) -> str:
    key: JsonObject = {"type": "apiKey", "in": "header", "name": "X-Key"}
    return json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": "CRM", "version": "1"},
            "servers": [{"url": server}],
            "components": {"securitySchemes": {"key": key}},
            "security": [{"key": []}],
            "paths": {
                "/me": {"get": {"operationId": "who_am_i"}},
                "/other": {"get": {"operationId": "other"}},
            },
        }
    )


async def behind_a_gateway(address: str, keys: dict[str, str]) -> list[str]:
    """The API of that machine behind an MCP gateway, used by an agent of another machine; what was told."""
    told: list[str] = []
    eras: list[tuple[McpEra, McpEra]] = [("modern", "legacy"), ("legacy", "modern")]
    for user, (front, back) in zip(KEYS, eras, strict=True):
        shown = McpServer(
            name="crm", url=address, headers={"Authorization": f"Bearer {keys[user]}"}, transport="http", era=back
        )
        async with served(McpGateway([shown], policy=Rules(default="allow"))) as url:
            there = McpServer(name="gateway", url=url, transport="http", era=front)
            async with McpToolset(there) as toolset:
                names = [tool.name for tool in await toolset.list_tools()]
                assert names == ["gateway_crm_who_am_i"]
                agent = Agent(
                    ScriptedModel([ToolCall("1", names[0], {}), "done"]),
                    [toolset],
                    policy=Rules(default="allow"),
                )
                result = await agent.run("Who am I?")
        assert [said.structured for _, said in result.calls] == [{"who": user, "key": "[redacted: secret]"}]
        told.append(str(result))
    return told


@pytest.mark.row("T2")
async def test_two_users_of_a_server_each_call_an_api_with_a_credential_of_their_own(tmp_path: Path) -> None:
    machine = ApiMachine(tmp_path)

    def answer(head: bytes, body: bytes) -> bytes:
        """Says who asks, repeats the credential, and would like both to be kept."""
        key = re.search(rb"x-key: (\S+)", head.lower())
        whole = key[1].decode() if key else ""
        owner = next((user for user, known in KEYS.items() if known == whole), "nobody")
        keep = (f"set-cookie: session={owner}", "cache-control: public, max-age=3600", 'etag: "1"')
        return said(
            json.dumps({"who": owner, "key": whole}).encode(), "200 OK", "content-type: application/json", *keep
        )

    async with wire_server(answer) as api:
        place = f"http://127.0.0.1:{api.port}"
        (tmp_path / "api.json").write_text(document(place))
        await machine.types("tools", "add", "openapi", "api.json", "--name", "crm", "--secret", "key=crm_key", "--yes")
        for user, value in KEYS.items():
            await machine.keeps("crm_key", user, value)
        keys = {user: await machine.key(user, "--scope", "tools") for user in (*KEYS, "eve")}
        async with machine.serves() as server:
            listed = (await server.ask("GET", "/v1/tools", keys["ann"])).json()["items"]
            assert [each["name"] for each in listed] == ["crm_who_am_i"], "prefix and only are those of the settings"

            async def by_rest(user: str) -> str:
                answered = (
                    await server.ask("POST", "/v1/tools/crm_who_am_i/call", keys[user], {"arguments": {}})
                ).json()
                assert answered["result"] == {"who": user, "key": "[redacted: secret]"}, answered
                return json.dumps(answered)

            async def by_mcp(user: str) -> str:
                async with (
                    httpx2.AsyncClient(headers={"authorization": f"Bearer {keys[user]}"}, timeout=HANGS_S) as http,
                    Client(streamable_http_client(f"{server.origin}/mcp", http_client=http)) as client,
                ):
                    called = await client.call_tool("crm_who_am_i", {})
                    assert called.structured_content == {"who": user, "key": "[redacted: secret]"}, called
                    return called.model_dump_json()

            users = ["ann", "bob"] * 5
            told = await asyncio.gather(*(by(user) for user in users for by in (by_rest, by_mcp)))
            refused = (await server.ask("POST", "/v1/tools/crm_who_am_i/call", keys["eve"], {"arguments": {}})).json()
            assert "actum secrets set crm_key" in json.dumps(refused)
            assert len(api.heads) == len(told)
            assert not [head for head in api.heads if "cookie:" in head.lower() or "if-none-match" in head.lower()]
            # The tool of this machine is a tool of another one, by its REST address.
            address = f"{server.origin}/v1/tools/crm_who_am_i/call"
            remote = EndpointTemplate(
                name="who",
                method="POST",
                url=address,
                body={"arguments": {}},
                secrets={"bearer": "k"},
                pick="result.who",
            )
            toolset = ApiToolset(setup_of(remote))
            there = await toolset.execute(ToolCall("1", "who", {}), context("who", {}, {"k": keys["bob"]}))
            await toolset.aclose()
            assert there.structured == "bob"
            told += await behind_a_gateway(f"{server.origin}/mcp", keys)
            server.process.send_signal(signal.SIGTERM)
            assert await server.ended() == 0
        told.append(await machine.types("journal", "export", "--all"))
        everything = "".join([*told, server.said])
        assert not [value for value in (*KEYS.values(), *keys.values()) if value in everything]
        assert "Traceback" not in server.said
