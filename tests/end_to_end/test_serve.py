"""`actum serve` between real processes: every door on one port, and servers that share one database.

What a server leaves that is killed, told to end or cut off from its database, another process goes on with.
"""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import re
import resource
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, closing
from pathlib import Path

import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client

from tests import warm
from tests.patience import HANGS_S, SOON_S
from tests.postgres import postgres_server

PATHS = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
TOOLS = '''
import asyncio
from pathlib import Path

from actum import tool


@tool(effects=["read"])
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effects=["spend"], approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"


@tool(effects=["read"])
async def wait() -> str:
    """Wait for a file."""
    with Path("begun").open("a") as begun:
        begun.write("x")
    while not Path("go").exists():
        await asyncio.sleep(0.02)
    return "waited"


@tool(effects=["read"])
def rare() -> str:
    """Something that may be done ten times a minute."""
    return "done"
'''
MODEL = '''
from actum.core.call import ToolCall
from actum.core.message import ToolMessage
from actum.testing import ScriptedModel


def said(request):
    """Call what the question names, with what follows; then tell the result."""
    last = request.messages[-1]
    if isinstance(last, ToolMessage):
        return "It is done."
    name, _, to = last.text.partition(" ")
    return ToolCall("c1", name, {"to": to} if to else {})


model = ScriptedModel(said)
'''
SETTINGS = """
[tools]
use = ["tools.py"]

[limits.tools.rare]
per_minute = 10

[agents.desk]
model = "model.py:model"
tools = ["tools.py"]
mcp = ["none"]
"""


class Machine:
    """A folder in which commands are typed and servers run, all with one journal."""

    def __init__(self, folder: Path, place: str) -> None:
        self.folder = folder
        self._environment = {**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": place}
        (folder / "tools.py").write_text(TOOLS, "utf-8")
        (folder / "model.py").write_text(MODEL, "utf-8")
        (folder / "actum.toml").write_text(SETTINGS, "utf-8")

    async def start(self, *words: str) -> asyncio.subprocess.Process:
        """Begin a command."""
        return await warm.start(
            *(sys.executable, "-m", "actum", *words),
            cwd=self.folder,
            env=self._environment,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )

    async def types(self, *words: str) -> str:
        """Type a command; what it prints."""
        process = await self.start(*words)
        out, problems = await process.communicate()
        assert process.returncode == 0, problems.decode()
        return out.decode()

    async def key(self, name: str, *flags: str) -> str:
        """A new key."""
        return (await self.types("keys", "add", name, *flags)).strip()

    @asynccontextmanager
    async def serves(self) -> AsyncIterator[Server]:
        """`actum serve`, until the block ends."""
        process = await self.start("serve", "--http", "127.0.0.1:0")
        server = Server(process)
        try:
            server.origin = await server.heard()
            async with httpx2.AsyncClient(base_url=server.origin, timeout=HANGS_S) as client:
                server.client = client
                yield server
        finally:
            if process.returncode is None:
                process.kill()
            server.said += (await process.communicate())[1].decode()


class Server:
    """One running `actum serve`.

    Attributes:
        origin: where it is.
        said: what it wrote on stderr.
        client: sends requests to it.
    """

    client: httpx2.AsyncClient

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.origin, self.said = "", ""

    async def heard(self) -> str:
        """Where it is, as soon as it is ready for requests."""
        assert self.process.stderr is not None
        async with asyncio.timeout(HANGS_S):
            while line := (await self.process.stderr.readline()).decode():
                self.said += line
                if "  access   " in line:
                    found = re.search(r"https?://[^\s,]+", self.said)
                    assert found
                    return found[0]
        raise AssertionError(self.said)

    async def ask(self, method: str, path: str, key: str, body: object = None, **headers: str) -> httpx2.Response:
        """Send a request with a key."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return await self.client.request(method, path, json=body, headers={"authorization": f"Bearer {key}", **named})

    async def until(self, run: str, key: str, *statuses: str) -> dict[str, object]:
        """A run, as soon as it stands so."""
        told: dict[str, object] = {}
        async with asyncio.timeout(HANGS_S):
            while told.get("status") not in statuses:
                told = (await self.ask("GET", f"/v1/runs/{run}", key)).json()
                await asyncio.sleep(0.05)
        return told

    async def ended(self) -> int:
        """Its exit code."""
        async with asyncio.timeout(HANGS_S):
            return await self.process.wait()

    async def events(self, run: str, key: str, *, after: int = -1, most: int = 10_000) -> list[int]:
        """The numbers of a run's events; at most so many, and then the connection is cut."""
        found: list[int] = []
        headers = {"authorization": f"Bearer {key}"} | ({"last-event-id": str(after)} if after >= 0 else {})
        async with self.client.stream("GET", f"/v1/runs/{run}/events", headers=headers) as stream:
            async for line in stream.aiter_lines():
                if line.startswith("id: "):
                    found.append(int(line[4:]))
                    if len(found) == most:
                        break
        return found


async def until(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """Wait for something that another process does."""
    async with asyncio.timeout(HANGS_S):
        while True:
            found = holds()
            if found if isinstance(found, bool) else await found:
                return
            await asyncio.sleep(0.05)


@pytest.fixture
def machine(place: str, tmp_path: Path) -> Machine:
    """A machine with a journal of each kind."""
    return Machine(tmp_path, place)


async def test_curl_and_mcp_clients_of_both_eras_use_one_port_and_the_list_shows_both(machine: Machine) -> None:
    ci = await machine.key("ci", "--user", "ann", "--scope", "tools")
    async with machine.serves() as server:
        curl = ("curl", "-sS", "--noproxy", "*", "-H", f"Authorization: Bearer {ci}")
        listed = await _said(*curl, f"{server.origin}/v1/tools")
        assert {each["name"] for each in json.loads(listed)["items"]} == {"add", "pay", "rare", "wait"}
        body = ("-H", "Content-Type: application/json", "-d", '{"arguments": {"a": 2, "b": 3}}')
        called = json.loads(await _said(*curl, *body, f"{server.origin}/v1/tools/add/call"))
        assert (called["result"], called["error"]) == (5, None)
        modes: tuple[ConnectMode, ...] = ("legacy", "auto")
        for mode in modes:
            async with (
                httpx2.AsyncClient(headers={"authorization": f"Bearer {ci}"}, timeout=HANGS_S) as http,
                Client(streamable_http_client(f"{server.origin}/mcp", http_client=http), mode=mode) as client,
            ):
                assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
                assert "add" in [tool.name for tool in (await client.list_tools()).tools]
                assert not (await client.call_tool("add", {"a": 4, "b": 5})).is_error
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
    runs = json.loads(await machine.types("runs", "list", "--json"))["items"]
    assert [(run["agent"], run["kind"], run["principal"]) for run in runs if run["agent"] != "administration"] == [
        ("actum", "call", "ann"),
        ("actum", "call", "ann"),
        ("api", "call", "ann"),
    ]
    assert ci not in server.said
    assert "Traceback" not in server.said


async def _said(*command: str) -> str:
    process = await asyncio.create_subprocess_exec(*command, stdout=-1, stderr=-1)
    out, problems = await process.communicate()
    assert process.returncode == 0, problems.decode()
    return out.decode()


async def test_a_run_waits_for_a_person_through_a_new_start_and_goes_on_by_command_or_by_request(
    machine: Machine,
) -> None:
    ann = await machine.key("ann", "--scope", "runs")
    eve = await machine.key("eve", "--scope", "approve")
    async with machine.serves() as server:
        runs = [
            (await server.ask("POST", "/v1/runs", ann, {"agent": "desk", "question": f"pay {to}"})).json()["id"]
            for to in ("Ada", "Bob")
        ]
        asks = [(await server.until(run, ann, "paused"))["approvals"] for run in runs]
        first, second = (str(each[0]["id"]) for each in asks if isinstance(each, list))
        # A run is under way when the server is told to end: what it did is on record, and the next server goes on.
        slow = (await server.ask("POST", "/v1/runs", ann, {"agent": "desk", "question": "wait"})).json()["id"]
        await until((machine.folder / "begun").exists)
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
    assert "Traceback" not in server.said
    async with machine.serves() as server:
        assert (await server.ask("GET", f"/v1/runs/{slow}", ann)).json()["status"] in ("stopped", "interrupted")
        yes = {"verdict": "approve"}
        assert (await server.ask("POST", f"/v1/approvals/{first}", ann, yes)).status_code == 403
        answer = await server.ask("POST", f"/v1/approvals/{first}", eve, yes)
        assert (answer.status_code, answer.json()["goes_on"]) == (200, True)
        assert (await server.until(runs[0], ann, "done"))["text"] == "It is done."
        await machine.types("approvals", "approve", second)
        await server.ask("POST", f"/v1/runs/{runs[1]}/resume", ann)
        assert (await server.until(runs[1], ann, "done"))["text"] == "It is done."


async def test_two_servers_on_one_database_are_one(machine: Machine) -> None:
    ann = await machine.key("ann", "--scope", "runs", "--scope", "tools")
    late = await machine.key("late", "--scope", "tools")
    async with machine.serves() as one, machine.serves() as two:
        # The same request at both at once starts one run.
        question = {"agent": "desk", "question": "add"}
        run = ""
        for number in range(5):
            both = await asyncio.gather(
                *(each.ask("POST", "/v1/runs", ann, question, idempotency_key=f"k{number}") for each in (one, two))
            )
            assert [each.status_code for each in both] == [202, 202], [each.text for each in both]
            assert both[0].json() == both[1].json()
            run = both[0].json()["id"]
        await two.until(run, ann, "done")
        # Its events go on at the other server, wherever the stream was cut.
        whole = await one.events(run, ann)
        assert whole == list(range(len(whole)))
        for cut in range(1, len(whole)):
            assert await one.events(run, ann, most=cut) + await two.events(run, ann, after=cut - 1) == whole
        # Ten a minute are ten at both together, through both doors.
        called = [await each.ask("POST", "/v1/tools/rare/call", ann, {}) for _ in range(6) for each in (one, two)]
        assert [each.status_code for each in called] == [200] * 10 + [429] * 2, called[-1].text
        # A run that one server carries out is cancelled by the other.
        slow = (await one.ask("POST", "/v1/runs", ann, {"agent": "desk", "question": "wait"})).json()["id"]
        await until((machine.folder / "begun").exists)
        stopped = (await two.ask("POST", f"/v1/runs/{slow}/cancel", ann)).json()
        assert (stopped["status"], stopped["stop_reason"]) == ("stopped", "cancelled")
        # A stream ends with its key, and the key is dead at both.
        waits = (await one.ask("POST", "/v1/runs", ann, {"agent": "desk", "question": "pay Ada"})).json()["id"]
        await one.until(waits, ann, "paused")
        following = asyncio.create_task(two.events(waits, ann))
        await asyncio.sleep(0)
        assert (await one.ask("GET", "/v1/tools", late)).status_code == 200
        await machine.types("keys", "revoke", "ann")
        async with asyncio.timeout(SOON_S):
            for each in (one, two):
                while (await each.ask("GET", "/v1/tools", ann)).status_code not in (401, 429):
                    pass
            assert await following
        assert (await two.ask("GET", "/v1/tools", late)).status_code == 200


async def test_what_a_killed_server_left_is_gone_on_with_by_another(machine: Machine) -> None:
    ann = await machine.key("ann", "--scope", "runs")
    async with machine.serves() as one, machine.serves() as two:
        run = (await one.ask("POST", "/v1/runs", ann, {"agent": "desk", "question": "wait"})).json()["id"]
        await until((machine.folder / "begun").exists)
        following = asyncio.create_task(two.events(run, ann))
        assert (await two.ask("POST", f"/v1/runs/{run}/resume", ann)).status_code == 409
        one.process.kill()
        await one.ended()
        assert (await two.until(run, ann, "interrupted"))["status"] == "interrupted"
        (machine.folder / "go").touch()
        assert (await two.ask("POST", f"/v1/runs/{run}/resume", ann)).status_code == 202
        assert (await two.until(run, ann, "done"))["text"] == "It is done."
        async with asyncio.timeout(HANGS_S):
            told = await following
        assert told == list(range(len(told)))


async def test_a_run_of_the_command_line_or_of_mcp_is_cancelled_by_a_server(machine: Machine) -> None:
    typist = pwd.getpwuid(os.getuid()).pw_name  # whose runs those of commands are
    key = await machine.key("boss", "--user", typist, "--scope", "runs", "--scope", "tools")
    begun = machine.folder / "begun"
    async with machine.serves() as one, machine.serves() as two:

        async def cancel_latest() -> None:
            """Cancel at one server the only run that is under way, which another process carries out."""
            await until(begun.exists)
            items: list[dict[str, str]] = []
            while not items:  # a tool that only reads may begin before its run is on record
                items = (await two.ask("GET", "/v1/runs?status=running", key)).json()["items"]
            (run,) = [each["id"] for each in items]
            answer = await two.ask("POST", f"/v1/runs/{run}/cancel", key)
            assert (answer.status_code, answer.json().get("stop_reason")) == (200, "cancelled"), answer.text
            begun.unlink()

        async with (
            httpx2.AsyncClient(headers={"authorization": f"Bearer {key}"}, timeout=HANGS_S) as http,
            Client(streamable_http_client(f"{one.origin}/mcp", http_client=http), mode="auto") as client,
        ):
            called = asyncio.create_task(client.call_tool("wait", {}))
            await cancel_latest()
            async with asyncio.timeout(HANGS_S):
                assert (await called).is_error
            assert not (await client.call_tool("add", {"a": 1, "b": 2})).is_error  # the session goes on
        command = await machine.start("run", "--agent", "desk", "wait")
        await cancel_latest()
        async with asyncio.timeout(HANGS_S):
            out, problems = await command.communicate()
        assert b"Traceback" not in problems, problems
        assert b"cancelled" in out + problems, (out, problems)
    assert "Traceback" not in one.said + two.said


async def test_a_stream_of_an_mcp_session_ends_when_its_key_is_revoked(tmp_path: Path) -> None:
    machine = Machine(tmp_path, str(tmp_path / "journal.db"))
    keys = {name: await machine.key(name, "--scope", "tools") for name in ("ann", "bob")}
    async with machine.serves() as server:
        began, ended = {each: asyncio.Event() for each in _STREAMS}, {each: asyncio.Event() for each in _STREAMS}
        reading = [
            asyncio.create_task(_read(server, keys[name], path, began[name, path], ended[name, path]))
            for name, path in _STREAMS
        ]
        async with asyncio.timeout(HANGS_S):
            for each in began.values():
                await each.wait()
        await machine.types("keys", "revoke", "ann")
        async with asyncio.timeout(SOON_S):
            for path in ("/mcp", "/sse"):
                await ended["ann", path].wait()
        assert not ended["bob", "/mcp"].is_set()
        assert not ended["bob", "/sse"].is_set()
        assert (await server.ask("GET", "/v1/tools", keys["bob"])).status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
        await asyncio.gather(*reading)
    assert "Traceback" not in server.said


_STREAMS = [(name, path) for name in ("ann", "bob") for path in ("/mcp", "/sse")]


async def _read(server: Server, key: str, path: str, began: asyncio.Event, ended: asyncio.Event) -> None:
    """Read the stream of a session of the old era, until the server ends the stream."""
    headers = {"authorization": f"Bearer {key}", "accept": "text/event-stream"}
    if path == "/mcp":
        both = {"accept": "application/json, text/event-stream"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        begun = await server.ask("POST", path, key, hello, **both)
        assert begun.status_code == 200, begun.text
        headers |= {"mcp-session-id": begun.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        told = await server.client.post(path, json=note, headers=headers | both)
        assert told.status_code == 202, told.text
    async with server.client.stream("GET", path, headers=headers) as stream:
        assert stream.status_code == 200
        began.set()
        async for _ in stream.aiter_raw():
            pass
    ended.set()


async def test_a_wrong_key_is_slowed_down_and_a_database_that_is_away_means_503(tmp_path: Path) -> None:
    with postgres_server() as database:
        machine = Machine(tmp_path, database.new_database())
        ann = await machine.key("ann", "--scope", "tools", "--scope", "runs")
        async with machine.serves() as server:
            assert (await server.ask("GET", "/v1/runs", ann)).status_code == 200
            database.kill()
            asked = (("GET", "/v1/runs", None), ("POST", "/v1/tools/add/call", {"arguments": {"a": 1, "b": 2}}))
            for method, path, body in asked:
                answer = await server.ask(method, path, ann, body)
                assert answer.status_code == 503, answer.text
                _check_silent(answer, tmp_path)
            assert (await server.client.get("/healthz")).status_code == 200
            database.start()

            await until(lambda: _is_served(server, ann))
            await until(lambda: _is_ready(server))
            bad = [await server.ask("GET", "/v1/tools", ann[:-6] + "aaaaaa") for _ in range(8)]
            assert [each.status_code for each in bad][:5] == [401] * 5
            assert bad[-1].status_code == 429
            assert int(bad[-1].headers["retry-after"]) >= 1
            assert (await server.ask("GET", "/v1/tools", ann)).status_code == 200


async def test_a_locked_journal_is_waited_for_and_one_that_may_not_grow_means_503_until_it_may_again(
    tmp_path: Path,
) -> None:
    machine = Machine(tmp_path, str(tmp_path / "journal.db"))
    ann = await machine.key("ann", "--scope", "tools", "--scope", "runs")
    async with machine.serves() as server:
        body = {"arguments": {"a": 1, "b": 2}}
        assert (await server.ask("POST", "/v1/tools/add/call", ann, body)).status_code == 200
        with closing(sqlite3.connect(tmp_path / "journal.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(server.ask("POST", "/v1/tools/add/call", ann, body))
            await until(lambda: _is_waiting(server))
            for path in ("/healthz", "/v1/tools"):
                assert (await server.ask("GET", path, ann)).status_code == 200, path
            other.execute("ROLLBACK")
        assert (await waiting).status_code == 200
        # Nothing can be written any more, as on a disk that is full.
        at = max((tmp_path / f"journal.db{end}").stat().st_size for end in ("", "-wal"))  # at once
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (at, resource.RLIM_INFINITY))
        answer = await server.ask("POST", "/v1/tools/add/call", ann, body)
        while answer.status_code == 200:  # the file has room for some more
            answer = await server.ask("POST", "/v1/tools/add/call", ann, body)
        assert answer.status_code == 503, answer.text
        _check_silent(answer, tmp_path)
        resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        await until(lambda: _is_served(server, ann))


def _check_silent(answer: httpx2.Response, folder: Path) -> None:
    """A refusal of one shape, with nothing of what is inside of the server."""
    assert answer.headers["content-type"] == "application/problem+json"
    assert "retry-after" in answer.headers
    for word in ("Traceback", "psycopg", "sqlite", "SELECT", str(folder), "postgresql"):
        assert word not in answer.text


async def _is_served(server: Server, key: str) -> bool:
    answer = await server.ask("POST", "/v1/tools/add/call", key, {"arguments": {"a": 1, "b": 2}})
    return answer.status_code == 200


async def _is_waiting(server: Server) -> bool:
    return (await server.client.get("/readyz")).status_code == 503


async def _is_ready(server: Server) -> bool:
    return (await server.client.get("/readyz")).status_code == 200
