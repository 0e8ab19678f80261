"""What a run is told out of the memory of its user: found when the run begins, and told again when the run goes on.

The first record of the run says what was recalled, by name and score (`Recalled`), and never the words: the words are
read from where they stand, so that words which were forgotten since are told no more. Only what the user said is told,
never an answer or a result.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import accumulate
from typing import Literal

from msgspec import Struct, structs

from ..core.errors import JournalError
from ..core.interfaces import Journal
from ..core.json import Json, dumps
from ..core.language.words import is_sign, runs_of, terms_of
from ..core.run.record import CallCompleted, Ended, Entry, Recalled, Started
from ..core.stored.word_index import Space
from ..core.stores import Transaction
from ..core.user import User
from .feature import FEATURE, take_into_use
from .index import INDEX, TEXT_CHARS_MAX, Hit, find, has_topic, said_by_user, words_of
from .notes import NOTES, OFF, KeptNote, is_off, notes_of, out_of, where_of

EXCERPT_CHARS = 300
TOLD_CHARS = 2_000
"""The most characters that are told of what was found; preferences have as many of their own."""
PREFERENCES_MAX = 20
Kind = Literal["turn", "note", "preference"]
_CANDIDATES = 4
"""For each memory that may be told, four are looked at: some are told already."""
_WORD = re.compile(r"[^\W_]+")


class RecordedTurn(Struct, frozen=True):
    """A turn, as it stands on record.

    Attributes:
        started: its first record.
        at: when it began, in seconds since 1970.
        answered: its answer; empty where there is none.
        is_outside: whether an outsider may have written something of what was said there.
        labels_seen: the labels of values that models had seen before it, and that runs below have seen.
        labels: the labels of values of its results, which its model may have seen.
        found: the turns and notes that its model found by `recall`.
        repeats: whether its answer is left out, since it may repeat something forgotten.
    """

    started: Started
    at: float
    answered: str
    is_outside: bool = True
    labels_seen: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    repeats: bool = False

    @property
    def answers_told(self) -> tuple[str, ...]:
        """The runs whose answers its model was told: the turn before, and what it found."""
        return (*self.found, self.started.previous) if self.started.previous else self.found

    @property
    def told(self) -> tuple[str, ...]:
        """The turns and notes that its model was told in part or whole."""
        return (*self.answers_told, *(each.id for each in self.started.recalled))

    def seen(self, shows: Callable[[str, str], bool]) -> tuple[str, ...]:
        """The labels of values that its model has seen, and may have told in its answer.

        Args:
            shows: as in `core.policy.Ancestor`.
        """
        return (*self.labels_seen, *(name for name in self.labels if shows(name, self.started.model)))

    @property
    def said(self) -> str:
        """What the user said."""
        return said_by_user(self.started)


async def recall(
    journal: Journal, user: User, space: str, question: str, *, most: int, told: Collection[str]
) -> tuple[Recalled, ...] | None:
    """What is told of a user's memory before a question: the preferences, then what fits the question best. None where
    the user has switched the memory off.

    Args:
        journal: has the runs.
        user: whose memory.
        space: the memory space.
        question: what the user says now.
        most: how many memories are told at most, beside preferences.
        told: what users said in the conversation, which tells it anyway.

    Raises:
        JournalError: the index or a run is damaged.
    """
    stores = await take_into_use(journal)
    whose = Space(user.principal, space)

    def look(transaction: Transaction) -> tuple[list[KeptNote], list[Hit]] | None:
        if not transaction.has((OFF, NOTES, INDEX.terms), where_of(whose)):
            return [], []
        if is_off(transaction, whose):
            return None
        notes, until = notes_of(transaction, whose)
        wanted = [note for note in notes if note.kind == "preference" and note.id not in until]
        when = datetime.fromtimestamp(journal.now()).astimezone()
        hits = find(transaction, whose, question, when, most * _CANDIDATES) if most and has_topic(question) else []
        return wanted[-PREFERENCES_MAX:], hits

    read = partial(stores.read, user.tenant, look, caught_up=FEATURE.name, principal=user.principal)
    try:
        found_there = await read()
    except JournalError:  # a row of the index is damaged: the index is made anew, once
        await stores.rebuild(FEATURE.name)
        found_there = await read()
    if found_there is None:
        return None
    preferences, hits = found_there
    if not preferences and not hits:
        return ()
    turns = await read_turns(journal, user, [hit.item for hit in hits if hit.note is None])
    known = {plain(text) for text in told} | {plain(note.said) for note in preferences}
    found: dict[str, Recalled] = {}
    for hit in hits:
        said = hit.note.said if hit.note is not None else turns[hit.item].said if hit.item in turns else ""
        words = [said] if hit.note is not None or not said else words_of(turns[hit.item].started)
        if not said or not hit.is_own or known.issuperset(map(plain, words)):
            continue
        kind: Kind = "turn" if hit.note is None else "note"
        named = _named(hit.item, kind, hit.said.at, hit.score, excerpt(said, _terms(question)))
        before = found.setdefault(plain(said), named)
        if before.at < named.at:  # the same words were said again, and are told once
            found[plain(said)] = structs.replace(named, score=before.score)
    always = [
        (_named(note.id, "preference", note.at, 0.0, excerpt(note.said, ())), note.said)
        for note in reversed(preferences)
    ]
    best = [(named, said) for said, named in list(found.items())[:most]]
    return (*_within(always), *_within(best))


def _within(said: Sequence[tuple[Recalled, str]]) -> list[Recalled]:
    """Those of some memories that have room together, the first before the others."""
    lengths = accumulate(min(len(text), EXCERPT_CHARS) for _, text in said)
    return [named for (named, _), length in zip(said, lengths, strict=True) if length <= TOLD_CHARS]


async def lines(journal: Journal, started: Started, forgotten: str) -> list[str]:
    """What a run was told of memory, a line for each, as it is known now.

    Args:
        journal: has the words.
        started: the first record of the run.
        forgotten: told in the place of words that were forgotten since.
    """
    texts = await _texts(journal, started)
    told: list[str] = []
    for named in started.recalled:
        text = texts.get(named.id)
        day = datetime.fromtimestamp(named.at).astimezone().date().isoformat()
        words = dumps(text) if text is not None else forgotten
        told.append(f"- {day}, {named.id}{' (preference)' if named.kind == 'preference' else ''}: {words}")
    return told


def names_of(started: Started) -> str:
    """What a run was told of memory, by names and digests: the same also when the words were forgotten since."""
    return "\n".join(f"{named.id} {named.digest}" for named in started.recalled)


async def _texts(journal: Journal, started: Started) -> dict[str, str]:
    """The words of what was recalled, as far as they were not forgotten."""
    stores = await take_into_use(journal)
    space, names = Space(started.principal, started.space), [named.id for named in started.recalled]

    def look(transaction: Transaction) -> tuple[dict[str, str], set[str]]:
        return {note.id: note.said for note in notes_of(transaction, space)[0]}, out_of(transaction, space, names)

    notes, out = await stores.read(started.tenant, look)
    turns = await read_turns(journal, started.user, [named.id for named in started.recalled if named.kind == "turn"])
    terms = _terms(started.question)
    found = {name: excerpt(turn.said, terms) for name, turn in turns.items()}
    found |= {
        named.id: excerpt(notes[named.id], terms if named.kind == "note" else ())
        for named in started.recalled
        if named.id in notes
    }
    return {name: text for name, text in found.items() if name not in out}


async def read_turns(journal: Journal, user: User, run_ids: Sequence[str]) -> Mapping[str, RecordedTurn]:
    """The turns of a user that are on record; one that is damaged, forgotten or somebody else's is left out."""
    found: dict[str, RecordedTurn] = {}
    for run_id, entries in (await journal.read_each(run_ids) if run_ids else {}).items():
        turn = _turn(entries)
        if turn is not None and turn.started.user == user:
            found[run_id] = turn
    return found


def _turn(entries: Sequence[Entry]) -> RecordedTurn | None:
    try:
        started = entries[0].record
        ended = next((each for entry in reversed(entries) if isinstance(each := entry.record, Ended)), None)
    except JournalError:
        return None
    if not isinstance(started, Started):
        return None
    answered = ended.text if ended is not None and ended.status == "done" else ""
    records = [entry.record for entry in entries]
    results = [record.result for record in records if isinstance(record, CallCompleted)]
    is_outside = started.outside != () or any(result.outside for result in results)
    seen = dict.fromkeys([*started.labels_seen, *(name for result in results for name in result.seen)])
    labels = dict.fromkeys(name for result in results for name in result.labels.values())
    found = dict.fromkeys(str(item["id"]) for result in results for item in items_found(result.structured))
    return RecordedTurn(started, entries[0].at, answered, is_outside, tuple(seen), tuple(labels), tuple(found))


def items_found(structured: object) -> Sequence[Mapping[str, Json]]:
    """What `recall` found, by what it answered; nothing of what another tool answered."""
    items = structured.get("items") if isinstance(structured, dict) else None
    return [each for each in items if isinstance(each, dict) and "id" in each] if isinstance(items, list) else []


def excerpt(text: str, terms: Collection[str]) -> str:
    """At most `EXCERPT_CHARS` characters of a text on one line, around the words that fit.

    Args:
        text: what was said. Signs that steer how a text is shown are left out.
        terms: what was looked for.

    >>> excerpt("a\\n\\x1b[0m b\\u202e", ())
    'a [0m b'
    """
    plain = " ".join("".join(sign for sign in text[:TEXT_CHARS_MAX] if _is_shown(sign)).split())
    if len(plain) <= EXCERPT_CHARS:
        return plain if len(text) <= TEXT_CHARS_MAX else f"{plain}…"
    places = [found.start() for found in _WORD.finditer(plain) if not terms_of(found.group()).keys().isdisjoint(terms)]
    if any(dense for dense, _ in runs_of(plain)):
        places += [at for at in range(len(plain)) if plain[at] in terms or plain[at : at + 2] in terms]
    places, room = sorted(places), EXCERPT_CHARS - 2
    fitting = [(bisect_left(places, at + room) - number, -at) for number, at in enumerate(places)]
    begin = -max(fitting)[1] if fitting else 0
    begin = max(0, min(begin - room // 4, len(plain) - room))
    whole = plain[begin : begin + room]
    return f"{'…' if begin else ''}{whole}{'…' if begin + room < len(plain) else ''}"


def _is_shown(sign: str) -> bool:
    """Whether a sign is shown: neither a control character nor a mark that turns the direction of a text. Two marks
    join letters of Persian and Hindi, and stay.
    """
    return sign in "\n\t\r\u200c\u200d" or unicodedata.category(sign) not in ("Cc", "Cf", "Cs", "Co")


def _terms(question: str) -> set[str]:
    terms = set(terms_of(question))
    return {term for term in terms if not is_sign(term)} or terms


def plain(text: str) -> str:
    """A text without regard to white space and capital letters."""
    return " ".join(text.casefold().split())


def _named(id: str, kind: Kind, at: float, score: float, text: str) -> Recalled:
    digest = hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return Recalled(id, kind, at, round(score, 4), digest)
