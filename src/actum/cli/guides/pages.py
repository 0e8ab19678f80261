"""The pages of the documentation: where they are, how they are divided, and what in them fits a question.

The wheel has the Markdown of `docs/` in `actum/docs`; in a checkout the pages are read where they are written. Knows
nothing of a terminal.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ...core.errors import UsageError
from ...core.language.translation import Language
from ...core.language.words import terms_of
from ...storage.fulltext import FullText

PACKAGE = Path(__file__).parents[2]
HOMES = (PACKAGE / "docs", PACKAGE.parents[1] / "docs")
"""Where the pages are: in the wheel, and in a checkout."""
WEIGHTS = (3.0, 1.0)
"""How much a word counts in a heading, and in the text below the heading."""
LOOKED_AT_MAX = 40
"""Sections that are looked at line by line: of those that fit, the ones with the words side by side come first."""

_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_NOTE = re.compile(r"^(```\w+) .+$", re.MULTILINE)
"""What a fence says to the tests behind the language: no reader is shown it."""
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)
_LINK = re.compile(r"\[((?:`[^`]*`|[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")


class PageSection(NamedTuple):
    """A heading of a page, and what is below it.

    Attributes:
        anchor: what a link to the heading says behind `#`.
        heading: the heading, without marks.
        level: 1 for the title of the page.
        text: the Markdown from the heading up to the next heading of any level.
    """

    anchor: str
    heading: str
    level: int
    text: str


class GuidePage(NamedTuple):
    """A page.

    Attributes:
        path: the path of its file below `docs`, such as `zh/tools.md`.
        text: its Markdown.
    """

    path: str
    text: str

    @property
    def language(self) -> Language:
        """The language that the page is written in."""
        return "zh" if self.path.startswith("zh/") else "en"

    @property
    def name(self) -> str:
        """What `actum docs` calls the page: alike in each language.

        >>> GuidePage("zh/tools.md", "").name, GuidePage("decisions/README.md", "").name
        ('tools', 'decisions')
        """
        return self.path.removeprefix("zh/").removesuffix(".md").removesuffix("/README")

    @property
    def title(self) -> str:
        """The first heading."""
        return self.sections()[0].heading

    def sections(self) -> list[PageSection]:
        """The sections, in their order. A second heading of the same words gets a number.

        >>> page = GuidePage("a.md", "# What's new?\\n\\n```sh\\n# no heading\\n```\\n\\n## `Agent`\\n\\nText.\\n")
        >>> [(each.anchor, each.heading, each.level) for each in page.sections()]
        [('whats-new', "What's new?", 1), ('agent', 'Agent', 2)]
        """
        starts = [
            (at + found.start(), found)
            for at, prose, piece in _pieces(self.text)
            if prose
            for found in _HEADING.finditer(piece)
        ]
        ends = [*(start for start, _ in starts[1:]), len(self.text)]
        sections: list[PageSection] = []
        seen: Counter[str] = Counter()
        for (start, found), end in zip(starts, ends, strict=True):
            heading = _LINK.sub(r"\1", found[2]).replace("`", "").strip()
            anchor = anchor_of(heading)
            number, seen[anchor] = seen[anchor], seen[anchor] + 1
            text = self.text[start:end]
            sections.append(PageSection(f"{anchor}-{number}" if number else anchor, heading, len(found[1]), text))
        return sections

    def below(self, anchor: str) -> str:
        """The Markdown of a section, with the sections inside it; empty where there is no such section."""
        sections = self.sections()
        for at, section in enumerate(sections):
            if section.anchor == anchor:
                rest = sections[at + 1 :]
                inside = next((n for n, each in enumerate(rest) if each.level <= section.level), len(rest))
                return "".join(each.text for each in (section, *rest[:inside]))
        return ""


class FoundSection(NamedTuple):
    """A section that fits a question.

    Attributes:
        page: its page.
        section: the section.
        line: the line of the section that has most of the words.
    """

    page: GuidePage
    section: PageSection
    line: str


def anchor_of(heading: str) -> str:
    """The anchor of a heading, as GitHub makes it.

    >>> anchor_of("Servers: `a_b`, and your own"), anchor_of("批准来得晚时")
    ('servers-a_b-and-your-own', '批准来得晚时')
    """
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def all_pages() -> dict[str, GuidePage]:
    """All pages, by their paths.

    Raises:
        UsageError: this installation has no pages.
    """
    home = next((home for home in HOMES if home.is_dir()), None)
    if home is None:
        raise UsageError("this installation has no pages: they belong into {folder}", folder=str(HOMES[0]))
    paths = sorted((path.relative_to(home).as_posix(), path) for path in home.rglob("*.md"))
    return {name: GuidePage(name, _NOTE.sub(r"\1", path.read_text("utf-8"))) for name, path in paths}


def in_language(pages: Mapping[str, GuidePage], language: Language) -> dict[str, GuidePage]:
    """Each page by its name: in a language, or in English where the page is not written in that language."""
    english = {page.name: page for page in pages.values() if page.language == "en"}
    return english | {page.name: page for page in pages.values() if page.language == language}


def text_below(page: GuidePage, heading: str, pages: Mapping[str, GuidePage]) -> str:
    """The Markdown of a section, named by its heading in any language of the page; empty where there is no such one.

    A page has the same sections in each language, in the same order.

    Args:
        page: the page.
        heading: the heading, or its anchor.
        pages: all pages, by their paths.
    """
    anchor = anchor_of(heading)
    for other in (page, *(each for each in pages.values() if each.name == page.name)):
        anchors = [section.anchor for section in other.sections()]
        if anchor in anchors:
            return page.below(page.sections()[anchors.index(anchor)].anchor)
    return ""


def with_commands(page: GuidePage, text: str, pages: Mapping[str, GuidePage], spoken: Language) -> str:
    """Markdown of a page in which each link to a page is the command that shows the page.

    Args:
        page: the page.
        text: the Markdown: of the page, or of a section.
        pages: all pages, by their paths.
        spoken: the language in which the reader is shown pages.
    """
    folder = posixpath.dirname(page.path)
    shown = in_language(pages, spoken)

    def linked(found: re.Match[str]) -> str:
        words, target = found[1], found[2]
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path, _, anchor = target.partition("#")
        to = pages.get(posixpath.normpath(posixpath.join(folder, path))) if path else page
        return words if to is None else f"{words} (`{command_of(to, anchor, shown)}`)"

    return "".join(_LINK.sub(linked, piece) if prose else piece for _, prose, piece in _pieces(text))


def command_of(page: GuidePage, anchor: str, shown: Mapping[str, GuidePage]) -> str:
    """The command that shows a page, or a section of it.

    Args:
        page: the page.
        anchor: the section; empty for the whole page.
        shown: what the reader is shown without `--lang`, by name.
    """
    words = ["actum docs", page.name, *([anchor] if anchor and anchor != page.sections()[0].anchor else [])]
    return " ".join(words if shown[page.name] == page else [*words, "--lang", page.language])


def search(query: str, pages: Mapping[str, GuidePage], most: int) -> list[FoundSection]:
    """The sections that have the words of a question, the best first: words by their stems, and of Chinese pairs of
    signs.

    Args:
        query: as a person types it.
        pages: where to look.
        most: how many sections at most.
    """
    sections = {
        f"{page.path}#{section.anchor}": (page, section) for page in pages.values() for section in page.sections()
    }
    index = FullText(WEIGHTS, stems=True)
    index.put_all({name: (section.heading, section.text) for name, (_, section) in sections.items()})
    wanted = set(terms_of(query))
    found = [sections[name] for name, _ in index.find(query)[:LOOKED_AT_MAX]]
    ranked = [(page, section, *_best_line(section, wanted)) for page, section in found]
    ranked.sort(key=lambda each: each[2] + len(wanted & terms_of(each[1].heading).keys()), reverse=True)
    return [FoundSection(page, section, _LINK.sub(r"\1", line)) for page, section, _, line in ranked[:most]]


def _best_line(section: PageSection, wanted: set[str]) -> tuple[int, str]:
    """How many of the words the best line of a section has, and the line."""
    lines = [line.strip() for line in section.text.splitlines()[1:] if line.strip()]
    counted = [(len(wanted & terms_of(line).keys()), line) for line in lines]
    return max(counted, key=lambda each: each[0], default=(0, ""))


def _pieces(text: str) -> Iterator[tuple[int, bool, str]]:
    """The pieces of Markdown between and inside fences: where each begins, whether it is prose, and its text."""
    at = 0
    for number, piece in enumerate(_FENCED.split(text)):
        yield at, number % 2 == 0, piece
        at += len(piece)
