"""An agent is tested as it is: other parts for the time of a block, the runs of the block, and no real model."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from actum import Agent, ToolCall, tool
from actum.agents.options import AgentOptions
from actum.core.errors import BadTool, ModelUnavailable, UnknownName, UsageError
from actum.core.run.record import TaskQueued
from actum.core.run.task import TaskOptions
from actum.journal.memory import MemoryJournal
from actum.models.catalog import open_model
from actum.testing import FakeClock, ScriptedModel, TestModel, capture_runs


@tool(effects={"read"})
def find(city: str) -> str:
    """Find a city."""
    return f"{city} is there"


@tool(effects={"send"})
def post(text: str) -> str:
    """Post a text."""
    raise AssertionError("a test never comes here")


def agent() -> Agent:
    return Agent(ScriptedModel(["the real one"] * 4), tools=[find, post], name="desk")


async def test_a_block_has_other_parts_also_in_its_tasks_and_threads_and_touches_no_other_run() -> None:
    desk, inside, go_on = agent(), asyncio.Event(), asyncio.Event()

    async def beside() -> str:
        await inside.wait()
        text = (await desk.run("Hi")).text
        go_on.set()
        return text

    other = asyncio.create_task(beside())
    with desk.override(model=TestModel(text="a test")):
        inside.set()
        await go_on.wait()
        assert (await desk.run("Hi")).text == "a test"
        assert (await asyncio.create_task(desk.run("Hi"))).text == "a test"
        assert (await asyncio.to_thread(desk.run_sync, "Hi")).text == "a test"
        with desk.override(model=TestModel(text="inner")):
            assert (await desk.run("Hi")).text == "inner"
        assert (await desk.run("Hi")).text == "a test"
    assert (await desk.run("Hi")).text == await other == "the real one"


async def test_tools_journal_and_clock_are_replaced_and_copies_of_the_agent_with_it() -> None:
    @tool(effects={"read"})
    def post(text: str) -> str:
        """Post a text, in a test."""
        return f"kept: {text}"

    desk, clock = agent(), FakeClock(5_000.0)
    journal = MemoryJournal(clock)
    copy = desk.with_tools([find])  # as a program makes it before the test begins
    with desk.override(model=TestModel(), tools=[post], journal=journal, clock=clock), capture_runs() as runs:
        assert [each.name for each in await desk.list_tools()] == ["post"]
        assert (await desk.run("Hi", conversation="c")).text == (await copy.run("Hi")).text == "post: kept: text"
        assert "the real one" not in str((await desk.run("Again", conversation="c")).messages)
    assert {entry.at for run in runs for entry in await journal.read(run.run_id)} == {5_000.0}
    assert not await desk.journal.read(runs[0].run_id)
    assert desk.clock is not clock


async def test_an_overridden_agent_is_so_as_the_tool_of_another_one_and_its_runs_are_captured() -> None:
    desk = agent()
    above = Agent(ScriptedModel([[ToolCall("1", "desk", {"task": "Look."})], "Done."]), tools=[desk], name="boss")
    with desk.override(model=TestModel()), capture_runs() as runs:
        await above.run("Go")
    boss, below = runs
    assert (boss.name, below.name) == ("boss", "desk")
    assert boss.result is not None
    assert below.result is not None
    assert [(call.name, call.arguments) for call, _ in below.result.calls] == [("find", {"city": "city"})]
    assert "Not called, since they may do more than read: post." in below.result.text
    failing = Agent(ScriptedModel([ModelUnavailable("away")]), name="away")
    with capture_runs() as runs, pytest.raises(ModelUnavailable):
        await failing.run("Hi")
    assert [(run.result, type(run.error)) for run in runs] == [(None, ModelUnavailable)]


async def test_a_run_that_waits_is_gone_on_with_in_a_block_and_captured_once() -> None:
    desk = agent()

    @tool(effects={"send"}, approval=True)
    def mail(text: str) -> str:
        """Mail a text."""
        return f"sent {text}"

    with desk.override(model=TestModel(call=["mail"]), tools=[mail]), capture_runs() as runs:
        result = await desk.run("Hi")
        assert result.status == "paused"
        done = await desk.resume(result.run_id, {result.pending[0].id: "approve"})
    assert done.status == "done"
    assert [run.result for run in runs] == [done]


async def test_what_is_no_part_is_refused_and_a_task_that_would_run_elsewhere_too() -> None:
    desk = agent()
    with pytest.raises(UnknownName), desk.override(model="nobody:knows"):
        pass
    with pytest.raises(BadTool), desk.override(tools=[find, find]):
        pass
    with pytest.raises(TypeError), desk.override(instructions="x"):  # type: ignore[call-arg]
        pass
    with desk.override(model=TestModel()), pytest.raises(UsageError, match="carried out elsewhere"):
        await desk.queue("Hi", TaskQueued(due=0.0, options=TaskOptions()), AgentOptions())
    assert (await desk.run("Hi")).text == "the real one"


async def test_no_real_model_is_asked_in_our_own_tests() -> None:
    model = open_model("https://models.example.org/v1#m")
    with pytest.raises(UsageError, match=r"real model .* no_models is on"):
        await Agent(model).run("Hi")


def test_a_project_gets_the_fixture_by_installing_actum(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\nfrom actum import Agent\nfrom actum.errors import UsageError\n"
        "agent = Agent('https://models.example.org/v1#m')\n"
        "def test_it(no_models):\n"
        "    with pytest.raises(UsageError, match='no_models'):\n"
        "        agent.run_sync('Hi')\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
