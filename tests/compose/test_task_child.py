"""What a process for tasks builds: the agents of the settings as the server has them, and no other version."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from actum.agents.options import AgentOptions
from actum.compose.agents import open_agents
from actum.compose.settings import read_settings
from actum.compose.task_child import COMMAND, SettingsBuilder, Setup, open_builder
from actum.core.clock import SystemClock
from actum.core.run.record import Started
from actum.core.run.task import TaskOptions
from actum.storage.sqlite import SQLiteJournal
from actum.tasks.attempt import LeftTask, attempt
from actum.tasks.builder import Unfit
from actum.tasks.queue import TaskQueue
from tests.compose.test_agents import SETTINGS, written


async def test_a_child_builds_the_agents_of_the_settings_that_the_server_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "one")
    settings = read_settings(folder, {}, {"journal": str(tmp_path / "journal.db")})
    setup = msgspec.json.encode(Setup(settings=settings, journal=settings.journal, folder=str(folder)))
    assert msgspec.json.decode(setup, type=Setup).settings == settings
    async with open_builder(setup) as (journal, builder), open_agents(settings, {}, folder, journal=journal) as agents:
        for name in ("desk", "coded"):
            reference = await agents.get(name).reference()
            await builder.build(Started(agent=name, model="m", said=(), agent_digest=reference.digest))
        for direct in ("api", "mcp"):
            await builder.build(Started(agent=direct, model="", said=()))
        for name, model in (("nobody", "m"), ("api", "m"), ("gone", "")):
            with pytest.raises(Unfit):
                await builder.build(Started(agent=name, model=model, said=()))


async def test_of_two_versions_of_an_agent_only_the_one_that_fits_goes_on(tmp_path: Path) -> None:
    old = written(tmp_path / "one")
    settings = read_settings(old, {}, {})
    journal = SQLiteJournal(tmp_path / "journal.db")
    queue = TaskQueue(journal, clock=SystemClock())
    async with open_agents(settings, {}, old, journal=journal) as agents:
        line = await queue.accept_run(agents.get("coded"), "write to ann", TaskOptions(), AgentOptions())
    # Settings that change after the task was accepted: the labels of an agent belong to its digest.
    other = written(tmp_path / "three", SETTINGS + '\n[tools."send"]\neffects = ["destroy"]\n')
    changed = read_settings(other, {}, {})
    async with open_agents(changed, {}, other, journal=journal) as agents:
        builder = SettingsBuilder(changed, {}, other, journal, agents)
        left = await attempt(journal, builder, line.run_id, clock=SystemClock(), worker="w2")
    assert isinstance(left, LeftTask)
    assert left.is_unfit
    assert "left for a worker whose settings fit" in left.reason
    assert (await queue.look(line.run_id)).line.state == "queued"
    async with open_agents(settings, {}, old, journal=journal) as agents:
        builder = SettingsBuilder(settings, {}, old, journal, agents)
        await attempt(journal, builder, line.run_id, clock=SystemClock(), worker="w1")
    view = await queue.look(line.run_id)
    assert (view.line.state, view.text) == ("succeeded", "sent to ann")
    await journal.close()


async def test_a_person_who_starts_a_child_by_hand_is_told_that_it_is_none_of_theirs() -> None:
    done = await asyncio.to_thread(subprocess.run, COMMAND, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "dispatcher of tasks" in done.stderr
    assert sys.executable == COMMAND[0]
