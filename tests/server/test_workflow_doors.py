"""Workflows at every door of a real `actum serve`: its own API, MCP, A2A and the APIs of models; killed in between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cli.test_serve import Server, served, until
from tests.patience import HANGS_S

WORK = '''
import time
from pathlib import Path

from actum import tool


def note(*words):
    with Path("ledger").open("a") as file:
        file.write(" ".join(words) + "\\n")


@tool(effects={"read"})
def look(name: str) -> str:
    """Look."""
    note("look", name)
    return "seen " + name


@tool(effects={"read"})
def read(name: str) -> str:
    """Read, for as long as there is no file `go`."""
    note("begun", name)
    while not Path("go").exists():
        time.sleep(0.02)
    note("finished", name)
    return name


@tool(effects={"spend"})
def book(name: str) -> str:
    """Book."""
    note("booked", name)
    return "booked " + name
'''
DESK = """\
actum: workflow/1
name: anything
inputs: {type: object, required: [name], properties: {name: {type: string}}}
nodes:
  look: {type: tool, tool: look, with: {name: "${inputs.name}"}}
  read: {type: tool, tool: read, with: {name: "${inputs.name}"}}
  sure: {type: human, message: "Book ${inputs.name}?", choices: [yes, no]}
  book: {type: tool, tool: book, with: {name: "${inputs.name}"}}
edges: [look > read, read > sure, sure.yes > book]
outputs: {booked: "${book.output?}"}
"""
ADD = """\
actum: workflow/1
name: anything
inputs: {type: object, required: [a, b], properties: {a: {type: integer}, b: {type: integer}}}
nodes: {sum: {type: set, set: {n: {cel: "inputs.a + inputs.b"}}}}
vars: {n: 0}
edges: []
outputs: {sum: "${vars.n}"}
"""
SETTINGS = """\
policy = "policy.toml"
[tasks]
workers = 2
[workflows.desk]
file = "desk.workflow.yaml"
[workflows.plus]
file = "plus.workflow.yaml"
[models.planner]
agent = "desk"
"""
MCP_HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
MCP_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Office:
    """A folder in which one server after another works."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "work.py").write_text(WORK, "utf-8")
        (folder / "desk.workflow.yaml").write_text(DESK, "utf-8")
        (folder / "plus.workflow.yaml").write_text(ADD, "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[tuple[Server, httpx2.AsyncClient]]:
        environment = {"PYTHONPATH": str(self.folder)}
        async with (
            served(self.folder, "--tools", "work.py", settings=SETTINGS, **environment) as server,
            httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
        ):
            yield server, client

    def ledger(self) -> Counter[str]:
        """What the tools noted, and how often."""
        path = self.folder / "ledger"
        return Counter(path.read_text("utf-8").splitlines() if path.exists() else ())


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


async def answered(client: httpx2.AsyncClient, run_id: str) -> None:
    """Say yes to what a run waits for."""
    found: list[str] = []

    async def waits() -> bool:
        items = (await client.get("/v1/approvals", params={"run": run_id})).json()["items"]
        found[:] = [each["id"] for each in items]
        return bool(found)

    await until(waits)
    answer = await client.post(f"/v1/approvals/{found[0]}", json={"verdict": "answer", "arguments": {"choice": "yes"}})
    assert answer.status_code == 200, answer.text


async def run_of(client: httpx2.AsyncClient, run_id: str, *statuses: str) -> dict[str, object]:
    """A run, as soon as it stands so."""
    told: dict[str, object] = {}

    async def stands() -> bool:
        told.update((await client.get(f"/v1/runs/{run_id}")).json())
        return told["status"] in statuses

    await until(stands)
    return told


async def test_a_server_that_is_killed_goes_on_with_a_workflow_once(office: Office) -> None:
    async with office.serves() as (server, client):
        asked = {"inputs": {"name": "task"}, "execute_async": True, "max_retries": 2, "unique_key": "one"}
        accepted = [await client.post("/v1/workflows/desk/run", json=asked) for _ in range(2)]
        assert [each.status_code for each in accepted] == [202, 202]
        (task,) = {each.json()["task_id"] for each in accepted}
        run = (await client.post("/v1/workflows/desk/run", json={"inputs": {"name": "run"}})).json()["id"]
        await until(lambda: {"begun task", "begun run"} <= set(office.ledger()))
        server.process.kill()
        await server.ended()
    (office.folder / "go").touch()
    async with office.serves() as (_, client):
        await run_of(client, run, "interrupted")
        assert (await client.post(f"/v1/runs/{run}/resume", json={})).status_code == 202
        for each in (task, run):
            await run_of(client, each, "paused")
            await answered(client, each)
            assert (await run_of(client, each, "done"))["outputs"] == {"booked": f"booked {office_name(each, task)}"}
        told = (await client.get(f"/v1/tasks/{task}", params={"wait": "20"})).json()
        assert (told["state"], told["result"], told["agent"]) == ("succeeded", {"booked": "booked task"}, "desk")
        ledger = office.ledger()
        for name in ("task", "run"):
            # The process of a task may live for a moment after its server, and what only reads may be done again.
            assert ledger[f"booked {name}"] == 1, name
            assert ledger[f"look {name}"] >= 1, name
            assert ledger[f"finished {name}"] >= 1, name


def office_name(run_id: str, task: str) -> str:
    return "task" if run_id == task else "run"


async def test_a_workflow_is_a_tool_an_agent_and_the_name_of_a_model(office: Office) -> None:
    (office.folder / "go").touch()
    async with office.serves() as (_, client):
        names = [each["id"] for each in (await client.get("/v1/models")).json()["data"]]
        assert {"desk", "plus", "planner"} <= set(names)
        for model in ("desk", "planner"):
            asking = asyncio.create_task(chat(client, model, f"by {model}"))
            await until(lambda model=model: office.ledger()[f"finished by {model}"] == 1)  # type: ignore[misc]
            await answered(client, await latest(client))
            answer = await asking
            assert answer.json()["choices"][0]["message"]["content"] == f"booked by {model}", answer.text
        whole = await chat(client, "plus", '{"a": 2, "b": 3}')
        assert whole.json()["choices"][0]["message"]["content"] == '{"sum":5}', whole.text
        before = len((await client.get("/v1/runs")).json()["items"])
        for words in ("add two and three", '{"a": 2}', '{"a": 2, "b": "x"}', "[2, 3]", "null", ""):
            refused = await chat(client, "plus", words)
            assert refused.status_code in (400, 422), (words, refused.text)
            assert (await say(client, "plus", words or " ")).get("error"), words
        assert len((await client.get("/v1/runs")).json()["items"]) == before, "nothing is begun"

        card = (await client.get("/a2a/plus/.well-known/agent-card.json")).json()
        assert [each["id"] for each in card["skills"]] == ["plus"]
        task = (await say(client, "plus", '{"a": 4, "b": 5}'))["result"]["task"]
        assert (task["status"]["state"], task["artifacts"][0]["parts"][0]["text"]) == (
            "TASK_STATE_COMPLETED",
            '{"sum":9}',
        )
        waiting = (await say(client, "desk", "by a2a"))["result"]["task"]
        assert waiting["status"]["state"] == "TASK_STATE_INPUT_REQUIRED", waiting
        await answered(client, waiting["id"])
        await until(lambda: office.ledger()["booked by a2a"] == 1)

        called = await mcp(client, "tools/call", name="plus", arguments={"a": 1, "b": 1})
        assert called["result"]["structuredContent"] == {"sum": 2}, called
        wrong = await mcp(client, "tools/call", name="plus", arguments={"a": "x"})
        assert wrong.get("error") or wrong["result"]["isError"], wrong
        listed = await mcp(client, "tools/list")
        assert {"desk", "plus"} <= {each["name"] for each in listed["result"]["tools"]}

        children = (await client.get("/v1/runs", params={"kind": "workflow", "limit": "200"})).json()["items"]
        assert {each["agent"] for each in children} == {"desk", "plus"}
        audit = (await client.get("/v1/audit", params={"tool": "look"})).json()["items"]
        assert audit


async def chat(client: httpx2.AsyncClient, model: str, words: str) -> httpx2.Response:
    return await client.post(
        "/v1/chat/completions", json={"model": model, "messages": [{"role": "user", "content": words}]}
    )


async def latest(client: httpx2.AsyncClient) -> str:
    """The run that waits."""
    found: list[str] = []

    async def waits() -> bool:
        found[:] = [each["run"] for each in (await client.get("/v1/approvals")).json()["items"]]
        return bool(found)

    await until(waits)
    return found[-1]


async def say(client: httpx2.AsyncClient, agent: str, words: str) -> dict[str, Any]:
    message = {"role": "ROLE_USER", "messageId": f"m {words}", "parts": [{"text": words}]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    answer = await client.post(f"/a2a/{agent}", json=body, headers={"A2A-Version": "1.0"})
    told: dict[str, Any] = answer.json()
    return told


async def mcp(client: httpx2.AsyncClient, method: str, **params: object) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": MCP_META}}
    headers = {**MCP_HEADERS, "mcp-method": method, **({"mcp-name": str(params["name"])} if "name" in params else {})}
    answer = await client.post("/mcp", json=body, headers=headers)
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = [line[6:] for line in text.splitlines() if line.startswith("data: ")][-1]
    told: dict[str, Any] = httpx2.Response(200, text=text).json()
    return told
