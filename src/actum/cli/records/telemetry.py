"""`actum telemetry`: the spans of runs, shown without a collector, or sent to one from any journal."""

from __future__ import annotations

import asyncio

import typer

from ...core.interfaces import Journal
from ...journal.named import find_run
from ...journal.timeline import Timeline
from ...telemetry.settings import TelemetryTable
from ...telemetry.spans import SpanContent, TraceSpan, spans_of
from .. import options
from ..options import JournalFlag, JsonFlag, RunArgument
from ..show import moments
from ..show.terminal import Terminal

app = typer.Typer(help="The spans of runs: show them, send them.", no_args_is_help=True)


@app.command("show")
def show_spans(run_id: RunArgument = "last", as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Show the spans of a run and of the runs that its calls began, as `[telemetry]` has them sent.

    With --json, one span a line. No collector is needed, and nothing is sent.
    """
    terminal, settings = Terminal(), options.read(journal=journal)
    table = settings.telemetry or TelemetryTable()
    said = SpanContent(content=table.content, users=table.users)

    async def command() -> list[TraceSpan]:
        async with options.journal(settings) as opened:
            return await _spans_below(opened, (await find_run(opened, run_id)).run_id, said)

    spans = asyncio.run(command())
    if as_json:
        for span in spans:
            terminal.json(span)
        return
    rows = [
        (moments.shown(span.start / 1e9), f"{(span.end - span.start) / 1e6:,.1f} ms", span.status, span.name)
        for span in sorted(spans, key=lambda each: each.start)
    ]
    if not rows:
        terminal.note("No span of this run has ended yet.")
        return
    terminal.table("began", "took", "status", "span", rows=rows)


async def _spans_below(journal: Journal, run_id: str, said: SpanContent) -> list[TraceSpan]:
    """The spans of a run, and of the runs that its calls began."""
    found = spans_of(run_id, Timeline(await journal.read(run_id)), said)
    for child in await journal.runs(parent=run_id, limit=None):
        found += await _spans_below(journal, child.run_id, said)
    return found
