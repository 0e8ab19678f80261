"""Published workflows and workflows of files, for the commands `actum workflow run`, `check` and `graph`."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from ...compose.agents import list_tools, open_agents
from ...compose.published.offer import published_calls
from ...compose.secrets import open_secrets
from ...compose.settings import Settings
from ...compose.upstreams.named_models import NamedModels
from ...compose.workflows import WorkflowParts, open_workflows, published_workflows, read_workflow_file, workflow_text
from ...core.errors import UnknownName
from ...core.model import Model
from ...core.policy import Approver
from ...core.stored.definitions import (
    Definitions,
    reference,
)
from ...core.tool import Tool
from ...workflow.published import PublishedWorkflows
from ...workflow.workflow import Workflow
from .. import loading, options
from ..show.terminal import Terminal
from .commands import found_in, is_name

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME[@N]",
        help="A file, name.workflow.yaml or JSON; or what is published under a name, or under its number N.",
    ),
]
DefinitionTenantFlag = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant whose workflows are meant. Default: none.")
]


class OpenDefinitions(NamedTuple):
    """What the commands work with.

    Attributes:
        definitions: where the texts are.
        workflows: opens and publishes them.
        tools: the tools that their nodes may call.
    """

    definitions: Definitions
    workflows: PublishedWorkflows
    tools: list[Tool]


@asynccontextmanager
async def open_definitions(
    settings: Settings,
    terminal: Terminal,
    tenant: str,
    approver: Approver | None = None,
    *,
    name: str = "",
    models: Mapping[str, Model] | None = None,
) -> AsyncIterator[OpenDefinitions]:
    """The definitions of the journal, and the tools of the settings; `name` and `models` are those of runs."""
    async with (
        loading.tools(settings, terminal) as loaded,
        options.journal(settings) as opened,
        open_agents(settings, os.environ, Path.cwd(), journal=opened, approver=approver) as agents,
        open_workflows(settings, os.environ, Path.cwd(), journal=opened) as served,
    ):
        calls = published_calls(settings, opened, loaded.tools, agents, served)
        parts = WorkflowParts(
            settings=settings,
            tools=loaded.tools,
            journal=opened,
            approver=approver,
            secrets=open_secrets(os.environ),
            egress=options.egress(),
            models=models,
            named=NamedModels(settings, os.environ),
        )
        workflows = await published_workflows(parts, tenant=tenant, name=name, calls=calls)
        tools = list(await list_tools(loaded.tools, settings.tool_labels))
        taken = {tool.name for tool in tools}
        tools += [tool for tool in await calls(tenant).listed() if tool.name not in taken]
        yield OpenDefinitions(opened.definitions, workflows, tools)


async def workflow_of(source: str, workflows: PublishedWorkflows) -> Workflow:
    """The workflow in a file, or under a name.

    Raises:
        BadWorkflow: something is wrong with the text.
        UnknownName: nothing is published under this name.
        UsageError: the file can not be read.
    """
    if not is_name(source):
        return await workflows.with_used(read_workflow_file(source))
    try:
        return await workflows.open(*reference(source))
    except UnknownName as error:
        raise UnknownName("{why}{hint_at_file}", why=error, hint_at_file=_hint_at_file(source)) from None


def _hint_at_file(source: str) -> str:
    """What to write where a name was meant to be a file."""
    return f". A file is given with its folder: ./{source}" if Path(source).is_file() else ""


async def text_of(source: str, definitions: Definitions, tenant: str) -> str | bytes:
    """The text in a file, or under a name; `name@draft` is the draft.

    Raises:
        UnknownName: there is nothing under this name.
        UsageError: the file can not be read.
    """
    return (await found_in(source, "workflow", definitions, tenant)).text if is_name(source) else workflow_text(source)


async def text_at(source: str, settings: Settings, tenant: str) -> str | bytes:
    """The same, with the definitions of the journal; for a file no journal is opened."""
    if not is_name(source):
        return workflow_text(source)
    async with options.journal(settings) as opened:
        return await text_of(source, opened.definitions, tenant)
