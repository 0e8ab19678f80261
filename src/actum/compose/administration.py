"""What operations work with where no server runs: the journal of the settings, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import cache
from pathlib import Path

from ..core.clock import SystemClock
from ..core.interfaces import Journal
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..server.api.api import Api, GivenAgents, Tasking
from ..server.published import AgentsOfTenant, PublishedOffer, TenantAgents, ToolsOfTenant
from ..server.workflows import GivenWorkflows
from ..toolsets.declared.published import TenantTools
from .agents import Agents, list_tools
from .features import features_of, take_into_use
from .journals import open_journal
from .published.agents import DeclaredAgents
from .published.tools import DeclaredTools
from .secrets import kept_secrets
from .settings import Settings
from .task_queue import open_queue
from .workflows import WorkflowParts, Workflows, workflows_of_tenant


@asynccontextmanager
async def open_application(settings: Settings, tools: Sequence[Toolish] = ()) -> AsyncIterator[Api]:
    """What the operations of this machine's own commands work with: no agents, and nothing that carries a task out in
    this process. Loads no web server.

    Args:
        settings: name the journal.
        tools: the tools that workflows may call; none by default.

    Raises:
        JournalError: the journal can not be opened.
    """
    journal = open_journal(settings, os.environ)
    try:
        features = await take_into_use(features_of(settings), journal)
        runner = Runner(tools, journal=journal)
        listed = await list_tools(tools, settings.tool_labels) if tools else []
        parts = WorkflowParts(settings=settings, tools=tools, journal=journal)
        workflows = GivenWorkflows({}, lambda tenant: workflows_of_tenant(parts, tenant=tenant, tools=listed), listed)
        tasking = Tasking(open_queue(settings, journal))
        secrets = kept_secrets(os.environ)
        async with _declared(settings, journal, tools) as declared:
            offer = PublishedOffer(workflows, *declared)
            yield Api(runner, GivenAgents({}), SystemClock(), tasking, workflows, features, secrets, published=offer)
    finally:
        await journal.close()


@asynccontextmanager
async def _declared(
    settings: Settings, journal: Journal, tools: Sequence[Toolish]
) -> AsyncIterator[tuple[ToolsOfTenant, AgentsOfTenant]]:
    """The published tools and agents, with the agents and workflows of the settings: made when they are asked for."""
    async with AsyncExitStack() as stack:

        @cache
        def made() -> tuple[DeclaredTools, DeclaredAgents]:
            agents = Agents(settings, os.environ, Path.cwd(), journal=journal)
            workflows = Workflows(settings, os.environ, Path.cwd(), journal=journal)
            stack.push_async_callback(agents.close)
            stack.push_async_callback(workflows.close)
            declared = DeclaredTools(
                settings, os.environ, Path.cwd(), journal=journal, workflows=workflows, agents=agents
            )
            return declared, DeclaredAgents(settings, journal=journal, own=tools, tools=declared)

        def tools_of(tenant: str) -> TenantTools:
            return made()[0].of(tenant)

        def agents_of(tenant: str) -> TenantAgents:
            return made()[1].of(tenant)

        yield tools_of, agents_of
