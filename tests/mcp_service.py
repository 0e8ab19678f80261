"""A service of ours behind a real HTTP server in this process, and connections of ours to it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from actum.core.json import JsonObject
from actum.protocols.mcp.config import McpEra, McpServer
from actum.server.access import LOCAL, Access
from actum.server.mcp.gateway.gateway import McpGateway
from actum.server.mcp.service import McpService
from actum.toolsets.mcp.connection import McpConnection
from tests.web import serving


@asynccontextmanager
async def served(service: McpService | McpGateway, access: Access = LOCAL, *, sse: bool = False) -> AsyncIterator[str]:
    """The address of a service, as long as the block lasts."""
    async with serving(service.app(access=access, sse=sse)) as origin:
        yield f"{origin}/mcp"


class Client:
    """A caller who declares what it is told to and gives what it was given."""

    def __init__(self, capabilities: JsonObject, *answers: JsonObject) -> None:
        self._capabilities = capabilities
        self.answers = list(answers)
        self.asked: list[tuple[str, JsonObject]] = []
        self.heard: list[tuple[str, JsonObject]] = []

    @property
    def capabilities(self) -> JsonObject:
        return self._capabilities

    async def answer(self, method: str, params: JsonObject) -> JsonObject:
        self.asked.append((method, params))
        return self.answers.pop(0)

    def told(self, method: str, params: JsonObject) -> None:
        self.heard.append((method, params))


@asynccontextmanager
async def connected(service: McpService | McpGateway, era: McpEra = "modern") -> AsyncIterator[McpConnection]:
    """A connection to a service that is served for as long as the block lasts."""
    async with served(service) as url, McpConnection(McpServer(name="ours", url=url, transport="http"), era=era) as way:
        yield way
