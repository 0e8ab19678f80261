"""Plain text and code as a page: as it is, with the lines of the file."""

from __future__ import annotations

from .charset import decoded
from .page import DocumentPage, PageWriter


def read_text(data: bytes) -> DocumentPage:
    """The page of a text."""
    writer = PageWriter()
    number, begun = 0, False
    for number, line in enumerate(decoded(data).replace("\r\n", "\n").replace("\r", "\n").split("\n"), 1):
        if not line.strip():
            begun = False
            continue
        if not begun:
            writer.block()
            writer.place(line=number)
            begun = True
        else:
            writer.line()
            writer.place(line=number)
        writer.exactly(line)
    return writer.page()
