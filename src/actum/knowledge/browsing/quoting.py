"""`quote`: words of a source become a numbered reference, where they stand there in one piece."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from itertools import islice

from msgspec import Struct, to_builtins

from ...core.errors import ToolError
from ...core.json import JsonObject
from ..citing.matching import QUOTE_CHARS_MAX, ComparedText, found_in, nearest, says_enough, sentence_around
from ..citing.references import REFERENCE, QuotePlace, QuoteReference, references_before, references_in
from ..citing.sources import ADDRESS, ATTACHMENT, BROWSES, QUOTE, PageRead, ResultSource, results_of
from ..reading.page import DocumentPage, TextSpan
from .showing import WORDS, place_of
from .visit import PageTold, Visit

SOURCES_TOLD = 12
PLACES_MAX = 200


class _Source(Struct, frozen=True):
    """A text that may be quoted."""

    text: str
    title: str
    address: str
    digest: str
    read_at: float
    page: DocumentPage | None = None
    result: ResultSource | None = None


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
            if stands.page is None
            else "This says too little: quote at least four words, or a whole cell, heading or item."
        )
    near = await asyncio.to_thread(_nearest, words, sources)
    raise ToolError(
        "These words do not stand there in one piece. Quote letter for letter. The nearest passage: {near}", near=near
    )


def _found(words: str, source: _Source) -> tuple[_Source | None, TextSpan | None]:
    """The source, where the words stand there, and the first place at which they say enough."""
    stands = None
    for span in islice(found_in(words, ComparedText.of(source.text)), PLACES_MAX):
        stands = source
        page = source.page
        if _is_whole_value(source.text, span) if page is None else says_enough(page.text, span, page.units):
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
    page = source.page
    first, last = (page.position(span.start), page.position(span.end - 1)) if page is not None else (None, None)
    lines = None
    if page is not None and first is not None and last is not None and first.line:
        begins = first.line + page.text.count("\n", first.start, span.start)
        lines = (begins, last.line + page.text.count("\n", last.start, span.end))
    reference = QuoteReference(
        number=max((each.number for each in known), default=0) + 1,
        title=source.title,
        address=source.address,
        quote=source.text[span.start : span.end],
        sentence=sentence_around(source.text, span),
        place=QuotePlace((first.page or None) if first is not None else None, lines, span.start, span.end),
        digest=source.digest,
        read_at=source.read_at,
        call=None if source.result is None else (source.result.place.cause, source.result.place.index),
    )
    said = WORDS[visit.language]["quoted"].format(
        number=reference.number,
        quote=" ".join(reference.quote.split()),
        title=reference.title,
        address=reference.address,
        place=place_of(reference.place.page, lines, visit.language),
    )
    structured: JsonObject = {REFERENCE: to_builtins(reference)}
    return PageTold(said, structured)


async def _sources(visit: Visit, named: str) -> list[_Source]:
    """The texts that are meant by a source, the latest first.

    Raises:
        ToolError: there is none.
    """
    meant = [each for each in reversed(visit.read) if _is_meant(each, named)] if named else _current(visit)
    found: dict[str, _Source] = {}
    for each in meant:
        if each.digest not in found:
            kept = await visit.kept(each)
            if kept.is_document:
                found[each.digest] = _Source(
                    kept.page.text, kept.title, kept.address, each.digest, kept.read_at, page=kept.page
                )
    for digest, kept in visit.attached.items():
        is_meant = named in (kept.address, kept.address.removeprefix(ATTACHMENT)) if named else not meant
        if is_meant and digest not in found:
            found[digest] = _Source(kept.page.text, kept.title, kept.address, digest, kept.read_at, page=kept.page)
    results = results_of(visit.state, (*BROWSES, QUOTE))
    if named:
        began = visit.journal.now()
        for result in reversed(results):
            if result.tool == named:
                digest = hashlib.sha256(result.text.encode(errors="replace")).hexdigest()
                found[f"{result.place}"] = _Source(
                    result.text, result.tool, f"tool:{result.tool}", digest, began, result=result
                )
    if not found:
        known = dict.fromkeys(
            [
                *(each.address for each in visit.attached.values()),
                *(each.address for each in visit.read if each.address != "search"),
                *(r.tool for r in results),
            ]
        )
        raise ToolError(
            "There is no such source. Sources of this run: {known}",
            known=", ".join(list(known)[-SOURCES_TOLD:]) or "none",
        )
    return list(found.values())


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
