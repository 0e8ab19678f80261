"""`actum mcp serve`: tools, files, prompts and runs, served to MCP clients by the pipes of this process or over HTTP.

By pipes nothing but the protocol stands on stdout, and the end of stdin is the end. What is served is told on stderr.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import server as doors
from ...compose.agents import open_policy
from ...compose.mcp import find_servers, mcp_keys, mcp_pins
from ...compose.secrets import open_secrets
from ...compose.settings import Settings
from ...compose.settings_watch import open_egress
from ...compose.tables.serve import ServeSettings
from ...compose.tools import load_tools, with_labels
from ...compose.user_code import load_objects
from ...core.errors import UsageError
from ...core.interfaces import Journal
from ...runs.given_tools import Toolish
from .. import options
from ..exit_codes import DONE
from ..options import (
    JournalFlag,
    LimitFlag,
    PolicyFlag,
    ToolsFlag,
)
from ..services.callers import InsecureFlag, IssuerFlag, KeyFlag, ended, local, verifier
from ..services.keys import entrance
from ..show.terminal import (
    Terminal,
    said,
)
from ..versions import version_of

if TYPE_CHECKING:
    from ...server import (
        Access,
        Identity,
        McpGateway,
        McpService,
        Prompt,
    )

END_S = 5
"""Seconds for what is still under way when the server is told to end."""

HttpFlag = Annotated[
    str, typer.Option("--http", metavar="HOST:PORT", help="Serve over HTTP there, instead of by stdin and stdout.")
]
SseFlag = Annotated[bool, typer.Option("--sse", help="Over HTTP also the old way, at /sse, for old clients.")]
FolderFlag = Annotated[
    list[str] | None,
    typer.Option("--folder", metavar="NAME=PATH", help="Serve the files below PATH as NAME:///...; may be repeated."),
]
PromptsFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--prompts",
        metavar="WHERE",
        help="Serve the prompts that file.py or a module holds, functions with @prompt of actum.server above them, or "
        "one of them as file.py:name; may be repeated.",
    ),
]
RunsFlag = Annotated[bool, typer.Option("--runs", help="Serve the runs of the user who asks, as actum://runs/ID.")]
UpstreamFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--upstream",
        metavar="SERVER",
        help="Stand in front of this server instead: a name of `actum mcp`, an address, a file of them; may be "
        "repeated. Only what was approved is passed on.",
    ),
]
ResourceFlag = Annotated[
    str, typer.Option("--resource", metavar="URL", help="This server as clients write it: what tokens are meant for.")
]
ScopeFlag = Annotated[
    list[str] | None, typer.Option("--scope", metavar="NAME", help="A scope that tokens need; may be repeated.")
]
NameFlag = Annotated[
    list[str] | None,
    typer.Option("--allow-host", metavar="NAME", help="A name under which clients reach this; may be repeated."),
]
OriginFlag = Annotated[
    list[str] | None,
    typer.Option("--allow-origin", metavar="URL", help="Pages of this origin may speak to it; may be repeated."),
]
SpeaksForUserFlag = Annotated[
    list[str] | None,
    typer.Option(
        "--speaks-for-user",
        metavar="CLIENT",
        help="Trust this client to say only what its user said, so that rules take its values as the user's: `local` "
        "(no key), `shared` (--key-env), or a client's id at --issuer. May be repeated. Never for a client whose model "
        "chooses the values.",
    ),
]


def serve(
    tools: ToolsFlag = None,
    http: HttpFlag = "",
    sse: SseFlag = False,
    folder: FolderFlag = None,
    prompts: PromptsFlag = None,
    runs: RunsFlag = False,
    upstream: UpstreamFlag = None,
    name: Annotated[str, typer.Option(help="What clients are told it is called.")] = "actum",
    instructions: options.InstructionsFlag = "",
    key_env: KeyFlag = "",
    issuer: IssuerFlag = "",
    resource: ResourceFlag = "",
    scope: ScopeFlag = None,
    allow_host: NameFlag = None,
    allow_origin: OriginFlag = None,
    insecure: InsecureFlag = False,
    speaks_for_user: SpeaksForUserFlag = None,
    limit: LimitFlag = None,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
    place: Annotated[str, typer.Option("--in", metavar="DIR", help="Begin in this folder, with its actum.toml.")] = "",
) -> int:
    """Serve tools, files, prompts and runs to MCP clients, in both eras of the protocol.

    For instance: actum mcp serve --tools tools.py, as the command of a server in a client's settings
    """
    if place:
        _go_to(said(place))
    settings = options.read(
        tools=tools,
        instructions=instructions,
        limits=limit,
        journal=journal,
        policy=policy,
        speaks_for_user=speaks_for_user,
    )
    if not http and (sse or key_env or issuer or insecure):
        raise UsageError("--sse, --key-env, --issuer and --insecure are about HTTP: say where, as in --http :8000")
    if upstream and (tools or folder or prompts or runs or instructions):
        raise UsageError(
            "--upstream serves what other servers do: leave out --tools, --folder, --prompts, --runs, --instructions"
        )
    folders = [_folder(word) for word in folder or []]
    filled = [each for place in prompts or [] for each in _prompts(place)]
    access = doors.Access(
        verifier=verifier(key_env, issuer, resource, settings.speaks_for_user, tenant_claim=settings.tenant_claim),
        resource=resource,
        issuer=issuer,
        scopes=tuple(scope or ()),
        names=tuple(allow_host or ()),
        origins=tuple(allow_origin or ()),
        insecure=insecure,
    )

    async def command() -> int:
        async with options.journal(settings) as opened:
            service: McpService | McpGateway
            if upstream:
                service = _gateway(settings, upstream, opened, name=name)
                shown = f"what {', '.join(service.behind)} {'serves' if len(service.behind) == 1 else 'serve'}"
            else:
                loaded = with_labels(load_tools(settings, Path.cwd()), settings.tool_labels)
                service = _service(settings, loaded, opened, folders, filled, runs=runs, name=name)
                counts = {"tool": len(await service.runner.list_tools()), "prompt": len(filled), "folder": len(folders)}
                shown = ", ".join(_counted(count, what) for what, count in counts.items() if count or what == "tool")
            if not http:
                Terminal().note("{name} serves {what} on stdin and stdout", name=name, what=shown)
                await service.run_stdio()
            else:
                return await _serve_http(service, http, access, opened, shown, local(settings), sse=sse)
        return DONE

    return asyncio.run(command())


def _go_to(place: str) -> None:
    """Work in this folder from now on: hosts start servers anywhere.

    Raises:
        UsageError: there is no such folder.
    """
    try:
        os.chdir(Path(place).expanduser())
    except OSError as error:
        raise UsageError("--in {place}: {why}", place=place, why=error.strerror or error) from None


def _service(
    settings: Settings,
    loaded: list[Toolish],
    journal: Journal,
    folders: list[tuple[str, Path]],
    prompts: list[Prompt],
    *,
    runs: bool,
    name: str,
) -> McpService:
    resources = [doors.Folder(scheme, path) for scheme, path in folders]
    return doors.McpService(
        loaded,
        prompts=prompts,
        resources=[*resources, *([doors.own_runs(journal, settings.labels)] if runs else [])],
        name=name,
        version=version_of("actum"),
        instructions=settings.instructions,
        policy=open_policy(settings, journal),
        limits=settings.limits,
        secrets=open_secrets(os.environ),
        journal=journal,
        who=local(settings),
        keys=mcp_keys(settings, os.environ),
        labels=settings.labels,
    )


def _gateway(settings: Settings, words: list[str], journal: Journal, *, name: str) -> McpGateway:
    read = find_servers(words, os.environ)
    for note in read.notes:
        Terminal().note(note)
    return doors.McpGateway(
        read.servers,
        pins=mcp_pins(os.environ),
        secrets=open_secrets(os.environ).of,
        egress=open_egress(settings, os.environ),
        labels=settings.tool_labels,
        value_labels=settings.labels,
        wait_s=settings.mcp_wait,
        name=name,
        version=version_of("actum"),
        policy=open_policy(settings, journal),
        limits=settings.limits,
        journal=journal,
        who=local(settings),
        keys=mcp_keys(settings, os.environ),
    )


async def _serve_http(
    service: McpService | McpGateway,
    place: str,
    access: Access,
    journal: Journal,
    shown: str,
    who: Identity,
    *,
    sse: bool,
) -> int:
    from ...compose.serving import Serving, log_to_stderr, place_of  # noqa: PLC0415  # nobody else needs a web server

    entered = await entrance(access, journal, place_of(place)[0])
    serving = Serving(
        [service.door(sse=sse)],
        ServeSettings(http=place, end_s=END_S),
        entered.access,
        who=who,
        journal=journal,
        stored=entered.stored,
    )
    with serving.listening() as address:
        Terminal().note(f"serving {shown} at {address}/mcp{f' and {address}/sse' if sse else ''}")
        log_to_stderr()
        return ended(await serving.run())


def _folder(word: str) -> tuple[str, Path]:
    name, sign, path = said(word).partition("=")
    if not sign or not path:
        raise UsageError("--folder {word}: write a name and a path, as in --folder notes=./notes", word=word)
    return name, Path(path)


def _prompts(place: str) -> list[Prompt]:
    """The prompts that a place holds.

    Raises:
        UsageError: none, or there is no such place.
    """
    found = [each for each in load_objects(place) if isinstance(each, doors.Prompt)]
    if not found:
        raise UsageError(
            "{place} holds no prompts: write a function in it, with @prompt of actum.server above it", place=place
        )
    return found


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
