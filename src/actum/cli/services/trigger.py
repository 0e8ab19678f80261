"""`actum trigger`: what begins runs by itself. List, pause and resume are made from operations; the file of settings is
changed by hand, and an event is told as a program tells it.
"""

from __future__ import annotations

import asyncio
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from ...compose.extras import check_extras
from ...compose.settings import SETTINGS_FILE, Settings
from ...core.errors import UsageError
from ...core.json import Json, JsonObject, JsonProblem, dumps, parse
from ...core.toml import read_toml
from ...server.api.triggers import OPERATIONS
from ...triggers.settings import TriggerTable
from .. import options
from ..exit_codes import DONE
from ..language import tr
from ..operated import add_commands
from ..options import JournalFlag, JsonFlag
from ..show.terminal import Terminal, said

if TYPE_CHECKING:
    from ...triggers.intake import TakenEvent

app = typer.Typer(
    help="What begins runs by itself: add a trigger, list, fire, pause, resume, remove.", no_args_is_help=True
)
add_commands(app, OPERATIONS)

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the trigger.")]
_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")


@app.command("add")
def add(
    name: NameArgument,
    workflow: Annotated[
        str, typer.Option(metavar="NAME", help="The workflow that begins: a name of [workflows].")
    ] = "",
    agent: Annotated[str, typer.Option(metavar="NAME", help="The agent that is asked.")] = "",
    wake: Annotated[str, typer.Option(metavar="TOKEN", help="The token of wait nodes that go on.")] = "",
    say: Annotated[str, typer.Option(metavar="TEXT", help="What the agent is told; ${event.data} is the event.")] = "",
    schedule: Annotated[str, typer.Option(metavar="CRON", help="When: five fields, as in '0 7 * * MON-FRI'.")] = "",
    zone: Annotated[str, typer.Option(metavar="ZONE", help="The time zone of the schedule. Default: UTC.")] = "",
    file: Annotated[str, typer.Option(metavar="PATH", help="A file whose change is the event.")] = "",
    server: Annotated[str, typer.Option(metavar="SERVER", help="The MCP server of the resource.")] = "",
    resource: Annotated[
        str, typer.Option(metavar="ADDRESS", help="A resource of the MCP server whose change is the event.")
    ] = "",
    secret: Annotated[
        str, typer.Option(metavar="NAME", help="The secret by which a webhook's signature is checked.")
    ] = "",
    a2a: Annotated[
        str, typer.Option("--a2a", metavar="AGENT", help="The agent elsewhere whose news of a task are events.")
    ] = "",
    signature: Annotated[
        str, typer.Option(metavar="FORM", help="How a webhook is signed: standard, github, stripe or token.")
    ] = "",
) -> int:
    """Add a trigger to the actum.toml of this folder. With none of --schedule, --file and --resource, it is a webhook.

    For instance: actum trigger add lamp --workflow lamp --schedule '0 7 * * MON-FRI' --zone Europe/Berlin
    """
    given = {
        "workflow": workflow,
        "agent": agent,
        "wake": wake,
        "say": say,
        "schedule": schedule,
        "zone": zone,
        "file": file,
        "server": server,
        "resource": resource,
        "secret": secret,
        "a2a": a2a,
        "signature": signature,
    }
    table: JsonObject = {key: said(value) for key, value in given.items() if value}
    terminal, path = Terminal(), Path(SETTINGS_FILE)
    before = path.read_text("utf-8") if path.exists() else ""
    if name in _tables(before):
        raise UsageError("there is a trigger {name!r} already: actum trigger remove {name}", name=name)
    if not name or len(name) > 64 or not set(name) <= _BARE:
        raise UsageError("a trigger can not be called {name!r}: up to 64 letters, digits, - and _", name=name)
    try:
        made = msgspec.convert(table, TriggerTable)
    except msgspec.ValidationError as error:
        raise UsageError("--signature: {why}", why=error) from None
    settings = options.read()
    check_extras(msgspec.structs.replace(settings, triggers={**settings.triggers, name: made}), "server")
    from ...triggers.intake import check_trigger  # noqa: PLC0415  # needs actum[server]

    check_trigger(name, made)
    lines = [f"[triggers.{name}]", *(f"{key} = {dumps(value)}" for key, value in table.items())]
    path.write_text((before.rstrip("\n") + "\n\n" if before.strip() else "") + "\n".join(lines) + "\n", "utf-8")
    terminal.note("{name} is in actum.toml. `actum serve` listens for it from its next start on.", name=name)
    if made.is_webhook:
        terminal.note("Events are told to it at POST /v1/triggers/{name}", name=name)
    return DONE


@app.command("fire")
def fire(
    name: NameArgument,
    data: Annotated[str, typer.Option(metavar="JSON", help="What happened.")] = "{}",
    event: Annotated[
        str, typer.Option("--id", metavar="ID", help="The id of the event: the same id is the same.")
    ] = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Tell a trigger of an event. The run is a task: `actum serve` or `actum worker` carries it out."""
    settings, terminal = options.read(journal=journal), Terminal()
    check_extras(settings, "server")
    try:
        value, _ = parse(said(data))
    except JsonProblem as problem:
        raise UsageError("--data is no JSON: {why}", why=problem) from None
    taken = asyncio.run(_fired(settings, name, value, said(event)))
    if as_json:
        terminal.json(msgspec.to_builtins(taken))
    else:
        runs = " ".join(filter(None, (taken.run_id, *taken.woken)))
        terminal.text(runs if taken.how == "begun" else tr("{runs}  was known already", runs=runs))
    return DONE


@app.command("remove")
def remove(name: NameArgument) -> int:
    """Remove a trigger from the actum.toml of this folder. Runs that it began go on."""
    path = Path(SETTINGS_FILE)
    before = path.read_text("utf-8") if path.exists() else ""
    if name not in _tables(before):
        raise UsageError("there is no trigger {name!r} in actum.toml", name=name)
    kept, inside = [], False
    for line in before.splitlines(keepends=True):
        head = line.strip()
        if head.startswith("["):
            inside = head.split("#")[0].strip() in (f"[triggers.{name}]", f'[triggers."{name}"]')
        if not inside:
            kept.append(line)
    after = "".join(kept)
    wanted = read_toml(before)
    del wanted["triggers"][name]
    if not wanted["triggers"]:
        del wanted["triggers"]
    if read_toml(after) != wanted:
        raise UsageError(
            "remove the table [triggers.{name}] by hand: it is written in a way that this can not undo", name=name
        )
    path.write_text(after, "utf-8")
    Terminal().note("{name} is removed. `actum serve` listens for it until its next start.", name=name)
    return DONE


def _tables(text: str) -> JsonObject:
    """The triggers of a file of settings."""
    try:
        found = read_toml(text).get("triggers", {})
    except tomllib.TOMLDecodeError as error:
        raise UsageError("actum.toml can not be read: {why}", why=error) from None
    return found if isinstance(found, dict) else {}


async def _fired(settings: Settings, name: str, value: Json, event: str) -> TakenEvent:
    from ...compose.triggers import trigger_desk  # noqa: PLC0415  # needs actum[server]

    async with trigger_desk(settings, os.environ, Path.cwd()) as intake:
        return await intake.fire(name, value, id=event)
