"""Markdown as a page. Source: CommonMark 0.31, with tables."""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .charset import decoded
from .html import HiddenPart, write_html
from .page import DocumentPage, Mark, PageWriter


def read_markdown(data: bytes) -> DocumentPage:
    """The page of a Markdown document; lines are those of the file."""
    text, first = _without_front_matter(decoded(data))
    writer = _Writer(first)
    writer.write(MarkdownIt("commonmark").enable("table").parse(text))
    return writer.page.page()


def _without_front_matter(text: str) -> tuple[str, int]:
    """The text behind settings between two lines `---` at its beginning, and how many lines they take."""
    lines = text.split("\n")
    if lines[0].strip() == "---":
        for number, line in enumerate(lines[1:200], 1):
            if line.strip() in ("---", "..."):
                return "\n".join(lines[number + 1 :]), number + 1
    return text, 0


class _Writer:
    """Writes the tokens of a document."""

    def __init__(self, first: int) -> None:
        self.page = PageWriter()
        self._first = first
        self._marks: list[Mark] = []
        self._lists: list[int] = []
        self._cells = 0
        self._hidden = HiddenPart()

    def write(self, tokens: Sequence[Token]) -> None:
        for token in tokens:
            if token.map is not None and token.type in _PLACED:
                self.page.place(line=self._first + token.map[0] + 1)
            self._one(token)

    def _one(self, token: Token) -> None:
        page = self.page
        if token.type in _PARTS:
            self._begin(token)
        elif token.type == "heading_close":
            page.end_heading(self._marks.pop(), int(token.tag[1:]))
        elif token.type in ("list_item_close", "th_close", "td_close"):
            page.end_unit(self._marks.pop())
            if token.type == "list_item_close":
                page.line()
        elif token.type in _LISTS:
            self._list(token)
        elif token.type == "tr_open":
            self._cells = 0
            page.line()
        elif token.type == "paragraph_open":
            if not token.hidden:
                page.line() if self._lists else page.block()
        elif token.type in ("code_block", "fence", "html_block"):
            self._exact(token)
        elif token.type == "inline":
            self._inline(token.children or ())
        elif token.type in _APART:
            page.block()

    def _exact(self, token: Token) -> None:
        """A block of code or HTML."""
        self.page.block()
        if token.type == "html_block":
            self.page.is_hidden = False
            write_html(self.page, f"{self._hidden.begins}{token.content}")
            self._follow(token.content)
            if self._hidden.tag == "p":  # the next paragraph ends it
                self._show("", 0)
        else:
            self.page.exactly(token.content.rstrip("\n"))
        self.page.block()

    def _follow(self, html: str) -> None:
        """Look at the tags of a piece of HTML, which may hide what comes next."""
        self._hidden.follow(html)
        self.page.is_hidden = bool(self._hidden.tag)

    def _show(self, tag: str, depth: int) -> None:
        """Go back to what was hidden at an earlier place."""
        self._hidden.tag, self._hidden.depth = tag, depth
        self.page.is_hidden = bool(tag)

    def _list(self, token: Token) -> None:
        """The beginning or the end of a list."""
        if token.type.endswith("open"):
            self._lists.append(int(token.attrGet("start") or 1) if token.type.startswith("ordered") else -1)
            is_inner = len(self._lists) > 1
        else:
            self._lists.pop()
            is_inner = bool(self._lists)
        self.page.line() if is_inner else self.page.block()

    def _begin(self, token: Token) -> None:
        page = self.page
        if token.type == "heading_open":
            page.block()
        elif token.type == "list_item_open":
            page.line()
            number = self._lists[-1]
            page.words("- " if number < 0 else f"{number}. ")
            self._lists[-1] = number + (number >= 0)
        else:
            if self._cells:
                page.words(" | ")
            self._cells += 1
        self._marks.append(page.begin())

    def _inline(self, tokens: Sequence[Token]) -> None:
        page, links = self.page, list[tuple[Mark, str]]()
        before = self._hidden.tag, self._hidden.depth
        for token in tokens:
            if token.type in ("text", "code_inline"):
                page.words(token.content)
            elif token.type == "softbreak":
                page.words(" ")
            elif token.type == "hardbreak":
                page.line()
            elif token.type == "link_open":
                links.append((page.begin(), str(token.attrGet("href") or "")))
            elif token.type == "link_close":
                page.end_link(*links.pop())
            elif token.type == "html_inline":
                self._follow(token.content)
        self._show(*before)  # an element that is begun within a paragraph ends with it


_PARTS = frozenset({"heading_open", "list_item_open", "th_open", "td_open"})
_APART = frozenset({"table_open", "table_close", "blockquote_open", "blockquote_close", "hr"})
_LISTS = frozenset({"bullet_list_open", "ordered_list_open", "bullet_list_close", "ordered_list_close"})
_PLACED = frozenset(
    {"heading_open", "list_item_open", "tr_open", "paragraph_open", "code_block", "fence", "html_block"}
)
