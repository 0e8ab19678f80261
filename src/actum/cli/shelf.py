"""The versions of workflows on the command line: `actum workflow publish`, `rollback`, `unpublish`, `versions`, `diff`,
`list` and `show`. The commands are registered in `workflow.py`.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from ..compose.agents import list_tools
from ..compose.secrets import open_secrets
from ..compose.settings import Settings
from ..compose.workflows import WorkflowParts, published_workflows, read_workflow_file, workflow_text
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Approver, Model
from ..core.json import Json, JsonObject, dumps
from ..core.shelf import (
    Publication,
    ShelfDraft,
    ShelfName,
    ShelfStore,
    ShelfVersion,
    StaleDraft,
    no_draft,
    no_publication,
    reference,
)
from ..core.tool import Tool
from ..workflow.difference import DefinitionChange, difference
from ..workflow.load import read_definition
from ..workflow.published import PublishedWorkflows
from ..workflow.workflow import Workflow
from . import loading, options
from .exit_codes import DONE
from .language import tr
from .options import JournalFlag, JsonFlag, McpFlag, ToolsFlag
from .show import moments
from .show.terminal import Terminal, said, shorten, who

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="FILE|NAME[@N]",
        help="A file, name.workflow.yaml or JSON; or what is published under a name, or under its number N.",
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="The name of the workflow.")]
ShelfTenantFlag = Annotated[
    str, typer.Option("--tenant", metavar="NAME", help="The tenant whose workflows are meant. Default: none.")
]

_DRAFT = "@draft"
_SHOWN = 120
_SIGNS = {"added": "+", "removed": "-", "changed": "~"}


class OpenShelf(NamedTuple):
    """What the commands work with.

    Attributes:
        shelf: where the texts are.
        workflows: opens and publishes them.
        tools: the tools that their nodes may call.
    """

    shelf: ShelfStore
    workflows: PublishedWorkflows
    tools: list[Tool]


def is_name(source: str) -> bool:
    """Whether an argument is a name on the shelf, and not a file: a name has no dot and no slash."""
    return not any(sign in source for sign in "./\\")


@asynccontextmanager
async def open_shelf(
    settings: Settings,
    terminal: Terminal,
    tenant: str,
    approver: Approver | None = None,
    *,
    name: str = "",
    models: Mapping[str, Model] | None = None,
) -> AsyncIterator[OpenShelf]:
    """The shelf of the journal, and the tools of the settings; `name` and `models` are those of runs."""
    async with loading.tools(settings, terminal) as loaded, options.journal(settings) as opened:
        parts = WorkflowParts(
            settings=settings,
            tools=loaded.tools,
            journal=opened,
            approver=approver,
            secrets=open_secrets(os.environ),
            egress=options.egress(),
            models=models,
        )
        workflows = await published_workflows(parts, tenant=tenant, name=name)
        yield OpenShelf(opened.shelf, workflows, list(await list_tools(loaded.tools, settings.tool_labels)))


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
        raise UnknownName(f"{error}{_hint_at_file(source)}") from None


def _hint_at_file(source: str) -> str:
    """What to write where a name was meant to be a file."""
    return f". A file is given with its folder: ./{source}" if Path(source).is_file() else ""


async def text_of(source: str, shelf: ShelfStore, tenant: str) -> str | bytes:
    """The text in a file, or under a name; `name@draft` is the draft.

    Raises:
        UnknownName: there is nothing under this name.
        UsageError: the file can not be read.
    """
    return (await _found(source, shelf, tenant)).text if is_name(source) else workflow_text(source)


async def text_at(source: str, settings: Settings, tenant: str) -> str | bytes:
    """The same, with the shelf of the journal; for a file no journal is opened."""
    if not is_name(source):
        return workflow_text(source)
    async with options.journal(settings) as opened:
        return await text_of(source, opened.shelf, tenant)


async def _found(source: str, shelf: ShelfStore, tenant: str) -> ShelfDraft | Publication:
    if source.endswith(_DRAFT):
        name = source.removesuffix(_DRAFT)
        draft = await shelf.draft("workflow", name, tenant=tenant)
        if draft is None:
            raise no_draft("workflow", name)
        return draft
    name, number = reference(source)
    publication = await shelf.published("workflow", name, number, tenant=tenant)
    if publication is None:
        raise no_publication("workflow", name, number)
    return publication


def publish_workflow(
    source: Annotated[
        str, typer.Argument(metavar="FILE|NAME", help="A file to publish, or the name of a draft to publish.")
    ],
    revision: Annotated[
        int | None,
        typer.Option("--revision", metavar="NUMBER", help="Publish only if the draft still has this revision."),
    ] = None,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: ShelfTenantFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Publish a workflow under the next number. A workflow with a mistake is not published.

    For instance: actum workflow publish flight_desk.workflow.yaml
    """
    settings, terminal, owner = options.read(tools=tools, mcp=mcp, journal=journal), Terminal(), said(tenant)

    async def command() -> Publication:
        async with open_shelf(settings, terminal, owner) as opened:
            name, known = source, revision
            if not is_name(source):
                name, known = await _save_file(source, opened, revision, owner, terminal)
            return await opened.workflows.publish(name, opened.tools, revision=known, by=who())

    made = asyncio.run(command())
    if (format_ := read_definition(made.text).imported) and not as_json:
        text = "{name} was imported from {format}. From now on its fixed values count as written by you."
        terminal.note(tr(text, name=made.name, format=format_))
    _tell_published(terminal, made, as_json=as_json)
    return DONE


async def _save_file(
    file: str, opened: OpenShelf, revision: int | None, tenant: str, terminal: Terminal
) -> tuple[str, int]:
    """Save a file as the draft of the workflow that the file defines.

    Returns:
        The name of the workflow, and the revision of the draft.

    Raises:
        StaleDraft: the draft has another revision than the one that was given.
        UsageError: the draft has changes that nobody has published, and no revision was given.
    """
    text = workflow_text(file).decode("utf-8", "replace")
    name = read_definition(text).name
    await opened.workflows.check(name, text, opened.tools)
    draft = await opened.shelf.draft("workflow", name, tenant=tenant)
    if draft is not None and revision is None and draft.text != text:
        in_use = await opened.shelf.published("workflow", name, tenant=tenant)
        if in_use is None or in_use.digest != draft.digest:
            raise UsageError(
                f"the draft of {name} has changes that nobody has published: look at them with `actum workflow show "
                f"{name}@draft`, and replace them with --revision {draft.revision}"
            )
    known = revision if revision is not None else draft.revision if draft is not None else 0
    try:
        saved = await opened.shelf.save("workflow", name, text, known, tenant=tenant, by=who())
    except StaleDraft as stale:
        if stale.current is not None:
            terminal.note(tr("What your file changes in the draft of {name}:", name=name))
            _tell_changes(terminal, difference(stale.current.text, text))
        raise
    return name, saved.revision


def rollback_workflow(
    name: NameArgument,
    number: Annotated[int, typer.Argument(metavar="NUMBER", help="The number of an older publication.")],
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: ShelfTenantFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Publish an older publication anew, under the next number. Runs under way keep the version they began with."""
    settings, terminal = options.read(tools=tools, mcp=mcp, journal=journal), Terminal()

    async def command() -> Publication:
        async with open_shelf(settings, terminal, said(tenant)) as opened:
            return await opened.workflows.rollback(name, number, opened.tools, by=who())

    _tell_published(terminal, asyncio.run(command()), as_json=as_json)
    return DONE


def list_versions(
    name: NameArgument, tenant: ShelfTenantFlag = "", as_json: JsonFlag = False, journal: JournalFlag = ""
) -> None:
    """List the publications of a workflow, the latest first."""
    settings, terminal = options.read(journal=journal), Terminal()

    async def command() -> list[ShelfVersion]:
        async with options.journal(settings) as opened:
            found = await opened.shelf.versions("workflow", name, tenant=said(tenant))
            if not found and await opened.shelf.draft("workflow", name, tenant=said(tenant)) is None:
                raise no_publication("workflow", name)
            return found

    found = asyncio.run(command())
    if as_json:
        terminal.json([_version_as_json(each) for each in found])
    elif not found:
        terminal.note(tr("{name} has a draft, and nothing was published yet.", name=name))
    else:
        rows = [
            (
                f"{each.name}@{each.number}",
                moments.shown(each.at),
                each.by,
                each.digest[:12],
                f"{each.name}@{each.again}" if each.again else "",
            )
            for each in found
        ]
        terminal.table("name", "when", "user", "digest", "again", rows=rows)


def list_workflows(tenant: ShelfTenantFlag = "", as_json: JsonFlag = False, journal: JournalFlag = "") -> None:
    """List the workflows that have a draft or are published."""
    settings, terminal = options.read(journal=journal), Terminal()

    async def command() -> list[ShelfName]:
        async with options.journal(settings) as opened:
            return await opened.shelf.names("workflow", tenant=said(tenant))

    found = asyncio.run(command())
    if as_json:
        terminal.json(msgspec.to_builtins(found))
    elif not found:
        terminal.note(tr("There are no workflows yet. Try: actum workflow publish desk.workflow.yaml"))
    else:
        rows = [
            (
                each.name,
                f"{each.name}@{each.published}" if each.published else "",
                str(each.revision) if each.changed else "",
                moments.shown(each.at),
                each.by,
            )
            for each in found
        ]
        terminal.table("name", "published", "changed draft", "saved", "user", rows=rows)


def show_workflow(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@N]", help="What is published under a name, or its number N; NAME@draft: the draft."
        ),
    ],
    tenant: ShelfTenantFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show the text of a published workflow, or of its draft."""
    settings, terminal = options.read(journal=journal), Terminal()

    async def command() -> ShelfDraft | Publication:
        async with options.journal(settings) as opened:
            return await _found(source, opened.shelf, said(tenant))

    found = asyncio.run(command())
    if as_json:
        terminal.json(msgspec.to_builtins(found))
    else:
        terminal.text(found.text.rstrip("\n"))


def compare_workflows(
    old: SourceArgument,
    new: Annotated[
        str,
        typer.Argument(
            metavar="[FILE|NAME[@N]]", help="The other one, likewise; NAME@draft is a draft. Default: the draft."
        ),
    ] = "",
    tenant: ShelfTenantFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> None:
    """Show what differs between two versions of a workflow: nodes, edges and fields, but no positions."""
    settings, terminal = options.read(journal=journal), Terminal()
    if not new and not is_name(old):
        raise UsageError("give a second file or name to compare with")

    async def command() -> list[DefinitionChange]:
        other = new or reference(old)[0] + _DRAFT
        return difference(await text_at(old, settings, said(tenant)), await text_at(other, settings, said(tenant)))

    changes = asyncio.run(command())
    if as_json:
        terminal.json(msgspec.to_builtins(changes))
    elif not changes:
        terminal.note(tr("There is no difference."))
    else:
        _tell_changes(terminal, changes)


def _tell_changes(terminal: Terminal, changes: list[DefinitionChange]) -> None:
    for change in changes:
        line = f"{_SIGNS[change.kind]} {tr(change.what)} {change.place}"
        if change.what == "field":
            line += f": {_short(change.old)} → {_short(change.new)}"
        terminal.text(line)


def _short(value: Json) -> str:
    return shorten(dumps(value), _SHOWN, 1)


def _tell_published(terminal: Terminal, made: Publication, *, as_json: bool) -> None:
    if as_json:
        terminal.json(_version_as_json(made))
    else:
        terminal.text(tr("{name}@{number} is published.", name=made.name, number=made.number))


def _version_as_json(version: ShelfVersion) -> JsonObject:
    told: JsonObject = msgspec.to_builtins(version)
    return {name: value for name, value in told.items() if name not in ("text", "kind")}
