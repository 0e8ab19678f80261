"""`actum audit`: who called what, when, with what, why it was allowed, and what came back: an operation of the API."""

from __future__ import annotations

from collections.abc import Mapping

from ...core.json import dumps
from ...journal.audit import AuditLine
from ...server.api.audit import OPERATIONS, AuditPage
from ...server.api.records import told_problems
from ...server.api.runs.operations import OPERATIONS as RUNS
from ..operated import command_of, say
from ..show import moments
from ..show.terminal import Terminal, duration, shorten

TEXT_MAX = 80


def show_lines(terminal: Terminal, page: AuditPage, names: Mapping[str, str]) -> None:
    """Show the lines of the audit to a person, in a table."""
    rows = [
        (moments.shown(line.at), line.run, line.principal, line.decision, line.tool, _told(line)) for line in page.items
    ]
    if rows:
        terminal.table("when", "run", "for", "decision", "tool", "with what, why, what came", rows=rows)
    else:
        terminal.note("Nothing is on record that fits.")
    say(terminal, told_problems(page.problems))


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


show_audit = command_of((*OPERATIONS, *RUNS), "listAudit", {"listAudit": show_lines})
