"""Reads a Coze file into a canvas: JSON or YAML, what the editor copies, an answer of the API, or an archive."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib

from msgspec import Struct, structs

from ....core.definition import TextProblem
from ....core.json import Json, JsonObject
from ....protocols.source_text import BYTES_MAX
from ...definition.text import BadWorkflow, read_text
from ..surrogates import whole

MEMBERS_MAX = 200
"""The most files of an archive."""
SIZE_MAX = 1_000_000
"""The most bytes of a file of an archive."""

_ENVELOPES = ("json", "data", "workflow", "canvas", "schema", "schema_json", "schemaJson", "content")
_ENVELOPES_MAX = 6


class CozeSource(Struct, frozen=True):
    """What a Coze file says.

    Attributes:
        canvas: the nodes and edges.
        around: the objects that hold the canvas, the outermost first.
        others: how many other files an archive holds that may be workflows too.
    """

    canvas: JsonObject
    around: tuple[JsonObject, ...] = ()
    others: int = 0


def read_source(text: str | bytes) -> CozeSource:
    """What a Coze file says.

    Raises:
        BadWorkflow: the text is too large, too deep, neither JSON nor YAML nor an archive, or holds no canvas.
    """
    if isinstance(text, bytes) and text[:4] == b"PK\x03\x04":
        return _of_archive(text)
    around: list[JsonObject] = []
    value = whole(read_text(text, yaml_bytes_max=BYTES_MAX).value)
    for _ in range(_ENVELOPES_MAX):
        if isinstance(value, str):
            value = whole(read_text(value, yaml_bytes_max=BYTES_MAX).value)
        if not isinstance(value, dict):
            break
        if isinstance(value.get("nodes"), list):
            return CozeSource(_canvas(value), tuple(around))
        around.append(value)
        value = next((value[name] for name in _ENVELOPES if isinstance(value.get(name), str | dict)), None)
    raise BadWorkflow([TextProblem("this is no file of Coze: a canvas with `nodes` and `edges` is expected")])


_NO_CANVAS = (
    "the nodes of this file have no `data`: this is another format of Coze. Select all nodes in the editor of Coze, "
    "copy them, and import the text that was copied"
)


def _canvas(value: JsonObject) -> JsonObject:
    """The canvas, if its nodes are those of a canvas."""
    nodes = value["nodes"]
    found = [each for each in nodes if isinstance(each, dict)] if isinstance(nodes, list) else []
    if found and not any(isinstance(each.get("data"), dict) for each in found):
        raise BadWorkflow([TextProblem(_NO_CANVAS)])
    return value


_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(RuntimeError, NotImplementedError, ValueError, LookupError, OverflowError),
)
"""What a broken or encrypted archive raises."""


def _of_archive(data: bytes) -> CozeSource:
    """The first file of an archive that is a canvas."""
    problem = TextProblem("this archive holds no canvas of Coze")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [member for member in archive.infolist()[:MEMBERS_MAX] if _may_be_canvas(member)]
            for member in members:
                with archive.open(member) as file:
                    text = file.read(SIZE_MAX + 1)
                if len(text) > SIZE_MAX or text[:4] == b"PK\x03\x04":
                    continue
                try:
                    return structs.replace(read_source(text), others=len(members) - 1)
                except BadWorkflow as bad:
                    if bad.problems[0].message == _NO_CANVAS:
                        problem = bad.problems[0]
    except _BROKEN:
        raise BadWorkflow([TextProblem("this archive cannot be read")]) from None
    raise BadWorkflow([problem])


def _may_be_canvas(member: zipfile.ZipInfo) -> bool:
    name = member.filename.lower()
    is_manifest = name.rpartition("/")[2].startswith("manifest.")
    is_plain = member.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    return is_plain and not is_manifest and name.endswith((".json", ".yaml", ".yml"))


def text_of(around: tuple[JsonObject, ...], *names: str) -> str:
    """The first text with one of these names in the objects around a canvas."""
    for each in around:
        for name in names:
            value: Json = each.get(name)
            if isinstance(value, str) and value:
                return value
    return ""
