"""`actum tasks`: calls and runs that outlive the request that asked for them. Its commands are made from operations; a
task is waited for by hand.
"""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer

from ...compose.administration import open_application
from ...core.json import dumps
from ...core.run.pending import over_at
from ...server.api.tasks.bodies import TaskDetails
from ...server.api.tasks.commands import FOUND_BY, told_of
from ...server.api.tasks.operations import OPERATIONS
from .. import options
from ..exit_codes import DONE, FAILED, PAUSED
from ..operated import add_commands, say
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal

app = typer.Typer(help="Tasks: list, show, wait, cancel, retry.", invoke_without_command=True)
TASKS = add_commands(app, OPERATIONS)


@app.command("wait")
def wait_for_task(
    task: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="The task: its id, the beginning of it, or `last`.",
            autocompletion=TASKS.completing(FOUND_BY),
        ),
    ] = "last",
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.0, help="Wait so long at most. Default: until the task has ended.")
    ] = 0.0,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Wait until a task has ended, or waits for a person; how far it is stands on stderr meanwhile."""
    terminal, settings = Terminal(), options.read(journal=journal)

    async def command() -> TaskDetails:
        async with open_application(settings) as application:
            run_id = await TASKS.find(application, FOUND_BY, task)
            left, told = seconds, ""
            while True:
                step = min(1.0, left) if seconds else 1.0
                view = await application.tasks.wait(run_id, step)
                left -= step
                progress = dumps(view.progress.value) if view.progress is not None else ""
                more = view.line.problem or progress
                word = f"{view.line.state}, attempt {view.line.attempt}" + (f": {more}" if more else "")
                if word != told and not as_json:
                    terminal.note(word)
                    told = word
                waits = view.line.state == "waiting" and over_at(view.waiting) is None
                if view.line.is_finished or waits or (seconds and left <= 0):
                    found = await TASKS.ask(application, "getTask", {"id": run_id})
                    assert isinstance(found, TaskDetails)
                    return found

    details = asyncio.run(command())
    if as_json:
        terminal.json(details)
    else:
        say(terminal, told_of(details, {}))
    if details.state == "waiting":
        return PAUSED
    return DONE if details.state == "succeeded" else FAILED
