"""What an MCP server and a gateway cost a call; part of `make bench`.

Each is a process of its own and is called over raw HTTP, in both eras of the protocol, one call at a time and 64 at
once. What counts is the CPU of that process alone, the best of several rounds in turn. The floor of a server is the
official SDK's, as it is and with `json_response`; ours is measured with a journal in memory and as it is shipped,
with a journal in SQLite. The floor of a gateway is a program of the SDK's server and client with nothing between them.
FastMCP is the peer: it gets an environment of its own in `.cache/bench`, since what it asks for may not fit ours.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
from msgspec import Struct

from .loop import Row

CALLS, CALLS_OF_PEER = 256, 64
AT_ONCE = (1, 64)
MODERN, LEGACY = "2026-07-28", "2025-11-25"
SDK_JSON, SHIPPED = "sdk json", "actum sqlite"
JOURNAL = "BENCH_JOURNAL"
"""The variable that tells a server where its journal is."""
PEER, PEER_PACKAGE = "fastmcp", "fastmcp-slim[client,server]>=4.1"
PEER_PLACE = Path(__file__).parents[1] / ".cache" / "bench" / "fastmcp"
ACCEPT = {"Accept": "application/json, text/event-stream"}
EXPECTED = {"a": 2, "b": 3}, "5"

Call = Callable[[], Awaitable[None]]


class Running(Struct):
    """A server's process.

    Attributes:
        process: it.
        url: where it is called.
    """

    process: subprocess.Popen[str]
    url: str

    def cpu_s(self) -> float:
        """Seconds of CPU that its threads have had, those of the kernel included."""
        tasks = Path(f"/proc/{self.process.pid}/task")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks.iterdir()) / 1e9


@contextmanager
def running(python: str, what: str, url: str = "") -> Iterator[Running]:
    """One of the programs of `mcp_servers`, until the block ends. What it writes down lies in a folder of its own."""
    command = [python, "-m", "bench.mcp_servers", what, url]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, JOURNAL: str(Path(folder) / "runs.db")},
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield Running(process, f"http://127.0.0.1:{int(process.stdout.readline())}/mcp")
        finally:
            process.terminate()


def peer_python() -> str:
    """The interpreter of FastMCP's own environment; empty where it can not be installed."""
    python = PEER_PLACE / "bin" / "python"
    if not python.exists():
        uv = Path(sys.executable).parent / "uv"
        environment = {**os.environ, "UV_SYSTEM_CERTS": "1"}
        for step in (
            ["venv", "--quiet", "--python", sys.executable, str(PEER_PLACE)],
            ["pip", "install", "--quiet", "--python", str(python), PEER_PACKAGE],
        ):
            if not uv.exists() or subprocess.run([uv, *step], env=environment, check=False).returncode:
                return ""
    found = subprocess.run([python, "-c", "from fastmcp.server import create_proxy"], capture_output=True, check=False)
    return "" if found.returncode else str(python)


async def modern(client: httpx2.AsyncClient, url: str) -> Call:
    """Calls `add` as a client of 2026-07-28 does."""
    sent_at = "io.modelcontextprotocol/"
    meta = {
        f"{sent_at}protocolVersion": MODERN,
        f"{sent_at}clientInfo": {"name": "bench", "version": "1"},
        f"{sent_at}clientCapabilities": {},
    }
    headers = {**ACCEPT, "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/call", "Mcp-Name": "add"}
    params = {"name": "add", "arguments": EXPECTED[0], "_meta": meta}

    async def call() -> None:
        checked(await client.post(url, headers=headers, json=request(1, "tools/call", params)))

    return call


async def legacy(client: httpx2.AsyncClient, url: str) -> Call:
    """Calls `add` within a session, as a client of 2025-11-25 does."""
    hello = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    answer = await client.post(url, headers=ACCEPT, json=request(0, "initialize", hello))
    session = {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": answer.headers["mcp-session-id"]}
    headers = {**ACCEPT, **session}
    await client.post(url, headers=headers, json={"jsonrpc": "2.0", "method": "notifications/initialized"})
    numbers = iter(range(1, sys.maxsize))
    params = {"name": "add", "arguments": EXPECTED[0]}

    async def call() -> None:
        checked(await client.post(url, headers=headers, json=request(next(numbers), "tools/call", params)))

    return call


ERAS = {MODERN: modern, LEGACY: legacy}


def request(number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def checked(answer: httpx2.Response) -> None:
    """A call that was refused must not count as a fast one."""
    text = answer.text
    if "text/event-stream" in answer.headers["content-type"]:
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    result = json.loads(text).get("result") or {}
    if result.get("isError") or result["content"][0]["text"] != EXPECTED[1]:
        raise ValueError(text)


async def spent(servers: dict[str, Running], era: str, at_once: int, rounds: int) -> dict[str, float]:
    """Microseconds of CPU a call, by server."""
    best: dict[str, float] = {}
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx2.AsyncClient(timeout=60, limits=limits, trust_env=False) as client:
        calls = {name: await ERAS[era](client, server.url) for name, server in servers.items()}
        for call in calls.values():
            await asyncio.gather(*(call() for _ in range(at_once)))  # what is compiled and connected only once
        for _ in range(rounds):
            for name, call in calls.items():
                count = CALLS_OF_PEER if name == PEER else CALLS
                before = servers[name].cpu_s()
                for _ in range(count // at_once):
                    await asyncio.gather(*(call() for _ in range(at_once)))
                cost = (servers[name].cpu_s() - before) / count * 1e6
                best[name] = min(best.get(name, cost), cost)
    return best


def table(servers: dict[str, Running], floor: str, rounds: int) -> list[Row]:
    """A row for each era and number of calls at once: the cost of each server, and how often that of the floor it is.
    The shipped set-up stands beside the SDK with `json_response` as well, where that is measured.
    """
    rows: list[Row] = []
    for era in ERAS:
        for at_once in AT_ONCE:
            found = asyncio.run(spent(servers, era, at_once, rounds))
            row: Row = {"era": era, "at once": at_once}
            row |= {f"{name} µs": round(cost) for name, cost in found.items()}
            row |= {f"{name} ×": round(cost / found[floor], 2) for name, cost in found.items() if name != floor}
            if {SHIPPED, SDK_JSON} <= found.keys():
                row[f"{SHIPPED} × {SDK_JSON}"] = round(found[SHIPPED] / found[SDK_JSON], 2)
            rows.append(row)
    return rows


def server_table(rounds: int) -> list[Row]:
    with ExitStack() as stack:
        servers = {
            "sdk": stack.enter_context(running(sys.executable, "sdk server")),
            SDK_JSON: stack.enter_context(running(sys.executable, "sdk json server")),
            "actum": stack.enter_context(running(sys.executable, "actum server")),
            SHIPPED: stack.enter_context(running(sys.executable, "actum sqlite server")),
        }
        return with_peer(servers, "fastmcp server", "", stack, "sdk", rounds)


def gateway_table(rounds: int) -> list[Row]:
    with ExitStack() as stack:
        behind = stack.enter_context(running(sys.executable, "sdk server")).url
        gateways = {
            "sdk hop": stack.enter_context(running(sys.executable, "sdk hop", behind)),
            "actum": stack.enter_context(running(sys.executable, "actum gateway", behind)),
            SHIPPED: stack.enter_context(running(sys.executable, "actum sqlite gateway", behind)),
        }
        return with_peer(gateways, "fastmcp proxy", behind, stack, "sdk hop", rounds)


def with_peer(servers: dict[str, Running], peer: str, url: str, stack: ExitStack, floor: str, rounds: int) -> list[Row]:
    python = peer_python()
    if python:
        servers[PEER] = stack.enter_context(running(python, peer, url))
    rows = table(servers, floor, rounds)
    return rows if python else [{**row, f"{PEER} ×": "not installed"} for row in rows]
