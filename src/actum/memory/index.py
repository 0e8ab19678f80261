"""The index of memory: what each user said and what was answered, by words, and how a question is answered from it.

All of it happens inside of one transaction of the stores; `core.word_index` counts, `ranking` puts in order.
"""

from __future__ import annotations

import hashlib
from datetime import datetime

from msgspec import Struct

from ..core.language.words import is_sign, terms_of
from ..core.stores import Transaction
from ..core.word_index import Space, Terms, WordIndex
from . import ranking
from .ranking import Occasion
from .spans import spans_of

TEXT_CHARS_MAX = 8_000
"""Of a longer text the beginning is indexed."""
QUESTION_TERMS_MAX = 64
SIGN_WEIGHT = 0.5
"""How much a single Chinese sign counts in a question: pairs say more."""
INDEX = WordIndex("turns")
_CONVERSATION = "conversation:"
"""Begins the term that all turns of a conversation have. No term of a text holds a colon."""


class Hit(Struct, frozen=True):
    """A turn that was found.

    Attributes:
        item: its name in the index.
        said: where and when it was said.
        score: how well it fits.
    """

    item: str
    said: Occasion
    score: float


def terms(text: str, said: Occasion, run_id: str | None = None) -> Terms:
    """What a text is found by.

    Args:
        text: the text. Only the first `TEXT_CHARS_MAX` signs are indexed.
        said: where and when it was said.
        run_id: the run that it is forgotten with.
    """
    weights = dict(terms_of(text[:TEXT_CHARS_MAX]))
    if said.conversation:
        weights[_term(said.conversation)] = 1
    return Terms(weights, f"{said.at!r} {said.conversation}", run_id)


def find(transaction: Transaction, space: Space, question: str, now: datetime, limit: int) -> list[Hit]:
    """What answers a question best.

    Args:
        transaction: reads the index.
        space: whose memory.
        question: what was asked.
        now: when, with the time zone of the person.
        limit: how many are found at most.

    Raises:
        JournalError: the index is damaged.
    """
    weights = {term: SIGN_WEIGHT if is_sign(term) else 1.0 for term in list(terms_of(question))[:QUESTION_TERMS_MAX]}
    found = INDEX.find(transaction, space, weights)
    scores = found.scores(weights, saturation=ranking.SATURATION, by_length=ranking.BY_LENGTH)
    said = {
        number: where for number in ranking.best(scores) if (where := _said(transaction, space, number)) is not None
    }
    names = {_term(where.conversation): where.conversation for where in said.values() if where.conversation}
    talks = INDEX.find(transaction, space, names)
    conversations = {names[term]: sorted(having) for term, having in talks.having.items()}
    hits: list[Hit] = []
    for number, score in ranking.ranked(scores, said, conversations, spans_of(question, now)):
        item = INDEX.item(transaction, space, number)
        if item is not None:
            hits.append(Hit(item.item, _read(item.note), score))
        if len(hits) == limit:
            break
    return hits


def _said(transaction: Transaction, space: Space, number: int) -> Occasion | None:
    item = INDEX.item(transaction, space, number)
    return None if item is None else _read(item.note)


def _read(note: str) -> Occasion:
    at, _, conversation = note.partition(" ")
    return Occasion(conversation, float(at))


def _term(conversation: str) -> str:
    return _CONVERSATION + (
        conversation if len(conversation) <= 64 and conversation.isprintable() else _digest(conversation)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
