"""A thousand runs of a workflow of ten nodes at once; part of `make bench`: are all right, and is none starved?"""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from actum import tool
from actum.compose.journals import open_journal
from actum.compose.settings import Settings
from actum.core.interfaces import Journal
from actum.core.json import JsonObject
from actum.journal.memory import MemoryJournal
from actum.workflow.load import read_definition
from actum.workflow.workflow import Workflow
from tests.postgres import postgres_server

from .loop import Row

RUNS = 1_000
TEXT = """\
actum: workflow/1
name: ten
vars: {left: 0}
inputs: {type: object, required: [n], properties: {n: {type: integer}}}
nodes:
  a: {type: tool, tool: double, with: {n: "${inputs.n}"}}
  b: {type: tool, tool: double, with: {n: "${a.output}"}}
  c: {type: tool, tool: double, with: {n: "${a.output}"}}
  d: {type: set, set: {left: "${b.output}"}}
  e: {type: tool, tool: double, with: {n: "${c.output}"}}
  f: {type: if, cases: [{port: even, when: "inputs.n % 2 == 0"}]}
  g: {type: tool, tool: double, with: {n: "${e.output}"}}
  h: {type: template, template: "odd"}
  i: {type: merge, groups: {way: ["${g.output}", "${h.text}"]}}
  j: {type: tool, tool: double, with: {n: "${e.output}"}}
edges: [a > b, a > c, b > d, c > e, d > f, e > f, f.even > g, f.else > h, g > i, h > i, i > j]
outputs: {end: "${j.output}", left: "${vars.left}", way: "${i.way}"}
"""


@tool(effects={"write"})
async def double(n: int) -> int:
    """Double a number."""
    await asyncio.sleep(0)
    return 2 * n


def expected(n: int) -> JsonObject:
    """What a run gives."""
    return {"end": 16 * n, "left": 4 * n, "way": 16 * n if n % 2 == 0 else "odd"}


async def run_all(journal: Journal, count: int) -> tuple[list[float], int]:
    """So many runs at once: the seconds that each took since all were begun, and how many were wrong."""
    workflow = Workflow(read_definition(TEXT.encode()), [double], journal=journal)
    began = time.perf_counter()

    async def one(n: int) -> tuple[float, bool]:
        result = await workflow.run({"n": n})
        return time.perf_counter() - began, result.output == expected(n)

    found = await asyncio.gather(*(one(n) for n in range(count)))
    return [seconds for seconds, _ in found], sum(not is_right for _, is_right in found)


async def _row(name: str, journal: Journal) -> Row:
    try:
        seconds, wrong = await run_all(journal, RUNS)
    finally:
        await journal.close()
    median = statistics.median(seconds)
    return {
        "journal": name,
        "runs": RUNS,
        "wrong": wrong,
        "median s": round(median, 2),
        "slowest s": round(max(seconds), 2),
        "slowest / median": round(max(seconds) / median, 2),
    }


def workflow_many_table(_: int) -> list[Row]:
    """A thousand runs at once on each journal."""
    with tempfile.TemporaryDirectory() as folder, postgres_server(durable=True) as server:
        places = {"SQLite": str(Path(folder) / "journal.db"), "PostgreSQL": server.new_database()}
        found = [asyncio.run(_row("memory", MemoryJournal()))]
        for name, place in places.items():

            async def row(name: str = name, place: str = place) -> Row:
                return await _row(name, open_journal(Settings(journal=place), {}))

            found.append(asyncio.run(row()))
    return found
