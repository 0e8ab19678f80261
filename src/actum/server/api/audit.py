"""`/v1/audit`: who did what, when, with what, and why it was allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta, Struct

from ...core.identity import Identity
from ...features.command import Command, CommandOption
from ...features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ...journal.audit import DECISIONS, AuditDecision, AuditLine, Wanted, audit, audit_lines
from ...journal.lists import bad_cursor, read_cursor, write_cursor
from .examples import ASKED_AT, RUN
from .fields import CheckedPart, Cursor, Limit, Moment, Name
from .records import Records, cursors, told_problems
from .runs.operations import FOUND_BY

if TYPE_CHECKING:
    from .api import Api  # agents and workflows, which the completion of a command needs none of

AUDIT_RUNS = 100
"""The most runs that are read for one part of the audit."""
AUDIT_ENTRIES = 1000
"""The number of entries after which no further run is read for one part of the audit: some runs are long."""


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which lines of the audit: the latest runs first, the lines of one run in order. A part may hold fewer lines than
    `limit`, and still have a next part.

    Attributes:
        since: only lines of then or later, in seconds since 1970.
        until: only lines of before then; 0 for no limit.
        principal: only of runs on behalf of this user.
        tool: only of this tool, or of tools that fit a pattern with `*`.
        decision: only lines that say this.
        run: only lines of this run.
        text: only lines that hold this text, in small letters or large: in the tool, the arguments, the rule, the
            outcome, what was said, or the names of people.
        limit: the most items of this part of the list.
        cursor: `next` of the part before.
    """

    since: Moment = 0.0
    until: Moment = 0.0
    principal: Name = ""
    tool: Name = ""
    decision: AuditDecision | Literal[""] = ""
    run: Name = ""
    text: Annotated[str, Meta(max_length=500)] = ""
    limit: Limit = 100
    cursor: Cursor = ""


class AuditPage(CheckedPart[AuditLine], frozen=True, kw_only=True):
    """A part of the audit."""


async def list_audit(api: Api, asked: ApiRequest[AuditQuery, None]) -> ApiReply:
    """The lines of the audit of the caller's tenant."""
    if asked.by_operator:
        return ApiReply(await _in_journal(api.records, _wanted(asked.query, asked.tenant), asked.who))
    lines, following = await _lines(api.records, asked.query, asked.who)
    return ApiReply(AuditPage(items=tuple(lines), next=following))


async def _in_journal(records: Records, wanted: Wanted, who: Identity) -> AuditPage:
    """All lines that are wanted, for the operator of this machine: in the order of time, and found by the runs
    themselves, with what can not be read.
    """
    found = audit(records.journal, wanted, lambda run_id, entries: records.entries_shown(run_id, entries, who))
    lines = sorted([line async for line in found], key=lambda line: line.at)
    problems = [f"run {line.run} can not be read: {line.text}" for line in lines if line.decision == "damaged"]
    return AuditPage(items=tuple(lines), next=None, problems=tuple(problems))


def _wanted(query: AuditQuery, tenant: str | None) -> Wanted:
    return Wanted(
        since=query.since or None,
        until=query.until or None,
        principal=query.principal,
        tenant=tenant,
        tool=query.tool,
        decision=query.decision,
        run=query.run,
        text=query.text,
    )


async def _lines(records: Records, query: AuditQuery, who: Identity) -> tuple[list[AuditLine], str | None]:
    """A part of the audit of the caller's tenant, the latest runs first, and the cursor of the next part. Lines of
    one run stand in the order of its entries. A part can be empty although there are more parts: the runs that
    were read for the part had no line that is wanted.

    Raises:
        Refusal: the cursor is not known.
    """
    wanted = _wanted(query, who.tenant)
    with cursors():
        behind, skipped = read_cursor(query.cursor, tuple[str, int]) if query.cursor else ("", 0)
        if behind and not await records.journal.is_listed(behind, tenant=who.tenant):
            raise bad_cursor()
    lines: list[AuditLine] = []
    if query.run:
        runs = [query.run] if await records.entries(query.run, who) else []
    else:
        page = await records.journal.runs(
            tenant=who.tenant, until=query.until or None, behind=behind, limit=AUDIT_RUNS + 1
        )
        runs = [run.run_id for run in page]
    read = 0
    for run_id in runs[:AUDIT_RUNS]:
        entries = await records.entries_shown(run_id, await records.entries(run_id, who), who)
        read += len(entries)
        for index, line in enumerate(audit_lines(run_id, entries, records.journal.record_kinds)):
            if index < skipped or not wanted.fits(line):
                continue
            if len(lines) == query.limit:
                return lines, write_cursor((behind, index))
            lines.append(line)
        behind, skipped = ("" if query.run else run_id), 0
        if run_id != runs[-1] and read >= AUDIT_ENTRIES:
            return lines, write_cursor((behind, 0))
    return lines, write_cursor((behind, 0)) if len(runs) > AUDIT_RUNS else None


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listAudit",
        method="get",
        path="/v1/audit",
        tag="audit",
        summary="List who did what, when, with what, and why it was allowed.",
        scopes=("audit",),
        query=AuditQuery,
        replies={
            200: AnswerKind(
                means="The lines of the audit, the latest runs first.",
                body=AuditPage,
                example={
                    "items": [
                        {
                            "at": ASKED_AT,
                            "run": RUN,
                            "number": 2,
                            "head": "5f0c",
                            "decision": "allowed",
                            "principal": "ann",
                            "agent": "desk",
                            "tool": "add",
                            "arguments": {"a": 2, "b": 3},
                            "rule": "",
                            "by": "",
                            "waited_s": None,
                            "attempt": 1,
                            "outcome": "",
                            "effect": "",
                            "key": "",
                            "text": "",
                        }
                    ],
                    "next": None,
                },
            )
        },
        handler=list_audit,
        command=Command(
            words=("audit",),
            help="Who called what, when, with what, why it was allowed, and what came back.\n\n"
            "A table to read; --json prints all of it for programs, --csv the same for a spreadsheet.",
            options={
                "since": CommandOption(form="time", help="From then on: 24h, 90d, 2026-11-01, 2026-11-01T12:30."),
                "until": CommandOption(form="time", help="Before then."),
                "principal": CommandOption(metavar="NAME", help="On whose behalf."),
                "tool": CommandOption(metavar="NAME", help="The tool, or a pattern: 'pay*'."),
                "decision": CommandOption(metavar="WORD", help=", ".join(DECISIONS) + "."),
                "run": CommandOption(
                    metavar="ID", help="The run: its id, the beginning of it, or `last`.", found_by=FOUND_BY
                ),
                "text": CommandOption(metavar="TEXT", help="A text in the line: an argument, a rule, a name."),
                "limit": CommandOption(is_hidden=True),
            },
            csv_of=AuditLine,
            beside=lambda page: told_problems(page.problems),
        ),
    ),
)
