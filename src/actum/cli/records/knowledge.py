"""`actum knowledge`: collections of documents. `add` and `update` read files of this machine; the other commands are
made from operations of the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated

import typer

from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...core.json import JsonObject
from ...core.language.sentence import Sentence
from ...core.visible import on_one_line
from ...knowledge.collections import CollectionUser, checked_readers, listed, make, named, readers_of
from ...knowledge.update import UpdateReport, update
from ...runs.administration import put_on_record
from ...server.api.knowledge import OPERATIONS, told_readers
from .. import options
from ..language import tr
from ..operated import MeantTenantFlag, group_of, say
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, said, who

app = group_of(OPERATIONS, "Collections of documents: add, update, list, show, search, readers, remove.")
PROBLEMS_SHOWN = 20
Carried = Callable[[Journal, CollectionUser], Awaitable[UpdateReport | list[UpdateReport]]]

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of a collection.")]


@app.command("add")
def add(
    name: NameArgument,
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the documents lie.")],
    reader: Annotated[
        list[str] | None,
        typer.Option(metavar="WHO", help="Who may read it beside you: user:NAME, role:NAME, or all; may be repeated."),
    ] = None,
    tenant: MeantTenantFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Make a collection of the documents in a folder: Markdown, HTML, PDF, Word, Excel, PowerPoint, text and code."""
    readers = [said(each) for each in reader or ()]
    place = folder.expanduser().resolve()
    if not place.is_dir():
        raise UsageError("{folder} is no folder", folder=str(folder))

    async def command(opened: Journal, caller: CollectionUser) -> UpdateReport:
        await make(opened, caller, said(name), readers, str(place))
        what: JsonObject = {"name": name, "readers": [*readers], "folder": str(place)}
        await put_on_record(
            opened, "knowledge.make", what, principal=caller.principal, tenant=caller.tenant, by="person"
        )
        return await _updated(opened, caller, said(name), every=False)

    checked_readers(readers)
    _carry_out(command, tenant, journal, as_json=as_json)


@app.command("update")
def update_collections(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of a collection. Default: all of yours.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Read every file again, also one that looks as it was.")] = False,
    tenant: MeantTenantFlag = None,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Bring collections to what lies in their folders: new and changed files are read, files that are gone leave."""

    async def command(opened: Journal, caller: CollectionUser) -> list[UpdateReport]:
        own = [each.name for each in await listed(opened, caller) if each.folder and each.owner == caller.principal]
        names = [said(name)] if name else own
        if not names:
            raise UsageError("there is no collection: `actum knowledge add NAME FOLDER` makes one")
        return [await _updated(opened, caller, each, every=every) for each in names]

    async def one(opened: Journal, caller: CollectionUser) -> UpdateReport:
        return (await command(opened, caller))[0]

    _carry_out(one if name else command, tenant, journal, as_json=as_json)


async def _updated(opened: Journal, caller: CollectionUser, name: str, *, every: bool) -> UpdateReport:
    report = await update(opened, caller, name, every=every)
    told: JsonObject = {"name": name, "read": report.read, "unchanged": report.unchanged, "removed": report.removed}
    if report.unjailed:
        told["unjailed"] = True
    await put_on_record(opened, "knowledge.update", told, principal=caller.principal, tenant=caller.tenant, by="person")
    return report


def _carry_out(command: Carried, tenant: str | None, journal: str, *, as_json: bool) -> None:
    terminal = Terminal()

    async def carry_out() -> None:
        caller = CollectionUser(said(tenant or ""), who(), administers=True)
        async with options.journal(options.read(journal=journal)) as opened:
            found = await command(opened, caller)
            if as_json:
                terminal.json(found)
                return
            for report in [found] if isinstance(found, UpdateReport) else found:
                _tell(terminal, report)
                row = await named(opened, caller, report.name)
                say(terminal, [told_readers(report.name, readers_of(row))], journal)

    asyncio.run(carry_out())


def _tell(terminal: Terminal, report: UpdateReport) -> None:
    terminal.text(
        tr(
            "{name}: {read} read, {unchanged} unchanged, {removed} removed, {count} with problems.",
            name=report.name,
            read=report.read,
            unchanged=report.unchanged,
            removed=report.removed,
            count=len(report.problems),
        )
    )
    for each in report.problems[:PROBLEMS_SHOWN]:
        terminal.note("{document}: {problem}", document=on_one_line(each.document), problem=Sentence(each.problem))
    if len(report.problems) > PROBLEMS_SHOWN:
        terminal.note("and more: `{command}` lists all of them", command=f"actum knowledge show {report.name}")
    if report.unjailed:
        terminal.note("This machine holds no jail: the documents were read in a process without one.")
