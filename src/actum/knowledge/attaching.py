"""Documents that came with a question are read in the jail, for the record of the run. See `citing.attached`."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from itertools import chain, count

import msgspec

from ..core.call import MediaPart
from ..core.run.record import AttachedDocument
from ..core.visible import on_one_line
from .jailed_reader import JailedReader
from .problems import PROBLEMS, UnreadableAttachment
from .reading.page import UnreadableDocument

NAME_CHARS_MAX = 200


async def read_attachments(files: Sequence[MediaPart], taken: Sequence[str]) -> list[AttachedDocument]:
    """Have documents read.

    Args:
        files: of kinds that are read.
        taken: names of documents of the conversation.

    Raises:
        UnreadableAttachment: one can not be read.
    """
    found: list[AttachedDocument] = []
    names = set(taken)
    async with JailedReader() as reader:
        for file in files:
            try:
                page = await reader.read(file.name, file.data)
            except UnreadableDocument as error:
                name = on_one_line(file.name)
                raise UnreadableAttachment("{path}: {why}", path=name, why=PROBLEMS[error.problem]) from None
            packed = zlib.compress(msgspec.json.encode(page))
            found.append(AttachedDocument(_free(file.name, names), hashlib.sha256(packed).hexdigest(), packed))
    return found


def _free(name: str, taken: set[str]) -> str:
    """A name that no other document of the conversation has."""
    name = on_one_line(name.replace("#", "_"))[:NAME_CHARS_MAX]
    others = (f"{name} ({number})" for number in count(2))
    free = next(each for each in chain([name], others) if each not in taken)
    taken.add(free)
    return free
