"""One trace out of the journals of several programs.

A call is a span, whose id is made of its idempotency key; a run names the `traceparent` that led to it. So a run of one
program belongs under the call of another, wherever each is written down.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from actum.core.run.record import Intended, Started
from actum.core.trace import span_id, span_in, trace_id
from actum.storage.sqlite import SQLiteJournal


class TracedCall(NamedTuple):
    """A call that a run made."""

    tool: str
    span: str


class TracedRun(NamedTuple):
    """A run, as far as the trace is concerned.

    Attributes:
        place: the journal it stands in.
        trace: id of the trace it belongs to.
        under: the span it was started by; empty where it began the trace.
    """

    run_id: str
    place: str
    agent: str
    trace: str
    under: str
    calls: tuple[TracedCall, ...]


async def runs_of(journals: Sequence[Path]) -> list[TracedRun]:
    """All runs of some journals."""
    return [run for path in journals async for run in _runs(path)]


async def _runs(path: Path) -> AsyncIterator[TracedRun]:
    journal = SQLiteJournal(path)
    try:
        for summary in await journal.runs(limit=None):
            records = [entry.record for entry in await journal.read(summary.run_id)]
            calls = tuple(TracedCall(each.tool, span_id(each.key)) for each in records if isinstance(each, Intended))
            for began in records:
                if isinstance(began, Started):
                    trace, under = trace_id(summary.run_id, began.trace), span_in(began.trace)
                    yield TracedRun(summary.run_id, path.name, began.agent, trace, under, calls)
    finally:
        await journal.close()


def lines_of(runs: Sequence[TracedRun], under: str = "", depth: int = 0) -> Iterator[str]:
    """The trace as lines: each run below the call that started it, and its calls below it."""
    for run in runs:
        if run.under != under:
            continue
        yield f"{'  ' * depth}{run.agent}  {run.run_id}  ({run.place})"
        for call in run.calls:
            yield f"{'  ' * depth}  → {call.tool}  span {call.span}"
            yield from lines_of(runs, call.span, depth + 2)


def show(journals: Sequence[Path]) -> list[TracedRun]:
    """Print the trace; the runs in it."""
    runs = asyncio.run(runs_of(journals))
    print(*(f"trace {trace}" for trace in dict.fromkeys(run.trace for run in runs)))
    print("\n".join(lines_of(runs)))
    return runs
