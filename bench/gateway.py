"""What it costs to pass a request for a model on; part of `make bench`, or `python -m bench.gateway`.

CPU of the process in between, for each request: the models door of `actum serve`, with metrics, an access log in a
file, one key checked and a line kept in SQLite, on both event loops; and a bare proxy of Starlette and httpx on
uvicorn's plain loop, which checks and keeps nothing. Both send to the same upstream, which answers fixed bytes. Each
is warmed with 5,000 requests, since a bare proxy gets cheaper by a step after some two thousand, and then measured in
alternating slices.

Allowed are 0.8 times the bare proxy with one request at a time, 0.5 times with 32 at once, and 1.5 times for a chunk of
a stream. The peer is the proxy of LiteLLM with one key and no database, in an environment of its own; it is installed
when `python -m bench.gateway 3 litellm` asks for it.

Three calls of a tool behind the models door are measured against the floor of a Starlette application that does
`await agent.run(question)` with the same agent and journal: allowed are 1.3 times.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from actum import Agent
from actum.compose.serving import Serving, model_labels, run_server
from actum.compose.settings import ModelTable, Settings, UpstreamTable
from actum.compose.tables.serve import ServeLimits, ServeSettings
from actum.compose.upstreams.passing import open_models_door
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.message import Reply, ToolMessage
from actum.core.model import Request as ModelRequest
from actum.core.stored.key import new_key
from actum.runs.runner import Runner
from actum.server.access import Access
from actum.server.api.api import Api, GivenAgents
from actum.server.metrics import Metrics
from actum.server.models.agents.executor import AgentExecutor
from actum.server.models.names import ModelNames
from actum.server.models.routes import ModelRoutes
from actum.server.stored_keys import StoredKeys
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel
from tests.peers import install

from .loop import Row
from .peers import add

WARM = 5_000
SLICE = 400
CHUNKS = 200
STREAMS = 12
AT_ONCE = (1, 32, 256)
AGENTS = {"agent.run in Starlette": ("floor",), "agent at the models door": ("agent",)}
WARM_AGENTS = 300
ARMS = {"bare": ("bare", "asyncio"), "actum, asyncio": ("ours", "asyncio"), "actum, uvloop": ("ours", "uvloop")}
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100

_ANSWER = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "model-1",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x" * 400}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 90, "total_tokens": 190},
    }
).encode()
_CHUNK = (
    b"data: " + json.dumps({"id": "c", "choices": [{"index": 0, "delta": {"content": "word "}}]}).encode() + b"\n\n"
)
_LAST = b'data: {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'


def gateway_table(rounds: int, *, litellm: bool = False) -> list[Row]:
    """CPU of a request, and of a chunk, that is passed on; and of three calls that are made here.

    Args:
        rounds: how often each is measured.
        litellm: measure the proxy of LiteLLM, too.
    """
    return asyncio.run(_measured(rounds, litellm=litellm))


class _Process:
    """A server in a process of its own."""

    warm = WARM

    def __init__(self, *words: str) -> None:
        command = [sys.executable, "-m", "bench.gateway", *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.port, _, self.key = self._process.stdout.readline().strip().partition(" ")

    def cpu_s(self) -> float:
        """What it has used of the processor."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_mb(self) -> float:
        """What it holds of memory."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> None:
        self._process.kill()
        self._process.wait()


class _LiteLlm(_Process):
    """LiteLLM's proxy in its own environment: one model, one key, one worker, no database."""

    warm = 1_000

    def __init__(self, upstream: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as held:
            port = held.getsockname()[1]
        self.port, self.key = str(port), "sk-bench"
        self._folder = tempfile.TemporaryDirectory()
        model = {"model": "openai/model-1", "api_base": f"http://127.0.0.1:{upstream}/v1", "api_key": "of-the-proxy"}
        settings = {
            "model_list": [{"model_name": "fast", "litellm_params": model}],
            "general_settings": {"master_key": self.key},
            "litellm_settings": {"telemetry": False},
        }
        path = Path(self._folder.name) / "config.yaml"
        path.write_text(json.dumps(settings), "utf-8")  # JSON is YAML
        command = [
            str(install.py_bin("litellm", "litellm")),
            "--config",
            str(path),
            "--host",
            "127.0.0.1",
            "--port",
            self.port,
        ]
        quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_LOG": "ERROR", "NO_PROXY": "127.0.0.1"}
        self._log = (path.parent / "log").open("w+")
        self._process = subprocess.Popen(
            command, env={**os.environ, **quiet}, stdout=self._log, stderr=subprocess.STDOUT, text=True
        )
        until = time.monotonic() + 120
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return
            except OSError:
                if self._process.poll() is not None or time.monotonic() > until:
                    self._log.seek(0)
                    raise RuntimeError(f"LiteLLM does not listen: {self._log.read()[-2_000:]}") from None
                time.sleep(0.2)

    def end(self) -> None:
        super().end()
        self._log.close()
        self._folder.cleanup()


async def _measured(rounds: int, *, litellm: bool) -> list[Row]:
    upstream = _Process("upstream")
    arms = {name: _Process(*words, upstream.port) for name, words in ARMS.items()}
    if litellm:
        arms["LiteLLM"] = _LiteLlm(upstream.port)
    agents = {name: _Process(*words) for name, words in AGENTS.items()}
    try:
        for arm in arms.values():
            await _ask(arm, arm.warm, 16)
            await _ask(arm, STREAMS, 4, stream=True)
        rows: list[Row] = []
        for at_once in AT_ONCE:
            spent = await _spent(arms, 2 * rounds, SLICE, at_once)
            rows += _rows(f"request, {at_once} at once", spent, 2 * rounds * SLICE)
        rows += _rows(
            "chunk of a stream", await _spent(arms, rounds, STREAMS, 4, stream=True), rounds * STREAMS * CHUNKS
        )
        for arm in agents.values():
            await _ask(arm, WARM_AGENTS, 4, model="desk")
        for at_once in AT_ONCE[:2]:
            spent = await _spent(agents, rounds, SLICE // 4, at_once, model="desk")
            rows += _rows(f"three calls, {at_once} at once", spent, rounds * (SLICE // 4))
        for name in ARMS:
            if name == "bare":
                continue
            held = round(await _idle(arms[name]))
            rows.append({"of": "1,000 idle streams, MB", "by": name, "µs": held, "×": ""})
        return rows
    finally:
        for process in (upstream, *arms.values(), *agents.values()):
            process.end()


async def _spent(
    arms: Mapping[str, _Process], slices: int, requests: int, at_once: int, *, stream: bool = False, model: str = "fast"
) -> dict[str, float]:
    """What each arm has used of the processor, in slices that take turns."""
    spent = dict.fromkeys(arms, 0.0)
    for _ in range(slices):
        for name, arm in arms.items():
            before = arm.cpu_s()
            await _ask(arm, requests, at_once, stream=stream, model=model)
            spent[name] += arm.cpu_s() - before
    return spent


def _rows(what: str, spent: Mapping[str, float], by: int) -> list[Row]:
    return [
        {"of": what, "by": name, "µs": round(each / by * 1e6), "×": round(each / next(iter(spent.values())), 2)}
        for name, each in spent.items()
    ]


async def _ask(arm: _Process, requests: int, at_once: int, *, stream: bool = False, model: str = "fast") -> None:
    left = requests
    said = {"model": model, "messages": [{"role": "user", "content": "Hello. " * 30}]}
    body = json.dumps({**said, "stream": True} if stream else said).encode()

    async def client() -> None:
        nonlocal left
        reader, writer = await asyncio.open_connection("127.0.0.1", int(arm.port))
        while left > 0:
            left -= 1
            writer.write(_request(arm, body))
            head = await reader.readuntil(b"\r\n\r\n")
            if not head.startswith(b"HTTP/1.1 200"):
                raise ValueError(head + await reader.read(500))
            if stream:
                await reader.readuntil(b"\r\n0\r\n\r\n")
            else:
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                await reader.readexactly(length)
        writer.close()

    await asyncio.gather(*(client() for _ in range(at_once)))


def _request(arm: _Process, body: bytes) -> bytes:
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{arm.port}\r\ncontent-type: application/json\r\n"
        f"authorization: Bearer {arm.key}\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _idle(arm: _Process) -> float:
    """How much more memory a thousand streams hold of which the model says nothing for a while."""
    before = arm.rss_mb()
    said = {"model": "fast", "stream": True, "messages": [{"role": "user", "content": "wait"}]}
    writers = []
    for _ in range(1_000):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(arm.port))
        writer.write(_request(arm, json.dumps(said).encode()))
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ValueError(head)
        writers.append(writer)
    held = arm.rss_mb() - before
    for writer in writers:
        writer.transport.abort()
    return held


# The servers --------------------------------------------------------------------------------------------------------


class _Upstream(asyncio.Protocol):
    """Answers each request with fixed bytes."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._data = b""

    def data_received(self, data: bytes) -> None:
        self._data += data
        while b"\r\n\r\n" in self._data:
            head, _, rest = self._data.partition(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            if len(rest) < length:
                return
            body, self._data = rest[:length], rest[length:]
            if b'"stream": true' not in body and b'"stream":true' not in body:
                said = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_ANSWER)
                self._transport.write(said + _ANSWER)
                continue
            self._transport.write(
                b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            )
            self._write(_CHUNK)
            if b'"wait"' not in body:
                asyncio.get_running_loop().call_soon(self._next, CHUNKS - 1)

    def _next(self, left: int) -> None:
        if left == 0:
            self._write(_LAST)
            self._transport.write(b"0\r\n\r\n")
        elif not self._transport.is_closing():
            self._write(_CHUNK)
            asyncio.get_running_loop().call_later(0.001, self._next, left - 1)

    def _write(self, piece: bytes) -> None:
        self._transport.write(b"%x\r\n%s\r\n" % (len(piece), piece))


async def _serve_upstream() -> None:
    server = await asyncio.get_running_loop().create_server(_Upstream, "127.0.0.1", 0, backlog=2_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def _serve_bare(upstream: str) -> None:
    """The proxy that one would write in an afternoon."""
    limits = httpx.Limits(max_connections=2_000, max_keepalive_connections=300)
    client = httpx.AsyncClient(limits=limits, timeout=60, trust_env=False)

    async def answer(request: Request) -> Response:
        body = await request.body()
        asked = client.build_request(
            "POST",
            f"http://127.0.0.1:{upstream}/v1/chat/completions",
            content=body,
            headers={"content-type": "application/json", "authorization": "Bearer key-of-the-proxy"},
        )
        found = await client.send(asked, stream=True)
        if "event-stream" not in found.headers["content-type"]:
            await found.aread()
            return Response(found.content, found.status_code, media_type="application/json")

        async def chunks() -> AsyncIterator[bytes]:
            async for chunk in found.aiter_raw():
                yield chunk
            await found.aclose()

        return StreamingResponse(chunks(), media_type="text/event-stream")

    asyncio.run(_serve_starlette(answer))


async def _serve_starlette(answer: Callable[[Request], Awaitable[Response]]) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=2_000)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # as where uvicorn makes its socket itself
    print(listener.getsockname()[1], flush=True)
    app = Starlette(routes=[Route("/v1/chat/completions", answer, methods=["POST"])])
    config = uvicorn.Config(app, http="h11", loop="asyncio", access_log=False, log_level="error", lifespan="off")
    await uvicorn.Server(config).serve([listener])


def _agent(folder: str) -> tuple[Agent[object], SQLiteJournal]:
    """An agent whose model asks for three calls one after the other, and then answers."""

    def says(asked: ModelRequest) -> str | Reply:
        made = sum(isinstance(message, ToolMessage) for message in asked.messages)
        return Reply.of(calls=[ToolCall(f"c{made}", "add", {"a": made, "b": 1})]) if made < 3 else "x" * 400

    journal = SQLiteJournal(Path(folder) / "journal.db")
    return Agent(ScriptedModel(says), [add], name="desk", journal=journal), journal


async def _serve_floor() -> None:
    """The server that one would write in an afternoon around an agent."""
    with tempfile.TemporaryDirectory() as folder:
        agent, _ = _agent(folder)

        async def answer(request: Request) -> Response:
            asked = await request.json()
            result = await agent.run(asked["messages"][-1]["content"])
            message = {"role": "assistant", "content": result.output}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            return JSONResponse({"id": result.run_id, "object": "chat.completion", "choices": [choice]})

        await _serve_starlette(answer)


async def _serve_agent() -> int:
    with tempfile.TemporaryDirectory() as folder:
        agent, journal = _agent(folder)
        text, key = new_key("bench", scopes=("models",))
        await journal.keys.add(key)
        runner = Runner(name="server", journal=journal)
        executor = AgentExecutor(Api(runner, GivenAgents({"desk": agent}), SystemClock()))
        door = ModelRoutes(ModelNames[str]({}, {"desk": "desk"}), executor=executor, scopes=("models",))
        serve = ServeSettings(http="127.0.0.1:0")
        serving = Serving([door], serve, Access(verifier=StoredKeys(journal.keys)), journal=journal, metrics=Metrics())
        with serving.listening() as address:
            print(address.rpartition(":")[2], text, flush=True)
            return await serving.run()


async def _serve_ours(upstream: str) -> int:
    with tempfile.TemporaryDirectory() as folder:
        journal = SQLiteJournal(Path(folder) / "journal.db")
        text, key = new_key("bench", scopes=("models",))
        await journal.keys.add(key)
        entry = UpstreamTable(model=f"http://127.0.0.1:{upstream}/v1#model-1", key="${UP_KEY}")
        limits = ServeLimits(
            requests_per_caller=5_000, requests=5_000, connections=5_000, connections_per_address=5_000
        )
        serve = ServeSettings(http="127.0.0.1:0", limits=limits, access_log=str(Path(folder) / "access.log"))
        settings = Settings(models={"fast": ModelTable(upstreams=(entry,))}, serve=serve)
        door = open_models_door(settings, {"UP_KEY": "key-of-the-proxy"}, journal)
        access = Access(verifier=StoredKeys(journal.keys))
        serving = Serving([door], serve, access, journal=journal, metrics=Metrics(model_labels(settings)))
        with serving.listening() as address:
            print(address.rpartition(":")[2], text, flush=True)
            return await serving.run()


def main(words: Sequence[str]) -> None:
    """One of the servers, or the table."""
    match words:
        case ["upstream"]:
            asyncio.run(_serve_upstream())
        case ["bare", _, port]:
            _serve_bare(port)
        case ["ours", "uvloop", port]:
            run_server(_serve_ours(port))
        case ["ours", _, port]:
            asyncio.run(_serve_ours(port))
        case ["floor"]:
            asyncio.run(_serve_floor())
        case ["agent"]:
            asyncio.run(_serve_agent())
        case _:
            for row in gateway_table(int(words[0]) if words else 3, litellm="litellm" in words):
                print(row)


if __name__ == "__main__":
    main(sys.argv[1:])
