"""Conversations of workflows: their variables, and what model nodes are told of earlier turns."""

import asyncio
import json
from pathlib import Path

import pytest

from actum import tool
from actum.core.errors import Busy, UnknownName, UsageError, WorkflowFailed
from actum.core.json import JsonObject
from actum.core.message import ToolMessage, UserMessage
from actum.core.policy import Answer
from actum.core.run.record import TaskQueued
from actum.core.run.task import TaskOptions
from actum.journal.memory import MemoryJournal
from actum.journal.recording import RunState
from actum.runs.options import ConversationOptions
from actum.storage.place import open_journal
from actum.testing import ScriptedModel
from actum.workflow.conversation import OPEN_RUNS_MAX
from actum.workflow.load import check_text
from actum.workflow.speaker import speaking_agent
from actum.workflow.workflow import Workflow

from .test_workflow import workflow

COUNTER: JsonObject = {
    "inputs": {"type": "object", "properties": {"word": {"type": "string"}}},
    "conversation": {"words": [], "count": 0},
    "nodes": {
        "ask": {"type": "human", "message": "Go?", "choices": ["go"]},
        "fast": {"type": "if", "cases": [{"port": "yes", "when": "inputs.word != 'slow'"}]},
        "both": {"type": "merge", "groups": {}},
        "note": {"type": "set", "append": {"words": "${inputs.word}"}, "add": {"count": 1}},
    },
    "edges": ["fast.else > ask", "fast.yes > both", "ask.go > both", "both > note"],
    "outputs": {"words": "${vars.words}", "count": "${vars.count}"},
}


async def test_the_next_run_of_a_conversation_sees_its_variables_and_no_other_conversation_does(tmp_path: Path) -> None:
    path = tmp_path / "j.db"
    outputs = []
    for word in ("a", "b", "x" * 70_000):  # the last is kept by its digest
        journal = open_journal(path)  # another process each time
        flow = workflow(COUNTER, journal=journal)
        outputs.append((await flow.run({"word": word}, conversation="c", principal="ada", tenant="north")).output)
        await journal.close()
    assert outputs[1] == {"words": ["a", "b"], "count": 2}
    journal = open_journal(path)
    flow = workflow(COUNTER, journal=journal)
    done = await flow.run({"word": "c"}, conversation="c", principal="ada", tenant="north")
    assert done.output == {"words": ["a", "b", "x" * 70_000, "c"], "count": 4}
    for who in (
        {"conversation": "c", "principal": "ada", "tenant": "south"},
        {"conversation": "c", "principal": "eve", "tenant": "north"},
        {"conversation": "d", "principal": "ada", "tenant": "north"},
        {"principal": "ada", "tenant": "north"},
    ):
        done = await flow.run({"word": "z"}, **who)  # type: ignore[arg-type]
        assert done.output == {"words": ["z"], "count": 1}, who
    await journal.close()


async def test_two_runs_of_a_conversation_lose_nothing_silently() -> None:
    flow = workflow(COUNTER, journal=MemoryJournal())
    paused = await flow.run({"word": "slow"}, conversation="c")
    other = await flow.run({"word": "b"}, conversation="c")
    assert other.output == {"words": ["b"], "count": 1}
    with pytest.raises(WorkflowFailed, match="another run of the conversation has changed words"):
        await flow.resume(paused.run_id, {paused.pending[0].id: "go"})
    assert (await flow.run({"word": "c"}, conversation="c")).output == {"words": ["b", "c"], "count": 2}
    # What a run changes after the next run has begun is not lost either.
    paused = await flow.run({"word": "slow"}, conversation="e")
    later = await flow.run({"word": "slow"}, conversation="e")
    first = await flow.resume(paused.run_id, {paused.pending[0].id: "go"})
    assert first.output == {"words": ["slow"], "count": 1}
    assert (await flow.run({"word": "d"}, conversation="e")).output == {"words": ["slow", "d"], "count": 2}
    with pytest.raises(WorkflowFailed, match="another run"):
        await flow.resume(later.run_id, {later.pending[0].id: "go"})
    again = await flow.fork(paused.run_id, 2)
    assert (await flow.journal.read(again))[0].record.conversation == ""  # type: ignore[union-attr]


async def test_a_conversation_that_a_run_is_working_in_is_busy() -> None:
    began, let_go = asyncio.Event(), asyncio.Event()

    @tool(effects={"read"})
    async def work() -> str:
        """Work until the test says so."""
        began.set()
        await let_go.wait()
        return "worked"

    nodes: JsonObject = {"work": {"type": "tool", "tool": "work"}, "note": {"type": "set", "add": {"count": 1}}}
    definition: JsonObject = {
        "conversation": {"count": 0},
        "nodes": nodes,
        "edges": ["work > note"],
        "outputs": {"count": "${vars.count}"},
    }
    flow = workflow(definition, [work])
    first = asyncio.ensure_future(flow.run(conversation="c"))
    await began.wait()
    with pytest.raises(Busy):
        await flow.run(conversation="c")
    let_go.set()
    assert (await first).output == {"count": 1}
    assert (await flow.run(conversation="c")).output == {"count": 2}


async def test_a_model_node_is_told_the_latest_turns_that_fit_into_its_window() -> None:
    def told_to(model: ScriptedModel) -> list[list[str]]:
        return [
            [each.text for each in request.messages if not isinstance(each, ToolMessage)] for request in model.requests
        ]

    def definition(memory: JsonObject | None) -> JsonObject:
        node: JsonObject = {"type": "model", "model": "m", "system": "Be kind.", "prompt": "${inputs.q}"}
        return {
            "inputs": {"type": "object", "properties": {"q": {"type": "string"}}},
            "nodes": {
                "ask": node if memory is None else {**node, "memory": memory},
                "say": {"type": "say", "text": "${ask.text}"},
            },
            "edges": ["ask > say"],
        }

    journal = MemoryJournal()
    windows: list[tuple[JsonObject | None, list[str]]] = [
        (None, []),
        ({}, ["q0", "a0"]),
        ({"turns": 1}, ["q1", "a1"]),
        ({"turns": 2}, ["q1", "a1", "q2", "a2"]),
        ({"turns": 5, "tokens": 4}, ["q2", "a2", "q3", "a3"]),
        ({"turns": 5, "tokens": 1}, []),
    ]
    for number, (memory, told) in enumerate(windows):
        model = ScriptedModel([f"a{number}"])
        flow = workflow(definition(memory), journal=journal, models={"m": model})
        done = await flow.run({"q": f"q{number}"}, conversation="c")
        assert done.text == f"a{number}"
        assert told_to(model) == [["Be kind.", *told, f"q{number}"]], number
    model = ScriptedModel(["x", "y"])
    flow = workflow(definition({}), journal=journal, models={"m": model})
    await flow.run({"q": "alone"})
    await flow.run({"q": "stranger"}, conversation="c", tenant="other")
    assert told_to(model) == [["Be kind.", "alone"], ["Be kind.", "stranger"]]


def test_a_variable_stands_either_in_vars_or_in_conversation() -> None:
    checked = check_text("actum: workflow/1\nname: w\nvars: {a: 1}\nconversation: {a: 2}\nnodes: {}\n")
    assert [(each.line, each.message) for each in checked.problems] == [(4, "'a' stands in vars and in conversation")]


async def queued(flow: Workflow, word: str, run_id: str, conversation: str = "c") -> str:
    """A run that is put on record, and waits to be begun."""
    task = TaskQueued(options=TaskOptions(), due=0.0)
    return await flow.queue({"word": word}, task, ConversationOptions(conversation=conversation, run_id=run_id))


async def test_a_queued_run_sees_the_variables_as_they_are_when_it_begins(tmp_path: Path) -> None:
    journal = open_journal(tmp_path / "j.db")
    flow = workflow(COUNTER, journal=journal)
    for number in range(3):
        await queued(flow, f"q{number}", f"run_{number}")
    assert (await flow.run({"word": "x" * 70_000}, conversation="c")).output == {"words": ["x" * 70_000], "count": 1}
    await journal.close()
    journal = open_journal(tmp_path / "j.db")  # another process carries the tasks out
    flow = workflow(COUNTER, journal=journal)
    first = await flow.resume("run_1")
    assert first.output == {"words": ["x" * 70_000, "q1"], "count": 2}
    assert (await flow.run({"word": "b"}, conversation="c")).output["count"] == 3
    assert (await flow.resume("run_0")).output["words"][1:] == ["q1", "b", "q0"]  # type: ignore[index]
    assert (await flow.run({"word": "c"}, conversation="c")).output["words"][1:] == ["q1", "b", "q0", "c"]  # type: ignore[index]
    assert (await flow.run({"word": "c"}, conversation="c", tenant="t")).output["count"] == 1
    assert (await flow.resume("run_2")).output["words"][1:] == ["q1", "b", "q0", "c", "q2"]  # type: ignore[index]
    # A run that paused before it changed anything keeps what it knew, also when it was queued.
    await queued(flow, "slow", "run_3")
    waiting = await flow.resume("run_3")
    assert (await flow.run({"word": "d"}, conversation="c")).output["count"] == 7
    with pytest.raises(WorkflowFailed, match="another run of the conversation"):
        await flow.resume("run_3", {waiting.pending[0].id: "go"})
    forked = await flow.fork("run_1", 2)
    state = RunState(await journal.read(forked))
    assert state.beginning().conversation == ""
    await journal.close()


async def test_many_queued_runs_close_no_conversation_and_hide_no_variable() -> None:
    flow = workflow(COUNTER, journal=MemoryJournal())
    await flow.run({"word": "a"}, conversation="c")
    for number in range(OPEN_RUNS_MAX):
        await queued(flow, "q", f"run_{number}")
    for again in range(2):
        with pytest.raises(UsageError, match="has 100 runs that have not ended"):
            await queued(flow, "q", f"more_{again}")
        with pytest.raises(UsageError, match="has 100 runs that have not ended"):
            await flow.run({"word": "b"}, conversation="c")
    for number in range(OPEN_RUNS_MAX):
        done = await flow.resume(f"run_{OPEN_RUNS_MAX - 1 - number}")
        assert done.output["count"] == number + 2, number
    assert (await flow.run({"word": "b"}, conversation="c")).output["count"] == OPEN_RUNS_MAX + 2


async def test_an_agent_that_stands_for_a_workflow_lends_it_its_conversation() -> None:
    journal = MemoryJournal()
    definition: JsonObject = {
        **COUNTER,
        "nodes": {
            **COUNTER["nodes"],  # type: ignore[dict-item]
            "ask2": {"type": "model", "model": "m", "prompt": "${inputs.word}", "memory": {"turns": 5}},
        },
        "edges": [*COUNTER["edges"], "note > ask2"],  # type: ignore[misc]
        "outputs": {"words": "${vars.words}"},
    }
    model = ScriptedModel(["m"] * 20)
    flow = workflow(definition, journal=journal, models={"m": model})
    agent = speaking_agent(flow, description="Counts.")

    async def words(said: str, **options: object) -> list[str]:
        result = await agent.run(said, **options)  # type: ignore[arg-type]
        told: list[str] = json.loads(str(result.text))["words"]
        assert result.status == "done"
        return told

    owner = {"conversation": "c", "principal": "ada", "tenant": "north"}
    assert [await words(each, **owner) for each in "ab"] == [["a"], ["a", "b"]]
    assert [each.text for each in model.requests[-1].messages if isinstance(each, UserMessage)] == ["a", "b"]
    direct = await flow.run({"word": "c"}, **owner)  # type: ignore[arg-type]
    assert direct.output == {"words": ["a", "b", "c"]}
    assert await words("d", **owner) == ["a", "b", "c", "d"]
    assert [each.text for each in model.requests[-1].messages if isinstance(each, UserMessage)] == ["a", "b", "c", "d"]
    for other in ({"tenant": "south"}, {"principal": "eve"}, {"conversation": "d"}):
        assert await words("z", **{**owner, **other}) == ["z"], other
    assert len(await journal.runs(conversation="c", owner="ada", tenant="north")) == 4, "a turn is one run"

    # Without an id each run names the run before it; two runs that follow the same run do not meet.
    def after(run: str) -> dict[str, object]:
        return {"principal": "ada", "tenant": "north", "after": run}

    async def latest() -> str:
        return (await journal.runs(limit=1, parent=""))[0].run_id

    assert await words("1", principal="ada", tenant="north") == ["1"]
    first = await latest()
    assert await words("2", **after(first)) == ["1", "2"]
    second = await latest()
    assert await words("x", **after(first)) == ["1", "x"]
    assert await words("3", **after(second)) == ["1", "2", "3"]
    with pytest.raises(UnknownName):
        await words("4", principal="eve", tenant="north", after=second)

    # A turn that waits for a person while another turn is over.
    waiting = await agent.run("slow", **owner)  # type: ignore[arg-type]
    assert waiting.status == "paused"
    assert await words("e", **owner) == ["a", "b", "c", "d", "e"]
    with pytest.raises(WorkflowFailed, match="another run of the conversation has changed words"):
        await agent.resume(waiting.run_id, {waiting.pending[0].id: Answer("answer", arguments={"choice": "go"})})
    assert await words("f", **owner) == ["a", "b", "c", "d", "e", "f"]
