"""`actum workflow import`: a definition of another program becomes ours, with a report of what came over."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...compose.workflows import workflow_text
from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...workflow.imports.imported import ImportedApp
from ...workflow.imports.importers import importer
from ...workflow.imports.report import ImportReport
from ..language import tr
from ..options import JsonFlag
from ..show.terminal import Terminal, said


def import_workflow(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The file of the other program.")],
    source: Annotated[
        str, typer.Option("--from", metavar="FORMAT", help="Which program wrote the file: coze or dify.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="Write the definition to this file.")
    ] = "",
    as_json: JsonFlag = False,
) -> int:
    """Import a workflow of another program, and tell what did not come over.

    The exit code is 0 where all came over, 3 where a tool or a model has to be chosen, 4 where something is lost.
    For instance: actum workflow import app.yml --from dify -o app.workflow.yaml
    """
    read = importer(said(source))
    terminal = Terminal()
    imported = read(workflow_text(file), Path(file).name.partition(".")[0])
    text, ending = (imported.text, "workflow.yaml") if imported.text else (imported.report.settings, "toml")
    path = Path(said(output)).expanduser() if output else Path(f"{imported.name}.{ending}")
    if not output and path.exists():
        raise UsageError("there is a file {path} already: name another with -o", path=path)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError("{path} can not be written: {why}", path=path, why=error.strerror) from None
    if as_json:
        terminal.json(_as_json(imported, str(path)))
    else:
        _tell(terminal, imported.report, str(path))
    return imported.report.exit_code


def _tell(terminal: Terminal, report: ImportReport, path: str) -> None:
    for line in report.told:
        terminal.text(str(line))
    same, near, is_open, lost = (report.count("same"), report.count("near"), report.count("open"), report.count("lost"))
    editor = tr(" ({count} of them only an editor uses)", count=report.editor_only) if report.editor_only else ""
    counts = tr("{same} same, {near} near, {open} open, {lost} lost", same=same, near=near, open=is_open, lost=lost)
    terminal.text(f"{path}: {counts}{editor}")
    settings = report.settings_for(path)
    if settings and not path.endswith(".toml"):
        terminal.text(tr("For actum.toml:") + f"\n{settings}")


def _as_json(imported: ImportedApp, path: str) -> JsonObject:
    report = imported.report
    lines: list[Json] = [
        {
            "status": line.status,
            "node": line.name,
            "field": line.field,
            "message": line.message,
            "id": line.id,
            "title": line.title,
        }
        for line in report.lines
    ]
    names: JsonObject = dict(report.names)
    return {
        "file": path,
        "format": report.format,
        "name": imported.name,
        "exit_code": report.exit_code,
        "lines": lines,
        "names": names,
        "settings": report.settings_for(path),
    }
