"""`TaskWaits`: any number of requests wait for tasks, and the list of tasks is asked once for all of them.

Tasks are carried out by other processes, so the list has to be asked again and again. The requests of one process share
the question: a thousand clients that wait cost the database as much as one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence

from ..core.errors import JournalError
from ..core.interfaces import Clock
from ..core.run.task import FINISHED, TaskState

POLL_S = 0.2
"""Seconds between two looks at the tasks that are waited for."""

LookUp = Callable[[Sequence[str]], Awaitable[Mapping[str, TaskState]]]
"""The states of tasks; those that are not in the list are left out."""


class TaskWaits:
    """Those who wait for tasks, in this process.

    Args:
        look_up: asks for the states of tasks.
        clock: the time.
    """

    def __init__(self, look_up: LookUp, clock: Clock) -> None:
        self._look_up = look_up
        self._clock = clock
        self._waiting: dict[str, set[asyncio.Future[None]]] = {}
        self._polling: asyncio.Task[None] | None = None

    async def until_settled(self, run_id: str) -> None:
        """Return when a task has ended, waits for a person, or is not in the list any more.

        Args:
            run_id: the task.

        Raises:
            JournalError: the list can not be read.
        """
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(run_id, set()).add(future)
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll(), name="waits for tasks")
        try:
            await future
        finally:
            self._leave(run_id, future)

    def _leave(self, run_id: str, future: asyncio.Future[None]) -> None:
        others = self._waiting.get(run_id)
        if others is not None:
            others.discard(future)
            if not others:
                del self._waiting[run_id]
        if not self._waiting and self._polling is not None:
            self._polling.cancel()
            self._polling = None

    async def _poll(self) -> None:
        """Ask until nobody waits any more."""
        while True:
            asked = list(self._waiting)
            try:
                states = await self._look_up(asked)
            except Exception as error:  # noqa: BLE001  # each of those who wait hears of it
                failure = error if isinstance(error, JournalError) else JournalError(type(error).__name__)
                self._wake(asked, failure)
            else:
                self._wake([each for each in asked if is_settled(states.get(each))], None)
            if not self._waiting:
                self._polling = None
                return
            await self._clock.sleep(POLL_S)

    def _wake(self, run_ids: Sequence[str], failure: JournalError | None) -> None:
        for run_id in run_ids:
            for future in self._waiting.pop(run_id, set()):
                if future.done():
                    continue
                if failure is None:
                    future.set_result(None)
                else:
                    future.set_exception(failure)


def is_settled(state: TaskState | None) -> bool:
    """Whether nothing more happens to a task by itself; None for a task that is not in the list."""
    return state is None or state in FINISHED or state == "waiting"
