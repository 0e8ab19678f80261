"""Finds passages in the documents that came with a question, which no index holds. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nlargest

from ...core.stored.word_index import Found
from ..citing.sources import ATTACHMENT, KeptPage
from ..cutting import passages_of
from ..search import PlacedPassage, placed
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
    best = [passages[number] for number in nlargest(limit, scores, key=lambda number: (scores[number], -number))]
    return [
        placed(page.address.removeprefix(ATTACHMENT), page.title, page.page.text[each.start : each.end], each)
        for page, each in best
    ]
