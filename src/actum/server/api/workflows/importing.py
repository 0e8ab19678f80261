"""`POST /v1/workflows/import`: a file of another program becomes a definition of ours, which a client may save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Meta, Struct

from ....core.definition import BadText
from ....core.errors import UsageError
from ....core.process.worker_thread import off_loop
from ....features.operation import AnswerKind, ApiReply, ApiRequest, Operation
from ....features.refusal import Refusal
from ....protocols.source_text import BYTES_MAX
from ....workflow.imports.imported import ImportedApp
from ....workflow.imports.importers import read_import
from ....workflow.imports.report import ImportLine
from ..definitions.refusing import bad_definition
from ..fields import NO_CONTROL
from .kind import WORKFLOWS

if TYPE_CHECKING:
    from ..api import Api  # agents and tools, which nothing here uses

WORK = 4
"""How much longer a file takes to import than one that is only looked at."""
LINES_MAX = 2_000
"""The most lines of a report that are answered; `counts` tells of all."""


class ImportBody(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of another program: its `text`, or its `data`.

    Attributes:
        text: the file as text.
        data: the bytes of the file as Base64, such as an archive of Coze.
        name: the name of the file, by which the workflow is called where the file gives it no name; may be empty.
        format: the program that wrote the file: `dify`, `coze`, or what an installed package reads; empty for the first
            format that the file has.
    """

    text: Annotated[str, Meta(max_length=BYTES_MAX)] = ""
    data: bytes = b""
    name: Annotated[str, Meta(max_length=200, pattern=NO_CONTROL)] = ""
    format: Annotated[str, Meta(max_length=64, pattern=NO_CONTROL)] = ""


class ImportedLine(Struct, frozen=True, kw_only=True):
    """What became of one field of the file.

    Attributes:
        status: `near` where it means something near, `open` where a person has to choose something, `lost` where it is
            lost.
        node: the node of the workflow; empty where the field belongs to no node of it.
        field: the place of the field in the node, or in the file.
        message: what differs, what has to be chosen, or why the field is lost.
        title: what the node is called in the file.
    """

    status: str
    node: str
    field: str
    message: str
    title: str


class ImportCounts(Struct, frozen=True):
    """How many fields of a file there are.

    Attributes:
        same: that mean the same.
        near: that mean something near.
        open: that a person has to choose something for.
        lost: that are lost.
    """

    same: int
    near: int
    open: int
    lost: int


class ImportAnswer(Struct, frozen=True, kw_only=True):
    """What became of a file.

    Attributes:
        name: what the workflow is called.
        format: the program that wrote the file.
        text: the definition; empty for an app that is an agent here, whose settings are in `settings`.
        settings: what belongs into `actum.toml`, such as triggers; may be empty.
        counts: how many fields came over, and how.
        lines: what did not come over as it was, without what only an editor uses; at most 2,000 lines.
    """

    name: str
    format: str
    text: str
    settings: str
    counts: ImportCounts
    lines: tuple[ImportedLine, ...]


async def import_file(api: Api, asked: ApiRequest[None, ImportBody]) -> ApiReply:
    """What a file of another program is here."""
    body = asked.body
    data = body.data or body.text.encode("utf-8", "surrogatepass")
    if bool(body.data) == bool(body.text):
        raise Refusal(422, "invalid", "Give a file as `text`, or as `data`.")
    if len(data) > BYTES_MAX:
        raise Refusal(413, "content_too_large", "A workflow to import has {most} bytes at most.", most=BYTES_MAX)
    stem = body.name.replace("\\", "/").rpartition("/")[2].partition(".")[0]
    try:
        imported = await off_loop(WORK * len(data), read_import, data, stem, body.format)
    except BadText as bad:
        raise bad_definition(bad) from None
    except UsageError as error:
        raise Refusal(422, "invalid", "{why}", why=error) from None
    return ApiReply(_answer(imported))


def _answer(imported: ImportedApp) -> ImportAnswer:
    report = imported.report
    return ImportAnswer(
        name=imported.name,
        format=report.format,
        text=imported.text,
        settings=report.settings_for(f"{imported.name}.workflow.yaml"),
        counts=ImportCounts(report.count("same"), report.count("near"), report.count("open"), report.count("lost")),
        lines=tuple(map(_line, report.told[:LINES_MAX])),
    )


def _line(line: ImportLine) -> ImportedLine:
    return ImportedLine(
        status=line.status, node=line.name, field=line.field, message=line.message, title=line.title or line.id
    )


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="importWorkflow",
        method="post",
        path="/v1/workflows/import",
        tag="workflows",
        summary="Read a workflow of Dify or Coze.",
        description=(
            "Nothing is kept: the answer has the text of a workflow, to be saved as a draft, and what did not come "
            "over as it was. What installed packages read by the entry point `actum.importers` is read as well. 413 "
            "for a file of more than 1,000,000 bytes."
        ),
        scopes=WORKFLOWS.builders,
        body=ImportBody,
        example={"name": "desk.yml", "text": "kind: app\napp: {mode: workflow, name: Desk}\nworkflow: {graph: {}}\n"},
        replies={
            200: AnswerKind(
                means="The workflow, and what became of the file.",
                body=ImportAnswer,
                example={
                    "name": "desk",
                    "format": "dify",
                    "text": "actum: workflow/1\nname: desk\nimported: dify\nnodes: {}\n",
                    "settings": "",
                    "counts": {"same": 12, "near": 1, "open": 1, "lost": 0},
                    "lines": [
                        {
                            "status": "open",
                            "node": "ask",
                            "field": "model",
                            "message": "name the model under models",
                            "title": "Ask",
                        }
                    ],
                },
            )
        },
        errors=(413,),
        handler=import_file,
    ),
)
