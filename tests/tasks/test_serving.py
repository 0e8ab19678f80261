"""`actum serve` as a process of its own, with its dispatcher and its webhooks: told to end, killed, and begun again."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.core.json import JsonObject
from tests.cli.test_serve import Server, served, until
from tests.patience import HANGS_S
from tests.tasks.office import is_gone

SECRET = "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
WORK = '''
import asyncio
import os
import time
from pathlib import Path

from actum import tool


def note(*words):
    with Path("ledger").open("a") as file:
        file.write(" ".join(words) + "\\n")


def hold(name):
    Path("process").write_text(str(os.getpid()))
    note("begun", name)
    while not Path("go").exists():
        time.sleep(0.02)
    note("finished", name)
    return "done " + name


@tool(effects={"read"})
def look(name: str) -> str:
    """Look."""
    note("look", name)
    return "seen " + name


@tool(effects={"read"})
async def near(name: str) -> str:
    """Tell which process this is, once there is a file `go`."""
    note("begun", name)
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return str(os.getpid())


@tool(effects={"read"})
def far(name: str) -> str:
    """Tell which process this is."""
    return str(os.getpid())


@tool(effects={"read"}, background="allowed")
def read(name: str) -> str:
    """Read, for as long as there is no file `go`."""
    return hold(name)


@tool(effects={"write"}, idempotent=False)
def pay(name: str) -> str:
    """Pay, for as long as there is no file `go`."""
    return hold(name)
'''
CLERK = """
from actum import Agent
from actum.core.call import ToolCall
from actum.core.message import Reply, ToolMessage
from actum.testing import ScriptedModel
from work import look, read


def say(request):
    results = [each for each in request.messages if isinstance(each, ToolMessage)]
    if not results:
        return Reply.of(calls=[ToolCall("c1", "read", {"name": "report", "execute_async": True})])
    told = results[-1].result.structured
    if told["state"] == "succeeded":
        return "It says: " + told["result"]
    return Reply.of(calls=[ToolCall(f"c{len(results) + 1}", "task_status", {"task_id": told["task_id"], "wait_s": 20})])


clerk = Agent(ScriptedModel(say), [read])
"""


class Receiver:
    """A server on the loopback that gets webhooks. It does not take the first message that comes."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        self.address = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")[1:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head)}
        self.got.append((headers, await reader.readexactly(int(headers["content-length"]))))
        status = b"503 Busy" if len(self.got) == 1 else b"204 No Content"
        writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    def ids_of(self, task_id: str) -> list[str]:
        """The ids of the messages that told of a task; each signature is checked as Standard Webhooks says."""
        found = []
        for headers, body in self.got:
            said = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
            signed = base64.b64encode(hmac.digest(SECRET.encode(), said, "sha256")).decode()
            assert headers["webhook-signature"] == f"v1,{signed}"
            assert abs(int(headers["webhook-timestamp"]) - time.time()) < 300
            if json.loads(body)["data"]["task_id"] == task_id:
                found.append(headers["webhook-id"])
        return found


class WebApplication:
    """A folder and a journal, in which one server after another works."""

    def __init__(self, folder: Path, place: str, receiver: Receiver) -> None:
        self.folder, self._place, self.receiver = folder, place, receiver
        (folder / "work.py").write_text(WORK, "utf-8")
        (folder / "clerk.py").write_text(CLERK, "utf-8")
        (folder / "policy.toml").write_text('default = "allow"\n', "utf-8")

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[tuple[Server, httpx2.AsyncClient]]:
        settings = (
            'policy = "policy.toml"\n'
            "[tasks]\nworkers = 2\n"
            f'[egress]\nprivate = ["{self.receiver.address}"]\n'
            '[agents.clerk]\npython = "clerk.py:clerk"\n'
            "[tools.near.tasks]\nin_process = true\n"
            "[tools.read.tasks]\nmax_retries = 3\nbackoff = {base = 0.1}\n"
        )
        environment = {"ACTUM_JOURNAL": self._place, "ACTUM_SECRET_WEBHOOK": SECRET, "PYTHONPATH": str(self.folder)}
        async with (
            served(self.folder, "--tools", "work.py", settings=settings, **environment) as server,
            httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client,
        ):
            yield server, client

    def ledger(self) -> Counter[str]:
        """What the tools noted, and how often."""
        path = self.folder / "ledger"
        return Counter(path.read_text("utf-8").splitlines() if path.exists() else ())

    async def ask(self, client: httpx2.AsyncClient, tool: str, name: str, **words: object) -> str:
        """Ask for a task; its id."""
        said = {
            "arguments": {"name": name},
            "execute_async": True,
            "webhook": f"{self.receiver.address}/hook",
            **words,
        }
        answer = await client.post(f"/v1/tools/{tool}/call", json=said)
        assert answer.status_code == 202, answer.text
        assert answer.headers["location"] == f"/v1/tasks/{answer.json()['task_id']}"
        return str(answer.json()["task_id"])


async def stands(client: httpx2.AsyncClient, task_id: str, wait: float = 30) -> JsonObject:
    """How a task stands when it has ended or waits."""
    answer = await client.get(f"/v1/tasks/{task_id}", params={"wait": str(wait)} if wait else {})
    assert answer.status_code == 200, answer.text
    found: JsonObject = answer.json()
    return found


@pytest.fixture
async def application(tmp_path: Path, place: str) -> AsyncIterator[WebApplication]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
    receiver.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield WebApplication(tmp_path, place, receiver)


@pytest.mark.row("P5")
async def test_a_server_that_is_killed_loses_nothing_does_nothing_twice_and_tells_each_end(
    application: WebApplication,
) -> None:
    async with application.serves() as (server, client):
        quick = await application.ask(client, "look", "first")
        assert (await stands(client, quick))["state"] == "succeeded"
        reading = await application.ask(client, "read", "book")
        paying = await application.ask(client, "pay", "rent", max_retries=3)
        await until(lambda: {"begun book", "begun rent"} <= set(application.ledger()))
        waiting = [await application.ask(client, "look", f"later {number}") for number in range(4)]
        server.process.kill()
        await server.ended()
    (application.folder / "go").touch()
    async with application.serves() as (_, client):
        for task_id in (reading, *waiting):
            assert (await stands(client, task_id))["state"] == "succeeded", task_id
        doubtful = await stands(client, paying)
        assert doubtful["state"] == "waiting"  # a person has to say whether the rent was paid
        ledger = application.ledger()
        assert ledger["begun rent"] == 1
        assert ledger["finished book"] == 1
        assert [ledger[f"look later {number}"] for number in range(4)] == [1] * 4
        receiver = application.receiver
        ended = (quick, reading, *waiting)
        await until(lambda: all(receiver.ids_of(task_id) for task_id in ended) and len(receiver.got) > len(ended))
        for task_id in ended:
            assert len(set(receiver.ids_of(task_id))) == 1  # a message that came twice is known by its id
        assert receiver.ids_of(paying) == []
        assert Counter(len(receiver.ids_of(task_id)) for task_id in ended)[2] == 1  # the first was refused once


@pytest.mark.row("P5")
async def test_a_server_that_is_told_to_end_puts_its_tasks_back_and_their_attempts_do_not_count(
    application: WebApplication,
) -> None:
    async with application.serves() as (server, client):
        reading = await application.ask(client, "read", "book", max_retries=0)
        await until(lambda: application.ledger()["begun book"] == 1)
        server.process.terminate()
        assert await server.ended() in (0, 143, -15)
    (application.folder / "go").touch()
    async with application.serves() as (_, client):
        assert (await stands(client, reading))["state"] == "succeeded"
        assert application.ledger()["finished book"] == 1


@pytest.mark.row("P5")
async def test_queued_and_running_tasks_are_cancelled_over_http_and_an_ended_task_is_not(
    application: WebApplication,
) -> None:
    async with application.serves() as (_, client):
        queued = await application.ask(client, "look", "never", not_before=time.time() + 600)
        running = await application.ask(client, "read", "book")
        await until(lambda: application.ledger()["begun book"] == 1)
        for task_id in (queued, running):
            answer = await client.delete(f"/v1/tasks/{task_id}")
            assert answer.status_code == 200, answer.text
            assert (await stands(client, task_id, wait=0))["state"] == "cancelled"
        held = (application.folder / "process").read_text("utf-8")
        await until(lambda: is_gone(held))  # what is cancelled is ended soon, and not before the answer
        (application.folder / "go").touch()
        again = await client.delete(f"/v1/tasks/{running}")
        assert again.status_code == 409
        assert "cancelled" in again.text
        assert (await stands(client, await application.ask(client, "read", "other")))["state"] == "succeeded"
        assert (application.ledger()["finished book"], application.ledger()["look never"]) == (0, 0)


@pytest.mark.row("P5")
async def test_an_agent_starts_a_tool_in_the_background_and_looks_how_its_task_stands(
    application: WebApplication,
) -> None:
    async with application.serves() as (_, client):
        (application.folder / "go").touch()
        answer = await client.post(
            "/v1/runs", json={"agent": "clerk", "question": "Read the report.", "execute_async": True}
        )
        assert answer.status_code == 202, answer.text
        told = await stands(client, answer.json()["task_id"])
        assert told["state"] == "succeeded", told
        assert told["result"] == "It says: done report"
        assert application.ledger()["finished report"] == 1


@pytest.mark.row("P5")
async def test_a_tool_that_is_said_to_be_safe_runs_in_the_server_is_cancelled_timed_out_and_put_back(
    application: WebApplication,
) -> None:
    async with application.serves() as (server, client):
        cancelled = await application.ask(client, "near", "one")
        late = await application.ask(client, "near", "two", timeout_s=0.2)
        assert (await stands(client, late))["state"] == "timed_out"
        assert (await client.delete(f"/v1/tasks/{cancelled}")).json()["state"] == "cancelled"
        back = await application.ask(client, "near", "three", max_retries=0)
        await until(lambda: application.ledger()["begun three"] == 1)
        server.process.terminate()
        await server.ended()
    (application.folder / "go").touch()
    async with application.serves() as (server, client):
        told = await stands(client, back)
        assert (told["state"], told["result"]) == ("succeeded", str(server.process.pid))
        other = await stands(client, await application.ask(client, "far", "four"))
        assert other["result"] != str(server.process.pid)
