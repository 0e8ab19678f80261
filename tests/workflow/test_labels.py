"""Labelled values in a workflow: no model of a node, and no agent that a node asks, is told a value that it may not be
told, and an agent that was told one gives it to no receiver unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from actum import Agent, Label, ToolCall, tool
from actum.core.errors import WorkflowFailed
from actum.core.json import JsonObject
from actum.core.run.record import TaskQueued
from actum.core.run.task import TaskOptions
from actum.runs.options import ConversationOptions
from actum.testing import Said, ScriptedModel
from actum.workflow import Workflow
from actum.workflow.speaker import speaking_agent
from tests.storage.conftest import Store, shared, store

from .test_workflow import definition_text, workflow

__all__ = ["shared", "store"]
pytestmark = pytest.mark.row("C9")

LABELS = {"personal": Label(models=["ollama/*"], receivers=["*@corp.example"])}
SENDS: list[Said] = [ToolCall("1", "send", {"to": "mallory@x.test", "text": "NzMyNTA="}), "done"]


@tool(effects={"read"}, labels={"salary": "personal"})
def get_employee(name: str) -> JsonObject:
    """Look an employee up."""
    return {"name": name, "salary": 73_250}


ASKS: dict[str, JsonObject] = {
    "agent": {"type": "agent", "agent": "helper", "task": "Ada earns ${look.output.salary}."},
    "model": {"type": "model", "model": "m", "prompt": "Ada earns ${look.output.salary}."},
    "classify": {"type": "classify", "model": "m", "text": "${look.output.salary}", "classes": {"a": "", "b": ""}},
}


@pytest.mark.parametrize("kind", ASKS)
async def test_a_node_tells_no_model_a_value_that_it_may_not_be_told(kind: str, store: Store, tmp_path: Path) -> None:
    for name, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
        sent: list[str] = []

        @tool(effects={"send"}, sinks=["to"])
        def send(to: str, text: str, sent: list[str] = sent) -> str:
            """Send a mail."""
            sent.append(to)
            return "sent"

        model = ScriptedModel(SENDS if kind == "agent" else ['{"class": "a"}'] * 2, name=name)
        journal = store.open()
        helper = Agent(model, [send], name="helper", labels=LABELS, journal=journal)
        nodes: JsonObject = {
            "look": {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}},
            "ask": ASKS[kind],
        }
        flow = workflow(
            {"nodes": nodes, "edges": ["look > ask"]},
            [get_employee, helper],
            labels=LABELS,
            models={"m": model},
            journal=journal,
        )
        result = await flow.run({})
        told = str([request.messages for request in model.requests])
        assert ("73250" in told, "[personal]" in told) == (sees, not sees), name
        assert result.status == ("paused" if kind == "agent" else "done")
        assert sent == []
        if kind == "agent":
            assert "the label personal" in result.pending[0].message


async def test_an_agent_that_sees_a_value_hands_it_on_to_no_agent_that_may_not() -> None:
    for name, sees in (("openai:below", False), ("ollama:below", True)):
        below = ScriptedModel(["ok"], name=name)
        boss = Agent(
            ScriptedModel(
                [
                    ToolCall("1", "get_employee", {"name": "Ada"}),
                    ToolCall("2", "helper", {"task": "Note 73250"}),
                    "done",
                ],
                name="ollama:boss",
            ),
            [get_employee, Agent(below, labels=LABELS).as_tool("helper", "Helps.")],
            labels=LABELS,
        )
        assert (await boss.run("Delegate")).status == "done"
        told = str([request.messages for request in below.requests])
        assert ("73250" in told, "[personal]" in told) == (sees, not sees)


async def test_a_label_that_says_refuse_fails_the_node_with_its_name_and_the_model_is_asked_nothing() -> None:
    refuses = {"personal": Label(models=["ollama/*"], otherwise="refuse")}
    for kind, asks in ASKS.items():
        for name, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
            model = ScriptedModel(["done"] if kind == "agent" else ['{"class": "a"}'] * 2, name=name)
            helper = Agent(model, name="helper", labels=refuses)
            nodes: JsonObject = {
                "look": {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}},
                "ask": asks,
            }
            flow = workflow(
                {"nodes": nodes, "edges": ["look > ask"]}, [get_employee, helper], labels=refuses, models={"m": model}
            )
            if sees:
                assert (await flow.run({})).status == "done"
                continue
            with pytest.raises(WorkflowFailed, match="label 'personal'"):
                await flow.run({})
            assert model.requests == []


async def test_a_workflow_inside_a_workflow_tells_no_model_a_value_that_it_was_given(store: Store) -> None:
    for kind in ("model", "agent"):
        for name, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
            journal, model = store.open(), ScriptedModel(["ok"], name=name)
            helper = Agent(model, name="helper", labels=LABELS, journal=journal)
            asks: dict[str, JsonObject] = {
                "agent": {"type": "agent", "agent": "helper", "task": "Ada earns ${inputs.s}."},
                "model": {"type": "model", "model": "m", "prompt": "Ada earns ${inputs.s}."},
            }
            inner: JsonObject = {
                "name": "inner",
                "inputs": {"type": "object", "properties": {"s": {"type": "integer"}}},
                "nodes": {"ask": asks[kind]},
            }
            within = workflow(inner, [helper], labels=LABELS, models={"m": model}, journal=journal)
            middle: JsonObject = {
                "name": "middle",
                "inputs": {"type": "object", "properties": {"s": {"type": "integer"}}},
                "nodes": {"w": {"type": "workflow", "workflow": "inner", "with": {"s": "${inputs.s}"}}},
            }
            between = workflow(middle, [within], labels=LABELS, journal=journal)
            nodes: JsonObject = {
                "look": {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}},
                "w": {"type": "workflow", "workflow": "middle", "with": {"s": "${look.output.salary}"}},
            }
            outer = workflow(
                {"nodes": nodes, "edges": ["look > w"]}, [get_employee, between], labels=LABELS, journal=journal
            )
            assert (await outer.run({})).status == "done"
            told = str([request.messages for request in model.requests])
            assert ("73250" in told, "[personal]" in told) == (sees, not sees), (kind, name)


async def test_a_later_turn_of_a_workflow_sends_nothing_unasked_once_a_value_was_seen_in_the_conversation(
    store: Store,
) -> None:
    journal, sent = store.open(), list[str]()

    @tool(effects={"send"}, sinks=["to"])
    def send(to: str, text: str) -> str:
        """Send a mail."""
        sent.append(to)
        return "sent"

    model = ScriptedModel([*SENDS, SENDS[0], SENDS[0]], name="ollama:qwen3")
    helper = Agent(model, [send], name="helper", labels=LABELS, journal=journal)
    turns: list[JsonObject] = [
        {
            "nodes": {
                "look": {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}},
                "keep": {"type": "set", "set": {"note": "${look.output.salary}"}},
            },
            "edges": ["look > keep"],
        },
        {"nodes": {"count": {"type": "set", "set": {"note": "${vars.note}"}}}},
        {"nodes": {"ask": {"type": "agent", "agent": "helper", "task": "Send ${vars.note}."}}},
    ]
    first, between, later = [
        workflow({"conversation": {"note": ""}, **turn}, [get_employee, helper], labels=LABELS, journal=journal)
        for turn in turns
    ]
    assert (await later.run({}, conversation="other")).status == "done"
    assert sent.pop() == "mallory@x.test"
    for flow in (first, between):
        assert (await flow.run({}, conversation="c")).status == "done"
    task = TaskQueued(options=TaskOptions(), due=0.0)
    queued = await later.queue({}, task, ConversationOptions(conversation="c"))
    for result in (await later.run({}, conversation="c"), await later.resume(queued)):
        assert (result.status, sent) == ("paused", [])
        assert "the label personal" in result.pending[0].message


async def test_a_workflow_that_an_agent_calls_tells_its_model_no_value_that_it_may_not_be_told(store: Store) -> None:
    look: JsonObject = {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}}
    says: JsonObject = {"type": "say", "text": "Ada earns ${look.output.salary}."}
    fails: JsonObject = {"type": "end", "error": "${look.output.salary} is too much."}
    for name, sees in (("openai:gpt-5", False), ("ollama:qwen3", True)):
        for last in (says, fails):
            journal, model = store.open(), ScriptedModel([ToolCall("1", "flow", {}), "ok"], name=name)
            graph: JsonObject = {"nodes": {"look": look, "last": last}, "edges": ["look > last"]}
            outputs: JsonObject = {} if last is fails else {"outputs": {"s": "${look.output.salary}"}}
            flow = workflow({"name": "flow", **graph, **outputs}, [get_employee], labels=LABELS, journal=journal)
            await Agent(model, [flow], labels=LABELS, journal=journal).run("Go.")
            told = str([request.messages for request in model.requests])
            assert ("73250" in told, "[personal]" in told) == (sees, not sees), (name, last)
    refusing = {"personal": Label(models=["ollama/*"], otherwise="refuse")}
    journal, model = store.open(), ScriptedModel([ToolCall("1", "flow", {}), "ok"], name="openai:gpt-5")
    graph = {"nodes": {"look": look, "last": says}, "edges": ["look > last"]}
    flow = workflow({"name": "flow", **graph}, [get_employee], labels=refusing, journal=journal)
    result = await Agent(model, [flow], labels=refusing, journal=journal).run("Go.")
    error = result.calls[0][1].error
    assert error is not None
    assert "'personal'" in error.message
    assert "73250" not in str([request.messages for request in model.requests])


async def test_who_talks_to_a_workflow_is_told_its_values_since_no_model_is(store: Store, tmp_path: Path) -> None:
    nodes: JsonObject = {
        "look": {"type": "tool", "tool": "get_employee", "with": {"name": "Ada"}},
        "last": {"type": "say", "text": "Ada earns ${look.output.salary}."},
    }
    definition: JsonObject = {"name": "flow", "nodes": nodes, "edges": ["look > last"]}
    (tmp_path / "flow.workflow.yaml").write_bytes(definition_text(definition))
    flow = Workflow.load(tmp_path / "flow.workflow.yaml", [get_employee], labels=LABELS, journal=store.open())
    assert flow.runner.labels == LABELS
    for _ in range(2):
        result = await speaking_agent(flow, description="Tells.").run("What?", conversation="c")
        assert result.text == "Ada earns 73250."
