"""`actum audit`: who called what, when, with what, why it was allowed, and what came back."""

from __future__ import annotations

import asyncio
import csv
import sys
import time
from collections.abc import AsyncIterator
from typing import Annotated

import msgspec
import typer

from ...core.errors import UsageError
from ...core.json import dumps
from ...core.visible import visible
from ...journal.audit import (
    DECISIONS,
    AuditLine,
    Wanted,
    audit,
)
from .. import options
from ..options import JournalFlag, JsonFlag, TenantFlag
from ..show import moments
from ..show.terminal import (
    Terminal,
    duration,
    shorten,
)

TEXT_MAX = 80

SinceFlag = Annotated[
    str, typer.Option("--since", metavar="TIME", help="From then on: 24h, 90d, 2026-11-01, 2026-11-01T12:30.")
]
UntilFlag = Annotated[str, typer.Option("--until", metavar="TIME", help="Before then.")]


def show_audit(
    since: SinceFlag = "",
    until: UntilFlag = "",
    principal: Annotated[str, typer.Option(metavar="NAME", help="On whose behalf.")] = "",
    tenant: TenantFlag = None,
    tool: Annotated[str, typer.Option(metavar="NAME", help="The tool, or a pattern: 'pay*'.")] = "",
    decision: Annotated[str, typer.Option(metavar="WORD", help=", ".join(DECISIONS) + ".")] = "",
    run: Annotated[str, typer.Option(metavar="ID", help="The run: its id, the beginning of it, or `last`.")] = "",
    as_json: JsonFlag = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV with a header.")] = False,
    journal: JournalFlag = "",
) -> None:
    """Who called what, when, with what, why it was allowed, and what came back.

    A table to read; --json prints a line of JSON each, whole, --csv the same for a spreadsheet.
    """
    if decision and decision not in DECISIONS:
        raise UsageError("--decision {decision!r}: it is one of {known}", decision=decision, known=", ".join(DECISIONS))
    if as_json and as_csv:
        raise UsageError("--json or --csv, not both")
    now, terminal = time.time(), Terminal()
    wanted = Wanted(
        since=moments.moment(since, now) if since else None,
        until=moments.moment(until, now) if until else None,
        principal=principal,
        tenant=tenant,
        tool=tool,
        decision=decision,
    )

    async def command() -> None:
        async with options.journal(options.read(journal=journal)) as opened:
            run_id = (await options.find_run(opened, run)).run_id if run else ""
            lines = damage.watch(audit(opened, msgspec.structs.replace(wanted, run=run_id)))
            if as_json:
                async for line in lines:
                    terminal.json(line)
            elif as_csv:
                await _write_csv(lines)
            else:
                _show_table(terminal, sorted([line async for line in lines], key=lambda line: line.at))

    damage = _Damage()
    asyncio.run(command())
    options.tell_problems(terminal, damage.problems)


class _Damage:
    """Takes note of the lines that tell of damage, for whoever does not read each line."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    async def watch(self, lines: AsyncIterator[AuditLine]) -> AsyncIterator[AuditLine]:
        """The same lines."""
        async for line in lines:
            if line.decision == "damaged":
                self.problems.append(f"run {line.run} can not be read: {line.text}")
            yield line


async def _write_csv(lines: AsyncIterator[AuditLine]) -> None:
    """One row a line. What looks like a formula is no formula to a spreadsheet, and nothing moves the cursor."""
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["time", *AuditLine.__struct_fields__])
    async for line in lines:
        values = msgspec.structs.asdict(line)
        values["arguments"] = "" if line.arguments is None else dumps(line.arguments)
        out.writerow([moments.iso(line.at), *(_cell(value) for value in values.values())])


def _cell(value: object) -> object:
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def _show_table(terminal: Terminal, lines: list[AuditLine]) -> None:
    if not lines:
        terminal.note("Nothing is on record that fits.")
        return
    rows = [(moments.shown(line.at), line.run, line.principal, line.decision, line.tool, _told(line)) for line in lines]
    terminal.table("when", "run", "for", "decision", "tool", "with what, why, what came", rows=rows)


def _told(line: AuditLine) -> str:
    """The rest of a line in words."""
    pieces = [
        f"attempt {line.attempt}" if line.attempt > 1 else "",
        shorten(dumps(line.arguments), TEXT_MAX)
        if line.arguments and line.decision in ("asked", "allowed", "administered")
        else "",
        f"by {line.by}" if line.by else "",
        f"after {duration(line.waited_s)}" if line.waited_s is not None else "",
        f"({line.rule})" if line.rule else "",
        line.outcome if line.outcome != "ok" else "",
        f"effect {line.effect}" if line.effect == "unknown" else "",
        shorten(line.text, TEXT_MAX, 1),
    ]
    return "  ".join(filter(None, pieces))
