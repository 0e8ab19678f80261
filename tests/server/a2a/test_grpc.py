"""gRPC over TLS: the official client, keys, scopes and versions."""

from __future__ import annotations

from pathlib import Path

import grpc
import pytest
from a2a.compat.v0_3 import a2a_v0_3_pb2, a2a_v0_3_pb2_grpc
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc

from actum import Agent
from actum.compose.a2a import open_a2a_door
from actum.compose.settings import Settings
from actum.compose.tables.serve import A2ATable, ServeSettings
from actum.core.clock import SystemClock
from actum.core.errors import UsageError
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server import Identity
from actum.server.a2a.grpc_server import GrpcSettings, serving_grpc
from actum.server.a2a.handler import RunHandler
from actum.server.a2a.service import TaskService
from actum.server.api.api import Api, GivenAgents
from tests.cli.test_serve import certificate
from tests.server.api.application import Bank, NoDrop, answering
from tests.server.api.test_runs import calls

from .serving import KnownCallers, said

V1 = ("a2a-version", "1.0")
KEY = ("authorization", "Bearer ann")


@pytest.mark.row("P3")
async def test_grpc_serves_over_tls_and_looks_at_keys_and_versions(tmp_path: Path) -> None:
    journal = MemoryJournal()
    model = answering("Hello.", calls("add", a=1, b=1), "Streamed.")
    agent = Agent(model, Bank().tools, name="desk", journal=journal, policy=NoDrop())  # type: ignore[arg-type]
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
    async with serving_grpc(RunHandler(TaskService(api)), settings) as port:
        trusted = grpc.ssl_channel_credentials(public)
        async with grpc.aio.secure_channel(f"localhost:{port}", trusted) as channel:
            stub = a2a_pb2_grpc.A2AServiceStub(channel)  # type: ignore[no-untyped-call]
            sent = await stub.SendMessage(said("Hi"), metadata=(V1, KEY))
            assert sent.task.artifacts[0].parts[0].text == "Hello."
            events = [each async for each in stub.SendStreamingMessage(said("Stream", "m2"), metadata=(V1, KEY))]
            assert events[-1].status_update.status.state == pb.TASK_STATE_COMPLETED
            for metadata, asked, code in (
                ((V1,), sent.task.id, grpc.StatusCode.UNAUTHENTICATED),
                ((V1, ("authorization", "Bearer wrong")), sent.task.id, grpc.StatusCode.UNAUTHENTICATED),
                ((KEY,), sent.task.id, grpc.StatusCode.UNIMPLEMENTED),
                ((("a2a-version", "99.0"), KEY), sent.task.id, grpc.StatusCode.UNIMPLEMENTED),
                ((V1, ("authorization", "Bearer bob")), sent.task.id, grpc.StatusCode.NOT_FOUND),
                ((V1, KEY), "run_none", grpc.StatusCode.NOT_FOUND),
                ((V1, KEY), "", grpc.StatusCode.INVALID_ARGUMENT),
            ):
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.GetTask(pb.GetTaskRequest(id=asked), metadata=metadata)
                assert refused.value.code() == code, (metadata, refused.value.details())
            old = a2a_v0_3_pb2_grpc.A2AServiceStub(channel)  # type: ignore[no-untyped-call]
            got = await old.GetTask(a2a_v0_3_pb2.GetTaskRequest(name=f"tasks/{sent.task.id}"), metadata=(KEY,))
            assert got.id == sent.task.id
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await old.GetTask(a2a_v0_3_pb2.GetTaskRequest(name="tasks/run_none"), metadata=(KEY,))
            assert refused.value.code() == grpc.StatusCode.NOT_FOUND
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                [_ async for _ in stub.SubscribeToTask(pb.SubscribeToTaskRequest(id=sent.task.id), metadata=(V1,))]
            assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED


def test_grpc_that_others_reach_needs_a_certificate_and_keys() -> None:
    journal = MemoryJournal()
    agent = Agent(answering("Hello."), name="desk", journal=journal)
    settings = Settings(serve=ServeSettings(a2a=A2ATable(grpc="0.0.0.0:0")))
    runner = Runner([], name="api", journal=journal)
    with pytest.raises(UsageError, match="certificate and keys"):
        open_a2a_door(
            settings, runner, GivenAgents({"desk": agent}), journal, {}, verifier=KnownCallers(), who=Identity()
        )
