"""Runs that are no tasks and wait: a real `actum serve` goes on with them, also one that was begun since."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from tests.cli.test_serve import Server, command, served, until
from tests.patience import HANGS_S

WORK = '''
from pathlib import Path

from actum import tool


@tool(effects={"write"}, idempotent=False)
def note(name: str) -> str:
    """Note a name."""
    with Path("ledger").open("a") as file:
        file.write(name + "\\n")
    return name
'''
NAP = """\
actum: workflow/1
name: anything
inputs: {type: object, required: [name], properties: {name: {type: string}, seconds: {type: number, default: 0.5}}}
nodes:
  pause: {type: wait, for: "${inputs.seconds}"}
  sure:  {type: human, message: "Sure?", choices: [yes], expires: 0.2s}
  note:  {type: tool, tool: note, with: {name: "${inputs.name}"}}
edges: [pause > sure, sure.expired > note]
outputs: {noted: "${note.output}"}
"""
BOTH = """\
actum: workflow/1
name: anything
nodes:
  pause: {type: wait, for: 30d}
  sure:  {type: human, message: "Sure?", choices: [yes]}
  note:  {type: tool, tool: note, with: {name: sure}}
edges: [sure.yes > note]
"""
SETTINGS = """\
policy = "policy.toml"
[tasks]
workers = 1
[workflows.nap]
file = "nap.workflow.yaml"
[workflows.both]
file = "both.workflow.yaml"
"""


class Office:
    """A folder in which servers work."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder, self.place = folder, place
        (folder / "work.py").write_text(WORK, "utf-8")
        (folder / "nap.workflow.yaml").write_text(NAP, "utf-8")
        (folder / "both.workflow.yaml").write_text(BOTH, "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[tuple[Server, httpx2.AsyncClient]]:
        environment = {"PYTHONPATH": str(self.folder), "ACTUM_JOURNAL": self.place}
        async with (
            served(self.folder, "--tools", "work.py", settings=SETTINGS, **environment) as server,
            httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
        ):
            yield server, client

    def ledger(self) -> Counter[str]:
        """What was noted, and how often."""
        path = self.folder / "ledger"
        return Counter(path.read_text("utf-8").splitlines() if path.exists() else ())


async def begin(client: httpx2.AsyncClient, name: str, seconds: float = 0.5) -> str:
    """Begin a run; its id."""
    answer = await client.post("/v1/workflows/nap/run", json={"inputs": {"name": name, "seconds": seconds}})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


async def done(client: httpx2.AsyncClient, run_id: str) -> dict[str, object]:
    """A run, as soon as the run is done."""
    told: dict[str, object] = {}

    async def is_done() -> bool:
        told.update((await client.get(f"/v1/runs/{run_id}")).json())
        return told["status"] not in ("running", "paused", "waiting")

    await until(is_done)
    assert told["status"] == "done", told
    return told


async def paused(client: httpx2.AsyncClient, run_id: str) -> None:
    """Return when a run waits."""

    async def is_paused() -> bool:
        return bool((await client.get(f"/v1/runs/{run_id}")).json()["status"] == "paused")

    await until(is_paused)


async def test_two_servers_go_on_with_each_run_once_and_so_does_one_that_was_begun_later(
    tmp_path: Path, place: str
) -> None:
    office = Office(tmp_path, place)
    async with office.serves() as (_, client), office.serves() as (_, other):
        runs = {name: await begin(client if name < "d" else other, name) for name in "abcdef"}
        call = await client.post("/v1/tools/nap/call", json={"arguments": {"name": "called", "seconds": 0.5}})
        for name, run_id in runs.items():
            assert (await done(client, run_id))["outputs"] == {"noted": name}
        await until(lambda: office.ledger()["called"] == 1)
        assert call.status_code in (200, 202), call.text
    async with office.serves() as (server, client):
        left = await begin(client, "left", 2.0)
        await paused(client, left)
        server.process.kill()
        await server.ended()
    async with office.serves() as (_, client):
        assert (await done(client, left))["outputs"] == {"noted": "left"}
        cancelled = await begin(client, "never", 600)
        assert (await client.post(f"/v1/runs/{cancelled}/cancel")).status_code == 200
        assert (await client.get(f"/v1/runs/{cancelled}")).json()["status"] == "stopped"
    assert office.ledger() == Counter([*"abcdef", "called", "left"])


async def test_a_run_of_the_command_line_goes_on_in_a_server_of_the_same_journal(tmp_path: Path) -> None:
    office = Office(tmp_path, "runs.db")
    async with office.serves() as (_, client):
        said = command(tmp_path, "workflow", "run", "nap", "name=typed", "seconds=61", "--tools", "work.py", "--json")
        assert '"paused"' in said
        listed = (await client.get("/v1/runs")).json()["items"]
        assert [(each["agent"], each["status"]) for each in listed] == [("nap", "paused")]


async def test_a_server_whose_journal_is_in_memory_goes_on_with_runs_that_wait(tmp_path: Path) -> None:
    office = Office(tmp_path, "memory")
    async with office.serves() as (_, client):
        assert (await done(client, await begin(client, "once")))["outputs"] == {"noted": "once"}
    assert office.ledger() == Counter(["once"])


async def test_the_events_of_a_task_end_with_the_task_and_what_has_ended_is_not_cancelled(tmp_path: Path) -> None:
    office = Office(tmp_path, "runs.db")
    async with office.serves() as (_, client):
        said = {"inputs": {"name": "task", "seconds": 0}, "execute_async": True}
        task = (await client.post("/v1/workflows/nap/run", json=said)).json()["task_id"]
        async with client.stream("GET", f"/v1/runs/{task}/events") as events:
            numbers = [line.removeprefix("id: ") async for line in events.aiter_lines() if line.startswith("id: ")]
        again = await client.get(f"/v1/runs/{task}/events", headers={"Last-Event-ID": numbers[-1]})
        assert again.status_code == 204
        assert (await client.post(f"/v1/runs/{task}/cancel")).json()["status"] == "done"
        # The end of the task follows that of its run.
        told = await client.get(f"/v1/tasks/{task}", params={"wait": "20"})
        assert told.json()["state"] == "succeeded"


async def test_an_answer_goes_on_with_its_branch_while_another_branch_waits_for_a_month(tmp_path: Path) -> None:
    office = Office(tmp_path, "runs.db")
    async with office.serves() as (_, client):
        run_id = (await client.post("/v1/workflows/both/run", json={"inputs": {}})).json()["id"]
        asked: list[str] = []

        async def is_asked() -> bool:
            items = (await client.get("/v1/approvals", params={"run": run_id})).json()["items"]
            asked[:] = [each["id"] for each in items if each["message"] == "Sure?"]
            return bool(asked) and (await client.get(f"/v1/runs/{run_id}")).json()["status"] == "paused"

        await until(is_asked)
        said = {"verdict": "answer", "arguments": {"choice": "yes"}}
        assert (await client.post(f"/v1/approvals/{asked[0]}", json=said)).json()["goes_on"] is True
        await until(lambda: office.ledger()["sure"] == 1)

        await paused(client, run_id)
        assert (await client.post(f"/v1/runs/{run_id}/cancel")).json()["status"] == "stopped"
