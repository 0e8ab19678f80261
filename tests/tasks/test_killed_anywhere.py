"""A workflow as a task whose process is killed behind each record and before each effect loses and doubles nothing.

A process of its own forks each process that is killed, so that a kill costs no start of Python. What was left is
settled and gone on with here, as the next server would.
"""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from actum.core.run.chain import verify
from actum.core.run.record import InputRequested, Intended
from actum.storage.place import open_journal
from tests import warm
from tests.endurance import share
from tests.patience import HANGS_S
from tests.recorded.story import MEANT, Ledger
from tests.tasks.killed import Died, Task, Where
from tests.tasks.office import is_stopped

EVERY = share(1, 6)
"""Each such place is tried."""
POLL_S = 0.005


class Killer:
    """The process that forks those that are killed."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.tasks.killed"]
        self._process = warm.popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def kill(self, task: Task) -> Died:
        """Have a process carry a task out that is killed on the way; how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(task.line())
        self._process.stdin.flush()
        return Died(self._process.stdout.readline().strip())

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


@pytest.fixture(scope="module")
def killer() -> Iterator[Killer]:
    running = Killer()
    yield running
    running.close()


async def ended(task: Task) -> None:
    """Go on with a task in this process, until it has ended, and look at what happened."""
    journal = open_journal(task.place)
    ledger = Ledger(Path(task.ledger), task.name)
    line = await task.carry_out(journal, ledger)
    while not line.is_finished:
        line = await task.carry_out(journal, ledger)
    assert line.state == "succeeded", (task, line)
    records = []
    for run in await journal.runs(limit=None):
        if line.run_id in (run.run_id, run.parent):
            entries = await journal.read(run.run_id)
            assert not verify(entries)
            records += [entry.record for entry in entries]
    asked = sum(isinstance(each, InputRequested) and each.kind == "doubt" and not each.run for each in records)
    done, meant = Counter(ledger.effects()), Counter(MEANT["workflow"])
    assert 0 <= meant["plain"] - done["plain"] <= asked, task
    assert Counter({**done, "plain": 0}) == Counter({**meant, "plain": 0}), task
    assert sum(isinstance(each, Intended) for each in records) >= sum(meant.values())
    await journal.close()


async def freed(task: Task, pid: int) -> None:
    """Wait until another process may claim what a process drives. By then the process has to be gone."""
    journal = open_journal(task.place)
    names = [run.run_id for run in await journal.runs(limit=None)]
    for _ in range(int(HANGS_S / POLL_S)):
        if not await journal.driven(names):
            break
        await asyncio.sleep(POLL_S)
    assert not await journal.driven(names), task
    assert not is_stopped(str(pid)), task
    await journal.close()


@pytest.mark.row("C7")
@pytest.mark.row("P5")
@pytest.mark.endurance("src/actum/tasks", "src/actum/workflow", "src/actum/runs", "src/actum/call", "src/actum/storage")
@pytest.mark.parametrize("where", ["behind a record", "before an effect"])
async def test_a_task_whose_process_is_killed_anywhere_loses_nothing_and_does_nothing_twice(
    where: Where, place: str, tmp_path: Path, killer: Killer
) -> None:
    for number in range(1, 200):
        if where == "behind a record" and number % EVERY:
            continue
        task = Task(place, str(tmp_path / "ledger"), f"task-{number}", where, number)
        died = killer.kill(task)
        await ended(task)
        if died == "ended":
            break
        assert died == f"killed by {signal.SIGKILL.value}"
    assert number > len(MEANT["workflow"])


@pytest.mark.row("P5")
@pytest.mark.endurance("src/actum/tasks", "src/actum/workflow", "src/actum/runs", "src/actum/transport/process_tree.py")
@pytest.mark.parametrize("where", ["behind a record", "before an effect"])
async def test_a_task_whose_stopped_process_loses_its_server_is_gone_before_another_goes_on(
    where: Where, place: str, tmp_path: Path, killer: Killer
) -> None:
    for number in range(1, 200, share(1, 12)):
        task = Task(place, str(tmp_path / "ledger"), f"stopped-{number}", where, number, is_stopped=True)
        died = killer.kill(task)
        word, _, pid = died.partition(" ")
        if word == "stopped":
            await freed(task, int(pid))
        await ended(task)
        if word == "ended":
            break
        assert word == "stopped", died
    assert number > len(MEANT["workflow"])
