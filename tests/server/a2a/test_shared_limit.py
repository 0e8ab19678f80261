"""Two agents of this program and one behind A2A share one limit of calls, one trace and one tree."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from actum import Agent, Context, Rule, Rules, ToolCall, tool
from actum.call.limits.limits import Limits
from actum.core.budget import Budget
from actum.core.errors import BudgetExceeded
from actum.core.message import ToolMessage
from actum.core.model import Request
from actum.core.run.record import Ended, Started
from actum.core.trace import trace_id, way_in
from actum.journal.memory import MemoryJournal
from actum.protocols.a2a.remote_agent import RemoteAgent
from actum.storage.sqlite import SQLiteJournal
from actum.testing import Said, ScriptedModel
from actum.toolsets.a2a import A2AToolset
from actum.toolsets.function import FunctionTool
from actum.toolsets.wrappers import ToolLabels, labelled
from tests import warm

from .serving import a2a_server

ALLOWED = Rules(Rule("allow"))
LIMIT = 7


class Looking:
    """Agents that look again and again, each by a tool of its own, and never have enough."""

    def __init__(self) -> None:
        self.looks: Counter[str] = Counter()

    def tool(self, whose: str) -> FunctionTool:
        @tool(effects=["read"])
        async def look(number: int) -> str:
            """Look once more.

            Args:
                number: how often it was looked before.
            """
            self.looks[whose] += 1
            return f"nothing yet, after {number}"

        return look

    @staticmethod
    def model(*first: ToolCall) -> ScriptedModel:
        """Makes the given calls, one after the other, and then looks without end."""

        def said(request: Request) -> Said:
            done = sum(isinstance(message, ToolMessage) for message in request.messages)
            return [first[done] if done < len(first) else ToolCall(f"c{done}", "look", {"number": done})]

        return ScriptedModel(said)


async def printed(*words: str) -> str:
    """What `actum` prints."""
    command = [sys.executable, "-m", "actum", *words]
    process = await warm.start(*command, stdout=asyncio.subprocess.PIPE)
    return (await process.communicate())[0].decode()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something; other tasks go on meanwhile."""
    while not is_so():  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(0)


@pytest.mark.row("A5")
@pytest.mark.parametrize("hands_over", [False, True], ids=["supervisor", "handing over"])
async def test_two_local_agents_and_a_remote_one_stop_at_one_shared_limit_and_are_one_tree(
    tmp_path: Path, hands_over: bool
) -> None:
    path, looking = tmp_path / "journal.db", Looking()
    journal = SQLiteJournal(path)
    far = Agent(looking.model(), [looking.tool("far")], name="far", journal=journal, policy=ALLOWED)
    async with a2a_server(journal=journal, agents=[far]) as it:
        remote = RemoteAgent(url=f"{it.url}/a2a/far", name="far", headers={"authorization": "Bearer root"})
        async with A2AToolset(remote) as elsewhere:
            ask_far = ToolCall("c1", "far", {"message": "Look for it."})
            clerk = Agent(
                looking.model(ToolCall("c0", "look", {"number": 0}), ask_far),
                [looking.tool("clerk"), labelled({"far": ToolLabels(answers=hands_over)}, elsewhere)],
                name="clerk",
                journal=journal,
                policy=ALLOWED,
            )
            boss = Agent(
                looking.model(ToolCall("c0", "look", {"number": 0}), ToolCall("c1", "clerk", {"task": "Look for it."})),
                [looking.tool("boss"), clerk.as_tool(answers=hands_over)],
                name="boss",
                journal=journal,
                policy=ALLOWED,
                limits=Limits(calls=LIMIT),
            )
            result = await boss.run("Find it.")
    # Seven calls: a look and the clerk; a look and the agent elsewhere; three looks there.
    assert (result.status, result.stop_reason) == ("stopped", "calls"), result
    assert looking.looks == {"boss": 1, "clerk": 1, "far": 3}
    runs = {each.agent: each.run_id for each in await journal.runs()}
    records = {name: [entry.record for entry in await journal.read(run_id)] for name, run_id in runs.items()}
    for name, found in records.items():
        ended = next(each for each in found if isinstance(each, Ended))
        assert ended.reason == "calls", name
    traces = {
        trace_id(runs[name], each.trace)
        for name, found in records.items()
        for each in found[:1]
        if isinstance(each, Started)
    }
    assert len(traces) == 1, traces
    await journal.close()

    shown = await printed("runs", "show", runs["boss"], "--journal", str(path))
    lines = shown.splitlines()
    where = {
        name: next(n for n, line in enumerate(lines) if run_id in line and "part of" not in line)
        for name, run_id in runs.items()
    }
    depth = {name: lines[n].index(runs[name]) for name, n in where.items()}
    assert where["boss"] < where["clerk"] < where["far"], shown
    assert depth["boss"] < depth["clerk"] < depth["far"], shown
    assert shown.count(f"trace {traces.pop()}") == 3, shown


@pytest.mark.row("A5")
async def test_a_user_who_is_handed_over_twice_hears_the_agent_elsewhere_and_nobody_else() -> None:
    journal = MemoryJournal()
    far = Agent(ScriptedModel(["Refunded, from afar."]), name="far", journal=journal)
    async with a2a_server(journal=journal, agents=[far]) as it:
        remote = RemoteAgent(url=f"{it.url}/a2a/far", name="far", headers={"authorization": "Bearer root"})
        async with A2AToolset(remote) as elsewhere:
            clerk_model = ScriptedModel([[ToolCall("c1", "far", {"message": "Refund it."})]])
            boss_model = ScriptedModel([[ToolCall("c1", "clerk", {"task": "Refund it."})]])
            tools = [labelled({"far": ToolLabels(answers=True)}, elsewhere)]
            clerk = Agent(clerk_model, tools, name="clerk", journal=journal, policy=ALLOWED)
            boss = Agent(boss_model, [clerk.as_tool(answers=True)], name="boss", journal=journal, policy=ALLOWED)
            result = await boss.run("My money back!")
    assert (result.status, result.text) == ("done", "Refunded, from afar.")
    assert [len(model.requests) for model in (boss_model, clerk_model)] == [1, 1]


async def test_an_agent_elsewhere_is_stopped_when_another_agent_uses_up_the_limit_meanwhile(tmp_path: Path) -> None:
    looks, used_up, never = Counter[str](), asyncio.Event(), asyncio.Event()

    @tool(name="look", effects=["read"])
    async def look_far(number: int) -> str:
        """Look once more, at first, after the limit was reached, and then without an end."""
        looks["far"] += 1
        if looks["far"] > 5:
            await (used_up if looks["far"] == 6 else never).wait()
        return f"nothing yet, after {number}"

    @tool(name="look", effects=["read"])
    async def look_near(number: int, ctx: Context) -> str:
        """Look once more, as soon as the five looks of the agent elsewhere were counted."""
        assert ctx.budget is not None
        assert ctx.budget.above is not None
        above = ctx.budget.above
        await until(lambda: above.calls >= 8)
        looks["clerk"] += 1
        return f"nothing yet, after {number}"

    journal = SQLiteJournal(tmp_path / "journal.db")
    far = Agent(Looking.model(), [look_far], name="far", journal=journal, policy=ALLOWED)
    async with a2a_server(journal=journal, agents=[far]) as it:
        remote = RemoteAgent(url=f"{it.url}/a2a/far", name="far", headers={"authorization": "Bearer root"})
        async with A2AToolset(remote) as elsewhere:
            clerk = Agent(Looking.model(), [look_near], name="clerk", journal=journal, policy=ALLOWED)

            def both(request: Request) -> Said:
                return [ToolCall("c0", "clerk", {"task": "Look."}), ToolCall("c1", "far", {"message": "Look."})]

            boss = Agent(
                ScriptedModel(both), [clerk, elsewhere], journal=journal, policy=ALLOWED, limits=Limits(calls=20)
            )
            run = asyncio.create_task(boss.run("Find it."))
            await until(lambda: sum(looks.values()) >= 19 or run.done())
            used_up.set()
            result = await run
        assert (result.status, result.stop_reason) == ("stopped", "calls"), result
        # 20 calls: the two agents, five looks elsewhere and 13 here. What was under way elsewhere is one look too many.
        assert looks["clerk"] == 13
        assert looks["far"] <= 7
        for each in await journal.runs():
            assert each.status != "running", each
    await journal.close()


def test_a_limit_that_came_from_outside_holds_for_all_below_and_no_lie_raises_it() -> None:
    first = Budget({"calls": 9}, way=way_in("actum=d:1;c:2"))
    below = Budget({"calls": 9}, above=first, call="k1")
    assert below.way_down(shares_calls=True).calls == 2
    assert below.way_down().calls is None, "a server of MCP makes the one call that was counted already"
    first.count_call()
    below.count_call()
    assert (first.exhausted_above(), below.exhausted_above()) == ("calls", "calls")
    for budget in (first, below):
        with pytest.raises(BudgetExceeded):
            budget.count_call()
    assert way_in("actum=d:1;c:-2").calls is None
    assert Budget({"calls": 3}, way=way_in("actum=d:1;c:99")).way_down(shares_calls=True).calls == 3
