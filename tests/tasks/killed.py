"""Processes that carry a task out and are killed on the way, forked from this one: `python -m tests.tasks.killed`.

Each line of the input names a task and the place where its process dies. The answer is how the process ended. A process
that is only stopped there has a parent of its own, as the child of a server has, and the parent is killed then.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, NewType

import msgspec

from actum.core.clock import SystemClock
from actum.core.interfaces import Journal
from actum.core.run.record import Started
from actum.core.run.task import TaskLine, TaskOptions
from actum.runs.options import ConversationOptions
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt, settle
from actum.tasks.queue import TaskQueue
from actum.transport.process_keeper import KEEPER
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.recorded.record import KilledPostgres, KilledSQLite, entries_in_postgres, entries_in_sqlite, killed_behind
from tests.recorded.story import PART, WHOLE, Ledger, answers, tools

Where = Literal["behind a record", "before an effect"]
MARKED = "test"
"""Found in the environment of no process: a fork shows that of its parent."""
Died = NewType("Died", str)
"""`ended`, `killed by 9`, or `stopped 123` with the process that lost its parent."""


class OneWorkflow:
    """A `Builder` that builds one workflow.

    Args:
        workflow: the workflow.
    """

    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow

    async def build(self, started: Started) -> Workflow:
        """The workflow."""
        return self._workflow


class MortalLedger(Ledger):
    """Kills this process before an effect.

    Args:
        path, run_id: as for `Ledger`.
        effects: how many effects happen before.
        sign: what the process gets.
    """

    def __init__(self, path: Path, run_id: str, effects: int, sign: signal.Signals) -> None:
        super().__init__(path, run_id)
        self._left = effects
        self._sign = sign

    def write(self, kind: str, key: str) -> None:
        """Act, or die."""
        self._left -= 1
        if self._left < 0:
            signal.pthread_kill(threading.get_ident(), self._sign)
        super().write(kind, key)


class Task(NamedTuple):
    """A task, and where its process dies.

    Attributes:
        place: of the journal.
        ledger: the file of effects.
        name: its unique key.
        where, number: behind how many records of the attempt, or before which effect.
        is_stopped: there the process is stopped, and its parent is killed.
    """

    place: str
    ledger: str
    name: str
    where: Where
    number: int
    is_stopped: bool = False

    @property
    def sign(self) -> signal.Signals:
        """What the process gets at the place."""
        return signal.SIGSTOP if self.is_stopped else signal.SIGKILL

    def line(self) -> str:
        """One line of JSON."""
        return msgspec.json.encode(self).decode() + "\n"

    async def carry_out(self, journal: Journal, ledger: Ledger) -> TaskLine:
        """Accept the task, or go on with it, as a server does; answer what waits."""
        part = Workflow(read_definition(PART.encode()), tools(ledger), journal=journal)
        whole = Workflow(read_definition(WHOLE.encode()), [*tools(ledger), part.as_tool()], journal=journal)
        clock = SystemClock()
        queue = TaskQueue(journal, clock=clock)
        options = TaskOptions(unique_key=self.name, max_retries=100)
        line = await queue.accept_workflow(whole, {"items": [0, 1, 2]}, options, ConversationOptions())
        if line.state == "running":  # its process has ended
            await settle(journal, line.run_id, clock=clock, is_free=True)
        if (await queue.look(line.run_id)).line.state == "waiting":
            result = await whole.resume(line.run_id)
            while result.status == "paused":
                result = await whole.resume(line.run_id, answers(result))
            await settle(journal, line.run_id, clock=clock)
        else:
            await attempt(journal, OneWorkflow(whole), line.run_id, clock=clock, worker="w")
        return (await queue.look(line.run_id)).line


async def die(task: Task) -> None:
    """Carry a task out, and die on the way."""
    effects = task.number if task.where == "before an effect" else 1_000_000
    ledger = MortalLedger(Path(task.ledger), task.name, effects, task.sign)
    journal = mortal_journal(task) if task.where == "behind a record" else open_journal(task.place)
    line = await task.carry_out(journal, ledger)
    while not line.is_finished:
        line = await task.carry_out(journal, ledger)
    await journal.close()


def mortal_journal(task: Task) -> Journal:
    """A journal that kills its process behind so many records."""
    made: KilledSQLite | KilledPostgres
    is_postgres = task.place.startswith("postgresql:")
    made = KilledPostgres(task.place) if is_postgres else KilledSQLite(task.place)
    count: Callable[[str], int] = entries_in_postgres if is_postgres else entries_in_sqlite
    made.look = killed_behind(task.number, lambda: count(task.place), task.sign)
    return made


def killed(task: Task) -> Died:
    """Fork a process that carries the task out; how it ended."""
    pid = os.fork()
    if pid == 0:
        if not task.is_stopped:
            asyncio.run(die(task))
        elif lose_parent(task):
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    return Died("ended" if code == 0 else f"killed by {-code}")


def lose_parent(task: Task) -> bool:
    """Carry the task out in a child of this process, as a server does; whether the child was stopped on the way."""
    child = os.fork()
    if child == 0:
        os.setsid()
        asyncio.run(die(task))
        os._exit(0)
    KEEPER.add(child, MARKED)
    _, status = os.waitpid(child, os.WUNTRACED)
    if os.WIFSTOPPED(status):
        sys.stdout.write(f"stopped {child}\n")
        sys.stdout.flush()
    return os.WIFSTOPPED(status)


def main() -> None:
    """Fork a process for each line."""
    for line in sys.stdin:
        task = msgspec.json.decode(line, type=Task)
        died = killed(task)
        if not task.is_stopped or died == "ended":
            sys.stdout.write(f"{died}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
