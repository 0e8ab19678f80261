"""Agents elsewhere for the tests: one by the official SDK, one of April 2025, and one that says what a test wants.

All three do what the text of the message says, so that one test can go through all of them: `hello`, `ask`, `slow`,
`pieces`, `file`, `fail`, `reject`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
from a2a.helpers.proto_helpers import new_raw_part, new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.request_handlers.grpc_handler import GrpcHandler
from a2a.server.routes.agent_card_routes import create_agent_card_routes
from a2a.server.routes.jsonrpc_routes import create_jsonrpc_routes
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill, Message, a2a_pb2_grpc
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from actum.core.json import Json, JsonObject
from tests.web import listening, serving


class Seen:
    """What a server was asked: path and headers of each request, and the texts of messages.

    Attributes:
        release: a task that is slow is done when this is set.
        heard: a task that is slow was begun.
    """

    def __init__(self) -> None:
        self.heads: list[tuple[str, str, dict[str, str]]] = []
        self.queries: list[str] = []
        self.texts: list[str] = []
        self.cancelled: list[str] = []
        self.release = asyncio.Event()
        self.heard = False

    def around(self, app: ASGIApp) -> ASGIApp:
        async def noting(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] == "http":
                headers = {name.decode(): value.decode() for name, value in scope["headers"]}
                self.queries.append(scope["query_string"].decode())
                self.heads.append((scope["method"], scope["path"], headers))
            await app(scope, receive, send)

        return noting


class _Executor(AgentExecutor):
    def __init__(self, seen: Seen) -> None:
        self._seen = seen

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        text = context.get_user_input()
        self._seen.texts.append(text)
        assert context.message is not None
        first = context.current_task is None
        if first:
            await event_queue.enqueue_event(new_task_from_user_message(context.message))
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))

        def said(words: str) -> Message:
            return updater.new_agent_message([new_text_part(words)])

        if not first:
            await updater.add_artifact([new_text_part(f"{text} is sunny.")], name="answer")
            await updater.complete()
            return
        await updater.start_work(said("Looking."))
        match text:
            case "ask":
                await updater.requires_input(said("Which city?"))
            case "slow":
                self._seen.heard = True
                await self._seen.release.wait()
                await updater.add_artifact([new_text_part("At last.")], name="answer")
                await updater.complete()
            case "pieces":
                for number, piece in enumerate(("one ", "two ", "three")):
                    await updater.add_artifact(
                        [new_text_part(piece)], artifact_id="a", append=number > 0, last_chunk=number == 2
                    )
                await updater.complete()
            case "file":
                raw = b"".join(part.raw for part in context.message.parts if part.WhichOneof("content") == "raw")
                await updater.add_artifact([new_raw_part(raw[::-1], media_type="image/png", filename="back.png")])
                await updater.complete()
            case "fail":
                await updater.failed(said("No such place."))
            case "reject":
                await updater.reject(said("Not my work."))
            case _:
                await updater.add_artifact([new_text_part("Hello, world.")], name="answer")
                await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self._seen.cancelled.append(str(context.task_id))
        await TaskUpdater(event_queue, str(context.task_id), str(context.context_id)).cancel()


@asynccontextmanager
async def sdk_agent(
    *bindings: tuple[str, str], streams: bool = True, serves_grpc: bool = True
) -> AsyncIterator[tuple[str, Seen]]:
    """An agent by the official SDK, at bindings such as `("JSONRPC", "1.0")`.

    Where it does not serve gRPC, its card may name gRPC all the same, at an address where nobody listens.
    """
    seen, listener = Seen(), listening()
    here = f"http://127.0.0.1:{listener.getsockname()[1]}"
    by_grpc = grpc.aio.server()
    grpc_port = by_grpc.add_insecure_port("127.0.0.1:0") if any(each == "GRPC" for each, _ in bindings) else 0
    urls = {"JSONRPC": f"{here}/rpc", "HTTP+JSON": f"{here}/rest", "GRPC": f"127.0.0.1:{grpc_port}"}
    card = AgentCard(
        name="Weather",
        description="Knows the weather.",
        version="1",
        supported_interfaces=[
            AgentInterface(url=urls[binding], protocol_binding=binding, protocol_version=version)
            for binding, version in bindings
        ],
        capabilities=AgentCapabilities(streaming=streams),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[AgentSkill(id="forecast", name="Forecast", description="Tomorrow's weather.", tags=["weather"])],
    )
    handler = DefaultRequestHandler(agent_executor=_Executor(seen), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [
        *create_agent_card_routes(card),
        *create_jsonrpc_routes(handler, "/rpc", enable_v0_3_compat=True),
        *create_rest_routes(handler, path_prefix="/rest", enable_v0_3_compat=True),
    ]
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(GrpcHandler(handler), by_grpc)  # type: ignore[no-untyped-call]
    async with serving(seen.around(Starlette(routes=routes)), listener) as origin:
        if grpc_port and serves_grpc:
            await by_grpc.start()
        try:
            yield origin, seen
        finally:
            seen.release.set()
            await by_grpc.stop(None)


class AprilServer:
    """An agent as they were in April 2025: it answers the original methods, and no others.

    Written after the schema of that time, without the translation that is tested here.
    """

    def __init__(self, seen: Seen, *, streams: bool = True) -> None:
        self.seen = seen
        self.streams = streams
        self.tasks: dict[str, JsonObject] = {}

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/.well-known/agent.json", self._card), Route("/", self._rpc, methods=["POST"])])

    async def _card(self, request: Request) -> Response:
        return JSONResponse(
            {
                "name": "Weather",
                "description": "Knows the weather.",
                "url": str(request.base_url),
                "version": "1",
                "capabilities": {"streaming": self.streams, "pushNotifications": False},
                "defaultInputModes": ["text"],
                "defaultOutputModes": ["text"],
                "skills": [{"id": "forecast", "name": "Forecast"}],
            }
        )

    async def _rpc(self, request: Request) -> Response:
        body = await request.json()
        params = body.get("params") or {}
        match body.get("method"):
            case "tasks/send":
                task = await self._work(params, lambda event: None)
                return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": task})
            case "tasks/sendSubscribe":
                return StreamingResponse(self._stream(body["id"], params), media_type="text/event-stream")
            case "tasks/get" if params["id"] in self.tasks:
                return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": self.tasks[params["id"]]})
            case "tasks/cancel" if params["id"] in self.tasks:
                self.seen.cancelled.append(params["id"])
                self.tasks[params["id"]]["status"] = {"state": "canceled"}
                return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": self.tasks[params["id"]]})
            case "tasks/get" | "tasks/cancel" | "tasks/resubscribe":
                error = {"code": -32001, "message": "Task not found"}
            case _:
                # The samples of that time check the whole request at once: an unknown method is an invalid request.
                error = {"code": -32600, "message": "Request payload validation error"}
        return JSONResponse({"jsonrpc": "2.0", "id": body.get("id"), "error": error}, status_code=400)

    async def _stream(self, id: Json, params: dict[str, Any]) -> AsyncIterator[bytes]:
        events: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def work() -> None:
            await self._work(params, events.put_nowait)
            events.put_nowait(None)

        working = asyncio.ensure_future(work())
        while (event := await events.get()) is not None:
            yield f"data: {json.dumps({'jsonrpc': '2.0', 'id': id, 'result': event})}\r\n\r\n".encode()
        await working

    async def _work(self, params: dict[str, Any], told: Callable[[dict[str, Any]], None]) -> JsonObject:
        task_id, parts = params["id"], params["message"]["parts"]
        text = next(part["text"] for part in parts if part["type"] == "text")
        self.seen.texts.append(text)
        old = self.tasks.get(task_id)
        task: dict[str, Any] = {"id": task_id, "sessionId": params.get("sessionId"), "status": {"state": "working"}}
        self.tasks[task_id] = task

        def status(state: str, words: str = "", *, final: bool = False) -> None:
            task["status"] = {"state": state, "timestamp": "2025-04-20T10:00:00.000000"}  # without a zone, as then
            if words:
                task["status"]["message"] = {"role": "agent", "parts": [{"type": "text", "text": words}]}
            told({"id": task_id, "status": dict(task["status"]), "final": final})

        def artifact(*pieces: dict[str, Any]) -> None:
            task["artifacts"] = [{"parts": list(pieces), "index": 0}]
            for number, piece in enumerate(pieces):
                told({"id": task_id, "artifact": {"parts": [piece], "index": 0, "append": number > 0}})

        if old is not None:
            artifact({"type": "text", "text": f"{text} is sunny."})
            status("completed", final=True)
            return task
        status("working", "Looking.")
        match text:
            case "ask":
                status("input-required", "Which city?", final=True)
            case "slow":
                self.seen.heard = True
                await self.seen.release.wait()
                artifact({"type": "text", "text": "At last."})
                status("completed", final=True)
            case "pieces":
                artifact(*({"type": "text", "text": piece} for piece in ("one ", "two ", "three")))
                status("completed", final=True)
            case "file":
                file = next(part["file"] for part in parts if part["type"] == "file")
                assert file["name"] == "in.png"
                artifact(
                    {"type": "file", "file": {"name": "back.png", "mimeType": "image/png", "bytes": file["bytes"]}}
                )
                status("completed", final=True)
            case "fail" | "reject":
                status("failed", "No such place.", final=True)
            case _:
                artifact({"type": "text", "text": "Hello, world."})
                status("completed", final=True)
        return task


@asynccontextmanager
async def april_agent(*, streams: bool = True) -> AsyncIterator[tuple[str, Seen]]:
    """An agent of April 2025."""
    seen = Seen()
    async with serving(seen.around(AprilServer(seen, streams=streams).app())) as origin:
        try:
            yield origin, seen
        finally:
            seen.release.set()


Saying = Callable[[JsonObject], "Json | list[Json] | Response"]


class ScriptedAgent:
    """An agent that says what a test wants, true or not.

    Args:
        seen: takes what it was asked.

    Attributes:
        card: fields of its card beside the usual ones; or a whole response.
        says: by the method of JSON-RPC: makes a result, a list of results for a stream, or a whole response.
    """

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.card: JsonObject | Response = {}
        self.says: dict[str, Saying] = {}
        self.origin = ""

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/.well-known/agent-card.json", self._card),
                Route("/rpc", self._rpc, methods=["POST"]),
            ]
        )

    async def _card(self, request: Request) -> Response:
        return self.card if isinstance(self.card, Response) else JSONResponse(self.whole_card())

    def whole_card(self) -> JsonObject:
        assert not isinstance(self.card, Response)
        return {
            "name": "Oracle",
            "description": "Knows.",
            "version": "1",
            "supportedInterfaces": [
                {"url": f"{self.origin}/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
            ],
            "capabilities": {"streaming": True},
            "skills": [],
            **self.card,
        }

    async def _rpc(self, request: Request) -> Response:
        body = await request.json()
        found = self.says.get(body["method"])
        if found is None:
            error = {"code": -32601, "message": "Method not found"}
            return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "error": error})
        said = found(body["params"])
        if isinstance(said, Response):
            return said
        if isinstance(said, list):
            lines = [f"data: {json.dumps({'jsonrpc': '2.0', 'id': body['id'], 'result': each})}\n\n" for each in said]
            return Response("".join(lines), media_type="text/event-stream")
        return JSONResponse({"jsonrpc": "2.0", "id": body["id"], "result": said})


@asynccontextmanager
async def scripted_agent() -> AsyncIterator[ScriptedAgent]:
    """An agent that says what a test wants."""
    agent = ScriptedAgent(Seen())
    async with serving(agent.seen.around(agent.app())) as origin:
        agent.origin = origin
        yield agent
