"""A client for the official conformance suite: our connection and our login, driven by what a scenario wants to see.

The suite starts it with the server's address as its last argument and says in the environment which scenario it is,
in which version of the protocol, and with what (`MCP_CONFORMANCE_SCENARIO`, `..._PROTOCOL_VERSION`, `..._CONTEXT`).
It ends with 0 when all went as a good client's run goes, and with 1 when our client refused; some scenarios want that.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import ClassVar

import httpx2
from mcp.shared.inbound import find_invalid_x_mcp_header

from actum.core.errors import CallError
from actum.core.json import Json, JsonObject
from actum.protocols.mcp.config import (
    McpAuth,
    McpEra,
    McpGrant,
    McpServer,
)
from actum.storage.tokens import TokenStore
from actum.toolsets.mcp.auth import OAuth
from actum.toolsets.mcp.connection import McpConnection
from actum.toolsets.mcp.issuer import discover
from actum.transport.fetcher import Fetcher
from actum.transport.guard import Guard
from tests.patience import HANGS_S

DESCRIPTION = "https://conformance-test.local/client-metadata.json"
"""The name that the suite's issuer takes for a client with a description of its own; nobody looks it up."""
MODERN = "2026-07-28"


class Follower:
    """A person who consents at once: follows the link, and says where it led."""

    redirect_uri = "http://localhost:3000/callback"

    async def authorize(self, url: str) -> str:
        async with httpx2.AsyncClient(timeout=HANGS_S) as client:
            return (await client.get(url)).headers["location"]


class Agreeable:
    """Answers what a server asks back: what it proposes, or yes."""

    capabilities: ClassVar[JsonObject] = {"elicitation": {"form": {"applyDefaults": True}, "url": {}}}

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        schema = params.get("requestedSchema")
        properties = schema.get("properties") if isinstance(schema, dict) else None
        content: JsonObject = {
            name: one.get("default", True)
            for name, one in (properties.items() if isinstance(properties, dict) else ())
            if isinstance(one, dict) and ("default" in one or one.get("type") == "boolean")
        }
        return {"action": "accept", "content": content}

    def told(self, method: str, params: JsonObject) -> None:
        pass


class Run:
    """One scenario."""

    def __init__(self, url: str, version: str, context: JsonObject, auth: httpx2.Auth | None) -> None:
        era: McpEra = "modern" if version >= MODERN else "legacy"
        server = McpServer(name="conformance", url=url, transport="http", era=era, timeout=120)
        self.context = context
        self.connection = McpConnection(server, auth=auth)

    async def tools(self) -> list[JsonObject]:
        """The tools that can be called: one whose headers can not be written is left out (SEP-2243)."""
        return [
            tool
            for tool in await self.connection.list_all("tools/list")
            if find_invalid_x_mcp_header(tool.get("inputSchema")) is None
        ]

    async def call(self, tool: JsonObject, arguments: JsonObject) -> JsonObject:
        schema = tool.get("inputSchema")
        return await self.connection.request(
            "tools/call",
            {"name": tool["name"], "arguments": arguments},
            caller=Agreeable(),
            header_schema=schema if isinstance(schema, dict) else None,
        )


async def begin(run: Run) -> None:
    await run.connection.facts()


async def list_only(run: Run) -> None:
    await run.tools()


async def call_all(run: Run) -> None:
    for tool in await run.tools():
        await run.call(tool, _arguments(tool))


async def call_as_told(run: Run) -> None:
    tools = {tool["name"]: tool for tool in await run.tools()}
    calls = run.context["toolCalls"]
    for call in calls if isinstance(calls, list) else []:
        if isinstance(call, dict) and isinstance(call["arguments"], dict):
            await run.call(tools[call["name"]], call["arguments"])


async def echo(run: Run) -> None:
    tools = {tool["name"]: tool for tool in await run.tools()}
    await run.call(tools["json_schema_echo"], {"schema": tools["json_schema_2020_12_tool"]["inputSchema"]})


async def everything(run: Run) -> None:
    await call_all(run)
    for resource in await run.connection.list_all("resources/list"):
        await run.connection.request("resources/read", {"uri": resource["uri"]})
    for prompt in await run.connection.list_all("prompts/list"):
        await run.connection.request("prompts/get", {"name": prompt["name"]})


SCENARIOS: dict[str, Callable[[Run], Awaitable[None]]] = {
    "initialize": list_only,
    "request-metadata": list_only,
    "json-schema-ref-no-deref": list_only,
    "json-schema-2020-12-preservation": echo,
    "http-standard-headers": everything,
    "http-custom-headers": call_as_told,
    "auth/client-credentials-jwt": list_only,
    "auth/client-credentials-basic": list_only,
    "auth/wif-jwt-bearer": list_only,
}
"""What a scenario wants to see; all others want every tool called."""


GRANTS: dict[str, McpGrant] = {
    "auth/client-credentials-jwt": "client",
    "auth/client-credentials-basic": "client",
    "auth/enterprise-managed-authorization": "company",
    "auth/wif-jwt-bearer": "voucher",
}
"""How a token is had where no person logs in."""


def _arguments(tool: JsonObject) -> JsonObject:
    """Arguments that a schema takes: what is required, by type."""
    schema = tool.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return {}
    some: dict[str, Json] = {"string": "x", "integer": 2, "number": 2, "boolean": True, "array": [], "object": {}}
    return {
        name: some.get(str(one.get("type")), "x") if isinstance(one, dict) else "x" for name, one in properties.items()
    }


async def _login(scenario: str, url: str, context: JsonObject, folder: Path) -> OAuth:
    """The login that a person would have set up from what the scenario hands out."""
    given = {name: str(value) for name, value in context.items() if isinstance(value, str)}
    auth = McpAuth(client_metadata_url=DESCRIPTION)
    if "client_id" in given:
        issuer = given.get("issuer")
        if issuer is None:  # a person would know whose the secret is
            issuer = (await discover(url, None, McpAuth(), Fetcher(Guard(url)))).issuer
        auth = McpAuth(
            issuer=issuer,
            client_id=given["client_id"],
            grant=GRANTS.get(scenario, "code"),
            secret="private_key_pem" if "private_key_pem" in given else "client_secret" * ("client_secret" in given),
            method="private_key_jwt" if "private_key_pem" in given else "",
            algorithm=given.get("signing_algorithm", "ES256"),
            assertion=next((field for field in ("idp_id_token", "valid_jwt") if field in given), ""),
            idp_token_endpoint=given.get("idp_token_endpoint", ""),
            idp_client_id=given.get("idp_client_id", ""),
        )
    return OAuth(
        url, TokenStore(folder / "tokens.json"), auth=auth, name="conformance", secrets=given, person=Follower()
    )


async def main(url: str) -> None:
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    context: JsonObject = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    version = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", MODERN)
    with tempfile.TemporaryDirectory() as folder:
        auth = await _login(scenario, url, context, Path(folder)) if scenario.startswith("auth/") else None
        run = Run(url, version, context, auth)
        async with run.connection:
            await SCENARIOS.get(scenario, call_all)(run)


if __name__ == "__main__":
    try:
        asyncio.run(main(sys.argv[-1]))
    except CallError as error:
        sys.exit(f"{type(error).__name__}: {error}")
