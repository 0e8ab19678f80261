"""`actum mcp`: MCP from the terminal."""

from __future__ import annotations

import typer

from . import mcp_serve

app = typer.Typer(help="MCP: serve what is here to others.", no_args_is_help=True)
app.command()(mcp_serve.serve)
