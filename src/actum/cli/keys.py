"""`actum keys`: the keys with which clients come in at a server: make, list and revoke."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ..compose.settings import MEMORY, Settings
from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.key import Key
from ..server.access import Access
from ..server.keys import Entrance, MadeKey, as_told, make_key, revoke_key, with_stored_keys
from . import options
from .exit_codes import DONE
from .language import tr
from .options import JournalFlag, JsonFlag
from .show import moments
from .show.terminal import Terminal, said, who

app = typer.Typer(help="Keys of a server: make one, list them, revoke one.", invoke_without_command=True)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the key.")]


@app.callback()
def keys(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_keys()


@app.command("add")
def add(
    name: NameArgument,
    user: Annotated[
        str, typer.Option(metavar="NAME", help="Whose calls the key makes. Default: the name of the key.")
    ] = "",
    role: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A role of the user; may be repeated.")] = None,
    tenant: Annotated[str, typer.Option(metavar="NAME", help="The tenant that the user belongs to.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="What the key allows, such as tools; may be repeated.")
    ] = None,
    tool: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Tools that it may use, such as 'crm_*'; may be repeated. Default: all."),
    ] = None,
    model: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Models that it may use; may be repeated. Default: all.")
    ] = None,
    agent: Annotated[
        list[str] | None, typer.Option(metavar="PATTERN", help="Agents that it may use; may be repeated. Default: all.")
    ] = None,
    expires: Annotated[
        str, typer.Option(metavar="TIME", help="When it ends: 30d, 12h, 2027-01-31. Default: never.")
    ] = "",
    speaks_for_user: Annotated[
        bool,
        typer.Option(
            "--speaks-for-user",
            help="Trust whoever has the key to say only what its user said, so that rules take its values as the "
            "user's. Never for a client whose model chooses the values.",
        ),
    ] = False,
    program: Annotated[
        bool,
        typer.Option(
            "--program",
            help="The client is a program: at the model APIs, what it sends as the user's words counts as its own.",
        ),
    ] = False,
    end_on_hang_up: Annotated[
        bool,
        typer.Option(
            "--end-on-hang-up",
            help="A run that was asked for at a model API ends when the client hangs up. Default: it goes on.",
        ),
    ] = False,
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Make a key, and show it. It is shown this once: only a hash of it is kept.

    For instance: actum keys add ci --user ann --role clerk --scope tools --tool 'crm_*' --expires 30d
    """
    if program and speaks_for_user:
        raise UsageError("--program and --speaks-for-user: give one of the two")
    settings, terminal, clock = _settings(journal), Terminal(), SystemClock()
    expires_at = moments.end(said(expires), clock.now()) if expires else 0.0

    async def command() -> tuple[MadeKey, bool]:
        async with options.journal(settings) as opened:
            is_first = not await opened.keys.all()
            made = await make_key(
                opened,
                said(name),
                by=who(),
                user=said(user),
                roles=_words(role),
                tenant=said(tenant),
                scopes=_words(scope),
                tools=_words(tool),
                models=_words(model),
                agents=_words(agent),
                expires_at=expires_at,
                speaks_for="user" if speaks_for_user else "program" if program else "",
                hang_up="end" if end_on_hang_up else "",
                clock=clock,
            )
            return made, is_first

    made, is_first = asyncio.run(command())
    if as_json:
        terminal.json({"key": made.text, **as_told(made.key)})
        return DONE
    if is_first:
        terminal.note(
            tr(
                "This is the first key of this journal: within a second its servers want a key of every request, also "
                "from this machine. That stays so when all keys are revoked."
            )
        )
    terminal.note(tr("Clients show this key as `Authorization: Bearer KEY`. It is not shown again:"))
    print(made.text)
    return DONE


@app.command("list")
def list_keys(as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """List the keys, the oldest first, also those that were revoked."""
    settings, terminal, now = _settings(journal), Terminal(), SystemClock().now()

    async def command() -> list[Key]:
        async with options.journal(settings) as opened:
            return await opened.keys.all()

    found = asyncio.run(command())
    if as_json:
        terminal.json([_as_json(key, now) for key in found])
    elif not found:
        terminal.note(tr("There are no keys yet. Try: actum keys add ci"))
    else:
        rows = [
            (
                key.id,
                tr(key.state(now)),
                key.principal or key.id,
                key.tenant,
                " ".join(key.scopes),
                _may_use(key),
                _end(key),
            )
            for key in found
        ]
        terminal.table("name", "state", "user", "tenant", "scopes", "may use", "until", rows=rows)


@app.command("revoke")
def revoke(name: NameArgument, as_json: JsonFlag = False, journal: JournalFlag = "") -> int:
    """Revoke a key: no server of this journal accepts it any more, within a second. This can not be undone."""
    settings, terminal, now = _settings(journal), Terminal(), SystemClock().now()

    async def command() -> tuple[bool, bool]:
        async with options.journal(settings) as opened:
            is_new = await revoke_key(opened, said(name), by=who())
            return is_new, any(key.is_valid(now) for key in await opened.keys.all())

    is_new, is_any_left = asyncio.run(command())
    if as_json:
        answer: JsonObject = {"id": said(name), "state": "revoked", "before": not is_new}
        terminal.json(answer)
    else:
        text = "The key {name} is revoked." if is_new else "The key {name} had been revoked before."
        terminal.note(tr(text, name=said(name)))
        if not is_any_left:
            terminal.note(
                tr("No key is valid any more: servers let nobody in by a key until `actum keys add NAME` has made one.")
            )
    return DONE


async def entrance(access: Access, journal: Journal, host: str, *, scopes: Sequence[str] = ()) -> Entrance:
    """Who may come in at a server that a command starts, with the keys of its journal.

    Off the loopback, and before anybody made a key, the first key is made and shown to a person who sits at the
    terminal; see `server.keys.with_stored_keys`.

    Args:
        access: who may come in by what else was set.
        journal: keeps the keys.
        host: where the server listens.
        scopes: what the first key allows.

    Raises:
        UsageError: others than this machine would reach the server, and there is no key for them.
        JournalError: the keys can not be read or written.
    """
    terminal = Terminal()
    found = await with_stored_keys(access, journal, host=host, by=who(), is_person=terminal.person, scopes=scopes)
    if found.made is not None:
        terminal.note(
            tr("Others than this machine reach this server: here is a key for you, as `actum keys add` makes.")
        )
        terminal.note(tr("Clients show this key as `Authorization: Bearer KEY`. It is not shown again:"))
        print(found.made.text, file=sys.stderr)
    return found


def _settings(journal: str) -> Settings:
    """The settings of these commands, which name the journal of the server.

    Raises:
        UsageError: the journal is in memory, where no server would find a key.
    """
    settings = options.read(journal=journal)
    if settings.journal == MEMORY:
        raise UsageError(
            "a journal in memory keeps no keys beyond this command: name a file or a database by --journal"
        )
    return settings


def _as_json(key: Key, now: float) -> JsonObject:
    told = {**as_told(key), "state": key.state(now)}
    return {**told, "revoked_at": key.revoked_at, "revoked_by": key.revoked_by} if key.was_revoked else told


def _words(given: list[str] | None) -> list[str]:
    return [said(word) for word in given or []]


def _may_use(key: Key) -> str:
    named = {"tools": key.tools, "models": key.models, "agents": key.agents}
    return "; ".join(f"{what} {' '.join(patterns)}" for what, patterns in named.items() if patterns)


def _end(key: Key) -> str:
    return moments.shown(key.expires_at, "%Y-%m-%d %H:%M") if key.expires_at else ""
