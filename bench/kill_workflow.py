"""`kill -9` at random moments of workflows; part of `make bench`: what is lost, done twice, or said to be in doubt.

A workflow acts on the ledger of `kill.py`: branches side by side, a container of five items of which three run at a
time, a loop, a part that is a workflow of its own, and a call that waits for approval, beside a branch that works on.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import partial

from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.core.run.node_records import NodeBegan, NodeLeft
from actum.core.run.record import Ended, InputRequested, Intended
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

from .kill import DONE, EFFECT_S, STATES, Ledger, Torment, count, kill_rows, one_process, tools
from .loop import Row

PART = """\
actum: workflow/1
name: part
nodes:
  first: {type: tool, tool: keyed, with: {step: 50, index: 0}}
  second: {type: tool, tool: plain, with: {step: 51, index: 0}, on_error: {default: {output: null}}}
edges: [first > second]
outputs: {done: "${first.output}"}
"""
WHOLE = """\
actum: workflow/1
name: whole
inputs: {type: object, properties: {items: {type: array}}}
limits: {steps: 500}
nodes:
  begin: {type: tool, tool: look, with: {step: 0, index: 0}}
  left: {type: tool, tool: plain, with: {step: 1, index: 0}, on_error: {default: {output: null}}}
  right: {type: tool, tool: keyed, with: {step: 1, index: 1}}
  middle: {type: tool, tool: probed, with: {step: 1, index: 2}}
  items:
    type: each
    over: "${inputs.items}"
    parallel: 3
    nodes:
      act: {type: tool, tool: probed, with: {step: 2, index: "${item}"}}
      mark: {type: tool, tool: keyed, with: {step: 3, index: "${item}"}}
    edges: [act > mark]
    output: "${mark.output}"
  rounds:
    type: loop
    vars: {n: 0}
    until: "vars.n >= 3"
    max: 10
    nodes:
      add: {type: set, set: {n: {cel: "vars.n + 1"}}}
      act: {type: tool, tool: plain, with: {step: 4, index: "${vars.n}"}, on_error: {default: {output: null}}}
    edges: [add > act]
    output: "${vars.n}"
  sign: {type: tool, tool: signed, with: {step: 5, index: 0}}
  part: {type: workflow, workflow: part}
  both: {type: merge, groups: {all: ["${rounds.output}"]}}
  last: {type: tool, tool: probed, with: {step: 6, index: 0}}
edges: [begin > left, begin > right, begin > middle, left > items, right > items, middle > sign, items > rounds,
        middle > part, rounds > both, part > both, sign > both, both > last]
outputs: {rounds: "${rounds.output}", items: "${items.output}"}
"""
ITEMS: JsonObject = {"items": [0, 1, 2, 3, 4]}
MEANT = Counter({"look": 1, "plain": 1 + 3 + 1, "keyed": 1 + 5 + 1, "probed": 1 + 5 + 1, "signed": 1})
"""What the workflow does, if nothing is lost and nothing done twice."""


def opened(ledger: Ledger, journal: Journal) -> Workflow:
    """The workflow with its tools."""
    part = Workflow(read_definition(PART.encode()), tools(ledger), journal=journal)
    return Workflow(read_definition(WHOLE.encode()), [*tools(ledger), part.as_tool()], journal=journal)


async def live(journal: Journal, run_id: str, ledger: Ledger) -> None:
    """What one process does: take the run up, approve what waits, and say of each doubt that nobody knows."""
    workflow = opened(ledger, journal)
    print("up", flush=True)
    result = await (workflow.resume(run_id) if await journal.read(run_id) else workflow.run(ITEMS, run_id=run_id))
    while result.status == "paused":
        await asyncio.sleep(EFFECT_S * 2)  # it waits, and can be killed meanwhile
        words = {"approval": "approve", "doubt": "unknown"}
        result = await workflow.resume(run_id, {one.id: words[one.kind] for one in result.pending})
    if result.status != "done" or result.output_or_none != {"rounds": 3, "items": ["done"] * 5}:
        raise RuntimeError(f"{run_id} ended otherwise: {result.status} {result.text} {result.output_or_none}")
    print(run_id, result.status, flush=True)


async def state_of(journal: Journal, run_id: str) -> str:
    """In which state of the run the process died."""
    records = [entry.record for entry in await journal.read(run_id)]
    if not records:
        return STATES[0]
    if isinstance(records[-1], Ended) and records[-1].status == "done":
        return DONE
    if any(run.parent == run_id and run.status == "running" for run in await journal.runs(limit=None)):
        return STATES[5]
    if isinstance(records[-1], InputRequested | Ended):
        return STATES[4]
    left = sum(isinstance(record, NodeLeft) for record in records)
    begun = sum(isinstance(record, NodeBegan) for record in records)
    return (
        STATES[1 + min(max(begun - left, 0), 2)] if any(isinstance(each, Intended) for each in records) else STATES[1]
    )


TORMENT = Torment("bench.kill_workflow", state_of, partial(count, meant=MEANT))


def kill_workflow_table(_: int) -> list[Row]:
    """200 kills on SQLite, 60 on PostgreSQL."""
    return kill_rows(200, 60, seed=11, what=TORMENT)


if __name__ == "__main__":
    one_process(live)
