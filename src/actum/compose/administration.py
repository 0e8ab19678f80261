"""What operations work with where no server runs: the journal of the settings, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from ..core.clock import SystemClock
from ..runs.given_tools import Toolish
from ..runs.runner import Runner
from ..server.api.api import Api, GivenAgents, Tasking
from ..server.workflows import GivenWorkflows
from .agents import list_tools
from .features import features_of, take_into_use
from .journals import open_journal
from .secrets import kept_secrets
from .settings import Settings
from .task_queue import open_queue
from .workflows import WorkflowParts, workflows_of_tenant


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
        runner = Runner(journal=journal)
        listed = await list_tools(tools, settings.tool_labels) if tools else []
        parts = WorkflowParts(settings=settings, tools=tools, journal=journal)
        workflows = GivenWorkflows({}, lambda tenant: workflows_of_tenant(parts, tenant=tenant, tools=listed), listed)
        tasking = Tasking(open_queue(settings, journal))
        secrets = kept_secrets(os.environ)
        yield Api(runner, GivenAgents({}), SystemClock(), tasking, workflows, features, secrets)
    finally:
        await journal.close()
