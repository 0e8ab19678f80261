"""What goes wrong in a long life: a full disk, a tool that hangs, a budget that ends, graphs of thousands of nodes."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from pathlib import Path

import pytest

from actum import tool
from actum.call.limits.limits import Limits
from actum.core.errors import WorkflowFailed
from actum.core.json import Json, JsonObject
from actum.core.run.node_records import NodeBegan, NodeLeft
from actum.core.run.record import CallCompleted, Ended, Intended
from tests import warm
from tests.patience import HANGS_S

from .test_workflow import records, workflow

FILLS_THE_DISK = """
import asyncio, json, resource, sys
from actum import tool
from actum.core.errors import ActumError
from actum.core.interfaces import Context
from actum.core.run.record import Intended
from actum.core.run.chain import verify
from actum.storage.place import open_journal
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

made = []

@tool(effects={"spend"}, idempotent=True)
async def pay(amount: int, text: str, context: Context) -> str:
    "Pay."
    made.append(context.key)
    return text

async def main():
    journal = open_journal(sys.argv[1])
    nodes = {"p": {"type": "tool", "tool": "pay", "with": {"amount": "${item}", "text": "${inputs.text}"}}}
    each = {"type": "each", "over": list(range(60)), "nodes": nodes, "output": "${p.output}", "parallel": 4}
    text = json.dumps({"actum": "workflow/1", "name": "w", "inputs": {"type": "object"}, "nodes": {"e": each},
        "outputs": {"n": {"cel": "size(e.output)"}}})
    flow = Workflow(read_definition(text), [pay], journal=journal)
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    told = ""
    try:
        await flow.run({"text": "x" * 20_000}, run_id="r")
    except ActumError as error:
        told = type(error).__name__
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    entries = await journal.read("r")
    known = {each.record.key for each in entries if isinstance(each.record, Intended)}
    unknown = [key for key in made if key not in known]
    first = len(made)
    done = await flow.resume("r")
    entries = await journal.read("r")
    print(json.dumps([told, unknown, first, len(set(made)), done.status, done.output_or_none, verify(entries)]))
    await journal.close()
asyncio.run(main())
"""


@pytest.mark.row("F1")
def test_on_a_full_disk_nothing_is_done_whose_intention_is_not_on_record_and_the_run_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FILLS_THE_DISK, str(tmp_path / "j.db")]
    done = warm.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    told, unknown, first, made, status, output, problems = json.loads(done.stdout)
    assert told == "JournalError"
    assert unknown == []
    assert 0 < first < 60
    assert (made, status, output, problems) == (60, "done", {"n": 60}, [])


async def test_a_tool_that_hangs_ends_with_the_time_of_the_workflow_and_what_stands_beside_it_is_on_record() -> None:
    held = threading.Event()
    let_go: list[bool] = []

    @tool(effects={"spend"})
    def hang() -> str:
        """Hang in a thread of its own."""
        let_go.append(held.wait(HANGS_S))
        return "never"

    @tool(effects={"read"})
    async def quick() -> str:
        """Be quick."""
        return "quick"

    nodes: JsonObject = {"h": {"type": "tool", "tool": "hang"}, "q": {"type": "tool", "tool": "quick"}}
    flow = workflow({"nodes": nodes, "limits": {"seconds": 2}}, [hang, quick])
    stopped = await flow.run()
    assert not let_go, "the workflow does not wait for the tool"
    held.set()
    assert (stopped.status, stopped.stop_reason) == ("stopped", "seconds")
    found = await records(flow, stopped.run_id)
    assert [each.path for each in found if isinstance(each, NodeLeft)] == ["q"]
    assert {each.path for each in found if isinstance(each, NodeBegan)} == {"h", "q"}
    assert isinstance(found[-1], Ended)


async def test_a_budget_that_ends_in_the_middle_of_a_container_leaves_a_run_that_can_go_on() -> None:
    made: list[int] = []

    @tool(effects={"spend"}, idempotent=True)
    async def pay(amount: int) -> int:
        """Pay."""
        made.append(amount)
        return amount

    body: JsonObject = {"p": {"type": "tool", "tool": "pay", "with": {"amount": "${item}"}}}
    each: JsonObject = {"type": "each", "over": list(range(10)), "parallel": 3, "nodes": body, "output": "${p.output}"}
    flow = workflow({"nodes": {"e": each}, "limits": {"steps": 5}}, [pay])
    stopped = await flow.run(run_id="r")
    assert (stopped.status, stopped.stop_reason) == ("stopped", "steps")
    found = await records(flow, "r")
    assert len([one for one in found if isinstance(one, NodeLeft)]) == 5
    assert len([one for one in found if isinstance(one, Intended)]) == len(made) <= 8
    again = await flow.resume("r")
    assert (again.status, again.stop_reason) == ("stopped", "steps")
    assert len(made) <= 8
    limited = workflow(
        {"nodes": {"e": {**each, "on_error": "null"}}, "outputs": {"got": "${e.output}"}}, [pay], limits=Limits(calls=4)
    )
    done = await limited.run()
    assert sorted(cast_list(done.output), key=str) == [0, 1, 2, 3, *[None] * 6]


def cast_list(output: JsonObject) -> list[Json]:
    got = output["got"]
    assert isinstance(got, list)
    return got


async def test_a_chain_of_five_thousand_nodes_runs_and_is_replayed_without_recursion() -> None:
    @tool(effects={"read"})
    async def echo(x: int) -> int:
        """Give a number back."""
        return x

    def node(at: int) -> JsonObject:
        if at % 100:
            return {"type": "say", "text": "${n0.output}" if at == 1 else f"${{n{at - 1}.text?}}"}
        return {"type": "tool", "tool": "echo", "with": {"x": at}}

    nodes: JsonObject = {f"n{at}": node(at) for at in range(5_000)}
    edges: list[Json] = [f"n{at} > n{at + 1}" for at in range(4_999)]
    definition: JsonObject = {
        "nodes": nodes,
        "edges": edges,
        "limits": {"steps": 5_000},
        "outputs": {"x": "${n4900.output}"},
    }
    flow = workflow(definition, [echo])
    done = await flow.run()
    assert (done.status, done.output) == ("done", {"x": 4_900})
    assert (await flow.resume(done.run_id)).output == done.output
    fan: JsonObject = {f"n{at}": {"type": "tool", "tool": "echo", "with": {"x": at}} for at in range(4_999)}
    fan["last"] = {"type": "say", "text": "${n4998.output}"}
    definition = {"nodes": fan, "edges": [f"n{at} > last" for at in range(4_999)], "limits": {"steps": 5_000}}
    assert (await workflow(definition, [echo]).run()).text == "4998"


async def test_an_endless_template_ends_and_the_next_one_is_written() -> None:
    endless = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"
    nodes: JsonObject = {
        "bad": {"type": "template", "template": endless, "on_error": "branch"},
        "large": {
            "type": "template",
            "template": "{% for i in range(99999) %}0123456789a{% endfor %}",
            "on_error": "branch",
        },
        "fine": {"type": "template", "template": "Hello {{ name }}", "with": {"name": "Ann"}},
        "most": {"type": "template", "template": "{% for i in range(99999) %}0123456789{% endfor %}"},
    }
    edges: list[Json] = ["bad.error > large", "large.error > fine", "fine > most"]
    outputs: JsonObject = {
        "codes": ["${bad.error.code}", "${large.error.code}"],
        "said": "${fine.text}",
        "n": {"cel": "size(most.text)"},
    }
    flow = workflow({"nodes": nodes, "edges": edges, "outputs": outputs})
    done = await flow.run()
    assert done.output == {"codes": ["timeout", "template"], "said": "Hello Ann", "n": 999_990}
    await flow.aclose()


async def test_nodes_that_only_compute_leave_the_event_loop_its_turn_and_end_with_the_time_of_the_workflow() -> None:
    """A loop of ten thousand passes without any call: others go on meanwhile, and the time limit holds."""
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    loop: JsonObject = {"type": "loop", "max": 10_000, "nodes": {"s": {"type": "set", "add": {"n": 1}}}}
    definition: JsonObject = {
        "vars": {"n": 0},
        "nodes": {"l": loop},
        "limits": {"steps": 20_000},
        "outputs": {"n": "${vars.n}"},
    }
    beside = asyncio.ensure_future(others())
    done = await workflow(definition).run()
    beside.cancel()
    assert done.output == {"n": 10_000}
    assert turns > 100
    outer: JsonObject = {"type": "loop", "max": 10_000, "nodes": {"l": loop}}
    definition |= {"nodes": {"o": outer}, "limits": {"steps": 1_000_000, "seconds": 0.2}}
    stopped = await workflow(definition).run()
    assert (stopped.status, stopped.stop_reason) == ("stopped", "seconds"), "and not at the limit of steps"


async def test_each_goes_through_ten_thousand_items_with_calls() -> None:
    @tool(effects={"read"})
    async def echo(x: int) -> int:
        """Give a number back."""
        return x

    body: JsonObject = {"t": {"type": "tool", "tool": "echo", "with": {"x": "${item}"}}}
    each: JsonObject = {"type": "each", "over": "${inputs.of}", "parallel": 64, "nodes": body, "output": "${t.output}"}
    definition: JsonObject = {
        "inputs": {"type": "object"},
        "nodes": {"e": each},
        "limits": {"steps": 20_000},
        "outputs": {"n": {"cel": "size(e.output)"}, "last": "${e.output[9999]}"},
    }
    flow = workflow(definition, [echo])
    done = await flow.run({"of": list(range(10_000))})
    assert done.output == {"n": 10_000, "last": 9_999}
    completed = [each for each in await records(flow, done.run_id) if isinstance(each, CallCompleted)]
    assert len(completed) == 10_000


async def test_a_failure_of_a_node_without_a_rule_names_the_node_and_nothing_behind_it_is_begun() -> None:
    made: list[str] = []

    @tool(effects={"spend"})
    async def act(name: str) -> str:
        """Act."""
        made.append(name)
        if name == "bad":
            raise ValueError(name)
        return name

    def node(name: str) -> JsonObject:
        return {"type": "tool", "tool": "act", "with": {"name": name}}

    each: JsonObject = {
        "type": "each",
        "over": ["a", "bad", "b", "c"],
        "nodes": {"t": {**node(""), "with": {"name": "${item}"}}},
    }
    flow = workflow({"nodes": {"e": each, "after": node("after")}, "edges": ["e > after"]}, [act])
    with pytest.raises(WorkflowFailed) as caught:
        await flow.run()
    assert caught.value.node == "e[1]/t"
    assert made == ["a", "bad"]


@pytest.mark.parametrize("parallel", [1, 2, 3])
async def test_a_node_that_is_not_wanted_any_more_holds_nothing_up(
    parallel: int,
) -> None:
    """The first node of each pass fails while the others of the pass still wait for their turn."""

    @tool(effects={"read"})
    async def act(x: int) -> int:
        """Fail at 0."""
        if x == 0:
            raise ValueError(x)
        return x

    body: JsonObject = {f"t{at}": {"type": "tool", "tool": "act", "with": {"x": at}} for at in range(4)}
    each: JsonObject = {"type": "each", "over": [1, 2], "nodes": body, "output": "${t3.output}", "on_error": "null"}
    definition: JsonObject = {
        "nodes": {"e": each, "after": {"type": "say", "text": "${e.output}"}},
        "edges": ["e > after"],
        "limits": {"parallel": parallel},
    }
    assert (await workflow(definition, [act]).run()).text == "[null,null]"
