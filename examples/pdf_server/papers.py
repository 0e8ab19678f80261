"""Tools that read PDF files in one folder, and nothing outside of it. They know nothing of MCP."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import TypedDict

import pypdfium2 as pdfium

from actum import ToolError, kinds, tool
from actum.toolsets.function import FunctionTool

PDF_BYTES_MAX = 20_000_000
FOUND_MAX = 20
_READING = Lock()
"""PDFium reads in one thread at a time."""


class Page(TypedDict):
    """A page of a file. Pages are counted from 1."""

    file: str
    page: int
    pages: int
    text: str


class Hit(TypedDict):
    """A line that has the words looked for."""

    file: str
    page: int
    line: str


def papers(folder: Path) -> list[FunctionTool]:
    """The three tools, around one folder."""

    @tool(effects={"read"})
    def list_pdfs() -> list[str]:
        """List the PDF files there are."""
        return [path.relative_to(folder).as_posix() for path in sorted(folder.rglob("*.pdf")) if not path.is_symlink()]

    @tool(effects={"read"})
    def read_pdf(file: str, page: int = 1) -> Page:
        """Read a page of a PDF file.

        Args:
            file: its name, as `list_pdfs` tells it.
            page: which page, from 1.
        """
        texts = _texts(folder, file)
        if not 1 <= page <= len(texts):
            raise ToolError(f"{file} has {len(texts)} pages; there is no page {page}.")
        return {"file": file, "page": page, "pages": len(texts), "text": texts[page - 1]}

    @tool(effects={"read"})
    def search_pdfs(words: str) -> list[Hit]:
        """Find the lines of all PDF files that have these words.

        Args:
            words: what to look for; every word has to be in the line.
        """
        wanted = words.casefold().split()
        pages = [(file, number, text) for file in list_pdfs() for number, text in enumerate(_texts(folder, file), 1)]
        hits: list[Hit] = [
            {"file": file, "page": number, "line": line}
            for file, number, text in pages
            for line in text.splitlines()
            if all(word in line.casefold() for word in wanted)
        ]
        return hits[:FOUND_MAX]

    return [list_pdfs, read_pdf, search_pdfs]


def _texts(folder: Path, file: str) -> list[str]:
    """The text of each page. The file is opened below the folder, through no link, whoever changes it meanwhile."""
    try:
        with kinds.open_under(folder, file, "rb") as opened:
            if os.fstat(opened.fileno()).st_size > PDF_BYTES_MAX:
                raise ToolError(f"{file} is larger than {PDF_BYTES_MAX} bytes.")
            with _READING, pdfium.PdfDocument(opened.read()) as document:
                texts = [page.get_textpage().get_text_range() for page in document]
            return [text.replace("\r\n", "\n") for text in texts]
    except (OSError, kinds.Unclear):
        raise ToolError(f"There is no file {file!r} that may be read. list_pdfs tells which there are.") from None
    except pdfium.PdfiumError:
        raise ToolError(f"{file} is not a PDF file, or a broken one.") from None
