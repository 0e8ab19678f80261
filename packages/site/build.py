"""Builds the site out of the guides and the code: `python -m packages.site.build [FOLDER]`, which is `make docs`.

A build fails on a link or anchor that leads nowhere, a page without a place in `menu.toml`, and a public name without a
docstring. The pages ask no other host for anything and are readable from a folder.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from actum.cli.guides.pages import GuidePage, all_pages

from .reference import reference_pages

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
IMAGES = ROOT / "docs" / "images"
ROOT_PAGES = {
    "README.md": "index.md",
    "README.zh.md": "zh/index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-reports.md",
}
"""Pages of the repository's own folder, and where the site has them."""
LANGUAGES = ("en", "zh")
STYLES = {"light": "default", "dark": "github-dark"}
WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "skip": "Skip to the text",
        "search": "Search",
        "none": "Nothing fits.",
        "pages": "Pages",
        "here": "Link to",
    },
    "zh": {"skip": "跳到正文", "search": "搜索", "none": "没有找到。", "pages": "页面", "here": "链接到"},
}


class BadSite(Exception):
    """What is wrong with the pages, one a line."""


class SitePlace(NamedTuple):
    """A section that the search can find.

    Attributes:
        href: its address, from the root of the site.
        page: the title of its page.
        heading: its own heading.
        text: what is below it, without marks.
    """

    href: str
    page: str
    heading: str
    text: str


def pages() -> dict[str, GuidePage]:
    """All pages, by their paths in the site: guides, pages of the repository, and the reference.

    Raises:
        BadSite: a public name has no docstring.
    """
    found = {path: page._replace(path=_moved(path)) for path, page in all_pages().items()}
    for name, path in ROOT_PAGES.items():
        found[path] = GuidePage(path, (ROOT / name).read_text("utf-8"))
    made, lacking = reference_pages()
    if lacking:
        raise BadSite("\n".join(f"{name} has no docstring" for name in lacking))
    found |= {path: GuidePage(path, text) for path, text in made.items()}
    return {page.path: page for page in found.values()}


def _moved(path: str) -> str:
    return posixpath.join(posixpath.dirname(path), "index.md") if path.endswith("README.md") else path


def html_path(path: str) -> str:
    """The file of a page: `zh/tools.md` is `zh/tools.html`."""
    return path.removesuffix(".md") + ".html"


class Site:
    """The pages, and how links between them lead.

    Args:
        every: the pages, by their paths.
    """

    def __init__(self, every: Mapping[str, GuidePage]) -> None:
        self.pages = every
        self.problems: list[str] = []
        self._markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
        self._environment = Environment(
            loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True
        )
        self._menu = tomllib.loads((HERE / "menu.toml").read_text("utf-8"))
        self._anchors = {path: [section.anchor for section in page.sections()] for path, page in every.items()}

    def write(self, folder: Path) -> None:
        """Write all pages into a folder, which is emptied first.

        Raises:
            BadSite: a link leads nowhere, or a page has no place in the menu.
        """
        self._check_menu()
        texts = {html_path(path): self._page(page) for path, page in self.pages.items()}
        if self.problems:
            raise BadSite("\n".join(self.problems))
        shutil.rmtree(folder, ignore_errors=True)
        for path, text in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, "utf-8")
        for language in LANGUAGES:
            places = [place._asdict() for place in self._places(language)]
            text = f"const PLACES = {json.dumps(places, ensure_ascii=False)};\n"
            (folder / f"places-{language}.js").write_text(text, "utf-8")
        shutil.copy(HERE / "search.js", folder)
        shutil.copytree(IMAGES, folder / "images")
        (folder / "style.css").write_text((HERE / "style.css").read_text("utf-8") + _code_styles(), "utf-8")

    def _check_menu(self) -> None:
        listed = [name for kind in self._menu.values() for name in kind["pages"]]
        there = {page.name for path, page in self.pages.items() if not path.endswith("index.md")} | {"decisions"}
        there = {name for name in there if not name.startswith("decisions/")}
        self.problems += [f"menu.toml names {name}, which is no page" for name in sorted({*listed} - there)]
        self.problems += [f"menu.toml has no place for the page {name}" for name in sorted(there - {*listed})]

    def _page(self, page: GuidePage) -> str:
        language, up = page.language, "../" * page.path.count("/")
        other = self._path_of(page.name, "en" if language == "zh" else "zh", only=True)
        template = self._environment.get_template("page.html")
        text: str = template.render(
            body=Markup(self._body(page)),  # made of our own pages, with HTML in them escaped
            home="zh/index.html" if language == "zh" else "index.html",
            language=language,
            menu=list(self._menu_of(page)),
            other=html_path(other) if other else "",
            title=page.title,
            up=up,
            words=WORDS[language],
        )
        return text

    def _menu_of(self, page: GuidePage) -> Iterator[Mapping[str, object]]:
        for kind in self._menu.values():
            paths = [self._path_of(name, page.language) for name in kind["pages"]]
            entries = [
                {
                    "href": html_path(path),
                    "title": self.pages[path].title,
                    "here": path == page.path,
                    "lang": self.pages[path].language,
                }
                for path in paths
            ]
            yield {"title": kind[page.language], "pages": entries, "open": page.path in paths or kind is self._first}

    @property
    def _first(self) -> object:
        return next(iter(self._menu.values()))

    def _path_of(self, name: str, language: str, *, only: bool = False) -> str:
        """The path of a page in a language, else in English; empty where only the language will do."""
        plain = "index.md" if name == "index" else f"{name}.md"
        names = [f"zh/{plain}"] if language == "zh" else [plain, f"{name}/index.md"]
        if not only:
            names += [plain, f"{name}/index.md"]
        return next((path for path in names if path in self.pages), "")

    def _body(self, page: GuidePage) -> str:
        """The HTML of a page: headings with anchors, code in colours, links to pages of the site."""
        tokens = self._markdown.parse(page.text)
        anchors = iter(self._anchors[page.path])
        for at, token in enumerate(tokens):
            if token.type == "heading_open":
                anchor = next(anchors)
                token.attrSet("id", anchor)
                self._end_heading(tokens[at + 1], anchor, page)
            for inside in token.children or ():
                if inside.type == "link_open":
                    self._lead(inside, page)
                if inside.type == "image":
                    self._place(inside, page)
        renderer = self._markdown.renderer
        parts = [
            _coloured(token) if token.tag == "code" else renderer.render([token], self._markdown.options, {})
            for token in tokens
        ]
        html = "".join(parts)
        return html.replace("<table>", '<div class="wide" tabindex="0"><table>').replace("</table>", "</table></div>")

    def _end_heading(self, inline: Token, anchor: str, page: GuidePage) -> None:
        words = f"{WORDS[page.language]['here']} {inline.content}"
        link = f'<a class="here" href="#{escape(anchor)}" aria-label="{escape(words)}">#</a>'
        inline.children = [*(inline.children or ()), Token("html_inline", "", 0, content=link)]

    def _lead(self, link: Token, page: GuidePage) -> None:
        """Let a link lead to the page of the site; a link to a file of the repository becomes text."""
        target = unquote(str(link.attrGet("href")))
        if "://" in target or target.startswith("mailto:"):
            return
        path, _, anchor = target.partition("#")
        to = self._target(path, page) if path else page.path
        if to is None:
            if not (ROOT / self._source_folder(page) / path).exists():
                self.problems.append(f"{page.path}: the link {target} leads nowhere")
            link.tag = "span"
            link.attrs = {}
            return
        if anchor and anchor not in self._anchors[to]:
            self.problems.append(f"{page.path}: {to} has no heading for the link {target}")
        relative = posixpath.relpath(html_path(to), posixpath.dirname(page.path) or ".")
        link.attrSet("href", f"{relative}#{anchor}" if anchor else relative)

    def _place(self, image: Token, page: GuidePage) -> None:
        """Let an image of `docs/images` be found from the page."""
        name = posixpath.basename(str(image.attrGet("src")))
        if not (IMAGES / name).is_file() or not image.content:
            self.problems.append(f"{page.path}: the image {name} is not there, or has no words beside it")
        image.attrSet("src", "../" * page.path.count("/") + f"images/{name}")

    def _source_folder(self, page: GuidePage) -> str:
        """The folder of the repository in which the Markdown of a page is."""
        return "" if page.path in ROOT_PAGES.values() else posixpath.join("docs", posixpath.dirname(page.path))

    def _target(self, path: str, page: GuidePage) -> str | None:
        whole = posixpath.normpath(posixpath.join(self._source_folder(page), path))
        if whole in ROOT_PAGES:
            return ROOT_PAGES[whole]
        inside = whole.removeprefix("docs/")
        for candidate in (_moved(inside), posixpath.join(inside, "index.md")):
            if whole.startswith("docs/") and candidate in self.pages:
                return candidate
        return None

    def _places(self, language: str) -> Iterator[SitePlace]:
        """The sections of all pages, in a language where they are written in it."""
        names = sorted({page.name for page in self.pages.values()})
        for path in dict.fromkeys(self._path_of(name, language) for name in names):
            page = self.pages[path]
            for section in page.sections():
                text = re.sub(r"[`*|#\[\]]|\]\([^)]*\)|^```\w*$", " ", section.text, flags=re.MULTILINE)
                href = html_path(path) + (f"#{section.anchor}" if section.level > 1 else "")
                yield SitePlace(href, page.title, section.heading, " ".join(text.split()))


def _coloured(token: Token) -> str:
    language = token.info.split(" ")[0].strip() or "text"
    try:
        lexer = get_lexer_by_name({"sh": "bash"}.get(language, language), stripnl=False)
    except ClassNotFound:
        return f'<pre tabindex="0"><code>{escape(token.content)}</code></pre>\n'
    inside = highlight(token.content, lexer, HtmlFormatter(nowrap=True))
    return f'<pre tabindex="0" class="code"><code>{inside}</code></pre>\n'


def _code_styles() -> str:
    """The colours of code, for a light and a dark ground."""
    light, dark = (str(HtmlFormatter(style=name).get_style_defs(".code")) for name in STYLES.values())  # type: ignore[no-untyped-call]
    return (
        f"\n@media (prefers-color-scheme: light) {{\n{light}\n}}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n"
    )


def main() -> None:
    """Build the site into `site/`, or the folder that is named."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    try:
        every = pages()
        Site(every).write(folder)
    except BadSite as problems:
        raise SystemExit(f"the site was not built:\n{problems}") from None
    print(f"built {len(every)} pages into {folder}")


if __name__ == "__main__":
    main()
