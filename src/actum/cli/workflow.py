"""`actum workflow`: carry a workflow out, check it, draw it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ..compose.secrets import open_secrets
from ..compose.workflows import make_workflow, read_workflow_file, workflow_text
from ..core.errors import UsageError
from ..core.tool import Tool
from ..workflow.drawing import dot, mermaid, svg
from ..workflow.graph import Definition
from ..workflow.load import read_definition
from . import options
from .approve import TerminalApprover
from .call import read_arguments
from .importing import import_workflow
from .options import JournalFlag, JsonFlag, McpFlag, PolicyFlag, ToolsFlag, VerboseFlag, YesFlag
from .run import DONE, MISUSED, report_workflow
from .show.terminal import Terminal, said, who
from .show.trace import Trace

app = typer.Typer(no_args_is_help=True, help="Carry out workflows, check them, draw them.")
app.command("import")(import_workflow)

FileArgument = Annotated[str, typer.Argument(metavar="FILE", help="The definition: name.workflow.yaml, or JSON.")]

_DRAWINGS: Mapping[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot, "svg": svg}


@app.command("run")
def run_workflow(
    file: FileArgument,
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its inputs.")] = None,
    inputs: Annotated[str, typer.Option("--inputs", metavar="JSON", help="All inputs as one JSON object.")] = "",
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    verbose: VerboseFlag = False,
    as_json: JsonFlag = False,
    yes: YesFlag = False,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
) -> int:
    """Carry out a workflow.

    For instance: actum workflow run flight_desk.workflow.yaml date=2026-12-01 budget=2000
    """
    settings = options.read(tools=tools, mcp=mcp, journal=journal, policy=policy)
    terminal = Terminal()
    definition = read_workflow_file(file)
    taking = Tool(name=definition.name, parameters=definition.inputs)
    given = read_arguments(taking, [said(pair) for pair in pairs or []], said(inputs))

    async def command() -> int:
        async with options.tools(settings, terminal) as loaded, options.journal(settings) as opened:
            workflow = make_workflow(
                settings,
                definition,
                loaded.tools,
                journal=opened,
                approver=TerminalApprover(terminal, yes=yes),
                secrets=open_secrets(os.environ),
                egress=options.egress(),
            )
            trace = Trace(terminal, verbose=verbose and not as_json, quiet=True)
            try:
                result = await workflow.run(given, principal=who(), emit=trace.show)
            finally:
                trace.close()
                await workflow.aclose()
        return report_workflow(terminal, result, settings, as_json=as_json)

    return asyncio.run(command())


@app.command("check")
def check_workflow(file: FileArgument, tools: ToolsFlag = None, mcp: McpFlag = None) -> int:
    """Tell everything that is wrong with a workflow, with line, column and a hint."""
    settings = options.read(tools=tools, mcp=mcp)
    terminal = Terminal()
    text = workflow_text(file)

    async def command() -> int:
        async with options.tools(settings, terminal) as loaded, options.journal(settings) as opened:
            empty = b'{"actum": "workflow/1", "name": "check", "nodes": {}}'
            workflow = make_workflow(settings, read_definition(empty), loaded.tools, journal=opened, approver=None)
            problems = await workflow.check(text)
        for problem in problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            terminal.text(f"{file}:{problem.line}:{problem.column}: {problem.message}{hint}")
        if not problems:
            terminal.text(f"{file}: nothing is wrong")
        return MISUSED if problems else DONE

    return asyncio.run(command())


@app.command("graph")
def draw_workflow(
    file: FileArgument,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="mermaid, dot or svg.")] = "mermaid",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write the picture to this file.")] = "",
) -> int:
    """Draw a workflow."""
    if form not in _DRAWINGS:
        raise UsageError(f"--format {form}: give mermaid, dot or svg")
    picture = _DRAWINGS[form](read_workflow_file(file))
    if output:
        Path(output).write_text(picture, encoding="utf-8")
    else:
        Terminal().text(picture.rstrip("\n"))
    return DONE
