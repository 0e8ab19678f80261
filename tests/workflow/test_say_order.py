"""What `say` nodes tell stands in the order of the graph, however the branches end."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from actum import Agent, tool
from actum.core.call import ToolCall
from actum.core.event import Event, TextDelta
from actum.core.json import JsonObject
from actum.core.message import Reply
from actum.testing import ScriptedModel
from actum.workflow.definition.flow import Due, Flow, NodeOutcome
from actum.workflow.load import read_definition
from actum.workflow.pure import compute
from actum.workflow.say_order import SayOrder
from actum.workflow.speaker import WorkflowModel
from actum.workflow.workflow import Workflow


def definition(nodes: JsonObject, edges: list[str], **more: object) -> bytes:
    return msgspec.json.encode({"actum": "workflow/1", "name": "talk", "nodes": nodes, "edges": edges, **more})


def spoken(text: bytes, seed: int, *, fails: frozenset[str] = frozenset()) -> list[tuple[str, list[str]]]:
    """Carry a workflow out in a random order: which node was left, and what could be said then."""
    flow, order = Flow(read_definition(text), {}), random.Random(seed)
    says, told, ready = SayOrder(flow.root), list[tuple[str, list[str]]](), flow.due()
    while ready:
        due = ready.pop(order.randrange(len(ready)))
        if flow.is_wanted(due):
            flow.took(due.path, due.result or (compute(due) if due.node.type.needs == "nothing" else ended(due, fails)))
            told.append((due.path, list(says.texts())))
        ready += flow.due()
    return told


def ended(due: Due, fails: frozenset[str]) -> NodeOutcome:
    error = compute(due).error if due.path in fails else None
    return NodeOutcome(value={"output": 1}, error=error)


WORK: JsonObject = {"type": "tool", "tool": "work"}


@given(st.integers(0, 10_000))
def test_side_by_side_branches_and_passes_speak_one_after_the_other(seed: int) -> None:
    each: JsonObject = {"type": "each", "over": [1, 2, 3], "parallel": 3, "edges": ["work > part"]}
    each["nodes"] = {"work": WORK, "part": {"type": "say", "text": "part ${item}"}}
    choice: JsonObject = {"type": "if", "cases": [{"port": "never", "when": "false"}]}
    nodes: JsonObject = {
        "left": WORK,
        "right": WORK,
        "one": {"type": "say", "text": "one"},
        "two": {"type": "say", "text": "two"},
        "check": choice,
        "skipped": {"type": "say", "text": "skipped"},
        "parts": each,
        "last": {"type": "say", "text": "last"},
    }
    edges = ["left > one", "right > two", "left > check", "check.never > skipped", "one > parts", "parts > last"]
    told = spoken(definition(nodes, edges), seed)
    assert [text for _, texts in told for text in texts] == ["one", "two", "part 1", "part 2", "part 3", "last"]
    at = {path: index for index, (path, _) in enumerate(told)}
    when = {text: index for index, (_, texts) in enumerate(told) for text in texts}
    assert when["one"] == at["one"]  # what stands first waits for nothing
    assert when["two"] == max(at["one"], at["two"])


@tool(effects={"read"})
async def work() -> int:
    """Works."""
    return 1


async def test_what_is_said_is_streamed_and_is_the_answer_in_a_chat() -> None:
    nodes: JsonObject = {
        "work": WORK,
        "one": {"type": "say", "text": "one"},
        "two": {"type": "say", "text": "two"},
    }
    flow = Workflow(read_definition(definition(nodes, ["work > one"], outputs={"n": "${work.output}"})), [work])
    heard: list[Event] = []
    result = await flow.run(emit=heard.append)
    assert result.text == "one\ntwo"
    assert "".join(event.text for event in heard if isinstance(event, TextDelta)) == result.text
    speaker: Agent[str] = Agent(WorkflowModel(flow), [flow.as_tool(given_by="client")], policy=None)
    assert (await speaker.run("hello")).text == "one\ntwo"
    script = ScriptedModel([Reply.of(calls=[ToolCall("1", "talk", {})]), Reply.of("done")])
    user: Agent[str] = Agent(script, [flow], policy=None)
    (_, read) = (await user.run("hello")).calls[0]
    assert read.text == 'one\ntwo\n{"n":1}'  # a model is told both: what was said, and the outputs
    assert read.structured == {"n": 1}


async def test_what_was_said_is_not_told_again_when_the_run_goes_on() -> None:
    nodes: JsonObject = {
        "one": {"type": "say", "text": "one"},
        "ask": {"type": "human", "message": "Go on?", "choices": ["yes"]},
        "two": {"type": "say", "text": "two"},
        "beside": {"type": "say", "text": "beside"},
    }
    flow = Workflow(read_definition(definition(nodes, ["one > ask", "ask.yes > two", "two > beside"])))
    first: list[Event] = []
    paused = await flow.run(emit=first.append)
    then: list[Event] = []
    done = await flow.resume(paused.run_id, {paused.pending[0].id: "yes"}, emit=then.append)
    assert [event.text for event in first if isinstance(event, TextDelta)] == ["one"]
    assert [event.text for event in then if isinstance(event, TextDelta)] == ["\ntwo", "\nbeside"]
    assert done.text == "one\ntwo\nbeside"
