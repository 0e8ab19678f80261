"""`actum catalog`: agents and MCP servers that are known here, what they say of themselves, and how they are."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime
from typing import Annotated, Literal

import msgspec
import typer

from ...compose.catalog import CatalogKeeper, catalog_files
from ...core.clock import SystemClock
from ...core.json import Json
from ...protocols.catalog import CatalogEntry
from ...protocols.plain_text import shown
from .. import options
from ..exit_codes import DONE, FAILED
from ..options import JsonFlag
from ..show.terminal import Terminal

app = typer.Typer(help="The catalog of agents and MCP servers: add, list, search, check.", no_args_is_help=True)

EntryArgument = Annotated[str, typer.Argument(metavar="NAME", help="The entry.")]


@app.command("add")
def add(
    url: Annotated[str, typer.Argument(metavar="URL", help="Of the agent, of its card, or of the MCP server.")],
    name: Annotated[str, typer.Option(metavar="NAME", help="What it is called here; else its host.")] = "",
    kind: Annotated[Literal["a2a", "mcp"], typer.Option(help="An agent by A2A, or an MCP server.")] = "a2a",
    user: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Who may see it: a user, or role:NAME; else everybody.")
    ] = None,
    tenant: Annotated[str, typer.Option(metavar="NAME", help="Only users of this tenant may see it.")] = "",
    tag: Annotated[list[str] | None, typer.Option(metavar="WORD", help="A word of yours by which it is found.")] = None,
    as_json: JsonFlag = False,
) -> int:
    """Register an agent or an MCP server by its address. It is asked what it is; it is not approved by that."""
    terminal = Terminal()
    entry = asyncio.run(_keeper().add(url, name=name, kind=kind, users=user or (), tenant=tenant, tags=tag or ()))
    if as_json:
        terminal.json(msgspec.to_builtins(entry))
    else:
        terminal.note("{entry} is in the catalog.", entry=entry.name)
    return DONE


@app.command("list")
def list_entries(as_json: JsonFlag = False) -> int:
    """List the entries, with how each was when it was last looked at."""
    return _show(catalog_files(os.environ).all(), as_json=as_json)


@app.command("search")
def search(
    query: Annotated[str, typer.Argument(help="Words, or beginnings of words.")], as_json: JsonFlag = False
) -> int:
    """Find entries by what they say of themselves and by your tags."""
    found = catalog_files(os.environ).find(query)
    return _show([entry for entry, _ in found], as_json=as_json)


@app.command("check")
def check(name: EntryArgument, as_json: JsonFlag = False) -> int:
    """Look at an entry again and try it: card, send, stream, cancel. An agent gets messages by that, which may cost
    something. Exit code 1 when a step fails."""
    terminal = Terminal()
    entry = asyncio.run(_keeper().check(name))
    if as_json:
        terminal.json(msgspec.to_builtins(entry.checks))
    else:
        rows = [(each.step, "passed" if each.passed else "failed", shown(each.words)) for each in entry.checks]
        terminal.table("step", "", "", rows=rows)
        for line in entry.versions[-1].changes if entry.versions else ():
            terminal.note(line)
    return DONE if all(each.passed for each in entry.checks) else FAILED


@app.command("remove")
def remove(name: EntryArgument) -> int:
    """Take an entry out of the catalog."""
    catalog_files(os.environ).get(name)
    catalog_files(os.environ).remove(name)
    Terminal().note("{name} is not in the catalog any more.", name=name)
    return DONE


def _keeper() -> CatalogKeeper:
    settings = options.read()
    return CatalogKeeper(
        catalog_files(os.environ), settings.a2a, os.environ, egress=options.egress(), clock=SystemClock()
    )


def _show(entries: list[CatalogEntry], *, as_json: bool) -> int:
    terminal = Terminal()
    if as_json:
        told: Json = msgspec.to_builtins(entries)
        terminal.json(told)
        return DONE
    rows = [
        (each.name, each.kind, each.health, _day(each.last_seen), shown(each.description or each.problem)[:200])
        for each in entries
    ]
    terminal.table("name", "kind", "health", "last seen", "what it is", rows=rows)
    return DONE


def _day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M") if seconds else ""
