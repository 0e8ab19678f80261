"""`actum workflow`: carry a workflow out, check it, draw it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ..compose.mistakes import meant
from ..compose.settings import Settings
from ..compose.workflows import workflow_models, workflow_settings
from ..core.errors import InvalidArguments, UnknownName, UsageError
from ..core.interfaces import Model
from ..core.tool import Tool
from ..workflow.drawing import dot, mermaid, svg
from ..workflow.graph import Definition
from ..workflow.load import read_definition
from . import options, shelf
from .approve import TerminalApprover
from .call import read_arguments
from .importing import import_workflow
from .options import ConversationFlag, JournalFlag, JsonFlag, McpFlag, PolicyFlag, ToolsFlag, VerboseFlag, YesFlag
from .run import DONE, MISUSED, failure_words, report_workflow
from .shelf import ShelfTenantFlag, SourceArgument
from .show.terminal import Terminal, said, who
from .show.trace import Trace

app = typer.Typer(no_args_is_help=True, help="Carry out workflows, check them, draw them, publish them.")
app.command("publish")(shelf.publish_workflow)
app.command("rollback")(shelf.rollback_workflow)
app.command("versions")(shelf.list_versions)
app.command("list")(shelf.list_workflows)
app.command("show")(shelf.show_workflow)
app.command("diff")(shelf.compare_workflows)
app.command("import")(import_workflow)

_DRAWINGS: Mapping[str, Callable[[Definition], str]] = {"mermaid": mermaid, "dot": dot, "svg": svg}


@app.command("run")
def run_workflow(
    source: SourceArgument,
    pairs: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its inputs.")] = None,
    inputs: Annotated[str, typer.Option("--inputs", metavar="JSON", help="All inputs as one JSON object.")] = "",
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    verbose: VerboseFlag = False,
    as_json: JsonFlag = False,
    yes: YesFlag = False,
    journal: JournalFlag = "",
    policy: PolicyFlag = "",
    tenant: ShelfTenantFlag = "",
    conversation: ConversationFlag = "",
) -> int:
    """Carry out a workflow.

    For instance: actum workflow run flight_desk.workflow.yaml date=2026-12-01 budget=2000
    """
    settings, file, name, models = _meant(
        options.read(tools=tools, mcp=mcp, journal=journal, policy=policy), said(source)
    )
    terminal, owner = Terminal(), said(tenant)
    approver = TerminalApprover(terminal, yes=yes)

    async def command() -> int:
        # A workflow of the settings uses what the operator published, whoever runs it.
        async with shelf.open_shelf(
            settings, terminal, "" if name else owner, approver, name=name, models=models
        ) as opened:
            try:
                workflow = await shelf.workflow_of(file, opened.workflows)
            except UnknownName as error:
                raise UnknownName(f"{error}{meant(file, settings.workflows)}") from None
            taking = Tool(name=workflow.name, parameters=workflow.definition.inputs)
            given = read_arguments(taking, [said(pair) for pair in pairs or []], said(inputs))
            trace = Trace(terminal, verbose=verbose and not as_json, quiet=True)
            try:
                result = await workflow.run(
                    given, principal=who(), tenant=owner, conversation=said(conversation), emit=trace.show
                )
            except InvalidArguments as error:
                raise UsageError(f"{workflow.name}: {failure_words(error.failure())}") from None
            finally:
                trace.close()
                await workflow.aclose()
        return report_workflow(terminal, result, settings, as_json=as_json)

    return asyncio.run(command())


@app.command("check")
def check_workflow(
    source: SourceArgument,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: ShelfTenantFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Tell everything that is wrong with a workflow, with line, column and a hint."""
    settings, file, name, _ = _meant(options.read(tools=tools, mcp=mcp, journal=journal), said(source))
    terminal = Terminal()

    async def command() -> int:
        async with shelf.open_shelf(settings, terminal, "" if name else said(tenant)) as opened:
            text = await shelf.text_of(file, opened.shelf, said(tenant))
            problems = await opened.workflows.problems_of(text, opened.tools)
        for problem in problems:
            hint = f" ({problem.hint})" if problem.hint else ""
            terminal.text(f"{source}:{problem.line}:{problem.column}: {problem.message}{hint}")
        if not problems:
            terminal.text(f"{source}: nothing is wrong")
        return MISUSED if problems else DONE

    return asyncio.run(command())


@app.command("graph")
def draw_workflow(
    source: SourceArgument,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="mermaid, dot or svg.")] = "mermaid",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write the picture to this file.")] = "",
    tenant: ShelfTenantFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Draw a workflow."""
    if form not in _DRAWINGS:
        raise UsageError(f"--format {form}: give mermaid, dot or svg")
    settings, file, *_ = _meant(options.read(journal=journal), said(source))
    text = asyncio.run(shelf.text_at(file, settings, said(tenant)))
    picture = _DRAWINGS[form](read_definition(text))
    if output:
        Path(output).write_text(picture, encoding="utf-8")
    else:
        Terminal().text(picture.rstrip("\n"))
    return DONE


class _Meant(NamedTuple):
    """What a person means by the name of a workflow of the settings, or by anything else.

    Attributes:
        settings: with the tools of the workflow.
        source: the file of the workflow; what the person said where the settings have no such workflow.
        name: what runs are called on record; empty for the name in the definition.
        models: the models that the nodes name.
    """

    settings: Settings
    source: str
    name: str = ""
    models: Mapping[str, Model] = {}


def _meant(settings: Settings, source: str) -> _Meant:
    table = settings.workflows.get(source)
    if table is None:
        return _Meant(settings, source)
    own = workflow_settings(settings, table)
    file = table.file if not shelf.is_name(table.file) else f"./{table.file}"
    return _Meant(own, file, source, workflow_models(own, table))
