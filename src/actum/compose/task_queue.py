"""The queue of tasks, as the settings describe it. Loads no web server."""

from __future__ import annotations

from ..core.clock import SystemClock
from ..core.interfaces import Journal
from ..tasks.dispatcher import Dispatcher
from ..tasks.queue import DAY_S, TaskLimits, TaskQueue
from .settings import Settings

DIRECT = ("api", "mcp")
"""What runs of direct calls of the settings' own tools are called on record."""


def task_limits(settings: Settings) -> TaskLimits:
    """How many tasks there may be."""
    table = settings.tasks
    return TaskLimits(
        queued=table.queued,
        queued_tenant=table.queued_per_tenant,
        running=table.running or None,
        running_tenant=table.running_per_tenant or None,
        kept_s=table.kept_days * DAY_S,
    )


def open_queue(settings: Settings, journal: Journal, dispatcher: Dispatcher | None = None) -> TaskQueue:
    """The queue of tasks.

    Args:
        settings: as read.
        journal: where tasks are on record.
        dispatcher: is told of new tasks; None where only other processes carry tasks out.
    """
    named = {*settings.agents, *settings.workflows, *DIRECT}
    return TaskQueue(
        journal,
        clock=SystemClock(),
        limits=task_limits(settings),
        dispatcher=dispatcher,
        can_build=lambda name: name in named,
    )
