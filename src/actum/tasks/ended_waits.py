"""`EndedWaits`: tasks whose workflows wait for a time, or for an answer with an end, go on when that time has come.

A workflow that waits is no coroutine: its run is paused. That the time is over is an answer like another, on record;
then the task is due. Two processes that look at once write it once, since each holds the run's claim while it does.
"""

from __future__ import annotations

from ..core.errors import Busy
from ..core.interfaces import Clock, Journal
from ..core.record import InputGiven, OpenQuestion
from ..core.task_line import line_of
from ..journal.recording import RunState

WAKE_S = 1.0
"""Seconds between two looks for what is over."""
AGAIN_S = 60.0
"""What has expired is looked at for so many seconds: a question may come to the list later than it was asked."""
CLOCK = "clock"
"""Who says on record that a time is over."""


class EndedWaits:
    """Looks for tasks whose time has come.

    Args:
        journal: where they are on record.
        clock: the time.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._since = 0.0

    async def look(self) -> None:
        """Write down which waits are over.

        Raises:
            JournalError: the journal can not be read or written.
        """
        now = self._clock.now()
        since = now - AGAIN_S
        for question in await self._journal.asked(expired=(self._since, now), limit=None):
            try:
                await self._end(question)
            except Busy:  # somebody drives the run, and may pause it again without having seen that the time is over
                since = min(since, question.expires)
        self._since = since

    async def _end(self, question: OpenQuestion) -> None:
        run_id = question.run_id
        if self._journal.tasks is None or await self._journal.tasks.find(run_id) is None:
            return
        async with self._journal.claim(run_id):
            entries = await self._journal.read(run_id)
            state, line = RunState(entries), line_of(run_id, entries)
            waits = any(asked.id == question.ask_id for asked in state.waiting())
            if waits and line is not None and line.state == "waiting" and state.beginning().workflow:
                self._journal.append(run_id, InputGiven(question.ask_id, "cancel", by=CLOCK, elapsed=state.elapsed))
                await self._journal.sync(run_id)
