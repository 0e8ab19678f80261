"""The index of memory: what each user said and what was answered, by words, and how a question is answered from it.

A turn is a run that is over, whose first record names a space (`Started.space`) and has words of the user. The index is
a view of the journal: `TURNS` takes the runs in. Notes are few beside turns, and are looked through as they are. All of
it happens inside of one transaction of the stores: `core.stored.word_index` counts, and `ranking` puts in order.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cache
from math import log

from msgspec import Struct

from ..core.language.words import COUNTING_SIGNS, is_sign, terms_of
from ..core.message import UserMessage
from ..core.run.record import Ended, Record, Started
from ..core.stored.word_index import Found, IndexedItem, Space, Terms, WordIndex
from ..core.stores import RecordPlace, RunView, Transaction
from . import ranking
from .latest import latest
from .notes import KeptNote, has_forgotten, has_gaps, is_out, notes_of, out_of, where_of
from .ranking import Occasion
from .spans import EVER, TimeSpan, spans_of

TEXT_CHARS_MAX = 8_000
"""Of a longer text the beginning is indexed."""
QUESTION_TERMS_MAX = 64
SIGN_WEIGHT = 0.5
"""How much a single Chinese sign counts in a question: pairs say more."""
INDEX = WordIndex("turns")
_CONVERSATION = "conversation:"
"""Begins the term that all turns of a conversation have. No term of a text holds a colon."""


RARE_SHARE, RARE_MIN = 0.02, 3
"""A single Chinese sign makes a turn be told by itself where at most this part of the items, or this number, has it."""
_GREETINGS = (
    "hello hi hey thanks thank please good morning evening afternoon night bye goodbye ok okay yes nice great cool "
    "welcome 谢谢 多谢 你好 您好 早上好 上午好 中午好 下午好 晚上好 早安 晚安 再见 好的 辛苦 不客气 "
    + " ".join(COUNTING_SIGNS)
)
"""Greetings, thanks, and single Chinese signs of numbers and of grammar: they make nothing be told by themselves."""
SPOKEN = frozenset({"user", "agent"})
"""Whose words make a turn. What a client of the API says of its user counts as an agent's; a run that works for another
agent is no turn in any case, since it has no space.
"""


class Hit(Struct, frozen=True):
    """Something that was found.

    Attributes:
        item: the run of a turn, or the id of a note.
        said: where and when it was said.
        score: how well it fits.
        is_own: whether it holds a word of the question, and not only its neighbours do.
        note: the note; None for a turn.
    """

    item: str
    said: Occasion
    score: float
    is_own: bool = True
    note: KeptNote | None = None


def words_of(started: Started) -> list[str]:
    """What the user said in a run, message by message; nothing where somebody else began the run."""
    return [message.text for message in started.said if isinstance(message, UserMessage) and message.source in SPOKEN]


def said_by_user(started: Started) -> str:
    """The user's own words in a run; empty where somebody else began the run."""
    return "\n".join(words_of(started))


def is_turn(started: Started) -> bool:
    """Whether a run can be a turn: its own first record says so, and no setting of today."""
    return bool(started.space)


def take(transaction: Transaction, runs: Sequence[tuple[RecordPlace, Sequence[Record]]]) -> None:
    """Take runs that are over into the index, in the place of what was known of them. See `RunView.take`."""
    turns: dict[Space, dict[str, Terms]] = {}
    forgetting: dict[Space, bool] = {}
    for place, records in runs:
        started, ended = records[0], [record for record in records if isinstance(record, Ended)]
        assert isinstance(started, Started)
        space = Space(started.principal, started.space)
        if space not in forgetting:
            forgetting[space] = has_forgotten(transaction, space)
        may_be_out, said = forgetting[space], said_by_user(started)
        if said and not (may_be_out and is_out(transaction, space, place.run_id)):
            has_gap = may_be_out and has_gaps(transaction, space, started.conversation)
            answered = ended[-1].text if ended and ended[-1].status == "done" and not has_gap else ""
            occasion = Occasion(started.conversation, place.at)
            of_space = turns.setdefault(space, {})
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
    return Terms(weights, occasion.conversation, run_id, occasion.at)


def has_topic(question: str) -> bool:
    """Whether a question has words beside greetings and thanks. Without them no turn and no note is told by itself."""
    return not _terms_of_greetings().issuperset(terms_of(question))


def find(
    transaction: Transaction, space: Space, question: str, now: datetime, limit: int, times: TimeSpan = EVER
) -> list[Hit]:
    """What answers a question best: turns, and notes that no other note has replaced.

    Args:
        transaction: reads the index.
        space: whose memory.
        question: what was asked.
        now: when, with the time zone of the person.
        limit: how many are found at most.
        times: nothing is found that was said before or after.

    Raises:
        JournalError: the index is damaged.
    """
    weights = {term: SIGN_WEIGHT if is_sign(term) else 1.0 for term in list(terms_of(question))[:QUESTION_TERMS_MAX]}
    found = INDEX.find(transaction, space, weights)
    scores = found.scores(weights, saturation=ranking.SATURATION, by_length=ranking.BY_LENGTH)
    if times != EVER:
        inside = {row.number for row in latest(transaction, INDEX.items, where_of(space), times)}
        scores = {number: score for number, score in scores.items() if number in inside}
    said = {
        number: where for number in ranking.best(scores) if (where := _said(transaction, space, number)) is not None
    }
    names = {_term(where.conversation): where.conversation for where in said.values() if where.conversation}
    talks = INDEX.find(transaction, space, names)
    conversations = {names[term]: sorted(having) for term, having in talks.having.items()}
    greetings = _terms_of_greetings()
    own = {
        number
        for term, having in found.having.items()
        if term not in greetings and (not is_sign(term) or len(having) <= max(RARE_MIN, found.items * RARE_SHARE))
        for number in having
    }
    spans = spans_of(question, now)
    hits = _notes(transaction, space, weights, found, times)
    for number, score in ranking.ranked(scores, said, conversations, spans):
        item = INDEX.item(transaction, space, number)
        if item is not None and times.holds((occasion := occasion_of(item)).at):
            hits.append(Hit(item.item, occasion, score, number in own))
        if len(hits) == limit + NOTES_FOUND_MAX:
            break
    out = out_of(transaction, space, [hit.item for hit in hits])
    return sorted((hit for hit in hits if hit.item not in out), key=lambda hit: -hit.score)[:limit]


NOTES_FOUND_MAX = 50


@cache
def _terms_of_greetings() -> frozenset[str]:
    """Made when it is first needed: stems take a tenth of a second to load."""
    return frozenset(terms_of(_GREETINGS))


def _notes(
    transaction: Transaction, space: Space, weights: Mapping[str, float], found: Found, times: TimeSpan
) -> list[Hit]:
    """The notes that fit, scored as `Found.scores` does, among the turns and the notes."""
    notes, until = notes_of(transaction, space)
    held_by = {note.id: terms_of(note.said) for note in notes if note.id not in until and times.holds(note.at)}
    hits: list[Hit] = []
    greetings = _terms_of_greetings()
    rarity: dict[str, float] = {}
    for term in weights:
        items = found.items + len(held_by)
        having = len(found.having.get(term, ())) + sum(term in held for held in held_by.values())
        rarity[term] = log(1 + (items - having + 0.5) / (having + 0.5))
    for note in notes:
        held = held_by.get(note.id, Counter())
        fitting = [term for term in weights if term in held]
        if fitting:
            whole = (weights[term] * rarity[term] * held[term] / (held[term] + ranking.SATURATION) for term in fitting)
            score = (ranking.SATURATION + 1) * sum(whole)
            is_own = any(not is_sign(term) and term not in greetings for term in fitting)
            hits.append(Hit(note.id, Occasion("", note.at), score, is_own, note))
    return sorted(hits, key=lambda hit: -hit.score)[:NOTES_FOUND_MAX]


def occasion_of(item: IndexedItem) -> Occasion:
    """Where and when an item of the index was said."""
    return Occasion(item.note, item.at)


def _said(transaction: Transaction, space: Space, number: int) -> Occasion | None:
    item = INDEX.item(transaction, space, number)
    return None if item is None else occasion_of(item)


def _term(conversation: str) -> str:
    return _CONVERSATION + (
        conversation if len(conversation) <= 64 and conversation.isprintable() else _digest(conversation)
    )


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
