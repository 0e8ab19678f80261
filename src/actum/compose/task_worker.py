"""Tasks on Celery, as the settings describe them: what a server sends with, and what `actum worker` does."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..tasks.children import CountsAttempts, LocalSettings
from ..tasks.ended_waits import CanGoOn
from ..tasks.queue import TaskLimits
from ..telemetry.exporter import Outcome
from .agents import open_agents
from .deploy.telemetry import telemetry_sent
from .settings import Settings
from .task_child import SettingsBuilder, task_children
from .task_queue import task_limits
from .workflows import open_workflows

if TYPE_CHECKING:
    from ..tasks.celery import CeleryDispatcher


class WorkerCounts(Protocol):
    """What a worker counts, and where it tells it."""

    @property
    def attempts(self) -> CountsAttempts:
        """Counts what attempts at tasks put on record."""

    def served(self) -> AbstractAsyncContextManager[None]:
        """A block within which the counts are told."""

    def spans(self, outcome: Outcome, number: int) -> None:
        """Count spans that were sent, that a collector did not take, or that were dropped."""


def celery_dispatcher(
    settings: Settings, journal: Journal, *, limits: TaskLimits | None = None, can_go_on: CanGoOn | None = None
) -> CeleryDispatcher:
    """The dispatcher of a server whose tasks are carried out by workers.

    Args:
        settings: name the broker.
        journal: of the server, in a database.
        limits: how many tasks may run; by default those of the settings.
        can_go_on: as for `EndedWaits`.

    Raises:
        UsageError: no broker is set, Celery is not installed, or the journal is in memory.
    """
    celery = _celery()
    broker = celery.Broker(celery.celery_app(broker_of(settings)))
    made: CeleryDispatcher = celery.CeleryDispatcher(
        journal, broker, clock=SystemClock(), limits=limits or task_limits(settings), can_go_on=can_go_on
    )
    return made


def broker_of(settings: Settings) -> str:
    """The address of the broker.

    Raises:
        UsageError: the settings name none, or one of another kind.
    """
    broker = settings.tasks.broker
    if not broker:
        raise UsageError('tasks on Celery need a broker: set broker = "redis://127.0.0.1:6379/0" in [tasks]')
    if not broker.startswith(("redis://", "rediss://")):
        raise UsageError("[tasks] broker: its address has to begin with redis:// or rediss://")
    return broker


async def broker_depth(settings: Settings) -> int:
    """How many messages wait in the broker.

    Args:
        settings: name the broker.

    Raises:
        UsageError: no broker is set, Celery is not installed, or the broker can not be reached.
    """
    celery = _celery()
    broker = celery.Broker(celery.celery_app(broker_of(settings)))
    try:
        depth: int = await broker.depth()
    finally:
        broker.close()
    return depth


@asynccontextmanager
async def worker_at_work(
    settings: Settings,
    journal: Journal,
    environment: Mapping[str, str],
    folder: Path,
    *,
    visibility_s: float | None = None,
    counts: WorkerCounts | None = None,
) -> AsyncIterator[asyncio.Task[None]]:
    """A block within which this process is a worker.

    Args:
        settings: as read.
        journal: where tasks are on record.
        environment: the variables of this process, which its children get.
        folder: where the everyday tools may look at files.
        visibility_s: seconds after which the broker delivers an unacknowledged message again; None for a week.
        counts: counts what this worker does, and tells it; None for nobody.

    Yields:
        What ends when the worker does.

    Raises:
        UsageError: no broker is set, Celery is not installed, or the journal is in memory.
    """
    celery = _celery()
    clock, limits, table = SystemClock(), task_limits(settings), settings.tasks
    local = LocalSettings(
        workers=table.workers, tasks_max=table.tasks_per_child, memory_bytes_max=table.child_memory_bytes
    )
    children = task_children(
        settings,
        journal,
        environment,
        folder,
        local=local,
        clock=clock,
        counts=counts.attempts if counts is not None else None,
    )
    app = celery.celery_app(broker_of(settings), visibility_s=visibility_s or celery.VISIBILITY_S)
    worker = celery.CeleryWorker(app, journal, children, clock=clock, limits=limits)
    async with (
        open_agents(settings, environment, folder, journal=journal) as agents,
        open_workflows(settings, environment, folder, journal=journal) as workflows,
        AsyncExitStack() as stack,
    ):
        if counts is not None:
            await stack.enter_async_context(counts.served())
        sent = telemetry_sent(settings, environment, journal, *([counts.spans] if counts is not None else []))
        await stack.enter_async_context(sent)
        builder = SettingsBuilder(settings, environment, folder, journal, agents, workflows)
        sender = celery_dispatcher(settings, journal, limits=limits, can_go_on=builder.can_go_on)
        working = asyncio.create_task(worker.run(), name="worker")
        sending = asyncio.create_task(sender.run(), name="dispatcher of tasks")
        try:
            yield working
        finally:
            await sender.close()
            await worker.close()
            await asyncio.gather(working, sending, return_exceptions=True)


async def work(
    settings: Settings,
    journal: Journal,
    environment: Mapping[str, str],
    folder: Path,
    ready: Callable[[], None] = lambda: None,
    *,
    visibility_s: float | None = None,
    counts: WorkerCounts | None = None,
) -> None:
    """Be a worker, until SIGTERM or Ctrl-C.

    Args:
        settings, journal, environment, folder, visibility_s, counts: as for `worker_at_work`.
        ready: is called when the worker has begun.

    Raises:
        UsageError: as for `worker_at_work`.
    """
    ends = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ends.set)
    try:
        async with worker_at_work(
            settings, journal, environment, folder, visibility_s=visibility_s, counts=counts
        ) as working:
            ready()
            ended = asyncio.create_task(ends.wait())
            await asyncio.wait([ended, working], return_when=asyncio.FIRST_COMPLETED)
            ended.cancel()
            if working.done() and not ends.is_set():
                working.result()
                raise UsageError("the worker of Celery has ended by itself; what it wrote stands above")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


async def check_worker(
    settings: Settings, journal: Journal, environment: Mapping[str, str], folder: Path
) -> dict[str, str]:
    """Whether a worker could work here; takes no task.

    Args:
        settings, journal, environment, folder: as for `worker_at_work`.

    Returns:
        What is wrong with `broker`, `journal`, each agent, and each workflow; empty text where nothing is.
    """
    found = {"broker": "", "journal": ""}
    try:
        await broker_depth(settings)
    except UsageError as error:
        found["broker"] = str(error)
    if journal.tasks is None:
        found["journal"] = "a journal in memory has no tasks for other processes: use a file or PostgreSQL"
    async with open_agents(settings, environment, folder, journal=journal) as agents:
        for name in agents.names:
            try:
                agents.get(name)
                found[f"agent {name}"] = ""
            except UsageError as error:
                found[f"agent {name}"] = str(error)
    async with open_workflows(settings, environment, folder, journal=journal) as workflows:
        for name in workflows.names:
            try:
                workflows.get(name)
                found[f"workflow {name}"] = ""
            except UsageError as error:
                found[f"workflow {name}"] = str(error)
    return found


def _celery() -> ModuleType:
    """Our module on Celery.

    Raises:
        UsageError: Celery is not installed.
    """
    try:
        from ..tasks import celery  # noqa: PLC0415  # an extra, and a quarter of a second
    except ModuleNotFoundError:
        raise UsageError("tasks on Celery need a package that is not installed: pip install 'actum[celery]'") from None
    return celery
