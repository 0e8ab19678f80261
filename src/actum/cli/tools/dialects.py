"""`actum dialects`: the ways to say a call, and what each tells a model of a tool."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, cast

import typer

from ...compose.dialect_table import DialectTable
from ...compose.models import make_dialect
from ...compose.settings import Settings
from ...core.json import Json, dumps, parse
from ...core.message import SystemMessage, UserMessage
from ...core.model import Request
from ...core.tool import Tool
from ...dialects import dialect, names
from ...dialects.base import Dialect
from ...dialects.catalog import listing_of
from ..loading import listed_tools
from ..options import JsonFlag, McpFlag, ToolsFlag
from ..show.terminal import Terminal

app = typer.Typer(invoke_without_command=True)

AUTO = "auto"
AUTO_SUMMARY = "by the API where the endpoint is known or found to call tools, else by the prompt"
"""`auto` is no dialect but the choice of one."""


def summaries() -> dict[str, str]:
    """How a model says a call, a line for each dialect, with `auto` first."""
    return {AUTO: AUTO_SUMMARY} | {name: listing_of(name).summary for name in names()}


@app.callback()
def dialects(context: typer.Context, as_json: JsonFlag = False) -> None:
    """List the ways a model can say a call; print what one of them tells a model."""
    if context.invoked_subcommand is not None:
        return
    terminal = Terminal()
    found = summaries()
    if as_json:
        terminal.json([{"name": name, "line": line} for name, line in found.items()])
    else:
        terminal.table("dialect", "how a model says a call", rows=list(found.items()))


@app.command("prompt")
def prompt(
    name: Annotated[str, typer.Argument(help="The name of a dialect, such as react or prompt_json.")],
    template: Annotated[
        Path | None, typer.Option("--template", metavar="FILE", help="A prompt of your own in the place of ours.")
    ] = None,
    language: Annotated[str, typer.Option("--language", metavar="NAME", help="en or zh. Default: auto.")] = "",
    plan: Annotated[bool, typer.Option("--plan", help="Ask for a line with a plan first (react).")] = False,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
) -> None:
    """Print what a model is told of its tools in a dialect."""
    terminal = Terminal()
    table = DialectTable(
        name=name,
        language=cast("Literal['', 'auto', 'en', 'zh']", language),
        plan=plan,
        template=str(template.absolute()) if template else "",
    )
    listed = listed_tools(terminal, tools, mcp)
    if not listed:
        terminal.note("There are no tools, so a model is told nothing.")
    told = as_told(listed, make_dialect(Settings(dialect=table)))
    terminal.text(told if isinstance(told, str) else dumps(told))


def as_told(tools: Sequence[Tool], spoken: str | Dialect) -> Json:
    """What a model is told of tools in a dialect: the fields of an API's request, or the text of a prompt.

    Args:
        tools: the tools.
        spoken: the dialect, or its name.

    Raises:
        UnknownName: there is no such dialect.
    """
    request = Request(messages=[UserMessage.of("?")], tools=tuple(tools))
    told = (dialect(spoken) if isinstance(spoken, str) else spoken).encode_request(request)
    if isinstance(told, bytes):
        body = cast("dict[str, Json]", parse(told)[0])
        return {field: body[field] for field in ("tools", "functions") if field in body}
    return "\n\n".join(message.text for message in told.messages if isinstance(message, SystemMessage))
