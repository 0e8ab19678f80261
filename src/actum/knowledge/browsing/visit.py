"""`Visit`: the open page of a run and what it may read, folded from its record. Nothing else is remembered.

A run that was killed and resumed, in another process too, stands on its page, with the words that it read then.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Mapping, Sequence
from urllib.parse import unquote, urlsplit

from msgspec import Struct, structs, to_builtins

from ...core.errors import JournalError, ToolError, UnknownName
from ...core.interfaces import Context, Journal
from ...core.json import JsonObject
from ...core.language.words import is_sign
from ...journal.recording import RunState
from ..citing.attached import attached_pages
from ..citing.sources import ADDRESS, ATTACHMENT, KEPT, KeptPage, PageRead, keep_page, kept_page, pages_read
from ..collections import CollectionUser, listed, named
from ..documents import page_of, readable_paths
from ..reading.page import DocumentPage, Link, Position
from ..search import PlacedPassage, search
from .attached_search import search_pages
from .showing import Language, piece_at, pieces_of, results_page, show_page

PAGES_MAX = 64
KEPT_BYTES_MAX = 20 * 1024 * 1024
RESULTS = 8
_GONE = "There is no such page: search for what there is."


class PageTold(Struct, frozen=True):
    """What a call answers: words for the model, and what the record says of the page."""

    text: str
    structured: JsonObject


class Visit:
    """The browser of one run.

    Args:
        journal: the record.
        run_id: the run.
        state: of the run so far.
        user: on whose behalf.
        collections: the names of those that the browser may open; None for all that the user may read.
        attached: the documents that came with the questions of the conversation, by their digests.
    """

    def __init__(
        self,
        journal: Journal,
        run_id: str,
        state: RunState,
        user: CollectionUser,
        collections: Sequence[str] | None,
        attached: Mapping[str, KeptPage],
    ) -> None:
        self.attached = attached
        self.journal = journal
        self.run_id = run_id
        self.state = state
        self.user = user
        self._collections = collections
        self.read = pages_read(state)
        self._stack = _stack(self.read)

    @classmethod
    async def of(cls, context: Context, collections: Sequence[str] | None) -> Visit:
        """The browser of the run that a call belongs to; the arguments are those of the class.

        Raises:
            JournalError: the call belongs to no run.
        """
        journal = context.journal
        if journal is None:
            raise JournalError("there is no record here: this context belongs to no run")
        await journal.sync(context.run_id)
        entries = await journal.read(context.run_id)
        attached = await attached_pages(journal, entries)
        return cls(journal, context.run_id, RunState(entries), user_of(context), collections, attached)

    @property
    def language(self) -> Language:
        """That of the question."""
        return "zh" if any(map(is_sign, self.state.beginning().question)) else "en"

    @property
    def now(self) -> PageRead | None:
        """The page on which the run stands; None before the first search."""
        return self._stack[-1] if self._stack else None

    async def names(self) -> list[str]:
        """The collections that may be read now."""
        readable = [each.name for each in await listed(self.journal, self.user)]
        return [each for each in readable if self._collections is None or each in self._collections]

    async def current(self) -> tuple[PageRead, KeptPage]:
        """The page on which the run stands, while the user may still read it.

        Raises:
            ToolError: there is none.
        """
        if self.now is None:
            raise ToolError("No page is open: begin with a search.")
        return self.now, await self.kept(self.now)

    async def kept(self, read: PageRead) -> KeptPage:
        """A page that was read, while the user may still read it.

        Raises:
            ToolError: the user may not any more.
            JournalError: it is not kept any more, or was altered.
        """
        kept = read.told or self.attached.get(read.digest) or await kept_page(self.journal, read.digest)
        for name in kept.collections:
            try:
                await named(self.journal, self.user, name)
            except UnknownName:
                raise ToolError(_GONE) from None
        return kept

    async def search(self, question: str) -> PageTold:
        """Find passages, and stand on the list of results.

        Raises:
            ToolError: the question has no words.
        """
        names = await self.names()
        ranked = [
            [(name, each) for each in await search(self.journal, self.user, name, question, RESULTS)] for name in names
        ]
        if self.attached:
            of_files = await asyncio.to_thread(search_pages, list(self.attached.values()), question, RESULTS)
            ranked.insert(0, [("", each) for each in of_files])
        found = [each for rank in range(RESULTS) for several in ranked for each in several[rank : rank + 1]][:RESULTS]
        told = [(f"{_address(name, each)}#{each.start}", each.title, each.heading, each.text) for name, each in found]
        page = results_page(told, question, self.language)
        searched = tuple(dict.fromkeys(name for name, _ in found if name))
        kept = KeptPage("search", page.title, self.journal.now(), page, searched, False)
        results = [{KEPT: to_builtins(self.keep_passage(name, each))} for name, each in found if name]
        shown = self._stand("search", kept, 0)
        return structs.replace(shown, structured={**shown.structured, "results": results})

    def keep_passage(self, collection: str, found: PlacedPassage) -> PageRead:
        """Keep a passage that was found, as a source of quotes."""
        line = found.lines[0] if found.lines else 0
        page = DocumentPage(found.title, found.text, positions=(Position(0, found.page or 0, line),))
        kept = KeptPage(_address(collection, found), found.title, self.journal.now(), page, (collection,))
        return self._kept("found", kept, 0)

    async def click(self, number: int) -> PageTold:
        """Open the link with a number.

        Raises:
            ToolError: there is no such link.
        """
        _, kept = await self.current()
        if not 0 <= number < len(kept.page.links):
            raise ToolError("There is no link {number} on this page.", number=number)
        target = kept.page.links[number].target
        address, _, start = target.rpartition("#")
        if not (address and start.isdigit()):
            address, start = target, ""
        attached = next((each for each in self.attached.values() if each.address == address), None)
        if attached is not None:
            return self._stand("click", attached, piece_at(pieces_of(attached.page), int(start or 0)))
        name, _, path = address.removeprefix(ADDRESS).partition("/")
        if name not in await self.names():
            raise ToolError(_GONE)
        try:
            row, page = await page_of(self.journal, self.user, name, path)
        except UnknownName:
            raise ToolError(_GONE) from None
        page = structs.replace(page, links=await self._links(name, path, page))
        at = piece_at(pieces_of(page), int(start)) if start.isdigit() else 0
        return self._stand("click", KeptPage(address, row.title, self.journal.now(), page, (name,)), at)

    async def _links(self, name: str, path: str, page: DocumentPage) -> tuple[Link, ...]:
        """The links of a document that lead to another document of its collection."""
        meant = {each: _path_of(path, each.target) for each in page.links}
        there = await readable_paths(self.journal, self.user, name, {each for each in meant.values() if each})
        return tuple(
            structs.replace(each, target=f"{ADDRESS}{name}/{where}") for each, where in meant.items() if where in there
        )

    async def find(self, text: str) -> PageTold:
        """Go to the next piece of the page that holds a text, beginning behind the piece that is shown.

        Raises:
            ToolError: no piece does.
        """
        read, kept = await self.current()
        pieces = pieces_of(kept.page)
        wanted = " ".join(text.casefold().split())
        for step in range(1, len(pieces) + 1):
            number = (read.piece + step) % len(pieces)
            piece = pieces[number]
            if wanted and wanted in " ".join(kept.page.text[piece.start : piece.end].casefold().split()):
                return self._stand("find", kept, number)
        raise ToolError("This page does not hold {text!r:.100}.", text=text)

    async def scroll(self, pieces: int) -> PageTold:
        """Go on, or back, by a number of pieces of the page."""
        read, kept = await self.current()
        last = len(pieces_of(kept.page)) - 1
        return self._stand("scroll", kept, min(max(read.piece + pieces, 0), last))

    async def back(self) -> PageTold:
        """Go back to the page before.

        Raises:
            ToolError: there is none.
        """
        if len(self._stack) < 2:
            raise ToolError("There is no page before this one.")
        before = self._stack[-2]
        return self._stand("back", await self.kept(before), before.piece)

    def _stand(self, act: str, kept: KeptPage, piece: int) -> PageTold:
        read = self._kept(act, kept, piece)
        text = show_page(
            kept.page, piece, title=kept.title, address=kept.address, read_at=kept.read_at, language=self.language
        )
        return PageTold(text, {KEPT: to_builtins(read)})

    def _kept(self, act: str, kept: KeptPage, piece: int) -> PageRead:
        digest = next((digest for digest, each in self.attached.items() if each is kept), "")
        if digest:
            return self._note(PageRead(act, digest, kept.address, kept.title, kept.read_at, piece))
        if any(each.target.startswith(ATTACHMENT) for each in kept.page.links):
            return self._note(PageRead(act, "", kept.address, kept.title, kept.read_at, piece, told=kept))
        digest, size = keep_page(self.journal, kept, self.run_id)
        known = {each.digest: each.size for each in self.read}
        if digest not in known and (len(known) >= PAGES_MAX or sum(known.values()) + size > KEPT_BYTES_MAX):
            raise ToolError("This run has read as many pages as it may. Answer with what you have read.")
        return self._note(PageRead(act, digest, kept.address, kept.title, kept.read_at, piece, size))

    def _note(self, read: PageRead) -> PageRead:
        self.read.append(read)
        return read


def user_of(context: Context) -> CollectionUser:
    """On whose behalf a call looks into collections: from its context, never from its arguments."""
    return CollectionUser(context.tenant, context.principal, context.roles)


def _address(collection: str, found: PlacedPassage) -> str:
    return f"{ADDRESS}{collection}/{found.document}" if collection else f"{ATTACHMENT}{found.document}"


def _path_of(path: str, target: str) -> str:
    """The document that a link of a document leads to; empty for what is not below the collection's folder."""
    try:
        parts = urlsplit(target)
    except ValueError:
        return ""
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    found = posixpath.normpath(posixpath.join("/", posixpath.dirname(path), unquote(parts.path)))
    outside = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path))).startswith("..")
    return "" if outside else found.lstrip("/")


def _stack(read: Sequence[PageRead]) -> list[PageRead]:
    """The pages that `back` leads through; the last is the one on which the run stands."""
    stack: list[PageRead] = []
    for each in read:
        if each.act in ("search", "click"):
            stack.append(each)
        elif each.act == "back" and len(stack) > 1:
            stack.pop()
        elif each.act in ("find", "scroll") and stack:
            stack[-1] = each
    return stack
