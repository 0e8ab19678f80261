"""A crawler: it reads pages of one web site and the pages they link to, and finds words in what it has read.

Only addresses of that one site are asked, links and redirects included: whoever says the address does not choose the
host. It knows nothing of MCP.
"""

from __future__ import annotations

from collections.abc import Iterable
from html.parser import HTMLParser
from typing import TypedDict
from urllib.parse import urldefrag, urljoin, urlsplit

import httpx2

from actum import Context, ToolError, tool
from actum.toolsets.function import FunctionTool

PAGES_MAX = 20
PAGE_BYTES_MAX = 1_000_000


class CrawledPage(TypedDict):
    """A page that was read."""

    url: str
    title: str
    text: str


class Crawl(TypedDict):
    """What a crawl came to."""

    pages: list[CrawledPage]
    failed: list[str]


def crawler(site: str) -> list[FunctionTool]:
    """The two tools, for the site at this address."""
    known: dict[str, CrawledPage] = {}

    @tool(effects={"read"})
    async def crawl(ctx: Context, url: str = "/", pages: int = 10) -> Crawl:
        """Read a page and the pages that it links to.

        Args:
            url: where to begin, on the site; its first page if left out.
            pages: at most so many.
        """
        wanted, seen, found, failed = [_address(site, url)], set[str](), list[CrawledPage](), list[str]()
        async with httpx2.AsyncClient(trust_env=False, verify=False, timeout=60) as client:  # all on this machine
            while wanted and len(found) < min(pages, PAGES_MAX):
                seen.add(here := wanted.pop(0))
                ctx.progress({"progress": len(found), "total": min(pages, PAGES_MAX), "message": here})
                response = await client.get(here)
                if response.status_code != httpx2.codes.OK:
                    failed.append(here)
                    continue
                page = _read(response.text[:PAGE_BYTES_MAX])
                known[here] = {"url": here, "title": page.title, "text": page.text}
                found.append(known[here])
                wanted += [link for link in _links(site, here, page.links) if link not in {*wanted, *seen}]
        return {"pages": found, "failed": failed}

    @tool(effects={"read"})
    def search(words: str) -> list[CrawledPage]:
        """Find the pages that have these words, among those that were crawled.

        Args:
            words: what to look for; each word has to be on the page.
        """
        wanted = words.casefold().split()
        return [page for page in known.values() if all(word in str(page).casefold() for word in wanted)]

    return [crawl, search]


def _address(site: str, url: str) -> str:
    """The address without its fragment.

    Raises:
        ToolError: it is not of the site.
    """
    plain = urldefrag(urljoin(site + "/", url)).url
    if urlsplit(plain)[:2] != urlsplit(site)[:2]:
        raise ToolError(f"Only pages of {site} are read.")
    return plain


def _links(site: str, here: str, links: Iterable[str]) -> Iterable[str]:
    """The links of a page that stay on the site, each once."""
    whole = dict.fromkeys(urldefrag(urljoin(here, link)).url for link in links)
    return [link for link in whole if urlsplit(link)[:2] == urlsplit(site)[:2]]


class _Page(HTMLParser):
    """Title, text and links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.links: list[str] = []
        self._words: list[str] = []
        self._inside = ""

    @property
    def text(self) -> str:
        return " ".join(" ".join(self._words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        self.links += [target for name, target in attrs if tag == "a" and name == "href" and target]

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "title":
            self.title += data
        elif self._inside not in ("script", "style", "a"):
            self._words.append(data)


def _read(html: str) -> _Page:
    page = _Page()
    page.feed(html)
    page.close()
    return page
