"""`actum workflow import`: a definition of another program becomes ours, with a report of what came over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from ...compose.workflows import workflow_text
from ...core.errors import UsageError
from ...core.json import Json, JsonObject
from ...core.process.installed import installed, installed_one
from ...workflow.imports.coze import import_coze
from ...workflow.imports.dify import import_dify
from ...workflow.imports.imported import ImportedApp
from ...workflow.imports.report import ImportReport
from ..options import JsonFlag
from ..show.terminal import Terminal, said

IMPORTS: Mapping[str, Callable[[bytes, str], ImportedApp]] = {"coze": import_coze, "dify": import_dify}
"""What reads a file, by the name of its format."""


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
    read = _importer(said(source))
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


def _importer(name: str) -> Callable[[bytes, str], ImportedApp]:
    """What reads the files of a program: our own, or an entry point `actum.importers` of an installed package.

    Raises:
        UsageError: there is none of this name.
    """
    if name in IMPORTS:
        return IMPORTS[name]
    brought = installed_one("actum.importers", name)
    if brought is None:
        known = [*IMPORTS, *(each.name for each in installed("actum.importers"))]
        raise UsageError("--from {name}: give {known}", name=name, known=" or ".join(known))
    read = brought.load()
    if not callable(read):
        raise UsageError("the importer {name!r} of {package} is no function", name=name, package=brought.origin)

    def imported(text: bytes, title: str) -> ImportedApp:
        app = read(text, title)
        if not isinstance(app, ImportedApp):
            raise UsageError(
                "the importer {name!r} of {package} returns no ImportedApp", name=name, package=brought.origin
            )
        return app

    return imported


def _tell(terminal: Terminal, report: ImportReport, path: str) -> None:
    for line in report.told:
        terminal.text(str(line))
    counts = ", ".join(f"{report.count(status)} {status}" for status in ("same", "near", "open", "lost"))
    editor = f" ({report.editor_only} of them only an editor uses)" if report.editor_only else ""
    terminal.text(f"{path}: {counts}{editor}")
    settings = report.settings_for(path)
    if settings and not path.endswith(".toml"):
        terminal.text(f"For actum.toml:\n{settings}")


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
