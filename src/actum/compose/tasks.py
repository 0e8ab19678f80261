"""What a program takes tasks on with, as the settings describe it: the queue, the dispatcher and the webhooks."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Clock, Journal
from ..core.run.task_request import NO_DEFAULTS, TaskDefaults
from ..core.secrets.store import SecretSource
from ..core.user import User
from ..journal.recording import RunState
from ..runs.runner import Begins
from ..server.api.api import Tasking
from ..tasks.children import CountsAttempts, LocalSettings
from ..tasks.dispatcher import Dispatcher
from ..tasks.webhook import ANSWER_BYTES_MAX, SECONDS_MAX, Secrets, WebhookSender
from ..toolsets.wrappers import labels_of
from ..transport.fetcher import Fetcher
from ..transport.guard import Guard
from ..workflow.waiting import WaitingRuns
from .agents import Agents, open_agents
from .secrets import open_secrets
from .settings import Settings
from .settings_watch import open_egress
from .task_child import SettingsBuilder, local_dispatcher
from .task_queue import open_queue, task_limits
from .task_worker import celery_dispatcher
from .workflows import Workflows, open_workflows

log = logging.getLogger("actum.tasks")


def open_tasking(
    settings: Settings, journal: Journal, environment: Mapping[str, str], dispatcher: Dispatcher | None = None
) -> Tasking:
    """How a server takes tasks on.

    Args:
        settings: as read.
        journal: where tasks are on record.
        environment: variables, which may hold secrets.
        dispatcher: is told of new tasks; None where only other processes carry tasks out.
    """
    guard = Guard(egress=open_egress(settings, environment))
    secrets = webhook_secrets(settings, open_secrets(environment))

    def check(user: User, address: str) -> None:
        if not secrets(user):
            names = " or ".join(settings.tasks.webhook_secrets)
            raise UsageError("there is no secret to sign its messages with: set the secret {names}", names=names)
        guard.judge(address)

    def defaults(tool: str) -> TaskDefaults:
        return labels_of(tool, settings.tool_labels).tasks or NO_DEFAULTS

    return Tasking(open_queue(settings, journal, dispatcher), defaults, check)


def webhook_secrets(settings: Settings, source: SecretSource) -> Secrets:
    """The secrets that sign the webhooks of a user; read anew for each message, since they change."""

    def of(user: User) -> Sequence[str]:
        found = source.of(user)
        return [value for name in settings.tasks.webhook_secrets if (value := found.get(name))]

    return of


@asynccontextmanager
async def tasks_carried_out(
    settings: Settings,
    journal: Journal,
    environment: Mapping[str, str],
    folder: Path,
    counts: CountsAttempts | None = None,
) -> AsyncIterator[Dispatcher | None]:
    """A block within which this process has tasks carried out, and tells addresses of their ends.

    Args:
        settings: as read.
        journal: where tasks are on record; in memory there are none.
        environment: the variables of this process.
        folder: where the everyday tools may look at files.
        counts: counts what the attempts at tasks put on record; None for nobody.

    Raises:
        UsageError: tasks are to be carried out on Celery, and Celery or its broker is not set up.
    """
    clock = SystemClock()
    if journal.tasks is None:
        async with _attended(settings, journal, environment, folder, clock):
            yield None
        return
    fetcher = Fetcher(
        Guard(egress=open_egress(settings, environment)), bytes_max=ANSWER_BYTES_MAX, seconds_max=SECONDS_MAX
    )
    secrets = webhook_secrets(settings, open_secrets(environment))
    kept_s = task_limits(settings).kept_s
    sender = WebhookSender(journal, fetcher, secrets, clock=clock, labels=settings.labels, kept_s=kept_s)
    running = [asyncio.create_task(sender.run(), name="webhooks")]
    dispatcher: Dispatcher | None = None
    agents = Agents(settings, environment, folder, journal=journal)
    workflows = Workflows(settings, environment, folder, journal=journal)
    builder = SettingsBuilder(settings, environment, folder, journal, agents, workflows)
    if settings.tasks.dispatcher == "local":
        local = LocalSettings(
            workers=settings.tasks.workers,
            tasks_max=settings.tasks.tasks_per_child,
            memory_bytes_max=settings.tasks.child_memory_bytes,
        )
        dispatcher = local_dispatcher(
            settings,
            journal,
            environment,
            folder,
            local=local,
            limits=task_limits(settings),
            builder=builder,
            counts=counts,
        )
    elif settings.tasks.dispatcher == "celery":
        dispatcher = celery_dispatcher(settings, journal, can_go_on=builder.can_go_on)
    if dispatcher is not None:
        running.append(asyncio.create_task(dispatcher.run(), name="dispatcher of tasks"))
    for each in running:
        each.add_done_callback(_tell_failure)
    try:
        yield dispatcher
    finally:
        if dispatcher is not None:
            await dispatcher.close()
        for each in running:
            each.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.wait(running)
        await fetcher.aclose()
        await agents.close()
        await workflows.close()


@asynccontextmanager
async def _attended(
    settings: Settings, journal: Journal, environment: Mapping[str, str], folder: Path, clock: Clock
) -> AsyncIterator[None]:
    """A block within which this process goes on with runs whose waits are over: the journal is in memory, so that no
    other process could; the arguments are those of `tasks_carried_out`.
    """
    async with (
        open_agents(settings, environment, folder, journal=journal) as agents,
        open_workflows(settings, environment, folder, journal=journal) as workflows,
    ):
        builder = SettingsBuilder(settings, environment, folder, journal, agents, workflows)

        async def go_on(run_id: str, state: RunState, begins: Begins) -> None:
            await (await builder.build(state.beginning())).resume(run_id, begins=begins)

        runs = WaitingRuns(journal, clock, builder.can_go_on, go_on)
        attending = asyncio.create_task(runs.attend(), name="ended waits")
        attending.add_done_callback(_tell_failure)
        try:
            yield
        finally:
            attending.cancel()
            await asyncio.wait([attending])


def _tell_failure(ended: asyncio.Task[None]) -> None:
    if not ended.cancelled() and (error := ended.exception()) is not None:
        log.error("%s has ended: %s", ended.get_name(), error, exc_info=error)
