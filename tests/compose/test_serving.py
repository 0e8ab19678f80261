"""Servers as the settings describe them."""

from __future__ import annotations

import re
import socket
import tomllib
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import msgspec
import openai
import pytest

from actum import Agent, tool
from actum.call.limits.limits import Limits, ToolLimits
from actum.compose.serving import Serving, open_doors, place_of, served_agents
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeLimits, ServeSettings
from actum.core.call import ToolCall
from actum.core.errors import UsageError
from actum.core.json import JsonObject
from actum.journal.memory import MemoryJournal
from actum.protocols.mcp.config import McpServer
from actum.server import Access, Identity
from actum.server.api.api import ASSISTANT, GivenAgents
from actum.server.metrics import Metrics
from actum.server.web import ConnectionLimits
from actum.server.web_application import WebApplicationSettings
from actum.testing import ScriptedModel
from actum.toolsets.mcp.connection import McpConnection
from tests.patience import HANGS_S
from tests.web import serving

GUIDE = Path(__file__).parents[2] / "docs" / "serve.md"


def test_the_guide_shows_every_setting_with_its_default() -> None:
    block, *_ = re.findall(r"^```toml\n(.*?)^```", GUIDE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    shown = tomllib.loads(block)
    assert msgspec.convert(shown["serve"], ServeSettings) == ServeSettings()
    assert set(shown["serve"]) == set(ServeSettings.__struct_fields__)
    assert set(shown["serve"]["limits"]) == set(ServeLimits.__struct_fields__)


def test_the_defaults_of_the_settings_are_those_of_the_server() -> None:
    limits, application, connections = ServeLimits(), WebApplicationSettings(), ConnectionLimits()
    assert (limits.body_bytes, limits.body_s, limits.header_bytes) == (
        application.body_bytes_max,
        application.body_s,
        application.header_bytes_max,
    )
    assert (limits.requests, limits.requests_per_caller) == (
        application.requests_max,
        application.requests_per_caller_max,
    )
    assert (limits.connections, limits.connections_per_address, limits.headers_s, limits.header_bytes) == (
        connections.connections_max,
        connections.connections_per_address_max,
        connections.headers_s,
        connections.header_bytes_max,
    )


def test_where_a_server_listens() -> None:
    assert place_of("127.0.0.1:80") == ("127.0.0.1", 80)
    assert place_of("[::1]:80") == ("::1", 80)
    assert place_of(":80") == ("127.0.0.1", 80)
    for wrong in ("127.0.0.1", "a:b", "a:-1", "a:65536", ""):
        with pytest.raises(UsageError, match="write an address and a port"):
            place_of(wrong)


def test_an_answer_in_pieces_does_not_wait_until_the_client_has_acknowledged_the_piece_before() -> None:
    for host in ("127.0.0.1", "[::1]"):
        serving_ = Serving([], ServeSettings(http=f"{host}:0"), Access())
        with serving_.listening() as url, socket.create_connection(place_of(url.removeprefix("http://"))):
            (listener,) = serving_._listeners
            accepted, _ = listener.accept()
            with accepted:
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


async def test_a_journal_that_is_closed_makes_the_server_not_ready_but_alive() -> None:
    class Closed(MemoryJournal):
        async def runs(self, **_: object) -> list[object]:  # type: ignore[override]
            raise RuntimeError("closed")

    for journal, status in ((MemoryJournal(), 200), (Closed(), 503)):
        doors = open_doors(Settings(), [], GivenAgents({}), journal, Identity())
        served = Serving(doors, ServeSettings(), Access(), journal=journal, metrics=Metrics())
        async with (
            serving(served.application.app) as origin,
            httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
        ):
            assert [(await client.get(path)).status_code for path in ("/readyz", "/healthz")] == [status, 200]


async def test_a_server_without_models_says_in_the_form_of_each_api_what_is_missing_in_its_settings() -> None:
    journal = MemoryJournal()
    doors = open_doors(Settings(), [], GivenAgents({}), journal, Identity())
    served = Serving(doors, ServeSettings(), Access(), journal=journal)
    hint = re.escape("no models. Its operator names them in actum.toml: an agent as [agents.NAME]")
    said: Any = [{"role": "user", "content": "Hi"}]
    async with serving(served.application.app) as origin:
        async with openai.AsyncOpenAI(base_url=f"{origin}/v1", api_key="x") as client:
            with pytest.raises(openai.NotFoundError, match=hint):
                await client.chat.completions.create(model="gpt-5", messages=said)
            with pytest.raises(openai.NotFoundError, match=hint):
                await client.responses.create(model="gpt-5", input="Hi")
            assert [model async for model in client.models.list()] == []
        async with anthropic.AsyncAnthropic(base_url=origin, api_key="x") as ant:
            with pytest.raises(anthropic.NotFoundError, match=hint):
                await ant.messages.create(model="claude", max_tokens=9, messages=said)
        async with httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as web:
            answer = await web.post("/v1beta/models/gemini-3:generateContent", json={"contents": []})
            assert (answer.status_code, answer.json()["error"]["status"]) == (404, "NOT_FOUND")
            assert (await web.get("/v1/runs")).status_code != 404  # our own API is there as before


async def test_a_server_whose_settings_name_no_agent_has_an_assistant_that_goes_on_with_runs_of_the_command_line(
    tmp_path: Path,
) -> None:
    @tool(effects=["read"], approval=True)
    def look() -> str:
        """Look."""
        return "seen"

    journal, root = MemoryJournal(), Identity(principal="root", scopes=("admin",))
    begun = Agent(ScriptedModel([[ToolCall(id="1", name="look", arguments={})], "Seen."]), [look], journal=journal)
    paused = await begun.run("Look.", principal="root")  # by the name that `actum run` gives its agent
    async with served_agents(Settings(), {}, tmp_path, [look], journal) as agents:
        assert (agents.names, agents.get(begun.name)) == ((ASSISTANT,), agents.get(ASSISTANT))
        given = GivenAgents({ASSISTANT: begun}, {begun.name: begun})
        served = Serving(open_doors(Settings(), [look], given, journal, root), ServeSettings(), Access(), who=root)
        async with (
            serving(served.application.app) as origin,
            httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
        ):
            listed = (await client.get("/v1/agents")).json()["items"]
            assert [each["name"] for each in listed] == [ASSISTANT]
            assert [each["id"] for each in (await client.get("/v1/models")).json()["data"]] == [ASSISTANT]
            assert (await client.get("/v1/agents/agent")).status_code == 404
            (waiting,) = (await client.get("/v1/approvals", params={"run": paused.run_id})).json()["items"]
            answered = await client.post(f"/v1/approvals/{waiting['id']}", json={"verdict": "approve"})
            assert answered.status_code == 200, answered.text
            ended = await client.get(f"/v1/runs/{paused.run_id}/events")  # ends with the run
            assert "Seen." in ended.text


async def test_a_call_counts_towards_the_same_limits_whichever_door_it_came_through() -> None:
    @tool(effects=["read"])
    def look() -> str:
        """Look."""
        return "seen"

    settings = Settings(limits=Limits(tools={"look": ToolLimits(per_minute=2)}))
    journal = MemoryJournal()
    doors = open_doors(settings, [look], GivenAgents({}), journal, Identity(scopes=("admin",)))
    served = Serving(doors, ServeSettings(), Access(), who=Identity(scopes=("admin",)), journal=journal)
    async with (
        serving(served.application.app) as origin,
        httpx2.AsyncClient(base_url=origin, timeout=HANGS_S) as client,
    ):
        way = McpServer(name="x", url=f"{origin}/mcp", transport="http")
        async with McpConnection(way) as connection:
            asked: JsonObject = {"name": "look", "arguments": {}}
            outcomes = [bool((await connection.request("tools/call", asked)).get("isError"))]
            outcomes += [(await client.post("/v1/tools/look/call", json={})).json()["error"] is not None]
            outcomes += [bool((await connection.request("tools/call", asked)).get("isError"))]
            told = await client.post("/v1/tools/look/call", json={})
            assert outcomes == [False, False, True]
            assert "rate" in told.text, told.text
