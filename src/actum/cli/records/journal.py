"""`actum journal`: the record itself. Its entries, followed live; deleted for good.

`verify.py` says how it is checked, how runs branch off in `branch.py`. `compare` is an operation of the API. The
others are none and never will be: `show`, `export`, `heads` and `verify` look at the bytes in the database on behalf of
a person who does not take a server's word for them, and `tail` follows them.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

import typer
from msgspec import Struct

from ...core.clock import SystemClock
from ...core.errors import Busy, JournalError, UsageError
from ...core.identity import Identity
from ...core.interfaces import Journal
from ...core.run.chain import Chain
from ...core.run.ending import is_last
from ...core.run.record import Ended, Entry, Record
from ...core.run.summary import RunSummary
from ...core.user import User
from ...journal.export import faults
from ...journal.follow import follow, follow_all
from ...journal.mismatch import mismatch, summary
from ...journal.named import find_run
from ...policy.record_mask import RecordMask, reader_mask
from ...runs.administration import put_on_record
from ...runs.copies import copies_of
from ...runs.other_values import as_seen, know_others
from ...server.api.records import Records
from ...server.api.runs.comparing import OPERATIONS as COMPARING
from ...server.api.runs.operations import OPERATIONS as RUNS
from .. import options
from ..conversation import branch
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..operated import add_commands
from ..options import JournalFlag, JsonFlag, RunArgument
from ..show import moments
from ..show.terminal import (
    Terminal,
    shorten,
    styled,
    who,
)
from . import verify

app = typer.Typer(help="The record itself: show, follow, export, verify, branch off, compare, hold, forget.")
app.command("export")(verify.export)
app.command("heads")(verify.heads)
app.command("verify")(verify.verify)
app.command("fork")(branch.fork)
add_commands(app, COMPARING, {"compareRuns": branch.show_comparison}, beside=RUNS)

PAYLOAD_MAX = 400
SHOWN = 10
"""The number of runs to forget that are shown to the person who is asked."""


@app.command("show")
def show(run_id: RunArgument = "last", as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """Show a run's records as they are stored: number, time, head of the chain, bytes.

    Values with a label that you may not read are masked.
    """
    terminal, settings = Terminal(), options.read(journal=journal)

    async def command() -> tuple[str, Sequence[Entry]]:
        async with options.journal(settings) as opened:
            run = await find_run(opened, run_id)
            mask = reader_mask(settings.labels, who())
            return run.run_id, await as_seen(mask, opened, run.run_id, await opened.read(run.run_id))

    found, entries = asyncio.run(command())
    for entry in entries:
        show_entry(terminal, found, entry, as_json=as_json, whole=True)
    options.tell_problems(terminal, faults(entries) or ([] if entries else [f"run {found} has no entries"]))


@app.command("tail")
def tail(
    run_id: RunArgument = "last",
    every: Annotated[bool, typer.Option("--all", help="Every run, from now on, until Ctrl-C.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Follow a run while another process drives it, until it ends, waits, or is interrupted."""
    terminal, settings = Terminal(), options.read(journal=journal)
    masks: defaultdict[str, RecordMask] = defaultdict(lambda: reader_mask(settings.labels, who()))

    async def command() -> int:
        async with options.journal(settings) as opened:
            clock = SystemClock()
            if every:
                terminal.note("Following every run; Ctrl-C ends.")
                async for found, entry in follow_all(opened, clock):
                    mask = await know_others(masks[found], opened, found, [entry])
                    show_entry(terminal, found, mask.take(entry), as_json=as_json, named=True)
                return DONE
            run = await find_run(opened, run_id)
            last: Entry | None = None
            chain = Chain()
            async for entry in follow(opened, run.run_id, clock):
                last = entry
                mask = await know_others(masks[run.run_id], opened, run.run_id, [entry])
                show_entry(terminal, run.run_id, mask.take(entry), as_json=as_json)
                problems = chain.take(entry)
                if entry.is_sealed and _record(entry) is None:
                    problems.append(f"entry {entry.number}: its payload is not a record")
                options.tell_problems(terminal, problems)
            if last is None:
                options.tell_problems(terminal, [f"run {run.run_id} has no entries"])
            note = _how_it_stands(run.run_id, last)
            if note:
                terminal.note(note)
            return DONE

    return asyncio.run(command())


@app.command("hold")
def hold(journal: JournalFlag = "") -> None:
    """Hold what is unfinished, once a database was restored: nothing of it goes on or goes out by itself.

    Say this before a server or a worker starts. `actum runs release RUN` or `--all` lets it go on; so does
    `actum resume RUN`. `actum restore` has held what it restored.
    """
    terminal = Terminal()

    async def command() -> int:
        async with options.journal(options.read(journal=journal)) as opened:
            count = await opened.held.hold()
            await put_on_record(opened, "journal.hold", {"runs": count}, principal=who())
            return count

    count = asyncio.run(command())
    terminal.note("{count:run is|runs are} held: actum runs list --status interrupted", count=count)


@app.command("forget")
def forget(
    run_ids: Annotated[list[str] | None, typer.Argument(metavar="[RUN]...", help="These runs.")] = None,
    older_than: Annotated[str, typer.Option(metavar="SPAN", help="Runs that began longer ago: 90d, 2w.")] = "",
    principal: Annotated[str, typer.Option(metavar="NAME", help="Runs on behalf of this one.")] = "",
    tenant: Annotated[
        str | None, typer.Option(metavar="NAME", help="The tenant that the user belongs to; '' for none.")
    ] = None,
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why; it stays on record.")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Delete for good what runs say, with the runs that their calls started.

    With --principal alone, the assistants and threads of this user are deleted, too, with the rows that features keep
    of the user; with --older-than alone, threads to which nobody has added a message since. Where users of several
    tenants have this name, say --tenant.

    The chain of hashes stays and still checks; that it was done, by whom and why is put on record. Branches of a run,
    summaries of its conversation, and runs that hold a note of its words are runs of their own: they are named, not
    deleted.
    """
    if not (run_ids or older_than or principal):
        raise UsageError("forget what? Name runs, --older-than 90d or --principal NAME")
    if tenant is not None and not principal:
        raise UsageError("--tenant goes with --principal NAME")
    terminal = Terminal()
    until = time.time() - moments.span(older_than) if older_than else None

    async def command() -> int:
        settings = options.read(journal=journal)
        async with options.journal(settings) as opened:
            records = Records(opened, SystemClock(), settings.labels)
            everything = await opened.runs(limit=None)
            found = await mismatch(opened)
            options.tell_problems(terminal, found.problems)
            everything += [run for id_ in found.missing if (run := await summary(opened, id_)) is not None]
            of_user = principal if not (run_ids or older_than) else ""
            objects = await opened.objects.count(of_user) if of_user else {}
            rows = await opened.stores.count_of_user(of_user) if of_user else {}
            tenants = {run.tenant for run in everything if run.principal == principal} | {*objects, *rows}
            whose = User(_one_tenant(tenants, tenant) if principal else "", principal)
            chosen = await _chosen(opened, run_ids or [], until, whose, everything)
            kept, rows_kept = objects.get(whose.tenant, 0), rows.get(whose.tenant, 0)
            if kept and not yes:
                terminal.note("{count} assistants, threads and messages of this user are deleted, too.", count=kept)
            if rows_kept and not yes:
                terminal.note(
                    "{count:row of this user in tables of features is|rows of this user in tables of features are} "
                    "deleted, too.",
                    count=rows_kept,
                )
            if (chosen or kept or rows_kept) and not (yes or await _agreed(terminal, chosen, records)):
                return FAILED
            done = _Forgetting(copies=await copies_of(opened, chosen, everything))
            if kept:
                done.objects = await opened.objects.forget(of_user, whose.tenant)
            elif until is not None and not (run_ids or principal):
                done.objects = await opened.objects.expire("thread", until)
            if rows_kept:
                done.rows = await opened.stores.forget_user(of_user, whose.tenant)
            for run in chosen:
                try:
                    done.records += await opened.forget(run.run_id, who(), reason)
                    done.forgotten.append(run.run_id)
                except Busy:
                    done.busy.append(run.run_id)
            return _report(terminal, done, as_json=as_json)

    return asyncio.run(command())


def show_entry(
    terminal: Terminal, run_id: str, entry: Entry, *, as_json: bool, named: bool = False, whole: bool = False
) -> None:
    """Print one entry in a line.

    Args:
        named: with the run's id before it.
        whole: all its bytes, however many.
    """
    record = _record(entry)
    if as_json:
        terminal.json(
            {
                "run": run_id,
                "number": entry.number,
                "at": entry.at,
                "digest": entry.digest.hex(),
                "head": entry.head.hex(),
                "record": record,
            }
        )
        return
    kind = str(record.__struct_config__.tag) if record is not None else "unreadable" if entry.payload else "deleted"
    text = entry.payload.decode("utf-8", "replace")
    line = styled(
        (f"{run_id}  " if named else "", "dim"),
        f"{entry.number:>4}  ",
        (f"{moments.clock(entry.at)}  ", "dim"),
        (f"{entry.head.hex()[:12]}  ", "dim"),
        (f"{kind:<15} ", "bold" if record is not None else "red"),
        text if whole else shorten(text, PAYLOAD_MAX),
    )
    terminal.text(line)


def _how_it_stands(run_id: str, last: Entry | None) -> str:
    """What somebody who followed a run should know at the end; empty when it is over."""
    record = _record(last) if last is not None else None
    if record is not None and is_last(record):
        return ""
    match record:
        case Ended(status="paused"):
            return tr("It is paused: {command}", command=f"actum resume {run_id}")
        case None:
            return ""
        case _:
            return tr("It was interrupted, and nobody drives it: {command}", command=f"actum resume {run_id}")


class _Forgetting(Struct):
    """The outcome of forgetting.

    It names the runs that were forgotten, that are being driven, and that hold copies. It counts the records, the
    assistants, threads and messages, and the rows of features that were deleted.
    """

    copies: list[str]
    forgotten: list[str] = []
    busy: list[str] = []
    records: int = 0
    objects: int = 0
    rows: int = 0


async def _chosen(
    journal: Journal, wanted: Sequence[str], until: float | None, whose: User, everything: Sequence[RunSummary]
) -> list[RunSummary]:
    """The runs to forget, each with the runs that its calls started; without those that are forgotten already."""
    named = [await find_run(journal, run_id) for run_id in wanted]
    among = named or everything
    fits = {
        run.run_id
        for run in among
        if (until is None or run.started < until)
        and (not whose.principal or (run.tenant, run.principal) == (whose.tenant, whose.principal))
    }
    while more := {run.run_id for run in everything if run.parent in fits} - fits:
        fits |= more
    return [run for run in everything if run.run_id in fits and run.status != "forgotten"]


def _one_tenant(tenants: set[str], tenant: str | None) -> str:
    """The tenant whose user is meant.

    Raises:
        UsageError: users of several tenants have this name, and nobody said which is meant.
    """
    if tenant is not None:
        return tenant
    if len(tenants) > 1:
        names = ", ".join(repr(name) for name in sorted(tenants))
        raise UsageError("users of several tenants have this name: {names}. Say which with --tenant NAME", names=names)
    return next(iter(tenants), "")


async def _agreed(terminal: Terminal, chosen: Sequence[RunSummary], records: Records) -> bool:
    """A person agrees to it, having seen what it is, as lists show it to the person.

    Raises:
        UsageError: nobody is there to be asked.
    """
    for run in await records.lines_shown(chosen[:SHOWN], Identity(principal=who())):
        terminal.note(f"{moments.shown(run.started)}  {run.run_id}  {run.status}  {shorten(run.question, 60, 1)}")
    if len(chosen) > SHOWN:
        terminal.note("... and {count} more", count=len(chosen) - SHOWN)
    waiting = sum(1 for run in chosen if run.status in ("waiting", "paused", "running"))
    if waiting:
        terminal.note("{count} of them have not ended, and could not be gone on with.", count=waiting)
    if not terminal.person:
        raise UsageError("this deletes what {count:run says|runs say}, for good: say --yes", count=len(chosen))
    answer = terminal.ask("Delete what {count:run says|runs say}, for good?  [y]es  [n]o: ", count=len(chosen))
    return answer is not None and answer.strip().lower() in ("y", "yes")


def _report(terminal: Terminal, done: _Forgetting, *, as_json: bool) -> int:
    """Tell what was deleted and what was not. The exit code."""
    if as_json:
        terminal.json(done)
    elif done.forgotten or done.objects or done.rows:
        told = tr(
            "forgotten: {runs:run|runs}, {records:record|records}", runs=len(done.forgotten), records=done.records
        )
        told += tr(", {count} assistants, threads and messages", count=done.objects) if done.objects else ""
        told += tr(", {count:row|rows} of features", count=done.rows) if done.rows else ""
        terminal.text(told)
    elif not done.busy:
        terminal.note("Nothing is on record that fits.")
    if done.copies:
        terminal.note("Branches, summaries and notes that hold some of it: {names}", names=" ".join(done.copies))
    if done.busy:
        terminal.error("still being driven, and not forgotten: {names}", names=" ".join(done.busy))
    return FAILED if done.busy else DONE


def _record(entry: Entry) -> Record | None:
    """The record of an entry; None where it was deleted or can not be read."""
    try:
        return entry.record
    except JournalError:
        return None
