"""What the official compatibility kit asks of a server, as far as that needs nothing but this repository.

`make a2a-kit` runs the kit itself. The scenarios here are those of the kit's own agent: the id of a message says what
the agent does. What the kit found once stands here as a test.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import A2ATable, ServeSettings
from actum.journal.memory import MemoryJournal
from actum.server import Access, Identity
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from tests.a2a_kit import run
from tests.a2a_kit.agent import make_kit_agent
from tests.patience import HANGS_S
from tests.web import serving

from .serving import NEW, a2a_server, spoken

ME = Identity(principal="ann", scopes=ALL_SCOPES)


class KitServer:
    """The kit's agent behind the server, as clients without a key reach it."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self.rpc = f"{url}/a2a/kit"
        self.client = client

    async def ask(self, method: str, params: object, path: str = "/") -> dict[str, Any]:
        """What JSON-RPC answers; the kit writes a slash behind the address."""
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        told: dict[str, Any] = (await self.client.post(self.rpc + path, json=body, headers=NEW)).json()
        return told

    async def task(self, id_: str) -> dict[str, Any]:
        """The task that a message of this id begins."""
        told = await self.ask("SendMessage", spoken("TCK", id_))
        task: dict[str, Any] = told["result"]["task"]
        return task


@pytest.fixture
async def kit() -> Any:  # noqa: ANN401 - a generator
    journal = MemoryJournal()
    agent, serve = make_kit_agent(journal), ServeSettings(a2a=A2ATable(strict_card=True))
    doors = open_doors(Settings(serve=serve), [], GivenAgents({"kit": agent}), journal, ME)
    application = Serving(doors, serve, Access(), who=ME, journal=journal).application
    async with serving(application.app) as url, httpx.AsyncClient(timeout=HANGS_S) as client:
        yield KitServer(url, client)


@pytest.mark.row("P3")
async def test_the_scenarios_of_the_kit_come_to_what_the_kit_expects(kit: KitServer) -> None:
    expected: dict[str, tuple[str, dict[str, object] | None]] = {
        "tck-complete-task": ("COMPLETED", {"text": "Hello from TCK"}),
        "tck-artifact-text": ("COMPLETED", {"text": "Generated text content"}),
        "tck-artifact-file": ("COMPLETED", {"filename": "output.txt", "mediaType": "text/plain"}),
        "tck-artifact-file-url": ("COMPLETED", {"url": "https://example.com/output.txt", "filename": "output.txt"}),
        "tck-artifact-data": ("COMPLETED", {"data": {"key": "value", "count": 42}}),
        "tck-input-required": ("INPUT_REQUIRED", None),
        "tck-reject-task": ("REJECTED", None),
    }
    for id_, (state, part) in expected.items():
        task = await kit.task(f"{id_}-1a2b")
        assert task["status"]["state"] == f"TASK_STATE_{state}", (id_, task)
        if part is not None:
            assert part.items() <= task["artifacts"][0]["parts"][0].items(), (id_, task)
    told = await kit.ask("SendMessage", spoken("TCK", "tck-message-response-1a2b"))
    assert told["result"]["message"]["parts"] == [{"text": "Direct message response"}], told
    assert "taskId" not in told["result"]["message"]


async def test_a_subscription_to_a_task_that_waits_ends_with_the_task(kit: KitServer) -> None:
    task = await kit.task("tck-input-required-1a2b")
    subscribed = asyncio.Event()

    async def subscription() -> list[dict[str, Any]]:
        body = {"jsonrpc": "2.0", "id": 1, "method": "SubscribeToTask", "params": {"id": task["id"]}}
        heard = []
        async with kit.client.stream("POST", kit.rpc, json=body, headers=NEW) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    heard.append(json.loads(line[5:])["result"])
                    subscribed.set()
        return heard

    async with asyncio.timeout(HANGS_S):
        listening = asyncio.create_task(subscription())
        await subscribed.wait()
        await kit.ask("SendMessage", spoken("Complete", "tck-complete-task-1a2b", taskId=task["id"]))
        heard = await listening
    assert "task" in heard[0]
    assert heard[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


async def test_a_body_or_a_part_of_another_media_type_is_415_over_http_json(kit: KitServer) -> None:
    message = spoken("TCK", "tck-1")
    odd = {"message": {**message["message"], "parts": [{"raw": "dGNr", "mediaType": "application/x-none"}]}}
    for body, kind in ((message, "text/plain"), (odd, "application/json")):
        headers = {**NEW, "content-type": kind}
        answer = await kit.client.post(f"{kit.rpc}/rest/message:send", content=json.dumps(body), headers=headers)
        assert answer.status_code == 415, answer.text
        assert "CONTENT_TYPE_NOT_SUPPORTED" in answer.text


async def test_the_extended_card_names_the_address_of_its_own_request_and_needs_a_key(kit: KitServer) -> None:
    assert (await kit.ask("GetExtendedAgentCard", {}))["error"]["code"] == -32004
    card = (await kit.client.get(f"{kit.rpc}/.well-known/agent-card.json", headers=NEW)).json()
    assert not card["capabilities"].get("extendedAgentCard", False)
    async with a2a_server(journal=MemoryJournal()) as it:
        body = {"jsonrpc": "2.0", "id": 1, "method": "GetExtendedAgentCard", "params": {}}
        key = {"authorization": "Bearer ann", **NEW}
        port = it.url.rpartition(":")[2]
        for host in (f"localhost:{port}", f"127.0.0.1:{port}"):  # another caller's name for the server is not kept
            told = (await it.client.post(it.rpc, json=body, headers={**key, "host": host})).json()
            urls = [each["url"] for each in told["result"]["supportedInterfaces"]]
            assert all(url.startswith(f"http://{host}/a2a/desk") for url in urls), (host, urls)


def test_the_script_that_runs_the_kit_serves_an_agent_that_is_there() -> None:
    assert run.AGENT.exists()
    assert Path(run.__file__).with_name("agent.py") == run.AGENT
