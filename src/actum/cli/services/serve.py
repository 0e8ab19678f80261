"""`actum serve`: what one `actum.toml` describes, served under one address: MCP, A2A, models and our own API."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import structs

from ... import server as doors
from ...compose.extras import SERVES, check_extras
from ...compose.settings import Settings, at_their_lines
from ...compose.tables.serve import ServeSettings
from ...core.interfaces import Journal
from ...core.json import JsonObject
from ...server.verifier import WantedLater
from .. import options
from ..options import JournalFlag, LimitFlag, PolicyFlag, ToolsFlag
from ..show.terminal import Terminal
from .callers import InsecureFlag, IssuerFlag, KeyFlag, ended, local, verifier
from .keys import entrance

if TYPE_CHECKING:
    from ...core.identity import Identity
    from ...server import Access

ALL_SCOPES = ("admin",)
"""What the person who starts the server may do, and each client that has the one key of `--key-env`."""

HttpFlag = Annotated[
    str, typer.Option("--http", metavar="HOST:PORT", help="Where it listens. Default: 127.0.0.1:8000.")
]
MetricsFlag = Annotated[
    str,
    typer.Option("--metrics", metavar="HOST:PORT", help="Serve /metrics there, without a key, and nowhere else."),
]
PublicFlag = Annotated[
    str, typer.Option("--public", metavar="URL", help="The server as clients write it, where a proxy stands before it.")
]


def serve(
    http: HttpFlag = "",
    tools: ToolsFlag = None,
    metrics: MetricsFlag = "",
    public: PublicFlag = "",
    key_env: KeyFlag = "",
    issuer: IssuerFlag = "",
    insecure: InsecureFlag = False,
    instructions: options.InstructionsFlag = "",
    limit: LimitFlag = None,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
) -> int:
    """Serve what actum.toml describes, by every protocol, under one address.

    For instance: actum serve --tools tools.py, then give a client http://127.0.0.1:8000/mcp
    """

    def read() -> Settings:
        flags: JsonObject = {"http": http, "metrics": metrics, "public": public, "issuer": issuer}
        return read_served(flags, tools, instructions, limit, journal, policy)

    settings = read()
    check_extras(settings, *SERVES)
    from ...compose.serving import run_server  # noqa: PLC0415  # nobody else needs a web server

    with at_their_lines(Path.cwd(), os.environ):
        return run_server(run(settings, lambda: read().serve, key_env, insecure=insecure))


def read_served(
    flags: JsonObject,
    tools: list[str] | None,
    instructions: str,
    limits: list[str] | None,
    journal: str,
    policy: str,
) -> Settings:
    """The settings of a server, with the flags of `[serve]` that are not empty."""
    given: JsonObject = {name: value for name, value in flags.items() if value}
    return options.read(
        tools=tools, instructions=instructions, limits=limits, journal=journal, policy=policy, serve=given
    )


async def run(
    settings: Settings,
    reread: Callable[[], ServeSettings],
    key_env: str,
    *,
    insecure: bool,
    wants_key: bool = False,
    begun: Callable[[Journal, str], Awaitable[None]] | None = None,
) -> int:
    """Serve until the process is told to end.

    Args:
        settings: as read.
        reread: reads the settings of the server anew.
        key_env: the variable of `--key-env`.
        insecure: whether other machines may use the server without a key.
        wants_key: whether everybody needs a key or a session, also on this machine.
        begun: is called with the journal and the address as soon as the server listens.

    Returns:
        The exit code.
    """
    from ...compose.serving import (  # noqa: PLC0415  # nobody else needs a web server
        built,
        left_out,
        log_to_stderr,
        open_login,
        place_of,
        serves_a2a,
    )

    reached, access = settings.serve, _access(settings, key_env, insecure=insecure)
    async with options.journal(settings) as opened:
        login = open_login(settings, opened, os.environ)
        if (login is not None or wants_key) and access.verifier is None:
            # Persons are told apart: everybody needs a key or a session, also on this machine.
            access = structs.replace(access, verifier=doors.Authenticator([]), insecure=False)
        entered = await entrance(access, opened, place_of(reached.http)[0], scopes=ALL_SCOPES)
        async with built(settings, opened, entered, login, _operator(settings), reread) as (serving, agents):
            with serving.listening() as address:
                told = {"models": list(settings.models), "agents": list(settings.agents)}
                told["workflows"] = list(settings.workflows)
                _tell(reached, entered.access, address, told, a2a=serves_a2a(settings, agents))
                for line in left_out(settings, agents):
                    Terminal().note(line)
                log_to_stderr()
                if begun is not None:
                    await begun(opened, address)
                return ended(await serving.run())


async def check_server(settings: Settings, key_env: str = "") -> None:
    """Build all that `actum serve` would serve, and serve nothing: no place is taken, and the journal is an empty one.

    Args:
        settings: as read.
        key_env: the variable of `--key-env`.

    Raises:
        ActumError: `actum serve` would refuse these settings.
    """
    from ...compose.serving import built, open_login, place_of  # noqa: PLC0415  # nobody else needs a web server
    from ...server.keys import Entrance  # noqa: PLC0415  # as above

    access = _access(settings, key_env, insecure=False)
    for place in filter(None, (settings.serve.http, settings.serve.metrics)):
        place_of(place)
    # Keys are in the journal, which is not looked at here: somebody has one.
    access = structs.replace(access, verifier=access.verifier or doors.Authenticator([]))
    with TemporaryDirectory(prefix="actum-") as folder:
        async with options.journal(structs.replace(settings, journal=str(Path(folder) / "empty.db"))) as journal:
            login = open_login(settings, journal, os.environ)
            async with built(settings, journal, Entrance(access), login, _operator(settings)):
                pass


def _operator(settings: Settings) -> Identity:
    return structs.replace(local(settings), scopes=ALL_SCOPES)


def _access(settings: Settings, key_env: str, *, insecure: bool) -> Access:
    reached = settings.serve
    return doors.Access(
        verifier=verifier(
            key_env,
            reached.issuer,
            reached.public,
            settings.speaks_for_user,
            tenant_claim=settings.tenant_claim,
            scopes=ALL_SCOPES,
            flag="--public",
        ),
        issuer=reached.issuer,
        insecure=insecure,
    )


def _tell(
    reached: ServeSettings, access: Access, address: str, names: Mapping[str, Sequence[str]], *, a2a: bool
) -> None:
    """Say where the server is, what it serves, and who may come in."""
    terminal = Terminal()
    public = reached.public
    terminal.note(f"actum serves at {address}, as {public}" if public else f"actum serves at {address}")
    new = f"{address}/mcp"
    terminal.note(f"  MCP      {new}, for old clients {address}/sse" if reached.sse else f"  MCP      {new}")
    terminal.note("  API      {address}/v1, described at {same}/openapi.json", address=address, same=address)
    if a2a:
        terminal.note("  A2A      {address}/.well-known/agent-card.json", address=address)
    if names["models"]:
        terminal.note("  models   {models}; see `actum docs gateway` for base URLs", models=", ".join(names["models"]))
    if names["agents"]:
        terminal.note("  agents   {names}", names=", ".join(names["agents"]))
    if names["workflows"]:
        terminal.note("  flows    {workflows}; see `actum docs workflows`", workflows=", ".join(names["workflows"]))
    terminal.note("  health   {address}/healthz, {same}/readyz", address=address, same=address)
    if reached.metrics:
        terminal.note("  metrics  http://{place}/metrics", place=reached.metrics)
    else:
        terminal.note("  metrics  {address}/metrics, scope metrics", address=address)
    if reached.login.issuer:
        terminal.note("  people   {address}/login, at {issuer}", address=address, issuer=reached.login.issuer)
    if access.verifier is not None and access.issuer:
        terminal.note("  access   everyone with a key, or a token of {issuer}", issuer=access.issuer)
    elif isinstance(access.verifier, WantedLater):
        terminal.note("  access   everyone on this machine, without a key until the first key is made")
    elif access.verifier is not None:
        terminal.note("  access   everyone with a key")
    elif access.insecure:
        terminal.note("  access   everyone who reaches it, without a key (--insecure)")
    else:
        terminal.note("  access   everyone on this machine, without a key")
