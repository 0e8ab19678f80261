"""The triggers of the settings, and what they begin."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Protocol

from ..agents.agent import Agent
from ..agents.options import AgentOptions
from ..core.clock import SystemClock
from ..core.errors import UnknownName, UsageError
from ..core.interfaces import Clock, Journal
from ..core.json import JsonObject
from ..core.message import UserMessage
from ..core.run.task import TaskLine, TaskOptions
from ..core.stored.definitions import reference
from ..core.user import User
from ..protocols.a2a.remote_agent import RemoteAgent
from ..runs.options import ConversationOptions
from ..server.api.api import ASSISTANT
from ..server.news_signature import NewsSignatures
from ..server.trigger_senders import TriggerSenders
from ..tasks.queue import TaskQueue
from ..triggers.intake import IN_MEMORY, TargetAway, Targets, TriggerIntake, check_trigger, whose
from ..triggers.mcp_resource import McpResource
from ..triggers.settings import TriggerTable
from ..workflow.workflow import Workflow
from .agents import open_agents
from .journals import open_journal
from .mcp import find_servers, open_server
from .published.tools import DeclaredTools
from .remote_agents import find_remote_agent
from .secrets import open_secrets
from .settings import MEMORY, Settings, table_of
from .settings_watch import open_egress
from .task_queue import open_queue
from .workflows import Workflows, open_workflows

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
    go_on: Callable[[str, str], Awaitable[None]] | None = None,
) -> TriggerIntake:
    """The intake of the triggers that the settings name.

    Args:
        settings: as read.
        environment: variables, which may hold secrets.
        workflows: those of the settings, and the published ones.
        agents: by their names.
        queue: accepts tasks.
        journal: where runs are written down.
        go_on: as for `Targets`.

    Raises:
        UsageError: a trigger can not be, or names an agent that there is not.
    """

    async def published(tenant: str, name: str) -> Workflow:
        published = await workflows.published(tenant)
        if published is None:
            raise UnknownName("no workflow is called {name!r}", name=name)
        return await published.open(*reference(name))  # the latest one, at each event

    async def workflow(
        name: str, table: TriggerTable, inputs: JsonObject, options: TaskOptions, trace: str
    ) -> TaskLine:
        principal, tenant = whose(name, table)
        is_published = table.workflow not in workflows.names
        try:
            made = await published(tenant, table.workflow) if is_published else await workflows.opened(table.workflow)
        except UsageError as error:
            raise TargetAway("the workflow of this trigger is not there: {why}", why=error) from None
        return await queue.accept_workflow(
            made,
            inputs,
            options,
            ConversationOptions(principal=principal, tenant=tenant, roles=table.roles, trace=trace),
            given_by="event",
            is_published=is_published,
            queued_max=table.queued_max,
        )

    async def agent(name: str, table: TriggerTable, words: UserMessage, options: TaskOptions, trace: str) -> TaskLine:
        principal, tenant = whose(name, table)
        try:
            asked = agents.get(table.agent)
        except UsageError as error:
            raise TargetAway("the agent of this trigger is not there: {why}", why=error) from None
        return await queue.accept_run(
            asked,
            words,
            options,
            AgentOptions(principal=principal, tenant=tenant, roles=table.roles, mandate=table.mandate, trace=trace),
            queued_max=table.queued_max,
        )

    intake = TriggerIntake(settings.triggers, Targets(workflow, agent, go_on), queue, journal, SystemClock())
    for name, table in settings.triggers.items():
        with _told_at(name, "agent" if table.agent else "workflow"):
            if table.workflow in workflows.names:
                workflows.get(table.workflow)
            elif table.agent:
                agents.get(table.agent)
        if table.is_webhook and table.secrets and not any(trigger_secrets(settings, environment, name)):
            wanted = table.secrets[0]
            log.warning("trigger %s: there is no secret %r yet: actum secrets set %s", name, wanted, wanted)
    return intake


def trigger_problems(settings: Settings) -> list[str]:
    """What speaks against the triggers of the settings, a sentence for each, as far as nothing has to be built.

    Args:
        settings: as read.
    """
    agents = {*(settings.agents or (ASSISTANT,)), *settings.workflows}
    found = [str(IN_MEMORY)] if settings.triggers and settings.journal == MEMORY else []
    for name, table in settings.triggers.items():
        try:
            check_trigger(name, table)
            with _told_at(name, "agent"):
                if table.agent and table.agent not in agents:
                    table_of(settings, table.agent)
        except UsageError as error:
            found.append(str(error))
    return found


@contextmanager
def _told_at(name: str, key: str) -> Iterator[None]:
    """What is wrong in this block is told with the trigger and the key of its table."""
    try:
        yield
    except UsageError as error:
        raise UsageError("[triggers.{name}] {key}: {why}", name=name, key=key, why=error) from None


@asynccontextmanager
async def trigger_desk(
    settings: Settings, environment: Mapping[str, str], folder: Path
) -> AsyncIterator[TriggerIntake]:
    """The intake of the triggers of the settings, for a program that tells of events itself. The runs are carried out
    by `actum serve` or `actum worker`.

    Args:
        settings: as read.
        environment: the variables of this process.
        folder: to which the paths in the settings are relative.

    Raises:
        UsageError: a trigger, an agent or a workflow can not be.
        JournalError: the journal can not be opened.
    """
    journal = open_journal(settings, environment)
    try:
        async with (
            open_agents(settings, environment, folder, journal=journal) as agents,
            open_workflows(settings, environment, folder, journal=journal) as workflows,
        ):
            declared = DeclaredTools(settings, environment, folder, journal=journal, workflows=workflows, agents=agents)
            agents.completing = declared.completing
            yield open_triggers(settings, environment, workflows, agents, open_queue(settings, journal), journal)
    finally:
        await journal.close()


def open_resources(settings: Settings, environment: Mapping[str, str]) -> dict[str, McpResource]:
    """The resources of MCP servers that triggers watch, by the names of the triggers. The caller closes them.

    Args:
        settings: as read.
        environment: the variables of this process.

    Raises:
        UsageError: a server is not there, or the package of the protocol is not installed.
    """
    found: dict[str, McpResource] = {}
    for name, table in settings.triggers.items():
        if table.resource:
            with _told_at(name, "server"):
                found[name] = _resource(settings, environment, table)
    return found


def _resource(settings: Settings, environment: Mapping[str, str], table: TriggerTable) -> McpResource:
    servers = find_servers([table.server], environment).servers
    if len(servers) != 1:
        raise UsageError(
            "server = {server!r} means {count} MCP servers: name one of them", server=table.server, count=len(servers)
        )
    opened = partial(
        open_server, servers[0], environment, egress=open_egress(settings, environment), tenant=table.tenant
    )
    return McpResource(table.resource, lambda changed: opened(changed=changed))


def open_senders(
    settings: Settings, environment: Mapping[str, str], intake: TriggerIntake, clock: Clock
) -> TriggerSenders:
    """Who may tell the triggers of events.

    Args:
        settings: as read.
        environment: variables, which may hold secrets.
        intake: knows the triggers.
        clock: the time.

    Raises:
        UsageError: a trigger takes news of a remote agent that there is not.
    """
    agents: dict[str, RemoteAgent] = {}
    for name, table in settings.triggers.items():
        if table.a2a:
            with _told_at(name, "a2a"):
                agents[name] = find_remote_agent(table.a2a, settings.a2a)
    signatures = NewsSignatures(open_egress(settings, environment), clock)
    return TriggerSenders(intake, partial(trigger_secrets, settings, environment), agents, signatures)


def trigger_secrets(settings: Settings, environment: Mapping[str, str], name: str) -> list[str]:
    """The values of the secrets of a trigger, read anew, since secrets change; empty for one that is not there."""
    table = settings.triggers[name]
    found = open_secrets(environment).of(User(table.tenant, ""))
    return [found.get(secret, "") for secret in table.secrets]
