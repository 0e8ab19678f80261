"""The index of memory: what each user said and what was answered, by words, and how a question is answered from it.

A turn is a run that is over, whose first record names a space (`Started.space`) and has words of the user. The index is
a view of the journal: `TURNS` takes the runs in. All of it happens inside of one transaction of the stores:
`core.stored.word_index` counts, and `ranking` puts in order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from ..core.language.words import is_sign, terms_of
from ..core.message import UserMessage
from ..core.run.record import Ended, Record, Started
from ..core.stored.word_index import Space, Terms, WordIndex
from ..core.stores import RecordPlace, RunView, Transaction
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


def said_by_user(started: Started) -> str:
    """The user's own words in a run; empty where somebody else began the run."""
    return "\n".join(
        message.text for message in started.said if isinstance(message, UserMessage) and message.source == "user"
    )


def is_turn(started: Started) -> bool:
    """Whether a run can be a turn: its own first record says so, and no setting of today."""
    return bool(started.space)


def take(transaction: Transaction, runs: Sequence[tuple[RecordPlace, Sequence[Record]]]) -> None:
    """Take runs that are over into the index, in the place of what was known of them. See `RunView.take`."""
    turns: dict[Space, dict[str, Terms]] = {}
    for place, records in runs:
        started, ended = records[0], [record for record in records if isinstance(record, Ended)]
        assert isinstance(started, Started)
        if said := said_by_user(started):
            answered = ended[-1].text if ended and ended[-1].status == "done" else ""
            occasion = Occasion(started.conversation, place.at)
            of_space = turns.setdefault(Space(started.principal, started.space), {})
            of_space[place.run_id] = terms([said, answered], occasion, place.run_id)
    for space, items in turns.items():
        INDEX.put(transaction, space, items)


TURNS = RunView(INDEX.tables, is_turn, take)


def terms(texts: Sequence[str], occasion: Occasion, run_id: str | None = None) -> Terms:
    """What some texts are found by together.

    Args:
        texts: the texts. Of each only the first `TEXT_CHARS_MAX` signs are indexed.
        occasion: where and when they were said.
        run_id: the run that they are forgotten with.
    """
    weights: Counter[str] = sum((terms_of(text[:TEXT_CHARS_MAX]) for text in texts), Counter())
    if occasion.conversation:
        weights[_term(occasion.conversation)] = 1
    return Terms(weights, f"{occasion.at!r} {occasion.conversation}", run_id)


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
