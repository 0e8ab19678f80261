"""The journal in memory: the default of the library, and the reference for the others.

Every journal passes the same tests. This one forgets when the process ends; `storage` has those that do not.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..core.claim import Claims
from ..core.clock import SystemClock
from ..core.errors import UnknownName
from ..core.interfaces import Clock
from ..core.record import GENESIS, Answered, Asked, Ended, Entry, Record, RunSummary, Started, seal, summarize


class MemoryJournal:
    """A `Journal` that lives as long as its process.

    Args:
        clock: where the time of an entry comes from.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._now = (clock or SystemClock()).now
        self._entries: dict[str, list[Entry]] = {}
        self._summaries: dict[str, RunSummary] = {}
        self._kept: dict[str, bytes] = {}
        self._claims = Claims()

    def append(self, run_id: str, record: Record) -> int:
        entries = self._entries.get(run_id)
        if entries is None:
            entries = self._entries[run_id] = []
        number = len(entries)
        at = self._now()
        entries.append(seal(record, number, at, entries[-1].head if entries else GENESIS))
        if isinstance(record, Started | Ended | Asked | Answered):
            self._summaries[run_id] = summarize(run_id, self._summaries.get(run_id), record, at)
        return number

    def claim(self, run_id: str) -> AbstractContextManager[None]:
        return self._claims.hold(run_id)

    async def sync(self, run_id: str) -> None:
        """Nothing to wait for: this journal promises nothing beyond its process."""

    def keep(self, digest: str, payload: bytes) -> None:
        self._kept.setdefault(digest, payload)

    async def kept(self, digest: str) -> bytes:
        try:
            return self._kept[digest]
        except KeyError:
            raise UnknownName(f"the journal keeps nothing under {digest}") from None

    async def read(self, run_id: str) -> list[Entry]:
        return list(self._entries.get(run_id, ()))

    async def runs(self, *, conversation: str = "", limit: int = 50) -> list[RunSummary]:
        found = [run for run in reversed(self._summaries.values()) if conversation in ("", run.conversation)]
        return found[:limit]

    async def close(self) -> None:
        """Nothing to let go of."""
