"""What operations work with where no server runs: the journal of the settings, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from ..core.clock import SystemClock
from ..core.interfaces import Journal
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..server.api.api import Api, GivenAgents, Tasking
from ..server.published import PublishedOffer, ToolsOfTenant
from ..server.workflows import GivenWorkflows
from ..toolsets.declared.published import TenantTools
from .agents import Agents, list_tools
from .features import features_of, take_into_use
from .journals import open_journal
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
        async with _declared_tools(settings, journal) as tools_of:
            offer = PublishedOffer(workflows, tools_of)
            yield Api(runner, GivenAgents({}), SystemClock(), tasking, workflows, features, secrets, published=offer)
    finally:
        await journal.close()


@asynccontextmanager
async def _declared_tools(settings: Settings, journal: Journal) -> AsyncIterator[ToolsOfTenant]:
    """The published tools, with the agents and workflows of the settings: opened when they are first asked for."""
    async with AsyncExitStack() as stack:
        opened: list[DeclaredTools] = []

        def of(tenant: str) -> TenantTools:
            if not opened:
                agents = Agents(settings, os.environ, Path.cwd(), journal=journal)
                workflows = Workflows(settings, os.environ, Path.cwd(), journal=journal)
                stack.push_async_callback(agents.close)
                stack.push_async_callback(workflows.close)
                opened.append(
                    DeclaredTools(settings, os.environ, Path.cwd(), journal=journal, workflows=workflows, agents=agents)
                )
            return opened[0].of(tenant)

        yield of
