"""`actum init` and `actum config`: write a settings file, say what is wrong with one, show what holds and why."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer
from msgspec import structs

from ...compose.agents import problems_of
from ...compose.extras import SERVES, install, missing_extras, needed_extras
from ...compose.features import features_of
from ...compose.mistakes import located
from ...compose.settings import SETTINGS_FILE, find_mistakes, settings_texts, shown_settings
from ...compose.tables.serve import ServeSettings
from ...compose.template import TEMPLATE
from ...core.errors import ActumError, UsageError
from ...core.json import Json, dumps
from ...core.language.sentence import Sentence
from ...storage.folders import settings_path
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..options import JsonFlag
from ..services.callers import KeyFlag
from ..services.serve import PublicFlag, check_server
from ..show.terminal import Terminal, said, styled
from .collection_readers import unread_collections
from .deployment import write_deployment
from .shadowed import shadowed_definitions
from .unpublished import unpublished

app = typer.Typer(help="The settings: check the files, show what holds.", invoke_without_command=True)


def init(
    deploy: Annotated[
        str, typer.Option("--deploy", metavar="DIR", help="Write the files of a deployment into this folder instead.")
    ] = "",
) -> None:
    """Write a commented actum.toml into this folder. A file that is there is left alone.

    With --deploy: Dockerfile, compose.yaml, actum.toml, Caddyfile, nginx.conf, actum.service and .env.example.
    """
    if deploy:
        write_deployment(Terminal(), Path(said(deploy)).expanduser())
        return
    path = Path.cwd() / SETTINGS_FILE
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(TEMPLATE)
    except FileExistsError:
        raise UsageError(
            "{path} is there already, and was left as it is: `actum config check` looks at it", path=path
        ) from None
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None
    Terminal().note("wrote {path}: everything in it is a comment. Take the # away from what you want to set", path=path)


@app.callback()
def config(context: typer.Context) -> None:
    """Without a word more, what holds."""
    if context.invoked_subcommand is None:
        show()


@app.command("check")
def check(public: PublicFlag = "", key_env: KeyFlag = "", as_json: JsonFlag = False) -> int:
    """Say what is wrong with the settings files, with line and hint. Exit code 1 when something is.

    --public and --key-env are those with which `actum serve` is started.
    """
    terminal = Terminal()
    own = settings_path(os.environ)
    files = [*([own] if own is not None else []), Path.cwd() / SETTINGS_FILE]
    mistakes = [mistake for file in files for mistake in find_mistakes(file)]
    if not mistakes:
        texts = settings_texts(Path.cwd(), os.environ)
        mistakes = [located(problem, texts) for problem in asyncio.run(_refused(terminal, public, key_env))]
    if as_json:
        told: list[Json] = [
            {"file": each.file, "line": each.line, "problem": each.problem, "hint": each.hint} for each in mistakes
        ]
        terminal.json(told)
        return FAILED if mistakes else DONE
    for mistake in mistakes:
        terminal.error(mistake.text)
    if not mistakes:
        read = ", ".join(str(file) for file in files if file.is_file())
        terminal.note(
            f"Nothing is wrong with {read}." if read else "There is no settings file; `actum init` writes one."
        )
    return FAILED if mistakes else DONE


async def _refused(terminal: Terminal, public: str, key_env: str) -> list[str]:
    """What speaks against the settings when everything that they name is built, as `actum run` and `actum serve` do.

    What belongs to a server alone is looked at where the packages of a server are installed.
    """
    try:
        settings = options.read(serve={"public": public} if public else {})  # what several files say together
    except ActumError as error:
        return [str(error)]
    refused = features_of(settings).problems
    found = [str(each) for each in refused.values()]
    usable = {name: table for name, table in settings.features.items() if name not in refused}
    # So that no agent is told to have the same mistake.
    of_agents = {name: structs.replace(each, features=usable) for name, each in settings.of_agents.items()}
    settings = structs.replace(settings, features=usable, of_agents=of_agents)
    lacking = missing_extras({*needed_extras(settings)})
    if lacking:
        return [*found, f"this needs packages that are not installed: {install(*lacking)}"]
    found += await problems_of(settings, os.environ, Path.cwd())
    lacking = missing_extras({*SERVES})
    if settings.triggers and not lacking:
        from ...compose.triggers import trigger_problems  # noqa: PLC0415  # needs actum[server]

        found += trigger_problems(settings)
    if not found and not lacking:
        try:
            await check_server(settings, key_env)
        except ActumError as error:
            found.append(str(error))
    of_a_server = {"serve": settings.serve != ServeSettings(), "triggers": bool(settings.triggers)}
    for table in [name for name, is_there in of_a_server.items() if is_there and lacking]:
        terminal.note("[{table}] was not looked at: {command}", table=table, command=install(*lacking))
    with suppress(ActumError):  # a journal that can not be opened is told by `actum doctor`
        for each in await unread_collections(settings, options.journal(settings)):
            terminal.note(
                "{agent}: not all who may use this agent can read the collection {collection}: {command}",
                agent=each.agent,
                collection=each.collection,
                command=each.command,
            )
    with suppress(ActumError):  # as above
        for shadowed in await shadowed_definitions(settings, options.journal(settings)):
            kind, name, means = Sentence(shadowed.kind), shadowed.name, Sentence(shadowed.means)
            if not shadowed.tenant:
                terminal.note(
                    "the published {kind} {name} is not used: this name is in the settings ({means})",
                    kind=kind,
                    name=name,
                    means=means,
                )
                continue
            terminal.note(
                "the published {kind} {name} of tenant {tenant!r} is not used: this name is in the settings ({means})",
                kind=kind,
                name=name,
                tenant=shadowed.tenant,
                means=means,
            )
    with suppress(ActumError):  # as above
        for missing in await unpublished(settings, options.journal(settings)):
            terminal.note(
                "{agent}: nobody has published the {kind} {name!r}: {command}",
                agent=missing.agent,
                kind=missing.kind,
                name=missing.name,
                command=missing.command,
            )
    return found


@app.command("show")
def show(as_json: JsonFlag = False) -> None:
    """Show each setting that holds, and where it comes from. Secrets are hidden."""
    terminal = Terminal()
    settings = options.read()
    places = {"agents": "agents", "workflows": "workflows", "tools": "tool_labels"}
    rows: list[tuple[str, str, str]] = []
    told: list[Json] = []
    for name, value in shown_settings(settings).items():
        head, dot, _ = name.partition(".")
        known = "features" if name in settings.features else places.get(head, head) if dot else name
        source = settings.sources.get(known, "default")
        rows.append((name, value if isinstance(value, str) else dumps(value), source))
        told.append({"name": name, "value": value, "source": source})
    if as_json:
        terminal.json(told)
        return
    for name, text, source in rows:
        terminal.text(styled((name, "bold"), f" = {text}", (f"  ({tr(source)})", "dim")))
