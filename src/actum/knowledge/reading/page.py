"""`DocumentPage`: what a person would see of a document, of whatever kind its file is; `PageWriter` writes one."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

TEXT_CHARS_MAX = 2_000_000
LINKS_MAX = 5_000
SPANS_MAX = 100_000
TITLE_CHARS_MAX = 300
TARGET_CHARS_MAX = 500
_SPACE = re.compile(r"\s+")
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9"
    "-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Signs that nobody sees: controls, soft hyphens, signs without width, marks of direction, and tags."""


class UnreadableDocument(Exception):
    """A document can not be read.

    Args:
        problem: why, by its name in `PROBLEMS` of `knowledge.problems`.
        detail: a word more, such as the name of an extra.
    """

    def __init__(self, problem: str, detail: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.detail = detail


class TextSpan(Struct, frozen=True, array_like=True):
    """A part of a page's text, in characters.

    Attributes:
        start, end: the first character, and the one behind the last.
    """

    start: int
    end: int


class Heading(Struct, frozen=True, array_like=True):
    """A heading: its part of the text, and its level from 1 on."""

    start: int
    end: int
    level: int


class Link(Struct, frozen=True, array_like=True):
    """A link: its words in the text, and where it leads, as the document says it."""

    start: int
    end: int
    target: str


class Position(Struct, frozen=True, array_like=True):
    """The place in the file of the text from here on.

    Attributes:
        start: the first character.
        page: of a PDF file the page, of slides the slide, from 1; 0 where the file has none.
        line: the line of the file or the row of a sheet, from 1; 0 where there is none.
    """

    start: int
    page: int = 0
    line: int = 0


class DocumentPage(Struct, frozen=True):
    """What a person would see of a document.

    Attributes:
        title: what the document calls itself; empty where it says none.
        text: all of it. Paragraphs have a blank line between them.
        headings: in order.
        links: in order.
        positions: in order.
        units: cells, headings and items of lists, which say something though they are short.
    """

    title: str
    text: str
    headings: tuple[Heading, ...] = ()
    links: tuple[Link, ...] = ()
    positions: tuple[Position, ...] = ()
    units: tuple[TextSpan, ...] = ()

    def position(self, at: int) -> Position:
        """The place of a character in the file."""
        number = bisect_right(self.positions, at, key=lambda each: each.start)
        return self.positions[number - 1] if number else Position(0)


class Mark:
    """The beginning of a part that is being written; -1 until something is."""

    def __init__(self) -> None:
        self.start = -1


class PageWriter:
    """Writes the text of a page, with its parts.

    Attributes:
        title: what the document calls itself.
        length: how many characters there are.
        is_hidden: nobody sees what is written now, so it is left out.
    """

    def __init__(self) -> None:
        self.title = ""
        self.is_hidden = False
        self.length = 0
        self._parts: list[str] = []
        self._newlines = 2  # with which the text ends; nothing is parted from the beginning
        self._wanted = 0
        self._space = False
        self._waiting: list[Mark] = []
        self._headings: list[Heading] = []
        self._links: list[Link] = []
        self._positions: list[Position] = []
        self._units: list[TextSpan] = []

    def words(self, text: str) -> None:
        """Write words; white space of any length is one blank, or nothing at the beginning of a line."""
        if self.is_hidden:
            return
        text = _SPACE.sub(" ", _UNSEEN.sub("", _SPACE.sub(" ", text)))
        self._space = self._space or text.startswith(" ")
        if stripped := text.strip(" "):
            self._put(stripped)
            self._space = text.endswith(" ")

    def exactly(self, text: str) -> None:
        """Write text with its own line breaks and blanks, such as code."""
        text = _UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
        if text.strip("\n") and not self.is_hidden:
            self._put(text)

    def line(self) -> None:
        """What comes next begins a line."""
        self._wanted, self._space = max(self._wanted, 1), False

    def block(self) -> None:
        """What comes next is another paragraph."""
        self._wanted, self._space = 2, False

    def place(self, page: int = 0, line: int = 0) -> None:
        """What comes next stands here in the file."""
        if self._positions and self._positions[-1].start == self.length:
            self._positions.pop()
        if len(self._positions) < SPANS_MAX:
            self._positions.append(Position(self.length, page, line))

    @contextmanager
    def heading(self, level: int) -> Iterator[None]:
        """What is written within the block is a heading."""
        self.block()
        mark = self.begin()
        yield
        self.end_heading(mark, level)

    @contextmanager
    def unit(self) -> Iterator[None]:
        """What is written within the block is a cell or an item of a list."""
        mark = self.begin()
        yield
        self.end_unit(mark)

    def begin(self) -> Mark:
        """The beginning of a part."""
        mark = Mark()
        self._waiting.append(mark)
        return mark

    def end_heading(self, mark: Mark, level: int) -> None:
        """The end of a heading."""
        if (span := self.ended(mark)) is not None and len(self._headings) < SPANS_MAX:
            self._headings.append(Heading(span.start, span.end, level))
            self._units.append(span)
        self.block()

    def end_unit(self, mark: Mark) -> None:
        """The end of a cell or an item."""
        if (span := self.ended(mark)) is not None and len(self._units) < SPANS_MAX:
            self._units.append(span)

    def end_link(self, mark: Mark, target: str) -> None:
        """The end of the words of a link."""
        span = self.ended(mark)
        if span is not None and 0 < len(target) <= TARGET_CHARS_MAX and len(self._links) < LINKS_MAX:
            self._links.append(Link(span.start, span.end, target))

    def ended(self, mark: Mark) -> TextSpan | None:
        """The part from a beginning to here; None where nothing was written."""
        if mark.start < 0:
            self._waiting.remove(mark)
            return None
        return TextSpan(mark.start, self.length)

    def page(self) -> DocumentPage:
        """The page."""
        text = "".join(self._parts)
        return DocumentPage(
            title=_SPACE.sub(" ", _UNSEEN.sub("", self.title)).strip()[:TITLE_CHARS_MAX],
            text=text,
            headings=tuple(self._headings),
            links=tuple(sorted(self._links, key=lambda each: each.start)),
            positions=tuple(self._positions),
            units=tuple(sorted(self._units, key=lambda each: each.start)),
        )

    def _put(self, text: str) -> None:
        if self.length and self._wanted > self._newlines:
            self._write("\n" * (self._wanted - self._newlines))
        elif self._space and not self._newlines:
            self._write(" ")
        self._wanted, self._space = 0, False
        if self._positions and self._positions[-1].start > self.length - 3:  # the break before belongs to neither
            self._positions[-1] = Position(self.length, self._positions[-1].page, self._positions[-1].line)
        for mark in self._waiting:
            mark.start = self.length
        self._waiting.clear()
        self._write(text)

    def _write(self, text: str) -> None:
        self.length += len(text)
        if self.length > TEXT_CHARS_MAX:
            raise UnreadableDocument("too_much_text")
        self._parts.append(text)
        whole = len(text) - len(text.rstrip("\n"))
        self._newlines = whole if whole < len(text) else self._newlines + whole


def title_of(page: DocumentPage, path: str) -> str:
    """The title of a document: what it calls itself, its first heading, or the last part of its path."""
    named = page.title
    if not named and page.headings:
        first = page.headings[0]
        named = " ".join(page.text[first.start : first.end].split())
    return named[:300] or path.rpartition("/")[2]
