"""`JournalWatch`: looks into a journal for all who follow runs in this process, however many they are.

Each look is a few questions to the journal: one for the entries of all runs that somebody follows, and for each tenant
one for how its latest runs stand. Nothing has to be told by the process that writes, so that another process, or
another machine, may carry the runs out. Nobody asks the journal anything while nobody follows a run.

    async with watch.listening({"run_1": 4}) as listener:
        news = await listener.news()                             # what came behind entry 4

A reader who does not take the news is not read for, and misses no entry. `journal.follow` follows one run without a
server.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from msgspec import Struct

from ..core.interfaces import Clock, Journal
from ..core.run.record import Entry
from ..core.run.summary import OpenQuestion, RunSummary
from ..core.stored.definitions import CHANGES_MAX, DraftChange
from .conversations import as_they_stand
from .follow import POLL_S

RUNS_MAX = 200
"""The lines of this many of the latest runs of a tenant are followed."""
ASKED_MAX = 1_000
"""Of this many of the oldest questions of a tenant it is seen whether they still wait."""
ASKED_LOOKS = 5
"""At each look of this number it is looked what waits: once a second."""
DRAFTS_LOOKS = 5
"""At each look of this number it is looked which drafts were changed: once a second."""


class WatchNews(Struct, frozen=True):
    """What a listener has not heard before.

    Attributes:
        entries: new entries of the runs that the listener follows: the id of the run, and the entry.
        runs: runs of the listener's tenant that began, or stand otherwise now.
        has_asked: whether what waits for a person in the tenant may have changed.
        drafts: drafts of the tenant that somebody changed.
    """

    entries: Sequence[tuple[str, Entry]]
    runs: Sequence[RunSummary]
    has_asked: bool
    drafts: Sequence[DraftChange] = ()


class WatchListener:
    """What one reader has not taken yet; `JournalWatch.listening` makes it.

    Args:
        watch: looks.
        behind: the runs to follow, each with the number of the last entry that the reader has.
        tenant: the tenant whose runs and questions the reader hears of; None for none.

    Attributes:
        behind: as given; it grows with the entries that came. The reader may add runs, and take runs out.
        looked: the number of the last look that was for this reader.
    """

    def __init__(self, watch: JournalWatch, behind: Mapping[str, int], tenant: str | None) -> None:
        self.behind = dict(behind)
        self.tenant = tenant
        self.looked = 0
        self._watch = watch
        self._wanted = 0
        self._entries: list[tuple[str, Entry]] = []
        self._runs: dict[str, RunSummary] = {}
        self._has_asked = False
        self._drafts: dict[tuple[str, str], DraftChange] = {}
        self._error: BaseException | None = None
        self._wake = asyncio.Event()

    def wake(self) -> None:
        """Have `news` return, also where the journal has none."""
        self._wake.set()

    def next_look(self) -> int:
        """The number of the next look that begins. `news` returns when that look is done, or earlier."""
        self._wanted = max(self._wanted, self._watch.looks + 1)
        return self._watch.looks + 1

    async def news(self) -> WatchNews:
        """Wait until something is new, or `wake` was called.

        Raises:
            ActumError: the journal can not be read.
        """
        await self._wake.wait()
        self._wake.clear()
        if self._error is not None:
            raise self._error
        news = WatchNews(self._entries, tuple(self._runs.values()), self._has_asked, tuple(self._drafts.values()))
        self._entries, self._runs, self._has_asked, self._drafts = [], {}, False, {}
        return news

    @property
    def is_behind(self) -> bool:
        """Whether the reader has not taken the entries of an earlier look."""
        return bool(self._entries)

    def read(self, look: int, known: Mapping[str, int], found: Mapping[str, Sequence[Entry]]) -> None:
        """Take in the entries that a look has found.

        Args:
            look: the number of the look.
            known: what `behind` was as the look began.
            found: entries of runs, in the order of their numbers.
        """
        self.looked = look
        for run_id, seen in known.items():
            new = [entry for entry in found.get(run_id, ()) if entry.number > seen]
            if new and self.behind.get(run_id) == seen:
                self._entries += [(run_id, entry) for entry in new]
                self.behind[run_id] = new[-1].number
        if self._entries or self._wanted:
            self._wake.set()
        if self._wanted <= look:
            self._wanted = 0

    def hear(self, runs: Iterable[RunSummary], *, asked: bool, drafts: Iterable[DraftChange] = ()) -> None:
        """Take in what has changed in the listener's tenant.

        Args:
            runs: runs that stand otherwise now.
            asked: whether what waits may have changed.
            drafts: drafts that somebody changed.
        """
        for draft in drafts:
            self._drafts.pop((draft.kind, draft.name), None)
            self._drafts[draft.kind, draft.name] = draft
        while len(self._drafts) > CHANGES_MAX:
            del self._drafts[next(iter(self._drafts))]
        for run in runs:
            self._runs.pop(run.run_id, None)
            self._runs[run.run_id] = run
        while len(self._runs) > RUNS_MAX:  # of a reader that is slow: lists are read anew then
            del self._runs[next(iter(self._runs))]
        self._has_asked |= asked
        if self._runs or self._has_asked or self._drafts:
            self._wake.set()

    def fail(self, error: BaseException) -> None:
        """Have `news` raise an error from now on."""
        self._error = error
        self._wake.set()


class JournalWatch:
    """Looks into a journal for all who listen.

    Args:
        journal: may be written to by other processes.
        clock: says when to look again.

    Attributes:
        journal: the journal.
        looks: this many looks have begun.
        record_kinds: the kinds of records that features bring here.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self.looks = 0
        self.record_kinds = journal.record_kinds
        self.journal = journal
        self._clock = clock
        self._listeners: set[WatchListener] = set()
        self._task: asyncio.Task[None] | None = None
        self._standing: dict[str, dict[str, tuple[str, bool]]] = {}
        self._asked: dict[str, list[OpenQuestion]] = {}
        self._stirred: set[str] = set()
        self._drafts: dict[str, int] = {}

    @asynccontextmanager
    async def listening(self, behind: Mapping[str, int], tenant: str | None = None) -> AsyncIterator[WatchListener]:
        """A block in which somebody listens.

        Args:
            behind: the runs to follow, each with the number of the last entry that the reader has. Whether the reader
                may see a run is not looked at here.
            tenant: the tenant whose runs and questions the reader hears of, from the first look on; None for none.
        """
        listener = WatchListener(self, behind, tenant)
        self._listeners.add(listener)
        if self._task is None:
            self._standing, self._asked, self._stirred, self._drafts = {}, {}, set(), {}
            self._task = asyncio.create_task(self._look_on(), name="journal watch")
            self._task.add_done_callback(self._ended)
        try:
            yield listener
        finally:
            self._listeners.discard(listener)
            if not self._listeners and (task := self._task) is not None:
                self._task = None  # the next one that comes while the task ends begins another
                task.cancel()
                await asyncio.wait([task])

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None and self._task is task:
            self._task = None
            for listener in self._listeners:
                listener.fail(error)

    async def _look_on(self) -> None:
        while True:
            await self._look()
            await self._clock.sleep(POLL_S)

    async def _look(self) -> None:
        """Look once, for all who listen as the look begins and have taken what they were told before."""
        self.looks += 1
        number = self.looks
        readers = {each: dict(each.behind) for each in self._listeners if not each.is_behind}
        behind: dict[str, int] = {}
        for run_id, seen in (place for known in readers.values() for place in known.items()):
            behind[run_id] = min(seen, behind.get(run_id, seen))
        found = await self.journal.read_each(list(behind), behind) if behind else {}
        tenants = sorted({each.tenant for each in self._listeners if each.tenant is not None})
        changed = await self._changed(tenants)
        asked = await self._newly_asked(tenants, number)
        drafts = await self._changed_drafts(tenants, number)
        for listener in self._listeners:
            if (tenant := listener.tenant) is not None:
                listener.hear(changed.get(tenant, ()), asked=tenant in asked, drafts=drafts.get(tenant, ()))
        for listener, known in readers.items():
            listener.read(number, known, found)

    async def _changed(self, tenants: Sequence[str]) -> dict[str, list[RunSummary]]:
        """The runs of each tenant that began, or stand otherwise than at the look before."""
        listed = {tenant: await self.journal.statuses(tenant=tenant, limit=RUNS_MAX) for tenant in tenants}
        running = [run_id for runs in listed.values() for run_id, status in runs.items() if status == "running"]
        driven = await self.journal.driven(running) if running else set()
        before, self._standing = self._standing, {}
        found: dict[str, list[RunSummary]] = {}
        for tenant, runs in listed.items():
            known, now = before.get(tenant), {run_id: (status, run_id in driven) for run_id, status in runs.items()}
            self._standing[tenant] = now
            changed = tuple(
                run_id for run_id, stands in now.items() if known is not None and known.get(run_id) != stands
            )
            if changed:
                self._stirred.add(tenant)
                lines = await self.journal.runs(run_id=changed, tenant=tenant, limit=None)
                found[tenant] = await as_they_stand(self.journal, lines)
        return found

    async def _changed_drafts(self, tenants: Sequence[str], look: int) -> dict[str, list[DraftChange]]:
        """The drafts of each tenant that somebody changed since they were looked for last."""
        self._drafts = {tenant: number for tenant, number in self._drafts.items() if tenant in tenants}
        found: dict[str, list[DraftChange]] = {}
        for tenant in tenants:
            behind = self._drafts.get(tenant)
            if look % DRAFTS_LOOKS and behind is not None:
                continue
            changes = await self.journal.definitions.drafts_changed(behind, tenant=tenant)
            self._drafts[tenant] = changes[-1].number if changes else behind or 0
            if behind is not None and changes:
                found[tenant] = changes
        return found

    async def _newly_asked(self, tenants: Sequence[str], look: int) -> set[str]:
        """The tenants in which what waits for a person may have changed since that was looked for last."""
        self._asked = {tenant: asked for tenant, asked in self._asked.items() if tenant in tenants}
        changed = set()
        for tenant in tenants:
            if look % ASKED_LOOKS and tenant in self._asked:
                continue
            now, known = await self.journal.asked(tenant=tenant, limit=ASKED_MAX), self._asked.get(tenant)
            self._asked[tenant] = now
            is_over = any(0 < each.expires <= self._clock.now() for each in now)
            if known is not None and (is_over or tenant in self._stirred or now != known):
                changed.add(tenant)
            self._stirred.discard(tenant)
        return changed
