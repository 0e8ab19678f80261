"""A small web site on this machine: pages that link to each other, one that leads away, one that is not there."""

from __future__ import annotations

from html import escape

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "/": (
        "The garden",
        "What grows here, and when to come.",
        ("/plants/tea", "/plants/lotus", "/hours", "http://elsewhere.example/ads"),
    ),
    "/plants/tea": ("Tea", "The tea bushes were planted in 1934. They are picked in April.", ("/", "/plants/lotus")),
    "/plants/lotus": ("Lotus", "The lotus is in flower from late June to August.", ("/", "/plants/rice")),
    "/hours": ("Hours", "The garden is open from 8 to 18, and closed on Mondays.", ("/",)),
}
"""Path: title, text, links. `/plants/rice` is linked to and does not exist."""


def web_site() -> Starlette:
    """The site."""
    return Starlette(routes=[Route(path, _page) for path in PAGES])


async def _page(request: Request) -> HTMLResponse:
    title, text, links = PAGES[request.url.path]
    listed = "".join(f'<li><a href="{escape(link)}">{escape(link)}</a></li>' for link in links)
    return HTMLResponse(
        f"<!doctype html><title>{escape(title)}</title><script>var x = 'not text';</script>"
        f"<h1>{escape(title)}</h1><p>{escape(text)}</p><ul>{listed}</ul>"
    )
