"""The journal in memory: the default of the library, and the reference for the others.

Every journal passes the same tests. This one forgets when the process ends; `storage` has those that do not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING, Literal, Unpack

import msgspec

from ..core.clock import SystemClock
from ..core.errors import UnknownName
from ..core.interfaces import NOTHING_READ, Clock, RunFilter
from ..core.process.claim import Claims
from ..core.run.chain import GENESIS, SignedHead, seal, sign
from ..core.run.ending import ends_secrets, signs_head
from ..core.run.marks import marks_of, marks_wanted
from ..core.run.noted import NO_KINDS, RecordKinds
from ..core.run.record import Ended, Entry, Forgotten, InputGiven, InputRequested, Noted, Record, Started
from ..core.run.summary import (
    OVER,
    ConversationSummary,
    OpenQuestion,
    RunSummary,
    is_telling,
    may_wait_on,
    nothing_waits,
    persons_needed,
    summarize,
)
from ..core.secrets.sealed import SealedWords, open_words, seal_words
from ..core.stores import RecordPlace

if TYPE_CHECKING:
    from ..core.stored.definitions import Definitions
    from ..core.stored.held import HeldRuns
    from ..core.stored.kept_object import ObjectStore
    from ..core.stored.key import KeyStore
    from ..core.stored.position import Positions
    from ..core.stored.session import SessionStore
    from ..core.stores import Stores
    from ..storage.memory import BesideMemory

_OVER = ("done", "stopped", "failed")


class MemoryJournal:
    """A `Journal` that lives as long as its process.

    Args:
        clock: where the time of an entry comes from.
        key: the secret with which heads are signed; None to sign none.
        runs_max: the most runs that are kept, for a program that lives long: the runs that ended first
            are dropped first. None for all.
        record_kinds: the kinds of records that features bring.

    What stands beside the runs is made when it is first asked for: see `storage.memory`.
    """

    def __init__(
        self,
        clock: Clock | None = None,
        *,
        key: bytes | None = None,
        runs_max: int | None = None,
        record_kinds: RecordKinds = NO_KINDS,
    ) -> None:
        self.record_kinds = record_kinds.copy()
        self._now = (clock or SystemClock()).now
        self._key = key
        self._entries: dict[str, list[Entry]] = {}
        self._summaries: dict[str, RunSummary] = {}
        self._kept: dict[str, bytes] = {}
        self._kept_of: dict[str, dict[str, bytes]] = {}
        self._heads: list[SignedHead] = []
        self._hidden: dict[str, dict[str, SealedWords]] = {}
        self._posted: dict[str, dict[int, bytes]] = {}
        self._places = count()
        self._asked: dict[tuple[str, str], OpenQuestion] = {}
        self._named: dict[str, list[str]] = {}
        self._marks: dict[str, set[str]] = {}
        self._claims = Claims()
        self._runs_max = runs_max

    @cached_property
    def _beside(self) -> BesideMemory:
        from ..storage.memory import BesideMemory  # noqa: PLC0415  # `import actum` loads no database

        return BesideMemory(self._now, self.record_kinds, self)

    @property
    def stores(self) -> Stores:
        return self._beside.stores

    @property
    def keys(self) -> KeyStore:
        return self._beside.keys

    @property
    def sessions(self) -> SessionStore:
        return self._beside.sessions

    @property
    def objects(self) -> ObjectStore:
        return self._beside.objects

    @property
    def definitions(self) -> Definitions:
        return self._beside.definitions

    @property
    def positions(self) -> Positions:
        return self._beside.positions

    @property
    def held(self) -> HeldRuns:
        return self._beside.held

    @property
    def passed(self) -> None:
        """Nobody would delete the lines."""

    @property
    def counts(self) -> None:
        """No other process writes to it."""

    @property
    def tasks(self) -> None:
        """No other process could carry a task out."""

    def now(self) -> float:
        return self._now()

    def append(self, run_id: str, record: Record) -> int:
        entries = self._entries.get(run_id)
        if entries is None:
            self._make_room()
            entries = self._entries[run_id] = []
        number = len(entries)
        at = self._now()
        entries.append(seal(record, number, at, entries[-1].head if entries else GENESIS))
        if is_telling(record) and not (isinstance(record, Forgotten) and run_id not in self._summaries):
            self._summaries[run_id] = summarize(run_id, self._summaries.get(run_id), record, at)
            self._tell_asked(run_id, record, at)
            if isinstance(record, Started):
                for name in record.names:
                    self._named.setdefault(name, []).append(run_id)
            elif isinstance(record, Forgotten) and self._named:
                self._drop_names(run_id)
        if marks := marks_of(record):
            self._marks.setdefault(run_id, set()).update(marks)
        if self._key is not None and signs_head(record):
            previous = self._heads[-1].signature if self._heads else GENESIS
            self._heads.append(sign(self._key, previous, run_id, number, entries[-1].head))
        if isinstance(record, Noted | Ended) and "_beside" in self.__dict__:
            views = self._beside.stores.views
            if isinstance(record, Noted):
                views.follow_now(record, self._place(run_id, number, at))
            elif record.status != "paused":
                line = self._summaries[run_id]
                views.run_ended(run_id, (line.tenant, line.principal))
        if self._hidden and ends_secrets(record):
            self._hidden.pop(run_id, None)
        return number

    def _place(self, run_id: str, number: int, at: float) -> RecordPlace:
        line = self._summaries[run_id]
        return RecordPlace(run_id, number, at, line.tenant, line.principal)

    def over(self) -> list[str]:
        """The runs that are over, in the order in which they ended; without those that are forgotten."""
        over = [line for line in self._summaries.values() if line.status in _OVER]
        return [line.run_id for line in sorted(over, key=lambda line: line.ended or 0.0)]

    def is_forgotten(self, run_id: str) -> bool:
        """Whether the words of a run were deleted."""
        entries = self._entries.get(run_id)
        return bool(entries and not entries[0].payload)

    def ended_run(self, run_id: str) -> tuple[RecordPlace, list[Record]] | None:
        """The place of the first record of a run that is over, and the records that say how the run ended and those of
        features; None where the run is not over, or is forgotten.
        """
        line, entries = self._summaries.get(run_id), self._entries.get(run_id)
        if line is None or not entries or line.status not in _OVER:
            return None
        records = [entry.record for entry in entries[1:] if b'"ended"' in entry.payload or b'"noted"' in entry.payload]
        told = [record for record in records if isinstance(record, Ended | Noted)]
        return self._place(run_id, 0, entries[0].at), [entries[0].record, *told]

    def noted(self) -> Iterator[tuple[Noted, RecordPlace]]:
        """The records of features, without those of forgotten runs."""
        for run_id, entries in self._entries.items():
            for entry in entries:
                if entry.payload and isinstance(record := entry.record, Noted):
                    yield record, self._place(run_id, entry.number, entry.at)

    def _make_room(self) -> None:
        """Drop the oldest run that has ended, where there is no room for another."""
        if self._runs_max is None or len(self._entries) < self._runs_max:
            return
        oldest = next((id_ for id_ in self._entries if self._summaries[id_].status in _OVER), None)
        if oldest is not None:
            del self._entries[oldest]
            line = self._summaries.pop(oldest)
            if "_beside" in self.__dict__:
                self._beside.stores.views.run_dropped(oldest, (line.tenant, line.principal))
            self._marks.pop(oldest, None)
            self._kept_of.pop(oldest, None)
            self._hidden.pop(oldest, None)
            self._drop_asked(oldest)
            self._drop_names(oldest)

    @asynccontextmanager
    async def claim(self, name: str) -> AsyncIterator[None]:
        with self._claims.hold(name):
            yield

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        return self._claims.held(run_ids)

    async def sync(self, run_id: str) -> None:
        """Nothing to wait for: this journal promises nothing beyond its process."""

    def keep(self, digest: str, payload: bytes, run_id: str = "") -> None:
        kept = self._kept_of.setdefault(run_id, {}) if run_id else self._kept
        kept.setdefault(digest, payload)

    def keeps(self, digest: str) -> bool:
        return digest in self._kept

    async def kept(self, digest: str) -> bytes:
        for kept in (self._kept, *self._kept_of.values()):
            if digest in kept:
                return kept[digest]
        raise UnknownName("the journal keeps nothing under {digest}", digest=digest)

    @property
    def is_shared(self) -> bool:
        return False

    async def post(self, run_id: str, answer: bytes) -> None:
        self._posted.setdefault(run_id, {})[next(self._places)] = answer

    async def posted(self, run_id: str) -> list[tuple[int, bytes]]:
        return list(self._posted.get(run_id, {}).items())

    async def unpost(self, run_id: str, places: Sequence[int]) -> None:
        held = self._posted.get(run_id, {})
        for place in places:
            held.pop(place, None)

    def hide(self, run_id: str, words: bytes) -> str:
        sealed = seal_words(words, self._key)
        self._hidden.setdefault(run_id, {})[sealed.digest] = sealed
        return sealed.digest

    async def hidden(self, run_id: str) -> dict[str, bytes]:
        return {digest: open_words(sealed, self._key) for digest, sealed in self._hidden.get(run_id, {}).items()}

    async def hidden_intact(self, run_id: str) -> dict[str, bool]:
        return {digest: sealed.is_intact for digest, sealed in self._hidden.get(run_id, {}).items()}

    async def read(self, run_id: str, after: int = -1, *, tenant: str | None = None) -> list[Entry]:
        line = self._summaries.get(run_id)
        if tenant is not None and (line is None or line.tenant != tenant):
            return []
        return self._entries.get(run_id, [])[after + 1 :]

    async def read_each(
        self, run_ids: Sequence[str], after: Mapping[str, int] = NOTHING_READ
    ) -> dict[str, list[Entry]]:
        found = {run_id: await self.read(run_id, after.get(run_id, -1)) for run_id in run_ids}
        return {run_id: entries for run_id, entries in found.items() if entries}

    async def edges(self, edge: Literal["first", "latest"]) -> list[tuple[str, Entry]]:
        place = 0 if edge == "first" else -1
        return [(run_id, entries[place]) for run_id, entries in sorted(self._entries.items()) if entries]

    async def mislabelled(self, run_id: str) -> list[int]:
        return []  # it keeps nothing beside the entries

    async def runs(self, *, limit: int | None = 50, behind: str = "", **wanted: Unpack[RunFilter]) -> list[RunSummary]:
        listed = list(reversed(self._summaries.values()))
        if behind:
            at = next((at for at, run in enumerate(listed) if run.run_id == behind), len(listed))
            listed = listed[at + 1 :]
        return [run for run in listed if self._fits(run, wanted)][:limit]

    def _fits(self, run: RunSummary, wanted: RunFilter) -> bool:
        """Whether a run is one of those that are wanted, also by its marks."""
        return _fits(run, wanted) and self._marks.get(run.run_id, set()).issuperset(marks_wanted(wanted))

    async def statuses(self, *, limit: int = 50, tenant: str | None = None) -> dict[str, str]:
        return {run.run_id: run.status for run in await self.runs(limit=limit, tenant=tenant)}

    async def is_listed(self, run_id: str, *, tenant: str | None = None) -> bool:
        line = self._summaries.get(run_id)
        return line is not None and tenant in (None, line.tenant)

    async def count_runs(self, *, most: int | None = None, **wanted: Unpack[RunFilter]) -> dict[str, int]:
        return dict(Counter(run.status for run in self._summaries.values() if self._fits(run, wanted)))

    async def conversations(
        self, *, limit: int | None = 50, behind: str = "", owner: str | None = None, tenant: str | None = None
    ) -> list[ConversationSummary]:
        turns: dict[tuple[str, str, str], list[RunSummary]] = {}
        for run in await self.runs(limit=None, owner=owner, tenant=tenant):
            if run.conversation:
                turns.setdefault((run.tenant, run.owner, run.conversation), []).append(run)
        allowed = {run.run_id for run in await self.runs(limit=None, behind=behind)}
        found = [ConversationSummary(runs=len(each), first=each[-1], latest=each[0]) for each in turns.values()]
        return [each for each in found if each.latest.run_id in allowed][:limit]

    async def asked(
        self,
        *,
        ask_id: str = "",
        limit: int | None = 50,
        behind: tuple[float, str] | None = None,
        expired: tuple[float, float] | None = None,
        **wanted: Unpack[RunFilter],
    ) -> list[OpenQuestion]:
        found = [
            asked
            for asked in sorted(self._asked.values(), key=lambda each: (each.at, each.ask_id))
            if ask_id in ("", asked.ask_id)
            and (behind is None or (asked.at, asked.ask_id) > behind)
            and (expired is None or (asked.expires > 0 and expired[0] <= asked.expires <= expired[1]))
            and (line := self._summaries.get(asked.run_id)) is not None
            and line.status not in OVER
            and _fits(line, wanted)
        ]
        return found[:limit]

    async def count_asked(self) -> int:
        return len(await self.asked(limit=None))

    def _tell_asked(self, run_id: str, record: Record, at: float) -> None:
        """Write down that a run waits for something, or does not wait any more."""
        if isinstance(record, InputRequested):
            if not self._summaries[run_id].parent:
                asked = OpenQuestion(run_id, record.id, at, persons_needed(record.pending), record.pending.expires)
                self._asked.setdefault((run_id, record.id), asked)
        elif isinstance(record, InputGiven):
            known = self._asked.get((run_id, record.id))
            if known is not None and not may_wait_on(record, known.needs):
                del self._asked[run_id, record.id]
        elif self._asked and nothing_waits(record):
            self._drop_asked(run_id)

    def _drop_asked(self, run_id: str) -> None:
        self._asked = {key: asked for key, asked in self._asked.items() if asked.run_id != run_id}

    def _drop_names(self, run_id: str) -> None:
        kept = {name: [each for each in runs if each != run_id] for name, runs in self._named.items()}
        self._named = {name: runs for name, runs in kept.items() if runs}

    async def named(self, name: str, *, limit: int = 20) -> list[str]:
        return self._named.get(name, [])[::-1][:limit]

    async def forget(self, run_id: str, by: str = "", reason: str = "") -> int:
        if run_id not in self._entries:
            raise UnknownName("there is no run {wanted!r} in this journal", wanted=run_id)
        async with self.claim(run_id):
            entries = self._entries[run_id]
            told = sum(1 for entry in entries if entry.payload)
            entries[:] = [msgspec.structs.replace(entry, payload=b"", salt=b"") for entry in entries]
            line = self._summaries.get(run_id)
            self._marks.pop(run_id, None)
            self._kept_of.pop(run_id, None)
            self.append(run_id, Forgotten(by, reason, line.tenant if line is not None else ""))
            if "_beside" in self.__dict__:
                await self._beside.forget(run_id)
            return told

    async def heads(self) -> list[SignedHead]:
        return list(self._heads)

    async def close(self) -> None:
        """Nothing to let go of."""


def _fits(run: RunSummary, wanted: RunFilter) -> bool:
    """Whether a run is one of those that are wanted."""
    since, until, status = wanted.get("since"), wanted.get("until"), wanted.get("status")
    return (
        run.run_id in wanted.get("run_id", (run.run_id,))
        and (not status or (run.status in status if isinstance(status, tuple) else run.status == status))
        and all(wanted.get(name) in ("", None, getattr(run, name)) for name in _FILTERED)
        and all(wanted.get(name) in (None, getattr(run, name)) for name in _FILTERED_EMPTY_TOO)
        and (since is None or run.started >= since)
        and (until is None or run.started < until)
    )


_FILTERED = ("principal", "agent", "model", "kind", "conversation")
_FILTERED_EMPTY_TOO = ("tenant", "owner", "parent")
