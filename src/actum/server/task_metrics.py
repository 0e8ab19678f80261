"""How many tasks there are and how long they wait, as Prometheus reads it.

The figures are read from the list of tasks in the database, since tasks are carried out by other processes. All servers
of one journal therefore tell the same figures: take their maximum, not their sum. Users and tenants have no figures of
their own; see `metrics.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..core.interfaces import Clock, TaskIndex
from ..core.task import DEAD, FINISHED, TASK_STATES, TaskFigure, TaskOptions
from ..tasks.dispatcher import Dispatcher, DispatcherState
from .metrics import Labels, gauge

COUNTED = tuple(state for state in TASK_STATES if state not in FINISHED or state in DEAD)


class TaskMetrics:
    """The figures of the tasks of a journal.

    Args:
        index: the list of tasks.
        dispatcher: of this server; None where only other processes carry tasks out.
        clock: the time.
    """

    def __init__(self, index: TaskIndex, dispatcher: Dispatcher | None, clock: Clock) -> None:
        self._index = index
        self._dispatcher = dispatcher
        self._clock = clock

    async def lines(self) -> Sequence[str]:
        """The figures now, in the text format of Prometheus.

        Raises:
            JournalError: the list of tasks can not be read.
        """
        now = self._clock.now()
        figures = await self._index.figures(now)
        waiting, dead = await self._index.outbox.counts()
        state = await self._dispatcher.look() if self._dispatcher is not None else DispatcherState()
        webhooks: dict[Labels, float] = {(("state", "waiting"),): waiting, (("state", "dead"),): dead}
        return [
            *_tasks(figures, now),
            *gauge("actum_webhooks", "Messages about ended tasks that wait, or were given up.", webhooks),
            *_broker(state),
        ]


def _tasks(figures: Sequence[TaskFigure], now: float) -> Iterator[str]:
    priorities = sorted({TaskOptions().priority, *(figure.priority for figure in figures)})
    counts: dict[Labels, float] = {
        (("state", state), ("priority", str(priority))): 0 for state in COUNTED for priority in priorities
    }
    ages: dict[Labels, float] = {(("priority", str(priority)),): 0.0 for priority in priorities}
    for figure in figures:
        counts[("state", figure.state), ("priority", str(figure.priority))] = figure.count
        age = (("priority", str(figure.priority)),)
        if figure.since is not None:
            ages[age] = max(ages[age], now - figure.since)
    yield from gauge("actum_tasks", "Tasks that have not ended, and dead letters (failed, timed_out).", counts)
    about = "How long the oldest task that could begin has waited."
    yield from gauge("actum_tasks_oldest_wait_seconds", about, ages)


def _broker(state: DispatcherState) -> Iterator[str]:
    if state.broker is not None:
        yield from gauge("actum_broker_up", "Whether the broker of tasks can be reached.", {(): int(state.broker)})
    if state.messages is not None:
        yield from gauge("actum_broker_messages", "Messages that wait in the broker.", {(): state.messages})
