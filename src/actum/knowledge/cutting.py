"""Cuts the text of a page into passages: at headings, then at paragraphs, then where a line or a sentence ends."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec import Struct

from .reading.page import DocumentPage

PASSAGE_CHARS = 1_200
PASSAGE_CHARS_MAX = 1_800
"""A paragraph of up to this many characters is left whole."""
_PARAGRAPH = re.compile(r"\n\n+")
_ENDS = (re.compile(r"\n"), re.compile(r"(?<=[.!?。！？；])\s*"), re.compile(r"\s+"))


class Passage(Struct, frozen=True):
    """A passage.

    Attributes:
        start, end: its part of the text.
        heading: the heading that it stands under; empty for none.
        page: the page or slide, from 1; 0 for none.
        first, last: the first and the last line, from 1; 0 for none.
    """

    start: int
    end: int
    heading: str
    page: int
    first: int
    last: int


def passages_of(page: DocumentPage) -> list[Passage]:
    """The passages of a page, in order. Together they hold all of its words, each once."""
    starts = [0, *(each.start for each in page.headings if each.start), len(page.text)]
    names = {each.start: page.text[each.start : each.end] for each in page.headings}
    found = []
    for start, end in pairwise(starts):
        heading = " ".join(names.get(start, "").split())
        for first, last in _parts(page.text, start, end):
            begins, ends = page.position(first), page.position(max(first, last - 1))
            line = ends.line + page.text.count("\n", ends.start, last) if ends.line else 0
            found.append(Passage(first, last, heading, begins.page, begins.line, line))
    return found


def _parts(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Whole paragraphs, as many together as fit; white space around them is left out."""
    at, last = start, start
    for paragraph in _paragraphs(text, start, end):
        if last > at and paragraph[1] - at > PASSAGE_CHARS:
            yield from _stripped(text, at, last)
            at = paragraph[0]
        last = paragraph[1]
    yield from _stripped(text, at, last)


def _paragraphs(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for gap in [*(each.span() for each in _PARAGRAPH.finditer(text, start, end)), (end, end)]:
        while gap[0] - at > PASSAGE_CHARS_MAX:
            cut = _cut(text, at)
            yield at, cut
            at = cut
        if gap[0] > at:
            yield at, gap[0]
        at = gap[1]


def _cut(text: str, at: int) -> int:
    """Where a long paragraph is cut: at the last end of a line, else of a sentence, else of a word."""
    for end in _ENDS:
        found = [each.end() for each in end.finditer(text, at + PASSAGE_CHARS // 2, at + PASSAGE_CHARS)]
        if found:
            return found[-1]
    return at + PASSAGE_CHARS


def _stripped(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    if piece.strip():
        yield start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())
