"""Finds the passages of a collection that answer a question best."""

from __future__ import annotations

from heapq import nlargest

from msgspec import Struct

from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.stores import Transaction
from .collections import CollectionUser, readable, take_into_use
from .cutting import Passage
from .tables import COLLECTIONS, DOCUMENTS, INDEX, PASSAGES, PassageRow, space_of
from .terms import BY_LENGTH, SATURATION, asked_for

FOUND, FOUND_MAX = 8, 50
LOOKS_MAX = 20
"""So often a search looks again where a document was changed while it looked; then it has others wait."""


class FoundPassage(Struct, frozen=True):
    """A passage that a search found.

    Attributes:
        document: the path of the document.
        title: of the document.
        heading: the heading that the passage stands under; empty for none.
        text: its words.
        page: of a PDF file the page, of slides the slide, from 1; null where there is none.
        lines: the first and the last line, from 1; null where there are none.
    """

    document: str
    title: str
    heading: str
    text: str
    page: int | None = None
    lines: tuple[int, int] | None = None


class PlacedPassage(FoundPassage, frozen=True):
    """A passage with its place in the text of its document.

    Attributes:
        start: its first character.
    """

    start: int = 0


async def search(
    journal: Journal, caller: CollectionUser, name: str, question: str, limit: int = FOUND
) -> list[PlacedPassage]:
    """The passages that answer a question best, the best first.

    Args:
        journal: beside which the collection is kept.
        caller: who asks: rights are looked at before anything else.
        name: of the collection.
        question: words, in any language.
        limit: how many passages at most, from 1 to `FOUND_MAX`.

    Raises:
        UnknownName: there is no such collection for this caller.
        UsageError: the question has no words.
        JournalError: the index is damaged.
    """
    stores, terms = await take_into_use(journal), asked_for(question)

    def look(transaction: Transaction) -> list[PlacedPassage] | None:
        collection = readable(transaction, caller, name)
        if not terms:
            raise UsageError("{question!r:.80} has no words to look for", question=question)
        found = _found(transaction, collection.id, terms, limit)
        now = transaction.get(COLLECTIONS, name)
        return found if now is not None and (now.id, now.changes) == (collection.id, collection.changes) else None

    for _ in range(LOOKS_MAX):
        if (found := await stores.read(caller.tenant, look)) is not None:
            return found
    return await stores.transact(caller.tenant, look) or []


def _found(transaction: Transaction, collection: str, terms: list[str], limit: int) -> list[PlacedPassage]:
    space = space_of(collection)
    scores = INDEX.find(transaction, space, terms).scores(saturation=SATURATION, by_length=BY_LENGTH)
    titles: dict[str, str] = {}
    found: list[PlacedPassage] = []
    for number in nlargest(limit, scores, key=lambda each: (scores[each], -each)):
        item = INDEX.item(transaction, space, number)
        passage = None if item is None else transaction.get(PASSAGES, collection, item.item)
        if passage is None:
            continue
        if passage.document not in titles:
            row = transaction.get(DOCUMENTS, collection, passage.document)
            titles[passage.document] = row.title if row is not None else passage.document
        found.append(placed(passage.document, titles[passage.document], passage.text, passage))
    return found


def placed(document: str, title: str, text: str, passage: Passage | PassageRow) -> PlacedPassage:
    """A passage that was found.

    Args:
        document, title: of its document.
        text: its words.
        passage: where it stands.
    """
    lines = (passage.first, passage.last) if passage.first else None
    return PlacedPassage(document, title, passage.heading, text, passage.page or None, lines, passage.start)
