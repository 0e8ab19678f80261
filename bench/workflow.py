"""CPU time a node of a workflow, journal in memory; part of `make bench`: chains, fans and `each`, against the bare
topological loop of the standard library (`graphlib`) and against langgraph.

    python -m bench --only workflow-nodes
"""

from __future__ import annotations

import asyncio
import graphlib
import json
import time
from collections.abc import Awaitable, Callable

from actum import tool
from actum.core.json import Json, JsonObject
from actum.journal.memory import MemoryJournal
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow

from .loop import Row

SIZES = (20, 200, 2_000)
ITEMS = (100, 1_000, 10_000)

Work = Callable[[], Awaitable[object]]


@tool(effects={"read"})
async def nothing(x: int) -> int:
    """Nothing."""
    return x


async def added(number: int) -> int:
    """What a node of the bare loop does."""
    return number + 1


def bare(size: int) -> Work:
    """A loop over a chain in topological order that awaits a function for each node."""

    async def run() -> None:
        order = graphlib.TopologicalSorter({at: [at - 1] if at else [] for at in range(size)})
        order.prepare()
        values = dict[int, int]()
        while order.is_active():
            for node in order.get_ready():
                values[node] = await added(node)
                order.done(node)

    return run


def langgraph(size: int) -> Work:
    """A chain of langgraph whose nodes add one, without checkpoints."""
    from langgraph.graph import END, START, StateGraph

    async def one(state: dict[str, int]) -> dict[str, int]:
        return {"x": state["x"] + 1}

    graph = StateGraph(dict)
    names = [f"n{at}" for at in range(size)]
    for name in names:
        graph.add_node(name, one)
    for source, target in zip([START, *names], [*names, END], strict=True):
        graph.add_edge(source, target)
    compiled = graph.compile()
    return lambda: compiled.ainvoke({"x": 0}, {"recursion_limit": 10 * size})


def actum(size: int, node: JsonObject, edges: Callable[[int], list[str]]) -> Work:
    """A workflow of so many nodes."""
    nodes: JsonObject = {f"n{at}": node for at in range(size)}
    given: list[Json] = list(edges(size))
    text = {"actum": "workflow/1", "name": "w", "nodes": nodes, "edges": given, "limits": {"steps": 1_000_000}}
    definition = read_definition(json.dumps(text))
    return lambda: Workflow(definition, [nothing], journal=MemoryJournal()).run()


def each(size: int) -> Work:
    """A container that goes through so many items, with one call for each."""
    container: JsonObject = {"type": "each", "over": "${inputs.of}", "output": "${t.output}", "parallel": 8}
    container["nodes"] = {"t": {"type": "tool", "tool": "nothing", "with": {"x": 1}}}
    text = {"actum": "workflow/1", "name": "w", "inputs": {"type": "object"}, "nodes": {"e": container}}
    definition = read_definition(json.dumps(text | {"limits": {"steps": 1_000_000}}))
    inputs: JsonObject = {"of": list(range(size))}
    return lambda: Workflow(definition, [nothing], journal=MemoryJournal()).run(inputs)


def chain(size: int) -> list[str]:
    """One node behind the other."""
    return [f"n{at} > n{at + 1}" for at in range(size - 1)]


def fan(size: int) -> list[str]:
    """All nodes behind the first."""
    return [f"n0 > n{at}" for at in range(1, size)]


async def microseconds(work: Work, size: int, rounds: int) -> float:
    """CPU microseconds a node, the best of several rounds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        await work()
        best = min(best, time.process_time() - began)
    return best / size * 1e6


def workflow_nodes_table(rounds: int) -> list[Row]:
    """CPU of a node by the size of the graph."""
    return asyncio.run(_rows(max(rounds, 5)))


async def _rows(rounds: int) -> list[Row]:
    pure: JsonObject = {"type": "say", "text": "x"}
    call: JsonObject = {"type": "tool", "tool": "nothing", "with": {"x": 1}}
    measured: list[tuple[str, tuple[int, ...], Callable[[int], Work]]] = [
        ("bare loop", SIZES, bare),
        ("actum, a node that computes, chain", SIZES, lambda size: actum(size, pure, chain)),
        ("actum, a node that computes, fan", SIZES, lambda size: actum(size, pure, fan)),
        ("actum, a call of a tool, chain", SIZES, lambda size: actum(size, call, chain)),
        ("actum, a call of a tool, fan", SIZES, lambda size: actum(size, call, fan)),
        ("actum, each", ITEMS, each),
        ("langgraph, a function, chain", SIZES[:2], langgraph),
    ]
    rows: list[Row] = []
    floor = 0.0
    for name, sizes, make in measured:
        times = [await microseconds(make(size), size, rounds) for size in sizes]
        floor = floor or times[-1]
        shown = [f"{taken:.1f}" for taken in times] + ["-"] * (3 - len(times))
        rows.append({"nodes": name, "20 µs": shown[0], "200 µs": shown[1], "2,000 µs": shown[2]})
        rows[-1]["× bare"] = round(times[-1] / floor, 1)
    return rows
