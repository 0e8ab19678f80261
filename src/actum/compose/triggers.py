"""The triggers of the settings, and what they begin."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from ..core.clock import SystemClock
from ..core.errors import UsageError
from ..core.interfaces import Journal
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.task import TaskLine, TaskOptions
from ..core.user import User
from ..runs.given_tools import Toolish
from ..tasks.queue import TaskQueue
from ..transport.egress import Egress
from ..triggers.desk import Targets, TriggerDesk, whose
from ..triggers.settings import TriggerTable
from .secrets import open_secrets
from .settings import Settings
from .workflows import NamedAgents, load_workflow

log = logging.getLogger("actum.triggers")


def open_triggers(
    settings: Settings,
    environment: Mapping[str, str],
    tools: Sequence[Toolish],
    agents: NamedAgents,
    queue: TaskQueue,
    journal: Journal,
) -> TriggerDesk:
    """The desk of the triggers that the settings name.

    Args:
        settings: as read.
        environment: variables, which may hold secrets.
        tools: of `load_tools`.
        agents: by their names.
        queue: accepts tasks.
        journal: where runs are written down.

    Raises:
        UsageError: a trigger can not be, or names an agent or a workflow that there is not.
    """
    secrets, egress = open_secrets(environment), Egress(settings.egress)

    async def workflow(name: str, table: TriggerTable, inputs: JsonObject, options: TaskOptions) -> TaskLine:
        # Read for each event: a workflow that was changed is the changed one from the next event on.
        made = load_workflow(settings, table.workflow, tools, agents, journal=journal, secrets=secrets, egress=egress)
        principal, tenant = whose(name, table)
        try:
            return await queue.accept_workflow(
                made, inputs, options, given_by="event", principal=principal, tenant=tenant, roles=table.roles
            )
        finally:
            await made.aclose()

    async def agent(name: str, table: TriggerTable, words: UserMessage, options: TaskOptions) -> TaskLine:
        principal, tenant = whose(name, table)
        asked = agents.get(table.agent)
        return await queue.accept_run(asked, words, options, principal=principal, tenant=tenant, roles=table.roles)

    desk = TriggerDesk(settings.triggers, Targets(workflow, agent), queue, journal, SystemClock())
    for name, table in settings.triggers.items():
        try:
            if table.workflow:
                load_workflow(settings, table.workflow, tools, agents, journal=journal, secrets=secrets, egress=egress)
            elif table.agent:
                agents.get(table.agent)
        except UsageError as error:
            raise UsageError(f"[triggers.{name}]: {error}") from None
        if table.is_webhook and table.secret and trigger_secret(settings, environment, name) == "":
            log.warning("trigger %s: there is no secret %r yet: actum secrets set %s", name, table.secret, table.secret)
    return desk


def trigger_secret(settings: Settings, environment: Mapping[str, str], name: str) -> str:
    """The value of the secret of a trigger, read anew, since secrets change; empty where there is none."""
    table = settings.triggers[name]
    return open_secrets(environment).of(User(table.tenant, "")).get(table.secret, "")
