"""gRPC to a remote agent: by TLS, past no guard, and to the next binding where nobody answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc

from actum import Agent
from actum.core.clock import SystemClock
from actum.core.errors import (
    CallError,
    CallTimeout,
    InvalidResult,
    PermissionDenied,
    RateLimited,
    ToolError,
    Unavailable,
)
from actum.journal.memory import MemoryJournal
from actum.protocols.a2a.model import A2AEvent, A2AMessage, A2AText
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.runs.runner import Runner
from actum.server.a2a.grpc_server import GrpcSettings, serving_grpc
from actum.server.a2a.handler import RunHandler
from actum.server.a2a.service import TaskService
from actum.server.api.api import Api, GivenAgents
from actum.toolsets.a2a.connection import A2AConnection, RequestTerms, TaskHandle, grpc_address
from actum.toolsets.a2a.toolset import A2AToolset
from actum.transport.egress import Egress, EgressRules
from tests.cli.test_serve import certificate
from tests.patience import HANGS_S
from tests.server.a2a.serving import KnownCallers
from tests.server.api.application import answering
from tests.toolsets.a2a.remote_servers import sdk_agent
from tests.toolsets.a2a.test_toolset import configured, outcome

HELLO = A2AMessage(role="user", parts=(A2AText(text="Hi"),), id="m1")


async def told(connection: A2AConnection, handle: TaskHandle, terms: RequestTerms, *, streams: bool) -> list[A2AEvent]:
    async with connection.send(handle, HELLO, terms, streams=streams) as events:
        return [event async for event in events]


@pytest.mark.row("T5")
async def test_an_agent_behind_tls_hears_the_key_and_nobody_else_does(tmp_path: Path) -> None:
    journal = MemoryJournal()
    agent = Agent(answering("Hello."), name="desk", journal=journal)
    api = Api(Runner([], name="api", journal=journal), GivenAgents({"desk": agent}), SystemClock())
    certificate(tmp_path, 1)
    public, key = (tmp_path / "server.pem").read_bytes(), (tmp_path / "server.key").read_bytes()
    settings = GrpcSettings(
        place="localhost:0",
        agent="desk",
        address="desk",
        certificate=public,
        key=key,
        verifier=KnownCallers(),
        scope="runs",
    )
    terms = RequestTerms({"authorization": "Bearer ann"}, {"traceparent": f"00-{'1' * 32}-{'2' * 16}-01"})
    async with serving_grpc(RunHandler(TaskService(api)), settings) as port:
        handle = TaskHandle(url=f"https://localhost:{port}", binding="GRPC", spoken="1.0")
        named = RemoteAgent(url="https://localhost/", name="desk")
        connection = A2AConnection(named, roots=public)
        events = await told(connection, handle, terms, streams=True)  # without, it hears of a task that has begun
        assert "Hello." in repr(events)
        with pytest.raises(PermissionDenied, match="wants a credential"):
            await told(connection, handle, RequestTerms(), streams=False)
        await connection.aclose()
        elsewhere = A2AConnection(RemoteAgent(url="https://127.0.0.1/", name="desk"), roots=public)
        with pytest.raises(CallError):  # the certificate is not that of the number, or the key stays here
            await told(elsewhere, handle, terms, streams=False)
        await elsewhere.aclose()
        untrusting = A2AConnection(named)
        with pytest.raises(Unavailable, match="no connection by gRPC came about"):
            await told(untrusting, handle, terms, streams=False)
        await untrusting.aclose()
        by_plain = A2AConnection(RemoteAgent(url="http://localhost/", name="desk"))
        with pytest.raises((Unavailable, CallTimeout)):
            plain = TaskHandle(url=f"http://localhost:{port}", binding="GRPC", spoken="1.0")
            await told(by_plain, plain, terms, streams=False)
        await by_plain.aclose()


async def test_where_nobody_answers_by_grpc_the_next_binding_of_the_card_is_taken() -> None:
    opened = sdk_agent(("GRPC", "1.0"), ("JSONRPC", "1.0"), serves_grpc=False)
    async with opened as (origin, seen), A2AToolset(configured(origin)) as toolset:
        hello = await outcome(toolset, "hello")
        assert hello.text.startswith("Hello, world.")
        assert seen.texts == ["hello"]
        assert [path for _, path, _ in seen.heads if path == "/rpc"]


async def test_no_address_of_grpc_is_reached_past_the_guard() -> None:
    inside = Egress(EgressRules(deny=("127.0.0.1",)))
    for url, egress, words in (
        ("https://10.0.0.1:50051", None, "not one of the open internet"),
        ("https://169.254.169.254:443", None, "never reached"),
        ("http://agents.example.org:80", None, "does not begin with https"),
        ("https://127.0.0.1:50051", inside, "denied by"),
    ):
        connection = A2AConnection(RemoteAgent(url="https://agents.example.com/", name="a"), egress=egress)
        with pytest.raises(PermissionDenied, match=words):
            await told(connection, TaskHandle(url=url, binding="GRPC", spoken="1.0"), RequestTerms(), streams=True)
        await connection.aclose()
    proxied = A2AConnection(
        RemoteAgent(url="https://agents.example.com/", name="a"),
        egress=Egress(EgressRules(proxy="http://proxy.example.com:3128")),
    )
    with pytest.raises(Unavailable, match="through a proxy"):
        handle = TaskHandle(url="https://agents.example.com:443", binding="GRPC", spoken="1.0")
        await told(proxied, handle, RequestTerms(), streams=True)


def test_addresses_of_grpc_are_read_as_tls_unless_a_person_named_plain_http() -> None:
    tls, plain = "https://a.example/x", "http://127.0.0.1:8000/"
    for said, agent, address in (
        ("a.example:50051", tls, "https://a.example:50051"),
        ("a.example", tls, "https://a.example:443"),
        ("grpc://a.example:1", tls, "http://a.example:1"),
        ("https://a.example:1/", tls, "https://a.example:1"),
        ("b.example:1", plain, "https://b.example:1"),
        ("127.0.0.1:50051", plain, "http://127.0.0.1:50051"),
        ("[::1]:1", tls, "https://[::1]:1"),
        ("dns:///a.example:1", tls, ""),
        ("unix:///run/x", tls, ""),
        ("a.example:1/path", tls, ""),
        ("user@a.example:1", tls, ""),
        ("a.example:port", tls, ""),
        ("", tls, ""),
    ):
        assert grpc_address(said, agent) == address, said


class _Odd(a2a_pb2_grpc.A2AServiceServicer):
    """Answers as no agent should."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()

    async def SendMessage(self, request: Any, context: Any) -> Any:  # noqa: ANN401, N802  # gRPC says no types
        match request.message.parts[0].text:
            case "silent":
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    self.cancelled.set()
                    raise
            case "busy":
                await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "wait", (("retry-after", "7"),))
            case "broken":
                raise ValueError("a secret of the server")
            case "huge":
                part = pb.Part(raw=bytes(40 << 20))
                return pb.SendMessageResponse(message=pb.Message(message_id="m", role=pb.ROLE_AGENT, parts=[part]))
            case "unknown":
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "\x1b[31mno\u202e")
            case _:
                pass

    async def SendStreamingMessage(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: ANN401, N802
        if request.message.parts[0].text == "wide":
            wide = pb.Message(message_id="m", role=pb.ROLE_AGENT, parts=[pb.Part(raw=bytes(16 << 20))])
            while True:
                yield pb.StreamResponse(message=wide)
        while True:
            yield pb.StreamResponse(message=pb.Message(message_id="m", role=pb.ROLE_AGENT))


@asynccontextmanager
async def odd_agent(silence_s: float) -> AsyncIterator[tuple[_Odd, A2AConnection, TaskHandle]]:
    odd, server = _Odd(), grpc.aio.server()
    a2a_pb2_grpc.add_A2AServiceServicer_to_server(odd, server)  # type: ignore[no-untyped-call]
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    agent = RemoteAgent(url=f"http://127.0.0.1:{port}/", name="odd", silence_s=silence_s)
    connection = A2AConnection(agent)
    try:
        yield odd, connection, TaskHandle(url=f"http://127.0.0.1:{port}", binding="GRPC", spoken="1.0")
    finally:
        await connection.aclose()
        await server.stop(None)


async def test_an_agent_that_hangs_by_grpc_is_waited_for_as_long_as_was_said() -> None:
    async with odd_agent(0.2) as (odd, connection, handle):
        silent = A2AMessage(role="user", parts=(A2AText(text="silent"),), id="m1")
        with pytest.raises(CallTimeout, match="did not answer in time"):
            async with connection.send(handle, silent, RequestTerms(), streams=False) as events:
                async for _ in events:
                    pass
        async with asyncio.timeout(HANGS_S):
            await odd.cancelled.wait()


async def test_an_agent_that_lies_or_floods_by_grpc_ends_in_an_error_that_says_so() -> None:
    async with odd_agent(60) as (_, connection, handle):
        for text, kind, words in (
            ("busy", RateLimited, "no more requests"),
            ("broken", Unavailable, "the work may be under way"),
            ("huge", InvalidResult, "too long"),
            ("unknown", ToolError, "no"),
        ):
            message = A2AMessage(role="user", parts=(A2AText(text=text),), id="m1")
            with pytest.raises(kind, match=words) as refused:
                async with connection.send(handle, message, RequestTerms(), streams=False) as events:
                    async for _ in events:
                        pass
            assert "secret" not in str(refused.value), text
            assert "\x1b" not in str(refused.value), text
            assert "\u202e" not in str(refused.value), text
        wide = A2AMessage(role="user", parts=(A2AText(text="wide"),), id="m1")
        with pytest.raises(InvalidResult, match="its stream is too long"):
            async with connection.send(handle, wide, RequestTerms(), streams=True) as events:
                async for _ in events:
                    pass
        with pytest.raises(InvalidResult, match="more than 20000 events"):
            await told(connection, handle, RequestTerms(), streams=True)
