"""A queue with a fake clock, the tools that its tasks call, and workers of this process that carry the tasks out."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from actum import tool
from actum.core.call import ToolCall
from actum.core.errors import ModelUnavailable
from actum.core.event import Event, RunResult
from actum.core.interfaces import Clock, Journal
from actum.core.run.record import Started
from actum.core.run.task import TaskLine, TaskOptions
from actum.journal.recording import RunState
from actum.policy.rules import Rule, Rules
from actum.runs.options import RunOptions
from actum.runs.run import Finish, Stopping
from actum.runs.runner import Begins, Runner
from actum.tasks.attempt import LeftTask, attempt
from actum.tasks.builder import Resumable, Unfit
from actum.tasks.queue import TaskLimits, TaskQueue


class Desk:
    """A runner with some tools, a queue, and a builder that can be told to fail.

    Args:
        journal: where tasks are on record.
        clock: the time.
        limits: of the queue.

    Attributes:
        done: what the tools have done.
        failing: so many of the next attempts fail as if a model were away.
    """

    def __init__(self, journal: Journal, clock: Clock, limits: TaskLimits | None = None) -> None:
        self.done: list[str] = []
        self.failing = 0
        self.journal, self.clock = journal, clock

        @tool(effects={"read"})
        def look(what: str) -> str:
            self.done.append(f"look {what}")
            return f"seen {what}"

        @tool(effects={"write"})
        def pay(to: str) -> str:
            self.done.append(f"pay {to}")
            return "paid"

        @tool(effects={"write"})
        def ship(to: str) -> str:
            self.done.append(f"ship {to}")
            return "shipped"

        @tool(effects={"destroy"})
        def erase() -> str:
            self.done.append("erase")
            return "erased"

        @tool(effects={"read"})
        def unlock(password: str) -> str:
            self.done.append(f"unlock {password}")
            return "open"

        policy = Rules(Rule("deny", tools="erase"), Rule("ask", tools="pay"), Rule("allow"))
        self.runner = Runner([look, pay, ship, erase, unlock], name="api", policy=policy, journal=journal, clock=clock)
        self.queue = TaskQueue(journal, clock=clock, limits=limits)

    async def accept(
        self,
        name: str = "look",
        options: TaskOptions | None = None,
        *,
        principal: str = "ann",
        tenant: str = "",
        **arguments: str,
    ) -> TaskLine:
        """Accept a call as a task."""
        call = ToolCall("call", name, dict(arguments) or {"what": "x"})
        options = options or TaskOptions()
        return await self.queue.accept_call(self.runner, call, options, RunOptions(principal=principal, tenant=tenant))

    async def build(self, started: Started) -> Resumable:
        """As the `Builder` of a worker."""
        if started.agent != "api":
            raise Unfit(f"there is no agent {started.agent!r}")
        return _Failing(self)

    async def attempt(self, run_id: str) -> TaskLine | LeftTask:
        """Make the next attempt."""
        return await attempt(self.journal, self, run_id, clock=self.clock, worker="w1")

    async def state(self, run_id: str) -> RunState:
        """The record of a task."""
        return RunState(await self.journal.read(run_id))


class _Failing:
    """The runner, some of whose runs fail as they do where a model is away."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def resume(
        self,
        run_id: str,
        *,
        emit: Callable[[Event], None] | None = None,
        begins: Begins | None = None,
        stopping: Stopping | None = None,
    ) -> RunResult:
        desk = self._desk
        if not desk.failing:
            return await desk.runner.resume(run_id, emit=emit, begins=begins, stopping=stopping)
        desk.failing -= 1
        setting = desk.runner.setting()

        setting = replace(setting, begins=begins)
        async with (
            desk.runner.taken_up(run_id, lambda state: [], setting) as state,
            desk.runner.at_work(run_id, state, setting) as run,
        ):
            await run.carry_out(_away())
        raise AssertionError


async def _away() -> Finish:
    raise ModelUnavailable("the model is away")
