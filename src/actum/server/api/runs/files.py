"""`/v1/runs/{id}/files`: the files and pictures that the tools of a run made."""

from __future__ import annotations

import mimetypes
import re
from typing import TYPE_CHECKING

from msgspec import Struct

from ....core.call import MediaPart
from ....features.operation import AnswerKind, ApiFile, ApiReply, ApiRequest, Operation
from ....features.refusal import not_found
from ..fields import ListPart

if TYPE_CHECKING:
    from ..api import Api  # agents and workflows, which the completion of a command needs none of

_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]{1,100}/[A-Za-z0-9!#$&^_.+-]{1,100}")


class RunFile(Struct, frozen=True, kw_only=True):
    """A file that a tool of a run made.

    Attributes:
        handle: the name under which a model hands the file to a tool, such as `att_1`.
        media_type: what the file is.
        name: the name that the tool gave; not to be trusted.
        size: how many bytes it has.
    """

    handle: str
    media_type: str
    name: str
    size: int


class RunFiles(ListPart[RunFile], frozen=True, kw_only=True):
    """The files of a run, all of them."""


async def list_files(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """The files that the tools of a run made."""
    parts = (await _files(api, asked)).values()
    items = [
        RunFile(handle=part.handle, media_type=part.media_type, name=part.name, size=len(part.data)) for part in parts
    ]
    return ApiReply(RunFiles(items=tuple(items), next=None))


async def get_file(api: Api, asked: ApiRequest[None, None]) -> ApiReply:
    """One of the files. It is called as we call it: the name of the tool's choice would stand in a header."""
    part = (await _files(api, asked)).get(asked.names["handle"])
    if part is None or not part.data:
        raise not_found("file")
    kind = part.media_type if _MEDIA_TYPE.fullmatch(part.media_type) else "application/octet-stream"
    return ApiReply(ApiFile(f"{part.handle}{mimetypes.guess_extension(kind) or ''}", kind, part.data))


async def _files(api: Api, asked: ApiRequest[None, None]) -> dict[str, MediaPart]:
    recorded = await api.records.asked_for(asked, asked.names["id"])
    return (await api.records.shown(recorded, asked.who)).state.media()


_ID = {"id": "The id of a run."}
OPERATIONS: tuple[Operation, ...] = (
    Operation(
        id="listFiles",
        method="get",
        path="/v1/runs/{id}/files",
        tag="runs",
        summary="List the files and pictures that the tools of a run made.",
        scopes=("runs", "tools"),
        names=_ID,
        replies={
            200: AnswerKind(
                means="The files.",
                body=RunFiles,
                example={
                    "items": [{"handle": "att_1", "media_type": "image/png", "name": "plot.png", "size": 1204}],
                    "next": None,
                },
            )
        },
        handler=list_files,
    ),
    Operation(
        id="getFile",
        method="get",
        path="/v1/runs/{id}/files/{handle}",
        tag="runs",
        summary="Get a file that a tool of a run made.",
        scopes=("runs", "tools"),
        names={**_ID, "handle": "The handle of a file."},
        replies={
            200: AnswerKind(
                means="The file, with the media type that the tool gave.",
                body=str,
                example="a,b\n1,2\n",
                media_type="application/octet-stream",
            )
        },
        handler=get_file,
    ),
)
