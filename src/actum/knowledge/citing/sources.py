"""What a run has read: pages kept in the journal by their digest, and results of tools. Each is a source of quotes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import msgspec
from msgspec import Struct

from ...core.call import ToolCall, ToolResult
from ...core.errors import JournalError, UnknownName
from ...core.interfaces import Journal
from ...core.run.record import CallCompleted, Record
from ...journal.recording import CallRef, RunState
from ..reading.page import DocumentPage

KEPT = "kept_page"
"""The field of a result of our tools that tells which page was read."""
ADDRESS = "knowledge:"
ATTACHMENT = "attachment:"
TOOL = "tool:"
_encode = msgspec.json.Encoder(order="deterministic").encode


class KeptPage(Struct, frozen=True):
    """A page as a run has read it; the journal keeps it under its digest.

    Attributes:
        address: such as `knowledge:handbook/rules/travel.md`.
        title: of the page.
        read_at: when it was read, in seconds since 1970.
        page: its text; its links lead to addresses.
        collections: those whose words it holds.
        is_document: whether it is a document, and no list of results.
    """

    address: str
    title: str
    read_at: float
    page: DocumentPage
    collections: tuple[str, ...]
    is_document: bool = True


class PageRead(Struct, frozen=True):
    """What the record of a call says of the page that it has read, or stands on.

    Attributes:
        act: what the call did: `search`, `click`, `find`, `scroll`, `back` or `found`.
        digest: under which the journal keeps the page.
        address, title, read_at: of the page.
        piece: which piece of the page is shown, from 0.
        size: how many bytes are kept.
        told: the page itself, where it holds words of an attached document: they are forgotten with the run.
    """

    act: str
    digest: str
    address: str
    title: str
    read_at: float
    piece: int = 0
    size: int = 0
    told: KeptPage | None = None


def keep_page(journal: Journal, kept: KeptPage, run_id: str) -> tuple[str, int]:
    """Keep a page with the next record of the run that reads it; its digest, and how many bytes it has."""
    payload = _encode(kept)
    digest = hashlib.sha256(payload).hexdigest()
    journal.keep(digest, payload, run_id)
    return digest, len(payload)


async def kept_page(journal: Journal, digest: str) -> KeptPage:
    """A page that a run has read.

    Raises:
        JournalError: the journal does not keep it any more, or it was altered.
    """
    try:
        payload = await journal.kept(digest)
    except UnknownName:
        raise JournalError("the page that was read is not kept any more") from None
    if hashlib.sha256(payload).hexdigest() != digest:
        raise JournalError("the page that was read was altered where it is kept")
    try:
        return msgspec.json.decode(payload, type=KeptPage)
    except (msgspec.MsgspecError, RecursionError):
        raise JournalError("what is kept is no page") from None


def made_calls(state: RunState) -> Iterator[tuple[CallRef, ToolCall, ToolResult]]:
    """The calls of a run that have succeeded, in the order of the record."""
    for number, calls in state.calls.items():
        for index, call in enumerate(calls):
            known = state.outcome(CallRef(number, index))
            if known is not None and known[0].error is None:
                yield CallRef(number, index), call, known[0]


def pages_read(state: RunState) -> list[PageRead]:
    """The pages that a run has read, in order. What a tool of others answers is no page, whatever the tool is called:
    the call path says which results are of a tool that reads documents (`ToolResult.source_kind`).
    """
    return [each for _, _, result in made_calls(state) for each in _reads(result)]


def pages_kept(records: Sequence[Record | None]) -> dict[str, int]:
    """The digests of the pages that the journal keeps for the records of a run, with the numbers of the entries. Those
    of attached documents stand in the record itself.
    """
    results = [(number, each.result) for number, each in enumerate(records) if isinstance(each, CallCompleted)]
    return {
        page.digest: number
        for number, result in reversed(results)
        for page in _reads(result)
        if page.told is None and not page.address.startswith(ATTACHMENT)
    }


SEARCH_TOOL = "search_"
"""How the own name of the tool of a single collection begins; an operator may show the tool under another name."""
QUOTE = "quote"
"""The own name of the tool that makes references; an operator may show the tool under another name."""


def has_looked(calls: Sequence[tuple[ToolCall, ToolResult]]) -> bool:
    """Whether some calls have searched documents, or quoted."""
    return any(result.source_kind for _, result in calls)


def looked_for(calls: Sequence[tuple[ToolCall, ToolResult]]) -> tuple[str, ...]:
    """What was searched in documents."""
    searches = (call for call, result in calls if result.source_kind == "search")
    return tuple(dict.fromkeys(str(call.arguments.get("query", "")) for call in searches))


def pages_found(calls: Sequence[tuple[ToolCall, ToolResult]]) -> list[PageRead]:
    """The passages that searches have found, the best of each search first."""
    return [each for _, result in calls for each in _reads(result) if each.act == "found"]


def _reads(result: ToolResult) -> list[PageRead]:
    """The pages that a call has read: one, or one for each passage that was found. A result that somebody gave in the
    place of the tool's own holds none.
    """
    structured = result.structured
    if result.source_kind not in ("search", "page") or result.given or not isinstance(structured, Mapping):
        return []
    results = structured.get("results")
    told = [structured, *(results if isinstance(results, list) else ())]
    found: list[PageRead] = []
    for each in told:
        if isinstance(each, Mapping) and KEPT in each:
            with suppress(msgspec.ValidationError):
                found.append(msgspec.convert(each[KEPT], PageRead))
    return found


def results_of(state: RunState) -> list[tuple[CallRef, str, str]]:
    """The results of a run's tools that read no documents, which are cited by the names of the tools: the call, the
    name of its tool, and what the model was told.
    """
    return [(place, call.name, result.text) for place, call, result in made_calls(state) if not result.source_kind]


def digest_of_result(text: str) -> str:
    """The SHA-256 of a result's text, in hex."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
