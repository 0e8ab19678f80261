"""Every dispatcher on every database: what is killed, what hangs, what comes twice. All processes are real ones."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import pytest

from actum.compose.agents import make_runner
from actum.compose.journals import open_journal
from actum.compose.tools import load_tools
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.task import Backoff, TaskLine, TaskOptions
from actum.tasks.dispatcher import Dispatcher
from actum.tasks.queue import TaskQueue, TaskView
from actum.transport.process import start_of
from tests.broker import BrokerServer
from tests.storage.conftest import Store
from tests.tasks.service import DISPATCHERS, environment_of, settings_of

WAIT_S = 60.0
SOON = Backoff(base=0.1, jitter=0)


class Office:
    """A queue, and what its dispatchers write into a ledger outside of the journal.

    Args:
        kind: the dispatcher.
        place: of the journal.
        folder: holds the tools.
    """

    def __init__(self, kind: str, place: str, folder: Path) -> None:
        self.kind, self.place, self.folder = kind, place, folder
        self.settings = settings_of(place, folder)
        self.journal: Journal = open_journal(self.settings, environment_of(folder))
        tools = load_tools(self.settings, folder)
        self.runner = make_runner(self.settings, tools, name="api", journal=self.journal, approver=None)
        self.queue = TaskQueue(self.journal, clock=SystemClock())

    async def accept(
        self, tool: str, options: TaskOptions | None = None, tenant: str = "", **arguments: str | float
    ) -> TaskLine:
        """Accept a call of a tool."""
        call = ToolCall("call", tool, dict(arguments))
        return await self.queue.accept_call(self.runner, call, options or TaskOptions(), tenant=tenant)

    async def ended(self, line: TaskLine) -> TaskView:
        """How a task ended, or that it waits."""
        view = await self.queue.wait(line.run_id, WAIT_S)
        assert view.line.is_finished or view.line.state == "waiting", view
        return view

    def ledger(self, word: str) -> list[list[str]]:
        """What a tool has written."""
        path = self.folder / "ledger"
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == word]

    async def wrote(self, word: str) -> list[str]:
        """Wait until a tool has written, and say what."""
        await until(lambda: bool(self.ledger(word)))
        return self.ledger(word)[-1]

    @asynccontextmanager
    async def dispatching(self) -> AsyncIterator[Dispatcher]:
        """A dispatcher of this process."""
        dispatcher = DISPATCHERS[self.kind](self.settings, self.journal, self.folder)
        running = asyncio.create_task(dispatcher.run())
        try:
            yield dispatcher
        finally:
            await dispatcher.close()
            await running

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[str]]:
        """A server of its own, which can be killed."""
        command = [sys.executable, "-m", "tests.tasks.service", self.kind, self.place, str(self.folder)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment_of(self.folder)))
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield process
        finally:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    ends = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < ends
        await asyncio.sleep(0.02)


def is_gone(pid: str) -> bool:
    """Whether a process has ended."""
    return not start_of(int(pid))


@pytest.fixture(params=list(DISPATCHERS))
async def office(request: pytest.FixtureRequest, store: Store, tmp_path: Path) -> AsyncIterator[Office]:
    folder = tmp_path / "office"
    folder.mkdir()
    if request.param == "celery":
        broker: BrokerServer = request.getfixturevalue("broker")
        (folder / "broker").write_text(broker.url, "utf-8")
    if "://" not in store.place:
        Path(store.place).parent.mkdir(exist_ok=True)
    made = Office(request.param, store.place, folder)
    try:
        yield made
    finally:
        await made.journal.close()


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


async def test_the_time_limit_ends_a_tool_that_ignores_all_with_what_it_started(office: Office) -> None:
    async with office.dispatching():
        line = await office.accept("stubborn", TaskOptions(timeout_s=3))
        pids = await office.wrote("stubborn")
        view = await office.ended(line)
        assert (view.line.state, [each.error for each in view.attempts]) == ("timed_out", ["timed_out"])
        await until(lambda: all(is_gone(pid) for pid in pids))
        assert view.result is None


async def test_a_running_task_is_cancelled_by_another_process_of_the_journal(office: Office) -> None:
    with office.server():
        line = await office.accept("slow", seconds=600.0)
        await office.wrote("slow")
        assert (await office.queue.cancel(line.run_id)).state == "cancelled"


async def test_a_server_that_is_killed_takes_its_children_along_and_the_next_goes_on(office: Office) -> None:
    with office.server() as server:
        line = await office.accept("slow", TaskOptions(max_retries=1, backoff=SOON), seconds=600.0)
        (pid,) = await office.wrote("slow")
        server.send_signal(signal.SIGKILL)
        await until(lambda: is_gone(pid))
    queued = await office.accept("look", what="left")
    assert (await office.queue.look(line.run_id)).line.state == "running"
    async with office.dispatching():
        assert (await office.ended(queued)).line.state == "succeeded"
        await until(lambda: len(office.ledger("slow")) == 2)
        view = await office.queue.look(line.run_id)
        assert [each.error for each in view.attempts] == ["worker_lost", ""]
        await office.queue.cancel(line.run_id)


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
