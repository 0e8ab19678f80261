"""The journal in memory: the default of the library, and the reference for the others.

Every journal passes the same tests. This one forgets when the process ends; `storage` has those that do not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Literal

import msgspec

from ..core.claim import Claims
from ..core.clock import SystemClock
from ..core.errors import UnknownName
from ..core.interfaces import Clock
from ..core.record import (
    GENESIS,
    Ended,
    Entry,
    Forgotten,
    Record,
    RunSummary,
    SignedHead,
    ends_secrets,
    is_telling,
    seal,
    sign,
    summarize,
)
from ..core.sealed import SealedWords, open_words, seal_words


class MemoryJournal:
    """A `Journal` that lives as long as its process.

    Args:
        clock: where the time of an entry comes from.
        key: the secret with which heads are signed; None to sign none.
        runs_max: so many runs are kept, for a program that lives long: of those that have ended, the oldest go first.
            None for all.
    """

    def __init__(self, clock: Clock | None = None, *, key: bytes | None = None, runs_max: int | None = None) -> None:
        self._now = (clock or SystemClock()).now
        self._key = key
        self._entries: dict[str, list[Entry]] = {}
        self._summaries: dict[str, RunSummary] = {}
        self._kept: dict[str, bytes] = {}
        self._heads: list[SignedHead] = []
        self._hidden: dict[str, dict[str, SealedWords]] = {}
        self._claims = Claims()
        self._runs_max = runs_max

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
        if self._key is not None and isinstance(record, Ended | Forgotten):
            previous = self._heads[-1].signature if self._heads else GENESIS
            self._heads.append(sign(self._key, previous, run_id, number, entries[-1].head))
        if self._hidden and ends_secrets(record):
            self._hidden.pop(run_id, None)
        return number

    def _make_room(self) -> None:
        """Drop the oldest run that has ended, where there is no room for another."""
        if self._runs_max is None or len(self._entries) < self._runs_max:
            return
        over = ("done", "stopped", "failed")
        oldest = next((id_ for id_ in self._entries if self._summaries[id_].status in over), None)
        if oldest is not None:
            del self._entries[oldest], self._summaries[oldest]
            self._hidden.pop(oldest, None)

    @asynccontextmanager
    async def claim(self, name: str) -> AsyncIterator[None]:
        with self._claims.hold(name):
            yield

    async def driven(self, run_ids: Sequence[str]) -> set[str]:
        return self._claims.held(run_ids)

    async def sync(self, run_id: str) -> None:
        """Nothing to wait for: this journal promises nothing beyond its process."""

    def keep(self, digest: str, payload: bytes) -> None:
        self._kept.setdefault(digest, payload)

    async def kept(self, digest: str) -> bytes:
        try:
            return self._kept[digest]
        except KeyError:
            raise UnknownName(f"the journal keeps nothing under {digest}") from None

    @property
    def is_shared(self) -> bool:
        return False

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

    async def edges(self, edge: Literal["first", "latest"]) -> list[tuple[str, Entry]]:
        place = 0 if edge == "first" else -1
        return [(run_id, entries[place]) for run_id, entries in sorted(self._entries.items()) if entries]

    async def mislabelled(self, run_id: str) -> list[int]:
        return []  # it keeps nothing beside the entries

    async def runs(
        self,
        *,
        conversation: str = "",
        owner: str | None = None,
        principal: str = "",
        tenant: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = 50,
    ) -> list[RunSummary]:
        found = [
            run
            for run in reversed(self._summaries.values())
            if conversation in ("", run.conversation)
            and owner in (None, run.owner)
            and principal in ("", run.principal)
            and tenant in (None, run.tenant)
            and (since is None or run.started >= since)
            and (until is None or run.started < until)
        ]
        return found[:limit]

    async def forget(self, run_id: str, by: str = "", reason: str = "") -> int:
        if run_id not in self._entries:
            raise UnknownName(f"there is no run {run_id!r} in this journal")
        async with self.claim(run_id):
            entries = self._entries[run_id]
            told = sum(1 for entry in entries if entry.payload)
            entries[:] = [msgspec.structs.replace(entry, payload=b"", salt=b"") for entry in entries]
            line = self._summaries.get(run_id)
            self.append(run_id, Forgotten(by, reason, line.tenant if line is not None else ""))
            return told

    async def heads(self) -> list[SignedHead]:
        return list(self._heads)

    async def close(self) -> None:
        """Nothing to let go of."""
