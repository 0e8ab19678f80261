"""`actum prompts`: prompts that agents are given as their instructions."""

from __future__ import annotations

import typer

from ...server.api.published import PROMPT_OPERATIONS, PROMPTS
from .commands import add_definition_commands

app = typer.Typer(no_args_is_help=True, help="Prompts: publish them, compare their versions, take them back.")
add_definition_commands(app, PROMPTS, PROMPT_OPERATIONS)
