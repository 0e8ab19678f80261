"""The stream of events by itself: what a client is sent when."""

from __future__ import annotations

import asyncio
from functools import partial

import pytest
from starlette.types import Message

from actum.core.call import ToolCall
from actum.core.identity import Identity
from actum.core.json import JsonObject, dumps
from actum.journal.memory import MemoryJournal
from actum.journal.watch import JournalWatch
from actum.runs.options import RunOptions
from actum.runs.runner import Runner
from actum.server.api.events import COMMENT_S, EventStream, Streams
from actum.server.api.records import Records
from actum.server.api.runs.following import run_events
from actum.server.api.runs.views import EventFold
from actum.testing import FakeClock
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

from .application import Bank, NoDrop

SCOPE = {"type": "http", "method": "GET"}


class Client:
    """A client of a stream: it keeps what it is sent, and hangs up when it is told to."""

    def __init__(self) -> None:
        self.sent: list[Message] = []
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.sent).decode()


@pytest.fixture
async def paused() -> tuple[MemoryJournal, str]:
    """A run that waits for a person."""
    journal = MemoryJournal()
    runner = Runner(Bank().tools, policy=NoDrop(), journal=journal)  # type: ignore[arg-type]
    result = await runner.call(
        [ToolCall("1", "pay", {"to": "A", "amount": 1})], RunOptions(principal="ann"), by="client"
    )
    return journal, result.run_id


async def settled() -> None:
    """Let all tasks come to where they wait."""
    for _ in range(50):
        await asyncio.sleep(0)


async def stream_of(
    journal: MemoryJournal, run_id: str, clock: FakeClock | None = None, *, after: int = -1
) -> EventStream:
    """The stream of a run, for a client that has the events up to one."""
    clock = clock or FakeClock()
    recorded = await Records(journal, clock).run(run_id, Identity(principal="ann"))
    mask = partial(Records(journal, clock).mask, Identity(principal="ann"))
    return EventStream(run_events(JournalWatch(journal, clock), recorded, after, mask=mask), clock)


async def test_a_silent_stream_sends_a_comment_every_15_seconds(paused: tuple[MemoryJournal, str]) -> None:
    journal, run_id = paused
    clock, client = FakeClock(), Client()
    stream = await stream_of(journal, run_id, clock)
    task = asyncio.create_task(stream(SCOPE, client.receive, client.send))
    await settled()
    assert client.text.count("\nid: ") == 4
    assert "still here" not in client.text
    for count in (1, 2, 3):
        clock.advance(COMMENT_S)
        await settled()
        assert client.text.count(": still here") == count
    client.gone.set()
    await task


async def test_a_client_that_leaves_a_stream_leaves_nothing_behind(paused: tuple[MemoryJournal, str]) -> None:
    journal, run_id = paused
    client, streams = Client(), Streams()
    stream = streams.opened(await stream_of(journal, run_id))
    before = asyncio.all_tasks()
    task = asyncio.create_task(stream(SCOPE, client.receive, client.send))
    await settled()
    assert stream.home == {stream}
    client.gone.set()
    await task
    assert stream.home == set()
    assert asyncio.all_tasks() == before


async def test_a_stream_that_the_server_ends_says_so(paused: tuple[MemoryJournal, str]) -> None:
    journal, run_id = paused
    client, streams = Client(), Streams()
    stream = streams.opened(await stream_of(journal, run_id, after=2))
    task = asyncio.create_task(stream(SCOPE, client.receive, client.send))
    await settled()
    streams.end()
    await task
    assert "id: 2" not in client.text
    assert "id: 3" in client.text
    assert client.text.endswith(": the server stops\nretry: 1000\n\n")
    assert client.sent[-1].get("more_body", False) is False
    late = Client()
    await streams.opened(await stream_of(journal, run_id))(SCOPE, late.receive, late.send)
    assert late.text.endswith("retry: 1000\n\n")


async def test_each_event_of_a_call_names_its_tool_also_where_a_node_of_a_workflow_makes_the_call() -> None:
    def look() -> str:
        return "seen"

    nodes: JsonObject = {"a": {"type": "tool", "tool": "look"}}
    text = dumps({"actum": "workflow/1", "name": "w", "nodes": nodes}).encode()
    flow = Workflow(read_definition(text), [look])
    done = await flow.run()
    fold = EventFold(done.run_id)
    events = [fold.take(entry) for entry in await flow.journal.read(done.run_id)]
    assert [(event.type, event.tool) for event in events if event.call] == [
        ("intended", "look"),
        ("call_completed", "look"),
    ]
