"""`actum tasks`: a task is listed, shown, waited for, cancelled and begun again."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest
from typer.testing import Result

from actum import ToolCall, tool
from actum.core.clock import SystemClock
from actum.core.errors import ToolError
from actum.core.run.record import Started
from actum.core.run.task import TaskOptions
from actum.runs.runner import Runner
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue

Run = Callable[..., Result]
RECORD = ("--journal", "runs.db")


def queued(*, works: bool = False) -> str:
    """Accept a task, and make its attempt where that is wanted; its id."""

    @tool(effects={"read"})
    def fail(why: str) -> str:
        """Fail."""
        raise ToolError(why)

    async def command() -> str:
        journal = open_journal("runs.db")
        runner = Runner([fail], name="api", journal=journal)

        class Bench:
            async def build(self, started: Started) -> Resumable:
                return runner

        queue = TaskQueue(journal, clock=SystemClock())
        line = await queue.accept_call(runner, ToolCall("call", "fail", {"why": "no funds"}), TaskOptions())
        if works:
            await attempt(journal, Bench(), line.run_id, clock=SystemClock(), worker="w1")
        await journal.close()
        return line.run_id

    return asyncio.run(command())


@pytest.mark.row("P5")
def test_a_task_is_listed_shown_cancelled_and_begun_again(run: Run) -> None:
    assert run("tasks", "list", *RECORD).stderr.strip() == "There are no tasks."
    waiting, dead = queued(), queued(works=True)
    listed = json.loads(run("tasks", "list", "--json", *RECORD).stdout)
    assert [(each["task_id"], each["state"]) for each in listed["items"]] == [(dead, "failed"), (waiting, "queued")]
    shown = run("tasks", "show", "last", *RECORD)
    assert "failed" in shown.stdout
    assert "attempt 1" in shown.stdout
    assert run("tasks", "wait", dead, *RECORD).exit_code == 1
    assert run("tasks", "wait", waiting, "--seconds", "0.1", *RECORD).exit_code == 1
    cancelled = json.loads(run("tasks", "cancel", waiting, "--json", *RECORD).stdout)
    assert cancelled["state"] == "cancelled"
    again = run("tasks", "cancel", waiting, *RECORD)
    assert (again.exit_code, "cancelled" in again.stderr) == (2, True)
    begun = json.loads(run("tasks", "retry", dead, "--json", *RECORD).stdout)
    assert begun == {"task_id": dead, "state": "queued"}
    assert run("tasks", "show", "run_none", *RECORD).exit_code == 2
    assert run("tasks", "list", "--state", "gone", *RECORD).exit_code == 2
