"""Calls of a model that become tasks, and `task_status`."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, tool
from actum.core.clock import SystemClock
from actum.core.record import Started
from actum.runs.runner import Runner
from actum.storage.place import open_journal
from actum.tasks.attempt import attempt
from actum.tasks.background import BackgroundTools, with_argument
from actum.tasks.builder import Resumable
from actum.tasks.queue import TaskQueue
from actum.testing import ScriptedModel
from actum.toolsets.function.function import FunctionToolset
from tests.server.api.test_runs import calls


@tool(effects={"read"}, background="allowed")
def count(what: str) -> str:
    """Count."""
    return f"7 {what}"


@tool(effects={"read"}, background="allowed")
def odd(execute_async: str) -> str:
    """A tool with an argument of that name."""
    return execute_async


@pytest.mark.row("P5")
def test_the_argument_is_added_to_the_schema_unless_the_tool_has_one_of_that_name() -> None:
    shown = with_argument(count.definition)
    assert sorted(shown.property_schemas()) == ["execute_async", "what"]
    assert shown.required() == ("what",)
    assert with_argument(odd.definition) is odd.definition


@pytest.mark.row("P5")
async def test_a_model_is_answered_with_the_id_of_a_task_and_sees_those_of_its_conversation_only(
    tmp_path: Path,
) -> None:
    journal = open_journal(str(tmp_path / "journal.db"))
    inner = FunctionToolset([count, odd])
    runner = Runner([inner], name="api", journal=journal)
    queue = TaskQueue(journal, clock=SystemClock())
    tools = BackgroundTools(inner, queue, runner)

    class Bench:
        async def build(self, started: Started) -> Resumable:
            return runner

    def agent(*replies: object) -> Agent[str]:
        return Agent(ScriptedModel(list(replies)), [tools], journal=journal)  # type: ignore[arg-type]

    begun = await agent(calls("count", what="eggs", execute_async=True), "Begun.").run("Count.", conversation="c1")
    (line,) = await queue.list()
    assert begun.calls[0][1].structured["task_id"] == line.run_id  # type: ignore[index, call-overload]
    await attempt(journal, Bench(), line.run_id, clock=SystemClock(), worker="w1")
    ask = calls("task_status", task_id=line.run_id)
    same = await agent(ask, "Done.").run("And?", conversation="c1")
    assert same.calls[0][1].structured["result"] == "7 eggs"  # type: ignore[index, call-overload]
    for conversation in ("c2", ""):
        other = await agent(ask, "No.").run("And?", conversation=conversation)
        assert other.calls[0][1].error is not None
    plain = await agent(calls("count", what="hens"), "Seven.").run("Count.")
    assert plain.calls[0][1].text == "7 hens"
    kept = await agent(calls("odd", execute_async="mine"), "Mine.").run("Odd.")
    assert kept.calls[0][1].text == "mine"
    await journal.close()
