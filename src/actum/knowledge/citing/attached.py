"""Documents that came with a question: kept in the record of the run, and forgotten with it.

Nobody but the owner of the conversation has them. They are sources of quotes as `attachment:NAME`.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import msgspec

from ...core.errors import JournalError
from ...core.interfaces import Journal
from ...core.run.record import Entry
from ...journal.recording import RunState
from ..reading.page import DocumentPage, title_of
from .sources import ATTACHMENT, KeptPage

PAGE_BYTES_MAX = 64 * 1024 * 1024


async def attached_pages(journal: Journal, entries: Sequence[Entry]) -> dict[str, KeptPage]:
    """The documents of a conversation that a run has, by the digests of their pages; without those forgotten since.

    Args:
        journal: has the earlier runs of the conversation.
        entries: of the run.

    Raises:
        JournalError: a document was altered where it is kept.
    """
    started, found = RunState(entries[:1]).beginning(), dict[str, KeptPage]()
    for each in started.attached:
        packed, read_at = each.page, entries[0].at
        if each.run:
            first = (await journal.read(each.run, tenant=started.tenant))[:1]
            earlier = RunState(first) if first and first[0].payload else None
            if earlier is None or earlier.beginning().owning_user != started.owning_user:
                continue
            packed = next((one.page for one in earlier.beginning().attached if one.digest == each.digest), b"")
            read_at = first[0].at
        page = unpacked(packed, each.digest)
        found[each.digest] = KeptPage(f"{ATTACHMENT}{each.name}", title_of(page, each.name), read_at, page, ())
    return found


def unpacked(packed: bytes, digest: str) -> DocumentPage:
    """The page of a document.

    Raises:
        JournalError: it was altered.
    """
    if hashlib.sha256(packed).hexdigest() != digest:
        raise JournalError("the page that was read was altered where it is kept")
    try:
        return msgspec.json.decode(zlib.decompressobj().decompress(packed, PAGE_BYTES_MAX), type=DocumentPage)
    except (zlib.error, msgspec.MsgspecError, RecursionError):
        raise JournalError("what is kept is no page") from None
