"""The tables of `docs/a2a.md` of which client speaks to this server how far, and our client to which server: the test
makes them, and holds them true.

To write the tables anew after a change: `.venv/bin/python -m tests.server.a2a.test_pairs`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import httpx
import msgspec
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import A2ATable, ServeSettings
from actum.core.clock import SystemClock
from actum.journal.memory import MemoryJournal
from actum.protocols.a2a.followed_task import ReadTask
from actum.protocols.a2a.model import A2AMessage, A2AText
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.runs.runner import Runner
from actum.server import Access, Identity
from actum.server.a2a.grpc_server import GrpcSettings, serving_grpc
from actum.server.a2a.handler import RunHandler
from actum.server.a2a.service import TaskService
from actum.server.api.api import Api, GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.toolsets.a2a.connection import A2AConnection, RequestTerms
from actum.toolsets.a2a.toolset import A2AToolset
from tests.patience import HANGS_S
from tests.peers import install
from tests.peers.programs import free_port
from tests.peers.programs import listening as program_listening
from tests.server.api.application import answering
from tests.toolsets.a2a.remote_servers import april_agent, sdk_agent
from tests.toolsets.a2a.test_toolset import outcome
from tests.web import serving

from .serving import said
from .test_peers import CLIENTS, told_by

DOC = Path(__file__).parents[3] / "docs" / "a2a.md"
BEGIN, END = "<!-- pairs: made by tests/server/a2a/test_pairs.py -->\n", "<!-- end of pairs -->\n"
HEAD = "| client | protocol | sends | streams | gets |\n|---|---|---|---|---|\n"
SERVERS_BEGIN = "<!-- servers: made by tests/server/a2a/test_pairs.py -->\n"
SERVERS_END = "<!-- end of servers -->\n"
SERVERS_HEAD = "| server | protocol | answers | streams | gets |\n|---|---|---|---|---|\n"
SERVERS = install.HERE / "servers"
WHO = Identity(principal="ann", scopes=ALL_SCOPES)

Did = tuple[bool, bool, bool]
"""Whether a client got the answer to a message, the events of a stream, and a task by its id."""


def agent_of(journal: MemoryJournal) -> Agent[str]:
    return Agent(answering("Hello.", "Streamed."), name="desk", journal=journal)


@asynccontextmanager
async def our_server() -> AsyncIterator[str]:
    journal = MemoryJournal()
    doors = open_doors(Settings(serve=ServeSettings(a2a=A2ATable())), [], _given(journal), journal, WHO)
    async with serving(Serving(doors, ServeSettings(), Access(), who=WHO, journal=journal).application.app) as url:
        yield url


def _given(journal: MemoryJournal) -> GivenAgents:
    return GivenAgents({"desk": agent_of(journal)})


async def official(binding: str) -> Did:
    async with our_server() as url, httpx.AsyncClient(timeout=HANGS_S) as http:

        async def client(streaming: bool) -> Any:  # noqa: ANN401  # the SDK says no more
            config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
            return await create_client(url, client_config=config)

        (sent,) = [each async for each in (await client(False)).send_message(said("Hi"))]
        events = [each async for each in (await client(True)).send_message(said("Stream", "m2"))]
        got = await (await client(False)).get_task(pb.GetTaskRequest(id=sent.task.id))
        return "Hello." in str(sent), "Streamed." in str(events), "Hello." in str(got)


async def official_grpc() -> Did:
    journal = MemoryJournal()
    tasks = TaskService(Api(Runner([], name="api", journal=journal), _given(journal), SystemClock()))
    settings = GrpcSettings(place="127.0.0.1:0", agent="desk", address="desk", who=WHO)
    async with (
        serving_grpc(RunHandler(tasks), settings) as port,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub, v1 = a2a_pb2_grpc.A2AServiceStub(channel), (("a2a-version", "1.0"),)  # type: ignore[no-untyped-call]
        sent = await stub.SendMessage(said("Hi"), metadata=v1)
        events = [each async for each in stub.SendStreamingMessage(said("Stream", "m2"), metadata=v1)]
        got = await stub.GetTask(pb.GetTaskRequest(id=sent.task.id), metadata=v1)
        return "Hello." in str(sent), "Streamed." in str(events), "Hello." in str(got)


async def javascript() -> Did:
    modules = install.npm_bin("conformance").parents[3]
    async with our_server() as url:
        told = await told_by(str(install.node()), str(CLIENTS / "a2a_client.mjs"), url, str(modules))
    return "Hello." in json.dumps(told["sent"]), "statusUpdate" in told["kinds"], "Hello." in json.dumps(told["got"])


def older(environment: str) -> Callable[[], Awaitable[Did]]:
    async def ask() -> Did:
        async with our_server() as url, httpx.AsyncClient(timeout=HANGS_S) as http:
            told = await told_by(str(install.py_bin(environment, "python")), str(CLIENTS / "a2a_old_client.py"), url)
            sent = told["sent"]["result"]
            body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": sent["id"]}}
            got = (await http.post(told["url"], json=body)).json()
        return "Hello." in json.dumps(sent), "status-update" in told["kinds"], "Hello." in json.dumps(got)

    return ask


async def adk() -> Did:
    async with our_server() as url:
        told = await told_by(str(install.py_bin("adk", "python")), str(CLIENTS / "a2a_adk.py"), url)
    assert not told["errors"], told
    return "Hello." in told["texts"], "Streamed." in told["texts"], False  # it has no way to ask after a task


async def fasta2a() -> Did:
    async with our_server() as url:
        told = await told_by(
            str(install.py_bin("fasta2a", "python")), str(CLIENTS / "a2a_fasta2a.py"), f"{url}/a2a/desk"
        )
    if told["sent"].get("result") == {}:
        raise ValueError("it sends methods of 0.3 and reads answers of 1.0, so that each answer of 0.3 is {} for it")
    did = [words in json.dumps(told[what]) for words, what in (("Hello.", "sent"), ("Streamed.", "streamed"))]
    return did[0], did[1], "Hello." in json.dumps(told["got"])


async def a2a_cli() -> Did:
    async with our_server() as url:
        python, script = str(install.py_bin("a2acli", "python")), str(CLIENTS / "a2a_cli_client.py")
        told = await told_by(python, script, f"{url}/a2a/desk/legacy")
    assert "error" not in told, told
    return (
        "Hello." in json.dumps(told["sent"]),
        "Streamed." in json.dumps(told["streamed"]),
        "Hello." in str(told["got"]),
    )


async def original() -> Did:
    async with our_server() as url, httpx.AsyncClient(timeout=HANGS_S) as http:

        async def ask(method: str, id_: str, *, says: str = "") -> str:
            message = {"role": "user", "parts": [{"type": "text", "text": says}]}
            params = {"id": id_} | ({"message": message} if says else {})
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return (await http.post(f"{url}/a2a/desk/legacy", json=body)).text

        sent = await ask("tasks/send", "one", says="Hi")
        stream = await ask("tasks/sendSubscribe", "two", says="Stream")
        return "Hello." in sent, "Streamed." in stream, "Hello." in await ask("tasks/get", "one")


PAIRS: list[tuple[str, str, Callable[[], Awaitable[Did]]]] = [
    ("`a2a-sdk` 1.3", "1.0, JSON-RPC", lambda: official("JSONRPC")),
    ("`a2a-sdk` 1.3", "1.0, HTTP+JSON", lambda: official("HTTP+JSON")),
    ("`a2a-sdk` 1.3", "1.0, gRPC", official_grpc),
    ("`@a2a-js/sdk` 1.3.0", "1.0, what it chooses", javascript),
    ("`a2a-sdk` 0.3.26", "0.3, JSON-RPC", older("a2a03")),
    ("`a2a-sdk` 0.2.16", "0.2, JSON-RPC", older("a2a02")),
    ("`google-adk` 2.13", "1.0, what it chooses", adk),
    ("`fasta2a` 2.1", "its own mixture", fasta2a),
    ("`a2a-cli` 0.2", "April 2025", a2a_cli),
    ("plain HTTP", "April 2025", original),
]


@asynccontextmanager
async def program(*command: str, says: str = "Uvicorn running") -> AsyncIterator[str]:
    """A server of others, started by a command whose word PORT is replaced; its origin."""
    port = free_port()
    words = [str(port) if word == "PORT" else word for word in command]
    with program_listening(*words, says=says):
        yield f"http://127.0.0.1:{port}"


@asynccontextmanager
async def sdk(binding: str) -> AsyncIterator[str]:
    async with sdk_agent((binding, "1.0")) as (url, _):
        yield url


@asynccontextmanager
async def april() -> AsyncIterator[str]:
    async with april_agent() as (url, _):
        yield url


def in_environment(environment: str, script: str, *words: str) -> Callable[[], AbstractAsyncContextManager[str]]:
    return lambda: program(str(install.py_bin(environment, "python")), str(SERVERS / script), "PORT", *words)


def by_node() -> AbstractAsyncContextManager[str]:
    modules = install.npm_bin("conformance").parents[3]
    return program(str(install.node()), str(SERVERS / "a2a_js.mjs"), "PORT", str(modules), says="listening")


OPENED: list[tuple[str, str, Callable[[], AbstractAsyncContextManager[str]]]] = [
    ("`a2a-sdk` 1.3", "1.0, JSON-RPC", partial(sdk, "JSONRPC")),
    ("`a2a-sdk` 1.3", "1.0, HTTP+JSON", partial(sdk, "HTTP+JSON")),
    ("`a2a-sdk` 1.3", "1.0, gRPC", partial(sdk, "GRPC")),
    ("`@a2a-js/sdk` 1.3.0", "1.0, JSON-RPC", by_node),
    ("`a2a-sdk` 0.3.26", "0.3, JSON-RPC", in_environment("a2a03", "a2a_older.py", "streams")),
    ("`a2a-sdk` 0.2.16", "0.2, JSON-RPC", in_environment("a2a02", "a2a_older.py", "streams")),
    ("`google-adk` 2.13", "what its card says", in_environment("adk", "a2a_adk.py")),
    ("`fasta2a` 2.1", "1.0, JSON-RPC", in_environment("fasta2a", "a2a_fasta2a.py")),
    ("a server after the schema", "April 2025", april),
]


async def by_our_client(url: str, *, is_of_april: bool) -> Did:
    """Whether an agent with our client gets the answer, the news on the way, and the task by its id."""
    async with A2AToolset(RemoteAgent(url=url, name="weather")) as toolset:
        answer = await outcome(toolset, "hello")
    connection = A2AConnection(RemoteAgent(url=url, name="weather"))
    async with aclosing(connection):
        found = await connection.fetch_card()
        assert found is not None
        ways = connection.handles(found[0])
        way = ways[0]
        if is_of_april:
            way = msgspec.structs.replace(ways[-1], task_id="t1")
        message = A2AMessage(role="user", parts=(A2AText(text="hello"),), id="m1")
        read, count = ReadTask(way.task_id), 0
        async with connection.send(way, message, RequestTerms(), streams=True) as events:
            async for event in events:
                read.take(event)
                count += 1
        got = await connection.get(msgspec.structs.replace(way, task_id=read.task_id), RequestTerms())
        return answer.text.startswith("Hello, world."), read.is_over and count > 1, "Hello, world." in repr(got)


async def servers_table() -> str:
    """The table of servers as it is now."""
    lines = []
    for server, protocol, opened in OPENED:
        try:
            async with opened() as url:
                cells = ["yes" if did else "no" for did in await by_our_client(url, is_of_april=opened is april)]
        except Exception as error:  # noqa: BLE001  # the table says why a pair can not work
            cells = [_why(error), "no", "no"]
        lines.append(f"| {server} | {protocol} | {' | '.join(cells)} |\n")
    return SERVERS_HEAD + "".join(lines)


def _why(error: Exception) -> str:
    words = f"{type(error).__name__}: {error}"
    return f"no: {words[:160]}".replace("|", "/").replace("\n", " ")


async def table() -> str:
    """The table as it is now. A client that fails has its error in the line."""
    lines = []
    for client, protocol, ask in PAIRS:
        try:
            cells = ["yes" if did else "no" for did in await ask()]
        except Exception as error:  # noqa: BLE001  # the table says why a pair can not work
            cells = [_why(error), "no", "no"]
        lines.append(f"| {client} | {protocol} | {' | '.join(cells)} |\n")
    return HEAD + "".join(lines)


def _written(text: str, begin: str = BEGIN, end: str = END) -> str:
    return text[text.index(begin) + len(begin) : text.index(end)]


@pytest.mark.row("P3")
async def test_the_table_of_clients_in_the_guide_is_true() -> None:
    assert await table() == _written(DOC.read_text("utf-8"))


@pytest.mark.row("T5")
async def test_the_table_of_servers_in_the_guide_is_true() -> None:
    assert await servers_table() == _written(DOC.read_text("utf-8"), SERVERS_BEGIN, SERVERS_END)


if __name__ == "__main__":
    guide = DOC.read_text("utf-8")
    for begin, end, make in ((BEGIN, END, table), (SERVERS_BEGIN, SERVERS_END, servers_table)):
        made = asyncio.run(make())
        guide = guide.replace(begin + _written(guide, begin, end) + end, begin + made + end)
        sys.stdout.write(made)
    DOC.write_text(guide, "utf-8")
