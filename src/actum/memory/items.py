"""What a user finds in the own memory: `listed`, `searched`, `named`; and what a user does there: `keep`, `forget`, and
`switch_memory`.

A user looks into all spaces of the own memory, and into nobody else's. What is found is read from the record, so that
words which were forgotten there are found no more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import groupby, islice
from math import inf, nextafter
from typing import TypeVar

from msgspec import Struct, structs

from ..core.call import Problem
from ..core.clock import SystemClock
from ..core.errors import Busy, InvalidArguments, JournalError, PermissionDenied, UsageError
from ..core.interfaces import Journal
from ..core.language.words import terms_of
from ..core.process.claim import claim_of_memory
from ..core.stored.word_index import IndexedItem, IndexedTerm, Space
from ..core.stores import INTEGERS, Table, Transaction, Value
from ..core.user import User
from .feature import FEATURE, take_into_use
from .index import INDEX, Hit, find
from .latest import latest
from .notes import (
    NOTES,
    NOTES_MAX,
    OFF,
    Kept,
    KeptNote,
    NoteKind,
    drop,
    is_off,
    is_out,
    notes_of,
    replaced_at,
    replaced_by,
    switch,
    where_of,
)
from .recall import RecordedTurn, excerpt, plain, read_turns
from .repeated import without_repeated
from .spans import EVER, TimeSpan

T = TypeVar("T")
FOUND_MAX = 50
_OF_KIND_MAX = 200
"""The most items that are found where one kind is looked for; those of the kind are told."""
_TURNS_AT_ONCE = 500
_UNDER_WAY = ("running", "waiting", "paused")
_ID_CHARS_MAX = 200
KEEP_WAIT_S = 30.0
"""So long a note waits for the notes that other processes keep in its memory."""
_POLL_S = 0.02
_LAST_SIGN = chr(0x10FFFF)
"""No term and no id begins with this sign."""


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


def checked_query(query: str) -> str:
    """What is looked for, where it has words.

    Raises:
        UsageError: it has none.
    """
    if not isinstance(query, str) or not terms_of(query):
        raise UsageError("query={query!r:.80}: give words to look for", query=query)
    return query


def checked_count(limit: int) -> int:
    """How much is found at most.

    Raises:
        UsageError: it is no number from 1 to `FOUND_MAX`.
    """
    if type(limit) is not int or not 1 <= limit <= FOUND_MAX:
        raise UsageError("limit={most!r}: give a number from 1 to {limit_max}", most=limit, limit_max=FOUND_MAX)
    return limit


async def listed(
    journal: Journal,
    user: User,
    limit: int,
    space: str = "",
    times: TimeSpan = EVER,
    kind: str = "",
    behind: tuple[float, str] | None = None,
    *,
    is_whole: bool = False,
) -> list[MemoryItem]:
    """What is remembered of a user, the latest first, with the beginning of what was said.

    Args:
        journal: has the runs.
        user: whose memory.
        limit: how much is listed at most.
        space: the memory space; empty for all of the user's.
        times: only what was said then.
        kind: only `turn`, or notes of this kind; empty for all.
        behind: the moment and the id of the last item of the list before; None for the latest.
        is_whole: all of what was said and answered, instead of the beginning.

    Raises:
        JournalError: the memory can not be read.
    """
    found: list[MemoryItem] = []
    while (wanted := limit - len(found)) > 0:
        look = partial(_latest, user=user, space=space, times=times, kind=kind, behind=behind, limit=wanted)
        rows = await _read(journal, user, look)
        turns = await _shown(journal, user, [row.item for row, _ in rows if isinstance(row, IndexedItem)])
        for row, until in rows:
            if isinstance(row, KeptNote):
                found.append(_note(row, until))
            elif row.item in turns:
                found.append(_turn(row.item, turns[row.item], row.space, text=str if is_whole else _beginning))
        if len(rows) < wanted:
            break
        behind = _place(rows[-1][0])
    return found


async def is_on(journal: Journal, user: User, space: str) -> bool:
    """Whether a memory of a user is on.

    Raises:
        JournalError: the memory can not be read.
    """
    return not await _read(journal, user, lambda each: is_off(each, Space(user.principal, space)))


async def spaces_of(journal: Journal, user: User) -> dict[str, bool]:
    """The memory spaces of a user by name, each with whether the memory is on.

    Raises:
        JournalError: the memory can not be read.
    """

    def look(transaction: Transaction) -> dict[str, bool]:
        return {each.name: not is_off(transaction, each) for each in _spaces(transaction, user, "")}

    return await _read(journal, user, look)


async def searched(
    journal: Journal, user: User, query: str, limit: int, space: str = "", times: TimeSpan = EVER, kind: str = ""
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
    most = _OF_KIND_MAX if kind else limit

    def look(transaction: Transaction) -> list[tuple[Hit, str]]:
        return [
            (hit, whose.name)
            for whose in _spaces(transaction, user, space)
            for hit in find(transaction, whose, query, now, most, times)
        ]

    hits = sorted(await _read(journal, user, look), key=lambda hit: -hit[0].score)
    turns = await _shown(journal, user, [hit.item for hit, _ in hits if hit.note is None])
    terms = terms_of(query).keys()
    found: list[MemoryItem] = []
    for hit, where in hits:
        if hit.note is not None:
            found.append(_note(hit.note, None, hit.score))
        elif hit.item in turns and not _is_found_by_answer(turns[hit.item], terms, hit):
            found.append(_turn(hit.item, turns[hit.item], where, hit.score, lambda text: excerpt(text, terms)))
    return [item for item in found if kind in ("", kind_of(item))][:limit]


def _is_found_by_answer(turn: RecordedTurn, terms: Collection[str], hit: Hit) -> bool:
    """Whether a turn was found by words of an answer that is left out."""
    return turn.repeats and hit.is_own and terms_of(turn.said).keys().isdisjoint(terms)


async def _shown(journal: Journal, user: User, run_ids: Sequence[str]) -> Mapping[str, RecordedTurn]:
    """The turns of a user that are on record, without answers that may repeat something forgotten."""
    return await without_repeated(journal, user, await read_turns(journal, user, run_ids))


async def named(journal: Journal, user: User, id: str) -> MemoryItem | None:
    """A turn or a note of a user, whole; None where the user has none of this id.

    Raises:
        JournalError: the memory can not be read.
    """
    if len(id) > _ID_CHARS_MAX or not id.isprintable():
        return None

    turns = await _shown(journal, user, [id])

    def look(transaction: Transaction) -> MemoryItem | None:
        if id in turns:
            where = where_of(Space(user.principal, turns[id].started.space))
            rows = transaction.find(INDEX.items, where={**where, "item": id})
            is_there = bool(rows) and not _is_out(transaction, rows[0])
            return _turn(id, turns[id], rows[0].space, text=str) if is_there else None
        for space in _spaces(transaction, user, ""):
            note = transaction.get(NOTES, space.principal, space.name, id)
            if note is not None and not is_out(transaction, space, id):
                return _note(note, replaced_at(transaction, note))
        return None

    return await _read(journal, user, look)


async def notes_about(journal: Journal, user: User, space: str) -> dict[str, list[str]]:
    """Which runs hold notes of what a user said in other runs, by these other runs.

    Raises:
        JournalError: the memory can not be read.
    """
    whose, holding = where_of(Space(user.principal, space)), dict[str, list[str]]()
    for note in await _read(journal, user, lambda each: each.find(NOTES, where=whose)):
        if note.about_run_id:
            holding.setdefault(note.about_run_id, []).append(note.run_id)
    return holding


async def keep(journal: Journal, user: User, note: Kept, put_on_record: Callable[[], Awaitable[object]]) -> NoteItem:
    """Keep a note. The same words again are the note that is there.

    Args:
        journal: as for `listed`.
        user: whose memory.
        note: the note.
        put_on_record: puts the note on record, and on the disk.

    Raises:
        InvalidArguments: it replaces no note of this user, or there are too many notes.
        PermissionDenied: the user has switched the memory off.
        JournalError: the memory can not be read or written.
        Busy: others keep notes in this memory for longer than `KEEP_WAIT_S`.
    """
    clock = SystemClock()
    until = clock.monotonic() + KEEP_WAIT_S
    async with AsyncExitStack() as held:
        while True:
            try:
                await held.enter_async_context(journal.claim(claim_of_memory(*user, note.space)))
                break
            except Busy:
                if clock.monotonic() >= until:
                    raise Busy("others keep notes in this memory: try again in a moment") from None
            await clock.sleep(_POLL_S)
        return await _kept(journal, user, note, put_on_record)


async def _kept(journal: Journal, user: User, note: Kept, put_on_record: Callable[[], Awaitable[object]]) -> NoteItem:
    """As `keep`, by the only one who keeps notes in this memory now."""
    space = Space(user.principal, note.space)

    def look(transaction: Transaction) -> tuple[list[KeptNote], bool]:
        notes, until = notes_of(transaction, space)
        return [each for each in notes if each.id not in until], is_off(transaction, space)

    notes, off = await _read(journal, user, look)
    if off:
        raise PermissionDenied(SWITCHED_OFF)
    if note.replaces and note.replaces not in {each.id for each in notes}:
        raise InvalidArguments([Problem("replaces", "format", "the id of a note of this user", note.replaces)])
    said = plain(note.said)
    known = next((each for each in notes if plain(each.said) == said and each.id != note.replaces), None)
    if known is not None:
        return _note(known, None)
    if len(notes) >= NOTES_MAX:
        room = f"a memory with room: {NOTES_MAX} notes are kept, and replaces takes one out"
        raise InvalidArguments([Problem("", "limit", room, note.said[:80])])
    await put_on_record()
    kept = await _read(journal, user, lambda each: each.get(NOTES, user.principal, note.space, note.id))
    if kept is None:
        raise JournalError("the note could not be written")
    return _note(kept, None)


SWITCHED_OFF = "The user has switched this memory off."


async def switch_memory(journal: Journal, user: User, space: str, *, on: bool) -> None:
    """Switch a memory of a user off, so that nothing is recalled or taken in, or on again.

    Args:
        journal, user: as for `listed`.
        space: the memory space.
        on: whether the memory is on from now on.

    Raises:
        JournalError: the memory can not be written.
    """
    stores, whose = await take_into_use(journal), Space(user.principal, space)
    await stores.transact(user.tenant, lambda each: switch(each, whose, journal.now(), on=on))


async def forget(
    journal: Journal,
    user: User,
    space: str,
    items: Mapping[str, str],
    put_on_record: Callable[[Mapping[str, str]], Awaitable[None]],
) -> dict[str, str]:
    """Never find turns and notes again, nor the turns in which the words of these notes are, nor what they replaced.
    Runs that are under way are turns here, too.

    Args:
        journal: as for `listed`.
        user: whose memory.
        space: the memory space.
        items: the turns and notes by their ids; of a note its words, of a turn an empty text.
        put_on_record: is told what is forgotten: the turns, each with its conversation, and the notes.

    Returns:
        What is forgotten: the ids of turns and notes, each with the run that says the words.

    Raises:
        JournalError: the memory can not be read or written.
    """
    whose, stores = Space(user.principal, space), await take_into_use(journal)
    notes, _ = await _read(journal, user, lambda each: notes_of(each, whose))
    older = replaced_by(notes, items)
    turns = await read_turns(journal, user, [name for name, words in items.items() if not words])
    dropped = dict.fromkeys([*items, *(note.id for note in older)], "")
    dropped |= {name: turn.started.conversation for name, turn in turns.items()}
    quotes = [plain(words) for words in items.values() if words]
    dropped |= await _turns_with(journal, user, space, quotes)
    await put_on_record(dropped)

    def leave(transaction: Transaction) -> None:
        drop(transaction, whose, dropped, journal.now())
        INDEX.remove(transaction, whose, dropped)

    await stores.transact(user.tenant, leave)
    said_in = {note.id: note.run_id for note in notes}
    return {name: said_in.get(name, name) for name in dropped}


async def _turns_with(journal: Journal, user: User, space: str, quotes: Sequence[str]) -> dict[str, str]:
    """The turns in which one of some quotes stands, in what was said or answered, each with its conversation. Every
    turn is read: the index knows stems of words, and of a long text only the beginning.
    """
    if not quotes:
        return {}
    where = where_of(Space(user.principal, space))
    names = await _under_way(journal, user, space)  # first: a run that ends meanwhile is in the index
    names += await _read(journal, user, lambda each: [row.item for row in each.find(INDEX.items, where=where)])
    found: dict[str, str] = {}
    for at in range(0, len(names), _TURNS_AT_ONCE):
        for name, turn in (await read_turns(journal, user, names[at : at + _TURNS_AT_ONCE])).items():
            words = plain(f"{turn.said} {turn.answered}")
            if any(quote in words for quote in quotes):
                found[name] = turn.started.conversation
    return found


async def _under_way(journal: Journal, user: User, space: str) -> list[str]:
    """The runs that will be turns of a space when they are over."""
    runs = await journal.runs(limit=None, tenant=user.tenant, principal=user.principal, status=_UNDER_WAY)
    turns = await read_turns(journal, user, [run.run_id for run in runs])
    return [name for name, turn in turns.items() if turn.started.space == space]


async def forget_all(
    journal: Journal, user: User, space: str, put_on_record: Callable[[Mapping[str, str]], Awaitable[None]]
) -> int:
    """Never find again what is remembered of a user in a space until now; how many turns and notes there were.

    Args and errors are those of `forget`.
    """
    count, names = 0, await _under_way(journal, user, space)
    while names := names + [item.id for item in await listed(journal, user, _TURNS_AT_ONCE, space)]:
        count += len(await forget(journal, user, space, dict.fromkeys(names, ""), put_on_record))
        names = []
    return count


async def _read(journal: Journal, user: User, look: Callable[[Transaction], T]) -> T:
    stores = await take_into_use(journal)
    return await stores.read(user.tenant, look, caught_up=FEATURE.name, principal=user.principal)


def _spaces(transaction: Transaction, user: User, space: str) -> Sequence[Space]:
    """The memory spaces of a user, by name."""
    if space:
        return [Space(user.principal, space)]
    names = {row.space for row in transaction.find(OFF, where={"principal": user.principal})}
    names |= _names(transaction, INDEX.terms, user, {"term": _LAST_SIGN, "part": INTEGERS[-1]})
    names |= _names(transaction, NOTES, user, {"id": _LAST_SIGN})
    return [Space(user.principal, name) for name in sorted(names)]


_Spaced = TypeVar("_Spaced", IndexedTerm, KeptNote)


def _names(transaction: Transaction, table: Table[_Spaced], user: User, last: Mapping[str, Value]) -> set[str]:
    """The spaces that have rows in a table: one row of each space is read.

    Args:
        transaction, table: where to look.
        user: whose rows.
        last: the fields of a row behind all rows of its space.
    """
    names: set[str] = set()
    where = {"principal": user.principal}
    rows = transaction.find(table, where=where, limit=1)
    while rows:
        names.add(rows[0].space)
        rows = transaction.find(table, where=where, limit=1, behind=structs.replace(rows[0], **last))
    return names


_Row = IndexedItem | KeptNote


def _latest(
    transaction: Transaction,
    *,
    user: User,
    space: str,
    times: TimeSpan,
    kind: str,
    behind: tuple[float, str] | None,
    limit: int,
) -> list[tuple[_Row, float | None]]:
    """Rows as `listed` lists them; a note with the moment at which another one took its place."""
    where = {"principal": user.principal} | ({"space": space} if space else {})
    until = times.until if behind is None else min(times.until, nextafter(behind[0], inf))
    span, rows = TimeSpan(times.since, until), list[Iterator[_Row]]()
    if kind in ("", "turn"):
        rows.append(_in_order(latest(transaction, INDEX.items, where, span)))
    if kind != "turn":
        notes = latest(transaction, NOTES, where, span)
        rows.append(_in_order(note for note in notes if kind in ("", note.kind)))
    both = merge(*rows, key=_place, reverse=True)
    left = (row for row in both if (behind is None or _place(row) < behind) and not _is_out(transaction, row))
    return [(row, replaced_at(transaction, row) if isinstance(row, KeptNote) else None) for row in islice(left, limit)]


def _in_order(rows: Iterator[_Row]) -> Iterator[_Row]:
    """Rows of the same moment in the order of their ids, the last first."""
    for _, same in groupby(rows, key=lambda row: row.at):
        yield from sorted(same, key=_place, reverse=True)


def _place(row: _Row) -> tuple[float, str]:
    return row.at, row.id if isinstance(row, KeptNote) else row.item


def _is_out(transaction: Transaction, row: _Row) -> bool:
    return is_out(transaction, Space(row.principal, row.space), _place(row)[1])


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
