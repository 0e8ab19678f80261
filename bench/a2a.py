"""What a task costs that is asked for by A2A; part of `make bench`.

CPU of `SendMessage` of one agent without tools, through the application of `actum serve` with the journal in memory,
against the official SDK with its store and queues in memory, both in this process and without sockets. Up to 1.5 times
as much is allowed. Then 64 streaming sends at once on SQLite, without an error; and the cost of an answer in 100 and in
400 chunks, which has to grow with the chunks and not with their square.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore
from a2a.types import a2a_pb2 as pb
from starlette.applications import Starlette

from actum import Agent
from actum.compose.serving import Serving, open_doors
from actum.compose.settings import Settings
from actum.compose.tables.serve import ServeSettings
from actum.core.event import Delta, TextDelta
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.message import Reply
from actum.core.model import Request
from actum.journal.memory import MemoryJournal
from actum.server.access import Access
from actum.server.api.api import GivenAgents
from actum.server.scopes import ALL_SCOPES
from actum.storage.sqlite import SQLiteJournal
from actum.testing import ScriptedModel

from .loop import Row

SENDS = 200
AT_ONCE = 64


class _Echo(AgentExecutor):
    """What the SDK's own examples do: a task, an artifact, completed."""

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.task_id is not None
        assert context.context_id is not None
        await event_queue.enqueue_event(
            pb.Task(
                id=context.task_id,
                context_id=context.context_id,
                status=pb.TaskStatus(state=pb.TASK_STATE_WORKING),
            )
        )
        await event_queue.enqueue_event(
            pb.TaskArtifactUpdateEvent(
                task_id=context.task_id,
                context_id=context.context_id,
                artifact=pb.Artifact(artifact_id="answer", parts=[pb.Part(text="Hello.")]),
                last_chunk=True,
            )
        )
        await event_queue.enqueue_event(
            pb.TaskStatusUpdateEvent(
                task_id=context.task_id,
                context_id=context.context_id,
                status=pb.TaskStatus(state=pb.TASK_STATE_COMPLETED),
            )
        )

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


class _Chunks(ScriptedModel):
    """Says so many words, one after another."""

    def __init__(self, chunks: int) -> None:
        super().__init__(lambda _: "word " * chunks)

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        reply = await super().reply(request)
        for _ in range(reply.text.count(" ")):
            if emit is not None:
                emit(TextDelta("word "))
            await asyncio.sleep(0)
        return reply


def a2a_table(rounds: int) -> list[Row]:
    """CPU of a task, many streams at once, and the cost of chunks."""
    return asyncio.run(_measured(rounds))


def _ours(journal: Journal, model: ScriptedModel) -> Starlette:
    who = Identity(principal="bench", scopes=ALL_SCOPES)
    agent = Agent(model, name="desk", journal=journal)
    doors = open_doors(Settings(), [], GivenAgents({"desk": agent}), journal, who)
    return Serving(doors, ServeSettings(), Access(), who=who, journal=journal).application.app


def _theirs() -> Starlette:
    card = pb.AgentCard(
        name="desk",
        description="Says hello.",
        version="1",
        capabilities=pb.AgentCapabilities(streaming=True),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        supported_interfaces=[
            pb.AgentInterface(url="http://127.0.0.1/a2a/desk", protocol_binding="JSONRPC", protocol_version="1.0")
        ],
        skills=[pb.AgentSkill(id="a", name="a", description="a", tags=["a"])],
    )
    handler = DefaultRequestHandler(agent_executor=_Echo(), task_store=InMemoryTaskStore(), agent_card=card)
    return Starlette(routes=create_jsonrpc_routes(handler, "/a2a/desk"))


def _message(number: int, method: str) -> dict[str, object]:
    message = {"messageId": f"m-{number}-{time.monotonic_ns()}", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"message": message}}


def _client(app: Starlette) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app)
    return httpx.AsyncClient(
        transport=transport, base_url="http://127.0.0.1:8000", headers={"a2a-version": "1.0"}, timeout=120
    )


async def _measured(rounds: int) -> list[Row]:
    ways = {
        "SDK, in memory": _theirs(),
        "ours": _ours(MemoryJournal(runs_max=1_000), ScriptedModel(lambda _: "Hello.")),
    }
    best = dict.fromkeys(ways, float("inf"))
    for _ in range(rounds):
        for name, app in ways.items():
            async with app.router.lifespan_context(app), _client(app) as client:
                await client.post("/a2a/desk", json=_message(0, "SendMessage"))
                began = time.process_time()
                for number in range(SENDS):
                    answer = await client.post("/a2a/desk", json=_message(number, "SendMessage"))
                    if answer.json()["result"]["task"]["status"]["state"] != "TASK_STATE_COMPLETED":
                        raise ValueError(answer.text)
                best[name] = min(best[name], (time.process_time() - began) / SENDS)
            if name == "ours":  # its application is closed with its lifespan
                ways[name] = _ours(MemoryJournal(runs_max=1_000), ScriptedModel(lambda _: "Hello."))
    floor = best["SDK, in memory"]
    rows: list[Row] = [{"task": name, "µs": round(cpu * 1e6), "×": round(cpu / floor, 2)} for name, cpu in best.items()]
    seconds, errors = await _many()
    rows.append(
        {"task": f"{AT_ONCE} streams at once on SQLite, errors: {errors}", "µs": round(seconds * 1e6), "×": 0.0}
    )
    few, many = await _chunks(100), await _chunks(400)
    rows.append({"task": "100 chunks", "µs": round(few * 1e6), "×": 1.0})
    rows.append({"task": "400 chunks", "µs": round(many * 1e6), "×": round(many / few, 2)})
    return rows


async def _many() -> tuple[float, int]:
    """Seconds for many streams at once, and how many of them failed."""
    with tempfile.TemporaryDirectory() as folder:
        journal = SQLiteJournal(Path(folder) / "journal.db")
        app = _ours(journal, ScriptedModel(lambda _: "Hello."))
        async with app.router.lifespan_context(app), _client(app) as client:
            began = time.perf_counter()
            asked = [client.post("/a2a/desk", json=_message(n, "SendStreamingMessage")) for n in range(AT_ONCE)]
            answers = await asyncio.gather(*asked)
            seconds = time.perf_counter() - began
        await journal.close()
    return seconds, sum("TASK_STATE_COMPLETED" not in answer.text for answer in answers)


async def _chunks(count: int) -> float:
    """CPU of a stream of so many chunks."""
    app = _ours(MemoryJournal(), _Chunks(count))
    async with app.router.lifespan_context(app), _client(app) as client:
        began = time.process_time()
        answer = await client.post("/a2a/desk", json=_message(1, "SendStreamingMessage"))
        cpu = time.process_time() - began
    chunks = [json.loads(line[6:])["result"] for line in answer.text.splitlines() if line.startswith("data: ")]
    said = "".join(
        each["artifactUpdate"]["artifact"]["parts"][0]["text"] for each in chunks if "artifactUpdate" in each
    )
    if said.count("word") != count:
        raise ValueError(answer.text[:500])
    return cpu
