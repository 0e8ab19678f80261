"""What is special about Celery and its broker: messages that come twice, late or never. All processes are real ones."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import httpx2
import pytest

from actum.agents.options import AgentOptions
from actum.compose.agents import open_agents
from actum.compose.journals import open_journal
from actum.compose.serving import BROKER_AWAY, Serving
from actum.compose.settings import read_settings
from actum.compose.tables.serve import ServeSettings
from actum.compose.task_worker import broker_depth, celery_dispatcher, check_worker
from actum.core.clock import SystemClock
from actum.core.errors import JournalError, UsageError
from actum.core.json import Json, JsonObject
from actum.core.run.task import Backoff, TaskLine, TaskOptions
from actum.server.access import Access
from actum.server.metrics import Metrics
from actum.tasks.celery import BROKER_S, Broker, CeleryDispatcher, celery_app
from actum.tasks.dispatcher import DispatcherState
from actum.tasks.queue import TaskQueue, TaskView
from actum.testing import FakeClock
from tests import warm
from tests.broker import BrokerServer, broker_server
from tests.compose.test_agents import SETTINGS, written
from tests.postgres import postgres_server
from tests.storage.conftest import Store
from tests.tasks.desk import Desk
from tests.tasks.office import WAIT_S, Office, is_gone, until
from tests.tasks.service import environment_of
from tests.transport.wire_servers import certificate
from tests.web import serving

T = TypeVar("T")
SOON = Backoff(base=0.1, jitter=0)
LOOK_S = BROKER_S - 1.0
"""Nobody who asks how the broker is waits as long as for a broker that hangs."""
TRIES = 5
ON_A_FILE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)
"""Tests of the broker: what the database does is shown by the others."""


@pytest.fixture
async def office(broker: BrokerServer, store: Store, tmp_path: Path) -> AsyncIterator[Office]:
    async with office_of(broker, store, tmp_path) as made:
        yield made


@asynccontextmanager
async def office_of(broker: BrokerServer, store: Store, tmp_path: Path) -> AsyncIterator[Office]:
    """An office whose dispatcher is Celery."""
    folder = tmp_path / "office"
    folder.mkdir()
    (folder / "broker").write_text(broker.url, "utf-8")
    if "://" not in store.place:
        Path(store.place).parent.mkdir(exist_ok=True)
    made = Office("celery", store.place, folder)
    try:
        yield made
    finally:
        await made.journal.close()


@asynccontextmanager
async def sending(office: Office) -> AsyncIterator[CeleryDispatcher]:
    """What a server sends messages with."""
    made = celery_dispatcher(office.settings, office.journal)
    running = asyncio.create_task(made.run())
    try:
        yield made
    finally:
        await made.close()
        await running


@ON_A_FILE
async def test_a_message_holds_the_id_of_the_run_alone_as_json(office: Office, broker: BrokerServer) -> None:
    line = await office.accept("look", what="a secret word")
    async with sending(office):
        await until(lambda: broker.depth() == 1)
    raw = broker.messages()[0]
    said = json.loads(raw)
    assert said["content-type"] == "application/json"
    arguments, named, _ = json.loads(broker.body(raw))
    assert (arguments, named) == ([line.run_id], {})
    assert b"secret word" not in raw
    assert b"secret word" not in broker.body(raw)


async def test_a_message_that_comes_twice_is_dropped_while_the_task_runs_and_when_it_is_over(
    office: Office, broker: BrokerServer
) -> None:
    line = await office.accept("slow", seconds=3.0)
    async with sending(office):
        await until(lambda: broker.depth() == 1)
    again = broker.messages()[0]
    for _ in range(3):
        broker.push(again)
    with office.server(), office.server():
        await office.wrote("slow")
        assert (await office.ended(line)).line.state == "succeeded"
        broker.push(again)
        broker.push(again)
        await until(lambda: broker.depth() == broker.unacknowledged() == 0)
    assert len(office.ledger("slow")) == 1
    assert len((await office.queue.look(line.run_id)).attempts) == 1


async def test_a_message_of_a_task_that_is_not_due_or_of_no_task_or_of_no_sense_does_nothing(
    office: Office, broker: BrokerServer
) -> None:
    due = await office.accept("look", what="now")
    async with sending(office):
        await until(lambda: broker.depth() == 1)
    sample = broker.messages()[0]
    later = await office.accept("look", TaskOptions(not_before=time.time() + 600), what="later")
    others: list[Json] = [later.run_id, "run_unknown", {"no": "id"}, 7]
    for other in others:
        broker.push(broker.with_arguments(sample, [other]))
    broker.push(b"{}")
    with office.server():
        assert (await office.ended(due)).line.state == "succeeded"
        await until(lambda: broker.depth() == broker.unacknowledged() == 0)
        assert (await office.queue.look(later.run_id)).line.state == "queued"
        assert (await office.ended(await office.accept("look", what="next"))).line.state == "succeeded"
    assert sorted(what for what, _ in office.ledger("look")) == ["next", "now"]


async def test_the_message_of_a_killed_worker_comes_again_after_the_result_and_ends(
    office: Office, broker: BrokerServer
) -> None:
    """As where a worker dies between the result and the acknowledgement."""
    (office.folder / "visibility").write_text("4", "utf-8")
    with office.server() as killed:
        line = await office.accept("slow", TaskOptions(max_retries=1, backoff=SOON), seconds=1.0)
        (pid,) = await office.wrote("slow")
        killed.kill()
        await until(lambda: is_gone(pid))
    assert broker.unacknowledged() == 1
    with office.server():
        assert (await office.ended(line)).line.state == "succeeded"
        await until(lambda: broker.depth() == broker.unacknowledged() == 0)
    view = await office.queue.look(line.run_id)
    assert [each.error for each in view.attempts] == ["worker_lost", ""]
    assert len(office.ledger("slow")) == 2


@ON_A_FILE
async def test_a_delay_and_an_attempt_longer_than_the_visibility_timeout_run_once(
    office: Office, broker: BrokerServer
) -> None:
    (office.folder / "visibility").write_text("1", "utf-8")
    with office.server(), office.server():
        delayed = await office.accept("look", TaskOptions(not_before=time.time() + 4), what="delayed")
        long = await office.accept("slow", seconds=13.0)  # the broker looks for lost messages every 10 seconds
        assert (await office.ended(delayed)).line.state == "succeeded"
        assert (await office.ended(long)).line.state == "succeeded"
        view = await office.queue.look(delayed.run_id)
        within_s = 5  # a process may have to start, and the look for lost messages comes later than that
        assert view.line.due <= view.attempts[0].started < view.line.due + within_s
        await until(lambda: broker.depth() == broker.unacknowledged() == 0)
    assert len(office.ledger("look")) == len(office.ledger("slow")) == 1


async def test_a_broker_that_is_away_or_forgets_all_delays_tasks_and_loses_none(store: Store, tmp_path: Path) -> None:
    with broker_server() as broker:
        async with office_of(broker, store, tmp_path) as office:
            broker.stop()
            async with sending(office) as dispatcher:
                queue = TaskQueue(office.journal, clock=SystemClock(), dispatcher=dispatcher)
                office.queue = queue
                lines = [await office.accept("look", what="away")]
                assert (await dispatcher.look()).broker is False
                broker.start()
                await until(lambda: broker.depth() == 1)
                await until_broker(dispatcher, is_up=True)
                broker.stop()
                broker.start()
                with office.server():
                    assert (await office.ended(lines[0])).line.state == "succeeded"
                    broker.stop()
                    lines.append(await office.accept("look", what="again"))
                    broker.start()
                    assert (await office.ended(lines[1])).line.state == "succeeded"
    assert [what for what, _ in office.ledger("look")] == ["away", "again"]


async def in_time(ask: Callable[[], Awaitable[T]]) -> T:
    """An answer that did not wait for a broker that hangs. The machine may be busy: one of some tries is in time."""
    took: list[float] = []
    while len(took) < TRIES:
        began = time.monotonic()
        answer = await ask()
        took.append(time.monotonic() - began)
        if took[-1] < LOOK_S:
            return answer
    raise AssertionError(took)


async def until_broker(dispatcher: CeleryDispatcher, *, is_up: bool) -> DispatcherState:
    """Wait until a dispatcher knows that the broker is there, or away; each answer has to come soon."""
    while True:
        found = await in_time(dispatcher.look)
        if found.broker is is_up:
            return found
        await asyncio.sleep(0.1)


@ON_A_FILE
async def test_readyz_and_metrics_tell_of_a_broker_that_is_away_or_hangs_and_are_not_kept_waiting(
    store: Store, tmp_path: Path
) -> None:
    with broker_server() as broker:
        async with office_of(broker, store, tmp_path) as office, sending(office) as dispatcher:
            await office.accept("look", TaskOptions(priority=7), what="x")
            await until(lambda: broker.depth() == 1)
            served = Serving(
                [], ServeSettings(), Access(), journal=office.journal, metrics=Metrics(), dispatcher=dispatcher
            )
            async with (
                serving(served.application.app) as origin,
                httpx2.AsyncClient(base_url=origin, timeout=WAIT_S) as client,
            ):

                async def until_ready(text: str) -> None:
                    async with asyncio.timeout(WAIT_S):
                        while True:
                            answer = await in_time(lambda: client.get("/readyz"))
                            assert answer.status_code == 200  # a server that accepts tasks is not taken off
                            if answer.text == text:
                                return
                            await asyncio.sleep(0.2)

                await until_ready("yes\n")
                told = (await client.get("/metrics")).text
                assert 'actum_tasks{priority="7",state="queued"} 1.0' in told
                assert 'actum_tasks{priority="5",state="failed"} 0.0' in told
                assert "\nactum_broker_up 1.0\n" in told
                assert "\nactum_broker_messages 1.0\n" in told
                with broker.hanging():
                    await until_ready(f"yes\n{BROKER_AWAY}\n")
                await until_ready("yes\n")
                broker.stop()
                await until_ready(f"yes\n{BROKER_AWAY}\n")
                broker.start()
                await until_ready("yes\n")


@ON_A_FILE
async def test_the_check_says_what_a_worker_would_lack(store: Store, tmp_path: Path) -> None:
    with broker_server() as broker:
        async with office_of(broker, store, tmp_path) as office:
            told = await check_worker(office.settings, office.journal, environment_of(office.folder), office.folder)
            assert not any(told.values())
            assert {"broker", "journal"} <= told.keys()
            broker.stop()
            told = await check_worker(office.settings, office.journal, environment_of(office.folder), office.folder)
            assert told["broker"].startswith("the broker can not be reached: ")
            broker.start()


@ON_A_FILE
async def test_a_worker_with_another_version_of_the_agent_leaves_the_run_for_one_that_fits_and_says_so(
    broker: BrokerServer, store: Store, tmp_path: Path
) -> None:
    table = f'\n[tasks]\ndispatcher = "celery"\nbroker = "{broker.url}"\n'
    fits = written(tmp_path / "fits", SETTINGS + table)
    other = written(tmp_path / "other", SETTINGS + table + '\n[tools."send"]\neffects = ["destroy"]\n')
    if "://" not in store.place:
        Path(store.place).parent.mkdir(exist_ok=True)
    settings = read_settings(fits, {}, {"journal": store.place})
    journal = open_journal(settings, {})
    queue = TaskQueue(journal, clock=SystemClock())
    async with open_agents(settings, {}, fits, journal=journal) as agents:
        line = await queue.accept_run(agents.get("coded"), "write to ann", TaskOptions(), AgentOptions())
    with worker_process(other, store.place) as unfit:
        log = await asyncio.to_thread(said_by, unfit, "left for a worker whose settings fit")
        assert line.run_id in log
        assert (await queue.look(line.run_id)).line.state == "queued"
        with worker_process(fits, store.place):
            view = await queue.wait(line.run_id, WAIT_S)
    assert (view.line.state, view.text) == ("succeeded", "sent to ann")
    await journal.close()


@contextmanager
def worker_process(folder: Path, journal: str) -> Iterator[subprocess.Popen[str]]:
    """`actum worker`, in a folder with settings."""
    command = [sys.executable, "-m", "actum", "worker", "--journal", journal]
    environment = dict(environment_of(folder))
    process = warm.popen(command, cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        yield process
        process.terminate()
        assert process.wait(WAIT_S) == 0
    finally:
        process.kill()
        process.wait()
        assert process.stderr is not None
        process.stderr.close()


def said_by(process: subprocess.Popen[str], words: str) -> str:
    """The line of a log that holds these words."""
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(line)
        if words in line:
            return line
    raise AssertionError("".join(lines))


def test_the_password_of_a_broker_is_not_shown(tmp_path: Path) -> None:
    said: JsonObject = {"broker": "rediss://:hidden-word@broker.example.org:6379/0"}
    settings = read_settings(tmp_path, {}, {"tasks": said})
    assert "hidden-word" not in repr(settings)
    assert "broker.example.org" in repr(settings)


def with_headers(said: JsonObject, number: int, **headers: Json) -> bytes:
    """A message like this one, with other headers and a tag of its own."""
    named, properties = said["headers"], said["properties"]
    assert isinstance(named, dict)
    assert isinstance(properties, dict)
    told = {"headers": {**named, **headers}, "properties": {**properties, "delivery_tag": f"{headers} {number}"}}
    return json.dumps({**said, **told}).encode()


@ON_A_FILE
async def test_garbage_in_the_queue_stops_no_worker_and_runs_nothing(office: Office, broker: BrokerServer) -> None:
    """Whoever can write to the broker can say what they like: only a task that is due is carried out, as on record."""
    due = await office.accept("look", what="now")
    async with sending(office):
        await until(lambda: broker.depth() == 1)
    sample = broker.messages()[0]
    said = json.loads(sample)
    pickled = {**said, "content-type": "application/x-python-serialize"}
    other_task = {**said, "headers": {**said["headers"], "task": "os.system"}}
    lies = {
        "not JSON": b"\xff\x00 garbage",
        "empty": b"",
        "a number": b"7",
        "a list": b"[]",
        "null": b"null",
        "deep": b"[" * 100_000,
        "no properties": json.dumps({"body": said["body"]}).encode(),
        "no body": json.dumps({**said, "body": None}).encode(),
        "body of no Base64": json.dumps({**said, "body": "%%%"}).encode(),
        "pickle": json.dumps(pickled).encode(),
        "another task": json.dumps(other_task).encode(),
        "no arguments": broker.with_arguments(sample, []),
        "many arguments": broker.with_arguments(sample, [due.run_id, due.run_id]),
        "a NUL": broker.with_arguments(sample, ["run_\x00"]),
        "a surrogate": broker.with_arguments(sample, ["run_\ud800"]),
        "long": broker.with_arguments(sample, ["r" * 1_000_000]),
        **{f"delayed {at}": with_headers(said, at, eta="2199-01-01T00:00:00+00:00") for at in range(3)},
        **{f"of odd headers {at}": with_headers(said, at, timelimit=7, retries="x", group={}) for at in range(3)},
        **{f"compressed {at}": with_headers(said, at, compression="application/x-bz2") for at in range(3)},
    }
    with office.server() as worker:
        assert (await office.ended(due)).line.state == "succeeded"
        behind: dict[str, str] = {}
        for name, lie in lies.items():
            broker.push(lie)
            behind[name] = (await office.accept("look", what="next")).run_id
        for name, run_id in behind.items():
            view = await office.queue.wait(run_id, 40)
            assert (view.line.state, worker.poll()) == ("succeeded", None), name
    assert len(office.ledger("look")) == 1 + len(lies)


async def test_a_broker_over_tls_has_to_show_a_certificate_that_is_trusted(
    broker: BrokerServer, tmp_path: Path
) -> None:
    """Without a word of ours kombu would believe any certificate, and send the password there."""
    context, _ = certificate(tmp_path, "127.0.0.1")
    asked: list[bytes] = []

    forwarding: set[asyncio.Task[None]] = set()

    async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter, seen: list[bytes]) -> None:
        while part := await source.read(65_536):
            seen.append(part)
            to.write(part)

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        forwarding.add(task)
        behind, onward = await asyncio.open_connection("127.0.0.1", broker.port)
        try:
            await asyncio.gather(copy(reader, onward, asked), copy(behind, writer, []))
        except asyncio.CancelledError:  # the end of the test
            pass
        finally:
            for each in (writer, onward):
                each.transport.abort()

    for query, is_trusted in (("", False), (f"?ssl_ca_certs={tmp_path / 'server.pem'}", True)):
        server = await asyncio.start_server(forward, "127.0.0.1", 0, ssl=context)
        address = f"rediss://127.0.0.1:{server.sockets[0].getsockname()[1]}/0{query}"
        settings = read_settings(tmp_path, {}, {"tasks": {"dispatcher": "celery", "broker": address}})
        try:
            if is_trusted:
                assert await broker_depth(settings) == 0
            else:
                with pytest.raises(UsageError, match="CERTIFICATE_VERIFY_FAILED"):
                    await broker_depth(settings)
                assert asked == []
        finally:
            server.close()
            for each in forwarding:
                each.cancel()
            await asyncio.gather(*forwarding, return_exceptions=True)
            forwarding.clear()


@ON_A_FILE
async def test_a_broker_that_is_killed_while_a_task_runs_changes_nothing_for_the_task(
    store: Store, tmp_path: Path
) -> None:
    with broker_server() as broker:
        async with office_of(broker, store, tmp_path) as office:
            with office.server():
                line = await office.accept("slow", seconds=3.0)
                queued = await office.accept("look", what="queued")
                await office.wrote("slow")
                broker.stop()
                broker.start()
                view = await office.ended(line)
                assert (view.line.state, len(view.attempts)) == ("succeeded", 1)
                assert (await office.ended(queued)).line.state == "succeeded"
                assert (await office.ended(await office.accept("look", what="after"))).line.state == "succeeded"
                await until(lambda: broker.depth() == broker.unacknowledged() == 0)
    assert len(office.ledger("slow")) == 1
    assert [what for what, _ in office.ledger("look")] == ["queued", "after"]


@pytest.mark.parametrize("kind", ["local", "celery"])
async def test_a_database_that_is_killed_while_a_task_runs_loses_no_task(
    kind: str, broker: BrokerServer, tmp_path: Path
) -> None:
    """The claim goes with the database. The attempt counts as lost, and the next one ends well."""
    with postgres_server() as database:
        folder = tmp_path / "office"
        folder.mkdir()
        if kind == "celery":
            (folder / "broker").write_text(broker.url, "utf-8")
        office = Office(kind, database.new_journal(), folder)
        with office.server() as server:
            options = TaskOptions(max_retries=3, backoff=SOON)
            line = await office.accept("slow", options, seconds=2.0)
            queued = await office.accept("look", options, what="queued")  # may have begun when the database dies
            await office.wrote("slow")
            database.kill()
            database.start()
            for each in (line, queued):
                assert (await ended_in_time(office, each)).line.state == "succeeded"
            assert server.poll() is None
            after = await office.accept("look", what="after")
            assert (await ended_in_time(office, after)).line.state == "succeeded"
        await office.journal.close()
    assert 1 <= len(office.ledger("slow")) <= 2


async def ended_in_time(office: Office, line: TaskLine) -> TaskView:
    """How a task ended, asked again where the database was away."""
    async with asyncio.timeout(WAIT_S):
        while True:
            with suppress(JournalError):
                return await office.ended(line)
            await asyncio.sleep(0.2)


async def test_a_queued_and_a_waiting_task_are_cancelled_and_their_messages_do_nothing(
    office: Office, broker: BrokerServer
) -> None:
    queued = await office.accept("look", what="cancelled")
    async with sending(office):
        await until(lambda: broker.depth() == 1)
        assert (await office.queue.cancel(queued.run_id)).state == "cancelled"
    with office.server():
        doubtful = await office.ended(await office.accept("ship", TaskOptions(max_retries=2, backoff=SOON), to="x"))
        assert doubtful.line.state == "waiting"
        assert (await office.queue.cancel(doubtful.line.run_id)).state == "cancelled"
        assert (await office.ended(await office.accept("look", what="next"))).line.state == "succeeded"
        await until(lambda: broker.depth() == broker.unacknowledged() == 0)
        for line in (queued, doubtful.line):
            assert (await office.queue.look(line.run_id)).line.state == "cancelled"
    assert [what for what, _ in office.ledger("look")] == ["next"]
    assert len(office.ledger("ship")) == 1


async def test_a_task_for_a_day_next_week_and_one_that_waits_a_week_for_a_person_hold_no_message(
    broker: BrokerServer, store: Store
) -> None:
    clock = FakeClock()
    journal = store.open(clock=clock)
    desk = Desk(journal, clock)
    sender = CeleryDispatcher(journal, Broker(celery_app(broker.url)), clock=clock)
    running = asyncio.create_task(sender.run())
    week = 7 * 86_400.0
    later = await desk.accept(options=TaskOptions(not_before=clock.now() + week))
    asking = await desk.accept("pay", to="bob")
    await until(lambda: broker.depth() == 1)  # the message of the task that is going to ask
    await desk.attempt(asking.run_id)
    assert (await desk.queue.look(asking.run_id)).line.state == "waiting"
    broker.empty()
    for _ in range(100):
        slept = len(clock.slept)
        clock.advance(week / 101)
        await until(lambda slept=slept: len(clock.slept) > slept)  # type: ignore[misc]  # it looked again
    assert broker.depth() == 0
    clock.advance(week / 100)
    await until(lambda: broker.depth() == 1)
    assert json.loads(broker.body(broker.messages()[0]))[0] == [later.run_id]
    await sender.close()
    await running


async def test_a_broker_that_hangs_for_a_while_ends_no_worker_and_loses_no_task(tmp_path: Path) -> None:
    with broker_server() as broker:
        async with office_of(broker, Store(str(tmp_path / "journal.db")), tmp_path) as office:
            with office.server() as worker:
                running = await office.accept("slow", seconds=2.0)
                await office.wrote("slow")
                with broker.hanging():
                    line = await office.accept("look", what="meanwhile")
                    view = await office.ended(running)  # the acknowledgement hangs, the task does not
                    assert (view.line.state, len(view.attempts)) == ("succeeded", 1)
                    with pytest.raises(subprocess.TimeoutExpired):
                        await asyncio.to_thread(worker.wait, BROKER_S + 2)
                assert (await office.ended(line)).line.state == "succeeded"
                assert worker.poll() is None
    assert [what for what, _ in office.ledger("look")] == ["meanwhile"]
