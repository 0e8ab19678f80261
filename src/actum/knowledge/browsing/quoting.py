"""`quote`: words of a source become a numbered reference, where they stand there in one piece."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, to_builtins

from ...core.errors import ToolError
from ...core.json import JsonObject
from ...core.message import Message, Reply
from ..citing.answer import numbers_cited
from ..citing.matching import QUOTE_CHARS_MAX, ComparedText, found_in, nearest, says_enough, sentence_around
from ..citing.reference_forms import plain_references
from ..citing.references import REFERENCE, QuotePlace, QuoteReference, references_before, references_in
from ..citing.sources import ADDRESS, ATTACHMENT, TOOL, KeptPage, PageRead, digest_of_result, results_of
from ..reading.page import DocumentPage, TextSpan
from .showing import WORDS, place_of, without_marks
from .visit import PageTold, Visit

SOURCES_TOLD = 12
PLACES_MAX = 200


class _Source(Struct, frozen=True):
    """A text that may be quoted: a page, or what a call of a tool has answered, as a page."""

    kept: KeptPage
    digest: str
    call: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        return self.kept.page.text


async def quote(visit: Visit, words: str, source: str) -> PageTold:
    """Make a reference of words of a source.

    Args:
        visit: where the run stands.
        words: the words.
        source: the page, the document or the tool; empty for the page on which the run stands.

    Raises:
        ToolError: the words do not stand there in one piece, say too little, or there is no such source.
    """
    if len(words) > QUOTE_CHARS_MAX:
        raise ToolError("A quote has at most {most} characters.", most=QUOTE_CHARS_MAX)
    sources = await _sources(visit, source.strip())
    stands: _Source | None = None
    for each in sources:
        there, span = await asyncio.to_thread(_found, words, each)
        if span is not None:
            return await _made(visit, each, span)
        stands = stands or there
    if stands is not None:
        raise ToolError(
            "Of a result of a tool, quote a whole value."
            if stands.call is not None
            else "This says too little: quote at least four words, or a whole cell, heading or item."
        )
    near = await asyncio.to_thread(_nearest, words, sources)
    raise ToolError(
        "These words do not stand there in one piece. Quote letter for letter. The nearest passage: {near}",
        near=without_marks(near),
    )


def _found(words: str, source: _Source) -> tuple[_Source | None, TextSpan | None]:
    """The source, where the words stand there, and the first place at which they say enough."""
    stands = None
    for span in islice(found_in(words, ComparedText.of(source.text)), PLACES_MAX):
        stands = source
        is_result, units = source.call is not None, source.kept.page.units
        if _is_whole_value(source.text, span) if is_result else says_enough(source.text, span, units):
            return source, span
    return stands, None


def _nearest(words: str, sources: Sequence[_Source]) -> str:
    found = [nearest(words, each.text) for each in sources[:SOURCES_TOLD]]
    return max(found, key=lambda text: len(set(text.split()) & set(words.split())), default="")


def _is_whole_value(text: str, span: TextSpan) -> bool:
    """Whether a part of a result is a whole value: all of a line, or between marks of JSON."""
    before, behind = text[: span.start].rstrip(" "), text[span.end :].lstrip(" ")
    starts = not before or before[-1] in '\n"[{:,'
    ends = not behind or behind[0] in '\n"]},.' or behind.startswith(":")
    return starts and ends


async def _made(visit: Visit, source: _Source, span: TextSpan) -> PageTold:
    started = visit.state.beginning()
    known = [*await references_before(visit.journal, started), *references_in(visit.state)]
    kept, text = source.kept, source.text
    first, last = kept.page.position(span.start), kept.page.position(span.end - 1)
    lines = None
    if first.line:
        begins = first.line + text.count("\n", first.start, span.start)
        lines = (begins, last.line + text.count("\n", last.start, span.end))
    reference = QuoteReference(
        number=max(cited_in(started.history, known)) + 1,
        title=kept.title,
        address=kept.address,
        quote=text[span.start : span.end],
        sentence=sentence_around(text, span),
        place=QuotePlace(first.page or None, lines, span.start, span.end),
        digest=source.digest,
        read_at=kept.read_at,
        call=source.call,
    )
    said = WORDS[visit.language]["quoted"].format(
        number=reference.number,
        quote=without_marks(" ".join(reference.quote.split())),
        title=without_marks(reference.title),
        address=without_marks(reference.address),
        place=place_of(reference.place.page, lines, visit.language),
    )
    structured: JsonObject = {REFERENCE: to_builtins(reference)}
    return PageTold(said, structured)


def cited_in(history: Sequence[Message], known: Sequence[QuoteReference]) -> list[int]:
    """The numbers that references have: those on record, and those that a client's own history cites; 0 at first."""
    said = [each.text for each in history if isinstance(each, Reply)]
    cited = [number for text in said for number in numbers_cited(plain_references(text))]
    return [0, *(each.number for each in known), *cited]


async def _sources(visit: Visit, named: str) -> list[_Source]:
    """The texts that are meant by a source, the latest first.

    Raises:
        ToolError: there is none.
    """
    meant = [each for each in reversed(visit.read) if _is_meant(each, named)] if named else _current(visit)
    by_digest = {each.digest: each for each in meant}
    pages = {digest: await visit.kept(each) for digest, each in by_digest.items()}
    found = [_Source(kept, digest) for digest, kept in pages.items() if kept.is_document]
    for digest, kept in visit.attached.items():
        is_meant = named in (kept.address, kept.address.removeprefix(ATTACHMENT)) if named else not meant
        if is_meant and digest not in pages:
            found.append(_Source(kept, digest))
    results = results_of(visit.state)
    for place, tool, text in reversed(results):
        if tool == named:
            answered = KeptPage(f"{TOOL}{tool}", tool, visit.journal.now(), DocumentPage("", text), ())
            found.append(_Source(answered, digest_of_result(text), (place.cause, place.index)))
    if not found:
        known = dict.fromkeys(
            [
                *(each.address for each in visit.attached.values()),
                *(each.address for each in visit.read if each.address != "search"),
                *(tool for _, tool, _ in results),
            ]
        )
        raise ToolError(
            "There is no such source. Sources of this run: {known}",
            known=", ".join(list(known)[-SOURCES_TOLD:]) or "none",
        )
    return found


def _current(visit: Visit) -> list[PageRead]:
    """The page on which the run stands; on a list of results, and where no page is open, the found passages."""
    now = visit.now
    if now is not None and now.address != "search":
        return [now]
    return [each for each in reversed(visit.read) if each.act == "found"]


def _is_meant(read: PageRead, named: str) -> bool:
    """Whether a page is meant by a source: by its address, its path, the last part of it, or its title."""
    if read.address == "search":
        return False
    path = read.address.removeprefix(ADDRESS).partition("/")[2]
    return named in (read.address, path, path.rpartition("/")[2], read.title)
