"""`actum apply` and `actum export`: the definitions of a tenant as a folder of files, such as one in Git."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ...compose.administration import open_application
from ...core.errors import DamagedDefinition, UsageError
from ...core.json import Json
from ...features.definition import DefinitionKind
from ...features.refusal import Refusal
from ...server.api.applying import OPERATIONS, AppliedDefinition, DefinitionsApplied, kind_of, kinds_of
from ...server.api.definitions.operations import REMARK
from .. import loading, options
from ..exit_codes import DONE, FAILED
from ..language import tr
from ..operated import Operated
from ..options import JournalFlag, JsonFlag, McpFlag, ToolsFlag
from ..show.terminal import Terminal, said
from .commands import TenantNameFlag, bytes_in, text_in

FolderArgument = Annotated[str, typer.Argument(metavar="DIR", help="The folder.")]
REMARKS_TOLD = 5
"""How many remarks a person is told; three hundred tools may have hosts whose names are not known."""
_SIGNS = {"added": "+", "changed": "~", "same": "=", "removed": "-"}


def apply(
    folder: FolderArgument,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only tell what would be done.")] = False,
    prune: Annotated[bool, typer.Option("--prune", help="Take everything else out of use.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    tools: ToolsFlag = None,
    mcp: McpFlag = None,
    tenant: TenantNameFlag = "",
    as_json: JsonFlag = False,
    journal: JournalFlag = "",
) -> int:
    """Publish the definitions of a folder together, or none: tools, servers, agents, prompts, policies and workflows.

    The kind of a file is told by its line `actum: tool/1`, or by its name: helper.agent.yaml, desk.prompt.md.
    """
    settings, terminal = options.read(tools=tools, mcp=mcp, journal=journal), Terminal()
    top = Path(folder).expanduser()

    async def command() -> DefinitionsApplied | None:
        async with loading.tools(settings, terminal) as loaded, open_application(settings, loaded.tools) as app:
            given = _given(terminal, top, kinds_of(app))
            if not given and not prune:
                raise UsageError("{folder} holds no definitions: write one, such as helper.agent.yaml", folder=folder)

            async def applied(*, dry_run: bool) -> DefinitionsApplied:
                values: dict[str, Json] = {"definitions": given, "dry_run": dry_run, "prune": prune}
                told = await Operated(OPERATIONS).ask(app, "applyDefinitions", {}, values, said(tenant))
                assert isinstance(told, DefinitionsApplied)
                return told

            is_unsure = terminal.person or not given  # a folder that is empty, perhaps by mistake
            if prune and is_unsure and not (dry_run or yes) and not _agreed(terminal, await applied(dry_run=True)):
                return None
            return await applied(dry_run=dry_run)

    try:
        applied = asyncio.run(command())
    except Refusal as refused:  # which tells the first problem
        for problem, why in list(zip(refused.details.problems, refused.told, strict=False))[1:]:
            terminal.note(REMARK, name=problem.path, why=why)
        raise
    if applied is None:
        terminal.note("Nothing was published.")
        return FAILED
    if as_json:
        terminal.json(applied)
        return DONE
    for each in applied.items:
        terminal.text(_line(each))
    _tell_remarks(terminal, applied)
    if dry_run:
        terminal.note("Nothing was published.")
    return DONE


def export(
    folder: FolderArgument, tenant: TenantNameFlag = "", as_json: JsonFlag = False, journal: JournalFlag = ""
) -> int:
    """Write what is in use into a folder, a file for each definition. `actum apply` of the folder changes nothing. Exit
    code 1 when the text of a definition is damaged; the others are written."""
    lost: list[str] = []
    settings, terminal, top = options.read(journal=journal), Terminal(), Path(folder).expanduser()

    async def command() -> tuple[list[str], list[str]]:
        async with open_application(settings) as app:
            written: list[str] = []
            kept = app.journal.definitions
            for kind in kinds_of(app):
                for line in await kept.in_use(kind.name, tenant=said(tenant)):
                    try:
                        found = await kept.published(kind.name, line.name, line.number, tenant=said(tenant))
                    except DamagedDefinition as damaged:
                        terminal.error(damaged.sentence)
                        lost.append(line.name)
                        continue
                    if found is not None:
                        name = f"{line.name}.{kind.name}{_ending(kind, found.text)}"
                        _write(top / name, found.text)
                        written.append(name)
            others = _others(top, kinds_of(app), written) if written else []
            return written, others

    written, others = asyncio.run(command())
    if as_json:
        terminal.json(list(written))
    elif not written and not lost:
        terminal.note("Nothing is published.")
    for name in written if not as_json else ():
        terminal.text(name)
    for name in others:
        terminal.note("{file} stays, though it was not exported: `actum apply` would publish it", file=name)
    return FAILED if lost else DONE


def _given(terminal: Terminal, top: Path, kinds: Sequence[DefinitionKind]) -> list[Json]:
    """The definitions in a folder, as `POST /v1/definitions` takes them. What is left out is told."""
    given: list[Json] = []
    for file in _files(top):
        name = file.relative_to(top).as_posix()
        if not file.resolve().is_relative_to(top.resolve()):  # a folder of others must not publish my files
            terminal.note("{file} is a link that leads out of the folder: it is left out", file=name)
        elif kind_of(name, _beginning(file), kinds) is None:
            terminal.note("{file} is no definition: it is left out", file=name)
        else:
            given.append({"file": name, "text": text_in(str(file), "definition")})
    return given


def _agreed(terminal: Terminal, planned: DefinitionsApplied) -> bool:
    """Whether a person agrees to what would be taken out of use, having seen it. Nobody is asked about nothing.

    Raises:
        UsageError: nobody is there to be asked.
    """
    removed = [each for each in planned.items if each.done == "removed"]
    for each in removed:
        terminal.note(_line(each))
    question = tr("Take {count:definition|definitions} out of use?", count=len(removed))
    return not removed or terminal.agreed(question)


def _line(applied: AppliedDefinition) -> str:
    number = f"@{applied.number}" if applied.number else ""
    return f"{_SIGNS[applied.done]} {tr(applied.kind)} {applied.name}{number}"


def _others(top: Path, kinds: Sequence[DefinitionKind], written: Collection[str]) -> list[str]:
    """The definitions in a folder that were not written now."""
    found = {file.relative_to(top).as_posix(): file for file in _files(top)}
    return [
        name
        for name, file in found.items()
        if name not in written and kind_of(name, _beginning(file), kinds) is not None
    ]


def _beginning(file: Path) -> str:
    """A text by which the kind of a definition is told, whether it is a good text or not."""
    return bytes_in(str(file), "definition").decode("utf-8-sig", "replace")


def _tell_remarks(terminal: Terminal, applied: DefinitionsApplied) -> None:
    """Tell the first remarks, and how many there are beside them."""
    remarks = [(each.name, remark) for each in applied.items for remark in each.remarks]
    for name, remark in remarks[:REMARKS_TOLD]:
        terminal.note(REMARK, name=name, why=remark)
    if len(remarks) > REMARKS_TOLD:
        terminal.note("{count:more remark|more remarks}: --json has all", count=len(remarks) - REMARKS_TOLD)


def _files(top: Path) -> list[Path]:
    """The files of a folder and of those inside it, without hidden ones.

    Raises:
        UsageError: it is no folder.
    """
    if not top.is_dir():
        raise UsageError("{folder} is no folder", folder=str(top))
    found = sorted(file for file in top.rglob("*") if file.is_file())
    return [file for file in found if not any(part.startswith(".") for part in file.relative_to(top).parts)]


def _ending(kind: DefinitionKind, text: str) -> str:
    """The ending of a file: that of the kind's example, or of the form that the text has."""
    if text.lstrip().startswith("{"):
        return ".json"
    ending = Path(kind.example).suffix
    return ".yaml" if ending in ("", ".json") else ending


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=str(file), why=error.strerror) from None
