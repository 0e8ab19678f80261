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
from ...journal.conversations import Family
from ...journal.named import find_run
from ...journal.recording import RunState
from ...server.api.runs.operations import OPERATIONS
from .. import options
from ..conversation.files import write_files
from ..operated import add_commands
from ..options import JournalFlag, JsonFlag, RunArgument
from ..recorded import recorded_family
from ..show.page import page_of
from ..show.terminal import Terminal
from ..show.tree import problems_of, tree_of

app = typer.Typer(help="What is on record: list runs, show one, write its files.", invoke_without_command=True)
add_commands(app, OPERATIONS)


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
    terminal = Terminal()

    async def command() -> Family:
        async with options.journal(options.read(journal=journal)) as opened:
            return await recorded_family(opened, run_id)

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
    terminal = Terminal()

    async def command() -> list[MediaPart]:
        async with options.journal(options.read(journal=journal)) as opened:
            found = await find_run(opened, run_id)
            return list(RunState(await opened.read(found.run_id)).media().values())

    parts = asyncio.run(command())
    if out:
        for path in write_files(parts, Path(out)):
            terminal.note("{path} is written", path=path)
    if as_json:
        terminal.json([{**_file_row(part), "size": len(part.data)} for part in parts])
    elif not out and not parts:
        terminal.note("The tools of this run made no files.")
    elif not out:
        rows = [(*_file_row(part).values(), f"{len(part.data):,}") for part in parts]
        terminal.table("handle", "kind", "name", "bytes", rows=rows)


def _file_row(part: MediaPart) -> dict[str, str]:
    return {"handle": part.handle, "media_type": part.media_type, "name": part.name}


def _as_json(entry: Entry) -> JsonObject:
    try:
        told: JsonObject = msgspec.to_builtins(entry.record)
    except JournalError:
        return {"type": "unreadable"}
    return told
