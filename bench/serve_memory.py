"""What `actum serve` keeps of requests that use sessions: `python -m bench.serve_memory [requests] [way ...]`.

A server is asked so many times over 200 sessions, in each way by itself: conversations of the runs API, chats whose
client sends the whole conversation, and sessions of MCP clients that come and go. After each fifth of the requests the
memory of the process is told; `trace` as a way more has tracemalloc tell at the end what was kept of the last two
fifths. The memory is flat where the last two fifths keep no more than `FLAT_BYTES` for each request.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

SESSIONS = 200
AT_ONCE = 8
FLAT_BYTES = 500
SETTINGS = """
[agents.desk]
model = "{model}"
tools = ["tools.py"]
"""
TOOLS = '''
from actum import tool


@tool(effects={"read"})
def add(a: int, b: int) -> int:
    """Add two numbers.

    Args:
        a: One.
        b: Other.
    """
    return a + b
'''
Ask = Callable[[httpx.AsyncClient, int], Awaitable[None]]


async def ask_run(client: httpx.AsyncClient, number: int) -> None:
    """A run in a conversation; a conversation is begun anew after ten turns, so that its length does not count."""
    session = f"s{number % SESSIONS}"
    question = {"agent": "desk", "question": f"steps=0 {number}", "session": session}
    begun = await client.post("/v1/runs", json=question)
    events = await client.get(begun.json()["events"])
    assert "done" in events.text, events.text


async def ask_chat(client: httpx.AsyncClient, number: int) -> None:
    """A chat of a client that sends what was said before."""
    session, turn = number % SESSIONS, number // SESSIONS
    said = [{"role": "user", "content": f"steps=0 {session} 0"}]
    for earlier in range(turn):
        said += [{"role": "assistant", "content": "done"}, {"role": "user", "content": f"and {earlier}"}]
    answered = await client.post(
        "/v1/chat/completions", json={"model": "desk", "messages": said, "user": f"user {session}"}
    )
    assert answered.status_code == 200, answered.text


class McpClients:
    """Clients of MCP, each with a session that it ends after ten calls, or leaves to the server."""

    def __init__(self) -> None:
        self.sessions: dict[int, str] = {}

    async def ask(self, client: httpx.AsyncClient, number: int) -> None:
        place = number % SESSIONS
        if number // SESSIONS % 10 == 0:
            old = self.sessions.pop(place, "")
            if old and place % 2:
                await client.delete("/mcp", headers={"mcp-session-id": old})
            self.sessions[place] = await self._open(client)
        call = {"name": "add", "arguments": {"a": number, "b": 1}}
        answered = await self._post(client, "tools/call", call, self.sessions[place])
        assert str(number + 1) in answered.text, answered.text

    async def _open(self, client: httpx.AsyncClient) -> str:
        told = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        answered = await self._post(client, "initialize", told, "")
        return answered.headers["mcp-session-id"]

    async def _post(self, client: httpx.AsyncClient, method: str, params: object, session: str) -> httpx.Response:
        headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
        headers |= {"mcp-session-id": session} if session else {}
        return await client.post(
            "/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, headers=headers
        )


async def measure(name: str, ask: Ask, requests: int, *, trace: bool) -> bool:
    """Ask so many times, and tell the memory.

    Returns:
        Whether the memory is flat.
    """
    with tempfile.TemporaryDirectory() as folder:
        server, model, address = _serve(Path(folder), trace=trace)
        try:
            limits = httpx.Limits(max_connections=AT_ONCE)
            async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
                used = [_memory(server)]
                for part in range(5):
                    await _all(ask, client, range(requests * part // 5, requests * (part + 1) // 5))
                    server.send_signal(signal.SIGUSR1)  # collects garbage, and with `trace` takes a snapshot
                    await asyncio.sleep(1 if not trace else 10)
                    used.append(_memory(server))
        finally:
            server.terminate()
            server.wait()
            model.kill()
    kept = (used[-1] - used[-3]) / (requests * 2 / 5)
    print(
        f"{name}: {' '.join(f'{each / 1e6:.1f}' for each in used)} MB; {kept:.0f} bytes for each of the last requests"
    )
    return kept <= FLAT_BYTES


async def _all(ask: Ask, client: httpx.AsyncClient, numbers: range) -> None:
    async def some(place: int) -> None:
        for number in numbers[place::AT_ONCE]:
            await ask(client, number)

    await asyncio.gather(*map(some, range(AT_ONCE)))  # a session is always asked by the same of them, one by one


def _serve(folder: Path, *, trace: bool) -> tuple[subprocess.Popen[bytes], subprocess.Popen[str], str]:
    model = subprocess.Popen(
        [sys.executable, "-m", "bench.chat_server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert model.stdout is not None
    where = f"http://127.0.0.1:{model.stdout.readline().strip()}/v1#bench"
    (folder / "actum.toml").write_text(SETTINGS.format(model=where))
    (folder / "tools.py").write_text(TOOLS)
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.serve_memory", "server", *(["trace"] if trace else []), str(folder)],
        stderr=subprocess.PIPE,
    )
    assert server.stderr is not None
    while "actum serves at" not in (line := server.stderr.readline().decode()):
        assert line, "the server ended"
    os.set_blocking(server.stderr.fileno(), False)
    return server, model, line.split("actum serves at ")[1].split(",")[0].strip()


def _memory(server: subprocess.Popen[bytes]) -> int:
    return int(Path(f"/proc/{server.pid}/statm").read_text("ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def serve(folder: str, *, trace: bool) -> None:
    """Be the server."""
    from actum.cli.app import app

    taken: list[tracemalloc.Snapshot] = []

    def look(*_: object) -> None:
        gc.collect()
        if not trace:
            return
        taken.append(tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(False, tracemalloc.__file__)]))
        if len(taken) == 5:
            for kept in taken[-1].compare_to(taken[-3], "traceback")[:12]:
                print(kept.size_diff, kept.count_diff, *kept.traceback.format()[-12:], sep="\n", flush=True)

    signal.signal(signal.SIGUSR1, look)
    if trace:
        tracemalloc.start(8)
    os.chdir(folder)
    sys.path.insert(0, folder)
    app(["serve", "--http", "127.0.0.1:0", "--tools", "tools.py", "--journal", "runs.db"])


if __name__ == "__main__":
    if sys.argv[1:2] == ["server"]:
        serve(sys.argv[-1], trace="trace" in sys.argv)
    words = sys.argv[1:]
    count = int(words.pop(0)) if words and words[0].isdecimal() else 20_000
    ways: dict[str, Ask] = {"runs": ask_run, "chat": ask_chat, "mcp": McpClients().ask}
    chosen = [word for word in words if word in ways] or list(ways)
    flat = [asyncio.run(measure(name, ways[name], count, trace="trace" in words)) for name in chosen]
    sys.exit(0 if all(flat) else 1)
