"""`actum features`: which features there are, which are on, how much each keeps, and how that is deleted."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from msgspec import structs

from ...compose.features import FoundFeature, found_features
from ...core.errors import UnknownName
from ...runs.administration import put_on_record
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr, tr_message
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, counted, said, who

app = typer.Typer(help="Features: list what packages bring, and delete what one keeps.", invoke_without_command=True)


@app.callback()
def features(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_features()


@app.command("list")
def list_features(as_json: JsonFlag = False, journal: JournalFlag = "") -> int:
    """List the features that there are, which of them are on, and how much each keeps.

    A feature of an installed package is switched on by the table of its name in actum.toml, even an empty one.
    """
    terminal = Terminal()
    found = asyncio.run(_found(journal))
    if as_json:
        terminal.json([structs.replace(each, problem=str(each.problem)) for each in found])
    elif not found:
        terminal.note(tr("No installed package brings a feature."))
    else:
        rows = [
            (each.name, each.package, tr(each.state), str(each.rows), tr_message(each.problem) or each.title)
            for each in found
        ]
        terminal.table("feature", "package", "is", "rows", "what it is for", rows=rows)
    return FAILED if any(each.state == "refused" for each in found) else DONE


@app.command("drop")
def drop(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The feature.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    journal: JournalFlag = "",
) -> int:
    """Delete for good what a feature keeps beside the runs. What stands on the record of runs stays."""
    terminal, name = Terminal(), said(name)
    found = next((each for each in asyncio.run(_found(journal)) if each.name == name), None)
    if found is None:
        raise UnknownName(
            "there is no feature {name!r}, and nothing is kept for one: `actum features` lists them", name=name
        )
    question = tr("Delete {rows} of {name} for good?", rows=counted(found.rows, "row"), name=name)
    if not yes and not terminal.agreed(question):
        terminal.note(tr("Nothing was deleted."))
        return FAILED
    deleted = asyncio.run(_drop(name, journal))
    terminal.note(tr("{rows} of {name} deleted.", rows=counted(deleted, "row"), name=name))
    return DONE


async def _found(journal: str) -> list[FoundFeature]:
    settings = options.read(journal=journal)
    async with options.journal(settings) as opened:
        return list(await found_features(settings, opened))


async def _drop(name: str, journal: str) -> int:
    settings = options.read(journal=journal)
    async with options.journal(settings) as opened:
        deleted = await opened.stores.drop(name)
        await put_on_record(opened, "features.drop", {"name": name, "rows": deleted}, principal=who())
        return deleted
