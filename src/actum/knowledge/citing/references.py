"""References: quotes of a run with where they stand, as a view of the record; each is checked against the kept text."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Mapping, Sequence

import msgspec
from msgspec import Struct

from ...core.call import ToolCall, ToolResult
from ...core.errors import JournalError, UnknownName
from ...core.interfaces import Journal
from ...core.run.record import Started
from ...journal.recording import RunState
from ..collections import CollectionUser, named
from .attached import attached_pages
from .sources import ATTACHMENT, QUOTE, KeptPage, kept_page, made_calls

REFERENCE = "reference"
TURNS_MAX = 50
"""So far back in a conversation the numbers of references are looked for."""
AROUND_CHARS = 3_000
"""How much of a kept text is shown before a quote, and behind it."""


class QuotePlace(Struct, frozen=True):
    """Where a quote stands.

    Attributes:
        page: of a PDF file the page, of slides the slide; null for none.
        lines: the first and the last line; null for none.
        start, end: its part of the kept text, in characters.
    """

    page: int | None = None
    lines: tuple[int, int] | None = None
    start: int = 0
    end: int = 0


class QuoteReference(Struct, frozen=True):
    """Words of a text that was read.

    Attributes:
        number: its number in the conversation, from 1.
        title: of the source.
        address: of the source, such as `knowledge:handbook/rules/travel.md`, or `tool:sum`.
        quote: the words, as the source has them.
        sentence: the sentence around them.
        place: where they stand.
        digest: of the kept text.
        read_at: when the source was read, in seconds since 1970.
        call: of a result of a tool, the number of the entry and the index of its call; null for a page.
    """

    number: int
    title: str
    address: str
    quote: str
    sentence: str
    place: QuotePlace
    digest: str
    read_at: float
    call: tuple[int, int] | None = None


class CheckedReference(QuoteReference, frozen=True, kw_only=True):
    """A reference that was checked once more.

    Attributes:
        verified: whether the quote stands at its place in the kept text.
        problem: why not; empty where it does.
    """

    verified: bool = True
    problem: str = ""


def references_in(state: RunState) -> list[QuoteReference]:
    """The references that a run has made, by number."""
    found: dict[int, QuoteReference] = {}
    for _, call, result, _ in made_calls(state):
        reference = reference_of(call, result)
        if reference is not None:
            found.setdefault(reference.number, reference)
    return [found[number] for number in sorted(found)]


def reference_of(call: ToolCall, result: ToolResult) -> QuoteReference | None:
    """The reference that a call has made; None for a call that has made none."""
    told = result.structured.get(REFERENCE) if call.name == QUOTE and isinstance(result.structured, dict) else None
    try:
        return None if told is None else msgspec.convert(told, QuoteReference)
    except msgspec.ValidationError:
        return None


async def references_before(journal: Journal, started: Started) -> list[QuoteReference]:
    """The references of earlier turns of a conversation, by number."""
    found: dict[int, QuoteReference] = {}
    async for state in _turns_before(journal, started):
        found.update({each.number: each for each in references_in(state) if each.number not in found})
    return [found[number] for number in sorted(found)]


async def _turns_before(journal: Journal, started: Started) -> AsyncIterator[RunState]:
    user = started.user
    for _ in range(TURNS_MAX):
        if not started.previous:
            return
        entries = await journal.read(started.previous, tenant=started.tenant)
        if not entries:
            return
        state = RunState(entries)
        started = state.beginning()
        if started.user != user:
            return
        yield state


async def checked(journal: Journal, run_id: str, references: Sequence[QuoteReference]) -> list[CheckedReference]:
    """References of a run, each checked against the text that the record keeps.

    Args:
        journal: the record.
        run_id: the run.
        references: its references.
    """
    entries = await journal.read(run_id)
    state, attached = RunState(entries), dict[str, KeptPage]()
    if any(each.address.startswith(ATTACHMENT) for each in references):
        attached = await attached_pages(journal, entries)
    return [await _checked(journal, state, attached, each) for each in references]


async def _checked(
    journal: Journal, state: RunState, attached: Mapping[str, KeptPage], reference: QuoteReference
) -> CheckedReference:
    problem = ""
    try:
        text = await _text_of(journal, state, attached, reference)
        if text[reference.place.start : reference.place.end] != reference.quote or not reference.quote:
            problem = "the quote does not stand at its place in the kept text"
    except JournalError as error:
        problem = str(error)
    told = {name: getattr(reference, name) for name in QuoteReference.__struct_fields__}
    return CheckedReference(**told, verified=not problem, problem=problem)


async def text_around(
    journal: Journal, run_id: str, reference: QuoteReference, user: CollectionUser
) -> tuple[str, str] | None:
    """The kept text before and behind the quote of a reference, up to `AROUND_CHARS` characters each.

    Args:
        journal: the record.
        run_id: the run of the reference.
        reference: the reference.
        user: who looks: words of a collection are shown to those alone who may read the collection now.

    Returns:
        The two texts; None for a text that is not there any more, was altered, or is not for this user.
    """
    entries = await journal.read(run_id)
    attached = await attached_pages(journal, entries) if reference.address.startswith(ATTACHMENT) else {}
    try:
        if reference.call is None:
            for name in (await _page_of(journal, attached, reference)).collections:
                await named(journal, user, name)
        text = await _text_of(journal, RunState(entries), attached, reference)
    except (JournalError, UnknownName):
        return None
    start, end = reference.place.start, reference.place.end
    if text[start:end] != reference.quote:
        return None
    return text[max(0, start - AROUND_CHARS) : start], text[end : end + AROUND_CHARS]


async def _page_of(journal: Journal, attached: Mapping[str, KeptPage], reference: QuoteReference) -> KeptPage:
    kept = attached.get(reference.digest) or await kept_page(journal, reference.digest)
    if kept.address != reference.address:
        raise JournalError("the kept text is of another source")
    return kept


async def _text_of(
    journal: Journal, state: RunState, attached: Mapping[str, KeptPage], reference: QuoteReference
) -> str:
    """The text that a reference was taken from.

    Raises:
        JournalError: it is not there any more, or is another.
    """
    if reference.call is None:
        return (await _page_of(journal, attached, reference)).page.text
    for place, call, result, _ in made_calls(state):
        if (place.cause, place.index) == reference.call and reference.address == f"tool:{call.name}":
            if hashlib.sha256(result.text.encode(errors="replace")).hexdigest() != reference.digest:
                raise JournalError("the result of the tool is another than it was")
            return result.text
    raise JournalError("the result of the tool is not on record")
