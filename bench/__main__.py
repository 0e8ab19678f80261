"""All benchmarks: `make bench`, or `python -m bench [--json] [--rounds N] [--only loop]`."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable

from .api import api_table
from .apis import apis_table
from .bfcl import NotFetched
from .constrained import constrained_table
from .decode import characters_table, floor_table, growth_table
from .door import application_table, keys_table
from .egress import egress_table
from .gateway import gateway_table as passing_table
from .gold import gold_table
from .http import http_table, prompted_table
from .jail import jail_table
from .journal import journal_table
from .kill import kill_table
from .kill_workflow import kill_workflow_table
from .linked import linked_cost_table, linked_table
from .lists import lists_table
from .loop import Row, concurrent_table, import_table, parallel_table, steps_table
from .mcp import gateway_table, server_table
from .studio import studio_table
from .tasks import tasks_kill_table, tasks_table
from .telemetry import telemetry_table
from .workflow import workflow_nodes_table
from .workflow_many import workflow_many_table

Rows = list[Row]


def a2a_table(rounds: int) -> Rows:
    """See `bench.a2a`; loaded when it is measured, since the SDK of A2A is heavy."""
    from .a2a import a2a_table as measured

    return measured(rounds)


TABLES: dict[str, tuple[str, Callable[[int], Rows]]] = {
    "steps": ("CPU of one step in memory", steps_table),
    "http": ("CPU of one step over HTTP", http_table),
    "prompted": ("CPU of one step over HTTP, calls said in text", prompted_table),
    "telemetry": ("CPU of a run with telemetry", telemetry_table),
    "decode": ("a streamed call against the bare floor of its wire", floor_table),
    "decode-characters": ("a streamed call in single characters", characters_table),
    "decode-growth": ("a streamed call as it grows", growth_table),
    "kill": ("kill -9 at random moments", kill_table),
    "workflow-nodes": (
        "CPU of a node of a workflow in memory (each: 100, 1,000 and 10,000 items)",
        workflow_nodes_table,
    ),
    "workflow-many": ("a thousand runs of a workflow at once", workflow_many_table),
    "kill-workflow": ("kill -9 of workflows at random moments", kill_workflow_table),
    "parallel": ("parallel calls of 50 ms", parallel_table),
    "concurrent": ("200 runs of 5 steps at once", concurrent_table),
    "journal": ("a record written down, by database and durability", journal_table),
    "lists": ("lists of 100,000 runs", lists_table),
    "studio": ("the pages: bytes, filtered lists, idle feeds", studio_table),
    "constrained": ("an answer under a grammar", constrained_table),
    "import": ("import and one tool", import_table),
    "passing": ("CPU of a request for a model that is passed on", passing_table),
    "door-keys": ("CPU of checking a key", keys_table),
    "door-application": ("CPU that the application costs a request", application_table),
    "mcp-server": ("CPU of a call at an MCP server", server_table),
    "mcp-gateway": ("CPU of a call at an MCP gateway", gateway_table),
    "egress": ("CPU of a guarded HTTPS call over a kept connection", egress_table),
    "api": ("CPU of a call through our own API", api_table),
    "tools-http": ("an API as tools: a call, and reading its document", apis_table),
    "a2a": ("CPU of a task that is asked for by A2A", a2a_table),
    "tasks": ("accepting, taking and carrying out tasks", tasks_table),
    "tasks-kill": ("kill -9 of a server of tasks at random moments", tasks_kill_table),
    "jail": ("what a jail costs, beside bare programs", jail_table),
    "linked": ("calls of one reply that use each other's results, on the Berkeley leaderboard's tasks", linked_table),
    "linked-cost": ("references and plans beside a run without them; chains of calls", linked_cost_table),
    "gold": ("right calls of the Berkeley leaderboard, written and read by each dialect", gold_table),
}


def show(title: str, rows: Rows) -> None:
    print(f"\n{title}")
    names = list(rows[0])
    widths = [max(len(name), *(len(str(row[name])) for row in rows)) for name in names]
    for cells in [names, *([str(row[name]) for name in names] for row in rows)]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of measuring; the best counts")
    parser.add_argument("--only", choices=TABLES, action="append", help="some, and what belongs to them")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    found: dict[str, Rows] = {}
    missed = False
    for name in (name for name in TABLES if name.startswith(tuple(arguments.only or TABLES))):
        title, table = TABLES[name]
        try:
            found[name] = table(arguments.rounds)
        except NotFetched as error:
            print(f"\n{title}\n  {error}", file=sys.stderr)
            missed = True
            continue
        if not arguments.json:
            show(title, found[name])
    if arguments.json:
        print(json.dumps(found, ensure_ascii=False))
    sys.exit(missed)


if __name__ == "__main__":
    main()
