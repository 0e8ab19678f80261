"""What strangers and greedy callers can do at gRPC: wrong keys, revoked keys, many streams, slow readers, bad bytes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import grpc
import httpx
import pytest
from a2a.types import a2a_pb2 as pb
from a2a.types import a2a_pb2_grpc

from actum import Agent
from actum.core.clock import SystemClock
from actum.core.event import Delta, TextDelta
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.message import Reply
from actum.core.model import Model, Request
from actum.core.stored.key import new_key
from actum.journal.memory import MemoryJournal
from actum.runs.runner import Runner
from actum.server import Access
from actum.server.a2a.card import Cards, CardSettings
from actum.server.a2a.grpc_server import MESSAGE_BYTES_MAX, GrpcSettings, serving_grpc
from actum.server.a2a.handler import RunHandler
from actum.server.a2a.routes import A2ARoutes
from actum.server.a2a.service import TaskService
from actum.server.admission import Admission
from actum.server.api.api import Api, GivenAgents
from actum.server.attempts import FREE_PER_KEY, Attempts
from actum.server.open_streams import OpenStreams
from actum.server.stored_keys import KeysOnceMade, StoredKeys
from actum.server.verifier import Verifier
from actum.server.web_application import WebApplication, WebApplicationSettings
from actum.testing import FakeClock, ScriptedModel
from tests.patience import HANGS_S, SOON_S
from tests.server.api.application import answering
from tests.server.memory_keys import MemoryKeys
from tests.web import serving

from .serving import KnownCallers, said

V1 = ("a2a-version", "1.0")
ANN = (V1, ("authorization", "Bearer ann"))
BOB = (V1, ("authorization", "Bearer bob"))
BIG = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]


class Held(ScriptedModel):
    """Says some words, and answers when it may."""

    def __init__(self, words: Sequence[str] = ("One",)) -> None:
        super().__init__(lambda _: "".join(words))
        self.words = words
        self.go_on = asyncio.Event()
        self.began = asyncio.Event()

    async def reply(self, request: Request, emit: Callable[[Delta], None] | None = None) -> Reply:
        for word in self.words:
            if emit is not None:
                emit(TextDelta(word))
            await asyncio.sleep(0)
        self.began.set()
        await self.go_on.wait()
        return await super().reply(request)


class Counting:
    """Counts the keys that are looked at."""

    def __init__(self, inner: Verifier) -> None:
        self.inner = inner
        self.looked_at = 0

    async def verify_token(self, token: str) -> Identity | None:
        self.looked_at += 1
        return await self.inner.verify_token(token)


def tasks_of(model: Model, journal: Journal) -> TaskService:
    agent = Agent(model, name="desk", journal=journal)
    return TaskService(Api(Runner([], name="api", journal=journal), GivenAgents({"desk": agent}), SystemClock()))


def settings_of(verifier: Verifier) -> GrpcSettings:
    return GrpcSettings(place="127.0.0.1:0", agent="desk", address="desk", verifier=verifier, scope="runs")


def stub_of(channel: grpc.aio.Channel) -> a2a_pb2_grpc.A2AServiceStub:
    return a2a_pb2_grpc.A2AServiceStub(channel)  # type: ignore[no-untyped-call]


@asynccontextmanager
async def desk(
    model: Model, admission: Admission | None = None, verifier: Verifier | None = None
) -> AsyncIterator[tuple[int, TaskService]]:
    """gRPC with one agent; at the end its runs are ended."""
    tasks = tasks_of(model, MemoryJournal())
    async with serving_grpc(RunHandler(tasks), settings_of(verifier or KnownCallers()), admission) as port:
        yield port, tasks
    await tasks.api.work.close(0)


async def refused(call: grpc.aio.UnaryUnaryCall | grpc.aio.UnaryStreamCall) -> grpc.StatusCode:
    """The status with which a call ends."""
    return await call.code()


async def test_wrong_keys_are_slowed_down_and_a_key_that_was_good_here_is_not() -> None:
    verifier = Counting(KnownCallers())
    admission = Admission(Attempts(clock=FakeClock(now=6000.0)))
    async with (
        desk(answering("Hello."), admission, verifier) as (port, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = stub_of(channel)
        asked = pb.GetTaskRequest(id="run_none")
        assert await refused(stub.GetTask(asked, metadata=ANN)) == grpc.StatusCode.NOT_FOUND
        wrong = (V1, ("authorization", "Bearer wrong"))
        found = [await refused(stub.GetTask(asked, metadata=wrong)) for _ in range(FREE_PER_KEY)]
        assert found == [grpc.StatusCode.UNAUTHENTICATED] * FREE_PER_KEY
        waiting = stub.GetTask(asked, metadata=wrong)
        assert await refused(waiting) == grpc.StatusCode.RESOURCE_EXHAUSTED
        assert int(dict(await waiting.trailing_metadata())["retry-after"]) >= 1
        assert verifier.looked_at == 1 + FREE_PER_KEY
        two = (*ANN, ("authorization", "Bearer wrong"))
        assert await refused(stub.GetTask(asked, metadata=two)) == grpc.StatusCode.UNAUTHENTICATED
        assert await refused(stub.GetTask(asked, metadata=ANN)) == grpc.StatusCode.NOT_FOUND


async def test_the_first_key_ends_streams_of_callers_without_a_key_and_is_wanted_from_then_on() -> None:
    store, model, nobody = MemoryKeys(), Held(), (V1,)
    verifier = KeysOnceMade(StoredKeys(store))
    streams = OpenStreams([], wants_keys=verifier.is_wanted)
    async with (
        streams.watched(),
        desk(model, Admission(streams=streams), verifier) as (port, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        stub = stub_of(channel)
        reading = stub.SendStreamingMessage(said("Hi"), metadata=nobody)
        await model.began.wait()
        assert (await reading.read()).task.id
        asked = pb.GetTaskRequest(id="run_none")
        assert await refused(stub.GetTask(asked, metadata=nobody)) == grpc.StatusCode.NOT_FOUND
        text, key = new_key("ci", scopes=["runs"])
        await store.add(key)
        async with asyncio.timeout(SOON_S):
            with pytest.raises(grpc.aio.AioRpcError, match="The key has ended"):
                while await reading.read() is not grpc.aio.EOF:
                    pass
        for shown, status in ((nobody, "UNAUTHENTICATED"), (ANN, "UNAUTHENTICATED"), (text, "NOT_FOUND")):
            metadata = shown if isinstance(shown, tuple) else (V1, ("authorization", f"Bearer {shown}"))
            assert (await refused(stub.GetTask(asked, metadata=metadata))).name == status, shown
        await store.revoke("ci", at=1.0, by="root")
        assert await refused(stub.GetTask(asked, metadata=nobody)) == grpc.StatusCode.UNAUTHENTICATED
        model.go_on.set()


async def test_a_caller_who_opens_1000_streams_takes_nothing_from_another_caller() -> None:
    model = Held()
    async with desk(model) as (port, tasks):
        async with (
            grpc.aio.insecure_channel(f"127.0.0.1:{port}") as greedy,
            grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=BIG) as other,
        ):
            first = stub_of(greedy).SendStreamingMessage(said("Hi"), metadata=ANN)
            task = (await first.read()).task
            asked = pb.SubscribeToTaskRequest(id=task.id)
            streams = [stub_of(greedy).SubscribeToTask(asked, metadata=ANN) for _ in range(1000)]
            opened = await asyncio.gather(*(each.read() for each in streams), return_exceptions=True)
            codes = [each.code() for each in opened if isinstance(each, grpc.aio.AioRpcError)]
            assert (len(opened) - len(codes), set(codes)) == (99, {grpc.StatusCode.RESOURCE_EXHAUSTED})
            nothing = pb.GetTaskRequest(id="run_none")
            assert await refused(stub_of(greedy).GetTask(nothing, metadata=ANN)) == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert await refused(stub_of(other).GetTask(nothing, metadata=BOB)) == grpc.StatusCode.NOT_FOUND
            for each in (*streams, first):
                each.cancel()
            async with asyncio.timeout(HANGS_S):  # the places come back as the server hears of it
                while await refused(stub_of(other).GetTask(nothing, metadata=ANN)) != grpc.StatusCode.NOT_FOUND:
                    pass
        model.go_on.set()
        async with asyncio.timeout(HANGS_S):
            while (job := tasks.api.work.get(task.id)) is not None:
                await asyncio.wait([job.task])


async def test_a_stream_ends_within_a_second_of_its_key_and_its_task_goes_on() -> None:
    store, model = MemoryKeys(), Held()
    tokens = []
    for name in ("one", "two"):
        token, key = new_key(name, principal="ann", scopes=("runs",))
        await store.add(key)
        tokens.append((V1, ("authorization", f"Bearer {token}")))
    verifier = StoredKeys(store)
    streams = OpenStreams([verifier])
    async with (
        streams.watched(),
        desk(model, Admission(streams=streams), verifier) as (port, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        one = stub_of(channel).SendStreamingMessage(said("Hi"), metadata=tokens[0])
        task = (await one.read()).task
        two = stub_of(channel).SubscribeToTask(pb.SubscribeToTaskRequest(id=task.id), metadata=tokens[1])
        await two.read()
        await store.revoke("one", at=1.0, by="root")
        async with asyncio.timeout(SOON_S):
            with pytest.raises(grpc.aio.AioRpcError, match="The key has ended"):
                while await one.read() is not grpc.aio.EOF:
                    pass
        assert await one.code() == grpc.StatusCode.UNAUTHENTICATED
        assert (two.done(), len(streams)) == (False, 1)
        model.go_on.set()
        events = [await two.read()]
        while events[-1] is not grpc.aio.EOF:
            events.append(await two.read())
        assert events[-2].status_update.status.state == pb.TASK_STATE_COMPLETED
    assert len(streams) == 0


async def test_a_client_that_reads_slowly_holds_up_neither_the_task_nor_others() -> None:
    model = Held(["x" * 65536] * 128)
    async with (
        desk(model) as (port, tasks),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=BIG) as slow,
        grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=BIG) as other,
    ):
        stream = stub_of(slow).SendStreamingMessage(said("Hi"), metadata=ANN)
        task = (await stream.read()).task
        await model.began.wait()
        model.go_on.set()
        async with asyncio.timeout(HANGS_S):
            while (job := tasks.api.work.get(task.id)) is not None:
                await asyncio.wait([job.task])
        done = await stub_of(other).GetTask(pb.GetTaskRequest(id=task.id), metadata=ANN)
        assert done.status.state == pb.TASK_STATE_COMPLETED
        stream.cancel()


async def test_bytes_of_strangers_are_not_parsed_and_big_and_deep_messages_are_refused() -> None:
    deep = b""
    for _ in range(5000):  # a list within a list: field 6 of a value, field 1 of a list
        inner = b"\x0a" + _length(deep) + deep
        deep = b"\x32" + _length(inner) + inner
    part = b"\x22" + _length(deep) + deep  # `Part.data`
    message = pb.Message(message_id="m", role=pb.ROLE_USER).SerializeToString() + b"\x2a" + _length(part) + part
    whole = b"\x0a" + _length(message) + message
    big = said("x" * MESSAGE_BYTES_MAX).SerializeToString()
    many = (*ANN, *((f"x-{number}", "y" * 4000) for number in range(20)))
    async with (
        desk(answering("Hello.")) as (port, _),
        grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel,
    ):
        send = channel.unary_unary("/lf.a2a.v1.A2AService/SendMessage")
        stream = channel.unary_stream("/lf.a2a.v1.A2AService/SendStreamingMessage")
        for body, metadata, code in (
            (b"\xff\xff", (V1,), grpc.StatusCode.UNAUTHENTICATED),
            (whole, (V1,), grpc.StatusCode.UNAUTHENTICATED),
            (b"\xff\xff", ANN, grpc.StatusCode.INVALID_ARGUMENT),
            (whole, ANN, grpc.StatusCode.INVALID_ARGUMENT),
            (big, ANN, grpc.StatusCode.RESOURCE_EXHAUSTED),
            (b"", many, grpc.StatusCode.RESOURCE_EXHAUSTED),
        ):
            for call in (send(body, metadata=metadata), stream(body, metadata=metadata)):
                assert await refused(call) == code, (body[:9], len(metadata), await call.details())
        nothing = channel.unary_unary("/lf.a2a.v1.A2AService/Nothing")
        assert await refused(nothing(b"", metadata=ANN)) == grpc.StatusCode.UNIMPLEMENTED
        sent = await stub_of(channel).SendMessage(said("Hi"), metadata=ANN)
        assert sent.task.artifacts[0].parts[0].text == "Hello."


async def test_http_and_grpc_count_requests_failed_keys_and_scopes_together() -> None:
    model, verifier, ports = Held(), Counting(KnownCallers()), list[int]()
    tasks = tasks_of(model, MemoryJournal())

    @asynccontextmanager
    async def beside(handler: RunHandler, admission: Admission) -> AsyncIterator[None]:
        async with serving_grpc(handler, settings_of(verifier), admission) as port:
            ports.append(port)
            yield

    door = A2ARoutes(tasks, Cards(CardSettings(), 0.0), beside=beside, drain_s=0.0)
    access = Access(verifier=verifier, scopes=("tools",))
    application = WebApplication(
        [door],
        WebApplicationSettings(access=access, requests_per_caller_max=2),
        attempts=Attempts(clock=FakeClock(now=6000.0)),
    )
    async with (
        serving(application.app) as url,
        httpx.AsyncClient(timeout=HANGS_S) as http,
        grpc.aio.insecure_channel(f"127.0.0.1:{ports[0]}") as channel,
    ):
        stub, asked = stub_of(channel), pb.GetTaskRequest(id="run_none")
        held = [stub.SendStreamingMessage(said("Hi", f"m{number}"), metadata=ANN) for number in range(2)]
        for each in held:
            await each.read()
        ann = {"authorization": "Bearer ann"}
        assert (await http.post(f"{url}/a2a/desk", json={}, headers=ann)).status_code == 429
        assert (await http.post(f"{url}/a2a/desk", json={}, headers={"authorization": "Bearer bob"})).status_code == 200
        application.change(WebApplicationSettings(access=Access(verifier=verifier, scopes=("audit",))))
        assert await refused(stub.GetTask(asked, metadata=ANN)) == grpc.StatusCode.PERMISSION_DENIED
        wrong = {"authorization": "Bearer wrong"}
        for _ in range(FREE_PER_KEY):
            assert (await http.post(f"{url}/a2a/desk", json={}, headers=wrong)).status_code == 401
        of_grpc = (V1, ("authorization", "Bearer wrong"))
        assert await refused(stub.GetTask(asked, metadata=of_grpc)) == grpc.StatusCode.RESOURCE_EXHAUSTED
        model.go_on.set()


def _length(data: bytes) -> bytes:
    """A length as protobuf writes it."""
    left, told = len(data), bytearray()
    while left > 127:
        told.append(left & 127 | 128)
        left >>= 7
    return bytes([*told, left])
