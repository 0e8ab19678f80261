"""`actum telemetry`: the spans of runs, shown without a collector, or sent to one from any journal."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from typing import Annotated

import typer

from ...compose.extras import check_extras
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...journal.named import find_run
from ...journal.timeline import Timeline
from ...policy.labels import Label
from ...policy.record_mask import reader_mask
from ...runs.other_values import as_seen
from ...telemetry.settings import TelemetryTable
from ...telemetry.spans import SpanContent, TraceSpan, score_spans, spans_of
from .. import options
from ..exit_codes import DONE, FAILED
from ..options import JournalFlag, JsonFlag, RunArgument
from ..show import moments
from ..show.terminal import Terminal, who

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
            return await _spans_below(opened, (await find_run(opened, run_id)).run_id, said, settings.labels)

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


@app.command("send")
def send_spans(
    run_id: Annotated[str, typer.Argument(metavar="[RUN]", help="This run, with the runs that its calls began.")] = "",
    since: Annotated[str, typer.Option(metavar="SPAN", help="Runs that began within this time: 1d, 2w.")] = "",
    journal: JournalFlag = "",
) -> int:
    """Send the spans of runs to the collector of `[telemetry]`, also of runs from before telemetry was switched on.

    With --since, the spans of requests that were passed through are sent, too.

    What was sent before is sent again: the same spans with the same ids.
    """
    if bool(run_id) == bool(since):
        raise UsageError("send what? Name a run, or say --since 1d")
    terminal, settings = Terminal(), options.read(journal=journal)
    check_extras(settings)
    from ...compose.deploy.telemetry import open_exporter  # noqa: PLC0415  # needs actum[otel]

    async def command() -> tuple[int, int, int]:
        async with options.journal(settings) as opened:
            with open_exporter(settings, os.environ, opened) as exporter:
                if exporter is None:
                    raise UsageError('the settings name no collector: set endpoint = "http://..." in [telemetry]')
                begun = time.time() - moments.span(since) if since else 0.0
                found = (
                    [run.run_id for run in await opened.runs(since=begun, limit=None)]
                    if since
                    else await _below(opened, (await find_run(opened, run_id)).run_id)
                )
                sent = await exporter.send_runs(found)
                unsent = await exporter.send_passed(begun) if since else 0
                await exporter.close()
                return sent, len(found), unsent

    sent, count, unsent = asyncio.run(command())
    terminal.note("{sent} of {count:run was|runs were} sent", sent=sent, count=count)
    if unsent:
        terminal.note("not sent: {count:request that was|requests that were} passed through", count=unsent)
    return DONE if sent == count and not unsent else FAILED


async def _below(journal: Journal, run_id: str) -> list[str]:
    """A run, and the runs that its calls began."""
    children = await journal.runs(parent=run_id, limit=None)
    return [run_id, *[each for child in children for each in await _below(journal, child.run_id)]]


async def _spans_below(
    journal: Journal, run_id: str, said: SpanContent, labels: Mapping[str, Label]
) -> list[TraceSpan]:
    """The spans of a run, and of the runs that its calls began, as the person who types may see them."""
    found: list[TraceSpan] = []
    for each in await _below(journal, run_id):
        entries = await as_seen(reader_mask(labels, who()), journal, each, await journal.read(each))
        timeline = Timeline(entries)
        found += [*spans_of(each, timeline, said), *score_spans(each, timeline, said).values()]
    return found
