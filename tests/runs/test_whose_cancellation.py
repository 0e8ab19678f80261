"""A run is cancelled from outside, and by nothing that the code which the run calls does to itself."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence

import anyio
import msgspec
import pytest

from actum import Agent, Answer, Limits, ToolCall, tool
from actum.core.cancellation import GRACE_S
from actum.core.event import RunResult
from actum.core.interfaces import Context
from actum.core.message import Reply
from actum.core.model import Request
from actum.core.policy import Approver
from actum.core.run.pending import Pending
from actum.core.run.record import Ended
from actum.core.tool import Tool
from actum.runs.runner import Runner
from actum.testing import FakeClock
from actum.toolsets.function.function import FunctionToolset
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.patience import HANGS_S

pytestmark = pytest.mark.row("C5")

Doing = Callable[[], Awaitable[object]]


async def fails() -> None:
    raise ValueError("no")


def own_task() -> asyncio.Task[object]:
    task = asyncio.current_task()
    assert task is not None
    return task


async def a_group_whose_child_fails() -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
    except* ValueError:
        pass


async def a_group_in_a_group() -> None:
    for _ in range(3):
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(a_group_whose_child_fails())
                group.create_task(fails())
        except* ValueError:
            await asyncio.sleep(0)


async def a_group_whose_body_fails_beside_its_child() -> None:
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(60))
            await asyncio.sleep(0)
            raise ValueError("no")
    except* ValueError:
        pass


async def a_cancellation_that_nobody_waits_for() -> None:
    own_task().cancel()


async def a_cancellation_that_is_caught() -> None:
    own_task().cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(60)


async def a_cancellation_that_comes_when_it_is_over() -> None:
    asyncio.get_running_loop().call_soon(own_task().cancel)


async def a_cancellation_that_comes_while_it_waits() -> None:
    asyncio.get_running_loop().call_soon(own_task().cancel)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        await asyncio.sleep(0)


async def a_time_limit_that_ends() -> None:
    try:
        async with asyncio.timeout(0):
            await asyncio.sleep(60)
    except TimeoutError:
        pass


async def a_wait_that_ends() -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.sleep(60), 0.001)


async def a_scope_that_ends() -> None:
    with anyio.move_on_after(0):
        await anyio.sleep(60)


async def a_scope_that_is_cancelled() -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.sleep, 60)
        await asyncio.sleep(0)
        group.cancel_scope.cancel()


async def a_scope_whose_child_fails() -> None:
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(fails)
            await anyio.sleep(60)
    except* ValueError:
        pass


DOINGS: Sequence[Doing] = (
    a_group_whose_child_fails,
    a_group_in_a_group,
    a_group_whose_body_fails_beside_its_child,
    a_cancellation_that_nobody_waits_for,
    a_cancellation_that_is_caught,
    a_cancellation_that_comes_when_it_is_over,
    a_cancellation_that_comes_while_it_waits,
    a_time_limit_that_ends,
    a_wait_that_ends,
    a_scope_that_ends,
    a_scope_that_is_cancelled,
    a_scope_whose_child_fails,
)


class Model:
    """A model that does something before each of its answers: a call of `act`, then text."""

    name = "own"

    def __init__(self, doing: Doing, calls: Sequence[ToolCall]) -> None:
        self._doing = doing
        self._calls = calls

    async def reply(self, request: Request, emit: object = None) -> Reply:
        await self._doing()
        return Reply(tuple(self._calls)) if self._calls and len(request.messages) == 1 else Reply.of("done")


class Lists(FunctionToolset):
    """A toolset that does something before it lists its tools."""

    def __init__(self, functions: Sequence[Callable[..., object]], doing: Doing) -> None:
        super().__init__(functions)
        self._doing = doing
        self.count = 0

    @property
    def generation(self) -> int:
        """A new list each time."""
        self.count += 1
        return self.count

    async def list_tools(self) -> Sequence[Tool]:
        await self._doing()
        return await super().list_tools()


class Approves:
    """An approver that does something before it says yes."""

    def __init__(self, doing: Doing) -> None:
        self._doing = doing

    async def ask(self, pending: Pending) -> Answer:
        await self._doing()
        return Answer("approve" if pending.kind == "approval" else "answer", by="ann", arguments={})


async def nothing() -> None:
    """Do nothing."""


def acts(doing: Doing) -> Callable[..., object]:
    @tool(effects={"read"})
    async def act() -> str:
        """Act."""
        await doing()
        return "acted"

    return act


def asks(doing: Doing) -> Callable[..., object]:
    @tool(effects={"read"})
    async def act(ctx: Context) -> str:
        """Ask a person while it runs."""
        await doing()
        return (await ctx.elicit("Shall I?")).action

    return act


ONE, TWO = (ToolCall("1", "act", {}),), (ToolCall("1", "act", {}), ToolCall("2", "act", {}))


def agent_of(
    doing: Doing,
    *,
    calls: Sequence[ToolCall] = ONE,
    tools: Sequence[Callable[..., object] | FunctionToolset] = (),
    model: Doing = nothing,
    approver: Approver | None = None,
) -> Agent:
    return Agent(Model(model, calls), tools or [acts(doing)], approver=approver)


def flow_of(*, tools: Sequence[Callable[..., object]] = (), models: Mapping[str, Model] | None = None) -> Workflow:
    node = {"type": "model", "model": "own", "prompt": "Go."} if models else {"type": "tool", "tool": "act"}
    definition = {"actum": "workflow/1", "name": "w", "nodes": {"one": node}}
    return Workflow(read_definition(msgspec.json.encode(definition)), tools, models=models)


def needs_approval() -> Callable[..., object]:
    @tool(effects={"spend"}, approval=True)
    async def act() -> str:
        """Act."""
        return "acted"

    return act


PLACES: dict[str, Callable[[Doing], Awaitable[RunResult[object]]]] = {
    "a tool": lambda doing: agent_of(doing).run("go"),
    "two tools": lambda doing: agent_of(doing, calls=TWO).run("go"),
    "a model": lambda doing: agent_of(nothing, model=doing).run("go"),
    "an approver": lambda doing: agent_of(nothing, tools=[needs_approval()], approver=Approves(doing)).run("go"),
    "an approver during a call": lambda doing: agent_of(nothing, tools=[asks(nothing)], approver=Approves(doing)).run(
        "go"
    ),
    "a tool before it asks": lambda doing: agent_of(doing, tools=[asks(doing)], approver=Approves(doing)).run("go"),
    "a list of tools": lambda doing: agent_of(nothing, tools=[Lists([acts(nothing)], doing)]).run("go"),
    "a call without a model": lambda doing: Runner([acts(doing)]).call(ONE, by="person"),
    "a node of a workflow": lambda doing: flow_of(tools=[acts(doing)]).run(),
    "a model of a workflow": lambda doing: flow_of(models={"own": Model(doing, ())}).run(),
}


@pytest.mark.parametrize("place", PLACES)
async def test_what_code_does_to_its_own_task_ends_no_run(place: str) -> None:
    for doing in DOINGS:

        async def program(doing: Doing = doing) -> RunResult[object]:
            async with asyncio.timeout(HANGS_S):
                result = await PLACES[place](doing)
                assert own_task().cancelling() == 0, (place, doing.__name__)
                await asyncio.sleep(0)  # the program can go on waiting for other things
            return result

        result = await asyncio.create_task(program())
        assert result.status == "done", (place, doing.__name__)
        assert [called.error for _, called in result.calls] == [None] * len(result.calls), (place, doing.__name__)


async def cancels_and_waits() -> None:
    own_task().cancel()
    await asyncio.sleep(60)


async def raises_it() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("doing", [cancels_and_waits, raises_it])
async def test_code_that_ends_as_cancelled_by_itself_has_failed(doing: Doing) -> None:
    for calls in (ONE, TWO):
        result = await agent_of(doing, calls=calls).run("go")
        assert (result.status, [called.error.code for _, called in result.calls if called.error]) == (
            "done",
            ["tool_bug"] * len(calls),
        )
    for place in ("a model", "a list of tools"):
        with pytest.raises(RuntimeError, match="cancelled itself"):
            await PLACES[place](doing)


async def test_a_model_that_cancels_itself_is_on_record_as_a_failure() -> None:
    agent = agent_of(nothing, model=cancels_and_waits)
    with pytest.raises(RuntimeError, match="own cancelled itself"):
        await agent.run("go", run_id="r")
    last = (await agent.journal.read("r"))[-1].record
    assert isinstance(last, Ended)
    assert last.status == "failed"


@pytest.mark.parametrize("place", ["a tool", "two tools", "a model", "an approver", "an approver during a call"])
async def test_a_cancellation_from_outside_counts_whatever_the_code_did_before_and_does_with_it(place: str) -> None:
    for doing in DOINGS:
        for swallows in (False, True):
            waits = asyncio.Event()

            async def does(doing: Doing = doing, waits: asyncio.Event = waits, swallows: bool = swallows) -> None:
                await doing()
                waits.set()
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if not swallows:
                        raise

            run = asyncio.ensure_future(PLACES[place](does))
            async with asyncio.timeout(HANGS_S):
                await waits.wait()
                run.cancel()
                await asyncio.wait([run])
            assert run.cancelled(), (place, doing.__name__, swallows)


async def test_a_tool_whose_group_failed_is_still_held_to_its_time() -> None:
    clock, waits = FakeClock(), asyncio.Event()

    @tool(effects={"read"}, timeout_s=5)
    async def act() -> str:
        """Hang."""
        await a_group_whose_child_fails()
        waits.set()
        await asyncio.Event().wait()
        return "never"

    for calls in (ONE, TWO):
        waits.clear()
        run = asyncio.create_task(Agent(Model(nothing, calls), [act], clock=clock, limits=Limits(attempts=1)).run("go"))
        await waits.wait()
        clock.advance(6)
        result = await run
        assert [called.error.code for _, called in result.calls if called.error] == ["timeout"] * len(calls)


async def test_a_tool_whose_group_failed_may_go_on_as_long_as_any_other() -> None:
    clock, waits, goes_on = FakeClock(), asyncio.Event(), asyncio.Event()

    @tool(effects={"read"})
    async def act() -> str:
        """Take longer than work may that was cancelled."""
        await a_group_whose_child_fails()
        waits.set()
        await goes_on.wait()
        return "acted"

    run = asyncio.create_task(Agent(Model(nothing, ONE), [act], clock=clock).run("go"))
    await waits.wait()
    clock.advance(GRACE_S + 1)
    await asyncio.sleep(0)
    goes_on.set()
    assert [called.text for _, called in (await run).calls] == ["acted"]


async def test_a_model_whose_group_failed_is_still_held_to_the_time_of_the_run() -> None:
    clock, waits = FakeClock(), asyncio.Event()

    async def hangs() -> None:
        await a_group_whose_child_fails()
        waits.set()
        await asyncio.Event().wait()

    agent = Agent(Model(hangs, ONE), [acts(nothing)], clock=clock, limits=Limits(seconds=5))
    run = asyncio.create_task(agent.run("go"))
    await waits.wait()
    clock.advance(6)
    assert (await run).stop_reason == "seconds"


async def test_a_program_that_was_left_counted_as_cancelled_runs_agents_as_any_other() -> None:
    """On Python 3.11 and 3.12 a task group of the program itself leaves its task so."""

    async def program() -> RunResult:
        await a_cancellation_that_is_caught()
        assert own_task().cancelling() == 1
        return await agent_of(raises_it).run("go")

    result = await asyncio.create_task(program())
    assert result.status == "done"
    assert [called.error.code for _, called in result.calls if called.error] == ["tool_bug"]
