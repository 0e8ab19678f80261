"""How a page is shown to a model: in pieces, with a number behind the words of each link. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Literal

from ..cutting import passages_of
from ..reading.page import DocumentPage, Link, TextSpan

PIECE_CHARS = 4_000
"""A page is shown in pieces of about this length."""
_MARK = re.compile(r"【((?:link )?\d{1,4})】")
Language = Literal["en", "zh"]
WORDS: dict[Language, dict[str, str]] = {
    "en": {
        "head": "{title}\n{address} · {position} of {pieces} · read {day}\n\n{text}",
        "results": "Results for: {question}",
        "nothing": "Nothing fits.",
        "quoted": "[{number}] \u201c{quote}\u201d\n{title}, {address}{place}\nCite it as [{number}].",
        "page": ", page {page}",
        "lines": ", lines {first}-{last}",
    },
    "zh": {
        "head": "{title}\n{address} · 第 {position} 部分，共 {pieces} 部分 · 读取于 {day}\n\n{text}",
        "results": "搜索结果：{question}",
        "nothing": "没有合适的内容。",
        "quoted": "[{number}] “{quote}”\n{title}，{address}{place}\n引用时写 [{number}]。",
        "page": "，第 {page} 页",
        "lines": "，第 {first}-{last} 行",
    },
}


def pieces_of(page: DocumentPage) -> list[TextSpan]:
    """The pieces of a page: whole passages, as many together as fit."""
    found: list[TextSpan] = []
    for each in passages_of(page):
        if found and each.end - found[-1].start <= PIECE_CHARS:
            found[-1] = TextSpan(found[-1].start, each.end)
        else:
            found.append(TextSpan(each.start, each.end))
    return found or [TextSpan(0, len(page.text))]


def piece_at(pieces: list[TextSpan], at: int) -> int:
    """Which piece holds a character."""
    return max((number for number, each in enumerate(pieces) if each.start <= at), default=0)


def shown(page: DocumentPage, piece: TextSpan) -> str:
    """A piece of a page: the words of each link have the number of the link behind them, and no other words have. The
    mark has a word in it, `【link 3】`: a model that copies the mark into its answer cites nothing.
    """
    parts: list[str] = []
    at = piece.start
    for number, link in enumerate(page.links):
        if piece.start <= link.start and link.end <= piece.end and link.start >= at:
            parts += [without_marks(page.text[at : link.end]), f"【link {number}】"]
            at = link.end
    parts.append(without_marks(page.text[at : piece.end]))
    return "".join(parts)


def without_marks(text: str) -> str:
    """Words of a page, in which nothing looks like the number of a link."""
    return _MARK.sub(r"〔\1〕", text)


def show_page(page: DocumentPage, number: int, *, title: str, address: str, read_at: float, language: Language) -> str:
    """A piece of a page with its head.

    Args:
        page: the page.
        number: of the piece, from 0.
        title, address, read_at: of the page.
        language: of the head.
    """
    pieces = pieces_of(page)
    return WORDS[language]["head"].format(
        title=without_marks(title),
        address=without_marks(address),
        position=number + 1,
        pieces=len(pieces),
        day=datetime.fromtimestamp(read_at, UTC).date().isoformat(),
        text=shown(page, pieces[number]),
    )


def place_of(page: int | None, lines: tuple[int, int] | None, language: Language) -> str:
    """Where a quote stands, in words; empty where nobody knows."""
    if page:
        return WORDS[language]["page"].format(page=page)
    return "" if lines is None else WORDS[language]["lines"].format(first=lines[0], last=lines[1])


def results_page(found: list[tuple[str, str, str, str]], question: str, language: Language) -> DocumentPage:
    """The page of a list of results.

    Args:
        found: of each result the address with the place, title, heading, and words.
        question: what was looked for.
        language: of the words around.
    """
    text = ""
    links: list[Link] = []
    for address, title, heading, words in found:
        name = title if heading in ("", title) else f"{title}: {heading}"
        text += "\n\n" if text else ""
        links.append(Link(len(text), len(text) + len(name), address))
        text += f"{name}\n{words}"
    title = WORDS[language]["results"].format(question=question)
    return DocumentPage(title, text or WORDS[language]["nothing"], links=tuple(links))
