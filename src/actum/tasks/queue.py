"""`TaskQueue`: accepts tasks, tells their state, cancels them, and begins dead ones again.

    queue = TaskQueue(journal, clock=SystemClock(), dispatcher=dispatcher)
    line = await queue.accept_call(runner, ToolCall("call", "add", {"a": 1, "b": 2}), TaskOptions(max_retries=3))
    view = await queue.wait(line.run_id, 30)

The queue is the list of tasks in the journal's database: every process that opens the journal has the same one. It
carries nothing out; see `dispatcher.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Literal, Protocol, Unpack

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..agents.agent import Agent
from ..agents.options import AgentOptions
from ..core.call import ToolCall, ToolResult
from ..core.errors import Busy, TaskRefused, UnknownName, UsageError
from ..core.interfaces import Clock, Journal, TaskIndex
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.policy import Facts
from ..core.process.claim import claim_of_cancel
from ..core.provenance import Source
from ..core.run.handed_over import HandedOver
from ..core.run.ids import new_id
from ..core.run.pending import Pending, over_at
from ..core.run.record import CallsRequested, Entry, Requester, TaskQueued
from ..core.run.summary import RunSummary
from ..core.run.task import DEAD, TaskAttempt, TaskFilter, TaskLine, TaskOptions, TaskProgress, TaskState
from ..core.run.task_line import attempts_of, line_of, task_line
from ..core.user import User
from ..journal.recording import CallRef, RunState
from ..runs.ended_below import CANCELLED, end_runs_below
from ..runs.options import NO_OPTIONS, ConversationOptions, RunOptions
from ..runs.recorded import outputs_of
from ..runs.runner import Runner
from .attempt import verdict
from .dispatcher import Dispatcher
from .ended_waits import WAKE_S
from .quota import TaskQuota
from .waits import POLL_S as WAIT_POLL_S
from .waits import TaskWaits

CANCEL_S = 10.0
"""Seconds to wait for a cancelled task that another process carries out."""
POLL_S = 0.05
KEY_TRIES = 100
"""How often the task of a unique key, which another request is about to accept, is looked for."""
RESULT_BYTES_MAX = 256 * 1024
"""A larger result is not told beside the state of its task, but fetched by itself."""
DAY_S = 86_400.0


class TaskLimits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many tasks there may be.

    Attributes:
        queued: the most tasks of one user that may wait to be begun.
        queued_tenant: the most of one tenant.
        running: the most tasks of one user that may run at a time; None for no limit.
        running_tenant: the most of one tenant; None for no limit.
        retries_max: no task may ask for more retries.
        kept_s: the seconds that the list keeps a task after its end. Its run stays in the journal.
    """

    queued: int = 10_000
    queued_tenant: int = 100_000
    running: int | None = None
    running_tenant: int | None = None
    retries_max: int = 100
    kept_s: float = 30 * DAY_S


class TaskView(Struct, frozen=True, kw_only=True):
    """How a task stands, as its record says.

    Attributes:
        line: the task.
        attempts: its attempts, in order.
        progress: what its tool told last; None where it told nothing.
        waiting: what it waits for, in order.
        result: of a direct call, its result; None while there is none.
        text: the answer of an agent, or what is told of the end.
        tool: of a direct call, the name of the tool.
        outputs: what a workflow gave; None for other tasks, and while there are none.
    """

    line: TaskLine
    attempts: tuple[TaskAttempt, ...] = ()
    progress: TaskProgress | None = None
    waiting: tuple[Pending, ...] = ()
    result: ToolResult | None = None
    text: str = ""
    tool: str = ""
    outputs: JsonObject | None = None


class QueuedWorkflow(Protocol):
    """What a workflow must be able to do to become a task; `actum.workflow.Workflow` can."""

    @property
    def name(self) -> str:
        """What the runs are called on record."""

    def check_inputs(self, inputs: JsonObject) -> None:
        """Raises:
        InvalidArguments: the inputs do not fit.
        """

    async def queue(
        self,
        inputs: JsonObject | None,
        task: TaskQueued,
        options: ConversationOptions,
        *,
        given_by: Source = ...,
    ) -> str:
        """Put a run on record as a task."""


class TaskQueue:
    """The tasks of a journal.

    Args:
        journal: where tasks are on record.
        clock: the time.
        limits: how many there may be.
        dispatcher: is told of new tasks; None where only other processes carry tasks out.
        home: as in `core.run.task.TaskLine`.
        can_build: whether other processes can build what carries out the runs of a name; None for any name.
    """

    def __init__(
        self,
        journal: Journal,
        *,
        clock: Clock,
        limits: TaskLimits | None = None,
        dispatcher: Dispatcher | None = None,
        home: str = "",
        can_build: Callable[[str], bool] | None = None,
    ) -> None:
        self.limits = limits or TaskLimits()
        self._journal = journal
        self._clock = clock
        self._dispatcher = dispatcher
        self._home = home
        self._can_build = can_build
        self._waits = TaskWaits(self._states, clock)
        self._room = TaskQuota(clock)

    @property
    def takes_tasks(self) -> bool:
        """Whether the journal can hold tasks: a journal in memory can not."""
        return self._journal.tasks is not None

    # Accepting --------------------------------------------------------------------------------------------------------

    async def accept_call(
        self,
        runner: Runner,
        call: ToolCall,
        options: TaskOptions,
        run: RunOptions = NO_OPTIONS,
        *,
        by: Requester = "client",
        speaks_for: Literal["", "user"] = "",
        handed: HandedOver | None = None,
    ) -> TaskLine:
        """Accept a direct call of a tool. It is judged before anything is written, and again when it is made.

        Args:
            runner: has the tool, and writes to the journal of this queue.
            call: the call.
            options: what was asked for beside the call.
            run, by, speaks_for: as for `Runner.call`; what is not on record is not used.
            handed: the model of another run asked for the call; what was known of the call there.

        Returns:
            The task; the same task for the same unique key.

        Raises:
            TaskRefused: the task can not be accepted; its `code` says why.
            UnknownTool, InvalidArguments, PermissionDenied: the call can not be made, or may not.
            JournalError: nothing can be written.
        """
        facts = Facts(
            principal=run.principal,
            tenant=run.tenant,
            roles=tuple(run.roles),
            agent=runner.name,
            key_id=run.key_id,
            now=self._clock.now(),
        )
        requested = CallsRequested((call,), "model" if handed is not None else by, speaks_for, handed=handed)
        await runner.check_calls(requested, facts)
        self._check_buildable(runner.name)

        async def begin(run_id: str, task: TaskQueued) -> None:
            whole = replace(run, run_id=run_id, request=task.digest)
            await runner.queue(requested, task, whole, drawn=not task.options.unique_key)

        said = [runner.name, call.name, call.arguments]
        return await self._accept(User(run.tenant, run.principal), runner.name, options, said, begin)

    async def accept_run(
        self,
        agent: Agent[object],
        question: str | UserMessage,
        options: TaskOptions,
        run: AgentOptions,
        *,
        is_published: bool = False,
        queued_max: int | None = None,
    ) -> TaskLine:
        """Accept a question to an agent.

        Args:
            agent: the agent, which has to have a name that other processes know, and writes to this queue's journal.
            question: what the user says.
            options: what was asked for beside the question.
            run: as for `Agent.run`; what is not on record is not used.
            queued_max: the most tasks of the user that may wait, where this is less than the limits of the queue.
            is_published: the agent stands for a published workflow, which every process can open.

        Returns:
            The task; the same task for the same unique key.

        Raises:
            TaskRefused: the task can not be accepted; its `code` says why.
            PermissionDenied: the user may not use the agent.
            Busy: somebody else is adding to this conversation.
            JournalError: nothing can be written.
        """
        if not self._home:
            try:
                await agent.reference()
            except UsageError as error:
                raise TaskRefused("agent", str(error)) from None
            if not is_published:
                self._check_buildable(agent.name)

        async def begin(run_id: str, task: TaskQueued) -> None:
            await agent.queue(question, task, replace(run, run_id=run_id, request=task.digest))

        said = [agent.name, run.conversation, msgspec.to_builtins(UserMessage.of(question))]
        said += [] if run.tool_choice is None else [msgspec.to_builtins(run.tool_choice)]
        said += [] if run.mandate is None else [msgspec.to_builtins(run.mandate)]
        said += [[each.name, each.media_type, hashlib.sha256(each.data).hexdigest()] for each in run.attachments]
        return await self._accept(User(run.tenant, run.principal), agent.name, options, said, begin, queued_max)

    async def accept_workflow(
        self,
        workflow: QueuedWorkflow,
        inputs: JsonObject,
        options: TaskOptions,
        run: ConversationOptions,
        *,
        given_by: Source = "client",
        is_published: bool = False,
        queued_max: int | None = None,
    ) -> TaskLine:
        """Accept a run of a workflow.

        Args:
            workflow: the workflow, which writes to this queue's journal.
            inputs: what the workflow is given; the inputs are judged before anything is written.
            options: what was asked for beside the inputs.
            run, given_by: as for `Workflow.run`; what is not on record is not used.
            queued_max: as for `accept_run`.
            is_published: the workflow was published, so that other processes build it of the definition that the
                journal keeps. Otherwise they have to know its name.

        Returns:
            The task; the same task for the same unique key.

        Raises:
            TaskRefused: the task can not be accepted; its `code` says why.
            InvalidArguments: the inputs do not fit.
            JournalError: nothing can be written.
        """
        workflow.check_inputs(inputs)
        if not is_published:
            self._check_buildable(workflow.name)

        async def begin(run_id: str, task: TaskQueued) -> None:
            await workflow.queue(inputs, task, replace(run, run_id=run_id, request=task.digest), given_by=given_by)

        said = ["workflow", workflow.name, inputs, *([run.conversation] if run.conversation else [])]
        return await self._accept(User(run.tenant, run.principal), workflow.name, options, said, begin, queued_max)

    def _check_buildable(self, name: str) -> None:
        if not self._home and self._can_build is not None and not self._can_build(name):
            raise TaskRefused(
                "agent",
                "{name!r} can not be carried out by another process, which would not know how to "
                "build it: name it in actum.toml",
                name=name,
            )

    async def _accept(
        self,
        user: User,
        name: str,
        options: TaskOptions,
        said: object,
        begin: Callable[[str, TaskQueued], Awaitable[None]],
        queued_max: int | None = None,
    ) -> TaskLine:
        """Accept a task of a user.

        Args:
            user: the user on whose behalf the task runs.
            name: the name of the run on record.
            options: what was asked for.
            said: what the task is to do, for its digest.
            begin: puts the task on record.
            queued_max: as for `accept_run`.
        """
        index, now = self._index(), self._clock.now()
        self._check_options(options, now)
        digest = _digest(options.unique_key, said) if options.unique_key else ""
        if options.unique_key and (known := await index.keyed(*user, options.unique_key)) is not None:
            return _same(known, digest)
        limits = self.limits
        most = limits.queued if queued_max is None else min(limits.queued, queued_max)
        due = max(now, options.not_before or now)
        task = TaskQueued(due=due, options=options, home=self._home, digest=digest)
        async with self._room.place(index, user, most=most, most_of_tenant=limits.queued_tenant):
            if options.unique_key:
                line = await self._begin_keyed(index, user, task, begin)
            else:
                line = await self._begin_new(user, name, task, begin, now)
        if self._dispatcher is not None:
            self._dispatcher.wake(line.run_id)
        return line

    async def _begin_new(
        self, user: User, name: str, task: TaskQueued, begin: Callable[[str, TaskQueued], Awaitable[None]], now: float
    ) -> TaskLine:
        """Accept a task without a unique key."""
        run_id = new_id("run")
        await begin(run_id, task)
        run = RunSummary(
            run_id=run_id,
            status="running",
            started=now,
            ended=None,
            agent=name,
            model="",
            question="",
            principal=user.principal,
            tenant=user.tenant,
        )
        accepted = task_line(run, None, task, now)
        assert accepted is not None
        return accepted

    async def _begin_keyed(
        self, index: TaskIndex, user: User, task: TaskQueued, begin: Callable[[str, TaskQueued], Awaitable[None]]
    ) -> TaskLine:
        """Accept the task of a unique key, unless another request is quicker. The key decides the id of the run, whose
        claim only one of them gets. Where a run of this id is there and no task is, the list has dropped that task.
        """
        key, again = task.options.unique_key, 0
        for _ in range(KEY_TRIES):
            run_id = _run_of_key(user, key, again)
            try:
                await begin(run_id, task)
            except Busy:  # another request accepts it, or adds to its conversation
                await self._clock.sleep(POLL_S)
            except UsageError:
                if not await self._journal.read(run_id):
                    raise
                again += 1
            if (known := await index.keyed(*user, key)) is not None:
                return _same(known, task.digest)
        raise Busy("another request is accepting the task of this key: try again in a moment")

    def _index(self) -> TaskIndex:
        index = self._journal.tasks
        if index is None:
            raise TaskRefused(
                "journal", "the journal is in memory, and a task has to outlive a process: use a file or PostgreSQL"
            )
        return index

    def _check_options(self, options: TaskOptions, now: float) -> None:
        """Raises:
        TaskRefused: an option can not be.
        """
        backoff = options.backoff
        times = {
            "timeout_s": options.timeout_s,
            "deadline": options.deadline,
            "not_before": options.not_before,
            "backoff.base": backoff.base,
            "backoff.factor": backoff.factor,
            "backoff.cap": backoff.cap,
        }
        wrong = [name for name, value in times.items() if value is not None and not (0 <= value < math.inf)]
        if options.timeout_s == 0:
            wrong.append("timeout_s")
        if not 0 <= options.max_retries <= self.limits.retries_max:
            wrong.append(f"max_retries (0 to {self.limits.retries_max})")
        if not 0 <= options.priority <= 9:
            wrong.append("priority (0 to 9)")
        if not 0 <= backoff.jitter <= 1:
            wrong.append("backoff.jitter (0 to 1)")
        if len(options.unique_key) > 255 or "\0" in options.unique_key:
            wrong.append("unique_key (up to 255 characters)")
        if wrong:
            raise TaskRefused("options", "these options can not be: {wrong}", wrong=", ".join(wrong))
        if options.deadline is not None and options.deadline <= max(now, options.not_before or now):
            raise TaskRefused("deadline", "the deadline has passed, or comes before the task may begin")

    # Telling ----------------------------------------------------------------------------------------------------------

    async def look(self, run_id: str, *, tenant: str | None = None, principal: str | None = None) -> TaskView:
        """How a task stands.

        Args:
            run_id: the task.
            tenant, principal: the user who asks; None where the program itself asks, or for all principals of a tenant.

        Raises:
            UnknownName: there is no such task of this user.
        """
        entries = await self._entries(run_id, tenant, principal)
        index = self._journal.tasks
        view = view_of(run_id, entries, await index.progress(run_id) if index is not None else None)
        if view.line.state != "succeeded":
            return view
        return replace(view, outputs=await outputs_of(self._journal, RunState(entries).ended))

    async def keyed(self, key: str, *, tenant: str, principal: str) -> TaskLine | None:
        """The task of a unique key of a user; None where there is none."""
        return await self._index().keyed(tenant, principal, key)

    async def run_of_key(self, key: str, *, tenant: str, principal: str) -> str:
        """The run that was accepted for a unique key, also where the list of tasks has dropped the task since, or the
        run was forgotten.

        Args:
            key: the unique key.
            tenant, principal: of the user.

        Returns:
            The id of the run; empty where no run was accepted for this key.
        """
        if (known := await self.keyed(key, tenant=tenant, principal=principal)) is not None:
            return known.run_id
        run_id = _run_of_key(User(tenant, principal), key, 0)
        entries = await self._journal.read(run_id)
        is_forgotten = bool(entries) and not entries[0].payload
        return run_id if is_forgotten or any(isinstance(entry.record, TaskQueued) for entry in entries) else ""

    async def wait(
        self, run_id: str, seconds: float, *, tenant: str | None = None, principal: str | None = None
    ) -> TaskView:
        """How a task stands when it has ended, waits for a person, or this time is over.

        Args:
            run_id: the task.
            seconds: the longest wait.
            tenant, principal: as for `look`.

        Raises:
            UnknownName: there is no such task of this user.
        """
        line = await self._line(run_id, tenant, principal)
        if seconds <= 0 or line.is_finished:
            return await self.look(run_id, tenant=tenant, principal=principal)
        limit = self._clock.timeout(seconds)
        try:
            async with limit:
                return await self._settled(run_id, tenant, principal)
        except TimeoutError:
            if not limit.expired():
                raise
        return await self.look(run_id, tenant=tenant, principal=principal)

    async def _settled(self, run_id: str, tenant: str | None, principal: str | None) -> TaskView:
        """How a task stands when nothing more happens to the task by itself: a wait for a time ends by itself."""
        while True:
            await self._waits.until_settled(run_id)
            view = await self.look(run_id, tenant=tenant, principal=principal)
            ends = over_at(view.waiting)
            if view.line.is_finished or (view.line.state == "waiting" and ends is None):
                return view
            left = 0.0 if ends is None else ends - self._clock.now()
            await self._clock.sleep(min(max(left, WAIT_POLL_S), WAKE_S))

    async def _states(self, run_ids: Sequence[str]) -> Mapping[str, TaskState]:
        """The states of tasks, for those who wait."""
        if (index := self._journal.tasks) is not None:
            return await index.states(run_ids)
        lines = {run_id: line_of(run_id, await self._journal.read(run_id)) for run_id in run_ids}
        return {run_id: line.state for run_id, line in lines.items() if line is not None}

    async def list(
        self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[TaskFilter]
    ) -> Sequence[TaskLine]:
        """The latest tasks, newest first; the arguments are those of `TaskIndex.list`."""
        return await self._index().list(limit=limit, behind=behind, **wanted)

    async def counts(self, **wanted: Unpack[TaskFilter]) -> dict[str, int]:
        """How many tasks there are, by their state."""
        return await self._index().counts(**wanted)

    async def _line(self, run_id: str, tenant: str | None, principal: str | None) -> TaskLine:
        index = self._journal.tasks
        if index is None:
            return view_of(run_id, await self._entries(run_id, tenant, principal)).line
        line = await index.find(run_id, tenant=tenant, principal=principal)
        if line is None:
            raise unknown_task(run_id)
        return line

    async def _entries(self, run_id: str, tenant: str | None, principal: str | None) -> Sequence[Entry]:
        entries = await self._journal.read(run_id, tenant=tenant)
        if entries and not entries[0].payload:  # the run was forgotten
            raise unknown_task(run_id)
        line = line_of(run_id, entries)
        if line is None or principal not in (None, line.principal):
            raise unknown_task(run_id)
        return entries

    # Changing ---------------------------------------------------------------------------------------------------------

    async def cancel(self, run_id: str, *, tenant: str | None = None, principal: str | None = None) -> TaskLine:
        """Cancel a task, wherever it waits or runs. What it is doing right now may have happened.

        Args:
            run_id: the task.
            tenant, principal: as for `look`.

        Raises:
            UnknownName: there is no such task of this user.
            TaskRefused: the task has ended.
            Busy: the process that carries the task out does not stop the task.
        """
        line = await self._line(run_id, tenant, principal)
        if line.is_finished:
            raise _finished(line)
        until = self._clock.monotonic() + CANCEL_S
        await self._journal.held.release(run_id)
        async with AsyncExitStack() as asking:
            with suppress(Busy):  # somebody else asks for the same
                await asking.enter_async_context(self._journal.claim(claim_of_cancel(run_id)))
            while not line.is_finished:
                try:
                    async with self._journal.claim(run_id):
                        entries = await self._journal.read(run_id)
                        record = verdict(run_id, entries, self._clock.now()) if _is_done(entries) else None
                        if view_of(run_id, entries).line.is_finished:
                            pass
                        elif record is not None:  # its process ended before it could write down that it succeeded
                            self._journal.append(run_id, record)
                        else:
                            await end_runs_below(self._journal, run_id, CANCELLED)
                            self._journal.append(run_id, CANCELLED)
                        await self._journal.sync(run_id)
                except Busy:
                    if self._clock.monotonic() >= until:
                        raise
                    await self._clock.sleep(POLL_S)
                line = await self._line(run_id, tenant, principal)
        if line.state != "cancelled":
            raise _finished(line)
        return line

    async def retry(
        self, run_id: str, *, by: str = "", tenant: str | None = None, principal: str | None = None
    ) -> TaskLine:
        """Begin a dead letter again: new attempts of the same run, so that what has an outcome is not done again.

        Args:
            run_id: the task.
            by: who wants it, for the record.
            tenant, principal: as for `look`.

        Raises:
            UnknownName: there is no such task of this user.
            TaskRefused: the task is no dead letter.
            Busy: somebody else is doing the same.
        """
        await self._line(run_id, tenant, principal)
        async with self._journal.claim(run_id):
            line = view_of(run_id, await self._journal.read(run_id)).line
            if line.state not in DEAD:
                raise TaskRefused(
                    "not_dead",
                    "task {run!r} is {standing}: only a task that failed or timed out can be begun again",
                    state=line.state,
                    run_id=run_id,
                    run=run_id,
                    standing=line.state,
                )
            now = self._clock.now()
            options = replace(line.options, deadline=None, not_before=None)
            self._journal.append(
                run_id, TaskQueued(due=now, options=options, home=line.home, digest=line.digest, by=by)
            )
            await self._journal.sync(run_id)
        if self._dispatcher is not None:
            self._dispatcher.wake(run_id)
        return await self._line(run_id, tenant, principal)

    def wake(self, run_id: str) -> None:
        """Tell the dispatcher that a task may go on, since somebody answered what it waited for."""
        if self._dispatcher is not None:
            self._dispatcher.wake(run_id)


def view_of(run_id: str, entries: Sequence[Entry], progress: TaskProgress | None = None) -> TaskView:
    """How a task stands, by the record of its run.

    Raises:
        UnknownName: the run is no task.
        JournalError: an entry can not be read.
    """
    line = line_of(run_id, entries)
    if line is None:
        raise unknown_task(run_id)
    state = RunState(entries)
    result, tool = None, ""
    for cause, requested in state.requested:
        tool = requested.calls[-1].name if requested.calls else ""
        known = state.outcome(CallRef(cause, len(requested.calls) - 1))
        result = known[0] if known is not None else None
    return TaskView(
        line=line.with_problem(progress) if progress is not None else line,
        attempts=tuple(attempts_of(entries)),
        progress=None if progress is None or progress.problem else progress,
        waiting=tuple(asked.pending for asked in state.waiting()) if line.state == "waiting" else (),
        result=result,
        text=state.ended.text if state.ended is not None and line.is_finished else "",
        tool=tool,
    )


def unknown_task(run_id: str) -> UnknownName:
    """The error for a task that is not there, or is another caller's: the two can not be told apart."""
    return UnknownName("there is no task {run!r}", run=run_id)


def _finished(line: TaskLine) -> TaskRefused:
    return TaskRefused(
        "finished",
        "task {run!r} has ended: it is {standing}",
        state=line.state,
        run_id=line.run_id,
        run=line.run_id,
        standing=line.state,
    )


def _is_done(entries: Sequence[Entry]) -> bool:
    """Whether the run is done, and only its task has not been settled."""
    ended = RunState(entries).ended
    return ended is not None and ended.status == "done"


def _same(known: TaskLine, digest: str) -> TaskLine:
    """The task of a unique key, if it was accepted for the same request.

    Raises:
        TaskRefused: it was accepted for another request.
    """
    if known.digest != digest:
        raise TaskRefused(
            "key_used",
            "this unique key was used for another request: that request has the digest {digest}, "
            "this one has {other_digest}. Use a new key for a new request",
            state=known.state,
            run_id=known.run_id,
            digest=known.digest,
            other_digest=digest,
        )
    return known


def _digest(key: str, said: object) -> str:
    """A digest of what a task is to do. Keyed, so that a secret argument can not be guessed from it."""
    return hmac.digest(key.encode(), _sorted.encode(said), "sha256").hex()[:32]


def _run_of_key(user: User, key: str, again: int) -> str:
    """The id of the run of a unique key; another for each time that the list has dropped the task of this key."""
    named = hashlib.sha256(_sorted.encode([user.tenant, user.principal, key, again, "task"])).hexdigest()
    return f"run_{named[:32]}"


_sorted = msgspec.json.Encoder(order="sorted")
