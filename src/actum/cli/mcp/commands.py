"""`actum mcp`: the servers whose tools a run may use, which a person looks at and approves before they are used."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...compose.apis import check_servers
from ...compose.mcp import (
    check_extra,
    find_servers,
    mcp_file,
    mcp_pins,
    mcp_tokens,
    open_server,
    own_server,
    read_document,
    secrets_of,
)
from ...core.errors import ActumError, CallError, UsageError
from ...core.json import Json, JsonObject, dumps
from ...core.language.sentence import Sentence, names_or_none
from ...protocols.mcp.config import McpServer
from ...protocols.mcp.document import (
    entries_of,
    entry_of,
    is_extension,
    name_for,
    server_of,
)
from ...protocols.mcp.places import CLIENTS, ClientFile, places_of
from ...protocols.mcp.tool import says_it_reads
from ...protocols.plain_text import shown
from ...sandbox.jail import Jail
from ...storage.tokens import TokenStore
from ...storage.whole_file import alone_with, replace
from ...toolsets.mcp.install.install import install_server, is_installed_first
from ...toolsets.mcp.jail import unfit_for_jail, unreadable_files
from ...transport.guard import origin
from .. import options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..options import JsonFlag
from ..show.terminal import (
    Terminal,
    counted,
    duration,
    said,
    styled,
    who,
)
from ..show.tool_table import effects
from . import hosts as mcp_hosts
from . import serve as mcp_serve

if TYPE_CHECKING:
    from ...toolsets.mcp.toolset import McpToolset

app = typer.Typer(
    help="MCP servers: add, list, test, import, approve, login, remove. And serve: be one.",
    no_args_is_help=False,
    invoke_without_command=True,
)

app.command()(mcp_serve.serve)
app.command()(mcp_hosts.config)

LOOK_S = 60.0
"""Seconds for which a server is waited for that a person wants to know something of."""
SHOWN_MAX = 20
"""How many resources and how many prompts of a server a person is shown by name."""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What the server is called here.")]
YesFlag = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask. Look first.")]


@app.callback()
def mcp(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_servers()


# Configuring ----------------------------------------------------------------------------------------------------------


@app.command("add", context_settings={"ignore_unknown_options": True})
def add(
    name: NameArgument,
    words: Annotated[
        list[str], typer.Argument(metavar="URL | -- COMMAND [ARG]...", help="Where it is, or how it is started.")
    ],
    header: Annotated[list[str] | None, typer.Option(metavar="NAME:VALUE", help="Sent to a remote one.")] = None,
    env: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="Given to a local one.")] = None,
    cwd: Annotated[str, typer.Option(metavar="FOLDER", help="Where a local one is started; else here.")] = "",
    transport: Annotated[str, typer.Option(metavar="stdio|http|sse", help="How to talk to it; else found out.")] = "",
    timeout: Annotated[float, typer.Option(metavar="SECONDS", help="Without a word from it.")] = 60.0,
    era: Annotated[str, typer.Option(metavar="auto|legacy|modern", help="Which protocol; else found out.")] = "auto",
    root: Annotated[list[str] | None, typer.Option(metavar="FOLDER", help="It may work in this folder.")] = None,
    include: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="Only tools of such names.")] = None,
    exclude: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="No tools of such names.")] = None,
    trusted: Annotated[bool, typer.Option("--trusted", help="Believe what it says of its own tools.")] = False,
    sessions: Annotated[int, typer.Option(metavar="N", help="So many sessions at a time; else 8 processes.")] = 0,
    stateless: Annotated[bool, typer.Option("--stateless", help="It keeps nothing from one call to the next.")] = False,
    read: Annotated[
        list[str] | None, typer.Option(metavar="FOLDER", help="A local one may read this file or folder.")
    ] = None,
    write: Annotated[list[str] | None, typer.Option(metavar="FOLDER", help="A local one may write there.")] = None,
    host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="A local one may reach this host by HTTP.")
    ] = None,
    no_jail: Annotated[
        bool, typer.Option("--no-jail", help="A local one reaches all that you can reach, and the network.")
    ] = False,
) -> int:
    """Add a server. Nothing is started: its tools are used once you have approved them.

    A local server runs in a jail: it reads its own program and the folders of --read, writes those of --write, and
    reaches the hosts of --host.

    For instance: actum mcp add papers --read ~/papers -- mcp-server-filesystem ~/papers
    """
    terminal = Terminal()
    entry: JsonObject = {}
    spoken = [said(word) for word in words]
    if len(spoken) == 1 and "://" in spoken[0]:
        entry["url"] = spoken[0]
    else:
        program = spoken[0]
        if len(spoken) == 1 and " " in program and shutil.which(program) is None:
            raise UsageError(
                "there is no program {program!r}. If that is a program and its arguments, write them "
                "without quotes: actum mcp add {name} -- {words}",
                program=program,
                name=shlex.quote(name),
                words=program,
            )
        entry |= {"command": spoken[0], "args": list[Json](spoken[1:])}
        cwd = str(Path(cwd).expanduser().absolute())
    given: dict[str, Json] = {
        "headers": {**_pairs(header, ":", "--header")},
        "env": {**_pairs(env, "=", "--env")},
        "cwd": cwd,
        "transport": transport,
        "timeout": timeout,
        "era": era,
        "roots": list[Json](root or []),
        "include": list[Json](include or []),
        "exclude": list[Json](exclude or []),
        "trusted": trusted,
        "sessions": sessions,
        "stateless": stateless,
    }
    given |= _held(is_local="command" in entry, read=read or (), write=write or (), hosts=host or (), no_jail=no_jail)
    server = server_of(name, {**entry, **{key: value for key, value in given.items() if value}}, _Any())
    _check_address(server)
    if server.jail is not None and is_installed_first(server):
        server = _installed(terminal, server)
    _check_jail(terminal, server, is_bare=not (read or write or host))
    is_known = name in written_servers()
    done = Sentence("Added, in the place of another server of this name." if is_known else "Added.")
    _change({name: entry_of(server)})
    _show_line(terminal, server)
    terminal.note(
        "{done} Look at its tools and approve them with `actum mcp approve {name}`.", done=done, name=shlex.quote(name)
    )
    return DONE


def _check_address(server: McpServer) -> None:
    """Raises:
    UsageError: the server is at an address that is never reached, or that the operator's rules close.
    """
    if server.url:
        scheme, host, port = origin(server.url)
        asyncio.run(check_servers([f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"], options.egress()))


def _installed(terminal: Terminal, server: McpServer) -> McpServer:
    """Install the package of a server of npx, uvx or pipx, and show the version and the digest of each package."""
    installed = asyncio.run(install_server(server, os.environ, options.egress()))
    for each in installed.packages:
        terminal.line("installed", f"{shown(each.name)} {shown(each.version)}  {shown(each.integrity)}")
    return installed.server


def _held(
    *, is_local: bool, read: Sequence[str], write: Sequence[str], hosts: Sequence[str], no_jail: bool
) -> dict[str, Json]:
    """The jail of a server that is added, as it is written down."""
    if (no_jail or not is_local) and (read or write or hosts):
        raise UsageError("--read, --write and --host go with a command, and not with --no-jail")
    if no_jail or not is_local:
        return {"no_jail": no_jail}

    def whole(paths: Sequence[str]) -> list[Json]:
        return [str(Path(said(path)).expanduser().absolute()) for path in paths]

    # an empty table says that there is a jail, and nothing is declared
    named: dict[str, Json] = {"hosts": [said(host) for host in hosts]} if hosts else {}
    return {"jail": {"read": whole(read), "write": whole(write), **named}}


def _check_jail(terminal: Terminal, server: McpServer, *, is_bare: bool) -> None:
    """See that the jail of a server can be held, and tell what the server will miss in it.

    Raises:
        UsageError: it can't; the message says what to do.
    """
    if server.jail is None:
        if server.command:
            terminal.note("It has no jail: it reaches all that you can reach, and the network.")
        return
    if problem := unfit_for_jail(server):
        raise UsageError(problem)
    Jail(read=server.jail.read, write=server.jail.write, hosts=server.jail.hosts).checked()
    for word in unreadable_files(server):
        terminal.note("It can not read {word} in its jail: add --read with the folder of this file.", word=word)
    if is_bare:
        terminal.note(
            "It runs in a jail, without a network and without your files: see --read, --write, --host and --no-jail."
        )


@app.command("remove")
def remove(name: NameArgument) -> int:
    """Take a server out, and take its approvals back."""
    known = written_servers()
    if name not in known:
        raise UsageError("there is no MCP server {name!r}; there are: {known}", name=name, known=names_or_none(known))
    try:
        mcp_pins(os.environ).withdraw(own_server(name, known[name], os.environ).identity)
    except UsageError as error:  # a variable that it names is not set any more
        Terminal().note(str(error))
    _change({name: None})
    return DONE


@app.command("import")
def import_servers(
    source: Annotated[
        str, typer.Argument(metavar="[FILE|CLIENT]", help=f"A file, or one of {', '.join(CLIENTS)}.")
    ] = "",
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """Take over servers that another client knows. Nothing is started, and no approval is taken over."""
    terminal = Terminal()
    found = _found(source)
    if as_json and not yes:
        terminal.json([{"file": str(path), "client": title, "servers": entries} for path, title, entries in found])
        terminal.note("Nothing was taken over. With --yes all of them are.")
        return DONE
    known, taken = written_servers(), dict[str, Json]()
    for path, title, entries in found:
        terminal.line("from", f"{title}  {path}".strip(), "bold cyan", console=terminal.err)
        for name, entry in entries.items():
            _take_over(terminal, known, taken, name, entry, yes=yes)
    if not found:
        terminal.note("No client that is known here has servers in its usual place. Name a file.")
    elif taken:
        _change(taken)
    if as_json:
        terminal.json(
            [
                {
                    "file": str(path),
                    "client": title,
                    "servers": entries,
                    "taken": [name for name in map(name_for, entries) if name in taken],
                }
                for path, title, entries in found
            ]
        )
    if taken:
        terminal.note("{count} taken over. Approve each with `actum mcp approve NAME`.", count=len(taken))
    return DONE


def _take_over(
    terminal: Terminal, known: JsonObject, taken: dict[str, Json], name: str, entry: Json, *, yes: bool
) -> None:
    """Show one server, and take it over if the person wants that."""
    if is_extension(entry):
        terminal.note("{name} is left out: it is an extension, which only the editor can start", name=shown(name))
        return
    name = name_for(name)
    try:
        server = server_of(name, entry, _Any(), note=terminal.note)
    except UsageError as error:
        terminal.error(str(error))
        return
    _show_line(terminal, server)
    if name in known or name in taken:
        terminal.note("{name} is there already: it is left as it is", name=name)
        return
    if not yes:
        typed = terminal.ask("take it over?  [y]es  [n]o: ") if terminal.person else None
        if (typed or "").strip().lower() not in ("y", "yes"):
            return
    written = dict(entry) if isinstance(entry, dict) else entry_of(server)
    try:
        _check_address(server)
        installed = _held_or_told(terminal, server)
    except UsageError as error:
        terminal.error("{name} is not taken over: {why}", name=name, why=error)
        return
    if installed != server:
        written = entry_of(installed)
    taken[name] = {key: value for key, value in written.items() if key not in ("trusted", "trust")}


def _held_or_told(terminal: Terminal, server: McpServer) -> McpServer:
    """The server as it is started: installed first, where a jail holds it. Where none does, the person is told.

    Raises:
        UsageError: the server has a jail, and can't run in it or can't be installed.
    """
    if server.jail is not None:
        if is_installed_first(server):
            server = _installed(terminal, server)
        if problem := unfit_for_jail(server):
            raise UsageError(problem)
    elif server.command and not server.no_jail:
        terminal.note("{server} has no jail: it reaches all that you can reach, and the network.", server=server.name)
        if is_installed_first(server) or not unfit_for_jail(server):
            variables = [word for key in server.env for word in ("--env", f"{key}=VALUE")]
            where = ["--cwd", server.cwd] if server.cwd else []
            words = ["actum", "mcp", "add", server.name, "--read", "FOLDER", *variables, *where, "--"]
            terminal.note(
                "To hold it in a jail: {command}", command=shown(shlex.join([*words, server.command, *server.args]))
            )
    return server


def _located(entries: JsonObject, folder: Path) -> JsonObject:
    """The servers of a project, which are started in its folder where they do not say another."""
    return {
        name: {"cwd": str(folder.absolute()), **entry} if isinstance(entry, dict) and "command" in entry else entry
        for name, entry in entries.items()
    }


def _found(source: str) -> list[tuple[Path, str, JsonObject]]:
    """The files that hold servers: with whose they are, and the servers as they are written."""
    if source and source not in CLIENTS:
        path = Path(source).expanduser()
        return [(path, "", _located(entries_of(read_document(path)), path.parent))]
    found: list[tuple[Path, str, JsonObject]] = []
    for place in places_of(source):
        path = _path_of(place)
        if not path.is_file():
            continue
        try:
            entries = entries_of(read_document(path))
            folder = Path.home() if place.path.startswith("~") else Path.cwd()
            found.append((path, place.title, _located(entries, folder)))
        except UsageError as error:
            if source:
                Terminal().note(str(error))
    return found


def _path_of(place: ClientFile) -> Path:
    return Path(place.path).expanduser() if place.path.startswith("~") else Path.cwd() / place.path


# Looking --------------------------------------------------------------------------------------------------------------


@app.command("list")
def list_servers(
    as_json: JsonFlag = False,
    no_start: Annotated[bool, typer.Option("--no-start", help="Tell what is known without starting any.")] = False,
) -> int:
    """List the servers: how they do, what they offer, what waits for approval."""
    terminal = Terminal()
    known = written_servers()
    told: list[JsonObject] = []
    servers: list[McpServer] = []
    for name, entry in known.items():
        try:
            servers.append(own_server(name, entry, os.environ))
        except ActumError as error:
            told.append({"name": name, "state": "bad", "problem": str(error)})
    told = sorted([*told, *asyncio.run(looked_at(terminal, servers, start=not no_start))], key=_place_among(known))
    if as_json:
        terminal.json(told)
        return DONE
    if not told:
        terminal.note("There are none. Add one: actum mcp add NAME URL, or actum mcp add NAME -- COMMAND ARGS")
        return DONE
    rows = [
        tuple(str(each.get(column, "")) for column in ("name", "state", "era", "tools", "waiting", "problem"))
        for each in told
    ]
    terminal.table("name", "state", "era", "tools", "wait", "", rows=rows)
    return DONE


def _place_among(known: JsonObject) -> Callable[[JsonObject], int]:
    names = list(known)
    return lambda told: names.index(str(told["name"]))


async def looked_at(
    terminal: Terminal, servers: Sequence[McpServer], *, start: bool = True, within_s: float = LOOK_S
) -> list[JsonObject]:
    """How servers do, by `state` and `problem`: all are looked at side by side.

    Args:
        start: start those that were approved, and leave them again.
        within_s: seconds for which each is waited for.
    """
    terminal.waiting.begin("looking at MCP servers")
    try:
        return await asyncio.gather(*(_looked_at(server, start=start, within_s=within_s) for server in servers))
    finally:
        terminal.waiting.end()


async def _looked_at(server: McpServer, *, start: bool, within_s: float) -> JsonObject:
    known = mcp_pins(os.environ).known(server.identity)
    told: JsonObject = {"name": server.name, "line": line_of(server), "tools": len(known.tools), "problem": ""}
    if server.disabled or not known.approved or not start:
        state = "disabled" if server.disabled else "approved" if known.approved else "not approved"
        return {**told, "state": state, "era": known.era if known.era != "auto" else ""}
    toolset = open_server(server, os.environ, egress=options.egress())
    try:
        async with asyncio.timeout(within_s):
            facts = await toolset.facts()
            tools = await toolset.list_tools()
        held = [each for each in toolset.quarantined if each.fault in ("new", "changed")]
        return {
            **told,
            "state": "up",
            "era": facts.era,
            "tools": len(tools),
            "waiting": len(held) or "",
            "problem": " ".join(toolset.faults),
        }
    except TimeoutError:
        return {**told, "state": "hangs", "problem": f"It did not answer in {within_s:g} s."}
    except ActumError as error:
        return {**told, "state": "failed", "problem": toolset.health.problem or str(error)}
    finally:
        await toolset.close()


@app.command("test")
def try_server(
    which: Annotated[str, typer.Argument(metavar="NAME|URL|FILE", help="The server, or a file of some.")],
    yes: YesFlag = False,
    as_json: JsonFlag = False,
) -> int:
    """Connect, and tell what the server is and offers. No tool of it is called."""
    terminal = Terminal()
    told: list[JsonObject] = []
    for server in find_servers([which], os.environ).servers:
        if not _may_start(terminal, server, yes=yes):
            return FAILED
        told.append(asyncio.run(_tested(terminal, server)))
    if as_json:
        terminal.json(told)
    for each in () if as_json else told:
        _show_test(terminal, each)
    return FAILED if any(each["problem"] for each in told) else DONE


async def _tested(terminal: Terminal, server: McpServer) -> JsonObject:
    toolset = open_server(server, os.environ, egress=options.egress(), unseen=True)
    began = time.perf_counter()
    told: JsonObject = {"name": server.name, "problem": ""}
    terminal.waiting.begin("connecting to {name}", name=server.name)
    try:
        listing = await toolset.survey()
        facts = await toolset.facts()
        more = await _more_offered(toolset, facts.capabilities)
        told |= {
            "era": facts.era,
            "version": facts.version,
            "server": facts.info,
            "offers": list[Json](sorted(facts.capabilities)),
            "seconds": round(time.perf_counter() - began, 3),
            "tools": [
                {"name": usable.name, "here": usable.tool.name, "effects": effects(usable.tool)}
                for usable in listing.usable.values()
            ],
            **more,
            "faults": [*toolset.faults, *(f"{shown(each.name)}: {each.reason}" for each in listing.quarantined)],
        }
    except ActumError as error:
        told["problem"] = toolset.health.problem or str(error)
    finally:
        terminal.waiting.end()
        await toolset.close()
    return told


async def _more_offered(toolset: McpToolset, offers: Collection[str]) -> JsonObject:
    """The addresses of the resources and the names of the prompts; why a list can not be had is in `faults` then."""
    found: JsonObject = {}
    if "resources" in offers:
        with suppress(CallError):
            found["resources"] = [each.uri for each in await toolset.resources()]
    if "prompts" in offers:
        with suppress(CallError):
            found["prompts"] = [each.name for each in await toolset.prompts()]
    return found


def _show_test(terminal: Terminal, told: JsonObject) -> None:
    if told["problem"]:
        terminal.error(str(told["problem"]))
        return
    info = told["server"]
    calls_itself = f"{info.get('name', '')} {info.get('version', '')}".strip() if isinstance(info, dict) else ""
    terminal.line(
        "server",
        styled(
            (str(told["name"]), "bold yellow"), "  " + tr("says it is {name}", name=shown(calls_itself) or tr("nobody"))
        ),
    )
    terminal.line(
        "speaks",
        tr(
            "{version} ({era}), found out in {time}",
            version=told["version"],
            era=told["era"],
            time=duration(float(str(told["seconds"]))),
        ),
    )
    offers, tools, faults = told["offers"], told["tools"], told["faults"]
    terminal.line("offers", ", ".join(map(str, offers)) if isinstance(offers, list) else "")
    for tool in tools if isinstance(tools, list) else []:
        if isinstance(tool, dict):
            terminal.line("tool", styled((str(tool["here"]), "bold"), (f"  {tool['effects']}", "cyan")))
    for label, field in (("resource", "resources"), ("prompt", "prompts")):
        listed = told.get(field)
        names = [str(name) for name in listed] if isinstance(listed, list) else []
        for name in names[:SHOWN_MAX]:
            terminal.line(label, shown(name))
        if len(names) > SHOWN_MAX:
            terminal.line("", tr("... and {count} more; --json has them all", count=len(names) - SHOWN_MAX), "dim")
    for fault in faults if isinstance(faults, list) else []:
        terminal.line("fault", str(fault), "red")


# Approving ------------------------------------------------------------------------------------------------------------


@app.command("approve")
def approve(
    which: Annotated[str, typer.Argument(metavar="NAME|URL", help="The server.")],
    tools: Annotated[
        list[str] | None, typer.Argument(metavar="[TOOL]...", help="Only these, by its own names.")
    ] = None,
    yes: YesFlag = False,
    reads: Annotated[
        bool | None,
        typer.Option(
            "--reads/--no-reads", help="Believe tools that say they only read: their calls are made without asking."
        ),
    ] = None,
    tenant: Annotated[
        str, typer.Option(metavar="NAME", help="For the users of this tenant, whom your server serves.")
    ] = "",
    as_json: JsonFlag = False,
) -> int:
    """Look at what a server offers, as it says it, and agree to it. A local one is started for that, once you agree."""
    terminal = Terminal()
    (server,) = find_servers([which], os.environ).servers or (None,)
    if server is None:
        raise UsageError("MCP server {name!r} is disabled", name=which)
    if not _may_start(terminal, server, yes=yes):
        return FAILED
    return asyncio.run(_approved(terminal, server, tools, yes=yes, reads=reads, as_json=as_json, tenant=said(tenant)))


async def _approved(
    terminal: Terminal,
    server: McpServer,
    tools: Sequence[str] | None,
    *,
    yes: bool,
    reads: bool | None,
    as_json: bool,
    tenant: str,
) -> int:
    pins = mcp_pins(os.environ).of_tenant(tenant)
    toolset = open_server(server, os.environ, egress=options.egress(), tenant=tenant)
    terminal.waiting.begin("connecting to {name}", name=server.name)
    try:
        listing = await toolset.survey()
        terminal.waiting.end()
        waiting = [
            each
            for each in listing.quarantined
            if each.fault in ("new", "changed") and (not tools or each.name in tools)
        ]
        for each in () if as_json else listing.quarantined:
            if each in waiting or each.fault not in ("new", "changed"):
                _show_definition(terminal, each.name, each.reason, each.definition, each.changes)
        if not waiting and reads is None:
            pins.approve(server.identity, by=who())
            terminal.note(
                "{name}: nothing waits; {count:tool is|tools are} approved", name=server.name, count=len(listing.usable)
            )
            return DONE
        if waiting and not yes:
            question = f"approve {counted(len(waiting), 'tool')} as shown?  [y]es  [n]o: "
            typed = terminal.ask(question) if terminal.person else None
            if (typed or "").strip().lower() not in ("y", "yes"):
                terminal.note("Nothing was approved.")
                return FAILED
        chosen = [each.definition for each in waiting]
        if reads is not None:  # said also of tools that were approved before
            chosen += [each.definition for each in listing.usable.values() if not tools or each.name in tools]
        believed = _believed(terminal, server, chosen, yes=yes, reads=reads)
        pins.approve(server.identity, by=who())
        names = await toolset.approve([each.name for each in waiting], by=who(), reads=believed)
        if reads is False:
            pins.approve(server.identity, [each for each in chosen if each["name"] not in names], by=who())
        if as_json:
            terminal.json({"server": server.name, "approved": list(names), "reads": list(believed)})
        else:
            terminal.note("{name}: approved {names}", name=server.name, names=", ".join(names) or "nothing new")
            if believed:
                terminal.note(
                    "{name}: believed to only read, and not asked about: {names}",
                    name=server.name,
                    names=", ".join(believed),
                )
        return DONE
    finally:
        terminal.waiting.end()
        await toolset.close()


def _believed(
    terminal: Terminal, server: McpServer, definitions: Sequence[JsonObject], *, yes: bool, reads: bool | None
) -> list[str]:
    """The names of the tools that the person believes to only read, as their definitions say."""
    saying = [str(each["name"]) for each in definitions if says_it_reads(each)]
    if not saying or server.trusted or reads is False:
        return []
    if reads is None:
        if yes or not terminal.person:
            return []
        terminal.line("reads", ", ".join(map(shown, saying)), "cyan", console=terminal.err)
        typed = terminal.ask("these say that they only read: make their calls without asking?  [y]es  [n]o: ")
        if (typed or "").strip().lower() not in ("y", "yes"):
            return []
    return saying


def _show_definition(
    terminal: Terminal, name: str, reason: str, definition: JsonObject, changes: Sequence[str]
) -> None:
    """A definition as the server says it, with what can not be seen written out."""
    console = terminal.err
    terminal.line("tool", styled((shown(name), "bold yellow"), (f"  {reason}", "dim")), console=console)
    for change in changes:
        terminal.line("change", change, "red", console=console)
    for field, value in () if changes else definition.items():
        if field != "name":
            text = value if isinstance(value, str) else dumps(value)
            terminal.line("", styled((f"{shown(field)}: ", "dim"), shown(text)), console=console)


def _may_start(terminal: Terminal, server: McpServer, *, yes: bool) -> bool:
    """Before a local server is started the first time, its exact command line is shown, and the person agrees."""
    if not server.command or mcp_pins(os.environ).known(server.identity).approved:
        return True
    _show_line(terminal, server)
    if yes:
        return True
    typed = terminal.ask("start this program?  [y]es  [n]o: ") if terminal.person else None
    if (typed or "").strip().lower() in ("y", "yes"):
        return True
    terminal.note("It was not started. With --yes it is, without being asked about.")
    return False


# Logging in -----------------------------------------------------------------------------------------------------------


@app.command("login")
def login(
    which: Annotated[str, typer.Argument(metavar="NAME|URL", help="The server.")],
    paste: Annotated[bool, typer.Option("--paste", help="The browser runs on another machine.")] = False,
    scope: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Ask for this too; may be repeated.")] = None,
) -> int:
    """Log in at a server that wants it, in a browser. The address is shown; nothing opens without a yes."""
    server, store, secrets = _to_log_in(which)
    from .login import log_in  # noqa: PLC0415  # the SDK of the protocol takes half a second to load

    asyncio.run(log_in(server, store, secrets, scopes=scope or (), paste=paste))
    return DONE


@app.command("logout")
def logout(which: Annotated[str, typer.Argument(metavar="NAME|URL", help="The server.")]) -> int:
    """Forget the login at a server, and tell the server that granted it."""
    server, store, secrets = _to_log_in(which)
    from .login import log_out  # noqa: PLC0415  # as in `login`

    asyncio.run(log_out(server, store, secrets))
    return DONE


def _to_log_in(which: str) -> tuple[McpServer, TokenStore, Mapping[str, str]]:
    check_extra()
    servers = find_servers([which], os.environ).servers
    if len(servers) != 1:
        raise UsageError("{name}: name one server that is not disabled", name=which)
    return servers[0], mcp_tokens(os.environ), secrets_of(os.environ)


# Shared ---------------------------------------------------------------------------------------------------------------


def line_of(server: McpServer) -> str:
    """The exact command line, or the address."""
    if server.url:
        return server.url
    jail = server.jail
    held = [] if jail is None else ["[in a jail]", *(f"[reads {path}]" for path in jail.read)]
    held += [] if jail is None else [f"[writes {path}]" for path in jail.write]
    held += [] if jail is None else [f"[reaches {host}]" for host in jail.hosts]
    variables = [f"{name}={shlex.quote(value)}" for name, value in server.env.items()]
    where = [f"cd {shlex.quote(server.cwd)} &&"] if server.cwd else []
    return " ".join([*held, *where, *variables, shlex.join([server.command, *server.args])])


def _show_line(terminal: Terminal, server: McpServer) -> None:
    label = "runs" if server.command else "is at"
    terminal.line(
        server.name[:10], styled((f"{label} ", "dim"), (shown(line_of(server)), "bold")), console=terminal.err
    )


def written_servers() -> JsonObject:
    """The person's servers as they are written down."""
    path = mcp_file(os.environ)
    return dict(entries_of(read_document(path))) if path.is_file() else {}


def _change(entries: Mapping[str, Json]) -> None:
    """Write down servers, or that there is none of a name any more."""
    path = mcp_file(os.environ)
    with alone_with(path):
        servers: JsonObject = {**written_servers(), **entries}
        left: JsonObject = {name: entry for name, entry in servers.items() if entry is not None}
        try:
            replace(path, _indented({"mcpServers": left}).encode())  # headers and variables may hold secrets
        except OSError as error:
            raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None


def _indented(value: JsonObject) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _pairs(words: Sequence[str] | None, sign: str, flag: str) -> dict[str, Json]:
    """`NAME:VALUE` words.

    Raises:
        UsageError: one is not of this form.
    """
    found: dict[str, Json] = {}
    for word in words or ():
        name, parted, value = said(word).partition(sign)
        if not parted or not name:
            raise UsageError("{flag} {word!r}: write NAME{sign}VALUE", flag=flag, word=word, sign=sign)
        found[name.strip()] = value.strip()
    return found


class _Any(Mapping[str, str]):
    """An environment in which every variable stands for itself: what is written down is read when it is used."""

    def __getitem__(self, name: str) -> str:
        return f"${{{name}}}"

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __contains__(self, name: object) -> bool:
        return True
