"""Runs that wait for a time, in a program that is there to go on with them: no server is needed.

The caller of `Workflow.run` waits along where the run waits for nothing but a time; `WaitingRuns` goes on with all
other runs whose time has come. While nothing happens, both do nothing but look at the journal now and then.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from msgspec import structs

from ..core.errors import ActumError, Busy, JournalError
from ..core.event import Event, RunFinished, RunResult, RunStarted
from ..core.interfaces import Clock, Journal
from ..core.json import JsonObject
from ..core.run.pending import over_at
from ..core.run.summary import OpenQuestion
from ..journal.recording import RunState
from ..runs.ended_below import CANCELLED, end_runs_below
from ..runs.runner import Begins, unless_stopped
from ..tasks.ended_waits import WAKE_S, CanGoOn, DueQuestions, ends_by_itself, is_paused, state_of

log = logging.getLogger("actum.workflow")

WAIT_S = 60.0
"""Seconds that a program which runs a workflow waits, where it does not say otherwise."""
POLL_S = 0.2
"""Seconds between two attempts to go on with a run that somebody else drives."""
RUNS_MAX = 16
"""The most runs whose waits are over that a program goes on with at a time."""


async def waited_along(
    result: RunResult[JsonObject],
    go_on: Callable[[], Awaitable[RunResult[JsonObject]]],
    journal: Journal,
    clock: Clock,
    wait_s: float | None,
) -> RunResult[JsonObject]:
    """Go on with a run that was answered in the moment in which it was let go of, or that waits for a time alone.

    Args:
        result: how the run stands.
        go_on: goes on with the run.
        journal: where the run is on record.
        clock: the time.
        wait_s: the longest wait, in seconds; None for as long as it takes.

    Returns:
        How the run stands then.
    """
    run_id = result.run_id
    give_up = None if wait_s is None else clock.monotonic() + wait_s
    while result.status == "paused":
        is_answered = bool(await journal.posted(run_id))
        if not is_answered and not await _has_waited(result, give_up, journal, clock):
            break
        ended = RunState(await journal.read(run_id)).ended
        if ended is not None and ended.status == "stopped":  # by somebody else, while it waited
            return structs.replace(result, status="stopped", text=ended.text, stop_reason=ended.reason, pending=())
        try:
            result = await go_on()
        except Busy:  # somebody else goes on with it
            if is_answered:
                break
            await clock.sleep(POLL_S)
    return result


async def _has_waited(result: RunResult[JsonObject], give_up: float | None, journal: Journal, clock: Clock) -> bool:
    """Wait along with a run that waits for a time alone.

    Args:
        result: how the run stands.
        give_up: nothing is waited for that comes later than this, by the monotonic clock; None for no end.
        journal: where the run is on record.
        clock: the time.

    Returns:
        Whether there is something to go on with.
    """
    ends = over_at(result.pending)
    if ends is None or (give_up is not None and clock.monotonic() + max(0.0, ends - clock.now()) > give_up):
        return False
    try:
        await _until_over(journal, result.run_id, ends, clock)
    except asyncio.CancelledError:
        await asyncio.shield(_end_waiting(journal, result.run_id))
        raise
    return True


async def _until_over(journal: Journal, run_id: str, ends: float, clock: Clock) -> None:
    """Return when a time has come, or when somebody else has gone on with a run that waits for the time.

    Args:
        journal: where the run is on record.
        run_id: the run.
        ends: the time, in seconds since 1970. The clock may be set while this waits.
        clock: the time.
    """
    known = (await journal.read(run_id))[-1].number
    while (left := ends - clock.now()) > 0:
        await clock.sleep(min(left, WAKE_S))
        if await journal.read(run_id, known):
            return


async def _end_waiting(journal: Journal, run_id: str) -> None:
    """A program that waited along was cancelled, and its run with it, unless somebody else goes on with the run."""
    with suppress(Busy):
        async with journal.claim(run_id):
            if is_paused(await journal.read(run_id)):
                await end_runs_below(journal, run_id, CANCELLED)
                journal.append(run_id, CANCELLED)
                await journal.sync(run_id)


class WholeRun:
    """Tells a run that pauses and goes on as one: one beginning, and one end.

    Args:
        emit: is told.
    """

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit
        self._has_begun = False
        self._pause: Event | None = None

    def tell(self, event: Event) -> None:
        """Tell an event, but for a pause, which may not be the end."""
        if isinstance(event, RunFinished) and event.result.status == "paused":
            self._pause = event
        elif not isinstance(event, RunStarted) or not self._has_begun:
            self._has_begun = self._has_begun or isinstance(event, RunStarted)
            self._pause = None if isinstance(event, RunFinished) else self._pause
            self._emit(event)

    def end(self, result: RunResult) -> None:
        """Tell the end where the run is left paused, or was stopped by somebody else."""
        if self._pause is not None:
            self._emit(RunFinished(result))


class WaitingRuns:
    """Goes on with runs whose waits are over, in this process.

    Args:
        journal: where the runs are on record.
        clock: the time.
        can_go_on: which runs can be gone on with here.
        go_on: goes on with a run, unless what it is given says that the run was stopped in the meantime.
    """

    def __init__(
        self,
        journal: Journal,
        clock: Clock,
        can_go_on: CanGoOn,
        go_on: Callable[[str, RunState, Begins], Awaitable[object]],
    ) -> None:
        self._journal = journal
        self._clock = clock
        self._can_go_on = can_go_on
        self._resume = go_on
        self._due = DueQuestions(journal, clock)
        self._free = asyncio.Semaphore(RUNS_MAX)
        self._under_way: dict[str, set[OpenQuestion]] = {}
        """The runs that are gone on with here, and what of them has come to its end since."""

    async def attend(self) -> None:
        """Go on with runs until this is cancelled."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._look(group)
                await self._clock.sleep(WAKE_S)

    async def _look(self, group: asyncio.TaskGroup) -> None:
        found: Sequence[OpenQuestion] = ()
        try:
            found = await self._due.look()
            for question in found:
                if (ended_since := self._under_way.get(question.run_id)) is not None:
                    ended_since.add(question)
                elif (state := await self._is_due(question)) is not None:
                    self._under_way[question.run_id] = set()
                    group.create_task(self._go_on(question, state))
        except JournalError as error:  # a database that is away comes back: nothing is left out then
            log.warning("runs that wait can not be read: %s", error)
            for question in found:
                self._due.look_again(question)

    async def _is_due(self, question: OpenQuestion) -> RunState | None:
        """The state of a run that is to be gone on with now."""
        run_id, tasks = question.run_id, self._journal.tasks
        if tasks is not None and await tasks.find(run_id) is not None:
            return None
        entries = await self._journal.read(run_id)
        state = state_of(run_id, entries)
        if state is None or not is_paused(entries):
            return None
        asked = next((each for each in state.waiting() if each.id == question.ask_id), None)
        if asked is None or not ends_by_itself(state, asked) or not await self._can_go_on(run_id, state):
            return None
        return state

    async def _go_on(self, question: OpenQuestion, state: RunState) -> None:
        run_id = question.run_id
        ended_since = self._under_way[run_id]
        async with self._free:
            try:
                await self._resume(run_id, state, unless_stopped)
            except Busy:  # somebody else goes on with it, or with another run of its conversation
                ended_since.add(question)
            except ActumError as error:
                log.warning("run %s waited, and can not be gone on with: %s", run_id, error)
                ended_since.clear()
            finally:
                del self._under_way[run_id]
        for each in ended_since:  # the run may have been let go of before it saw that
            self._due.look_again(each)
