"""Finds passages in the documents that came with a question, which no index holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from ...core.stored.word_index import Found
from ..citing.sources import ATTACHMENT, KeptPage
from ..cutting import Passage, passages_of
from ..search import PlacedPassage
from ..terms import BY_LENGTH, SATURATION, asked_for, weighed


def search_pages(pages: Sequence[KeptPage], question: str, limit: int) -> list[PlacedPassage]:
    """The passages of documents that answer a question best, the best first; as `search.search` ranks them."""
    passages = [(page, each) for page in pages for each in passages_of(page.page)]
    having: dict[str, dict[int, tuple[int, int]]] = {term: {} for term in asked_for(question)}
    total = 0
    for number, (page, each) in enumerate(passages):
        terms = weighed(page.page.text[each.start : each.end], page.title, each.heading)
        length = sum(terms.values())
        total += length
        for term in having:
            if term in terms:
                having[term][number] = (terms[term], length)
    found = Found(len(passages), total / max(len(passages), 1), having)
    scores = found.scores(saturation=SATURATION, by_length=BY_LENGTH)
    best = nlargest(limit, scores, key=lambda number: (scores[number], -number))
    return [_placed(*passages[number]) for number in best]


def _placed(page: KeptPage, each: Passage) -> PlacedPassage:
    lines = (each.first, each.last) if each.first else None
    text = page.page.text[each.start : each.end]
    name = page.address.removeprefix(ATTACHMENT)
    return PlacedPassage(name, page.title, each.heading, text, each.page or None, lines, each.start)
