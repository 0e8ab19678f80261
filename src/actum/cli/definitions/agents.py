"""`actum agents`: the agents of the settings, and what each of them is made of; and the published ones."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ...agents.declared import AGENT, AgentDefinition, read_agent
from ...agents.identity import AgentRef
from ...compose.agents import open_agents
from ...compose.mistakes import meant
from ...compose.settings import Settings, choose_agent, shown_settings, table_of
from ...core.errors import ActumError, DamagedDefinition, UnknownName, UsageError
from ...core.json import Json
from ...core.language.sentence import names_or_none
from ...core.stored.definitions import (
    DefinitionDraft,
    Definitions,
    Publication,
    PublicationInUse,
    no_publication,
)
from ...journal.memory import MemoryJournal
from ...server.api.published import AGENT_OPERATIONS, AGENTS
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr, tr_message
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, said
from .commands import add_definition_commands, found_in

app = typer.Typer(
    help="The agents of actum.toml: list them, show one. And agents that are published.", invoke_without_command=True
)
add_definition_commands(app, AGENTS, AGENT_OPERATIONS)

DIGEST_SHOWN = 12
PublishedByFlag = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant whose published agents count too. Default: none.")
]


@app.callback()
def agents(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_agents()


@app.command("list")
def list_agents(tenant: PublishedByFlag = "", as_json: JsonFlag = False, journal: JournalFlag = "") -> int:
    """List the agents of the settings and the published ones, with who may use them. Exit code 1 when an agent can not
    be built or read."""
    settings, terminal = options.read(journal=journal), Terminal()
    rows: list[tuple[str, ...]] = []
    told: list[Json] = []
    for name, table in settings.agents.items():
        made = asyncio.run(_look(settings, name))
        problem = made if isinstance(made, str) else ""
        digest = "" if isinstance(made, str) else made.digest
        about = tr_message(problem) or table.description or table.python
        rows.append((name, tr("settings"), _for_whom(table.users, table.roles), digest[:DIGEST_SHOWN], about))
        users: dict[str, Json] = {"users": list(table.users), "roles": list(table.roles)}
        told.append({"name": name, "version": 0, **({"problem": problem} if problem else {**users, "digest": digest})})
    for line, agent in asyncio.run(_published(settings, said(tenant))):
        where = f"{line.name}@{line.number}"
        if isinstance(agent, str):
            rows.append((line.name, where, "", "", tr_message(agent)))
            told.append({"name": line.name, "version": line.number, "problem": agent})
            continue
        rows.append((line.name, where, _for_whom(agent.users, agent.roles), "", agent.description))
        users = {"users": list(agent.users), "roles": list(agent.roles)}
        told.append({"name": line.name, "version": line.number, **users})
    if as_json:
        terminal.json(told)
    elif rows:
        terminal.table("agent", "from", "for whom", "digest", "what it is", rows=rows)
    else:
        terminal.note(
            "There is one agent, without a name. [agents.NAME] in actum.toml gives names; see `actum docs agents`."
        )
    return FAILED if any(isinstance(each, dict) and "problem" in each for each in told) else DONE


@app.command("show")
def show_agent(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@N]",
            help="An agent of the settings; or what is published under a name, or its number N; NAME@draft: the draft.",
        ),
    ],
    tenant: PublishedByFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show one agent of the settings, with the digest of each part; or the text of a published one. Secrets are
    hidden."""
    around, terminal = options.read(journal=journal), Terminal()
    if name not in around.agents:
        _show_published(terminal, around, said(name), said(tenant), as_json=as_json)
        return
    settings = choose_agent(around, name)
    made = asyncio.run(_look(settings, name))
    if isinstance(made, str):
        raise ActumError(made)
    shown = shown_settings(settings)
    table: Json = shown.get(f"agents.{name}")
    own = {key: shown[key] for key in ("model", "base_url", "tools", "mcp", "policy", "instructions", "limits")}
    if as_json:
        about: Json = {
            "name": name,
            "version": 0,
            "digest": made.digest,
            "parts": {**made.parts},
            "table": table,
            "settings": {**own},
        }
        terminal.json(about)
        return
    told = [(key, _text(value)) for key, value in table.items()] if isinstance(table, dict) else []
    rows = [(tr("agent"), name), *told, (tr("digest"), made.digest), *made.parts.items()]
    terminal.table("", "", rows=rows)


def _show_published(terminal: Terminal, settings: Settings, source: str, tenant: str, *, as_json: bool) -> None:
    """Show the text of a published agent, or of a draft.

    Raises:
        UnknownName: there is none; the message tells the agents of the settings and the published ones.
    """

    async def command() -> DefinitionDraft | Publication:
        if not options.has_journal(settings):
            return _refuse(settings, source, [])
        async with options.journal(settings) as opened:
            try:
                return await found_in(source, AGENT, opened.definitions, tenant)
            except UnknownName:
                if "@" in source:  # a number or a draft is meant, of a name that may be right
                    raise
                lines = await opened.definitions.in_use(AGENT, tenant=tenant)
        return _refuse(settings, source, [f"{line.name}@{line.number}" for line in lines])

    found = asyncio.run(command())
    number = found.number if isinstance(found, Publication) else 0
    if as_json:
        terminal.json({"name": found.name, "version": number, "definition": found.text})
        return
    if number:
        terminal.note("{name}@{number} is published.", name=found.name, number=number)
    terminal.text(found.text.rstrip("\n"))


def _refuse(settings: Settings, name: str, published: Sequence[str]) -> NoReturn:
    """Raises:
    UnknownName: there is no agent of this name; the message tells those there are.
    """
    if not published:
        table_of(settings, name)  # which knows what to tell
    raise UnknownName(
        "there is no agent {name!r}; of the settings there are: {known}; published are: {published}{meant}",
        name=name,
        known=names_or_none(settings.agents),
        published=", ".join(published),
        meant=meant(name, [*settings.agents, *(each.partition("@")[0] for each in published)]),
    )


async def _published(settings: Settings, tenant: str) -> list[tuple[PublicationInUse, AgentDefinition | str]]:
    """The agents that a tenant has published, but for those whose name an agent of the settings has; or why one can not
    be read. No journal is made for this."""
    if not options.has_journal(settings):
        return []
    async with options.journal(settings) as opened:
        lines = await opened.definitions.in_use(AGENT, tenant=tenant)
        wanted = [line for line in lines if line.name not in settings.agents]
        return [(line, await _read(opened.definitions, line, tenant)) for line in wanted]


async def _read(definitions: Definitions, line: PublicationInUse, tenant: str) -> AgentDefinition | str:
    """A published agent; or why it can not be read."""
    try:
        publication = await definitions.published(AGENT, line.name, line.number, tenant=tenant)
        if publication is None:
            raise no_publication(AGENT, line.name, line.number)
        return read_agent(publication.text)
    except (UsageError, DamagedDefinition) as error:
        return str(error)


async def _look(settings: Settings, name: str) -> AgentRef | str:
    """The agent's name and digest; or why it can not be built."""
    try:
        async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as opened:
            return await opened.get(name).reference()
    except ActumError as error:
        return str(error)


def _text(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _for_whom(users: Sequence[str], roles: Sequence[str]) -> str:
    return ", ".join([*users, *(f"role:{role}" for role in roles)]) or tr("anybody")
