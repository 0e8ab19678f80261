"""Notes, and what was forgotten: records of this feature on the record of runs, and their rows.

    Kept        a note: words of the user that are to be remembered        -> NOTES
    Dropped     turns and notes that are never found again                 -> DROPPED, and OUT

The rows are views of the records. What was forgotten is also kept in OUT, which is no view: it holds no
words, and still holds when the run that asked for it was deleted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Literal

from msgspec import Struct

from ..core.stored.word_index import BY_TIME, Space
from ..core.stores import AMONG_MAX, RecordPlace, RecordView, Table, Transaction, Value

NoteKind = Literal["fact", "preference"]
NOTE_CHARS_MAX = 1_000
NOTES_MAX = 10_000
"""How many notes a user may have in a space."""
DROPPED_AT_ONCE = 10
"""Items in one record: the id of a conversation has up to 1,000 characters, and a record has a limit of bytes."""


class Kept(Struct, frozen=True, tag="kept", omit_defaults=True):
    """A note.

    Attributes:
        id: the id of the note.
        space: the memory space.
        kind: a preference is told in every conversation.
        said: the words.
        about: the run in which the user said the words; empty where a person wrote the note down.
        replaces: the note that is no longer told or found.
    """

    id: str
    space: str
    kind: NoteKind
    said: str
    about: str = ""
    replaces: str = ""


class Dropped(Struct, frozen=True, tag="dropped"):
    """Turns and notes that are never found again.

    Attributes:
        space: the memory space.
        items: the runs and notes, each with its conversation. What is answered there from now on is not found either.
    """

    space: str
    items: dict[str, str]


class KeptNote(Struct, frozen=True):
    """A note, as a row. `run_id` is the run that kept the note; the other fields are those of `Kept`."""

    principal: str
    space: str
    id: str
    kind: str
    said: str
    at: float
    replaces: str
    run_id: str
    about_run_id: str | None


class DroppedItem(Struct, frozen=True):
    """Something forgotten, as a row. `run_id` is the run that asked for it."""

    principal: str
    space: str
    item: str
    conversation: str
    run_id: str


class OutItem(Struct, frozen=True):
    """Something that is never found again, as a row."""

    principal: str
    space: str
    item: str
    conversation: str
    at: float


class SwitchedOff(Struct, frozen=True):
    """A user has switched a memory off, as a row: nothing is recalled or taken in while the row is there."""

    principal: str
    space: str
    at: float


BY_REPLACED = ("principal", "space", "replaces")
NOTES = Table("notes", KeptNote, ("principal", "space", "id"), (BY_TIME, BY_REPLACED))
DROPPED = Table("dropped", DroppedItem, ("principal", "space", "item", "run_id"))
OUT = Table("out", OutItem, ("principal", "space", "item"), (("principal", "space", "conversation"),))
OFF = Table("off", SwitchedOff, ("principal", "space"))
RECORDS = (Kept, Dropped)


def _noted(kept: Kept, place: RecordPlace) -> list[KeptNote]:
    about = kept.about or None
    return [
        KeptNote(
            place.principal, kept.space, kept.id, kept.kind, kept.said, place.at, kept.replaces, place.run_id, about
        )
    ]


def _dropped(dropped: Dropped, place: RecordPlace) -> list[DroppedItem]:
    return [
        DroppedItem(place.principal, dropped.space, item, conversation, place.run_id)
        for item, conversation in dropped.items.items()
    ]


VIEWS = (
    RecordView(NOTES, Kept, _noted),
    RecordView(DROPPED, Dropped, _dropped),
)
TABLES = (NOTES, DROPPED, OUT, OFF)


def where_of(space: Space) -> dict[str, str]:
    """The fields of a row that say whose the row is."""
    return {"principal": space.principal, "space": space.name}


def notes_of(transaction: Transaction, space: Space) -> tuple[list[KeptNote], Mapping[str, float]]:
    """The notes of a user, the oldest first, and until when those held that others replaced, by their ids."""
    notes = transaction.find(NOTES, where=where_of(space), order="at")
    out = out_of(transaction, space, [note.id for note in notes])
    left = [note for note in notes if note.id not in out]
    return left, {note.replaces: note.at for note in reversed(left) if note.replaces}


def replaced_by(notes: Collection[KeptNote], ids: Collection[str]) -> list[KeptNote]:
    """The notes whose place some notes took, one after the other. They do not hold again when these are forgotten."""
    by_id, found, newer = {note.id: note for note in notes}, dict[str, KeptNote](), list(ids)
    while newer:
        note = by_id.get(newer.pop())
        older = by_id.get(note.replaces) if note is not None else None
        if older is not None and older.id not in found and older.id not in ids:
            found[older.id] = older
            newer.append(older.id)
    return list(found.values())


def replaced_at(transaction: Transaction, note: KeptNote) -> float | None:
    """When another note took the place of a note; None for a note that holds."""
    space = Space(note.principal, note.space)
    others = transaction.find(NOTES, where={**where_of(space), "replaces": note.id}, order="at")
    return next((other.at for other in others if not is_out(transaction, space, other.id)), None)


def is_off(transaction: Transaction, space: Space) -> bool:
    """Whether the user has switched the memory off."""
    return transaction.get(OFF, space.principal, space.name) is not None


def switch(transaction: Transaction, space: Space, at: float, *, on: bool) -> None:
    """Switch the memory of a user on or off."""
    if on:
        transaction.delete(OFF, where_of(space))
    else:
        transaction.put(OFF, SwitchedOff(space.principal, space.name, at))


def out_of(transaction: Transaction, space: Space, items: Collection[str]) -> set[str]:
    """Those of some turns and notes that were forgotten."""
    names, found = list(items) if items and has_forgotten(transaction, space) else [], set[str]()
    for at in range(0, len(names), AMONG_MAX):
        some: tuple[Value, ...] = tuple(names[at : at + AMONG_MAX])
        found |= {row.item for row in transaction.find(OUT, where={**where_of(space), "item": some})}
        found |= {row.item for row in transaction.find(DROPPED, where={**where_of(space), "item": some})}
    return found


def is_out(transaction: Transaction, space: Space, item: str) -> bool:
    """Whether a turn or note was forgotten."""
    return transaction.has((OUT, DROPPED), {**where_of(space), "item": item})


def dropped_records(space: str, items: Mapping[str, str]) -> list[Dropped]:
    """The records that say what is forgotten, none too long for a record; see `Dropped.items`."""
    names = list(items)
    return [
        Dropped(space, {name: items[name] for name in names[at : at + DROPPED_AT_ONCE]})
        for at in range(0, len(names), DROPPED_AT_ONCE)
    ]


def has_forgotten(transaction: Transaction, space: Space) -> bool:
    """Whether anything of a memory was forgotten."""
    return transaction.has((OUT, DROPPED), where_of(space))


def has_gaps(transaction: Transaction, space: Space, conversation: str) -> bool:
    """Whether something of a conversation was forgotten: what is answered there may repeat it."""
    where = {**where_of(space), "conversation": conversation}
    return bool(conversation) and transaction.has((OUT, DROPPED), where)


def drop(transaction: Transaction, space: Space, items: Mapping[str, str], at: float) -> None:
    """Never find turns and notes again; see `Dropped.items`."""
    for item, conversation in items.items():
        transaction.put(OUT, OutItem(space.principal, space.name, item, conversation, at))
        transaction.delete(NOTES, {**where_of(space), "id": item})
