"""How good the embedded model is: `python -m bench.embedded [--json] [--only bfcl own latency]`.

Three tables. The leaderboard's questions of one turn, in two halves: one was looked at while rules and features were
made, the other is held out by a hash of its ids, and what goes wrong there is counted and never shown. The own set,
of which likewise only the count is known. And what a question costs with 20 tools on offer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from datetime import date

from actum.core.call import ToolCall
from actum.core.message import Message, Transcript, UserMessage
from actum.core.model import Request
from actum.core.tool import Tool
from actum.journal.memory import MemoryJournal
from actum_embedded import Embedded

from . import bfcl, questions
from . import own as own_set

Rows = list[dict[str, str | float]]
CATEGORIES = (
    *("simple_python", "multiple", "parallel", "parallel_multiple"),
    *("live_simple", "live_multiple", "irrelevance", "live_irrelevance"),
)
OFFERED = 20
"""So many tools are on offer where time is measured."""

DAY = date(2026, 11, 20)


def reply(model: Embedded, messages: Sequence[Message], tools: Sequence[Tool]) -> tuple[list[ToolCall], str]:
    """What the model says: its calls and its text."""
    said = asyncio.run(model.reply(Request(messages=Transcript(messages), tools=tuple(tools))))
    return list(said.calls), said.text


def leaderboard(categories: Sequence[str] = CATEGORIES) -> Rows:
    """Percent right, and percent for which there was a call at all, for both halves of each category."""
    model = Embedded(today=lambda: DAY)
    rows: Rows = []
    for category in categories:
        right: dict[bool, list[bool]] = {True: [], False: []}
        called: dict[bool, list[bool]] = {True: [], False: []}
        for case in bfcl.load(category):
            calls, _ = reply(model, case.messages, case.tools)
            right[bfcl.held_out(case)].append(bfcl.judge(case, calls).ok)
            called[bfcl.held_out(case)].append(bool(calls))
        rows.append(
            {
                "category": category,
                "held out": percent(right[True]),
                "looked at": percent(right[False]),
                "calls, held out": percent(called[True]),
                "questions": len(right[True]) + len(right[False]),
            }
        )
    return rows


def own() -> Rows:
    """Percent of the own set that came out right, by language and by what is wanted."""
    right: dict[str, dict[str, list[bool]]] = {
        language: {kind: [] for kind in own_set.KINDS} for language in ("zh", "en")
    }
    for case in asyncio.run(own_set.tried(MemoryJournal())).results:
        language, kind = case.tags
        right[language][kind].append(case.score("right") == 1.0)
    right["both"] = {kind: right["zh"][kind] + right["en"][kind] for kind in own_set.KINDS}
    rows: Rows = []
    for language, by_kind in right.items():
        row: dict[str, str | float] = {"language": language}
        row["right"] = percent([mark for marks in by_kind.values() for mark in marks])
        rows.append(row | {kind: percent(marks) for kind, marks in by_kind.items()})
    return rows


def latency() -> Rows:
    """Milliseconds of CPU of one reply with 20 tools on offer: the first one, which loads words and weights, and then
    questions of the own set and of the leaderboard.
    """
    model = Embedded(today=lambda: DAY)
    own_tools = list(questions.tools().values())
    first = _milliseconds(model, next(iter(questions.load())).question, own_tools[:OFFERED])
    rows: Rows = [{"questions": "the first one", "p50 ms": first, "p99 ms": first, "number": 1}]
    asked = {
        "own set": [
            (question.question, [questions.tools()[n] for n in question.tools]) for question in questions.load()
        ],
        "multiple": [(str(case.messages[-1].text), list(case.tools)) for case in bfcl.load("multiple")],  # type: ignore[union-attr]
    }
    for name, every in asked.items():
        took = []
        for text, tools in every:
            known = {tool.name for tool in tools}
            offered = [*tools, *(tool for tool in own_tools if tool.name not in known)][:OFFERED]
            took.append(_milliseconds(model, text, offered))
        took.sort()
        middle, late = took[len(took) // 2], took[int(0.99 * len(took))]
        rows.append({"questions": name, "p50 ms": middle, "p99 ms": late, "number": len(took)})
    return rows


def _milliseconds(model: Embedded, text: str, tools: Sequence[Tool]) -> float:
    began = time.process_time()
    reply(model, [UserMessage.of(text)], tools)
    return round(1000 * (time.process_time() - began), 1)


def percent(marks: Sequence[bool]) -> float:
    """How many of a hundred."""
    return round(100 * sum(marks) / max(len(marks), 1), 1)


TABLES = {
    "bfcl": ("Berkeley Function Calling Leaderboard, version 4: percent right", leaderboard),
    "own": ("the own set: percent right", own),
    "latency": (f"one reply with {OFFERED} tools: milliseconds of CPU", latency),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="bench.embedded", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")
    parser.add_argument("--only", choices=TABLES, nargs="+", default=list(TABLES), help="some of them")
    wanted = parser.parse_args()
    found = {name: TABLES[name][1]() for name in wanted.only}
    if wanted.json:
        print(json.dumps(found))
        return
    for name, rows in found.items():
        show(TABLES[name][0], rows)


def show(title: str, rows: Rows) -> None:
    """Print a table."""
    print(f"\n{title}")
    cells = [list(rows[0]), *([str(cell) for cell in row.values()] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    for row in cells:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))


if __name__ == "__main__":
    main()
