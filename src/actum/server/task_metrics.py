"""How many tasks there are and how long they wait, as Prometheus reads it.

The figures are read from the list of tasks in the database, since tasks are carried out by other processes. All servers
of one journal therefore tell the same figures: take their maximum, not their sum. Users and tenants have no figures of
their own; see `metrics.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily

from ..core.interfaces import Clock, TaskIndex
from ..core.run.task import DEAD, FINISHED, TASK_STATES, TaskFigure, TaskOptions
from ..tasks.dispatcher import Dispatcher, DispatcherState

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

    async def figures(self) -> Sequence[Metric]:
        """The figures now.

        Raises:
            JournalError: the list of tasks can not be read.
        """
        now = self._clock.now()
        figures = await self._index.figures(now)
        waiting, dead = await self._index.outbox.counts()
        state = await self._dispatcher.look() if self._dispatcher is not None else DispatcherState()
        webhooks = GaugeMetricFamily(
            "actum_webhooks", "Messages about ended tasks that wait, or were given up.", labels=("state",)
        )
        webhooks.add_metric(("waiting",), waiting)
        webhooks.add_metric(("dead",), dead)
        return [*_tasks(figures, now), webhooks, *_broker(state)]


def _tasks(figures: Sequence[TaskFigure], now: float) -> Sequence[Metric]:
    priorities = sorted({TaskOptions().priority, *(figure.priority for figure in figures)})
    counts = {(state, priority): 0 for state in COUNTED for priority in priorities}
    ages = dict.fromkeys(priorities, 0.0)
    for figure in figures:
        counts[figure.state, figure.priority] = figure.count
        if figure.since is not None:
            ages[figure.priority] = max(ages[figure.priority], now - figure.since)
    tasks = GaugeMetricFamily(
        "actum_tasks",
        "Tasks that have not ended, and dead letters (failed, timed_out).",
        labels=("state", "priority"),
    )
    for (state, priority), count in counts.items():
        tasks.add_metric((state, str(priority)), count)
    about = "How long the oldest task that could begin has waited."
    waits = GaugeMetricFamily("actum_tasks_oldest_wait_seconds", about, labels=("priority",))
    for priority, age in ages.items():
        waits.add_metric((str(priority),), age)
    return tasks, waits


def _broker(state: DispatcherState) -> Iterator[Metric]:
    if state.broker is not None:
        yield GaugeMetricFamily("actum_broker_up", "Whether the broker of tasks can be reached.", int(state.broker))
    if state.messages is not None:
        yield GaugeMetricFamily("actum_broker_messages", "Messages that wait in the broker.", state.messages)
