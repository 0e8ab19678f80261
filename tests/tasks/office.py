"""A queue of tasks, and the servers and workers of its journal: what the tests of dispatchers have in common."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

from actum.compose.agents import make_runner
from actum.compose.journals import open_journal
from actum.compose.tools import load_tools
from actum.core.call import ToolCall
from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.run.task import Backoff, TaskLine, TaskOptions
from actum.runs.options import RunOptions
from actum.tasks.dispatcher import Dispatcher
from actum.tasks.queue import TaskQueue, TaskView
from actum.transport.process_tree import PROC, start_of
from tests import warm
from tests.patience import HANGS_S
from tests.tasks.service import DISPATCHERS, environment_of, settings_of

WAIT_S = HANGS_S
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
        return await self.queue.accept_call(self.runner, call, options or TaskOptions(), RunOptions(tenant=tenant))

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
        process = warm.popen(command, stdout=subprocess.PIPE, text=True, env=dict(environment_of(self.folder)))
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


def is_stopped(pid: str) -> bool:
    """Whether a process is there and was stopped, by SIGSTOP."""
    with suppress(OSError):
        return (PROC / pid / "stat").read_text("ascii", "replace").rpartition(")")[2].split()[0] == "T"
    return False
