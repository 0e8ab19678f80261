"""What reads the files of other programs: our own importers, and those that installed packages bring.

    imported = read_import(Path("app.yml").read_bytes(), "app")
    imported.report.format     # which program wrote the file

A package brings an importer as an entry point of the group `actum.importers`: a function of the bytes and the name of
a file that returns an `ImportedApp`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from ...core.definition import TextProblem
from ...core.errors import UsageError
from ...core.language.sentence import Sentence
from ...core.process.installed import installed, installed_one
from ..definition.text import BadWorkflow
from .coze import import_coze
from .dify import import_dify
from .imported import ImportedApp

Importer: TypeAlias = Callable[[bytes, str], ImportedApp]
"""A function of the bytes of a file and of its name without the ending."""

IMPORTS: Mapping[str, Importer] = {"coze": import_coze, "dify": import_dify}
"""What reads a file, by the name of its format, in the order in which formats are tried."""


def formats() -> tuple[str, ...]:
    """The formats that can be read here: our own, then those of installed packages."""
    return (*IMPORTS, *(each.name for each in installed("actum.importers") if each.name not in IMPORTS))


def importer(format: str) -> Importer:
    """What reads the files of a program.

    Args:
        format: one of `formats()`.

    Raises:
        UsageError: there is none of this name, or the one of an installed package can not be used.
    """
    if format in IMPORTS:
        return IMPORTS[format]
    brought = installed_one("actum.importers", format)
    if brought is None:
        raise UsageError("--from {name}: give {known}", name=format, known=" or ".join(formats()))
    read = brought.load()
    if not callable(read):
        raise UsageError("the importer {name!r} of {package} is no function", name=format, package=brought.origin)

    def imported(text: bytes, title: str) -> ImportedApp:
        app = read(text, title)
        if not isinstance(app, ImportedApp):
            raise UsageError(
                "the importer {name!r} of {package} returns no ImportedApp", name=format, package=brought.origin
            )
        return app

    return imported


def read_import(data: bytes, name: str, format: str = "") -> ImportedApp:
    """Read a file of another program.

    Args:
        data: the file.
        name: what the workflow is called where the file gives it no name, such as the name of the file.
        format: one of `formats()`; empty for the first format that the file has.

    Raises:
        BadWorkflow: the file can not be read, or is no workflow of this format.
        UsageError: as for `importer`.
    """
    if format:
        return importer(format)(data, name)
    refused: list[TextProblem] = []
    for each in formats():
        try:
            return importer(each)(data, name)
        except BadWorkflow as bad:
            refused += bad.problems[:1]
    if len({each.message for each in refused}) == 1:  # the file can not be read at all
        raise BadWorkflow(refused[:1])
    raise BadWorkflow(
        [
            TextProblem(
                Sentence("this is no workflow of {formats}", formats=" or ".join(formats())), hint=refused[0].message
            )
        ]
    )
