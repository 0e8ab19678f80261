"""Every door of `actum serve`, as one table: what holds for one door is shown for each, so that none is forgotten.

    async with doors_open(tmp_path, settings) as place:
        for door in DOORS:
            told = await door.ask(place, "desk", "Hello", key)

A door asks an agent (`answers="agent"`), or calls a tool of this name with the text as its `task` (`answers="tool"`).
What the client was told is kept as text, whatever the protocol, beside the status: of HTTP, of gRPC or of the process.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import grpc
import httpx
import msgspec
from a2a.types import a2a_pb2_grpc
from google.protobuf.json_format import MessageToJson

from actum.core.json import JsonObject
from tests import warm
from tests.cli.test_serve import HEADERS, META, PATHS, Server
from tests.patience import HANGS_S
from tests.peers.programs import free_port
from tests.server.a2a.serving import said


class Told(NamedTuple):
    """What a client was told.

    Attributes:
        status: of HTTP; the number of the gRPC code, 0 where it went well; the exit code of a process.
        headers: of the answer.
        text: the body, or all that a process wrote, or the message of gRPC as JSON.
    """

    status: int
    headers: Mapping[str, str]
    text: str


class Place(NamedTuple):
    """A server that runs.

    Attributes:
        url: its origin.
        grpc: where gRPC of A2A is served, for the first agent of the settings.
        folder: with `actum.toml` and the journal.
        server: the process, and what it wrote.
    """

    url: str
    grpc: str
    folder: Path
    server: Server

    async def command(self, *words: str) -> Told:
        """Run a command of ours in the folder of the server."""
        process = await warm.start(
            *(sys.executable, "-m", "actum", *words),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env=_environment(self.folder),
        )
        out, _ = await process.communicate()
        assert process.returncode is not None
        return Told(process.returncode, {}, out.decode())

    async def key(self, name: str, *flags: str) -> str:
        """Make a key with these flags, such as `--tenant`, `north`."""
        made = await self.command("keys", "add", name, *flags, "--json")
        assert made.status == 0, made.text
        return str(msgspec.json.decode(made.text, type=JsonObject)["key"])

    async def http(self, method: str, path: str, body: object = None, key: str = "", **headers: str) -> Told:
        """One request."""
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if key:
            headers["authorization"] = f"Bearer {key}"
        async with httpx.AsyncClient(timeout=HANGS_S) as client:
            sent = None if body is None else msgspec.json.encode(body)
            headers = {"content-type": "application/json", **headers}
            answer = await client.request(method, f"{self.url}{path}", content=sent, headers=headers)
        return Told(answer.status_code, dict(answer.headers), answer.text)


Asks = Callable[[Place, str, str, str], Awaitable[Told]]
"""Asks at a door: the place, the name of the agent or tool, the text, the key."""


class Door(NamedTuple):
    """One way in.

    Attributes:
        name: of the door.
        ask: asks an agent, or calls a tool, and waits for the end; the answer to the first request that is refused.
        stream: the same, streamed; None where the door can not.
        answers: what the name stands for.
        keyless: nobody shows a key there, such as at the command line.
    """

    name: str
    ask: Asks
    stream: Asks | None = None
    answers: Literal["agent", "tool"] = "agent"
    keyless: bool = False


def _posting(path: str, body: Callable[[str, str], JsonObject], **headers: str) -> Asks:
    """Asks by one request: `path` may hold the name as `{name}`."""

    async def ask(place: Place, name: str, text: str, key: str) -> Told:
        return await place.http("POST", path.format(name=name), body(name, text), key, **headers)

    return ask


def _chat(name: str, text: str) -> JsonObject:
    return {"model": name, "messages": [{"role": "user", "content": text}]}


def _legacy_chat(name: str, text: str) -> JsonObject:
    function: JsonObject = {
        "name": "look_up",
        "description": "Look up.",
        "parameters": {"type": "object", "properties": {}},
    }
    return {**_chat(name, text), "functions": [function]}


def _responses(name: str, text: str) -> JsonObject:
    return {"model": name, "input": text}


def _messages(name: str, text: str) -> JsonObject:
    return {**_chat(name, text), "max_tokens": 1000}


def _gemini(name: str, text: str) -> JsonObject:
    return {"contents": [{"role": "user", "parts": [{"text": text}]}]}


def _streamed(body: Callable[[str, str], JsonObject]) -> Callable[[str, str], JsonObject]:
    return lambda name, text: {**body(name, text), "stream": True}


def _call(name: str, text: str) -> JsonObject:
    return {"arguments": {"task": text}}


def _mcp(name: str, text: str) -> JsonObject:
    params: JsonObject = {"name": name, "arguments": {"task": text}, "_meta": META}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


async def _mcp_ask(place: Place, name: str, text: str, key: str) -> Told:
    return await place.http("POST", "/mcp", _mcp(name, text), key, **{**HEADERS, "mcp-name": name})


def _message(text: str) -> JsonObject:
    return {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": text}]}


def _a2a(method: str) -> Callable[[str, str], JsonObject]:
    return lambda name, text: {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"message": _message(text)}}


def _a2a_original(method: str) -> Callable[[str, str], JsonObject]:
    def body(name: str, text: str) -> JsonObject:
        message: JsonObject = {"role": "user", "parts": [{"type": "text", "text": text}]}
        task = f"t{abs(hash((name, text)))}"
        return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {"id": task, "message": message}}

    return body


def _rest_message(name: str, text: str) -> JsonObject:
    return {"message": _message(text)}


async def _assistants(place: Place, name: str, text: str, key: str) -> Told:
    """A thread with one message, a run, and the messages that the run left."""
    asked: JsonObject = {"assistant_id": name, "thread": {"messages": [{"role": "user", "content": text}]}}
    begun = await place.http("POST", "/v1/threads/runs", asked, key)
    if begun.status != 200:
        return begun
    run = msgspec.json.decode(begun.text, type=JsonObject)
    while run["status"] in ("queued", "in_progress"):
        run_told = await place.http("GET", f"/v1/threads/{run['thread_id']}/runs/{run['id']}", None, key)
        if run_told.status != 200:
            return run_told
        run = msgspec.json.decode(run_told.text, type=JsonObject)
    messages = await place.http("GET", f"/v1/threads/{run['thread_id']}/messages", None, key)
    return Told(messages.status, messages.headers, f"{msgspec.json.encode(run).decode()}\n{messages.text}")


async def _assistants_streamed(place: Place, name: str, text: str, key: str) -> Told:
    asked: JsonObject = {"assistant_id": name, "thread": {"messages": [{"role": "user", "content": text}]}}
    return await place.http("POST", "/v1/threads/runs", {**asked, "stream": True}, key)


async def _run(place: Place, name: str, text: str, key: str) -> Told:
    """A run of our own API, followed to its end."""
    begun = await place.http("POST", "/v1/runs", {"agent": name, "question": text}, key)
    if begun.status >= 400:
        return begun
    run = msgspec.json.decode(begun.text, type=JsonObject)["id"]
    await place.http("GET", f"/v1/runs/{run}/events", None, key)
    return await place.http("GET", f"/v1/runs/{run}", None, key)


async def _run_streamed(place: Place, name: str, text: str, key: str) -> Told:
    begun = await place.http("POST", "/v1/runs", {"agent": name, "question": text}, key)
    if begun.status >= 400:
        return begun
    run = msgspec.json.decode(begun.text, type=JsonObject)["id"]
    return await place.http("GET", f"/v1/runs/{run}/events", None, key)


async def _task(place: Place, name: str, text: str, key: str) -> Told:
    begun = await place.http("POST", "/v1/runs", {"agent": name, "question": text, "execute_async": True}, key)
    if begun.status >= 400:
        return begun
    task = msgspec.json.decode(begun.text, type=JsonObject)["task_id"]
    return await place.http("GET", f"/v1/tasks/{task}?wait=30", None, key)


async def _grpc(place: Place, name: str, text: str, key: str) -> Told:
    metadata = (("a2a-version", "1.0"), *((("authorization", f"Bearer {key}"),) if key else ()))
    async with grpc.aio.insecure_channel(place.grpc) as channel:
        stub = a2a_pb2_grpc.A2AServiceStub(channel)  # type: ignore[no-untyped-call]
        try:
            answer = await stub.SendMessage(said(text), metadata=metadata)
        except grpc.aio.AioRpcError as error:
            return Told(error.code().value[0], {}, str(error.details()))
    return Told(0, {}, MessageToJson(answer))


async def _grpc_streamed(place: Place, name: str, text: str, key: str) -> Told:
    metadata = (("a2a-version", "1.0"), *((("authorization", f"Bearer {key}"),) if key else ()))
    async with grpc.aio.insecure_channel(place.grpc) as channel:
        stub = a2a_pb2_grpc.A2AServiceStub(channel)  # type: ignore[no-untyped-call]
        try:
            events = [MessageToJson(each) async for each in stub.SendStreamingMessage(said(text), metadata=metadata)]
        except grpc.aio.AioRpcError as error:
            return Told(error.code().value[0], {}, str(error.details()))
    return Told(0, {}, "\n".join(events))


async def _command(place: Place, name: str, text: str, key: str) -> Told:
    return await place.command("run", "--agent", name, text)


_NEW = {"a2a-version": "1.0"}
DOORS = (
    Door("runs", _run, _run_streamed),
    Door("tasks", _task),
    Door("tools", _posting("/v1/tools/{name}/call", _call), answers="tool"),
    Door("chat", _posting("/v1/chat/completions", _chat), _posting("/v1/chat/completions", _streamed(_chat))),
    Door(
        "chat of 2023",
        _posting("/v1/chat/completions", _legacy_chat),
        _posting("/v1/chat/completions", _streamed(_legacy_chat)),
    ),
    Door("responses", _posting("/v1/responses", _responses), _posting("/v1/responses", _streamed(_responses))),
    Door("messages", _posting("/v1/messages", _messages), _posting("/v1/messages", _streamed(_messages))),
    Door(
        "gemini",
        _posting("/v1beta/models/{name}:generateContent", _gemini),
        _posting("/v1beta/models/{name}:streamGenerateContent?alt=sse", _gemini),
    ),
    Door("assistants", _assistants, _assistants_streamed),
    Door("mcp", _mcp_ask, answers="tool"),
    Door(
        "a2a",
        _posting("/a2a/{name}", _a2a("SendMessage"), **_NEW),
        _posting("/a2a/{name}", _a2a("SendStreamingMessage"), **_NEW),
    ),
    Door(
        "a2a rest",
        _posting("/a2a/{name}/rest/message:send", _rest_message, **_NEW),
        _posting("/a2a/{name}/rest/message:stream", _rest_message, **_NEW),
    ),
    Door(
        "a2a original",
        _posting("/a2a/{name}/legacy", _a2a_original("tasks/send")),
        _posting("/a2a/{name}/legacy", _a2a_original("tasks/sendSubscribe")),
    ),
    Door("a2a grpc", _grpc, _grpc_streamed),
    Door("command line", _command, keyless=True),
)
"""All doors. gRPC serves the first agent of the settings, whatever name is asked for."""


def _environment(folder: Path) -> dict[str, str]:
    return {**PATHS, "HOME": str(folder), "ACTUM_JOURNAL": "runs.db", "NO_COLOR": "1", "COLUMNS": "200"}


@asynccontextmanager
async def doors_open(folder: Path, settings: str, tools: str = "", **environment: str) -> AsyncIterator[Place]:
    """`actum serve` with all its doors.

    Args:
        folder: an empty folder.
        settings: the text of `actum.toml`; `[serve.a2a]` is written behind it.
        tools: the text of `tools.py`, if the settings name such a file.
        environment: more variables of the process.
    """
    port = free_port()
    (folder / "tools.py").write_text(tools, "utf-8")
    (folder / "actum.toml").write_text(f'{settings}\n[serve.a2a]\ngrpc = "127.0.0.1:{port}"\n', "utf-8")
    process = await warm.start(
        *(sys.executable, "-m", "actum", "serve", "--http", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
        cwd=folder,
        env={**_environment(folder), **environment},
    )
    server = Server(process, folder)
    try:
        line = await server.heard("actum serves at")
        url = next(word.rstrip(",") for word in line.split() if "://" in word)
        await server.heard("  access   ")
        yield Place(url, f"127.0.0.1:{port}", folder, server)
    finally:
        if process.returncode is None:
            process.kill()
        server.said.append((await process.communicate())[1].decode())
