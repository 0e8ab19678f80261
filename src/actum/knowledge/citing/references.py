"""References: quotes of a run with where they stand, as a view of the record; each is checked against the kept text."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct, structs

from ...core.call import ToolResult
from ...core.errors import JournalError, UnknownName
from ...core.interfaces import Journal
from ...core.run.record import Started
from ...journal.recording import RunState
from ..collections import CollectionUser, named
from .attached import attached_pages
from .sources import ATTACHMENT, TOOL, KeptPage, digest_of_result, kept_page, made_calls

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
    return _by_number(reference_of(result) for _, _, result in made_calls(state))


def _by_number(found: Iterable[QuoteReference | None]) -> list[QuoteReference]:
    """References by number: of those with one number, the first."""
    known: dict[int, QuoteReference] = {}
    for each in found:
        if each is not None:
            known.setdefault(each.number, each)
    return [known[number] for number in sorted(known)]


def reference_of(result: ToolResult) -> QuoteReference | None:
    """The reference that a call has made; None for a call that has made none, and for a result that was given."""
    is_reference = result.source_kind == "reference" and not result.given
    told = result.structured.get(REFERENCE) if is_reference and isinstance(result.structured, dict) else None
    try:
        return None if told is None else msgspec.convert(told, QuoteReference)
    except msgspec.ValidationError:
        return None


async def references_before(journal: Journal, started: Started) -> list[QuoteReference]:
    """The references of earlier turns of a conversation, by number."""
    return _by_number([each async for _, state in turns_before(journal, started) for each in references_in(state)])


async def turns_before(journal: Journal, started: Started) -> AsyncIterator[tuple[str, RunState]]:
    """The earlier turns of a conversation with their ids, the latest first."""
    user, run_id = started.user, started.previous
    for _ in range(TURNS_MAX):
        entries = await journal.read(run_id, tenant=started.tenant) if run_id else []
        if not entries:
            return
        state = RunState(entries)
        started = state.beginning()
        if started.user != user:
            return
        yield run_id, state
        run_id = started.previous


async def checked(journal: Journal, run_id: str, references: Sequence[QuoteReference]) -> list[CheckedReference]:
    """References of a run, each checked against the text that the record keeps.

    Args:
        journal: the record.
        run_id: the run.
        references: its references.
    """
    kept = await _KeptTexts.of(journal, run_id, references)
    return [await _checked(kept, each) for each in references]


async def _checked(kept: _KeptTexts, reference: QuoteReference) -> CheckedReference:
    problem = ""
    try:
        text = await kept.text(reference)
        if text[reference.place.start : reference.place.end] != reference.quote or not reference.quote:
            problem = "the quote does not stand at its place in the kept text"
    except JournalError as error:
        problem = str(error)
    return CheckedReference(*structs.astuple(reference), verified=not problem, problem=problem)


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
    kept = await _KeptTexts.of(journal, run_id, [reference])
    try:
        if reference.call is None:
            for name in (await kept.page(reference)).collections:
                await named(journal, user, name)
        text = await kept.text(reference)
    except (JournalError, UnknownName):
        return None
    start, end = reference.place.start, reference.place.end
    if text[start:end] != reference.quote:
        return None
    return text[max(0, start - AROUND_CHARS) : start], text[end : end + AROUND_CHARS]


class _KeptTexts(Struct, frozen=True):
    """The texts that references of a run were taken from. Each is told, or a JournalError says that the text is not
    there any more, or is another.
    """

    journal: Journal
    state: RunState
    attached: Mapping[str, KeptPage]

    @classmethod
    async def of(cls, journal: Journal, run_id: str, references: Sequence[QuoteReference]) -> _KeptTexts:
        entries = await journal.read(run_id)
        has_attached = any(each.address.startswith(ATTACHMENT) for each in references)
        return cls(journal, RunState(entries), await attached_pages(journal, entries) if has_attached else {})

    async def page(self, reference: QuoteReference) -> KeptPage:
        kept = self.attached.get(reference.digest) or await kept_page(self.journal, reference.digest)
        if kept.address != reference.address:
            raise JournalError("the kept text is of another source")
        return kept

    async def text(self, reference: QuoteReference) -> str:
        if reference.call is None:
            return (await self.page(reference)).page.text
        for place, call, result in made_calls(self.state):
            if (place.cause, place.index) == reference.call and reference.address == f"{TOOL}{call.name}":
                if digest_of_result(result.text) != reference.digest:
                    raise JournalError("the result of the tool is another than it was")
                return result.text
        raise JournalError("the result of the tool is not on record")
