"""`CatalogRoutes`: the catalog of agents and MCP servers, for programs that look for one.

    GET  /.well-known/ai-catalog.json    the entries that everybody may see, after the AI Catalog draft
    POST /catalog/search                 {"query": {"text": "..."}}: what the caller may see, after the ARD draft

Both forms are drafts of others and change with them; the answers say so in the header `Actum-Draft`. A caller is never
told of an entry that the caller may not see.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec
from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from ..core.identity import Identity
from ..protocols.catalog import CatalogEntry, ai_catalog, search_answer
from .refusal import HttpRefusal
from .route_group import identity_of

CATALOG = "/.well-known/ai-catalog.json"
SEARCH = "/catalog/search"
DRAFT = {"Actum-Draft": "ai-catalog 1.0-draft; ard 0.9"}
BODY_BYTES_MAX = 64 * 1024
PAGE_SIZE, PAGE_SIZE_MAX = 20, 100


class _Query(Struct, frozen=True):
    text: str = ""


class _Search(Struct, frozen=True, rename="camel"):
    query: _Query = _Query()
    page_size: int = PAGE_SIZE
    page_token: str = ""


class CatalogReader(Protocol):
    """Reads the entries of a catalog."""

    def all(self) -> Sequence[CatalogEntry]:
        """All entries, by name."""

    def find(self, query: str) -> Sequence[tuple[CatalogEntry, int]]:
        """The entries that fit a query, the best first, each with a score from 1 to 100."""


class CatalogRoutes:
    """The door of the catalog.

    Args:
        catalog: the entries; asked in a thread.
        host: whose catalog it is, for people.
        scopes: that a search needs, where the server wants keys.
    """

    def __init__(self, catalog: CatalogReader, *, host: str = "actum", scopes: Sequence[str] = ("tools",)) -> None:
        self.scopes = scopes
        self._entries = catalog
        self._host = host

    @property
    def routes(self) -> Sequence[BaseRoute]:
        """What the door answers to."""
        return [Route(CATALOG, self._catalog), Route(SEARCH, self._search, methods=["POST"])]

    @property
    def open_paths(self) -> Collection[str]:
        """The document of the web is for everybody."""
        return (CATALOG,)

    @asynccontextmanager
    async def lifespan(self) -> AsyncIterator[None]:
        """Nothing has to be open."""
        yield

    async def end_streams(self) -> None:
        """There are no streams."""

    async def _catalog(self, request: Request) -> Response:
        body = await asyncio.to_thread(self._published)
        return Response(body, media_type="application/ai-catalog+json", headers=DRAFT)

    async def _search(self, request: Request) -> Response:
        body = await request.body()
        try:
            asked = msgspec.json.decode(body, type=_Search) if len(body) <= BODY_BYTES_MAX else None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            asked = None
        start = asked.page_token if asked is not None else ""
        if asked is None or not 1 <= asked.page_size <= PAGE_SIZE_MAX or not (start == "" or start.isdecimal()):
            raise HttpRefusal(400, 'A search was expected, as in {"query": {"text": "weather"}, "pageSize": 20}.')
        body = await asyncio.to_thread(self._found, asked, identity_of(request.scope))
        return Response(body, media_type="application/json", headers=DRAFT)

    def _published(self) -> bytes:
        entries = [each for each in self._entries.all() if each.is_public]
        return msgspec.json.encode(ai_catalog(entries, self._host))

    def _found(self, asked: _Search, who: Identity) -> bytes:
        fitting = self._entries.find(asked.query.text)
        seen = [each for each in fitting if each[0].is_seen_by(who.principal, who.roles, who.tenant)]
        best = max((score for _, score in seen), default=100)  # nobody learns that something better is hidden
        found = [(entry, max(1, score * 100 // best)) for entry, score in seen]
        return msgspec.json.encode(search_answer(found, asked.page_size, int(asked.page_token[:9] or 0)))
