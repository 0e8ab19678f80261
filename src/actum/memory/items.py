"""What a user finds in the own memory: `listed`, `searched`, `named`; and `forget`, after which nothing is found there.

A user looks into all spaces of the own memory, and into nobody else's. What is found is read from the record, so that
words which were forgotten there are found no more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

from msgspec import Struct

from ..core.interfaces import Journal
from ..core.language.words import terms_of
from ..core.stored.word_index import IndexedItem, Space
from ..core.stores import Transaction
from ..core.user import User
from .feature import FEATURE, take_into_use
from .index import EVER, INDEX, Hit, Times, find, occasion_of
from .notes import NOTES, KeptNote, NoteKind, drop, notes_of
from .recall import RecordedTurn, excerpt, plain, read_turns

T = TypeVar("T")
FOUND_MAX = 200
QUOTING_MAX = 500
_ID_CHARS_MAX = 200


class TurnItem(Struct, frozen=True, kw_only=True, tag_field="type", tag="turn"):
    """What a user said in a run, and what was answered.

    Attributes:
        id: the run.
        conversation: where it was said; empty for a run that stands alone.
        agent: which agent answered.
        space: the memory space.
        at: when it was said, in seconds since 1970.
        said: the user's words; in a list, at most 300 characters around the words that fit.
        answered: what was answered, likewise; empty where the run is not done.
        score: how well it fits what was looked for; 0 where nothing was.
    """

    id: str
    conversation: str
    agent: str
    space: str
    at: float
    said: str
    answered: str
    score: float = 0.0


class NoteItem(Struct, frozen=True, kw_only=True, tag_field="type", tag="note"):
    """Words of a user that were kept.

    Attributes:
        id: the note.
        kind: a preference is told to the model in every conversation.
        space: the memory space.
        at: when it was kept, in seconds since 1970.
        until: when another note took its place; null for a note that holds.
        said: the words.
        run: the run that kept them.
        replaces: the note whose place it took; empty for none.
        score: how well it fits what was looked for; 0 where nothing was.
    """

    id: str
    kind: NoteKind
    space: str
    at: float
    until: float | None
    said: str
    run: str
    replaces: str
    score: float = 0.0


MemoryItem = TurnItem | NoteItem


def kind_of(item: MemoryItem) -> str:
    """What an item is: `turn`, or the kind of the note."""
    return item.kind if isinstance(item, NoteItem) else "turn"


async def listed(journal: Journal, user: User, space: str = "", times: Times = EVER) -> list[MemoryItem]:
    """All that is remembered of a user, the latest first, with the beginning of what was said.

    Args:
        journal: has the runs.
        user: whose memory.
        space: the memory space; empty for all of the user's.
        times: only what was said then.

    Raises:
        JournalError: the memory can not be read.
    """

    def look(transaction: Transaction) -> tuple[list[IndexedItem], list[MemoryItem]]:
        where = {"principal": user.principal} | ({"space": space} if space else {})
        rows = [row for row in transaction.find(INDEX.items, where=where) if times.holds(occasion_of(row).at)]
        notes = [note for each in _spaces(transaction, user, space) for note in _notes(transaction, each)]
        return rows, [note for note in notes if times.holds(note.at)]

    rows, notes = await _read(journal, user, look)
    turns = await read_turns(journal, user, [row.item for row in rows])
    found = [_turn(row.item, turns[row.item], row.space) for row in rows if row.item in turns]
    return sorted([*found, *notes], key=lambda item: (item.at, item.id), reverse=True)


async def searched(
    journal: Journal, user: User, query: str, limit: int, space: str = "", times: Times = EVER, kind: str = ""
) -> list[MemoryItem]:
    """What fits some words best, of what is remembered of a user.

    Args:
        journal, user, space, times: as for `listed`.
        query: the words.
        limit: how much is found at most.
        kind: only `turn`, or notes of this kind; empty for all.

    Raises:
        JournalError: the memory can not be read.
    """
    now = datetime.fromtimestamp(journal.now()).astimezone()
    most = FOUND_MAX if kind else limit

    def look(transaction: Transaction) -> list[tuple[Hit, str]]:
        return [
            (hit, whose.name)
            for whose in _spaces(transaction, user, space)
            for hit in find(transaction, whose, query, now, most, times)
        ]

    hits = sorted(await _read(journal, user, look), key=lambda hit: -hit[0].score)
    turns = await read_turns(journal, user, [hit.item for hit, _ in hits if hit.note is None])
    terms = terms_of(query).keys()
    found: list[MemoryItem] = []
    for hit, where in hits:
        if hit.note is not None:
            found.append(_note(hit.note, None, hit.score))
        elif hit.item in turns:
            found.append(_turn(hit.item, turns[hit.item], where, hit.score, lambda text: excerpt(text, terms)))
    return [item for item in found if kind in ("", kind_of(item))][:limit]


async def named(journal: Journal, user: User, id: str) -> MemoryItem | None:
    """A turn or a note of a user, whole; None where the user has none of this id.

    Raises:
        JournalError: the memory can not be read.
    """
    if len(id) > _ID_CHARS_MAX or not id.isprintable():
        return None

    def look(transaction: Transaction) -> tuple[list[IndexedItem], list[NoteItem]]:
        row = transaction.find(INDEX.items, where={"principal": user.principal, "item": id})
        kept = transaction.find(NOTES, where={"principal": user.principal, "id": id})
        notes = [note for each in kept for note in _notes(transaction, Space(each.principal, each.space))]
        return row, [note for note in notes if note.id == id]

    rows, notes = await _read(journal, user, look)
    turns = await read_turns(journal, user, [row.item for row in rows])
    found = [_turn(row.item, turns[row.item], row.space, text=str) for row in rows if row.item in turns]
    items: list[MemoryItem] = [*notes, *found]
    return items[0] if items else None


async def forget(
    journal: Journal,
    user: User,
    space: str,
    items: Mapping[str, str],
    put_on_record: Callable[[Mapping[str, str]], object] = dict[str, str],
    *,
    under_way: str = "",
) -> list[str]:
    """Never find turns and notes again, nor the turns in which the words of these notes are.

    Args:
        journal: as for `listed`.
        user: whose memory.
        space: the memory space.
        items: the turns and notes by their ids; of a note its words, of a turn an empty text.
        put_on_record: is told what is forgotten: the turns, each with its conversation, and the notes.
        under_way: a run that is not over, and is forgotten as a turn where it says these words.

    Returns:
        What is forgotten: the ids of turns and notes.

    Raises:
        JournalError: the memory can not be read or written.
    """
    whose, stores = Space(user.principal, space), await take_into_use(journal)
    quotes = [plain(words) for words in items.values() if words]
    names = [name for name, words in items.items() if not words] + ([under_way] if quotes and under_way else [])
    for quote in quotes:
        now = datetime.fromtimestamp(journal.now()).astimezone()
        look = partial(find, space=whose, question=quote, now=now, limit=QUOTING_MAX)
        names += [hit.item for hit in await _read(journal, user, look) if hit.note is None]
    turns = await read_turns(journal, user, list(dict.fromkeys(names)))
    dropped = dict.fromkeys(items, "") | {
        name: turn.started.conversation
        for name, turn in turns.items()
        if name in items or any(quote in plain(f"{turn.said} {turn.answered}") for quote in quotes)
    }
    put_on_record(dropped)

    def leave(transaction: Transaction) -> None:
        drop(transaction, whose, dropped, journal.now())
        INDEX.remove(transaction, whose, dropped)

    await stores.transact(user.tenant, leave)
    return list(dropped)


async def _read(journal: Journal, user: User, look: Callable[[Transaction], T]) -> T:
    return await (await take_into_use(journal)).read(user.tenant, look, caught_up=FEATURE.name)


def _spaces(transaction: Transaction, user: User, space: str) -> Sequence[Space]:
    """The memory spaces of a user, by name."""
    if space:
        return [Space(user.principal, space)]
    names = {row.space for row in transaction.find(INDEX.terms, where={"principal": user.principal, "term": ""})}
    names |= {note.space for note in transaction.find(NOTES, where={"principal": user.principal})}
    return [Space(user.principal, name) for name in sorted(names)]


def _notes(transaction: Transaction, space: Space) -> list[NoteItem]:
    notes, until = notes_of(transaction, space)
    return [_note(note, until.get(note.id)) for note in notes]


def _note(note: KeptNote, until: float | None, score: float = 0.0) -> NoteItem:
    return NoteItem(
        id=note.id,
        kind="preference" if note.kind == "preference" else "fact",
        space=note.space,
        at=note.at,
        until=until,
        said=note.said,
        run=note.run_id,
        replaces=note.replaces,
        score=round(score, 4),
    )


def _beginning(text: str) -> str:
    return excerpt(text, ())


def _turn(
    id: str, turn: RecordedTurn, space: str, score: float = 0.0, text: Callable[[str], str] = _beginning
) -> TurnItem:
    return TurnItem(
        id=id,
        conversation=turn.started.conversation,
        agent=turn.started.agent,
        space=space,
        at=turn.at,
        said=text(turn.said),
        answered=text(turn.answered),
        score=round(score, 4),
    )
