"""Every dispatcher and every database: what is killed, what hangs, what comes twice. All processes are real ones.

`make test` has each dispatcher and each database once, `make endurance` each dispatcher on each database: what a
dispatcher asks of a journal, `tests/storage` asks of both.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from actum.compose.task_child import COMMAND, setup_of
from actum.core.clock import SystemClock
from actum.core.run.task import TaskOptions
from actum.tasks.children import TaskChildren
from actum.tasks.local import LocalDispatcher
from actum.tasks.sweep import sweep
from actum.testing import FakeClock
from actum.transport.process_tree import descendants
from tests.broker import BrokerServer
from tests.endurance import share
from tests.storage.conftest import PLACES, Store
from tests.tasks.office import SOON, Office, is_gone, is_stopped, until
from tests.tasks.service import DISPATCHERS, environment_of

pytestmark = pytest.mark.endurance("src/actum/tasks", "src/actum/storage", "src/actum/transport/process_tree.py")

ALL = [(dispatcher, place) for dispatcher in DISPATCHERS for place in ("sqlite", "postgres")]


@pytest.fixture(params=share(ALL, [("local", "sqlite"), ("celery", "postgres")]), ids="-".join)
async def office(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Office]:
    dispatcher, place = request.param
    store = Store(PLACES[place](request))
    folder = tmp_path / "office"
    folder.mkdir()
    if dispatcher == "celery":
        broker: BrokerServer = request.getfixturevalue("broker")
        (folder / "broker").write_text(broker.url, "utf-8")
    if "://" not in store.place:
        Path(store.place).parent.mkdir(exist_ok=True)
    made = Office(dispatcher, store.place, folder)
    try:
        yield made
    finally:
        await made.journal.close()
        await store.close()


async def test_tasks_are_carried_out_in_other_processes_which_stay_warm_for_one_tenant_alone(office: Office) -> None:
    async with office.dispatching():
        for tenant in ("north", "north", "south", "north"):
            view = await office.ended(await office.accept("look", tenant=tenant, what=tenant))
            assert (view.line.state, view.result and view.result.text) == ("succeeded", f"seen {tenant}")
        pids: dict[str, set[str]] = {}
        for what, pid in office.ledger("look"):
            pids.setdefault(what, set()).add(pid)
        assert str(os.getpid()) not in pids["north"] | pids["south"]
        assert len(pids["north"]) == 1
        assert not pids["north"] & pids["south"]
        loud = await office.ended(await office.accept("noisy"))
        assert loud.result is not None
        assert loud.result.text == "nothing to read"
    assert all(is_gone(pid) for pid in pids["north"] | pids["south"])


@pytest.mark.row("P5")
async def test_a_task_that_kills_its_worker_uses_its_attempts_up(office: Office) -> None:
    """The call that reads is in doubt after each attempt and may be made again."""
    async with office.dispatching():
        line = await office.accept("die", TaskOptions(max_retries=2, backoff=SOON))
        view = await office.ended(line)
        assert (view.line.state, view.line.error) == ("failed", "worker_lost")
        assert [each.error for each in view.attempts] == ["worker_lost"] * 3
        assert len(office.ledger("die")) == 3
        doubtful = await office.ended(await office.accept("ship", TaskOptions(max_retries=5, backoff=SOON), to="x"))
        assert (doubtful.line.state, [asked.kind for asked in doubtful.waiting]) == ("waiting", ["doubt"])
        assert len(office.ledger("ship")) == 1


@asynccontextmanager
async def sweeping(office: Office) -> AsyncIterator[None]:
    """Another process looks for tasks whose process is lost, again and again."""
    index = office.journal.tasks
    assert index is not None

    async def look() -> None:
        while True:
            await sweep(office.journal, index, SystemClock())
            await asyncio.sleep(0.005)

    looking = asyncio.create_task(look())
    yield
    looking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await looking


async def test_the_time_limit_ends_a_tool_that_ignores_all_with_what_it_started(office: Office) -> None:
    async with office.dispatching(), sweeping(office):
        for timeout_s in (3, 15, 60):  # the limit runs while the child starts, which takes long on a busy machine
            view = await office.ended(await office.accept("stubborn", TaskOptions(timeout_s=timeout_s)))
            assert (view.line.state, [each.error for each in view.attempts]) == ("timed_out", ["timed_out"])
            assert view.result is None
            if office.ledger("stubborn"):
                break
        (pids,) = office.ledger("stubborn")
        await until(lambda: all(is_gone(pid) for pid in pids))


async def test_a_running_task_is_cancelled_by_another_process_of_the_journal(office: Office) -> None:
    with office.server():
        line = await office.accept("slow", seconds=600.0)
        await office.wrote("slow")
        assert (await office.queue.cancel(line.run_id)).state == "cancelled"


async def test_a_server_that_is_killed_takes_its_children_along_and_the_next_goes_on(office: Office) -> None:
    with office.server() as server:
        line = await office.accept("slow", TaskOptions(max_retries=1, backoff=SOON), seconds=600.0)
        halted = await office.accept("halt")
        pids = [*await office.wrote("slow"), *await office.wrote("halt")]
        await until(lambda: is_stopped(pids[1]))
        server.send_signal(signal.SIGKILL)
        await until(lambda: all(is_gone(pid) for pid in pids))
    queued = await office.accept("look", what="left")
    assert (await office.queue.look(line.run_id)).line.state == "running"
    async with office.dispatching():
        assert (await office.ended(queued)).line.state == "succeeded"
        await until(lambda: len(office.ledger("slow")) == 2)
        view = await office.queue.look(line.run_id)
        assert [each.error for each in view.attempts] == ["worker_lost", ""]
        await office.queue.cancel(line.run_id)
        lost = (await office.ended(halted)).line
        assert (lost.state, lost.error, office.ledger("went")) == ("failed", "worker_lost", [])


@pytest.mark.row("P5")
async def test_two_dispatchers_of_one_journal_do_each_task_once(office: Office) -> None:
    lines = [await office.accept("look", what=str(at)) for at in range(10)]
    async with office.dispatching(), office.dispatching():
        for line in lines:
            assert (await office.ended(line)).line.state == "succeeded"
    assert sorted(int(what) for what, _ in office.ledger("look")) == list(range(10))


async def test_a_dispatcher_that_ends_puts_its_tasks_back_and_their_attempts_do_not_count(office: Office) -> None:
    async with office.dispatching():
        line = await office.accept("slow", seconds=600.0)
        (pid,) = await office.wrote("slow")
    assert is_gone(pid)
    view = await office.queue.look(line.run_id)
    assert (view.line.state, view.line.error, view.line.may_retry) == ("retrying", "stopped", True)


async def test_the_first_task_starts_one_process_which_is_there_before_it_only_where_there_were_tasks(
    tmp_path: Path,
) -> None:
    office, environment = Office("local", str(tmp_path / "journal.db"), tmp_path), environment_of(tmp_path)
    setup = setup_of(office.settings, environment, tmp_path)
    starts = tmp_path / "starts"
    command = ("sh", "-c", 'echo >> "$0"; exec "$@"', str(starts), *COMMAND)
    for had_tasks, in_all in ((False, 1), (True, 2)):
        looking, before = FakeClock(office.journal.now()), descendants(os.getpid())
        children = TaskChildren(office.journal, command, setup=setup, environment=environment, clock=SystemClock())
        dispatcher = LocalDispatcher(office.journal, children, clock=looking)
        running = asyncio.create_task(dispatcher.run())
        await until(lambda: bool(looking.slept) and bool(descendants(os.getpid()) - before) is had_tasks)  # noqa: B023
        line = await office.accept("look", what="it")
        dispatcher.wake(line.run_id)
        assert (await office.ended(line)).line.state == "succeeded"
        assert len(starts.read_text().splitlines()) == in_all
        await dispatcher.close()
        await running
    await office.journal.close()
