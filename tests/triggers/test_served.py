"""Triggers of a real `actum serve`: signed webhooks, a kill between the record and the run, and what is refused."""

from __future__ import annotations

import asyncio
import itertools
import json
import resource
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.core.json import Json
from actum.core.stored.webhook import signature
from actum.server import Folder, McpService
from tests.cli.test_serve import Server, command, served, until
from tests.mcp_service import served as mcp_served
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("A6")

SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TOOLS = '''
import time
from pathlib import Path

from actum import tool


@tool(effects={"write"}, idempotent=True)
def set_light(room: str, on: bool = True) -> str:
    """Switch a light."""
    while Path("hold").exists():
        time.sleep(0.02)
    with Path("ledger").open("a") as file:
        file.write(room + "\\n")
    return room + " is lit"
'''
LAMP = """
actum: workflow/1
name: lamp
inputs: {type: object, required: [room], properties: {room: {type: string}}}
nodes: {light: {type: tool, tool: set_light, with: {room: "${inputs.room}"}}}
edges: []
outputs: {said: "${light.output}"}
"""
ORDER = """
actum: workflow/1
name: order
nodes: {paid: {type: wait, event: "order 7"}, light: {type: tool, tool: set_light, with: {room: "${paid.output.room}"}}}
edges: [paid > light]
outputs: {said: "${light.output}"}
"""
CLERK = """
from actum import Agent
from actum.testing import ScriptedModel

clerk = Agent(ScriptedModel(["Noted."] * 9))
"""
SETTINGS = """
tools = ["work.py"]
policy = "policy.toml"
[tasks]
workers = 1
[agents.clerk]
python = "clerk.py:clerk"
[workflows.lamp]
file = "lamp.workflow.yaml"
[triggers.switch]
workflow = "lamp"
secret = "switch"
[triggers.asked]
workflow = "lamp"
secret = "switch"
answer = true
id = "body:id"
[triggers.note]
agent = "clerk"
say = "It happened: ${event.data.what}"
[triggers.limited]
workflow = "lamp"
per_minute = 1
[workflows.order]
file = "order.workflow.yaml"
[triggers.paid]
wake = "order ${event.data.number}"
[triggers.plan]
workflow = "lamp"
file = "plan.txt"
with = {room = "${event.data.text}"}
"""


@asynccontextmanager
async def hall(folder: Path, place: str, more: str = "") -> AsyncIterator[tuple[Server, httpx2.AsyncClient]]:
    for name, text in (
        ("work.py", TOOLS),
        ("clerk.py", CLERK),
        ("lamp.workflow.yaml", LAMP),
        ("order.workflow.yaml", ORDER),
        ("policy.toml", 'default = "allow"\n'),
    ):
        (folder / name).write_text(text, "utf-8")
    environment = {"ACTUM_JOURNAL": place, "ACTUM_SECRET_SWITCH": SECRET, "PYTHONPATH": str(folder)}
    async with (
        served(folder, "--tools", "work.py", settings=SETTINGS + more, **environment) as server,
        httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
    ):
        yield server, client


async def press(
    client: httpx2.AsyncClient, name: str, data: Json, id: str = "msg_1", **headers: str
) -> httpx2.Response:
    """Send what a switch sends."""
    body, now = json.dumps(data).encode(), int(time.time())
    signed = {
        "webhook-id": id,
        "webhook-timestamp": str(now),
        "webhook-signature": signature([SECRET], id, now, body),
        "content-type": "application/json",
    }
    return await client.post(f"/v1/triggers/{name}", content=body, headers=signed | headers)


def lit(folder: Path) -> list[str]:
    path = folder / "ledger"
    return path.read_text("utf-8").split() if path.exists() else []


async def ended(client: httpx2.AsyncClient, answer: httpx2.Response) -> str:
    assert answer.status_code == 202, answer.text
    told = (await client.get(f"/v1/tasks/{answer.json()['run_id']}", params={"wait": "60"})).json()
    assert told["state"] == "succeeded", json.dumps(told)
    return str(told["state"])


async def test_a_press_is_done_once_though_it_is_told_twice_and_the_server_is_killed(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "hold").touch()
    async with hall(tmp_path, place) as (server, client):
        first = await press(client, "switch", {"room": "kitchen"})
        assert (first.status_code, first.json()["how"]) == (202, "begun")
        server.process.kill()
    (tmp_path / "hold").unlink()
    async with hall(tmp_path, place) as (_, client):
        again = await asyncio.gather(*(press(client, "switch", {"room": "kitchen"}) for _ in range(4)))
        assert {(each.json()["run_id"], each.json()["how"]) for each in again} == {(first.json()["run_id"], "known")}
        assert (await ended(client, first), lit(tmp_path)) == ("succeeded", ["kitchen"])

        answered = await press(client, "asked", {"id": 7, "room": "hall"})
        assert (answered.status_code, answered.json()["state"]) == (200, "succeeded"), answered.text
        assert "hall is lit" in str(answered.json()["result"])
        noted = await client.post("/v1/triggers/note", json={"what": "rain"})
        assert await ended(client, noted) == "succeeded"

        (tmp_path / "plan.txt").write_text("cellar", "utf-8")
        async with asyncio.timeout(HANGS_S):
            while "cellar" not in lit(tmp_path):
                await asyncio.sleep(0.1)
                (tmp_path / "plan.txt").write_text("cellar", "utf-8")


async def test_what_is_forged_or_too_much_begins_nothing(tmp_path: Path, place: str) -> None:
    async with hall(tmp_path, place) as (_, client):
        room: Json = {"room": "kitchen"}
        deep = "[" * 300 + "]" * 300
        cases: list[tuple[httpx2.Response, int, str]] = [
            (await press(client, "switch", room, **{"webhook-signature": "v1,AAAA"}), 401, "signature"),
            (await press(client, "switch", room, **{"webhook-timestamp": "1700000000"}), 401, "signature"),
            (await press(client, "switch", room, **{"webhook-id": "msg_2"}), 401, "signature"),
            (await client.post("/v1/triggers/switch", json=room), 401, "signature"),
            (await press(client, "gone", room), 404, "unknown_trigger"),
            (await press(client, "plan", room), 404, "unknown_trigger"),  # a file tells of it, and nobody else
            (await press(client, "asked", {"id": {}, "room": "kitchen"}), 400, "no_event_id"),
            (await client.post("/v1/triggers/note", content=b'{"what"'), 400, "body"),
            (await client.post("/v1/triggers/note", content=deep.encode()), 400, "body"),
            (await client.post("/v1/triggers/note", content=b'{"a": 1, "a": 2}'), 400, "body"),
            (await client.post("/v1/triggers/note", json={"how": "?"}), 422, "inputs"),
            (await client.post("/v1/triggers/limited", json={"lamp": 7}), 422, "invalid_arguments"),
            (await client.post("/v1/triggers/limited", json={"lamp": 7}), 422, "invalid_arguments"),  # has not counted
            (await client.post("/v1/triggers/note", content=b"x" * 1_100_000), 413, "too_long"),
        ]
        for answer, status, code in cases:
            assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
            assert answer.headers["content-type"] == "application/problem+json"
            assert SECRET not in answer.text
        listed = (await client.get("/v1/runs")).json()
        assert (listed["items"] if "items" in listed else listed["runs"], lit(tmp_path)) == ([], [])


async def test_an_event_wakes_a_run_that_is_no_task_and_the_run_goes_on_by_itself(tmp_path: Path, place: str) -> None:
    async with hall(tmp_path, place) as (_, client):
        begun = await client.post("/v1/workflows/order/run", json={"inputs": {}})
        run_id = begun.json()["id"]

        async def stands(*statuses: str) -> None:
            async def found() -> bool:
                return (await client.get(f"/v1/runs/{run_id}")).json()["status"] in statuses

            await until(found)

        await stands("paused")
        assert (await client.post("/v1/triggers/paid", json={"number": 8, "room": "hall"})).status_code == 404
        woken = await client.post("/v1/triggers/paid", json={"number": 7, "room": "hall"})
        assert (woken.status_code, woken.json()["woken"]) == (202, [run_id])
        await stands("done")
        assert lit(tmp_path) == ["hall"]
        gone = await client.post("/v1/triggers/paid", json={"number": 7, "room": "cellar"})
        assert (gone.status_code, gone.json()["code"], lit(tmp_path)) == (404, "nothing_waits", ["hall"])


async def test_on_a_full_disk_an_event_is_told_503_and_begins_once_when_there_is_room_again(tmp_path: Path) -> None:
    journal = tmp_path / "journal.db"
    async with hall(tmp_path, str(journal)) as (server, client):
        assert (await press(client, "switch", {"room": "first"}, "first")).status_code == 202
        at = max((tmp_path / f"journal.db{end}").stat().st_size for end in ("", "-wal"))
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (at, resource.RLIM_INFINITY))
        told, answer = ["first"], await press(client, "switch", {"room": "first"}, "first")
        while answer.status_code == 202:  # the file has room for some more
            told.append(f"room{len(told)}")
            answer = await press(client, "switch", {"room": told[-1]}, told[-1])
        assert answer.status_code == 503, answer.text
        assert (answer.json()["code"], int(answer.headers["retry-after"]) > 0) == ("journal", True)
        assert str(tmp_path) not in answer.text
        again = [(await press(client, "switch", {"room": name}, name)).status_code for name in told]
        assert set(again) <= {202, 503}
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

        async def all_begun() -> bool:
            answers = [await press(client, "switch", {"room": name}, name) for name in told]
            return all(each.status_code == 202 for each in answers)

        await until(all_begun)
        await until(lambda: set(lit(tmp_path)) == set(told))
    assert sorted(lit(tmp_path)) == sorted(told)
    async with hall(tmp_path, str(journal)) as (_, client):  # and nothing half done is found at the next start
        answers = [await press(client, "switch", {"room": name}, name) for name in told]
        assert {each.json()["how"] for each in answers} == {"known"}
        for each in answers:
            await ended(client, each)
    assert sorted(lit(tmp_path)) == sorted(told)


async def test_a_resource_of_an_mcp_server_begins_runs_as_soon_as_a_person_has_approved_the_server(
    tmp_path: Path, place: str
) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "today.md").write_text("before", "utf-8")
    async with mcp_served(McpService(resources=[Folder("notes", notes)])) as url:
        trigger = (
            f'[triggers.today]\nworkflow = "lamp"\nserver = "{url}"\nresource = "notes:///today.md"\nevery_s = 1\n'
            'with = {room = "${event.data.text}"}\n'
        )
        async with hall(tmp_path, place, trigger) as (server, client):
            await server.heard("was not approved")
            assert (await client.post("/v1/triggers/today", json={"room": "hall"})).status_code == 404
            await asyncio.to_thread(command, tmp_path, "mcp", "approve", url, "--yes")
            numbers = itertools.count()

            async def changed() -> bool:  # the content that is seen first is no change
                (notes / "today.md").write_text(f"note-{next(numbers)}", "utf-8")
                await asyncio.sleep(0.5)
                return bool(lit(tmp_path))

            async with asyncio.timeout(HANGS_S):
                await until(changed)
            assert all(room.startswith("note-") for room in lit(tmp_path))
