"""Calls that go on after their request was answered: MCP's tasks, each of them a task of `actum.tasks`.

The id of a task is that of its run, and its state is read off the record: so a task outlives the request, the client's
connection, and with a journal on disk this process. MCP's tasks run in the process of their service (`InProcess`): only
there the client can be asked. A task that was interrupted is gone on with when it is asked after.

Source: the MCP extension `io.modelcontextprotocol/tasks` (SEP-2663), for protocol 2026-07-28.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import decode_header_value

from ...call.asking.inbox import records_of
from ...core.call import ToolResult
from ...core.errors import Busy, TaskRefused, UnknownName
from ...core.event import Event, RunResult, RunStarted
from ...core.identity import Identity
from ...core.interfaces import Journal
from ...core.json import JsonObject
from ...core.run.pending import Pending
from ...core.run.record import Entry, InputGiven
from ...core.run.task_line import line_of
from ...journal.recording import CallRef, RunState
from ...policy.record_mask import reader_mask
from ...protocols.mcp.tasks import EXTENSION, Task, TaskStatus
from ...runs.options import Emit
from ...runs.other_values import as_seen
from ...runs.run import Stopping
from ...runs.runner import Runner
from ...tasks.attempt import settle
from ...tasks.in_process import InProcess
from ...tasks.queue import TaskQueue
from .calls import (
    INVALID_PARAMS,
    MISSING_CAPABILITY,
    NotYet,
    answers_of,
    asked_of,
    go_on,
    outcome_of,
)
from .client import McpClient

HEADER_MISMATCH = -32020
INTERNAL_ERROR = -32603

TaskMode = Literal["never", "auto", "always", "required"]
"""When a call is answered with a task: never; when it takes longer than a moment; always; always, and clients that know
no tasks can not make it. What a `required` one asks before its work begins is asked before it is a task."""

UNKNOWN_TASK = "Unknown task"
MOMENT_S = 2.0
"""How long a call may take before its client is given a task to ask after, in seconds."""
POLL_MS = 500


class Tasks:
    """The tasks of a service.

    Args:
        runner: makes the calls.
        modes: when a call is answered with a task, by patterns of tools' names; the first that fits. `auto` for others.
        runner_of: finds what can go on with a run: of a published tool with the publication with which the run began.
        tell: writes the result of a call as its client is to be told it: the name of the tool and what it came to.
    """

    def __init__(
        self,
        runner: Runner,
        modes: Mapping[str, TaskMode],
        tell: Callable[[str, ToolResult], JsonObject],
        runner_of: Callable[[str], Awaitable[Runner]],
    ) -> None:
        self._runner = runner
        self._runner_of = runner_of
        self._journal: Journal = runner.journal
        self._modes = dict(modes)
        self._tell = tell
        self._tasks = InProcess(runner.journal, runner.clock, runner.name)
        self._queue = TaskQueue(runner.journal, clock=runner.clock, home=runner.name)

    def mode(self, tool: str) -> TaskMode:
        """When a call of this tool is answered with a task."""
        return next((mode for pattern, mode in self._modes.items() if fnmatchcase(tool, pattern)), "auto")

    async def perform(
        self,
        tool: str,
        client: McpClient,
        run_id: str,
        run: Callable[[Emit | None, Stopping], Coroutine[Any, Any, RunResult]],
    ) -> ToolResult | NotYet | Task:
        """Make a call, or go on with one, and wait for it as long as its mode says.

        Args:
            tool: its name.
            client: who makes it.
            run_id: of the call.
            run: does it; it is given what is to hear of events, and what says why it is cancelled.

        Raises:
            MCPError: the client would have needed to declare that it knows tasks.
        """
        mode = self.mode(tool)
        if not client.is_modern or EXTENSION not in client.extensions:
            if mode == "required":
                raise lacking_tasks()
            return outcome_of(await run(client.hears, Stopping()), client)
        if mode == "never":
            return outcome_of(await run(client.hears, Stopping()), client)
        begun = asyncio.Event()

        def emit(event: Event) -> None:
            if isinstance(event, RunStarted):
                if mode == "always":
                    self._tasks.adopt(run_id)
                begun.set()
            client.emit(event)

        task = self._tasks.start(run_id, lambda stopping: run(emit, stopping), is_task=False)
        if mode != "always":
            await _wait(task, MOMENT_S)
            if task.done() and (mode == "auto" or task.result().status == "paused"):
                return outcome_of(task.result(), client)
        waiting = asyncio.ensure_future(begun.wait())
        await asyncio.wait([task, waiting], return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        client.detach()
        if mode != "always" and task.done():
            await self._tasks.adopt_ended(run_id)
        elif mode != "always":
            self._tasks.adopt(run_id)
        await self._journal.sync(run_id)
        return await self._look(run_id, client)

    # What a client asks of a task -------------------------------------------------------------------------------------

    async def get(self, client: McpClient, who: Identity, params: JsonObject) -> JsonObject:
        """`tasks/get`: how far it is."""
        task_id = task_named(client, params)
        entries = await entries_of(self._journal, task_id, who)
        await self._revive(task_id, entries, client)
        return (await self._look(task_id, client)).detailed()

    async def update(self, client: McpClient, who: Identity, params: JsonObject) -> JsonObject:
        """`tasks/update`: what it asked for. It goes on when it has all of it; one that is over does not."""
        task_id = task_named(client, params)
        entries = await entries_of(self._journal, task_id, who)
        is_task = line_of(task_id, entries) is not None
        await self._quiet(task_id)
        given = params.get("inputResponses")
        answered: list[InputGiven] = []

        def answers(state: RunState) -> list[InputGiven]:
            if not _is_over(state):
                answered.extend(records_of(state, answers_of(state, given if isinstance(given, dict) else {}, who)))
            return answered

        state = await self._runner.answer(task_id, answers)
        if answered and not _asks(state, client):
            self._tasks.start(
                task_id,
                lambda stopping: go_on(
                    self._runner_of,
                    task_id,
                    None,
                    client.detached(),
                    who,
                    journal=self._journal,
                    begins=self._tasks.begins(task_id) if is_task else None,
                    stopping=stopping,
                ),
                is_task=is_task,
            )
        return {}

    async def cancel(self, client: McpClient, who: Identity, params: JsonObject) -> JsonObject:
        """`tasks/cancel`: it is to stop; what it is doing may have happened."""
        task_id = task_named(client, params)
        await entries_of(self._journal, task_id, who)
        if not await self._tasks.cancel(task_id):
            with contextlib.suppress(TaskRefused, UnknownName):  # it has ended, or its call was answered without a task
                await self._queue.cancel(task_id, tenant=who.tenant, principal=who.principal)
        return {}

    async def _quiet(self, task_id: str) -> None:
        """Wait until what just paused has let go of its run."""
        running = self._tasks.get(task_id)
        if running is not None:
            await _wait(running, MOMENT_S)

    async def _revive(self, task_id: str, entries: list[Entry], client: McpClient) -> None:
        """Go on with a task that was interrupted: by an end of this process, say. A task waits on while its client has
        answered only some of its questions.
        """
        line = line_of(task_id, entries)
        if line is None or line.is_finished or line.state == "waiting" or self._tasks.get(task_id) is not None:
            return
        if line.state == "running" and not await self._journal.driven([task_id]):
            with contextlib.suppress(Busy):
                line = await settle(self._journal, task_id, clock=self._runner.clock, wait_s=0.0) or line
        if line.state == "queued" and _asks(RunState(entries), client):
            return
        if line.state in ("queued", "retrying") and not await self._journal.driven([task_id]):
            begins = self._tasks.begins(task_id)

            async def resume(stopping: Stopping) -> RunResult:
                runner = await self._runner_of(task_id)
                return await runner.resume(task_id, begins=begins, stopping=stopping)

            self._tasks.start(task_id, resume, is_task=True)

    # What is told of it -----------------------------------------------------------------------------------------------

    async def _look(self, task_id: str, client: McpClient) -> Task:
        entries = await self._journal.read(task_id)
        mask = reader_mask(self._runner.labels, client.who.principal, client.who.roles)
        recording = RunState(await as_seen(mask, self._journal, task_id, entries))
        line = line_of(task_id, entries)
        status, message, told = self._state(
            recording,
            client,
            is_running=self._tasks.get(task_id) is not None,
            may_go_on=line is not None and not line.is_finished,
        )
        return Task(
            id=task_id,
            status=status,
            created=entries[0].at,
            updated=entries[-1].at,
            message=message,
            poll_ms=POLL_MS,
            result=told if status == "completed" else None,
            error=told if status == "failed" else None,
            inputs=told if status == "input_required" else None,
        )

    def _state(
        self, recording: RunState, client: McpClient, *, is_running: bool, may_go_on: bool
    ) -> tuple[TaskStatus, str, JsonObject | None]:
        outcome = self._outcome(recording)
        ended = recording.ended
        if ended is not None and ended.reason == "cancelled":
            return "cancelled", "It was cancelled.", None
        if outcome is not None:
            tool, result = outcome
            if result.error is not None and result.error.code == "tool_bug":
                return "failed", "", {"code": INTERNAL_ERROR, "message": result.error.message}
            return "completed", "", self._tell(tool, result)
        waiting = [asked.pending for asked in recording.waiting()]
        askable: list[Pending] = [pending for pending in waiting if client.can_be_asked(pending)]
        if askable and not is_running:
            return "input_required", "", asked_of(askable)
        if waiting and not is_running:
            return "working", "It waits for a person's approval.", None
        if ended is not None and ended.status in ("stopped", "failed") and not may_go_on:
            # The words of an error are for the operator.
            words = "It failed." if ended.status == "failed" else ended.text or "It was stopped."
            return "failed", "", {"code": INTERNAL_ERROR, "message": words}
        return "working", "", None

    @staticmethod
    def _outcome(recording: RunState) -> tuple[str, ToolResult] | None:
        """What its call came to."""
        for cause, calls in recording.calls.items():
            known = recording.outcome(CallRef(cause, 0))
            return (calls[0].name, known[0]) if known is not None else None
        return None

    async def close(self) -> None:
        """Stop what still runs; it is on record, and gone on with when it is asked after."""
        await self._tasks.close()


def _asks(state: RunState, client: McpClient) -> bool:
    """Whether a run waits for an answer of this client."""
    return any(client.can_be_asked(asked.pending) for asked in state.waiting())


def task_named(client: McpClient, params: JsonObject) -> str:
    """The id of the task that a request is about.

    Raises:
        MCPError: it is about none, its headers say otherwise, or its client knows no tasks.
    """
    if EXTENSION not in client.extensions:
        raise lacking_tasks()
    task_id = params.get("taskId")
    if not isinstance(task_id, str):
        raise MCPError(INVALID_PARAMS, "taskId: expected a string")
    headers = client.headers
    if headers is not None and decode_header_value(headers.get("mcp-name")) != task_id:
        raise MCPError(HEADER_MISMATCH, "Mcp-Name does not name the task of the request")
    return task_id


async def entries_of(journal: Journal, task_id: str, who: Identity) -> list[Entry]:
    """The record of a task.

    Raises:
        MCPError: there is no such task of this user.
    """
    entries = await journal.read(task_id, tenant=who.tenant)
    if not entries or RunState(entries[:1]).beginning().user != who.user:
        raise MCPError(INVALID_PARAMS, UNKNOWN_TASK)
    return entries


def _is_over(recording: RunState) -> bool:
    """Its run has ended, also by being cancelled: it is not gone on with."""
    return recording.ended is not None and recording.ended.status != "paused"


async def _wait(task: asyncio.Task[RunResult], seconds: float) -> None:
    """Wait a while for a task, and leave it be when its waiter is cancelled: it is a run of its own then."""
    with contextlib.suppress(asyncio.TimeoutError):
        await asyncio.wait([task], timeout=seconds)


def lacking_tasks() -> MCPError:
    """The error that tells a client that it would have needed to declare that it knows tasks."""
    wanted: JsonObject = {"extensions": {EXTENSION: {}}}
    return MCPError(MISSING_CAPABILITY, "Missing required client capability", {"requiredCapabilities": wanted})


Answering = Callable[[McpClient, Identity, JsonObject], Awaitable[JsonObject]]
