"""What could be tools at an address is told, whatever the address answers with; a look calls nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from actum import tool
from actum.compose.discovery.addresses import ENTRIES_MAX, discover_at
from actum.core.clock import SystemClock
from actum.core.errors import UsageError
from actum.core.json import Json
from actum.protocols.catalog import CatalogEntry, ai_catalog
from actum.server import McpService
from actum.transport.egress import Egress
from tests.compose.test_catalog import keeper
from tests.compose.test_discovery import API
from tests.toolsets.a2a.remote_servers import scripted_agent
from tests.web import serving

HOSTILE: list[Json] = [
    7,
    {"type": "application/a2a-agent-card+json", "url": "file:///etc/passwd"},
    {"type": "application/mcp-server-card+json", "url": ["https://a.example"]},
    {"type": "text/html", "url": "https://a.example"},
    {"type": "application/mcp-server-card+json", "url": "https://b.example/; rm -rf ~", "displayName": "\u202eB"},
]
KNOWN = [
    CatalogEntry(name="weather", kind="a2a", url="https://agents.example.com/weather"),
    CatalogEntry(name="papers", kind="mcp", url="https://tools.example.com/mcp"),
]
PAGES: dict[str, object] = {
    "api": API,
    "catalog": ai_catalog(KNOWN, "example"),
    "hostile": {"entries": [*HOSTILE, *HOSTILE[-1:] * 500]},
    "broken": '{"openapi": "3.1.0", "paths": [1]}',
    "deep": '{"skills": ' + "[" * 100_000,
    "page": "<html>Hello.</html>",
}


async def page(request: Request) -> Response:
    said = PAGES.get(request.path_params["name"])
    if said is None:
        return Response("no", 404)
    return Response(said if isinstance(said, str) else json.dumps(said), media_type="application/json")


async def test_what_an_address_has_is_told_and_what_it_has_not_is_refused(tmp_path: Path) -> None:
    egress, clock, it = Egress(), SystemClock(), keeper(tmp_path)
    async with serving(Starlette(routes=[Route("/{name}", page)])) as url:
        (api,) = await discover_at(f"{url}/api", it, egress, clock)
        assert (api.kind, api.source, api.names) == ("document", f"{url}/api", ("get_a",))
        assert api.use == f"actum tools add openapi {url}/api --name {api.name}"
        (broken,) = await discover_at(f"{url}/broken", it, egress, clock)
        assert broken.problem
        listed = await discover_at(f"{url}/catalog", it, egress, clock)
        assert [(each.kind, each.source) for each in listed] == [("agent", KNOWN[0].url), ("server", KNOWN[1].url)]
        hostile = await discover_at(f"{url}/hostile", it, egress, clock)
        assert len(hostile) == ENTRIES_MAX - len(HOSTILE) + 1
        assert hostile[0].use == "actum mcp add b-example-rm-rf 'https://b.example/; rm -rf ~'"
        assert "\u202e" not in str(hostile[0].names)
        for name in ("deep", "page", "nothing"):
            with pytest.raises(UsageError, match="is no OpenAPI document, no MCP server, no agent and no AI catalog"):
                await discover_at(f"{url}/{name}", it, egress, clock)


async def test_a_server_of_tools_and_an_agent_are_told_with_what_they_offer(tmp_path: Path) -> None:
    called: list[str] = []

    @tool
    def forecast(city: str) -> str:
        """Tell whether it will rain."""
        called.append(city)
        return city

    async with serving(McpService([forecast], name="weather").app()) as url:
        (server,) = await discover_at(f"{url}/mcp", keeper(tmp_path), Egress(), SystemClock())
    assert (server.kind, server.names, server.count) == ("server", ("forecast",), 1)
    assert server.use == f"actum mcp add {server.name} {url}/mcp"
    async with scripted_agent() as agent:
        (found,) = await discover_at(agent.origin, keeper(tmp_path), Egress(), SystemClock())
    assert (found.kind, found.source) == ("agent", agent.origin)
    assert found.use == f"actum a2a approve {agent.origin}"
    assert called == []
