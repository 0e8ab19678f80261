"""`actum journal export`, `heads` and `verify`: what shows that the record is as it was written."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from ...compose.journals import read_journal_key
from ...core.errors import UsageError
from ...core.process.named_file import open_named
from ...journal.export import (
    Evidence,
    Report,
    check_export,
    check_journal,
    entry_line,
    head_lines,
    read_lines,
    row_lines,
)
from ...journal.export import run_ids as every_run
from ...journal.named import find_run
from ...knowledge.citing.sources import pages_kept
from ...policy.record_mask import reader_mask
from ...runs.other_values import as_seen
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, styled, who

PROBLEMS_MAX = 50

RunArguments = Annotated[
    list[str] | None, typer.Argument(metavar="[RUN]...", help="These runs: ids, the beginnings of them, or `last`.")
]


def export(
    run_ids: RunArguments = None,
    every: Annotated[bool, typer.Option("--all", help="Every run.")] = False,
    journal: JournalFlag = "",
) -> None:
    """Print runs as lines of JSON that can be checked without the database: `actum journal verify --file`.

    Values with a label that you may not read are masked.
    """
    if not run_ids and not every:
        raise UsageError("export what? Name runs, or --all")
    terminal, settings = Terminal(), options.read(journal=journal)

    async def command() -> None:
        async with options.journal(settings, older=True) as opened:
            if every:
                found = await every_run(opened)
            else:
                found = [(await find_run(opened, run_id)).run_id for run_id in run_ids or []]
            for run_id in found:
                mask = reader_mask(settings.labels, who())
                for entry in await as_seen(mask, opened, run_id, await opened.read(run_id)):
                    terminal.json(entry_line(run_id, entry))
                for line in await row_lines(opened, run_id):
                    terminal.json(line)

    asyncio.run(command())


def heads(journal: JournalFlag = "") -> None:
    """Print the latest head of every run, and the signed ones. Kept elsewhere, they show what was changed since."""
    terminal = Terminal()

    async def command() -> None:
        async with options.journal(options.read(journal=journal), older=True) as opened:
            async for line in head_lines(opened):
                terminal.json(line)

    asyncio.run(command())


def verify(
    run_ids: RunArguments = None,
    known: Annotated[str, typer.Option("--heads", metavar="FILE", help="Heads that were exported earlier.")] = "",
    key_file: Annotated[str, typer.Option(metavar="FILE", help="The key that the journal signs with.")] = "",
    file: Annotated[str, typer.Option(metavar="FILE", help="Check an export instead of the journal.")] = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Check the chain of every run. Exit code 1 when something is wrong.

    Alone, it finds what was changed by accident, gaps, what the list of runs and the kept definitions of tools say
    otherwise than the entries, and large values and pages that were read which are changed or gone. With exported heads
    or the key it also finds a run that somebody rewrote as a whole, or cut at its end.
    """
    terminal = Terminal()
    settings = options.read(journal=journal)
    key = read_journal_key(key_file or settings.journal_key) if key_file or settings.journal_key else None
    evidence = _read(known) if known else Evidence()

    async def command() -> Report:
        async with options.journal(settings, older=True) as opened:
            found = [(await find_run(opened, run_id)).run_id for run_id in run_ids or []]
            return await check_journal(opened, found, known=evidence, key=key, pages=pages_kept)

    if file and run_ids:
        raise UsageError("--file checks all that is in the file: name no runs")
    report = check_export(_read(file), known=evidence, key=key) if file else asyncio.run(command())
    if as_json:
        terminal.json(report)
    else:
        _show(terminal, report)
    return FAILED if report.problems else DONE


def _show(terminal: Terminal, report: Report) -> None:
    for problem in report.problems[:PROBLEMS_MAX]:
        terminal.line("wrong", styled((problem, "red")), "bold red")
    if len(report.problems) > PROBLEMS_MAX:
        terminal.line("", tr("... and {count} more; --json has them all", count=len(report.problems) - PROBLEMS_MAX))
    checked = tr("{runs:run|runs}, {records:record|records}", runs=report.runs, records=report.entries)
    if report.heads:
        checked += tr(", {count:exported head|exported heads}", count=report.heads)
    if report.signed:
        checked += tr(", {count:signed head|signed heads}", count=report.signed)
        checked += "" if report.by_key else tr(" (without their key)")
    count = len(report.problems)
    found = tr("{count:problem|problems}", count=count) if count else tr("nothing is wrong")
    terminal.line("checked", f"{checked}: {found}")
    if report.unread:
        terminal.note(
            "{unread:record is|records are} of a format that this version of actum does not read: their bytes "
            "were checked, not what they say.",
            unread=report.unread,
        )
    if report.masked:
        terminal.note(
            "{masked:record was|records were} exported without values that a reader may not see: their place in the "
            "chain was checked, not what they say.",
            masked=report.masked,
        )
    if not report.heads and not report.by_key and not report.problems:
        terminal.note("Without a key or exported heads, a run that was rewritten as a whole can not be told.")


def _read(file: str) -> Evidence:
    """The lines of a file.

    Raises:
        UsageError: it can not be read, or holds something else.
    """
    try:
        with open_named(Path(file)) as lines:
            return read_lines(lines)
    except UsageError as error:
        raise UsageError("{file}: {why}", file=file, why=error) from None
    except OSError as error:
        raise UsageError("{path} can not be read: {why}", path=file, why=error.strerror) from None
