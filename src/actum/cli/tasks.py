"""`actum tasks`: calls and runs that outlive the request that asked for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import msgspec
import typer

from ..compose.task_queue import open_queue
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject, dumps
from ..core.pending import over_at
from ..core.task import DEAD, TASK_STATES, TaskLine
from ..tasks.queue import TaskQueue, TaskView
from . import options
from .exit_codes import DONE, FAILED, PAUSED
from .options import JournalFlag, JsonFlag, TenantFlag
from .show import moments
from .show.terminal import Terminal, who

T = TypeVar("T")

app = typer.Typer(help="Tasks: list, show, wait, cancel, retry.", invoke_without_command=True)


def _complete_task(incomplete: str) -> list[tuple[str, str]]:
    """The tasks whose id begins so, for the completion of a shell."""

    async def command() -> list[tuple[str, str]]:
        async with options.journal(options.read()) as opened:
            found = await open_queue(options.read(), opened).list(limit=100)
            return [(line.run_id, f"{line.state} {line.agent}") for line in found if line.run_id.startswith(incomplete)]

    try:
        return asyncio.run(command())
    except Exception:  # noqa: BLE001  # a shell that completes a word is told nothing of errors
        return []


def _complete_state(incomplete: str) -> list[str]:
    return [state for state in TASK_STATES if state.startswith(incomplete)]


TaskArgument = Annotated[
    str,
    typer.Argument(
        metavar="TASK", help="The task: its id, the beginning of it, or `last`.", autocompletion=_complete_task
    ),
]


@app.callback()
def tasks(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_tasks()


@app.command("list")
def list_tasks(
    state: Annotated[
        str, typer.Option("--state", help="Only tasks in this state.", autocompletion=_complete_state)
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many, the newest first.")] = 20,
    tenant: TenantFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """List the latest tasks."""
    if state and state not in TASK_STATES:
        raise UsageError(f"there is no state {state!r}; there are: {', '.join(TASK_STATES)}")
    terminal = Terminal()
    found = _on_queue(journal, lambda queue: queue.list(limit=limit, tenant=tenant, state=state))
    if as_json:
        terminal.json([_line(line) for line in found])
    elif not found:
        terminal.note("There are no tasks.")
    else:
        rows = [
            (
                moments.shown(line.queued),
                line.state,
                line.run_id,
                line.agent,
                str(line.attempt),
                line.error or line.problem,
            )
            for line in found
        ]
        terminal.table("when", "state", "task", "agent", "attempt", "error", rows=rows)


@app.command("show")
def show_task(task: TaskArgument = "last", as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Show a task: its state, progress, attempts and result."""
    _tell(Terminal(), _on_task(journal, task, lambda queue, run_id: queue.look(run_id)), as_json=as_json)


@app.command("wait")
def wait_for_task(
    task: TaskArgument = "last",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Wait so long at most. Default: until the task has ended.")
    ] = 0.0,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Wait until a task has ended, or waits for a person; how far it is stands on stderr meanwhile."""
    terminal = Terminal()

    async def watch(queue: TaskQueue, run_id: str) -> TaskView:
        left, told = seconds, ""
        while True:
            step = min(1.0, left) if seconds else 1.0
            view = await queue.wait(run_id, step)
            left -= step
            progress = dumps(view.progress.value) if view.progress is not None else ""
            more = view.line.problem or progress
            word = f"{view.line.state}, attempt {view.line.attempt}" + (f": {more}" if more else "")
            if word != told and not as_json:
                terminal.note(word)
                told = word
            waits = view.line.state == "waiting" and over_at(view.waiting) is None
            if view.line.is_finished or waits or (seconds and left <= 0):
                return view

    view = _on_task(journal, task, watch)
    _tell(terminal, view, as_json=as_json)
    if view.line.state == "waiting":
        return PAUSED
    return DONE if view.line.state == "succeeded" else FAILED


@app.command("cancel")
def cancel_task(task: TaskArgument, as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Cancel a task. What it is doing right now may have happened."""

    async def cancel(queue: TaskQueue, run_id: str) -> TaskView:
        await queue.cancel(run_id)
        return await queue.look(run_id)

    _tell(Terminal(), _on_task(journal, task, cancel), as_json=as_json)


@app.command("retry")
def retry_task(task: TaskArgument, as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Begin a task again that failed or timed out. What has an outcome is not done again."""

    async def retry(queue: TaskQueue, run_id: str) -> TaskView:
        await queue.retry(run_id, by=who())
        return await queue.look(run_id)

    _tell(Terminal(), _on_task(journal, task, retry), as_json=as_json)


def _on_queue(journal: str, act: Callable[[TaskQueue], Awaitable[T]]) -> T:
    async def command() -> T:
        settings = options.read(journal=journal)
        async with options.journal(settings) as opened:
            return await act(open_queue(settings, opened))

    return asyncio.run(command())


def _on_task(journal: str, named: str, act: Callable[[TaskQueue, str], Awaitable[T]]) -> T:
    async def command() -> T:
        settings = options.read(journal=journal)
        async with options.journal(settings) as opened:
            queue = open_queue(settings, opened)
            return await act(queue, await _found(opened, queue, named))

    return asyncio.run(command())


async def _found(journal: Journal, queue: TaskQueue, named: str) -> str:
    """The id of the task that a person names.

    Raises:
        UnknownName: there is none, or several begin so.
    """
    if journal.tasks is not None and await journal.tasks.find(named) is not None:
        return named
    lines = await queue.list(limit=1 if named == "last" else None)
    fitting = [line for line in lines if named == "last" or (named and line.run_id.startswith(named))]
    if len(fitting) == 1:
        return fitting[0].run_id
    if fitting:
        raise UnknownName(f"{len(fitting)} tasks begin with {named!r}: write more of the id")
    raise UnknownName(f"there is no task {named!r}: `actum tasks list` shows which there are")


def _line(line: TaskLine) -> JsonObject:
    told: JsonObject = msgspec.to_builtins(line)
    told["task_id"] = told.pop("run_id")
    return told


def _as_json(view: TaskView) -> JsonObject:
    told: JsonObject = msgspec.to_builtins(view)
    told.pop("line")
    return _line(view.line) | told


def _tell(terminal: Terminal, view: TaskView, *, as_json: bool) -> None:
    line = view.line
    if as_json:
        terminal.json(_as_json(view))
        return
    terminal.line("task", line.run_id)
    terminal.line("state", line.state)
    terminal.line("accepted", moments.shown(line.queued))
    if view.progress is not None:
        terminal.line("progress", dumps(view.progress.value))
    for each in view.attempts:
        took = f", {each.ended - each.started:.1f} s" if each.ended is not None else ""
        terminal.line(f"attempt {each.attempt}", f"{moments.shown(each.started)}{took} {each.error}".rstrip())
    for pending in view.waiting:
        terminal.line("waits for", f"{pending.message} (actum approvals show {pending.id})")
    if line.error:
        terminal.line("error", line.error)
    if line.problem:
        terminal.line("problem", line.problem)
    if line.state in DEAD:
        terminal.note(f"actum tasks retry {line.run_id} begins it again")
    if view.result is not None and view.result.error is None:
        terminal.text(view.result.text)
    elif view.text:
        terminal.text(view.text)
