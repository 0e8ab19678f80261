"""The life of calls as a state machine: killed at any record and within any tool, cancelled, failing and tried again,
resumed, answered, in any order. No effect without its intent on record, none twice that must not be, and none lost."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Literal, get_args

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actum import Agent, Context, Limits, ToolCall, tool
from actum.core.errors import Unavailable
from actum.core.event import RunResult
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.run.chain import verify
from actum.core.run.record import Intended, Record
from actum.journal.memory import MemoryJournal
from actum.testing import FakeClock, Said, ScriptedModel
from actum.toolsets.function.function import FunctionTool
from tests.endurance import share

Where = Literal["before", "after"]
How = Literal["killed", "cancelled", "refused", "cut off"]
"""What befalls a tool just before or just after it has its effect: its process, its run, or its connection."""
Strike = tuple[int, Where, How]
KINDS = ("look", "plain", "keyed", "probed")


class Killed(BaseException):
    """The process is gone: nothing of it is written any more."""


class Process(MemoryJournal):
    """The journal as a process sees it that is killed at one of its records, just before or just after it is written.

    Args:
        disk: what is left of earlier processes, and of this one.
        at: which record, from 0; None for a process that is not killed here.
    """

    def __init__(self, disk: MemoryJournal, at: int | None, where: Where) -> None:
        super().__init__()
        self._entries, self._summaries, self._kept = disk._entries, disk._summaries, disk._kept
        self._left = at
        self._where = where
        self.dead = False

    def append(self, run_id: str, record: Record) -> int:
        if self.dead:
            raise Killed
        now = self._left == 0
        if self._left is not None:
            self._left -= 1
        if now and self._where == "before":
            self.kill()
        number = super().append(run_id, record)
        if now:
            self.kill()
        return number

    def kill(self) -> None:
        self.dead = True
        raise Killed


class World:
    """What the tools of all processes did.

    Attributes:
        done: how often each effect happened, by its idempotency key.
        kind: which kind of tool a key belongs to.
    """

    def __init__(self) -> None:
        self.disk = MemoryJournal()
        self.done: Counter[str] = Counter()
        self.kind: dict[str, str] = {}
        self.without_intent: list[str] = []
        self.run: asyncio.Task[RunResult] | None = None

    def tools(self, process: Process, strike: Strike | None) -> list[FunctionTool]:
        """The tools as one process has them; something befalls the so-and-so-manieth execution, or nothing does."""
        act = Hands(self, process, strike).act

        @tool(effects={"read"})
        async def look(ctx: Context) -> str:
            """Look."""
            return await act("look", ctx)

        @tool(effects={"write"})
        async def plain(ctx: Context) -> str:
            """Change."""
            return await act("plain", ctx)

        @tool(effects={"write"}, idempotent=True)
        async def keyed(ctx: Context) -> str:
            """Change, once a key."""
            return await act("keyed", ctx)

        @tool(effects={"write"})
        async def probed(ctx: Context) -> str:
            """Change, and be able to tell."""
            return await act("probed", ctx)

        @probed.probe
        async def was_done(ctx: Context) -> str | bool:
            return "probed done" if self.done[ctx.key] else False

        return [look, plain, keyed, probed]


class Hands:
    """What the tools of one process share: their effects, and what befalls one of them."""

    def __init__(self, world: World, process: Process, strike: Strike | None) -> None:
        self._world = world
        self._process = process
        self._strike = strike
        self._executions = 0

    async def act(self, kind: str, ctx: Context) -> str:
        """Have the effect, once a key where the tool knows its key."""
        world, struck = self._world, self._strike is not None and self._strike[0] == self._executions
        self._executions += 1
        if self._process.dead:
            raise Killed
        records = [entry.record for entry in world.disk._entries["r"]]
        if not any(isinstance(record, Intended) and record.key == ctx.key for record in records):
            world.without_intent.append(ctx.key)
        if struck:
            await self._befall("before")
        world.kind[ctx.key] = kind
        if kind != "keyed" or not world.done[ctx.key]:
            world.done[ctx.key] += 1
        if struck:
            await self._befall("after")
        return f"{kind} done"

    async def _befall(self, where: Where) -> None:
        assert self._strike is not None
        if self._strike[1] != where:
            return
        match self._strike[2]:
            case "killed":
                self._process.kill()
            case "cancelled":
                assert self._world.run is not None
                self._world.run.cancel()
                await asyncio.sleep(0)
            case "refused" if where == "before":
                raise Unavailable("The service can not be reached.")
            case _:
                raise ConnectionResetError


STRIKES: st.SearchStrategy[Strike] = st.tuples(
    st.integers(0, 4), st.sampled_from(get_args(Where)), st.sampled_from(get_args(How))
)


class LifeOfCalls(RuleBasedStateMachine):
    """One run of a few turns, taken up by one process after another."""

    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        self.retried: Counter[str] = Counter()
        self.begun = False
        self.result: RunResult | None = None

    @initialize(plan=st.lists(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3), min_size=1, max_size=3))
    def plan_calls(self, plan: list[list[str]]) -> None:
        self.plan = plan

    def script(self, request: Request) -> Said:
        turns = sum(not isinstance(message, ToolMessage) for message in request.messages[1:])
        if turns < len(self.plan):
            return [ToolCall(str(index), kind, {}) for index, kind in enumerate(self.plan[turns])]
        return "All done."

    def agent(self, process: Process, strike: Strike | None = None) -> Agent:
        tools = self.world.tools(process, strike)
        return Agent(
            ScriptedModel(self.script),
            tools,
            journal=process,
            limits=Limits(repeats=99, failures=99),
            clock=FakeClock(auto=True),
        )

    def process(self, at: int | None = None, where: Where = "after") -> Process:
        return Process(self.world.disk, at, where)

    def take_up(self, agent: Agent, answers: dict[str, str] | None = None) -> None:
        go_on = agent.resume("r", answers) if self.world.disk._entries.get("r") else agent.run("Go", run_id="r")

        async def drive() -> RunResult:
            self.world.run = asyncio.ensure_future(go_on)
            return await self.world.run

        try:
            self.result = asyncio.run(drive())
        except (Killed, asyncio.CancelledError):
            self.result = None

    @rule(at=st.integers(0, 12), where=st.sampled_from(["before", "after"]))
    def go_on_and_be_killed_at_a_record(self, at: int, where: Where) -> None:
        self.take_up(self.agent(self.process(at, where)))

    @rule(strike=STRIKES)
    def go_on_and_be_struck_within_a_tool(self, strike: Strike) -> None:
        self.take_up(self.agent(self.process(), strike))

    @rule()
    def go_on(self) -> None:
        self.take_up(self.agent(self.process()))

    @precondition(lambda self: self.result is not None and self.result.status == "paused")
    @rule(
        word=st.sampled_from(["truth", "retry", "retry", "unknown"]),
        strike=st.none() | STRIKES,
    )
    def answer_a_doubt(self, word: str, strike: Strike | None) -> None:
        assert self.result is not None
        pending = self.result.pending[0]
        assert pending.kind == "doubt"
        assert pending.call is not None
        assert pending.call.name == "plain"
        asked = next(r for r in self.records() if getattr(r, "id", "") == pending.id)
        place = (getattr(asked, "cause", -1), getattr(asked, "index", -1))
        key = [r.key for r in self.records() if isinstance(r, Intended) and (r.cause, r.index) == place][-1]
        if word == "truth":
            word = "done" if self.world.done[key] else "not_done"
        if word == "retry":
            self.retried[key] += 1
        self.take_up(self.agent(self.process(), strike), {pending.id: word})

    def records(self) -> Sequence[Record]:
        return [entry.record for entry in self.world.disk._entries.get("r", [])]

    @invariant()
    def no_effect_without_its_intent(self) -> None:
        assert self.world.without_intent == []

    @invariant()
    def nothing_is_done_twice_that_must_not_be(self) -> None:
        for key, times in self.world.done.items():
            allowed = {"look": times, "keyed": 1, "probed": 1, "plain": 1 + self.retried[key]}
            assert times <= allowed[self.world.kind[key]], self.world.kind[key]

    @invariant()
    def the_chain_is_whole(self) -> None:
        assert verify(self.world.disk._entries.get("r", [])) == []

    @precondition(lambda self: self.result is not None and self.result.status == "done")
    @rule()
    def a_run_that_is_done_stays_so_and_nothing_was_lost(self) -> None:
        assert self.result is not None
        before, records = Counter(self.world.done), len(self.records())
        known = self.result
        self.take_up(self.agent(self.process()))
        assert self.result is not None
        assert (self.result.text, self.result.calls) == (known.text, known.calls)
        assert (self.world.done, len(self.records())) == (before, records)
        for kind in ("look", "keyed", "probed"):
            wanted = sum(turn.count(kind) for turn in self.plan)
            assert sum(1 for key in self.world.done if self.world.kind[key] == kind) == wanted

    @precondition(lambda self: self.result is not None and self.result.status == "done")
    @rule()
    def a_branch_at_the_end_agrees(self) -> None:
        assert self.result is not None
        agent = self.agent(self.process())
        before = Counter(self.world.done)

        async def branch() -> RunResult:
            return await agent.resume(await agent.fork("r", len(self.records()) - 1))

        other = asyncio.run(branch())
        assert (other.text, other.calls, self.world.done) == (self.result.text, self.result.calls, before)


@pytest.mark.no_cover
@pytest.mark.row("C7")
@pytest.mark.endurance("src/actum/agents", "src/actum/call", "src/actum/journal", "src/actum/core")
def test_the_life_of_a_call_whatever_happens_to_its_process() -> None:
    LifeOfCalls.TestCase.settings = settings(max_examples=share(300, 30), stateful_step_count=15, deadline=None)
    LifeOfCalls.TestCase("runTest").runTest()
