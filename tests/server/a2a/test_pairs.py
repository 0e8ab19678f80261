"""The table of `docs/a2a.md` of which client speaks to this server how far: the test makes it, and holds it true.

To write the table anew after a change: `.venv/bin/python -m tests.server.a2a.test_pairs`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from a2a.client import ClientConfig, create_client
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import A2ATable, ServeSettings, Settings
from actum.core.clock import SystemClock
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server import Access, Identity
from actum.server.a2a.grpc_server import GrpcSettings, serving_grpc
from actum.server.a2a.handler import RunHandler
from actum.server.a2a.service import TaskService
from actum.server.api.api import Api, GivenAgents
from actum.server.scopes import ALL_SCOPES
from tests.peers import install
from tests.server.api.house import answering
from tests.web import serving

from .serving import said
from .test_peers import CLIENTS, told_by

DOC = Path(__file__).parents[3] / "docs" / "a2a.md"
BEGIN, END = "<!-- pairs: made by tests/server/a2a/test_pairs.py -->\n", "<!-- end of pairs -->\n"
HEAD = "| client | protocol | sends | streams | gets |\n|---|---|---|---|---|\n"
WHO = Identity(principal="ann", scopes=ALL_SCOPES)

Did = tuple[bool, bool, bool]
"""Whether a client got the answer to a message, the events of a stream, and a task by its id."""


def agent_of(journal: MemoryJournal) -> Agent[str]:
    return Agent(answering("Hello.", "Streamed."), name="desk", journal=journal)


@asynccontextmanager
async def our_server() -> AsyncIterator[str]:
    journal = MemoryJournal()
    doors = open_doors(Settings(serve=ServeSettings(a2a=A2ATable())), [], _given(journal), journal, WHO)
    async with serving(Serving(doors, ServeSettings(), Access(), who=WHO, journal=journal).house.app) as url:
        yield url


def _given(journal: MemoryJournal) -> GivenAgents:
    return GivenAgents({"desk": agent_of(journal)})


async def official(binding: str) -> Did:
    async with our_server() as url, httpx.AsyncClient(timeout=20) as http:

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
        async with our_server() as url, httpx.AsyncClient(timeout=20) as http:
            told = await told_by(str(install.py_bin(environment, "python")), str(CLIENTS / "a2a_old_client.py"), url)
            sent = told["sent"]["result"]
            body = {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": sent["id"]}}
            got = (await http.post(told["url"], json=body)).json()
        return "Hello." in json.dumps(sent), "status-update" in told["kinds"], "Hello." in json.dumps(got)

    return ask


async def original() -> Did:
    async with our_server() as url, httpx.AsyncClient(timeout=20) as http:

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
    ("plain HTTP", "April 2025", original),
]


async def table() -> str:
    """The table as it is now. A client that fails has its error in the line."""
    lines = []
    for client, protocol, ask in PAIRS:
        try:
            cells = ["yes" if did else "no" for did in await ask()]
        except Exception as error:  # noqa: BLE001  # the table says why a pair can not work
            cells = [f"no: {type(error).__name__}: {str(error)[:120]}".replace("|", "/").replace("\n", " "), "no", "no"]
        lines.append(f"| {client} | {protocol} | {' | '.join(cells)} |\n")
    return HEAD + "".join(lines)


def _written(text: str) -> str:
    return text[text.index(BEGIN) + len(BEGIN) : text.index(END)]


@pytest.mark.row("P3")
async def test_the_table_of_clients_in_the_guide_is_true() -> None:
    assert await table() == _written(DOC.read_text("utf-8"))


if __name__ == "__main__":
    guide = DOC.read_text("utf-8")
    made = asyncio.run(table())
    DOC.write_text(guide.replace(BEGIN + _written(guide) + END, BEGIN + made + END), "utf-8")
    sys.stdout.write(made)
