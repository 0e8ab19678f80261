"""`actum agents`: the agents of the settings, and what each of them is made of."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Annotated

import typer

from ...agents.identity import AgentRef
from ...compose.agents import open_agents
from ...compose.settings import Settings, choose_agent, shown_settings
from ...core.errors import ActumError
from ...core.json import Json
from ...journal.memory import MemoryJournal
from ...server.api.published import AGENT_OPERATIONS, AGENTS
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr, tr_message
from ..options import JsonFlag
from ..show.terminal import Terminal
from .commands import add_definition_commands

app = typer.Typer(
    help="The agents of actum.toml: list them, show one. And agents that are published.", invoke_without_command=True
)
add_definition_commands(app, AGENTS, AGENT_OPERATIONS)

DIGEST_SHOWN = 12


@app.callback()
def agents(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_agents()


@app.command("list")
def list_agents(as_json: JsonFlag = False) -> int:
    """List the agents, with who may use them. Exit code 1 when one of them can not be built."""
    settings, terminal = options.read(), Terminal()
    rows: list[tuple[str, ...]] = []
    told: list[Json] = []
    for name, table in settings.agents.items():
        made = asyncio.run(_look(settings, name))
        problem = made if isinstance(made, str) else ""
        digest = "" if isinstance(made, str) else made.digest
        who: list[str] = [*table.users, *(f"role:{role}" for role in table.roles)]
        about = tr_message(problem) or table.description or table.python
        rows.append((name, ", ".join(who) or tr("anybody"), digest[:DIGEST_SHOWN], about))
        told.append({"name": name, "users": list(table.users), "roles": list(table.roles), "digest": digest})
        if problem:
            told[-1] = {"name": name, "problem": problem}
    if as_json:
        terminal.json(told)
    elif rows:
        terminal.table("agent", "for whom", "digest", "what it is", rows=rows)
    else:
        terminal.note(
            "There is one agent, without a name. [agents.NAME] in actum.toml gives names; see `actum docs agents`."
        )
    return FAILED if any(isinstance(each, dict) and "problem" in each for each in told) else DONE


@app.command("show")
def show_agent(
    name: Annotated[str, typer.Argument(help="The agent's name.")],
    as_json: JsonFlag = False,
) -> None:
    """Show one agent: its settings, and the digest of each part. Secrets are hidden."""
    around, terminal = options.read(), Terminal()
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
            "digest": made.digest,
            "parts": {**made.parts},
            "table": table,
            "settings": {**own},
        }
        terminal.json(about)
        return
    said = [(key, _text(value)) for key, value in table.items()] if isinstance(table, dict) else []
    rows = [(tr("agent"), name), *said, (tr("digest"), made.digest), *made.parts.items()]
    terminal.table("", "", rows=rows)


async def _look(settings: Settings, name: str) -> AgentRef | str:
    """The agent's name and digest; or why it can not be built."""
    try:
        async with open_agents(settings, os.environ, Path.cwd(), journal=MemoryJournal()) as opened:
            return await opened.get(name).reference()
    except ActumError as error:
        return str(error)


def _text(value: Json) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
