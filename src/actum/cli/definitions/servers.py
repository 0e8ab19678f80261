"""`actum servers`: places with many tools that are published, such as MCP servers and APIs."""

from __future__ import annotations

import typer

from ...server.api.published import SERVER_OPERATIONS, SERVERS
from .commands import add_definition_commands

app = typer.Typer(
    no_args_is_help=True, help="Places with many tools: publish MCP servers, APIs and remote agents, take them back."
)
add_definition_commands(app, SERVERS, SERVER_OPERATIONS)
