"""`actum tools`: the tools that a run would have, as a model is told of them."""

from __future__ import annotations

import asyncio
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from ...compose import agents
from ...compose.apis import ApiChoice, api_store
from ...compose.discovery.places import FoundTools
from ...compose.written_settings import remember_tools
from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...core.token_estimate import TOKEN_BYTES
from ...core.tool import Tool, innermost
from ...dialects.api.tool_schema import unsaid
from ...protocols.plain_text import shown
from ...runs.given_tools import sort_out
from ...runs.tool_search import ToolIndex
from ...schema.signature import ToolWarning
from ...server.api.tools.kind import OPERATIONS, TOOLS
from ...toolsets.declared.declaration import declaration_schema
from ...toolsets.function.function import FunctionTool
from ...toolsets.http.toolset import ApiToolset
from ...toolsets.wrappers import label_problems
from .. import loading, options
from ..conversation.call import find_tool
from ..definitions.commands import add_definition_commands
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..options import JsonFlag, McpFlag, ToolsFlag
from ..show.terminal import Terminal, said, styled
from ..show.tool_table import effects, show_tools
from . import addresses, apis
from .dialects import as_told
from .offered import offered_tools

app = typer.Typer(help="List tools, show one, print its schema, check them.", invoke_without_command=True)

app.add_typer(apis.app, name="add")
app.command("update")(apis.update)
app.command("rm")(apis.remove)
app.command("login")(apis.login)
app.command("logout")(apis.logout)
add_definition_commands(app, TOOLS, OPERATIONS)

PublishedByFlag = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant whose published tools count too. Default: none.")
]
ToolName = Annotated[str, typer.Argument(help="The tool's name.")]


@app.callback()
def tools(context: typer.Context) -> None:
    """Without a word more, the list."""
    if context.invoked_subcommand is None:
        list_tools()


@app.command("list")
def list_tools(
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: PublishedByFlag = "",
    tokens: Annotated[
        bool, typer.Option("--tokens", help="Show what each tool costs the prompt, whole and as it is told.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """List the tools, with what using them does."""
    terminal = Terminal()
    if tokens:
        _show_costs(terminal, _costs(terminal, tools, mcp), as_json=as_json)
        return
    found = offered_tools(terminal, tools, mcp, tenant)
    if as_json:
        terminal.json(found)
    else:
        show_tools(terminal, found)


@app.command("search")
def search_tools(
    words: Annotated[str, typer.Argument(help="What the tool should do, in a few words.")],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many at most.")] = 12,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: PublishedByFlag = "",
    as_json: JsonFlag = False,
) -> int:
    """Find tools by what they do, as a model finds them. Exit code 1 when there is none."""
    terminal = Terminal()
    found = asyncio.run(ToolIndex().search(offered_tools(terminal, tools, mcp, tenant), said(words), limit))
    if as_json:
        terminal.json(found)
    elif found:
        show_tools(terminal, found)
    else:
        terminal.note(tr("No tool fits these words."))
    return DONE if found else FAILED


@app.command("show")
def show_tool(
    name: ToolName,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: PublishedByFlag = "",
    as_json: JsonFlag = False,
) -> None:
    """Show one tool: what it does, what it takes, what using it does."""
    terminal = Terminal()
    tool = find_tool(offered_tools(terminal, tools, mcp, tenant), name)
    if as_json:
        terminal.json(tool)
        return
    terminal.line("tool", styled((tool.name, "bold yellow")), "yellow")
    terminal.line("does", tool.description or "(nothing is said)")
    terminal.line("effects", effects(tool))
    required = tool.required()
    for parameter, schema in tool.property_schemas().items():
        optional = "" if parameter in required else "  optional"
        described = f"  {schema.get('description', '')}".rstrip()
        terminal.line(
            "takes", styled((parameter, "bold"), (f"  {kind_of(schema)}", "cyan"), (optional, "dim"), described)
        )


@app.command("schema")
def show_schema(
    name: Annotated[str, typer.Argument(help="The tool's name.")] = "",
    declaration: Annotated[
        bool, typer.Option("--declaration", help="The schema of a declaration, with which a tool is declared.")
    ] = False,
    dialect: Annotated[str, typer.Option("--dialect", "-d", metavar="NAME", help="As this dialect says it.")] = "",
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
) -> None:
    """Print a tool's JSON Schema, or what a model is told of it in a dialect."""
    terminal = Terminal()
    if declaration:
        schema, others = declaration_schema()
        terminal.json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "$defs": {**others}})
        return
    if not name:
        raise UsageError("name a tool, or give --declaration")
    tool = find_tool(loading.listed_tools(terminal, tools, mcp), name)
    told: Json = tool.parameters if not dialect else as_told([tool], dialect)
    if isinstance(told, str):
        terminal.text(told)
    else:
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())


@app.command("lint")
def lint(tools: ToolsFlag = None, mcp: McpFlag = None, as_json: JsonFlag = False) -> int:
    """Say what the tools' descriptions lack, and what nobody says of foreign tools. Exit code 1 when something is."""
    terminal = Terminal()
    settings = options.read(tools=tools, mcp=mcp)

    async def command() -> list[tuple[str, str]]:
        async with loading.tools(settings, terminal) as loaded:
            listed = await agents.list_tools(loaded.tools)
            elsewhere = await loading.names_elsewhere(settings) if settings.tool_labels else set()
            own = [item for item in loaded.tools if isinstance(item, FunctionTool)]
            said = [(item.name, str(warning)) for item in own for warning in item.warnings]
            shapes = [(item.name, _unsaid(what)) for item in listed for what in unsaid(item.parameters)]
            return [*said, *shapes, *label_problems(listed, settings.tool_labels, elsewhere)]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolWarning)  # what they would say is said below
        found = asyncio.run(command())
    if as_json:
        terminal.json([{"tool": name, "warning": warning} for name, warning in found])
    for name, warning in [] if as_json else found:
        terminal.line("lint", styled((f"{name}  ", "bold yellow"), warning), "yellow")
    if not found and not as_json:
        terminal.note("Nothing is missing.")
    return FAILED if found else DONE


def _unsaid(what: str) -> str:
    return tr(
        "some APIs can not be told {what}: there the model reads it in words. Calls are checked by the whole schema",
        what=what,
    )


class ToolCost(msgspec.Struct, frozen=True):
    """What a tool costs a prompt, in tokens, estimated from its bytes.

    Attributes:
        tool: its name.
        whole: with all of its schema.
        told: as a model is told of it.
    """

    tool: str
    whole: int
    told: int


def _costs(terminal: Terminal, tools: list[str] | None, mcp: list[str] | None) -> list[ToolCost]:
    async def command() -> list[ToolCost]:
        settings = options.read(tools=tools, mcp=mcp)
        async with loading.tools(settings, terminal) as loaded:
            toolsets, _ = sort_out(loaded.tools)
            inside = [each for toolset in toolsets for each in innermost(toolset)]
            setups = [each.setup for each in inside if isinstance(each, ApiToolset)]
            whole = {name: schema for setup in setups for name, schema in setup.whole.items()}
            listed = await agents.list_tools(loaded.tools, settings.tool_labels)
        return [
            ToolCost(tool.name, _tokens(tool, whole.get(tool.name, tool.parameters)), _tokens(tool, tool.parameters))
            for tool in listed
        ]

    return asyncio.run(command())


def _tokens(tool: Tool, parameters: JsonObject) -> int:
    said = {"name": tool.name, "description": tool.description, "parameters": parameters}
    return -(-len(msgspec.json.encode(said)) // TOKEN_BYTES)


def _show_costs(terminal: Terminal, costs: list[ToolCost], *, as_json: bool) -> None:
    if as_json:
        terminal.json(costs)
        return
    rows = [(each.tool, str(each.whole), str(each.told)) for each in costs]
    total = ("", str(sum(each.whole for each in costs)), str(sum(each.told for each in costs)))
    terminal.table("tool", "tokens, whole", "tokens, as told", rows=[*rows, total])


@app.command("discover")
def discover_tools(
    place: Annotated[str, typer.Argument(metavar="[FOLDER | MODULE | URL]", help="Where to look.")] = "",
    add: Annotated[bool, typer.Option("--add", help="Ask for each of them whether to add it, and add it.")] = False,
    yes: apis.YesFlag = False,
    tenant: Annotated[
        str | None,
        typer.Option("--tenant", metavar="NAME", help="With --add: publish them as servers of this tenant."),
    ] = None,
    as_json: JsonFlag = False,
) -> int:
    """Find what could be tools. Nothing is run; with --add you are asked what to add."""
    if add and as_json:
        raise UsageError("give --add or --json, not both")
    terminal = Terminal()
    found = addresses.found_at(said(place))
    if as_json:
        terminal.json(found)
        return DONE
    for each in found:
        terminal.line(each.kind, styled((shown(each.source), "bold yellow")), "yellow")
        if each.problem:
            terminal.line("refused", shown(each.problem), "red")
            continue
        more = f" (+{each.count - len(each.names)})" if each.count > len(each.names) else ""
        terminal.line("tools", shown(", ".join(each.names)) + more)
        terminal.line("use", shown(each.use))
    if not found:
        terminal.note(tr("Nothing here could be tools."))
    if found and add:
        return DONE if _add_all(terminal, found, None if tenant is None else said(tenant), yes=yes) else FAILED
    return DONE if found else FAILED


def _add_all(terminal: Terminal, found: Sequence[FoundTools], tenant: str | None, *, yes: bool) -> bool:
    """Add what a person agrees to; whether something was added."""
    known = set(api_store(os.environ).names())
    added, places = 0, []
    for each in found:
        if each.problem:
            continue
        if tenant is not None and each.kind in addresses.SERVED:
            try:
                added += addresses.publish_found(terminal, each, tenant, yes=yes)
            except UsageError as problem:  # the others can be published all the same
                terminal.error(f"{each.source}: {problem}")
        elif each.kind in ("server", "agent"):
            added += addresses.add_found(terminal, each, yes=yes)
        elif each.kind != "document":
            question = f"add the tools of {shown(each.source)} to the settings?  [y]es  [n]o: "
            if apis.agreed(terminal, question, yes=yes):
                places.append(each.source)
        elif each.name in known:
            terminal.note(tr("There is an API {name} already; it stays as it is.", name=each.name))
        else:
            try:
                is_added = apis.add_document(terminal, each.source, ApiChoice(each.name), yes=yes)
            except UsageError as problem:  # the others can be added all the same
                terminal.error(f"{each.source}: {problem}")
                continue
            added += is_added
            known |= {each.name} if is_added else set()
    if places:
        path = remember_tools(places, Path.cwd(), os.environ)
        terminal.note(tr("Added to {path}: {places}", path=str(path), places=", ".join(places)))
    return bool(added or places)


def kind_of(schema: JsonObject) -> str:
    """The type of a parameter as people say it: `integer`, `text or null`, `one of "a", "b"`."""
    match schema:
        case {"enum": list(values)}:
            return "one of " + ", ".join(msgspec.json.encode(value).decode() for value in values[:12])
        case {"const": value}:
            return msgspec.json.encode(value).decode()
        case {"anyOf": list(choices)} | {"oneOf": list(choices)}:
            return " or ".join(dict.fromkeys(kind_of(choice) for choice in choices if isinstance(choice, dict)))
        case {"type": "array", "items": dict(items)}:
            return f"list of {kind_of(items)}"
        case {"type": str(kind), "format": str(form)}:
            return f"{kind} ({form})"
        case {"type": str(kind)}:
            return kind
        case {"type": list(kinds)}:
            return " or ".join(map(str, kinds))
        case {"$ref": str(reference)}:
            return reference.rpartition("/")[2]
        case _:
            return "anything"
