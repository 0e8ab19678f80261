"""A task that a process can not build waits for one that can, says why at once, and fails when its time is over."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest

from actum.agents.options import AgentOptions
from actum.compose.agents import open_agents
from actum.compose.settings import read_settings
from actum.compose.task_child import SettingsBuilder
from actum.core.identity import Identity
from actum.core.interfaces import Journal
from actum.core.run.record import TaskEnded
from actum.core.run.task import TaskLine, TaskOptions
from actum.server.api.tasks.operations import UNBUILT
from actum.server.api.tasks.operations import task_info as info_of
from actum.tasks.attempt import LeftTask, attempt
from actum.tasks.children import TaskChildren, left_for_s
from actum.tasks.queue import TaskQueue
from actum.testing import FakeClock
from tests.cli.test_serve import PATHS, Server
from tests.compose.test_agents import SETTINGS, written
from tests.patience import HANGS_S
from tests.storage.conftest import Store

NAMES = ("cel", "redis", "celery", "psycopg", "secrets", "sqlite3", "msgspec", "actum")
"""Modules of libraries, of Python and of ours that a folder may have files of the same name as."""
TOOLS = '''
from actum import tool
import beside


@tool(effects={"read"})
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b + beside.NOTHING
'''
POLICY = """
default = "allow"
[[rules]]
then = "deny"
tools = "add"
when = "args.a > 100"
"""


@pytest.mark.row("P5")
async def test_a_file_beside_the_settings_takes_the_place_of_no_library_in_the_process_of_a_task(
    tmp_path: Path,
) -> None:
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('this is no library')\n", "utf-8")
    (tmp_path / "beside.py").write_text("NOTHING = 0\n", "utf-8")
    (tmp_path / "tools.py").write_text(TOOLS, "utf-8")
    (tmp_path / "policy.toml").write_text(POLICY, "utf-8")
    (tmp_path / "actum.toml").write_text('tools = ["tools.py"]\npolicy = "policy.toml"\n', "utf-8")
    process = await asyncio.create_subprocess_exec(
        *(Path(sys.executable).with_name("actum"), "serve", "--http", "127.0.0.1:0"),
        stderr=asyncio.subprocess.PIPE,
        cwd=tmp_path,
        env={**PATHS, "HOME": str(tmp_path), "ACTUM_JOURNAL": "runs.db"},
    )
    server = Server(process, tmp_path)
    try:
        line = await server.heard("actum serves at")
        url = next(word.rstrip(",") for word in line.split() if "://" in word)
        async with httpx2.AsyncClient(base_url=url, timeout=HANGS_S) as client:
            asked = {"arguments": {"a": 2, "b": 3}, "execute_async": True}
            task = (await client.post("/v1/tools/add/call", json=asked)).json()["task_id"]
            told = (await client.get(f"/v1/tasks/{task}", params={"wait": "30"})).json()
    finally:
        process.kill()
        server.said.append((await process.communicate())[1].decode())
    assert (told["state"], told["result"], told["problem"]) == ("succeeded", 5, None), (told, server.said)


class Tasks:
    """Tasks of an agent, and processes of two versions of its settings."""

    def __init__(self, journal: Journal, folder: Path, clock: FakeClock) -> None:
        self.journal, self.clock = journal, clock
        self.queue = TaskQueue(journal, clock=clock)
        more = '\n[tools."send"]\neffects = ["destroy"]\n'
        self.folders = {True: written(folder / "fits"), False: written(folder / "other", SETTINGS + more)}

    async def accept(self, timeout_s: float | None) -> str:
        async with open_agents(
            read_settings(self.folders[True], {}, {}), {}, self.folders[True], journal=self.journal
        ) as agents:
            options = TaskOptions(timeout_s=timeout_s)
            return (await self.queue.accept_run(agents.get("coded"), "write to ann", options, AgentOptions())).run_id

    async def attempt(self, task: str, *, fits: bool) -> TaskLine | LeftTask:
        folder = self.folders[fits]
        settings = read_settings(folder, {}, {})
        async with open_agents(settings, {}, folder, journal=self.journal) as agents:
            builder = SettingsBuilder(settings, {}, folder, self.journal, agents)
            return await attempt(self.journal, builder, task, clock=self.clock, worker="w")

    async def line(self, task: str) -> TaskLine:
        """The line, which the list tells as the task itself does."""
        await self.journal.sync(task)
        (listed,) = [each for each in await self.queue.list() if each.run_id == task]
        shown = (await self.queue.look(task)).line
        assert shown.problem == listed.problem
        return listed


@asynccontextmanager
async def tasks_in(store: Store, folder: Path) -> AsyncIterator[Tasks]:
    clock = FakeClock()
    yield Tasks(store.open(clock=clock), folder, clock)


@pytest.mark.row("P5")
async def test_a_task_that_no_process_can_build_says_why_at_once_and_goes_on_where_one_can(
    store: Store, tmp_path: Path
) -> None:
    async with tasks_in(store, tmp_path) as it:
        task = await it.accept(None)
        assert (await it.line(task)).problem == ""
        assert isinstance(await it.attempt(task, fits=False), LeftTask)
        line = await it.line(task)
        assert (line.state, line.error) == ("queued", "")
        assert "left for a worker whose settings fit" in line.problem
        for scopes, words in ((("admin",), line.problem), (("runs",), UNBUILT)):
            assert info_of(line, Identity(scopes=scopes)).problem == words
        it.clock.advance(1e6)  # nothing fails during a rolling upgrade, however long it takes
        assert isinstance(await it.attempt(task, fits=False), LeftTask)
        assert (await it.line(task)).state == "queued"
        await it.attempt(task, fits=True)
        line = await it.line(task)
        assert (line.state, line.problem) == ("succeeded", "")


@pytest.mark.row("P5")
async def test_a_task_that_nobody_could_build_for_its_whole_time_has_failed(store: Store, tmp_path: Path) -> None:
    async with tasks_in(store, tmp_path) as it:
        task = await it.accept(30.0)
        it.clock.advance(29.0)
        await it.attempt(task, fits=False)
        line = await it.line(task)
        assert line.state == "queued"
        assert left_for_s(line, it.clock.now()) == pytest.approx(1.0, abs=0.01)
        it.clock.advance(1.0)
        await it.attempt(task, fits=False)
        line = await it.line(task)
        assert (line.state, line.error, line.problem) == ("failed", "unfit", "")
        assert [each.record for each in await it.journal.read(task)][-1] == TaskEnded("failed", "unfit")
        await it.queue.retry(task, by="ann")
        await it.attempt(task, fits=True)
        assert (await it.line(task)).state == "succeeded"


async def test_a_task_whose_processes_do_not_start_says_so(store: Store, tmp_path: Path) -> None:
    async with tasks_in(store, tmp_path) as it:
        task = await it.accept(None)
        command = (sys.executable, "-c", "raise SystemExit('tools.py is broken')")
        children = TaskChildren(it.journal, command, setup=b"{}", environment={}, clock=it.clock)
        assert await children.carry_out(await it.line(task)) > 0
        assert "no process for tasks becomes ready" in (await it.line(task)).problem
        await children.close()
