"""What a run has read: pages kept in the journal by their digest, and results of tools. Each is a source of quotes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from ...core.call import ToolCall, ToolResult
from ...core.errors import JournalError, UnknownName
from ...core.interfaces import Journal
from ...core.json import Json
from ...journal.recording import CallRef, RunState
from ..reading.page import DocumentPage

KEPT = "kept_page"
"""The field of a result of our tools that tells which page was read."""
ADDRESS = "knowledge:"
ATTACHMENT = "attachment:"
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


class ResultSource(Struct, frozen=True):
    """A result of a tool, as a source.

    Attributes:
        place: the call.
        tool: its name.
        text: what the model was told.
        at: when, in seconds since the run began.
    """

    place: CallRef
    tool: str
    text: str
    at: float


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


def made_calls(state: RunState) -> Iterator[tuple[CallRef, ToolCall, ToolResult, float]]:
    """The calls of a run that have succeeded, in the order of the record."""
    for number, calls in state.calls.items():
        for index, call in enumerate(calls):
            known = state.outcome(CallRef(number, index))
            if known is not None and known[0].error is None:
                yield CallRef(number, index), call, known[0], known[1]


def pages_read(state: RunState, tools: Sequence[str]) -> list[PageRead]:
    """The pages that some tools of a run have read, in order.

    Args:
        state: of the run.
        tools: the names of tools of this room. What other tools answer is not believed.
    """
    found: list[PageRead] = []
    for _, call, result, _ in made_calls(state):
        if call.name in tools or call.name.startswith(SEARCH_TOOL):
            found += [each for told in _told(result.structured) if (each := _page_read(told)) is not None]
    return found


SEARCH_TOOL = "search_"
"""How the name of the tool of a single collection begins."""
BROWSES = ("search", "click", "find", "scroll", "back")
QUOTE = "quote"


def has_looked(calls: Sequence[tuple[ToolCall, ToolResult]]) -> bool:
    """Whether some calls have searched documents, or quoted."""
    return any(call.name in (*BROWSES, QUOTE) or _is_search(call, result) for call, result in calls)


def looked_for(calls: Sequence[tuple[ToolCall, ToolResult]]) -> tuple[str, ...]:
    """What was searched in documents."""
    searches = (call for call, result in calls if call.name == BROWSES[0] or _is_search(call, result))
    return tuple(dict.fromkeys(str(call.arguments.get("query", "")) for call in searches))


def pages_found(calls: Sequence[tuple[ToolCall, ToolResult]]) -> list[PageRead]:
    """The passages that searches have found, the best of each search first."""
    told = (each for call, result in calls if call.name == BROWSES[0] or _is_search(call, result)
            for each in _told(result.structured))  # fmt: skip
    return [read for each in told if (read := _page_read(each)) is not None and read.act == "found"]


def _is_search(call: ToolCall, result: ToolResult) -> bool:
    """Whether a call is one of `search_NAME`, as far as its result tells."""
    return call.name.startswith(SEARCH_TOOL) and isinstance(result.structured, dict) and "results" in result.structured


def _told(structured: object) -> Iterator[Json]:
    """What a result says of pages: one, or one for each passage that was found."""
    if isinstance(structured, Mapping):
        if KEPT in structured:
            yield structured[KEPT]
        results = structured.get("results")
        for each in results if isinstance(results, list) else ():
            if isinstance(each, dict) and KEPT in each:
                yield each[KEPT]


def _page_read(told: Json) -> PageRead | None:
    try:
        return msgspec.convert(told, PageRead)
    except msgspec.ValidationError:
        return None


def results_of(state: RunState, own: Sequence[str]) -> list[ResultSource]:
    """The results of the other tools of a run, which are cited by the names of the tools."""
    return [
        ResultSource(place, call.name, result.text, at)
        for place, call, result, at in made_calls(state)
        if call.name not in own and not call.name.startswith(SEARCH_TOOL)
    ]
