"""`actum docs`: the pages of the documentation, listed, shown and searched, without a network."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import Heading, Markdown
from rich.text import Text

from ...core.errors import UnknownName, UsageError
from ...core.language.translation import Language
from ...core.language.words import runs_of
from ...server.near_names import near_names
from ..exit_codes import DONE, FAILED
from ..language import language, tr
from ..show.terminal import Terminal, said
from .pages import GuidePage, all_pages, anchor_of, command_of, in_language, search, text_below, with_commands

WIDTH_MAX = 100
"""Columns of a page: longer lines are hard to read."""
FOUND_MAX = 10
NEAR_MAX = 3


def docs(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The page; without it, the list.")] = "",
    heading: Annotated[str, typer.Argument(metavar="HEADING", help="Only what is below this heading.")] = "",
    words: Annotated[
        str | None, typer.Option("--search", "-s", metavar="WORDS", help="Find places by words, in NAME or everywhere.")
    ] = None,
    lang: Annotated[Language | None, typer.Option(help="The language of the pages; without it, yours.")] = None,
) -> int:
    """Read the documentation, without a network: list the pages, show one, find a place.

    A page is shown in your pager: in less, n goes to the next heading and N back. Where there is no terminal, it is
    printed as Markdown. Exit code 1 when nothing is found.
    """
    terminal, pages = Terminal(), all_pages()
    if words is not None and lang is None and any(dense for dense, _ in runs_of(said(words))):
        lang = "zh"
    shown = in_language(pages, lang or language())
    page = _named(said(name), shown) if name else None
    if words is not None:
        return _search(
            terminal, said(words), shown if page is None else {page.name: page}, in_language(pages, language())
        )
    if page is None:
        _list(terminal, shown)
        return DONE
    text = _below(page, said(heading), pages) if heading else page.text
    if lang and page.language != lang:
        terminal.note(tr("The page {name} is written in English only.", name=page.name))
    _show(terminal, with_commands(page, text, pages, language()))
    return DONE


def _named(name: str, pages: Mapping[str, GuidePage]) -> GuidePage:
    known = name.removeprefix("docs/").removesuffix(".md").lower()
    if page := pages.get(known):
        return page
    near = near_names(known, list(pages), NEAR_MAX)
    if near:
        raise UnknownName("there is no page {name!r}; near it: {near}", name=name, near=", ".join(near))
    raise UnknownName("there is no page {name!r}: `actum docs` lists the pages", name=name)


def _below(page: GuidePage, heading: str, pages: Mapping[str, GuidePage]) -> str:
    if text := text_below(page, heading, pages):
        return text
    anchors = [section.anchor for section in page.sections()]
    near = near_names(anchor_of(heading), anchors, NEAR_MAX) or anchors
    raise UnknownName(
        "the page {page} has no heading {name!r}; it has: {near}", page=page.name, name=heading, near=", ".join(near)
    )


def _list(terminal: Terminal, pages: Mapping[str, GuidePage]) -> None:
    """The list. The pages of a folder are listed on the folder's own page."""
    rows = [(name, page.title) for name, page in sorted(pages.items()) if "/" not in name]
    terminal.table("page", "what it is about", rows=rows)
    terminal.note('`actum docs NAME` shows a page, `actum docs --search "WORDS"` finds a place.')


def _search(terminal: Terminal, words: str, pages: Mapping[str, GuidePage], by_default: Mapping[str, GuidePage]) -> int:
    if not any(runs_of(words)):
        raise UsageError("--search {words!r} holds no word to look for", words=words)
    found = search(words, pages, FOUND_MAX)
    if not found:
        terminal.note(tr("No place fits these words."))
        return FAILED
    rows = [(command_of(each.page, each.section.anchor, by_default), each.line) for each in found]
    terminal.table("this shows it", "what it says", rows=rows)
    return DONE


def _show(terminal: Terminal, text: str) -> None:
    """Show Markdown: in the pager of the person who sits there, in colours on a terminal, else as it is."""
    if not terminal.live:
        sys.stdout.write(text)
        return
    page, width = _Page(text, code_theme="ansi_dark", hyperlinks=False), min(WIDTH_MAX, terminal.out.width)
    if not terminal.person:
        terminal.out.print(page, width=width)
        return
    with _less_goes_by_headings(), terminal.out.pager(styles=True):
        terminal.out.print(page, width=width)


@contextmanager
def _less_goes_by_headings() -> Iterator[None]:
    """Tell `less`, where it is the pager, to show colours and to look for headings. Your own options stay."""
    before = os.environ.get("LESS")
    prompt = tr("n next heading, N back, / search, q quit")  # a dot or a colon would mean something here
    os.environ["LESS"] = f"{before or ''} -R -G -Ps{prompt}$ +/^#"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LESS"]
        else:
            os.environ["LESS"] = before


class _Heading(Heading):
    """A heading with its marks in front, at the beginning of the line: so a pager finds headings."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text("#" * int(self.tag[1:]) + " ", self.style_name).append_text(self.text)


class _Page(Markdown):
    elements = Markdown.elements | {"heading_open": _Heading}
