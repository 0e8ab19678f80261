"""`actum workflow`: carry a workflow out, check it, draw it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ...compose.mistakes import meant
from ...compose.settings import Settings
from ...compose.workflows import workflow_models, workflow_settings
from ...core.errors import InvalidArguments, UnknownName, UsageError
from ...core.json import JsonObject, JsonProblem, parse
from ...core.model import Model
from ...core.process.named_file import read_named_text
from ...core.tool import Tool
from ...server.api.workflows.kind import OPERATIONS as KIND_OPERATIONS
from ...server.api.workflows.kind import WORKFLOWS
from ...server.api.workflows.operations import OPERATIONS
from ...workflow.definition.drawing import dot, mermaid, svg
from ...workflow.definition.graph import Definition
from ...workflow.load import read_definition
from ...workflow.only import only_node
from .. import options
from ..conversation.approve import approver_at
from ..conversation.call import read_arguments
from ..conversation.run import report_workflow, wait_along
from ..exit_codes import DONE, MISUSED
from ..language import language, tr, tr_hint, tr_message
from ..options import ConversationFlag, JournalFlag, JsonFlag, McpFlag, PolicyFlag, ToolsFlag, VerboseFlag, YesFlag
from ..show.terminal import Terminal, said, who
from ..show.trace import Trace, failure_text
from . import sources
from .commands import add_definition_commands, is_name
from .importing import import_workflow
from .sources import DefinitionTenantFlag, SourceArgument

app = typer.Typer(no_args_is_help=True, help="Carry out workflows, check them, draw them, publish them.")
add_definition_commands(
    app,
    WORKFLOWS,
    (*KIND_OPERATIONS, *OPERATIONS),
    lambda settings: {name: table.file for name, table in settings.workflows.items()},
)
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
    tenant: DefinitionTenantFlag = "",
    conversation: ConversationFlag = "",
    only: Annotated[
        str, typer.Option("--only", metavar="NODE", help="Carry out this node alone, such as book or trips/price.")
    ] = "",
    pin: Annotated[
        str,
        typer.Option("--pin", metavar="FILE", help="With --only: a JSON file with what the other nodes have given."),
    ] = "",
) -> int:
    """Carry out a workflow.

    For instance: actum workflow run flight_desk.workflow.yaml date=2026-12-01 budget=2000
    """
    settings, file, name, models = _meant(
        options.read(tools=tools, mcp=mcp, journal=journal, policy=policy), said(source)
    )
    terminal, owner = Terminal(), said(tenant)
    approver = approver_at(terminal, yes=yes)
    if pin and not only:
        raise UsageError("--pin goes with --only NODE")
    pins = _pinned(said(pin)) if pin else {}

    async def command() -> int:
        # A workflow of the settings uses what the operator published, for every user who runs it.
        async with sources.open_definitions(
            settings, terminal, "" if name else owner, approver, name=name, models=models
        ) as opened:
            try:
                workflow = await sources.workflow_of(file, opened.workflows)
            except UnknownName as error:
                raise UnknownName("{why}{meant}", why=error, meant=meant(file, settings.workflows)) from None
            taking = Tool(name=workflow.name, parameters=workflow.definition.inputs)
            given = read_arguments(taking, [said(pair) for pair in pairs or []], said(inputs))
            if only:
                alone = only_node(workflow.definition, said(only), given, pins)
                workflow, given = await opened.workflows.with_used(alone.definition), alone.inputs
            trace = Trace(terminal, verbose=verbose and not as_json, streaming=not as_json, quiet=True)
            try:
                result = await workflow.run(
                    given,
                    principal=who(),
                    tenant=owner,
                    conversation=said(conversation),
                    emit=trace.show,
                    wait_s=0,
                )
                result = await wait_along(terminal, workflow, result, trace.show, quiet=as_json)
            except InvalidArguments as error:
                raise UsageError(
                    "{workflow}: {failure}", workflow=workflow.name, failure=failure_text(error.failure(), language())
                ) from None
            finally:
                trace.close()
                await workflow.aclose()
        return report_workflow(terminal, result, settings, as_json=as_json, is_told=trace.has_streamed)

    return asyncio.run(command())


@app.command("check")
def check_workflow(
    source: SourceArgument,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: DefinitionTenantFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Tell everything that is wrong with a workflow, with line, column and a hint."""
    settings, file, name, _ = _meant(options.read(tools=tools, mcp=mcp, journal=journal), said(source))
    terminal = Terminal()

    async def command() -> int:
        async with sources.open_definitions(settings, terminal, "" if name else said(tenant)) as opened:
            text = await sources.text_of(file, opened.definitions, said(tenant))
            problems = await opened.workflows.problems_of(text, opened.tools)
        for problem in problems:
            hint = f" ({tr_hint(problem.hint)})" if problem.hint else ""
            terminal.text(f"{source}:{problem.line}:{problem.column}: {tr_message(problem.message)}{hint}")
        if not problems:
            terminal.text(tr("{source}: nothing is wrong", source=source))
        return MISUSED if problems else DONE

    return asyncio.run(command())


@app.command("graph")
def draw_workflow(
    source: SourceArgument,
    form: Annotated[str, typer.Option("--format", metavar="FORMAT", help="mermaid, dot or svg.")] = "mermaid",
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Write the picture to this file.")] = "",
    tenant: DefinitionTenantFlag = "",
    journal: JournalFlag = "",
) -> int:
    """Draw a workflow."""
    if form not in _DRAWINGS:
        raise UsageError("--format {form}: give mermaid, dot or svg", form=form)
    settings, file, *_ = _meant(options.read(journal=journal), said(source))
    text = asyncio.run(sources.text_at(file, settings, said(tenant)))
    picture = _DRAWINGS[form](read_definition(text))
    if output:
        Path(output).write_text(picture, encoding="utf-8")
    else:
        Terminal().text(picture.rstrip("\n"))
    return DONE


def _pinned(path: str) -> JsonObject:
    """The pins in a file.

    Raises:
        UsageError: the file can not be read, or holds no JSON object.
    """
    try:
        value, _ = parse(read_named_text(Path(path).expanduser()))
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError("--pin {path}: {given}", path=path, given=getattr(error, "strerror", None) or error) from None
    except JsonProblem as problem:
        raise UsageError("--pin {path} is no JSON: {why}", path=path, why=problem) from None
    if not isinstance(value, dict):
        raise UsageError(
            "--pin {path} holds no JSON object; write the names of nodes, and what each has given", path=path
        )
    return value


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
    file = table.file if not is_name(table.file) else f"./{table.file}"
    return _Meant(own, file, source, workflow_models(own, table))
