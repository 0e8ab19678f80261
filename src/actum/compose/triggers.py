"""The triggers of the settings, and what they begin."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from ..agents.agent import Agent
from ..core.clock import SystemClock
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.shelf import reference
from ..core.task import TaskLine, TaskOptions
from ..core.user import User
from ..tasks.queue import TaskQueue
from ..triggers.desk import Targets, TriggerDesk, whose
from ..triggers.settings import TriggerTable
from .secrets import open_secrets
from .settings import Settings
from .workflows import Workflows

log = logging.getLogger("actum.triggers")


class NamedAgents(Protocol):
    """Agents by their names."""

    def get(self, name: str) -> Agent[object]:
        """The agent of a name.

        Raises:
            UnknownName: there is none.
        """


def open_triggers(
    settings: Settings,
    environment: Mapping[str, str],
    workflows: Workflows,
    agents: NamedAgents,
    queue: TaskQueue,
    journal: Journal,
) -> TriggerDesk:
    """The desk of the triggers that the settings name.

    Args:
        settings: as read.
        environment: variables, which may hold secrets.
        workflows: those of the settings, and the published ones.
        agents: by their names.
        queue: accepts tasks.
        journal: where runs are written down.

    Raises:
        UsageError: a trigger can not be, or names an agent that there is not.
    """

    async def workflow(name: str, table: TriggerTable, inputs: JsonObject, options: TaskOptions) -> TaskLine:
        principal, tenant = whose(name, table)
        is_published = table.workflow not in workflows.names
        if is_published:
            shelf = await workflows.shelf(tenant)
            if shelf is None:
                raise UnknownName(f"no workflow is called {table.workflow!r}")
            made = await shelf.open(*reference(table.workflow))  # the latest one, at each event
        else:
            made = await workflows.opened(table.workflow)
        return await queue.accept_workflow(
            made,
            inputs,
            options,
            given_by="event",
            is_published=is_published,
            principal=principal,
            tenant=tenant,
            roles=table.roles,
        )

    async def agent(name: str, table: TriggerTable, words: UserMessage, options: TaskOptions) -> TaskLine:
        principal, tenant = whose(name, table)
        asked = agents.get(table.agent)
        return await queue.accept_run(asked, words, options, principal=principal, tenant=tenant, roles=table.roles)

    desk = TriggerDesk(settings.triggers, Targets(workflow, agent), queue, journal, SystemClock())
    for name, table in settings.triggers.items():
        try:
            if table.workflow in workflows.names:
                workflows.get(table.workflow)
            elif table.agent:
                agents.get(table.agent)
        except UsageError as error:
            raise UsageError(f"[triggers.{name}]: {error}") from None
        if table.is_webhook and table.secret and not trigger_secret(settings, environment, name):
            log.warning("trigger %s: there is no secret %r yet: actum secrets set %s", name, table.secret, table.secret)
    return desk


def trigger_secret(settings: Settings, environment: Mapping[str, str], name: str) -> str:
    """The value of the secret of a trigger, read anew, since secrets change; empty where there is none."""
    table = settings.triggers[name]
    return open_secrets(environment).of(User(table.tenant, "")).get(table.secret, "")
