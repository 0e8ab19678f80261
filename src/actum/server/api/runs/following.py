"""Runs as one reader follows them: their entries in order, and between these the words that a model is saying."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from ....core.errors import JournalError
from ....core.run.record import Ended, Entry, is_last
from ....features.operation import Events, StreamEvent
from ....journal.watch import JournalWatch, WatchListener, WatchNews
from ..records import Recorded
from ..spoken import SpokenWords, WordsListener
from .bodies import RunDelta, RunEvent
from .views import EventFold


class FollowedRuns:
    """The runs that one reader follows.

    Args:
        watch: looks for new entries.
        listener: hears of them.
        spoken: what models are saying; None where the reader does not want that.
    """

    def __init__(self, watch: JournalWatch, listener: WatchListener, spoken: SpokenWords | None) -> None:
        self._kinds = watch.record_kinds
        self._listener = listener
        self._spoken = spoken
        self._folds: dict[str, EventFold] = {}
        self._words: dict[str, WordsListener] = {}
        self._tasks: set[str] = set()

    def __len__(self) -> int:
        return len(self._folds)

    def begin(self, recorded: Recorded, after: int) -> list[RunEvent]:
        """Follow a run. Its entries have to be given from the first: an event also tells what earlier ones say.

        Args:
            recorded: the run as it stands.
            after: the number of the last event that the reader has.

        Returns:
            The events behind that.
        """
        run_id = recorded.run_id
        self._folds[run_id] = EventFold(run_id, self._kinds)
        self._listener.behind[run_id] = recorded.entries[-1].number
        if recorded.is_task:
            self._tasks.add(run_id)
        if self._spoken is not None:
            self._words[run_id] = self._spoken.listen(run_id, self._listener)
        told = [event for event in self._told(run_id, recorded.entries) if event.number > after]
        if _is_over(recorded.entries[-1]):
            self._leave(run_id)
        return told

    def events(self, news: WatchNews) -> Iterator[RunEvent]:
        """The events of new entries."""
        for run_id, entry in news.entries:
            yield from self._told(run_id, (entry,))

    def deltas(self) -> Iterator[RunDelta]:
        """The words that came since this was last asked, of runs whose entries the reader has."""
        for run_id, words in self._words.items():
            if (taken := words.take()) is not None:
                yield RunDelta(run=run_id, text=taken[0], is_anew=taken[1])

    def end(self) -> None:
        """Follow none of the runs any longer."""
        for run_id in list(self._folds):
            self._leave(run_id)

    def _told(self, run_id: str, entries: Sequence[Entry]) -> list[RunEvent]:
        fold = self._folds.get(run_id)
        if fold is None:
            return []
        told = [fold.take(entry) for entry in entries]
        if _is_over(entries[-1], is_task=run_id in self._tasks):
            self._leave(run_id)
        return told

    def _leave(self, run_id: str) -> None:
        self._folds.pop(run_id, None)
        self._listener.behind.pop(run_id, None)
        if self._spoken is not None and (words := self._words.pop(run_id, None)) is not None:
            self._spoken.leave(run_id, words)


@contextmanager
def followed(watch: JournalWatch, listener: WatchListener, spoken: SpokenWords | None) -> Iterator[FollowedRuns]:
    """A block in which a reader follows runs; the arguments are those of `FollowedRuns`."""
    runs = FollowedRuns(watch, listener, spoken)
    try:
        yield runs
    finally:
        runs.end()


async def run_events(watch: JournalWatch, recorded: Recorded, after: int, spoken: SpokenWords | None = None) -> Events:
    """The events of a run, with the entries that come, until the run has ended. The id of an event is the number of its
    entry, so that a client goes on with `Last-Event-ID` where it was, at any process that has the journal.

    Args:
        watch: looks for new entries.
        recorded: the run as it stands.
        after: the number of the last event that the client has; -1 for none.
        spoken: what models are saying; None where the client does not want that.
    """
    async with watch.listening({}) as listener:
        with followed(watch, listener, spoken) as runs:
            for event in runs.begin(recorded, after):
                yield stream_event(event, str(event.number))
            while runs:
                news = await listener.news()
                for event in runs.events(news):
                    yield stream_event(event, str(event.number))
                for delta in runs.deltas():
                    yield StreamEvent("", "delta", delta)


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
