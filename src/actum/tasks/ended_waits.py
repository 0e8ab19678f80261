"""`EndedWaits`: runs that wait for a time, or for an answer with an end, go on when that time has come.

A workflow that waits is no coroutine: its run is paused. That the time is over is an answer like another, on record;
then the run is due. A run that is no task becomes a task in that moment, so that the dispatchers go on with
the run, and goes on again after a kill. Two processes that look at once write the answer once, since each holds the
run's claim while it does.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from ..call.asking.posted import take_posted
from ..core.errors import Busy, JournalError
from ..core.interfaces import Clock, Journal
from ..core.run.record import Entry, InputRequested, TaskQueued, time_over
from ..core.run.summary import OpenQuestion
from ..core.run.task import TaskOptions
from ..core.run.task_line import line_of
from ..journal.recording import RunState
from ..runs.runner import let_go

log = logging.getLogger("actum.tasks")

WAKE_S = 1.0
"""Seconds between two looks for what is over."""
AGAIN_S = 60.0
"""Seconds for which expired questions are looked at: a question may come to the list later than it was asked."""
OPTIONS = TaskOptions(max_retries=3)
"""Of a run that becomes a task as its wait ends: an attempt whose process is lost is made again."""

CanGoOn = Callable[[str, RunState], Awaitable[bool]]
"""Whether those who carry out tasks can go on with a run that is no task yet."""


class DueQuestions:
    """What runs wait for and nobody has answered in time.

    Args:
        journal: where the runs are on record.
        clock: the time.
    """

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal = journal
        self._clock = clock
        self._since = 0.0

    async def look(self) -> Sequence[OpenQuestion]:
        """What has expired lately; with the first look, all that ever has. What was told may be told again.

        Raises:
            JournalError: the journal can not be read.
        """
        now, since = self._clock.now(), self._since
        self._since = now - AGAIN_S  # now: while the journal is read, somebody may want to look again
        try:
            return await self._journal.asked(expired=(since, now), limit=None)
        except JournalError:
            self._since = min(self._since, since)
            raise

    def look_again(self, question: OpenQuestion) -> None:
        """Have a question told with the next look, too."""
        self._since = min(self._since, question.expires)


class EndedWaits:
    """Looks for runs whose time has come.

    Args:
        journal: where the runs are on record.
        clock: the time.
        can_go_on: which runs become tasks as their waits end; None where only runs that are tasks go on.
    """

    def __init__(self, journal: Journal, clock: Clock, can_go_on: CanGoOn | None = None) -> None:
        self._journal = journal
        self._clock = clock
        self._can_go_on = can_go_on
        self._due = DueQuestions(journal, clock)
        self._left: dict[str, float] = {}

    async def look(self) -> None:
        """Write down which waits are over.

        Raises:
            JournalError: the journal can not be read or written.
        """
        now = self._clock.monotonic()
        self._left = {ask_id: until for ask_id, until in self._left.items() if until > now}
        found = await self._due.look()
        try:
            for question in found:
                if question.ask_id not in self._left and not await self._has_ended(question):
                    self._left[question.ask_id] = now + AGAIN_S
        except JournalError:  # a database that is away comes back: nothing is left out then
            for question in found:
                self._due.look_again(question)
            raise

    async def _has_ended(self, question: OpenQuestion) -> bool:
        """The same as `_end`; a run that somebody drives is looked at again."""
        try:
            return await self._end(question)
        except Busy:  # the driver may pause the run again without having seen that the time is over
            self._due.look_again(question)
            return True

    async def _end(self, question: OpenQuestion) -> bool:
        """Write down that nobody answered a question in time.

        Returns:
            Whether it is worth while to look at the question again.

        Raises:
            Busy: somebody drives the run.
        """
        run_id, tasks = question.run_id, self._journal.tasks
        is_task = tasks is not None and await tasks.find(run_id) is not None
        if not is_task and self._can_go_on is None:
            return False
        async with self._journal.claim(run_id):
            entries = await self._journal.read(run_id)
            state = state_of(run_id, entries)
            if state is None:
                return False
            if state.beginning().workflow:
                await take_posted(self._journal, run_id, state)  # an answer that came in time counts
            asked = next((each for each in state.waiting() if each.id == question.ask_id), None)
            if asked is None or not ends_by_itself(state, asked):
                return False
            if is_task:
                if not _waits(run_id, entries):
                    return True
                self._write(question, state)
            elif is_paused(entries):
                if self._can_go_on is None or not await self._can_go_on(run_id, state):
                    return False
                self._write(question, state)
                self._journal.append(run_id, TaskQueued(due=self._clock.now(), options=OPTIONS))
            await self._journal.sync(run_id)
        return True

    def _write(self, question: OpenQuestion, state: RunState) -> None:
        self._journal.append(question.run_id, time_over(question.ask_id, state.elapsed))


def state_of(run_id: str, entries: Sequence[Entry]) -> RunState | None:
    """The state of a run; None where the record was damaged. One such run does not keep others waiting."""
    try:
        state = RunState(entries)
        state.beginning()
    except JournalError as error:
        log.warning("run %s waited, and can not be gone on with: %s", run_id, error)
        return None
    return state


def ends_by_itself(state: RunState, asked: InputRequested) -> bool:
    """Whether a run goes on when nobody answers: a workflow does, and who called a workflow that waits."""
    return bool(state.beginning().workflow or asked.run)


def _waits(run_id: str, entries: Sequence[Entry]) -> bool:
    line = line_of(run_id, entries)
    return line is not None and line.state == "waiting"


def is_paused(entries: Sequence[Entry]) -> bool:
    """Whether a run was let go of until somebody answers; a run that was interrupted since was not."""
    ended = let_go(entries)
    return ended is not None and ended.status == "paused"
