"""PDF as a page: the text of each page, and the headings that the outline names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import pypdfium2 as pdfium

from .page import DocumentPage, PageWriter, UnreadableDocument

PAGES_MAX = 500
OUTLINE_MAX = 2_000
_ENDS = re.compile(r"\r\n?")
_BROKEN_WORD = re.compile("\ufffe\\s*")
"""Where a word goes on behind the end of a line."""


def read_pdf(data: bytes) -> DocumentPage:
    """The page of a PDF file.

    Raises:
        UnreadableDocument: it is encrypted, broken, has no text, or too many pages.
    """
    try:
        document = pdfium.PdfDocument(data)
    except pdfium.PdfiumError as error:
        raise UnreadableDocument("encrypted" if "assword" in str(error) else "broken") from None
    if len(document) > PAGES_MAX:
        raise UnreadableDocument("too_many_pages")
    writer = PageWriter()
    writer.title = _title(document)
    named: dict[int, list[tuple[str, int]]] = {}
    for number, title, level in islice(_outline(document), OUTLINE_MAX):
        named.setdefault(number, []).append((title, level))
    for number in range(len(document)):
        try:
            text = document[number].get_textpage().get_text_range()
        except pdfium.PdfiumError:
            continue
        writer.block()
        writer.place(page=number + 1)
        _write(writer, _BROKEN_WORD.sub("", _ENDS.sub("\n", text)), named.get(number, ()))
    if not writer.length:
        raise UnreadableDocument("no_text")
    return writer.page()


def _write(writer: PageWriter, text: str, named: list[tuple[str, int]] | tuple[()]) -> None:
    """Write the text of a page, line by line; a line that the outline names is a heading."""
    levels = {" ".join(title.split()).casefold(): level for title, level in named}
    for line in text.split("\n"):
        level = levels.pop(" ".join(line.split()).casefold(), 0)
        if level:
            with writer.heading(level):
                writer.words(line)
        else:
            writer.line()
            writer.words(line)


def _title(document: pdfium.PdfDocument) -> str:
    try:
        return str(document.get_metadata_value("Title") or "")
    except pdfium.PdfiumError:
        return ""


def _outline(document: pdfium.PdfDocument) -> Iterator[tuple[int, str, int]]:
    """Number of the page from 0, title and level of each entry of the outline."""
    try:
        for entry in document.get_toc():
            target = entry.get_dest()
            page = None if target is None else target.get_index()
            if page is not None:
                yield page, entry.get_title(), entry.level + 1
    except pdfium.PdfiumError:
        return
