"""`actum runs`: what is on record. The list is made from an operation; the tree and the page are drawn from the
record.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ...core.call import MediaPart
from ...core.errors import JournalError, UsageError
from ...core.json import JsonObject
from ...core.run.record import Entry
from ...features.operation import ApiFile
from ...journal.conversations import Family
from ...journal.named import find_run
from ...runs.administration import put_on_record
from ...server.api.runs.files import OPERATIONS as FILES
from ...server.api.runs.files import RunFiles
from ...server.api.runs.operations import FOUND_BY, OPERATIONS
from .. import options
from ..conversation.files import write_files
from ..operated import add_commands
from ..options import JournalFlag, JsonFlag, RunArgument
from ..recorded import recorded_family
from ..show.page import page_of
from ..show.terminal import Terminal, who
from ..show.tree import problems_of, tree_of

app = typer.Typer(
    help="What is on record: list runs, show one, end one, write its files, release what is held.",
    invoke_without_command=True,
)
RUNS = add_commands(app, (*OPERATIONS, *FILES))


@app.command("show")
def show_run(
    run_id: RunArgument = "last",
    as_json: JsonFlag = False,
    html: Annotated[
        str,
        typer.Option(metavar="FILE", help="Write a page to this file, with a waterfall of times; - prints it."),
    ] = "",
    journal: JournalFlag = "",
) -> None:
    """Show a run as a tree: what was said, called, asked and answered, and when."""
    terminal, settings = Terminal(), options.read(journal=journal)

    async def command() -> Family:
        async with options.journal(settings) as opened:
            return await recorded_family(opened, run_id, settings.labels)

    found = asyncio.run(command())
    if html:
        _write_page(terminal, found, html)
    elif as_json:
        records = [{"number": entry.number, "at": entry.at, **_as_json(entry)} for entry in found.entries]
        terminal.json({**msgspec.to_builtins(found.run), "entries": records, "problems": problems_of(found)})
    else:
        terminal.show(tree_of(found))


def _write_page(terminal: Terminal, found: Family, file: str) -> None:
    page = page_of(found)
    if file == "-":
        print(page)
        return
    try:
        Path(file).write_text(page, "utf-8")
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=file, why=error.strerror) from None
    terminal.note("{run} is drawn in {file}", run=found.run.run_id, file=file)


@app.command("release")
def release_runs(
    run_id: Annotated[str, typer.Argument(metavar="[RUN]", help="This run, with the runs that its calls began.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All runs, and schedules go on from now on.")] = False,
    journal: JournalFlag = "",
) -> None:
    """Release what is held since the journal was restored from a backup: it goes on by itself from now on.

    Look first what was done after the backup, which the record does not know: actum runs list --status interrupted
    """
    if bool(run_id) == everything:
        raise UsageError("release what? Name a run, or say --all")
    terminal = Terminal()

    async def command() -> int:
        async with options.journal(options.read(journal=journal)) as opened:
            found = "" if everything else (await find_run(opened, run_id)).run_id
            count = await opened.held.release(found)
            await put_on_record(opened, "runs.release", {"run": found or "all"}, principal=who())
            return count

    terminal.note("{count:run is|runs are} released", count=asyncio.run(command()))


@app.command("files")
def run_files(
    run_id: RunArgument = "last",
    out: Annotated[str, typer.Option(metavar="FOLDER", help="Write the files into this folder.")] = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """List the files and pictures that the tools of a run made, or write them.

    For instance: actum runs files last --out plots
    """
    # Writing into a folder of this machine is no operation: what is written is got by operations.
    from ...compose.administration import open_application  # noqa: PLC0415  # agents, which other commands need none of

    terminal, settings, kept = Terminal(), options.read(journal=journal), dict[str, bytes]()

    async def command() -> RunFiles:
        async with open_application(settings) as application:
            found = {"id": await RUNS.find(application, FOUND_BY, run_id)}
            listed = await RUNS.ask(application, "listFiles", found)
            assert isinstance(listed, RunFiles)
            for each in [each for each in listed.items if out and each.size]:
                got = await RUNS.ask(application, "getFile", {**found, "handle": each.handle})
                assert isinstance(got, ApiFile)
                kept[each.handle] = got.content
            return listed

    listed = asyncio.run(command())
    if out:
        parts = [
            MediaPart(each.media_type, kept.get(each.handle, b""), "", each.name, each.handle) for each in listed.items
        ]
        for path in write_files(parts, Path(out)):
            terminal.note("{path} is written", path=path)
    if as_json:
        terminal.json(listed)
    elif not out and not listed.items:
        terminal.note("The tools of this run made no files.")
    elif not out:
        rows = [(each.handle, each.media_type, each.name, f"{each.size:,}") for each in listed.items]
        terminal.table("handle", "kind", "name", "bytes", rows=rows)


def _as_json(entry: Entry) -> JsonObject:
    try:
        told: JsonObject = msgspec.to_builtins(entry.record)
    except JournalError:
        return {"type": "unreadable"}
    return told
