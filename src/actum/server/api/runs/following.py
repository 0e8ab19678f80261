"""Runs as one reader follows them: their entries in order, and between these the words that a model is saying."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from ....core.errors import JournalError
from ....core.identity import Identity
from ....core.run.ending import is_last
from ....core.run.record import Ended, Entry
from ....features.operation import Events, StreamEvent
from ....features.refusal import Refusal
from ....journal.watch import JournalWatch, WatchListener, WatchNews
from ....policy.record_mask import RecordMask
from ....runs.other_values import know_others
from ..records import Recorded, Records
from ..spoken import SpokenWords, WordsListener
from .bodies import RunDelta, RunEvent
from .views import EventFold

BELOW_MAX = 200
"""The events of at most this many runs below a run are told."""


class FollowedRuns:
    """The runs that one reader follows.

    Args:
        watch: looks for new entries.
        listener: hears of them.
        spoken: what models are saying; None where the reader does not want that.
        mask: makes what hides values with a label from the reader, for one run. Of a run that has such values no words
            are told before they are on record.
    """

    def __init__(
        self, watch: JournalWatch, listener: WatchListener, spoken: SpokenWords | None, mask: Callable[[], RecordMask]
    ) -> None:
        self._kinds = watch.record_kinds
        self._mask = mask
        self._listener = listener
        self._spoken = spoken
        self._journal = watch.journal
        self._masks: dict[str, RecordMask] = {}
        self._folds: dict[str, EventFold] = {}
        self._words: dict[str, WordsListener] = {}
        self._tasks: set[str] = set()

    def __contains__(self, run_id: str) -> bool:
        """Whether a run is followed, and has not ended."""
        return run_id in self._folds

    async def begin(self, recorded: Recorded, after: int) -> list[RunEvent]:
        """Follow a run. Its entries have to be given from the first: an event also tells what earlier ones say.

        Args:
            recorded: the run as it stands.
            after: the number of the last event that the reader has.

        Returns:
            The events behind that.
        """
        run_id = recorded.run_id
        mask = self._masks[run_id] = self._mask()
        self._folds[run_id] = EventFold(run_id, self._kinds, mask)
        self._listener.behind[run_id] = recorded.entries[-1].number
        if recorded.is_task:
            self._tasks.add(run_id)
        if self._spoken is not None:
            self._words[run_id] = self._spoken.listen(run_id, self._listener)
        told = [event for event in await self._told(run_id, recorded.entries) if event.number > after]
        if _is_over(recorded.entries[-1]):
            self._leave(run_id)
        return told

    async def events(self, news: WatchNews) -> list[RunEvent]:
        """The events of new entries."""
        return [event for run_id, entry in news.entries for event in await self._told(run_id, (entry,))]

    def deltas(self) -> Iterator[RunDelta]:
        """The words that came since this was last asked, of runs whose entries the reader has."""
        for run_id, words in self._words.items():
            if (taken := words.take()) is not None and not self._folds[run_id].has_hidden:
                yield RunDelta(run=run_id, text=taken[0], is_anew=taken[1])

    def end(self) -> None:
        """Follow none of the runs any longer."""
        for run_id in list(self._folds):
            self._leave(run_id)

    async def _told(self, run_id: str, entries: Sequence[Entry]) -> list[RunEvent]:
        fold = self._folds.get(run_id)
        if fold is None:
            return []
        await know_others(self._masks[run_id], self._journal, run_id, entries)
        told = [fold.take(entry) for entry in entries]
        if _is_over(entries[-1], is_task=run_id in self._tasks):
            self._leave(run_id)
        return told

    def _leave(self, run_id: str) -> None:
        self._folds.pop(run_id, None)
        self._masks.pop(run_id, None)
        self._listener.behind.pop(run_id, None)
        if self._spoken is not None and (words := self._words.pop(run_id, None)) is not None:
            self._spoken.leave(run_id, words)


@contextmanager
def followed(
    watch: JournalWatch, listener: WatchListener, spoken: SpokenWords | None, mask: Callable[[], RecordMask]
) -> Iterator[FollowedRuns]:
    """A block in which a reader follows runs; the arguments are those of `FollowedRuns`."""
    runs = FollowedRuns(watch, listener, spoken, mask)
    try:
        yield runs
    finally:
        runs.end()


async def run_events(
    watch: JournalWatch,
    recorded: Recorded,
    after: int,
    spoken: SpokenWords | None = None,
    below: RunsBelow | None = None,
    *,
    mask: Callable[[], RecordMask],
) -> Events:
    """The events of a run, with the entries that come, until the run has ended. The id of an event is the number of its
    entry, so that a client goes on with `Last-Event-ID` where it was, at any process that has the journal.

    Args:
        watch: looks for new entries.
        recorded: the run as it stands.
        after: the number of the last event that the client has; -1 for none.
        spoken: what models are saying; None where the client does not want that.
        below: finds the runs below; None where the client does not want their events, which have no id.
        mask: as for `FollowedRuns`.
    """
    own = recorded.run_id

    def told(event: RunEvent) -> StreamEvent:
        return stream_event(event, str(event.number) if event.run == own else "")

    async with watch.listening({}, below.tenant if below is not None else None) as listener:
        with followed(watch, listener, spoken, mask) as runs:
            look = listener.next_look() if below is not None else 0
            for event in await runs.begin(recorded, after):
                yield told(event)
            while own in runs:
                news = await listener.news()
                for event in await runs.events(news):
                    yield told(event)
                for delta in runs.deltas():
                    yield StreamEvent("", "delta", delta)
                if below is not None and listener.looked >= look and (below.is_first or news.runs):
                    for event in await below.begun(runs):
                        yield told(event)
            for event in await below.begun(runs) if below is not None else ():
                yield told(event)


class RunsBelow:
    """The runs that calls of a run began, and that calls of those began.

    Args:
        records: of the journal.
        run_id: the run that is followed.
        who: the caller.

    Attributes:
        tenant: of the caller.
        is_first: nobody has looked for them yet.
    """

    def __init__(self, records: Records, run_id: str, who: Identity) -> None:
        self.tenant = who.tenant
        self.is_first = True
        self._records = records
        self._known = {run_id: None}
        self._who = who

    async def begun(self, runs: FollowedRuns) -> list[RunEvent]:
        """Follow those that have begun since.

        Returns:
            Their events so far.
        """
        self.is_first = False
        told: list[RunEvent] = []
        above = list(self._known)
        while above:
            lines = [
                line
                for run_id in above
                for line in await self._records.journal.runs(parent=run_id, tenant=self.tenant, limit=None)
            ]
            new = [line.run_id for line in reversed(lines) if line.run_id not in self._known]
            for run_id in new[: BELOW_MAX - len(self._known)]:
                self._known[run_id] = None
                with suppress(Refusal):
                    told += await runs.begin(await self._records.run(run_id, self._who), -1)
            above = new
        return told


def stream_event(event: RunEvent, place: str) -> StreamEvent:
    """An event of a run in a stream.

    Args:
        event: the event.
        place: what a client says to go on behind it.
    """
    return StreamEvent(place, event.type, event)


def _is_over(latest: Entry, *, is_task: bool = False) -> bool:
    """Whether a run has ended with this entry. While a task is carried out, its own end comes behind the run's."""
    try:
        return is_last(latest.record) and not (is_task and isinstance(latest.record, Ended))
    except JournalError:
        return False
