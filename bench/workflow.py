"""CPU time a node of a workflow, journal in memory; part of `make bench`: chains, fans and `each`, against a bare loop.

.venv/bin/python -m bench.workflow
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable

from actum import tool
from actum.core.json import Json, JsonObject
from actum.journal.memory import MemoryJournal
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

SIZES = (20, 200, 2_000)
ITEMS = (100, 1_000, 10_000)
TIMES = 3


@tool(effects={"read"})
async def nothing(x: int) -> int:
    """Nothing."""
    return x


def bare(size: int) -> float:
    """Seconds a node of a loop over a chain in topological order that calls a function."""
    behind = {at: [at + 1] for at in range(size - 1)} | {size - 1: []}
    began = time.process_time()
    for _ in range(50):
        waiting = dict.fromkeys(range(1, size), 1) | {0: 0}
        ready, values = [0], dict[int, int]()
        while ready:
            node = ready.pop()
            values[node] = node + 1
            for target in behind[node]:
                waiting[target] -= 1
                if not waiting[target]:
                    ready.append(target)
    return (time.process_time() - began) / 50 / size


def definition(size: int, node: JsonObject, edges: Callable[[int], list[str]]) -> Workflow:
    """A workflow of so many nodes."""
    nodes: JsonObject = {f"n{at}": node for at in range(size)}
    given: list[Json] = list(edges(size))
    text = {"actum": "workflow/1", "name": "w", "nodes": nodes, "edges": given, "limits": {"steps": 1_000_000}}
    return Workflow(read_definition(json.dumps(text)), [nothing], journal=MemoryJournal())


def chain(size: int) -> list[str]:
    """One node behind the other."""
    return [f"n{at} > n{at + 1}" for at in range(size - 1)]


def fan(size: int) -> list[str]:
    """All nodes behind the first."""
    return [f"n0 > n{at}" for at in range(1, size)]


def seconds_of(workflow: Workflow, inputs: JsonObject | None = None) -> float:
    """CPU seconds of one run, the best of several."""
    best = float("inf")
    for _ in range(TIMES):
        began = time.process_time()
        asyncio.run(workflow.run(inputs))
        best = min(best, time.process_time() - began)
    return best


def main() -> None:
    """Measure and print."""
    loop = bare(2_000)
    print(f"bare loop {loop * 1e6:.2f} us a node")
    pure: JsonObject = {"type": "say", "text": "x"}
    call: JsonObject = {"type": "tool", "tool": "nothing", "with": {"x": 1}}
    for name, node in (("pure", pure), ("tool", call)):
        for form, edges in (("chain", chain), ("fan", fan)):
            times = [seconds_of(definition(size, node, edges)) / size for size in SIZES]
            told = "  ".join(f"{size}: {each * 1e6:.1f} us" for size, each in zip(SIZES, times, strict=True))
            print(f"{name} {form}: {told}  {times[-1] / loop:.1f} x the bare loop")
    each: JsonObject = {"type": "each", "over": "${inputs.of}", "output": "${t.output}", "parallel": 8}
    each["nodes"] = {"t": call}
    text = {"actum": "workflow/1", "name": "w", "inputs": {"type": "object"}, "nodes": {"e": each}}
    text["limits"] = {"steps": 1_000_000}
    workflow = Workflow(read_definition(json.dumps(text)), [nothing], journal=MemoryJournal())
    for items in ITEMS:
        taken = seconds_of(workflow, {"of": list(range(items))}) / items
        print(f"each, {items} items: {taken * 1e6:.1f} us an item")


if __name__ == "__main__":
    main()
