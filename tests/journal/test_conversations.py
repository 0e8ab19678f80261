"""Runs as they stand, with what their calls started; conversations."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, Answer, Tool, ToolCall
from actum.call.asking.inbox import answer_pending
from actum.core.run.record import Started, Verdict
from actum.journal.conversations import as_they_stand, conversations, family
from actum.journal.lists import count_of_runs, page_of_runs
from actum.journal.memory import MemoryJournal
from actum.storage.place import open_journal
from actum.testing import RecordingToolset, ScriptedModel


@pytest.mark.row("C7")
async def test_a_run_that_nobody_drives_is_interrupted_and_one_that_somebody_drives_is_running() -> None:
    journal = MemoryJournal()
    for run_id in ("lost", "driven"):
        journal.append(run_id, Started(agent="a", model="m", said=()))
    await Agent(ScriptedModel(["Hi."]), journal=journal).run("Hi", run_id="over")
    async with journal.claim("driven"):
        stand = {run.run_id: run.status for run in await as_they_stand(journal, await journal.runs())}
    assert stand == {"lost": "interrupted", "driven": "running", "over": "done"}


@pytest.mark.parametrize("place", ["memory", "file"])
@pytest.mark.parametrize(
    ("given", "stands"),
    [
        ((), "paused"),
        (("approve",), "paused"),
        (("deny",), "paused"),
        (("approve", "approve"), "interrupted"),
        (("deny", "approve"), "interrupted"),
    ],
)
async def test_a_run_that_waits_for_another_answer_is_paused_and_found_so(
    given: tuple[Verdict, ...], stands: str, place: str, tmp_path: Path
) -> None:
    journal = open_journal(tmp_path / "j.db") if place == "file" else MemoryJournal()
    calls = [ToolCall(name, "keep", {"text": name}) for name in ("one", "two")]
    tools = [RecordingToolset([Tool(name="keep", approval=True)])]
    paused = await Agent(ScriptedModel([calls]), tools, journal=journal).run("Keep both", run_id="r")
    for pending, verdict in zip(paused.pending, given, strict=False):
        await answer_pending(journal, pending.id, Answer(verdict, by="bob"))
    (run,) = await as_they_stand(journal, await journal.runs())
    assert run.status == stands
    for status in ("running", "paused", "interrupted", "waiting", "done", ""):
        page, count = await page_of_runs(journal, status=status), await count_of_runs(journal, status=status)
        assert (len(page.items), count) == ((1, 1) if status in ("", stands) else (0, 0)), status


@pytest.mark.row("C7")
async def test_a_run_is_found_with_those_that_its_calls_started() -> None:
    journal = MemoryJournal()
    leaf = Agent(ScriptedModel(["Leaf."]), name="leaf", journal=journal)
    middle = Agent(
        ScriptedModel([ToolCall("1", "leaf", {"task": "x"}), "Middle."]), [leaf], name="middle", journal=journal
    )
    top = Agent(ScriptedModel([ToolCall("1", "middle", {"task": "y"}), "Top."]), [middle], journal=journal)
    await top.run("Go", run_id="top")
    await Agent(ScriptedModel(["Other."]), journal=journal).run("Other")
    found = await family(journal, next(run for run in await journal.runs() if run.run_id == "top"))
    (child,) = found.children
    (grandchild,) = child.children
    assert [each.run.agent for each in (found, child, grandchild)] == ["agent", "middle", "leaf"]


@pytest.mark.row("A3")
async def test_conversations_are_listed_by_their_latest_turn() -> None:
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(lambda request: "Yes."), journal=journal)
    for question, conversation in [("one", "c1"), ("two", "c2"), ("three", "c1"), ("alone", "")]:
        await agent.run(question, conversation=conversation)
    found = await conversations(journal)
    assert [(each.id, each.runs, each.question, each.status) for each in found] == [
        ("c1", 2, "one", "done"),
        ("c2", 1, "two", "done"),
    ]
